"""``steelyard compare``: which system is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli.emit import emit
from steelyard.cli.options import (
    FIGURES,
    LEVEL,
    SUFFIXES,
    InputOptions,
    Names,
    OutputOptions,
    Real,
    given,
    input_options,
    need_inputs,
    output_options,
    refuse_workers,
    without_part,
    worker_options,
)
from steelyard.cli.plots import plot_option, wanted_figures, write_figures
from steelyard.cli.progress import workers_with_progress
from steelyard.cli.texts import TextOptions, text_options
from steelyard.core.errors import UsageError

if TYPE_CHECKING:
    from steelyard.comparison.pair import Decision
    from steelyard.comparison.results import Comparison
    from steelyard.core.parallel import Workers
    from steelyard.core.table import Table
    from steelyard.data.evalset import EvalSet

TESTS = ("t", "permutation", "bootstrap", "mood", "sign", "wilcoxon", "mcnemar")
# What report.comparefigures draws; importing it would cost start-up.
PLOTS = ("forest", "pairwise", "density", "differences", "wins", "ranks", "disagreement")
PAIR_PLOTS = ("density", "differences", "wins")
# The card's tests are its own, on two systems and two-sided.
_NOT_ON_THE_CARD = frozenset(
    ("by", "tests", "ties", "tolerance", "prior", "method", "orders", "k", "alternative",
     "correction", "pairwise")
)  # fmt: skip


@click.command(
    epilog="Examples: steelyard compare scores.csv --score chrF --by mean,bt; "
    "steelyard compare scores.csv --score COMET --pair new,old; "
    "steelyard compare --battles arena.jsonl"
)
@click.argument("inputs", nargs=-1, metavar="INPUT...")
@click.option("--score", type=Names(), help="Compare by this score, or by several of them.")
@click.option("--by", type=Names(), help="Rankings: mean median bt elo trueskill, and, of corpus "
              "metrics, sentence-mean; by default mean,median,bt (mean,bt of scores that are 0 or "
              "1).")  # fmt: skip
@click.option("--test", "tests", type=Names(), help="Tests of all pairs: t permutation bootstrap "
              "mood sign wilcoxon mcnemar, or all; by default those that fit the rankings (none of "
              "more than 300 systems).")  # fmt: skip
@click.option("--pair", type=Names(), metavar="A,B", help="The decision card of two systems.")
@click.option("--power", type=LEVEL, default=0.8, show_default=True,
              help="Power at which the card counts the segments needed.")  # fmt: skip
@click.option("--ties", type=click.Choice(["half", "drop", "davidson", "rao-kupper", "second"]),
              default="half", show_default=True,
              help="What ties are to Bradley-Terry.")  # fmt: skip
@click.option("--tolerance", type=Real(min=0), default=0.0, show_default=True,
              help="Differences of at most this are ties.")  # fmt: skip
@click.option("--prior", type=Real(min=0), default=0.0, show_default=True,
              help="Wins and losses against an imaginary opponent, for Bradley-Terry.")  # fmt: skip
@click.option("--fit", "method", type=click.Choice(["newton", "newman", "mm"]), default="newton",
              show_default=True, help="How Bradley-Terry is fitted.")  # fmt: skip
@click.option("--orders", type=click.IntRange(min=0), default=100, show_default=True, metavar="N",
              help="Random orders that Elo and TrueSkill are averaged over; 0: as in the "
              "file.")  # fmt: skip
@click.option(
    "--elo-k",
    "k",
    type=Real(min=0, min_open=True),
    default=20.0,
    show_default=True,
    help="K of Elo.",
)
@click.option("--alternative", type=click.Choice(["two-sided", "greater", "less"]),
              default="two-sided", show_default=True)  # fmt: skip
@click.option("--correction", type=click.Choice(["holm", "benjamini-hochberg", "bonferroni",
                                                 "none"]), default="holm", show_default=True,
              help="Correct p-values for the number of pairs.")  # fmt: skip
@click.option("--alpha", type=LEVEL, default=0.05, show_default=True)
@click.option("--intervals", type=click.Choice(["segment", "document", "battle", "none"]),
              default="segment", show_default=True,
              help="What is resampled for intervals.")  # fmt: skip
@click.option("--bootstrap", "n_bootstrap", type=click.IntRange(min=10), default=1000,
              show_default=True, metavar="B", help="Resamples for intervals.")  # fmt: skip
@click.option("--battles", metavar="LOG", help="Rank by a log of battles, or by a folder of logs, "
              "instead of scores.")  # fmt: skip
@click.option("--left", metavar="COL", help="Column of the first system in a log.")
@click.option("--right", metavar="COL", help="Column of the second system in a log.")
@click.option("--outcome", metavar="COL", help="Column of who won in a log.")
@click.option("--unit", metavar="COL", help="Column of what battles in a log share: a prompt, a "
              "user.")  # fmt: skip
@click.option("--pairwise", is_flag=True, help="Print the matrix of every test, too.")
@plot_option(PLOTS)
@text_options
@input_options
@partial(output_options, suffixes=(*SUFFIXES, *FIGURES))
@worker_options
def compare(
    inputs: tuple[str, ...],
    texts: TextOptions,
    options: InputOptions,
    output: OutputOptions,
    workers: Workers,
    **settings: Any,
) -> None:
    """Compare systems on the same segments: rankings, intervals, tests, tiers.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined. Or
    it is a file for each system: plain text (with --ref and --metric), or a number per line; two of
    these give the decision card.
    With --battles LOG, systems are compared by who won against whom instead; long logs are split
    over --jobs or a --cluster.
    """
    settings["rng"] = output.seed
    if settings["intervals"] == "none":
        settings["intervals"] = None
    pairwise = settings.pop("pairwise")
    known = PLOTS if settings["pair"] is None else PAIR_PLOTS
    plot = settings.pop("plot")
    plots = wanted_figures(plot, output, known)
    columns = {name: settings.pop(name) for name in ("left", "right", "outcome", "unit")}
    log = settings.pop("battles")
    if log is not None:
        if inputs:
            raise UsageError("--battles LOG: expected no other input")
        with workers_with_progress("counting", workers, output) as settings["workers"]:
            result, tables, draw = _battles(log, columns, options, settings, pairwise=pairwise)
    else:
        refuse_workers(workers, "only a log of battles is split (--battles LOG)")
        for option, value in columns.items():
            if value is not None:
                raise UsageError(f"--{option} names a column of a log: --battles LOG is missing")
        need_inputs(inputs, "steelyard compare scores.csv --score chrF")
        es, pair = _load(inputs, texts, options)
        if pair and settings["pair"] is None:  # two plain files: figures of two systems
            plots = wanted_figures(plot, output, PAIR_PLOTS)
        settings["pair"] = settings["pair"] or pair
        result, tables, draw = _scores(es, options, settings, pairwise=pairwise)
    emit(result, tables, write_figures(plots, draw, output))


def _load(
    inputs: tuple[str, ...], texts: TextOptions, options: InputOptions
) -> tuple[EvalSet, tuple[str, ...] | None]:
    """Load, and score texts if metrics are named; two plain files are a pair, in their order."""
    from steelyard.formats.texts import plaintext

    es = texts.load(inputs, options)
    forms = {each.format for each in es.inputs}
    pair = None
    if len(inputs) == es.n_systems == 2 and forms <= {plaintext.TEXTS, plaintext.SCORES}:
        pair = tuple(plaintext.named([Path(path) for path in inputs], "system"))
    if texts.asks or (es.outputs and not es.scores):
        found = texts.score(es, options)
        es = found.evalset.select(scores=found.metrics)
    return es, pair


def _scores(
    es: EvalSet, options: InputOptions, settings: dict[str, Any], *, pairwise: bool
) -> tuple[dict[str, Any], list[Table], Callable[[str], Any]]:
    from steelyard.comparison import pair as decision
    from steelyard.comparison import run as comparison
    from steelyard.comparison import scores as comparedscores
    from steelyard.comparison import several as manyscores

    pair, power, scores = settings.pop("pair"), settings.pop("power"), settings.pop("score")
    names = scores or tuple(n for n, table in es.scores.items() if table.has_segments)
    if pair is not None:
        if len(pair) != 2:
            raise UsageError(f"--pair A,B: expected two systems, found {len(pair)}")
        if len(names) != 1:
            comparison.the_score(es, None if len(names) != 1 else names[0])
        card = decision.decide(
            es, (pair[0], pair[1]), names[0], human=options.human, alpha=settings["alpha"],
            power=power, unit=settings["intervals"] or "segment", rng=settings["rng"],
            **({"n_bootstrap": settings["n_bootstrap"]} if given("n_bootstrap") else {}),
        )  # fmt: skip
        unused = without_part(_NOT_ON_THE_CARD, "the decision card")
        card = replace(card, warnings=(*card.warnings, *unused))
        return card.to_dict(), [card.table()], partial(_draw_pair, es, card)
    if settings["tests"] == ("all",):
        right_or_wrong = names and all(comparedscores.is_binary(es[name].values) for name in names)
        settings["tests"] = TESTS if right_or_wrong else TESTS[:-1]
    if len(names) > 1:
        by = settings.pop("by") or ("mean",)
        many = manyscores.compare_scores(es, names, by=by[0], **settings)
        return many.to_dict(), [many.table()], _draw_none
    found = comparison.compare(es, names[0] if names else None, **settings)
    tables = [found.table(), *(found.pair_tables() if pairwise else [])]
    return found.to_dict(), tables, partial(_draw, es, found)


def _draw(es: EvalSet | None, found: Comparison, name: str) -> Any:
    from steelyard.report.figures import comparefigures

    scores = None if es is None else comparefigures.scores_of(es, found)
    return comparefigures.draw(name, found, scores)


def _draw_pair(es: EvalSet, card: Decision, name: str) -> Any:
    from steelyard.comparison import results as comparisonresults
    from steelyard.report.figures import pairfigures

    rows = [es.systems.index(system) for system in card.pair]
    return pairfigures.draw_pair(
        name, es[card.score].values[rows], card.pair,
        pairfigures.segment_label(card.score, corpus=card.of == comparisonresults.CORPUS),
        higher_is_better=card.higher_is_better,
    )  # fmt: skip


def _draw_none(name: str) -> Any:
    raise UsageError(f"figure '{name}' shows one score: choose it with --score NAME")


def _battles(
    path: str,
    columns: dict[str, Any],
    options: InputOptions,
    settings: dict[str, Any],
    *,
    pairwise: bool,
) -> tuple[dict[str, Any], list[Table], Callable[[str], Any]]:
    from steelyard.comparison import battles as battlecomparison

    options.only_rows_and_columns()
    if settings.pop("tests") not in (None, ("sign",)):
        raise UsageError("--battles LOG: pairs are tested by --test sign only")
    for option in ("score", "pair", "power", "tolerance"):
        if given(option):
            raise UsageError(f"--{option} applies to scores, not to a log of battles")
        del settings[option]
    for option in ("by", "orders"):  # what is usual differs for logs
        if not given(option):
            del settings[option]
    selected: dict[str, Any] = {"where": options.where, "ignore": options.ignore}
    found = battlecomparison.compare_battles(path, **columns, **selected, **settings)
    tables = [found.table(), *(found.pair_tables() if pairwise else [])]
    return found.to_dict(), tables, partial(_draw, None, found)
