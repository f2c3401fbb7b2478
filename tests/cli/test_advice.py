"""Warnings that an option does something about say which."""

from __future__ import annotations

import click
import pytest

from steelyard.cli.advice import ADVICE, advised
from steelyard.cli.main import cli, run
from steelyard.core.warnings import TypedWarning
from steelyard.demo import embedded

SCORES = [str(embedded.SCORES), "--lower-is-better", "edit-rate-refA", "--bootstrap", "50"]


def flags(name: str) -> set[str]:
    command = cli.get_command(click.Context(cli), name)
    assert command is not None
    return {flag for param in command.params for flag in param.opts}


def test_the_options_are_there():
    every = flags("compare") | flags("meta") | flags("human")
    assert {flag for flag, _ in ADVICE.values()} <= every


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["compare", *SCORES, "--score", "learned-refA", "--by", "bt",
          "--details"],
         "; --pairwise shows every pair"),
        (["compare", *SCORES, "--score", "learned-refA", "--by", "bt",
          "--details"],
         "; --pair A,B compares two systems alone"),
    ],
)  # fmt: skip
def test_a_command_says_what_to_do(words, said, capsys):
    assert run(words) == 0
    told = [line for line in capsys.readouterr().err.splitlines() if line.startswith("warning: ")]
    assert sum(said in line for line in told) == 1


def test_what_is_said_already_is_not_said_again():
    text = TypedWarning("2 systems are outliers; --outliers keep says nothing", "outliers")
    assert advised(text, {"--outliers"}) == text
