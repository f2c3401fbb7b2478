"""``steelyard compare``: which system is better, and how sure that is."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from steelyard.cli.engine import READING, Answer, Call, command, typed_option
from steelyard.cli.flags import spoken
from steelyard.cli.group import BATTLES, SCORES
from steelyard.cli.params import DetailsOptions, InputOptions, TextOptions
from steelyard.comparison.options import (
    AUTORANK,
    TESTS,
    BattleOptions,
    CardOptions,
    CompareOptions,
    RankOptions,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import Options, flag, names, text, wholes
from steelyard.core.table import plain
from steelyard.core.text import listed
from steelyard.formats import files

if TYPE_CHECKING:
    from steelyard.comparison.results import Comparison
    from steelyard.comparison.suites import Repeats
    from steelyard.data.evalset import EvalSet
    from steelyard.formats.load import Inputs
    from steelyard.formats.reshape import RunRows

    _Compared = tuple[Any, Callable[[], str | None]]  # a result, and the next useful command

# What report.figures.comparison draws; importing it would cost start-up.
PLOTS = (
    "forest", "pairwise", "pairwise-alone", "density", "differences", "wins", "ranks",
    "disagreement",
)  # fmt: skip
PAIR_PLOTS = ("density", "differences", "wins")
_SIDES = ("left", "right", "outcome")
_OUTCOMES = ("words", "swapped")  # how outcomes are read
# AutoRank has intervals, and no tests of pairs.
_NOT_OF_SEVERAL = frozenset(("tests", "correction", "alpha", "pairwise", *RankOptions.declared()))
# The card's tests are its own, on two systems and two-sided.
_NOT_ON_THE_CARD = _NOT_OF_SEVERAL - {"alpha"} | {"by", "autorank"}
# Without these, two systems are compared on the card.
_OF_RANKINGS = (*_NOT_ON_THE_CARD, "intervals", "plot")


@dataclass(frozen=True, kw_only=True)
class _Request(Options):
    score: tuple[str, ...] | None = names(None, "Compare by this score, or by several of them.")
    pair: tuple[str, ...] | None = names(None, "The decision card of two systems.", metavar="A,B")
    battles: str | None = text(
        None, "Rank by a log of battles, or a folder of logs, instead of scores.", metavar="LOG"
    )
    pass_k: tuple[int, ...] | None = wholes(
        None, "Of repeated runs: pass@k and pass^k.", flag="--k"
    )
    pairwise: bool = flag("Print tables of all pairs, too.")


@command(
    _Request,
    CompareOptions,
    DetailsOptions,
    TextOptions,
    InputOptions,
    BattleOptions,
    required=False,
    plots=f"{' '.join(PLOTS)}; with --pair: {' '.join(PAIR_PLOTS)}",
    headings={
        "What to compare": "score pair slices pass_k",
        "Ranking": "by autorank ties tolerance prior orders k",
        "Battles": "battles left right outcome words swapped",
        "What is shown": "details pairwise plot",
    },
    shape=f"{SCORES}\n{BATTLES}",
    examples=(
        "steelyard compare scores.csv --score chrF",
        "steelyard compare scores.csv --score COMET --pair new,old",
        "steelyard compare --battles arena.jsonl",
        "steelyard compare new.en old.en --ref ref.en --metrics bleu,chrf",
    ),
)
def compare(call: Call) -> Answer:
    """Compare systems on the same segments: rankings, intervals, tests, tiers.

    INPUT is a table, an mt-metrics-eval folder (with --lp) or a native file; several are joined. Or
    it is a file for each system: plain text (with --ref and --metrics), or a number per line; two
    of these give the decision card.
    With --battles LOG, systems are compared by who won against whom instead. INPUT is taken for
    such a log if it looks like one.
    """
    from steelyard.formats.reshape import keeping_runs

    texts, settings, inputs = call.take(TextOptions), call.settings, call.inputs
    log, es, pair, runs = settings["battles"], None, settings["pair"], []
    if log is None and len(inputs) == 1 and call.given(*_OUTCOMES):
        (log,), inputs = inputs, ()
    if log is None:
        for option in _SIDES:
            if settings[option] is not None:
                raise UsageError(f"--{option} names a column of a log: --battles LOG is missing")
        call.need_inputs()
        with call.progress("scoring" if texts.asks else "reading"), keeping_runs() as runs:
            es, plain_pair = _load(call, texts)
        pair = pair or plain_pair
    elif inputs:
        raise UsageError("--battles LOG: expected no other input")
    figures = call.figures(PLOTS if pair is None else PAIR_PLOTS)
    with call.progress("counting" if es is None else "comparing"):
        if es is None:
            result, then = _of_log(call, log or inputs)
        else:
            two = pair or (None if call.output.as_json else _only_two(call, es))
            result, then = _of_scores(call, es, two)
            _ = result.warnings  # tests are made when they are first asked for
    tables, shown = [result.table()], result.pieces()
    if settings["pairwise"] and hasattr(result, "pair_table"):
        tables += [result.pair_table(by) for by in result.aggregations]
        shown += tables[1:]
    repeats, details = _repeats(runs, es, settings), settings["details"]
    if repeats is not None:
        shown += [repeats.table()] if settings["pass_k"] else ["\n".join(repeats.sentences())]
    return Answer(
        result=result,
        tables=tables,
        words=result.words().sentences() if details else None,
        shown=tables if details else shown,
        figures=figures,
        draw=_draw_none if hasattr(result, "results") else result.plot,
        then=then(),
        more=None if repeats is None else {"repeats": plain(repeats)},
    )


def _repeats(
    runs: Sequence[RunRows], es: EvalSet | None, settings: dict[str, Any]
) -> Repeats | None:
    """Return what repeated runs say, by the first score; None where every item has one."""
    from steelyard.comparison.suites import repeats_of

    names = () if es is None else _scores(es, settings)
    repeats = None
    if es is not None and names and runs:
        repeats = repeats_of(runs, es.systems, names[0], settings["pass_k"] or ())
    if repeats is None and settings["pass_k"]:
        raise UsageError("--k: no item has several runs (a column run, epoch or seed)")
    return repeats


def _load(call: Call, texts: TextOptions) -> tuple[EvalSet | None, tuple[str, ...] | None]:
    """Load, and score texts if metrics are named; two plain files are a pair, in their order.

    No set for a log of battles, or rankings.
    """
    from steelyard.data.judgements import BattleLog, Rankings
    from steelyard.formats import plaintext

    reading = call.reading.by_unit(call.settings["unit"])
    held = texts.read(call.inputs, reading)
    if held.judged is not None and isinstance(held.judged.value, (BattleLog, Rankings)):
        return None, None
    es, links = texts.joined(held, reading)
    if AUTORANK not in (call.settings["by"] or ()):  # which takes scores of whole systems
        es = _with_items(call, es, held)
    forms = {each.format for each in es.inputs}
    pair = None
    if len(call.inputs) == es.n_systems == 2 and forms <= {plaintext.TEXTS, plaintext.SCORES}:
        pair = tuple(files.names_of([Path(path) for path in call.inputs], "system"))
    if texts.asks or (es.outputs and not es.scores):
        scored = texts.score(es, reading, links)
        es = scored.evalset.select(scores=scored.metrics)
    return es, pair


def _with_items(call: Call, es: EvalSet, held: Inputs) -> EvalSet:
    """Take the columns of a leaderboard for items; ask for other systems if a file is but one."""
    from steelyard.comparison.suites import tasks_as_items

    if es.scores and not es.outputs and not any(t.has_segments for t in es.scores.values()):
        chosen, call.settings["score"] = call.settings["score"] or (), None  # tasks become items
        board = tasks_as_items(es.select(scores=chosen), 1) if chosen else tasks_as_items(es)
        if board is not None:
            return board
        raise UsageError(
            f"{listed(list(es.scores), last=' and ')} are scores of whole systems: comparing them "
            "needs a score for each item"
        )
    from steelyard.formats.columns import of_one_measure

    if es.n_systems == 1 and any(part.by_file for part in held.parts):
        scores = list(es.scores)
        shown = listed([repr(name) for name in scores], last=" and ")
        raise UsageError(
            f"{held.parts[0].files[0].path}: {shown} could be the scores of one system: name a "
            "file for each system (steelyard compare old.csv new.csv), or "
            f"--systems {','.join(of_one_measure(scores))} if these are systems"
        )
    return es


def _scores(es: EvalSet, settings: dict[str, Any]) -> tuple[str, ...]:
    every = tuple(name for name, table in es.scores.items() if table.has_segments)
    return settings["score"] or every


def _only_two(call: Call, es: EvalSet) -> tuple[str, ...] | None:
    """Return the systems, the better one first, if these are two and no ranking is asked for."""
    from steelyard.stats.arrays import row_means

    names = _scores(es, call.settings)
    if es.n_systems != 2 or not names or call.given(*_OF_RANKINGS):
        return None
    first, second = row_means(es[names[0]].oriented)
    return es.systems[::-1] if second > first else es.systems


def _of_scores(call: Call, es: EvalSet, pair: tuple[str, ...] | None) -> _Compared:
    """Compare by scores: two systems on their card, others by one score, by each, or by all."""
    from steelyard.comparison import run
    from steelyard.comparison.rankings import is_binary

    settings, seed = call.settings, call.output.seed
    names, tests = _scores(es, settings), settings["tests"]
    if pair is not None:
        return _card(call, es, pair, names)
    if tests == ("all",):
        unfit = {"mcnemar"} if not all(is_binary(es[name].values) for name in names) else set()
        tests = tuple(name for name in TESTS if name not in unfit)
    options = CompareOptions.of(settings | {"tests": tests})
    if options.by == (AUTORANK,):
        together = run.rank_together(es, settings["score"] or es.metrics, options, seed)
        return _ranked(call, together, call.without(_NOT_OF_SEVERAL, "AutoRank"))
    if call.given("autorank"):
        raise UsageError("--autorank is a form of --by autorank")
    for option in _OUTCOMES:
        if call.given(option):
            raise UsageError(f"--{option} is of battles, not of scores")
    if len(names) > 1:
        return run.compare_each(es, names, options, seed), partial(_by_one, call, names[0])
    return _ranked(call, run.compare_by(es, names[0] if names else None, options, seed))


def _card(call: Call, es: EvalSet, pair: tuple[str, ...], names: Sequence[str]) -> _Compared:
    from steelyard.comparison.card import ByScore, decide

    settings, seed = call.settings, call.output.seed
    if len(pair) != 2:
        raise UsageError(f"--pair A,B: expected two systems, found {len(pair)}")
    if settings["by"] == (AUTORANK,):
        raise UsageError("--by autorank has no decision card: --pair is of one --score")
    chosen = {name: settings[name] for name in ("alpha", "unit", "slices")}
    if call.given("n_bootstrap"):
        chosen["n_bootstrap"] = settings["n_bootstrap"]
    options, two = CardOptions(human=call.reading.human, **chosen), (pair[0], pair[1])
    if len(names) > 1:
        cards = {name: decide(es, two, name, options=options, rng=seed) for name in names}
        return ByScore.of(cards), partial(_by_one, call, names[0])
    card = decide(es, two, names[0] if names else None, options=options, rng=seed)
    unused = call.without(_NOT_ON_THE_CARD, "the decision card")
    if settings["intervals"] is None:
        unused += ("--intervals none is ignored in the decision card",)
    return replace(card, warnings=(*card.warnings, *unused)), partial(_page, call, es)


def _of_log(call: Call, log: str | tuple[str, ...]) -> _Compared:
    from steelyard.comparison.logs import compare_log

    settings, reading = call.settings, call.reading
    reading.only_rows_and_columns()
    if settings["tests"] not in (None, ("sign",)):
        raise UsageError("--battles LOG: pairs are tested by --tests sign only")
    for option in ("score", "pair", "slices", "tolerance"):
        if call.given(option):
            instead = "; --pairwise shows every pair of a log" if option == "pair" else ""
            raise UsageError(f"--{option} applies to scores, not to a log of battles{instead}")
    # What is usual differs for logs.
    unusual = {name for name in ("by", "orders") if not call.given(name)}
    chosen = {name: x for name, x in settings.items() if name not in (*unusual, "tolerance")}
    chosen |= {"where": reading.where, "ignore": reading.ignore, "format": reading.format}
    for role, column in reading.columns:
        if role not in (*_SIDES, "unit"):
            raise UsageError(f"--columns {role}={column}: a log of battles has no {role}")
        if role in _SIDES:
            chosen[role] = chosen[role] or column
        elif not call.given("unit"):
            chosen[role] = column
    return _ranked(call, compare_log(log, BattleOptions.of(chosen), call.output.seed))


def _ranked(call: Call, result: Comparison, unused: tuple[str, ...] = ()) -> _Compared:
    notes, warnings = tuple(map(spoken, result.notes)), (*result.warnings, *unused)
    result = replace(result, notes=notes, warnings=warnings)
    return result, partial(_next, call, result)


def _by_one(call: Call, score: str) -> str | None:
    return call.again(*typed_option("--score", score), without={"score"})


def _next(call: Call, result: Comparison) -> str | None:
    """Look closer at the first two of one score; at all pairs where there is no card of two."""
    first = result.ranking(result.first)[:2]
    if result.source is not None and len(first) == 2:
        pair = typed_option("--pair", *first)
        return call.again(*pair, without=(*_NOT_ON_THE_CARD, "intervals", "plot", "details"))
    has_pairs = len(first) == 2 and not call.settings["pairwise"] and result.tests
    return call.again("--pairwise", without={"plot"}) if has_pairs else None


def _page(call: Call, es: EvalSet) -> str | None:
    """Propose a report, where the inputs are what it reads."""
    from steelyard.formats import plaintext

    texts = call.given(*TextOptions.__dataclass_fields__)
    plain = {plaintext.TEXTS, plaintext.SCORES}
    if texts or not plain.isdisjoint(each.format for each in es.inputs):
        return None
    return call.another("report", "--out", "report.html", keep={*READING, "score"})


def _draw_none(name: str) -> Any:
    raise UsageError(f"figure '{name}' shows one score: choose it with --score NAME")
