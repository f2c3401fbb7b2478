"""Command options that are made from the fields of option objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import click
import pytest
from click.testing import CliRunner

from steelyard.cli.flags import spoken
from steelyard.cli.main import cli
from steelyard.cli.params import options_of
from steelyard.core import options
from steelyard.core.errors import UsageError


@dataclass(frozen=True, kw_only=True)
class Toy(options.Options):
    """One option of every kind."""

    alpha: float = options.fraction(0.05, "Level.")
    tolerance: float = options.number(0.0, least=0)
    epsilon: float | None = options.number(None, least=0, none="auto", metavar="auto|X")
    n_bootstrap: int = options.whole(1000, "Resamples.", least=10, flag="--bootstrap", metavar="B")
    orders: int | None = options.whole(None, least=0)
    ties: str = options.choice("half", ("half", "drop"), "Ties.")
    intervals: str | None = options.choice("segment", ("segment", "document"), none="none")
    level: str | None = options.choice(None, ("sys", "seg"))
    systems: tuple[str, ...] | None = options.names(None, "These systems.")
    unit: str | None = options.text(None)
    common: bool = options.flag("What all have.")
    standardised: bool | None = options.flag("Or not.", default=None, flag="--z/--raw")
    scale: tuple[float, ...] = options.numbers((0, 100), "Ends.")
    thresholds: tuple[float, ...] = options.numbers((), least=0)
    weights: str | None = options.source(None, "A file.", metavar="FILE")


def called(*arguments: str) -> tuple[Any, dict[str, Any], str]:
    """Run a command with the options of Toy: the object, what is left, what was printed."""
    seen: list[Any] = [None, {}]

    def call(**settings: Any) -> None:
        seen[:] = Toy.take(settings), settings

    every: list[click.Parameter] = [*options_of(Toy, *Toy.declared())]
    every.append(click.Option(["--score"]))
    done = CliRunner().invoke(click.Command("toy", callback=call, params=every), arguments)
    return seen[0], seen[1], done.output


def test_defaults_are_those_of_the_fields():
    assert called("--score", "x")[:2] == (Toy(), {"score": "x"})


def test_values_arrive_under_the_names_of_the_fields():
    given = ("--alpha", "0.1", "--bootstrap", "20", "--intervals", "none", "--epsilon", "0.5",
             "--systems", "a,b", "--common", "--level", "seg", "--unit", "3", "--raw",
             "--scale", "1,2.5", "--thresholds", "1,5", "--weights", "w.toml")  # fmt: skip
    assert called(*given)[0] == Toy(alpha=0.1, n_bootstrap=20, intervals=None, epsilon=0.5,
                                    systems=("a", "b"), common=True, level="seg",
                                    unit="3", standardised=False, scale=(1, 2.5),
                                    thresholds=(1, 5), weights="w.toml")  # fmt: skip
    assert called("--epsilon", "auto")[0] == Toy()


@pytest.mark.parametrize(
    ("option", "value"),
    [("alpha", "0"), ("alpha", "1"), ("alpha", "nan"), ("tolerance", "-1"), ("tolerance", "inf"),
     ("epsilon", "-1"), ("epsilon", "foo"), ("bootstrap", "9"), ("orders", "-1"), ("ties", "foo"),
     ("intervals", "foo"), ("level", "foo")],
)  # fmt: skip
def test_both_doors_refuse_what_lies_beyond_the_bounds(option, value):
    made, _, printed = called(f"--{option}", value)
    assert made is None
    assert f"--{option}" in printed
    name = {"bootstrap": "n_bootstrap"}.get(option, option)
    kind = {"alpha": float, "tolerance": float, "bootstrap": int, "orders": int}.get(option, str)
    bad: dict[str, Any] = {name: kind(value)}
    with pytest.raises(UsageError):
        Toy(**bad)


def test_help_shows_defaults_bounds_and_words_for_none():
    shown = " ".join(called("--help")[2].split())
    for part in (
        "--bootstrap B Resamples. [default: 1000; x>=10]",
        "--epsilon auto|X [default: auto",
        "[segment|document|none] [default: segment]",
        "Level. [default: 0.05; 0<x<1]",
        "--common What all have.",
        "--z / --raw Or not. ",
        "--scale X,Y,... Ends. [default: 0,100]",
        "--thresholds X,Y,... --weights FILE A file.",
    ):
        assert part in shown, part


MESSAGES = [
    "'da' lacks 1,620 scores (common=True weighs all metrics on what all have)",
    'the ratings are not known; give raw ratings (intervals="system", protocol=...)',
    'unit="document": the documents of the segments are not known',
    'kind={"metric": ["x"]} or columns={"system": "model"} says what it is',
    "name the score (score=NAME); quality_control=True excludes them",
    "fewer `jobs` or sy.human_scores",
]


@pytest.mark.parametrize("message", MESSAGES)
def test_no_message_of_any_command_holds_python(message):
    for name in cli.list_commands(click.Context(cli)):
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        flags = {p.name: max(p.opts, key=len) for p in command.params if p.name}
        text = spoken(message, flags or {"human": "--human"})
        assert not re.search(r"""\w=(True|["{\[]|\.\.\.)|\bsy\.|`""", text), (name, text)
        assert text
