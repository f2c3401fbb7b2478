"""What the tests of the formats share: fresh folders, and the shape of a refusal."""

from __future__ import annotations

from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from steelyard import load
from steelyard.core.errors import InputError, UsageError


@pytest.fixture(scope="session")
def fresh(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Path]:
    """Give a new empty folder at every call: hypothesis runs one test many times."""
    base, number = tmp_path_factory.mktemp("fresh"), count()

    def make() -> Path:
        folder = base / str(next(number))
        folder.mkdir()
        return folder

    return make


@pytest.fixture(scope="session")
def refusal() -> Callable[..., str]:
    """Call something that must be refused; give the one line that says why.

    Without a callable as first argument, :func:`steelyard.load` is called.
    """

    def check(*arguments: Any, **options: Any) -> str:
        call, rest = (arguments[0], arguments[1:]) if callable(arguments[0]) else (load, arguments)
        with pytest.raises((InputError, UsageError)) as caught:
            call(*rest, **options)
        assert caught.value.exit_code == 2
        message = str(caught.value)
        assert message.splitlines() == [message]
        return message

    return check
