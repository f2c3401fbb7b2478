"""``--help``: headings, shapes and examples that work, lines of the terminal."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import click
import pytest

from steelyard.cli import group
from steelyard.cli.main import FIRST, cli, run

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


def test_compare_is_told_in_parts(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "80")
    text = shown(capsys, "compare")
    headings = re.findall(r"^(\w[\w ]+):$", text.partition("\nA table")[0], re.MULTILINE)
    assert headings == ["What to compare", "Ranking", "Tests and intervals", "Battles",
                        "What is shown", "Texts and metrics", "Input", "Output"]  # fmt: skip
    parts = re.split(r"^\w[\w ]+:$", text, flags=re.MULTILINE)
    for part, flags in zip(parts[1:], ("--score --pair", "--by --ties --elo-k",
                                       "--tests --alpha --unit --bootstrap",
                                       "--battles --left --scale",
                                       "--details --pairwise --plot", "--metrics --ref",
                                       "--human --lp --columns", "--json --out --seed --help"),
                           strict=False):  # fmt: skip
        assert [flag for flag in flags.split() if f" {flag}" not in part] == []
    assert "  system,segment,chrF,COMET\n  new,1,61.2,0.84\n  old,1,58.7,0.81\n" in text


def test_every_option_stands_below_one_heading(capsys):
    for words, command in COMMANDS.items():
        text = shown(capsys, *words.split())
        for param in command.params:
            if isinstance(param, click.Option):
                flag = param.opts[0] if param.name == "ref" else max(param.opts, key=len)
                lines = re.findall(rf"^  (?:-\w, )?{flag}(?![\w-])", text, re.MULTILINE)
                assert len(lines) == (0 if param.hidden else 1), (words, flag)
                assert param.help, (words, flag)
        named = " ".join(command.headings.values()).split()
        known = {param.name for param in command.params}
        assert [name for name in named if name not in known] == [], words


def test_every_command_that_reads_files_shows_one_and_two_examples():
    for words, command in COMMANDS.items():
        assert len(command.examples) >= 2, words
        assert bool(command.shape) == (words not in NO_FILE), words
        for example in command.examples:
            assert f"steelyard {words}" in example


def test_examples_have_options_of_their_command():
    for words, command in COMMANDS.items():
        flags = {flag for param in command.params for flag in (*param.opts, *param.secondary_opts)}
        for example in command.examples:
            own = shlex.split(example.rpartition("steelyard ")[2])
            asked = {word for word in own if word.startswith("--")}
            assert asked <= flags, (words, asked - flags)


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


@pytest.mark.parametrize("words", ["", "compare", "data info", "judge", "judge bias", "study"])
def test_help_is_a_command(words, capsys):
    expected = shown(capsys, *words.split())
    assert run(["help", *words.split()]) == 0
    assert capsys.readouterr().out == expected


def test_help_of_what_does_not_exist_is_an_error(capsys):
    assert run(["help", "comparee"]) == 2
    assert "did you mean 'compare'?" in capsys.readouterr().err


def test_newcomers_are_told_where_to_begin(capsys):
    text = shown(capsys)
    lines = text.splitlines()
    assert text.index("New here?") < text.index("Commands:")
    for command in FIRST:
        assert any(line.startswith(f"  {command}  ") for line in lines)
        assert command.split()[1] in cli.list_commands(click.Context(cli))


@pytest.mark.parametrize(
    ("words", "flags"),
    [
        ("data get", "--seed --jobs --out"),
        ("demo", "--seed --jobs --out"),
        ("data convert", "--seed --jobs --out"),
        ("data info", "--seed --jobs"),
        ("judge", "--seed --jobs"),
        ("human", "--jobs"),
        ("compare", "--jobs"),
        ("report", "--jobs"),
    ],
)
def test_options_that_mean_nothing_are_not_offered(words, flags, capsys):
    text = shown(capsys, *words.split())
    assert [flag for flag in flags.split() if f" {flag} " in text] == []


def test_what_is_not_offered_is_taken_as_before(tmp_path, capsys):
    path, out = tmp_path / "a.csv", tmp_path / "out.json"
    path.write_text("system,segment,m\nA,1,1\nA,2,3\nB,1,2\nB,2,2\n")
    assert run(["data", "info", str(path), "--seed", "3", "--jobs", "2", "--out", str(out)]) == 0
    assert out.exists()
    again = ["data", "convert", str(path), str(tmp_path / "b.csv"), "--out", str(tmp_path / "c.md")]
    assert run(again) == 0
    assert (tmp_path / "c.md").exists()
    assert run(["data", "info", str(path), "--jobs", "0"]) == 2
    assert "'--jobs'" in capsys.readouterr().err


def test_a_report_has_a_name_without_being_given_one(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    Path("a.csv").write_text("system,segment,m\nA,1,1\nA,2,3\nB,1,2\nB,2,2\n")
    assert run(["report", "a.csv"]) == 0
    assert Path("steelyard-report.html").exists()
    assert "wrote steelyard-report.html" in capsys.readouterr().err
    monkeypatch.setenv("COLUMNS", "100")
    text = shown(capsys, "report")
    assert ".html .htm. [default: steelyard-report.html]" in " ".join(text.split())
    assert ".csv" not in text.partition("Output:")[2].partition("--seed")[0]


def test_suffixes_are_all_told(monkeypatch, capsys):
    monkeypatch.setenv("COLUMNS", "100")
    text = " ".join(shown(capsys, "compare").split())
    assert (
        "by suffix: .json .csv .tsv .md .tex .html .txt .parquet; a figure: .png .svg .pdf." in text
    )


def test_long_examples_can_be_pasted():
    example = "steelyard score --src src.de new.en --command 'my-metric {src} {out}' --jobs 2"
    lines = group.pasted(example, 44)
    assert max(map(len, lines)) <= 44
    assert shlex.split("\n".join(lines).replace("\\\n", " ")) == shlex.split(example)
