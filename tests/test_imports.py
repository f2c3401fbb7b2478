"""What a start may cost: which modules, and how many; public names."""

from __future__ import annotations

import json
import subprocess
import sys

import click
import pytest

import steelyard
from steelyard.cli.main import cli

HEAVY = ("scipy", "pandas", "polars", "pyarrow", "matplotlib", "altair", "duckdb", "narwhals",
         "sacrebleu", "jinja2", "joblib", "rich", "urllib.request", "http.client")  # fmt: skip


def modules_after(code: str) -> set[str]:
    shown = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


def every_command(group: click.Group = cli, words: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """All commands, and those of their groups."""
    context, found = click.Context(group), [words]
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        own = (*words, name)
        found += every_command(command, own) if isinstance(command, click.Group) else [own]
    return found


def test_importing_the_package_loads_nothing_heavy():
    assert not modules_after("import steelyard") & {"numpy", *HEAVY}


def test_help_of_no_command_loads_numpy_or_what_is_heavier():
    """In a process each it would take half a minute: what one has loaded, the next has not."""
    code = f"""
import contextlib, io, sys
from steelyard.cli.main import run
for words in {every_command()}:
    with contextlib.redirect_stdout(io.StringIO()) as shown:
        assert run([*words, "--help"]) == 0
    assert "Usage: steelyard" in shown.getvalue()
    loaded = {{"numpy", *{HEAVY}}} & set(sys.modules)
    assert not loaded, (words, loaded)
"""
    assert ("kb", "link") in every_command()
    assert ("study", "simulation") in every_command()
    modules_after(code)


@pytest.mark.parametrize(
    ("words", "most"),
    [(["--help"], 13), (["data", "info", "--help"], 26), (["compare", "--help"], 34)],
)
def test_help_loads_few_modules_of_ours(words, most):
    """Seconds depend on the machine; modules are what they are spent on."""
    found = modules_after(f"from steelyard.cli.main import run; run({words})")
    ours = [name for name in found if name.startswith("steelyard")]
    assert len(ours) <= most, ours
    assert len(found) <= 200  # with those of Python and click


def test_every_public_name_can_be_had():
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    assert sorted(steelyard.__all__) == dir(steelyard)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        steelyard.nope  # noqa: B018


def test_no_public_function_shares_its_name_with_a_module():
    from importlib.util import find_spec
    from types import ModuleType

    for name in steelyard.__all__:
        public = not name.startswith("_") and not isinstance(getattr(steelyard, name), ModuleType)
        if public:
            assert find_spec(f"steelyard.{name}") is None, name
