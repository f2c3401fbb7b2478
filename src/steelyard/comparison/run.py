"""Systems against systems by scores: which is better, by what reading, and how sure is that.

Rankings are computed at once; tests, other treatments of ties and explanations when they are first
read. What is random has a stream of its own, so that it makes no difference when that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.comparison.board import board_of, repeats_of
from steelyard.comparison.card import ByScore
from steelyard.comparison.options import (
    AUTORANK,
    RANKED,
    By,
    CompareOptions,
    Correction,
    TestName,
)
from steelyard.comparison.rankings import (
    AGGREGATIONS,
    Sample,
    check_scores,
    check_segments,
    compared,
    lead,
    means,
    resampled,
    the_score,
    with_intervals,
)
from steelyard.comparison.results import (
    ACCURACY,
    CORPUS,
    LEVEL,
    MOST_SHOWN,
    PROPORTION,
    RANKINGS,
    SENTENCES,
    Comparison,
    PairTest,
    Ranked,
    RankedSystems,
    Tiers,
    by_name,
    number,
)
from steelyard.comparison.suites import item_noun, suites_of
from steelyard.comparison.tests import (
    TESTS,
    Question,
    fitting,
    fitting_tests,
    mean_gap_intervals,
    pair_test,
    refuse_unfit,
    tiers_by,
)
from steelyard.core.errors import UsageError
from steelyard.core.options import check, check_names, keywords
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import all_of, listed, plural
from steelyard.core.warnings import TypedWarning
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.overview import direction_warnings
from steelyard.data.units import Units, units_of
from steelyard.formats.load import Source, as_evalset
from steelyard.formats.reshape import keeping_runs
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.autorank import EPSILON, autorank, bootstrap_autorank, scale_of
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.paired.tests import FEW_UNITS, error_note, t_interval
from steelyard.stats.ranks import ranks

DEFAULT = ("mean", "median", "bt")
_MOST_STRENGTHS = 60  # systems beyond which resampled strengths take seconds


def compare(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str | None = None,
    *,
    by: By | None = None,
    tests: TestName | Sequence[str] | None = None,
    tolerance: float = 0.0,
    correction: Correction = "holm",
    alpha: float = 0.05,
    unit: str = "auto",
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    pass_k: Sequence[int] | None = None,
    rng: Rng = 0,
) -> Comparison:
    """Compare systems by one score.

    Parameters
    ----------
    es
        Systems, segments and scores: a set, or what :func:`steelyard.load` takes.
    score
        Which score; may be left out if there is only one.
    by
        Rankings: ``mean median bt elo trueskill``, by default the first three (no median of scores
        that are 0 or 1, no Bradley-Terry of more than 60 systems); with options as
        ``[sy.bt(ties="davidson"), sy.elo(k=20)]``. The mean of a corpus score, such as BLEU, is the
        score of all segments together where its statistics are known; ``sentence-mean`` is the mean
        of its sentence scores.
    tests
        Tests of all pairs: ``t permutation bootstrap mood median sign wilcoxon mcnemar bt-gap``; by
        default those that fit the rankings, and none for more than 300 systems.
    tolerance
        Differences of at most this are ties of ``bt``, ``elo``, ``trueskill`` and ``sign``.
    correction, alpha
        ``holm``, ``benjamini-hochberg``, ``bonferroni`` or ``none``; the level of the tiers.
    unit
        What is independent: ``segment``, ``document``, ``prompt`` (segments of one source), a
        column of the input, or a number of consecutive segments. ``auto`` takes documents where at
        least ten are known, or prompts that segments share, else segments. Tests, intervals, ranks
        and tiers follow it.
    intervals, n_bootstrap
        Whether whole units are resampled for 95% intervals (None: no intervals), and how often.
    pass_k
        Of files with repeated runs of items: pass@k and pass^k for these k, in ``repeats``.
    rng
        Seed of the draws.

    Returns
    -------
    Comparison
        Rankings, tests, tiers; ``pairs()`` is a frame of pairs with p-values.

    See Also
    --------
    compare_scores : Compare by several scores, or rank by all of them together.
    compare_battles : Compare by a log of battles.
    decide : The decision card of two systems.

    Examples
    --------
    >>> import steelyard as sy
    >>> result = compare(sy.demo_set(), "learned-refA", by=["mean", sy.bt(ties="davidson")])
    >>> result.ranking("bt")[:3]
    ['Dolomite', 'Kaolin', 'Amber']
    """
    options = CompareOptions.of(locals())
    check("wholes", 1, optional=True, pass_k=pass_k)
    with keeping_runs() as runs:
        whole = as_evalset(es, unit=options.unit)
    result = compare_by(whole, score, options, rng)
    repeats = repeats_of(runs, result.systems, result.score, pass_k or ())
    if pass_k and repeats is None:
        raise UsageError("pass_k: no item has several runs (give the file, not a loaded set)")
    return replace(result, repeats=repeats)


def compare_by(es: EvalSet, score: str | None, options: CompareOptions, rng: Rng) -> Comparison:
    """Compare systems by one score, as :func:`compare` does."""
    if options.by == (AUTORANK,):
        raise UsageError('by="autorank" ranks by several scores: compare_scores takes them')
    chosen = the_score(es, score)
    check_segments(es, chosen)
    data = compared(es, chosen, options.unit)
    names, notes = _rankings(options, data)
    n_scored = tuple((~np.isnan(data.scores)).sum(axis=1).tolist())
    over_all = None
    common = _common_segments(data, names)
    if common is not None:
        each_has = by_name(data.systems, data.sign * means(data)[0])
        over_all = {"n_segments": data.n_segments, "means": each_has}
        shown = ", ".join(f"{system} {mean:.4g}" for system, mean in each_has.items())
        notes.append(
            f"ranked on the {len(common):,} segments that all systems have, of "
            f"{data.n_segments:,}; means over all that each has: {shown}"
        )
        es = es.select(systems=data.systems, segments=[es.segments.ids[k] for k in common])
        data = compared(es, chosen, options.unit)
    stream, *streams, test_stream = generator(rng).spawn(2 + len(AGGREGATIONS))
    asked = fitting_tests(names, data) if options.tests is None else options.tests
    if any(TESTS[name].binary for name in asked) and not data.binary:
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{chosen}' is not")
    several, few = len(data.systems) > 1, len(data.systems) <= MOST_SHOWN
    data = replace(data, pairs=few or options.tests is not None)
    data = resampled(data, options, stream)
    question = Question(data, options, test_stream)
    for name in asked if several else ():
        refuse_unfit(name, question)
    stream_of = dict(zip(AGGREGATIONS, streams, strict=True))
    rankings = {}
    for name in each(names):
        drawn = AGGREGATIONS[name].rank(data, options, stream_of[name])
        rankings[name] = _with_intervals(name, drawn, question, asked)
    tests = {name: pair_test(name, question) for name in (asked if several else ())}
    tiers = _tiers(rankings, tests, question)
    if few:
        share = paired.superiority(data.wins(options.tolerance))
        rankings = {by: r if r.average else replace(r, alone=share) for by, r in rankings.items()}
    noun = item_noun(es)
    of_suites: dict[str, Any] = {"unit": options.unit, "alpha": options.alpha}
    of_suites["of"] = ACCURACY if data.binary and noun == "item" else chosen
    suites = suites_of(es, chosen, data.systems, options.slices, **of_suites)
    order = "file" if any(ranked.in_order for ranked in rankings.values()) else None
    settings = options.settings(names, asked, data.units.name, order)
    warnings = [*data.warnings, *(text for test in tests.values() for text in test.warnings)]
    warnings += [text for ranked in rankings.values() for text in ranked.warnings]
    warnings += error_note(max((test.error for test in tests.values()), default=0.0))
    warnings += [text for tier in tiers.values() for text in tier.warnings]
    warnings += _disagreement(data.systems, rankings)
    warnings += [text for suite in suites.values() for text in suite.warnings()]
    result = Comparison(
        score=chosen,
        suites=suites,
        systems=data.systems,
        n_segments=data.n_segments,
        n_scored=n_scored,
        over_all=over_all,
        aggregations=rankings,
        unit=data.units.effect(data.additive()),
        tests=tests,
        tiers=tiers,
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", {"score": chosen, **settings}, es.inputs, rng, options),
        alpha=options.alpha,
        higher_is_better=data.higher_is_better,
        source=es,
        noun=noun,
        references=tuple(es.segments.references),
    )
    scores = None if data.statistics is not None and names[0] == "mean" else data.scores
    return replace(result, board=board_of(result, None, scores))


def _tiers(
    rankings: Mapping[str, Ranked], tests: Mapping[str, PairTest], question: Question
) -> dict[str, Tiers]:
    data, tiers = question.data, {}
    for by, ranked in rankings.items() if tests else ():
        name = fitting(by, data)
        name = name if name in tests else next(iter(tests))
        lead, alpha = TESTS[name].ahead(data), question.options.alpha
        tier = tiers_by(by, ranked.ranks, data.systems, name, tests[name], lead, alpha)
        if tier is not None:
            tiers[by] = tier
    return tiers


def _disagreement(systems: Sequence[str], rankings: Mapping[str, Ranked]) -> list[str]:
    best = {
        by: [s for s, rank in zip(systems, ranked.ranks, strict=True) if rank == 1]
        for by, ranked in rankings.items()
    }
    best = {by: top for by, top in best.items() if top}
    if not best or set.intersection(*map(set, best.values())):
        return []
    shown = "; ".join(f"{by}: {', '.join(top)}" for by, top in best.items())
    return [f"rankings disagree on the best system ({shown})"]


def _common_segments(data: Sample, names: Sequence[str]) -> Counts | None:
    """Return the segments that all systems have, where averages order systems otherwise on them.

    None where the orders agree, and where fewer than half of the segments are left.
    """
    common = np.flatnonzero(~np.isnan(data.scores).any(axis=0))
    averages = [average for name in names if (average := AGGREGATIONS[name].average)]
    if not averages or len(common) == data.n_segments or 2 * len(common) < data.n_segments:
        return None
    stats = None if data.statistics is None else data.statistics.select(segments=common)
    shared = replace(data, scores=data.scores[:, common], statistics=stats)
    differ = any((ranks(average(data)) != ranks(average(shared))).any() for average in averages)
    return common if differ else None


def _rankings(options: CompareOptions, data: Sample) -> tuple[tuple[str, ...], list[str]]:
    names, notes = options.by, []
    many = len(data.systems) > MOST_SHOWN
    if names is None:
        crowded = len(data.systems) > _MOST_STRENGTHS
        unfit = {name for name, out in (("median", data.binary), ("bt", crowded)) if out}
        names = tuple(name for name in DEFAULT if name not in unfit)
    if many and (options.by is None or options.tests is None):
        notes.append(
            f"more than {MOST_SHOWN} systems: pairs are neither ranked by bt nor tested unless "
            "by=... and tests=... ask for it"
        )
    return names, notes


def _with_intervals(by: str, drawn: Ranked, question: Question, tests: Sequence[str]) -> Ranked:
    """Add intervals to a ranking, and put it in the numbers of the score itself."""
    data = question.data
    ranked = with_intervals(drawn, data.level)
    if by in ("mean", "sentence-mean") and ranked.low is not None and data.units.n < FEW_UNITS:
        ranked = _of_few_units(by, ranked, question, tests)
    if ranked.average and not data.higher_is_better:
        ranked = ranked.turned()
    if data.statistics is not None:
        return replace(ranked, of=CORPUS if by == "mean" else SENTENCES)
    if not (AGGREGATIONS[by].test_of_binary and data.binary):
        return ranked
    present = ~np.isnan(data.scores)
    single = data.counts is not None and data.blocks is None
    if single and present.any(axis=0).sum() > 1:  # else there is no interval
        right = np.where(present, np.abs(data.scores), 0.0).sum(axis=1)
        low, high = wilson_interval(right, present.sum(axis=1), LEVEL)
        ranked = replace(ranked, low=low, high=high)
    return replace(ranked, of=PROPORTION)


def _of_few_units(by: str, ranked: Ranked, question: Question, tests: Sequence[str]) -> Ranked:
    """Give means of few units intervals by t, and their differences those of the test."""
    data = question.data
    if not data.binary and (data.statistics is None or by != "mean"):
        low, high = t_interval(data.scores, data.blocks, LEVEL)
        ranked = replace(ranked, low=low, high=high)
    ends = mean_gap_intervals(by, tests, question)
    if ends is None:
        return ranked
    ranked = replace(ranked, pairwise_low=ends[0], pairwise_high=ends[1])
    if np.isnan(data.scores).any():  # gaps of means over what each has are something else
        return ranked
    return replace(ranked, gap_low=ends[0], gap_high=ends[1])


@keywords(CompareOptions, hidden=RANKED)
def compare_scores(
    es: Source, scores: Sequence[str], *, options: CompareOptions, rng: Rng = 0
) -> ByScore | AutoRanking:
    """Compare systems by several scores.

    Parameters
    ----------
    es, scores
        Systems, segments and scores, as in :func:`steelyard.compare`; the scores to compare by.
    by, autorank
        One ranking, by default ``mean``; ``autorank`` makes one of all scores, in a ``form``.

    Returns
    -------
    ByScore or AutoRanking
        A comparison by each score, or one ranking by all of them.

    See Also
    --------
    compare : Compare by one score; it explains the other options.

    Examples
    --------
    >>> import steelyard as sy
    >>> scores = ["learned-refA", "overlap-refA"]
    >>> result = sy.compare_scores(sy.demo_set(), scores, by="autorank", n_bootstrap=10)
    >>> result.ranking("autorank")[:3]
    ['Kaolin', 'Dolomite', 'Jasper']
    """
    es = as_evalset(es, unit=options.unit)
    check_names(scores=scores)
    if options.by == (AUTORANK,):
        return rank_together(es, scores, options, rng)
    return compare_each(es, scores, options, rng)


def compare_each(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> ByScore:
    """Compare systems by each of several scores."""
    options = replace(options, by=(options.by or ("mean",))[:1])
    return ByScore.of({name: compare_by(es, name, options, rng) for name in each(scores)})


# -- one ranking by several scores together: WMT's AutoRank


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class AutoRanking(RankedSystems):
    """Systems ranked by several scores at once; less is better.

    ``means`` and ``scaled`` are scores x systems: the mean of each score in its own numbers, and
    what AutoRank averages (z for ``wmt25``, numbers from 1 to N for ``wmt24``).
    """

    scores: tuple[str, ...]
    form: str
    means: Floats
    scaled: Floats

    def to_dict(self) -> dict[str, Any]:
        """Return what ``--json`` prints."""

        def named(rows: Floats) -> dict[str, Any]:
            return {
                name: by_name(self.systems, x) for name, x in zip(self.scores, rows, strict=True)
            }

        return self.json_with(
            scores=list(self.scores),
            form=self.form,
            means=named(self.means),
            scaled=named(self.scaled),
        )

    def table(self) -> Table:
        """Return the leaderboard, with what each score adds."""
        board = RankedSystems.table(self)
        columns = (
            Column(name, digits=2, key=f"scaled {name}", importance=2) for name in self.scores
        )
        index = {system: i for i, system in enumerate(self.systems)}
        rows = tuple((*row, *map(number, self.scaled[:, index[str(row[0])]])) for row in board.rows)
        return replace(board, columns=(*board.columns, *columns), rows=rows)

    def measure(self, by: str) -> str:
        """Return in words what a ranking goes by."""
        what = f"{RANKINGS[by]} of {all_of(self.scores)}"
        return f"{what} over {plural(self.n_segments, 'segment')}"

    def size(self) -> str:
        """Return in words what was compared."""
        size = f"{plural(len(self.systems), 'system')}, {plural(self.n_segments, 'segment')}"
        what = "z by score" if self.form == "wmt25" else "1 to N by score"
        return f"AutoRank {self.form} of {listed(list(self.scores), 8)}: {size}; beside it {what}"


def rank_together(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> AutoRanking:
    """Rank systems by several scores together."""
    names = tuple(dict.fromkeys(scores))
    if not names:
        raise UsageError("no score to rank by")
    check_scores(es, names)
    tables = [es[name] for name in names]
    means = np.stack([_system_means(table) for table in tables])
    sign = np.array([[1.0 if table.higher_is_better else -1.0] for table in tables])
    result = autorank(sign * means, options.autorank)
    warnings = [
        *es.notes,
        *_autorank_warnings(es, names, tables, sign * means, result.scaled, options),
    ]
    warnings += [text for name in names for text in direction_warnings(name, es[name])]
    order = ranks(-result.ranks)
    pairs = np.asarray(result.ranks[None, :] - result.ranks[:, None])
    ranked = Ranked(-result.ranks, order, pairs, against=lead, average=True)
    units = units_of(es.segments, options.unit, _used(tables))
    warnings += units.warnings
    warnings += ["tests=... is ignored in AutoRank"] if options.tests else []
    drawn, notes = _resampled_ranks(tables, options, units, rng)
    if drawn is not None:
        level = units.level(LEVEL, _used(tables))
        ranked = with_intervals(replace(ranked, replicates=-drawn), level)
    settings: dict[str, Any] = {"scores": ",".join(names), "by": AUTORANK, "form": options.autorank}
    settings |= {"unit": units.name}
    settings |= {} if drawn is None else {"bootstrap": options.n_bootstrap}
    ranking = AutoRanking(
        scores=names,
        form=options.autorank,
        means=means,
        scaled=result.scaled,
        unit=units.effect(_composite(tables, sign * means, options.autorank)),
        systems=es.systems,
        n_segments=es.n_segments,
        aggregations={AUTORANK: ranked.turned()},
        tests={},
        tiers={},
        notes=tuple(notes),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, es.inputs, rng, options),
        alpha=options.alpha,
    )
    return replace(ranking, board=board_of(ranking, None, None))


def _system_means(table: ScoreTable) -> Floats:
    if table.has_segments:
        return row_means(table.values)
    assert table.system_scores is not None
    return np.asarray(table.system_scores)


def _used(tables: Sequence[ScoreTable]) -> NDArray[np.bool_]:
    return np.asarray(np.any([~np.isnan(table.values).all(axis=0) for table in tables], axis=0))


def _composite(tables: Sequence[ScoreTable], means: Floats, form: str) -> Floats:
    """Give the score of single outputs whose mean AutoRank ranks by, its scales taken as fixed."""
    ranked = np.asarray(~np.isnan(means).any(axis=0))
    complete = means[:, ranked]
    if not ranked.any() or not all(table.has_segments for table in tables):
        return np.full((len(ranked), tables[0].values.shape[1]), np.nan)
    scale = scale_of(complete) if form == "wmt25" else np.ptp(complete, axis=1, keepdims=True)
    rows = zip(tables, scale[:, 0], strict=True)
    parts = [table.oriented[ranked] / x for table, x in rows if x > 0]
    return np.asarray(sum(parts)) if parts else np.full((1, len(tables[0].values.T)), np.nan)


def _resampled_ranks(
    tables: Sequence[ScoreTable], options: CompareOptions, units: Units, rng: Rng
) -> tuple[Floats | None, list[str]]:
    if options.intervals is None:
        return None, []
    if not all(table.has_segments for table in tables):
        return None, ["scores of whole systems: nothing to resample, no intervals"]
    if units.n < 2:
        return None, [f"{units.counted()}: there is nothing to resample, and no interval"]
    drawn = bootstrap_autorank(
        np.stack([table.oriented for table in tables]),
        options.autorank,
        n_resamples=options.n_bootstrap,
        rng=generator(rng),
        blocks=units.codes,
    )
    return drawn, [f"intervals: {units.counted()} drawn anew, all scores together"]


def _autorank_warnings(
    es: EvalSet,
    names: Sequence[str],
    tables: Sequence[ScoreTable],
    means: Floats,
    scaled: Floats,
    options: CompareOptions,
) -> list[str]:
    warnings = []
    for name, row in zip(names, means, strict=True):
        lacking = [es.systems[i] for i in np.flatnonzero(np.isnan(row))]
        if lacking:
            warnings.append(
                f"{plural(len(lacking), 'system')} without '{name}', hence without AutoRank: "
                f"{listed(lacking, 8)}"
            )
    whole = ~np.isnan(means).any(axis=0)
    if whole.sum() < 2:
        return [*warnings, "fewer than two systems have all scores: there is no AutoRank"]
    warnings += _scales(names, means[:, whole], scaled[:, whole], options.autorank)
    missing = [
        f"{name} {int(np.isnan(table.values[whole]).sum()):,}"
        for name, table in zip(names, tables, strict=True)
        if table.has_segments and np.isnan(table.values[whole]).any()
    ]
    if missing:
        text = f"missing scores are left out of the means: {', '.join(missing)}"
        warnings.append(TypedWarning(text, names=missing))
    corpus = [n for n, table in zip(names, tables, strict=True) if table.statistics is not None]
    if corpus:
        warnings.append(f"{listed(corpus, 8)}: the mean of sentence scores, not the corpus score")
    return warnings


def _scales(names: Sequence[str], means: Floats, scaled: Floats, form: str) -> list[str]:
    """Name scores that tell no systems apart, and those that leave the others no say."""
    slack = EPSILON * np.abs(means).max(axis=1)
    same = np.ptp(means, axis=1) <= slack
    flat = [name for name, alike in zip(names, same, strict=True) if alike]
    warnings = []
    if flat:
        none = same.all() or form == "wmt24"
        then = "there is no AutoRank" if none else "counted as 0 for all"
        warnings.append(f"all systems have the same {listed(flat, 8)}: {then}")
    elif np.ptp(scaled.mean(axis=0)) <= EPSILON:
        warnings.append("the scores cancel out, all systems have the same: there is no AutoRank")
    return warnings
