"""The pytest fixture ``steelyard_gate``: a test that passes, fails, or is skipped as undecided."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

    from steelyard.comparison.gate import Gate


@pytest.fixture
def steelyard_gate() -> Callable[..., Gate]:
    """Return :func:`steelyard.gate` as a check: it fails a test, or skips it where undecided."""

    def check(*sources: Any, **options: Any) -> Gate:
        from steelyard.comparison.gate import gate

        result = gate(*sources, **options)
        words = " ".join(result.answer())
        if result.passed is None:
            pytest.skip(words)
        if not result.passed:
            pytest.fail(words, pytrace=False)
        return result

    return check
