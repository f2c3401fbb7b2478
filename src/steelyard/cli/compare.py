"""``steelyard compare``: which system is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from steelyard.cli import proposals
from steelyard.cli.flags import spoken
from steelyard.cli.group import BATTLES, SCORES, command
from steelyard.cli.output import (
    emit,
    plot_option,
    shown_progress,
    wanted_figures,
    write_figures,
)
from steelyard.cli.params import (
    FileName,
    InputOptions,
    Names,
    OutputOptions,
    TextOptions,
    figure_options,
    from_fields,
    given,
    input_options,
    need_inputs,
    text_options,
    without_part,
)
from steelyard.comparison.options import (
    AUTORANK,
    TESTS,
    TIE_MODELS,
    BattleOptions,
    CardOptions,
    CompareOptions,
    PairOptions,
    RankOptions,
)
from steelyard.core.errors import UsageError
from steelyard.core.text import listed
from steelyard.core.warnings import code_of
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.comparison.autorank import AutoRanking
    from steelyard.comparison.card import Card, Cards
    from steelyard.comparison.logs import BattleComparison
    from steelyard.comparison.results import Comparison, ManyScores, RankedSystems
    from steelyard.core.table import Table
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.load import Inputs

# What report.figures.comparison draws; importing it would cost start-up.
PLOTS = (
    "forest", "pairwise", "pairwise-alone", "pairwise-all", "density", "differences", "wins",
    "ranks", "disagreement",
)  # fmt: skip
PAIR_PLOTS = ("density", "differences", "wins")
_SIDES = ("left", "right", "outcome")
_OUTCOMES = ("words", "swapped")  # how outcomes are read
_WARNINGS = 3  # that a terminal shows without --details
_OF_THE_CARD = frozenset(("power", "worth"))
# The card's tests are its own, on two systems and two-sided.
_NOT_ON_THE_CARD = frozenset(
    ("by", "autorank", "tests", "alternative", "correction", "pairwise", *RankOptions.declared())
)
# Without these, two systems are compared on the card.
_OF_RANKINGS = (*_NOT_ON_THE_CARD, "intervals", "plot")
# AutoRank has intervals, and no tests of pairs.
_NOT_OF_SEVERAL = frozenset(
    (
        "tests",
        "alternative",
        "correction",
        "alpha",
        "pairwise",
        *_OF_THE_CARD,
        *RankOptions.declared(),
    )
)


@command(
    headings={
        "What to compare": "score pair power worth",
        "Ranking": "by autorank ties tolerance prior method orders k trueskill_beta trueskill_tau "
        "trueskill_draw",
        "Tests and intervals": "tests alternative correction alpha unit intervals n_bootstrap",
        "Battles": "battles left right outcome words swapped scale",
        "What is shown": "details pairwise plot",
    },
    shape=f"{SCORES}\n{BATTLES}",
    examples=(
        "steelyard compare scores.csv --score chrF",
        "steelyard compare scores.csv --score COMET --pair new,old",
        "steelyard compare scores.csv --score COMET,MetricX --by autorank",
        "steelyard compare --battles arena.jsonl",
        "steelyard compare new.en old.en --ref ref.en --metrics bleu,chrf",
    ),
)
@click.argument("inputs", nargs=-1, type=FileName(), metavar="INPUT...")
@click.option("--score", type=Names(), help="Compare by this score, or by several of them.")
@from_fields(CompareOptions, "by", "autorank", "tests")
@click.option("--pair", type=Names(), metavar="A,B", help="The decision card of two systems.")
@from_fields(CardOptions, "power", "worth")
@from_fields(CompareOptions, *RankOptions.declared(), *PairOptions.declared())
@click.option(
    "--battles",
    type=FileName(),
    metavar="LOG",
    help="Rank by a log of battles, or by a folder of logs, instead of scores.",
)
@from_fields(BattleOptions, *_SIDES, *_OUTCOMES, "scale")
@click.option("--details", is_flag=True, help="Print all columns, notes, sentences and warnings.")
@click.option("--pairwise", is_flag=True, help="Print matrices of all pairs, too.")
@plot_option(PLOTS, f"; with --pair: {' '.join(PAIR_PLOTS)}")
@text_options
@input_options
@figure_options
def compare(
    inputs: tuple[str, ...],
    texts: TextOptions,
    options: InputOptions,
    output: OutputOptions,
    **settings: Any,
) -> None:
    """Compare systems on the same segments: rankings, intervals, tests, tiers.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined. Or
    it is a file for each system: plain text (with --ref and --metrics), or a number per line; two
    of these give the decision card.
    With --battles LOG, systems are compared by who won against whom instead. INPUT is taken for
    such a log if it looks like one.
    """
    known = PLOTS if settings["pair"] is None else PAIR_PLOTS
    of_two = set(settings["plot"] or ()) & set(PAIR_PLOTS) - set(known)
    plots = () if of_two else wanted_figures(settings["plot"], output, known)
    asked = _Asked(settings, options, output.seed)
    log, loaded = settings["battles"], None
    if log is None and len(inputs) == 1 and any(given(option) for option in _OUTCOMES):
        (log,), inputs = inputs, ()
    if log is None:
        for option in _SIDES:
            if settings[option] is not None:
                raise UsageError(f"--{option} names a column of a log: --battles LOG is missing")
        need_inputs(inputs, "steelyard compare scores.csv --score chrF")
        with shown_progress("scoring" if texts.asks else "reading", output):
            whole = "autorank" in (settings["by"] or ())
            loaded = _load(inputs, texts, options.by_unit(settings["unit"]), whole=whole)
    elif inputs:
        raise UsageError("--battles LOG: expected no other input")
    if of_two and (loaded is None or not loaded[1]):
        raise UsageError(f"--plot {min(of_two)}: is of two systems, and --pair A,B is missing")
    if loaded is None:
        with shown_progress("counting", output):
            answer = asked.of_log(log or inputs)
    else:
        es, pair = loaded
        if pair and settings["pair"] is None:  # two plain files: figures of two systems
            plots = wanted_figures(settings["plot"], output, PAIR_PLOTS)
        as_json = output.json or (output.out is not None and files.suffix(output.out) == "json")
        with shown_progress("comparing", output):
            answer = asked.of_scores(es, settings["pair"] or pair, as_json=as_json)
            _ = answer.result.warnings  # tests are made when they are first asked for
    output = write_figures(plots, answer.draw, output)
    details = settings["details"]
    emit(
        answer.result if details or output.json else answer.with_few_warnings(),
        answer.tables,
        output,
        words=answer.result.words().sentences() if details else None,
        shown=answer.tables if details else [*answer.brief, *answer.tables[1:]],
        says_read=False if details else None,
        then=answer.then(),
    )


def _load(
    inputs: tuple[str, ...], texts: TextOptions, options: InputOptions, *, whole: bool = False
) -> tuple[EvalSet, tuple[str, ...] | None] | None:
    """Load, and score texts if metrics are named; two plain files are a pair, in their order.

    None for a log of battles, or rankings. ``whole`` scores of systems are enough for AutoRank.
    """
    from steelyard.data.judgements import BattleLog, Rankings
    from steelyard.formats import plaintext
    from steelyard.formats.load import Inputs

    held = texts.read(inputs, options)
    judged = held.judged if isinstance(held, Inputs) else None
    if judged is not None and isinstance(judged.value, (BattleLog, Rankings)):
        return None
    es, links = texts.joined(held, options)
    if isinstance(held, Inputs) and not whole:
        _need_two_systems(es, held)
    forms = {each.format for each in es.inputs}
    pair = None
    if len(inputs) == es.n_systems == 2 and forms <= {plaintext.TEXTS, plaintext.SCORES}:
        pair = tuple(plaintext.named([Path(path) for path in inputs], "system"))
    if texts.asks or (es.outputs and not es.scores):
        found = texts.score(es, options, links)
        es = found.evalset.select(scores=found.metrics)
    return es, pair


def _need_two_systems(es: EvalSet, held: Inputs) -> None:
    """Ask for the others if a table named no system, so that its file was taken for one."""
    if es.scores and not es.outputs and not any(t.has_segments for t in es.scores.values()):
        raise UsageError(
            f"{listed(list(es.scores), last=' and ')} are scores of whole systems: comparing them "
            "needs a score for each item"
        )
    if es.n_systems == 1 and any(part.by_file for part in held.parts):
        scores = list(es.scores)
        raise UsageError(
            f"{held.parts[0].files[0].path}: {listed(scores, last=' and ')} are scores of one "
            "system: name a file for each system (steelyard compare old.csv new.csv), or "
            f"--systems {','.join(scores[:2])} if these are systems"
        )


@dataclass(frozen=True)
class _Answer:
    """What is printed, how a figure of it is drawn, and what the next useful command is."""

    result: Comparison | BattleComparison | AutoRanking | ManyScores | Card | Cards
    tables: list[Table]
    draw: Callable[[str], Any]
    then: Callable[[], str | None]

    @property
    def brief(self) -> list[Table | str]:
        """The first table as a terminal shows it."""
        return self.result.pieces()

    def with_few_warnings(self) -> Any:
        """Return the result with the warnings that change what somebody does, at most three."""
        from steelyard.comparison.results import DETAILS

        warnings = [text for text in self.result.warnings if code_of(text) not in DETAILS]
        if len(warnings) > _WARNINGS:
            rest = f"{len(warnings) - _WARNINGS + 1} more warnings: --details shows all"
            warnings = [*warnings[: _WARNINGS - 1], rest]
        return replace(self.result, warnings=tuple(warnings))


@dataclass(frozen=True)
class _Asked:
    settings: dict[str, Any]
    inputs: InputOptions
    seed: int

    def of_scores(
        self, es: EvalSet, pair: tuple[str, ...] | None, *, as_json: bool = False
    ) -> _Answer:
        from steelyard.comparison import run
        from steelyard.comparison.rankings import is_binary
        from steelyard.stats.arrays import row_means

        chosen = self.settings["score"]
        names = chosen or tuple(n for n, table in es.scores.items() if table.has_segments)
        if pair is not None:
            return self._card(es, pair, names)
        if es.n_systems == 2 and names and not as_json and not any(map(given, _OF_RANKINGS)):
            first, second = row_means(es[names[0]].oriented)
            pair = es.systems[::-1] if second > first else es.systems
            return self._card(es, pair, names)
        tests = self.settings["tests"]
        if tests == ("all",):
            right_or_wrong = names and all(is_binary(es[name].values) for name in names)
            unfit: tuple[str, ...] = () if right_or_wrong else ("mcnemar",)
            unfit += ("bt-gap",) if self.settings["ties"] in TIE_MODELS else ()
            tests = tuple(name for name in TESTS if name not in unfit)
        options = CompareOptions.of(self.settings | {"tests": tests})
        if options.by == (AUTORANK,):
            return self._together(es, options)
        if given("autorank"):
            raise UsageError("--autorank is a form of --by autorank")
        for option in ("scale", *_OUTCOMES):
            if given(option):
                raise UsageError(f"--{option} is of battles, not of scores")
        unused = without_part(_OF_THE_CARD, "a ranking: the decision card of --pair A,B has it")
        if len(names) > 1:
            many = run.compare_each(es, names, options, self.seed)
            many = replace(many, warnings=(*many.warnings, *unused))
            first = proposals.option("--score", proposals.names(names[0]))
            then = partial(proposals.again, *first, without={"score"})
            return _Answer(many, [many.table()], _draw_none, then)
        result = run.compare_by(es, names[0] if names else None, options, self.seed)
        return self._shown(replace(result, warnings=(*result.warnings, *unused)))

    def _together(self, es: EvalSet, options: CompareOptions) -> _Answer:
        """Rank by several scores in one; by default by all metrics."""
        from steelyard.comparison.autorank import rank_together

        unused = without_part(_NOT_OF_SEVERAL, "AutoRank")
        result = rank_together(es, self.settings["score"] or es.metrics, options, self.seed)
        return self._shown(replace(result, warnings=(*result.warnings, *unused)))

    def _card(self, es: EvalSet, pair: tuple[str, ...], names: Sequence[str]) -> _Answer:
        from steelyard.comparison.card import decide, decide_by_each

        if len(pair) != 2:
            raise UsageError(f"--pair A,B: expected two systems, found {len(pair)}")
        if self.settings["by"] == (AUTORANK,):
            raise UsageError("--by autorank has no decision card: --pair is of one --score")
        settings: dict[str, Any] = {"human": self.inputs.human}
        settings |= {name: self.settings[name] for name in ("alpha", "power", "worth")}
        settings["unit"] = PairOptions.of(self.settings).unit  # intervals may name it, too
        if given("n_bootstrap"):
            settings["n_bootstrap"] = self.settings["n_bootstrap"]
        options, two = CardOptions(**settings), (pair[0], pair[1])
        if len(names) > 1:
            cards = decide_by_each(es, two, names, options, self.seed)
            first = proposals.option("--score", proposals.names(names[0]))
            then = partial(proposals.again, *first, without={"score"})
            return _Answer(cards, [cards.table()], _draw_none, then)
        card = decide(es, two, names[0] if names else None, options=options, rng=self.seed)
        unused = without_part(_NOT_ON_THE_CARD, "the decision card")
        if self.settings["intervals"] is None:
            unused += ("--intervals none has no part in the decision card",)
        card = replace(card, warnings=(*card.warnings, *unused))
        return _Answer(card, [card.table()], card.plot, partial(_page, es))

    def of_log(self, log: str | tuple[str, ...]) -> _Answer:
        from steelyard.comparison.logs import compare_log

        self.inputs.only_rows_and_columns()
        if self.settings["tests"] not in (None, ("sign",)):
            raise UsageError("--battles LOG: pairs are tested by --tests sign only")
        for option in ("score", "pair", "power", "worth", "tolerance"):
            if given(option):
                instead = "; --pairwise shows every pair of a log" if option == "pair" else ""
                raise UsageError(f"--{option} applies to scores, not to a log of battles{instead}")
        settings: dict[str, Any] = {"where": self.inputs.where, "ignore": self.inputs.ignore}
        settings |= {"format": self.inputs.format}
        settings |= {name: value for name, value in self.settings.items() if name != "tolerance"}
        for role, column in self.inputs.columns:
            if role not in (*_SIDES, "unit"):
                raise UsageError(f"--columns {role}={column}: a log of battles has no {role}")
            if role in _SIDES:
                settings[role] = settings[role] or column
            elif not given("unit"):
                settings[role] = column
        for option in ("by", "orders"):  # what is usual differs for logs
            if not given(option):
                del settings[option]
        options = BattleOptions.of(settings)
        return self._shown(compare_log(log, options, self.seed))

    def _shown(self, result: Comparison | BattleComparison | AutoRanking) -> _Answer:
        result = replace(result, notes=tuple(map(spoken, result.notes)))
        tables = [result.table(), *(result.pair_tables() if self.settings["pairwise"] else [])]
        then = partial(_next, result, pairwise=self.settings["pairwise"])
        return _Answer(result, tables, result.plot, then)


def _next(result: RankedSystems, *, pairwise: bool) -> str | None:
    """Look closer at the first two of one score; at all pairs where there is no card of two."""
    from steelyard.comparison.results import Comparison

    first = result.ranking(next(iter(result.aggregations)))[:2]
    if isinstance(result, Comparison) and len(first) == 2:
        pair = proposals.option("--pair", proposals.names(*first))
        return proposals.again(*pair, without=(*_NOT_ON_THE_CARD, "intervals", "plot", "details"))
    has_pairs = len(first) == 2 and not pairwise and result.tests
    return proposals.again("--pairwise", without={"plot"}) if has_pairs else None


def _page(es: EvalSet) -> str | None:
    """Propose a report, where the inputs are what it reads."""
    from steelyard.formats import plaintext

    texts = any(given(name) for name in TextOptions.__dataclass_fields__)
    plain = {plaintext.TEXTS, plaintext.SCORES}
    if texts or not plain.isdisjoint(each.format for each in es.inputs):
        return None
    return proposals.another("report", "--out", "report.html", keep={*proposals.READING, "score"})


def _draw_none(name: str) -> Any:
    raise UsageError(f"figure '{name}' shows one score: choose it with --score NAME")
