"""Further questions about judges: bias, correction, plans of labels, drift."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import click

from steelyard.cli import following
from steelyard.cli.emit import emit
from steelyard.cli.fields import from_fields
from steelyard.cli.helping import VERDICTS, command
from steelyard.cli.judge import INPUTS, OWN, reading
from steelyard.cli.options import (
    SUFFIXES,
    TABLES,
    OutputOptions,
    need_inputs,
    output_options,
    settled_options,
)
from steelyard.cli.values import FileName
from steelyard.core.errors import UsageError
from steelyard.formats import files
from steelyard.judging.options import BiasOptions, CorrectOptions, DriftOptions, PlanOptions

_BUDGET = 50  # labels that are proposed
# The judge is named elsewhere.
_READ_BY_JUDGE = ("human", "unit", "covariates", "words", "swapped", "ignore")
_OF_CORRECT = ("judge", "labels", "by", "pair", "population", "level", "draws")
_OF_PLAN = ("judge", "half_width", "kappa", "accuracy", "pair", "difference", "budget", "power",
            "level")  # fmt: skip


@command(
    headings={
        "Who is who": "human judges own covariates",
        "What to look at": "by unit level",
        "How verdicts are read": "words swapped",
    },
    shape=VERDICTS,
    examples=(
        "steelyard judge bias battles.csv --human vote",
        "steelyard judge bias battles.csv --human vote --by language --own 'gpt-4=gpt-*'",
    ),
)
@INPUTS
@reading()
@from_fields(BiasOptions, "by")
@OWN
@from_fields(BiasOptions, "level")
@settled_options
def bias(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Say what sways judges beyond people: place, length, their own family, any covariate.

    Errors (judge minus people) are regressed on all covariates at once, on rows that people
    labelled; agreement is split by slices; of pairs, strengths stand plain and with style
    controlled.
    """
    from steelyard.judging.biases import judge_bias

    need_inputs(inputs, "steelyard judge bias battles.csv --human vote")
    report = judge_bias(*inputs, **settings)
    tables = report.tables()
    emit(report, tables, output, words=report.summary().splitlines())


@command(
    headings={
        "Who is who": "human judge covariates",
        "What to estimate": "by pair labels population",
        "Intervals": "unit level draws",
        "How verdicts are read": "words swapped",
    },
    shape=VERDICTS,
    examples=(
        "steelyard judge correct verdicts.csv --human expert --judge gpt",
        "steelyard judge correct verdicts.csv --human expert --judge gpt --labels by:verdict",
        "steelyard judge correct battles.csv --human vote --judge gpt --by bt",
    ),
)
@INPUTS
@reading(*_READ_BY_JUDGE)
@from_fields(CorrectOptions, *_OF_CORRECT)
@output_options
def correct(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Say what people would say of all rows, from few labels and the verdicts of a judge.

    The judge's errors are taken off by the labels (prediction-powered inference), for every system
    and every pair of systems, by means or by Bradley-Terry strengths, with tiers and places.
    """
    from steelyard.judging.correction import correct as run

    need_inputs(inputs, "steelyard judge correct verdicts.csv --human expert --judge gpt")
    found = run(*inputs, rng=output.seed, **settings)
    table = found.table()
    emit(found, [table], output, words=found.summary().splitlines())


@command(
    headings={
        "Who is who": "human judge covariates",
        "What is wanted": "half_width kappa accuracy pair difference budget",
        "Intervals": "unit level power",
        "How verdicts are read": "words swapped",
    },
    shape=VERDICTS,
    examples=(
        "steelyard judge plan verdicts.csv --human expert --judge gpt --half-width 0.03",
        "steelyard judge plan verdicts.csv --human expert --judge gpt --budget 50 --out next.csv",
    ),
)
@INPUTS
@reading(*_READ_BY_JUDGE)
@from_fields(PlanOptions, *_OF_PLAN)
@partial(output_options, suffixes=tuple(dict.fromkeys((*SUFFIXES, *TABLES))))
def plan(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Say how many labels are needed, and which rows to label next.

    With --budget N, --out FILE.csv (.tsv, .jsonl, .parquet) writes all rows with the probability
    that each had to be chosen, and which are to be labelled next: fill in the labels, and judge
    correct --labels probability:probability takes the file as it is.
    """
    from steelyard.formats import tables
    from steelyard.judging.planning import plan_labels

    need_inputs(inputs, "steelyard judge plan verdicts.csv --human expert --judge gpt")
    found = plan_labels(*inputs, rng=output.seed, **settings)
    out, wrote = output.out, []
    if out is not None and files.suffix(out) in TABLES and found.rows is not None:
        tables.write(out, found.rows.to_columns())
        wrote.append(out)
        output = replace(output, out=None)
    elif out is not None and files.suffix(out) in set(TABLES) - set(SUFFIXES):
        raise UsageError(f"--out {out}: rows to label are those of --budget N")
    table = found.table()
    words = found.summary().splitlines()
    shown = [table] if found.needs else []
    left = found.n_judged - found.n_labelled
    then = None
    if found.rows is None and left > 0:
        budget = ("--budget", str(min(_BUDGET, left)), "--out", "to-label.csv")
        then = following.again(*budget)
    emit(found, [table], output, words=words, shown=shown, wrote=wrote, then=then)


@command(
    headings={
        "Who is who": "human judges",
        "How they are compared": "changed_rubric unit level",
        "How verdicts are read": "words swapped",
    },
    shape=VERDICTS,
    examples=(
        "steelyard judge drift old.csv new.csv --human expert",
        "steelyard judge drift old.csv new.csv labels.csv --human expert",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="OLD NEW [LABELS]...")
@reading("human", "judges", "unit", "words", "swapped", "ignore")
@from_fields(DriftOptions, "changed_rubric", "level")
@settled_options
def drift(inputs: tuple[str, ...], output: OutputOptions, **settings: Any) -> None:
    """Say whether the new version of a judge is better than the old one, by people.

    OLD and NEW hold verdicts on the same rows, LABELS those of people, unless OLD and NEW do.
    """
    from steelyard.judging.drifting import judge_drift

    if len(inputs) < 2:
        example = "steelyard judge drift old.csv new.csv --human expert"
        raise UsageError(f"expected the old and the new verdicts; for example: {example}")
    report = judge_drift(*inputs, **settings)
    table = report.table()
    emit(report, [table], output, words=report.summary().splitlines())
