"""Numbers of the command line: what lies beyond the bounds gives one line and exit code 2."""

from __future__ import annotations

import click
import pytest

from steelyard.cli.main import cli, run

TABLE = "system,segment,people,m\n" + "".join(
    f"{system},{k},{k % 3 + i},{(k * 7 + i) % 5}\n"
    for i, system in enumerate("ABC")
    for k in range(12)
)
RATINGS = "rater,system,segment,raw\n" + "".join(
    f"r,{system},{k},{10 * k + i}\n" for i, system in enumerate("AB") for k in range(4)
)
BATTLES = "left,right,outcome\nA,B,left\nB,A,tie\n"
TEXTS = '{"seg": 1, "src": "a", "refs": {"r": "a"}, "out": {"A": "a", "B": "b"}}\n'
#: Good arguments of the commands that have numbers among their options.
GOOD = {
    "compare": ["scores.csv", "--score", "m"],
    "meta": ["scores.csv", "--human", "people", "--by", "pa"],
    "human": ["ratings.csv", "--protocol", "da"],
    "report": ["scores.csv", "--human", "people", "--out", "r.html"],
    "score": ["texts.jsonl", "--metrics", "chrf"],
    "study systems": ["scores.csv", "--human", "people"],
    "study segments": ["scores.csv", "--human", "people"],
    "study distinct": ["scores.csv", "--human", "people"],
    "study ties": ["scores.csv", "--human", "people"],
    "study power": ["--effect", "0.5"],
    "study simulation": [],
    "study disagreement": ["scores.csv"],
}
NUMBER = (click.types.FloatParamType, click.types.IntParamType)


def _commands(group: click.Group, before: str = ""):
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, f"{before}{name} ")
        elif command is not None:
            yield f"{before}{name}", command


def _is_number(option: click.Parameter) -> bool:
    numbers = isinstance(option.type, NUMBER) or option.type.name in ("X,Y,...", "M,N,...")
    return isinstance(option, click.Option) and numbers


NUMBERS = [
    (name, option)
    for name, command in _commands(cli)
    for option in command.params
    if _is_number(option)
]


def _bad(option: click.Parameter) -> list[str]:
    values = ["nan", "inf", "-inf", "foo", "1e999"]
    kind = option.type
    unbounded = getattr(kind, "min", None) is None and option.name in FREE
    return values if unbounded else [*values, "-1"]


FREE = ("effect", "difference", "min_prior", "scale", "correlations")  # may be negative


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    """Small inputs in a folder of one's own."""
    monkeypatch.chdir(tmp_path)
    texts = {"scores.csv": TABLE, "ratings.csv": RATINGS, "log.csv": BATTLES, "texts.jsonl": TEXTS}
    for name, text in texts.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(("name", "option"), NUMBERS, ids=lambda x: str(getattr(x, "name", x)))
def test_a_number_beyond_its_bounds(name, option, files, capsys):
    before = sorted(files.iterdir())
    for bad in _bad(option):
        code = run([*name.split(), *GOOD.get(name, []), f"{option.opts[0]}={bad}"])
        shown = capsys.readouterr()
        assert code == 2, f"{option.opts[0]}={bad}"
        assert shown.err.startswith("error: ")
        assert shown.err.count("\n") == 1
        assert shown.out == ""
    assert sorted(files.iterdir()) == before
