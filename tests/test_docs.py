"""Every example in the documentation is run: commands print what the pages show.

A few pages are run always, all of them by ``make test-all``: starting commands takes its time.
"""

from __future__ import annotations

import importlib
import re
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

sys.path.insert(0, str(ROOT / "docs"))  # programs, not a package
examples: Any = importlib.import_module("examples")
reference: Any = importlib.import_module("reference")
figures: Any = importlib.import_module("figures")

QUICK = ("kobe", "errors")  # demo/test_readme.py runs the commands of a first day
PAGES = [
    pytest.param(page, marks=() if page.stem in QUICK else (pytest.mark.thorough,), id=page.stem)
    for page in examples.pages()
]


@pytest.mark.parametrize("page", PAGES)
def test_examples_of_a_page(page):
    assert examples.check(page) == []


def test_the_reference_has_the_help_of_every_command():
    page = reference.commands_page()
    assert "## steelyard judge correct\n" in page
    assert page.count("Usage: steelyard") == page.count("\n## ") > 20


def test_the_reference_has_every_format():
    from steelyard.formats.registry import FORMATS

    page = reference.formats_page()
    assert re.findall(r"^## (.+)$", page, re.MULTILINE) == [each.name for each in FORMATS]


def test_the_reference_lists_the_public_names_and_the_statistics():
    import steelyard

    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    listed = set(re.findall(r"^   ~?(steelyard\.\S+)$", page, re.MULTILINE))
    rooms = ("kobe", "studies")
    own = [name for name in steelyard.__all__ if name not in ("__version__", *rooms)]
    public = {f"steelyard.{name}" for name in own}
    inner = {f"steelyard.{room}.{name}" for room in rooms
             for name in getattr(steelyard, room).__all__}  # fmt: skip
    assert listed == public | inner | {"steelyard.stats"}
    assert ":recursive:\n\n   steelyard.stats\n" in page  # all of its modules, whatever they are


def test_commands_of_the_page_of_items_have_these_options():
    """A row names commands and their options; what follows may be options alone."""
    from steelyard.cli.main import cli

    group: Any = cli
    page = (ROOT / "docs" / "papers" / "items.md").read_text(encoding="utf-8")
    checked = 0
    for row in re.findall(r"^\| [^|]+ \| (.+) \|$", page, re.MULTILINE):
        command: Any = None
        for code in re.findall(r"`([^`]+)`", row):
            words = code.split()
            if not words[0].startswith("-"):
                command = group.get_command(None, words[0])
                if command is not None and hasattr(command, "list_commands"):
                    command = command.get_command(None, words[1])
                    assert command is not None, code
            flags = [word for word in words if word.startswith("--")]
            if flags:
                assert command is not None, code
                options = {flag for param in command.params for flag in param.opts}
                assert set(flags) <= options, code
                checked += len(flags)
    assert checked > 60


#: Files that a section names until it is written anew; the list may only get shorter.
GONE = {"stats/metametrics.py", "stats/ties.py", "stats/replicates.py",
        "tests/test_metaevaluation.py"}  # fmt: skip


def test_files_that_contributors_are_sent_to_are_there():
    pages = [ROOT / "CONTRIBUTING.md", *(ROOT / "docs" / "design").glob("*.md")]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"`((?:[a-z_0-9]+/)+(?:[a-z_0-9]+\.(?:py|md|toml))?)`", text))
    assert len(named) > 20
    homes = (ROOT, ROOT / "src" / "steelyard")
    assert {name for name in named if not any((h / name).exists() for h in homes)} <= GONE


def test_names_of_ours_in_the_pages_can_be_had():
    from pkgutil import resolve_name

    pages = [*examples.pages(), ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    text = "".join(page.read_text(encoding="utf-8") for page in pages)
    named = set(re.findall(r"\bsteelyard(?:\.[A-Za-z]\w+)+\b(?!-)", text))
    assert len(named) > 30
    others = {"steelyard.metrics", "steelyard.linkers"}  # a file, entry points
    for name in sorted(named - others):
        resolve_name(name)


def test_every_figure_of_a_page_is_made_by_a_command_that_the_page_shows():
    """``make docs-figures`` remakes them all."""
    every = [(page, name) for page in figures.pages() for name in figures.shown(page)]
    assert len(every) > 30
    for page, name in every:
        assert name in figures.commands(page), f"{page.name}: no command makes {name}.svg"
        assert (figures.FIGURES / f"{name}.svg").is_file(), f"{name}.svg: make docs-figures"
    for name in figures.SCREENS:
        assert (figures.FIGURES / f"{name}.png").is_file(), f"{name}.png: make docs-figures"


def test_no_figure_lies_about_that_no_page_shows():
    wanted = {name for page in figures.pages() for name in figures.shown(page)}
    assert {path.stem for path in figures.FIGURES.glob("*.svg")} == wanted
