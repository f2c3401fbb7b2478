"""``--help``: headings, shapes and examples that work, lines of the terminal."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from steelyard.cli import group
from steelyard.cli.judge import judge
from steelyard.cli.main import cli, run

#: Commands that read no file of the user's, whose help shows none.
NO_FILE = {
    "study simulation",
    "reproduce",
    "kb info",
    "kb link",
    "data formats",
    "data get",
    "demo",
}


def every(parent: click.Group = cli, before: str = "") -> dict[str, group.Question]:
    """All commands by their words; groups left out."""
    found: dict[str, group.Question] = {}
    context = click.Context(parent)
    for name in parent.list_commands(context):
        command = parent.get_command(context, name)
        if isinstance(command, click.Group):
            found |= every(command, f"{before}{name} ")
        else:
            assert isinstance(command, group.Question), name
            found[f"{before}{name}"] = command
    return found


COMMANDS = every()


def shown(capsys, *words: str) -> str:
    assert run([*words, "--help"]) == 0
    return str(capsys.readouterr().out)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_no_line_is_wider_than_the_terminal(width, monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", str(width))
    for words in ("", "data", "kb", "study", *COMMANDS):
        lines = shown(capsys, *words.split()).splitlines()
        assert len(lines) > 5
        assert [line for line in lines if len(line) > width] == [], words


def test_every_option_stands_below_one_heading(capsys):
    commands = (*COMMANDS.values(), *judge.commands.values())  # with the one nobody need name
    known = {param.name for command in commands for param in command.params}
    for words, command in COMMANDS.items():
        text = shown(capsys, *words.split())
        for param in command.params:
            if isinstance(param, click.Option):
                flag = param.opts[0] if param.name == "ref" else max(param.opts, key=len)
                lines = re.findall(rf"^  (?:-\w, )?{flag}(?![\w-])", text, re.MULTILINE)
                assert len(lines) == (0 if param.hidden else 1), (words, flag)
                assert param.help, (words, flag)
        named = " ".join(command.headings.values()).split()
        assert [name for name in named if name not in known] == [], words


def test_every_command_that_reads_files_shows_one_and_two_examples():
    for words, command in COMMANDS.items():
        assert len(command.examples) >= 2, words
        assert bool(command.shape) == (words not in NO_FILE), words
        for example in command.examples:
            assert f"steelyard {words}" in example


SHAPES = {
    "compare scores.csv --score chrF": group.SCORES,
    "compare scores.csv --score COMET --pair new,old": group.SCORES,
    "meta scores.csv --human mqm --intervals none": group.JUDGED,
    "compare --battles log.csv": group.BATTLES,
    "score texts.jsonl --metrics chrf": group.TEXTS,
    "human ratings.csv --raw": group.RATINGS,
    "judge verdicts.csv --human expert": group.VERDICTS,
}


@pytest.mark.parametrize("command", SHAPES)
def test_a_file_of_the_shape_that_is_shown_is_read(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rows = re.findall(r"^  (.+)$", SHAPES[command], re.MULTILINE)
    words = command.split()
    name = next(word for word in words if "." in word)
    more = []
    if name.endswith(".csv"):  # more rows like those: one segment, battle or item says nothing
        ids = {"segment", "item"}
        at = next((i for i, cell in enumerate(rows[0].split(",")) if cell in ids), None)
        for number in range(2, 9):
            for row in rows[1:]:
                cells = row.split(",")
                if at is not None:
                    cells[at] = f"{cells[at]}{number}"
                more.append(",".join(cells))
    Path(name).write_text("\n".join([*rows, *more, ""]))
    assert run([*words, "--quiet"]) == 0, capsys.readouterr().err
    assert "new" in capsys.readouterr().out or words[0] in ("judge", "meta")


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("data get", "--seed --jobs --out"),
        ("demo", "--seed --jobs --out"),
        ("data convert", "--seed --jobs --out"),
        ("judge", "--seed --jobs"),
        ("compare", "--jobs"),
    ],
)
def test_options_that_mean_nothing_are_not_offered(words, flags, capsys):
    text = shown(capsys, *words.split())
    assert [flag for flag in flags.split() if f" {flag} " in text] == []


def test_a_report_has_a_name_without_being_given_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("system,segment,m\nA,1,1\nA,2,3\nB,1,2\nB,2,2\n")
    assert run(["report", "a.csv"]) == 0
    assert Path("steelyard-report.html").exists()
    assert "wrote steelyard-report.html" in capsys.readouterr().err
