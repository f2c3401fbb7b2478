"""Systems against systems by scores: which is better, by what reading, and how sure is that.

Rankings are computed at once; tests, other treatments of ties and explanations when they are first
read. What is random has a stream of its own, so that it makes no difference when that is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.comparison.autorank import AutoRanking, rank_together
from steelyard.comparison.diagnosis import diagnose, order_flips, pairing_note, tie_note
from steelyard.comparison.options import (
    AUTORANK,
    Alternative,
    AutoRankForm,
    By,
    CompareOptions,
    Correction,
    TestName,
)
from steelyard.comparison.rankings import (
    AGGREGATIONS,
    RATINGS,
    Aggregate,
    Compared,
    check_segments,
    compared,
    draw_sample,
    mean_scores,
    rating_note,
    the_score,
    with_intervals,
)
from steelyard.comparison.results import (
    CORPUS,
    LEVEL,
    MOST_SHOWN,
    PROPORTION,
    SENTENCES,
    Comparison,
    ManyScores,
    OverAll,
    PairTest,
    Ranked,
    Tiers,
    with_pairs_alone,
)
from steelyard.comparison.tests import (
    TESTS,
    Question,
    Verdicts,
    fitting,
    fitting_tests,
    mean_gap_intervals,
    pair_test,
    refuse_unfit,
    tiers_by,
)
from steelyard.core.errors import UsageError
from steelyard.core.lazy import lazy
from steelyard.core.options import check_names
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.data.evalset import EvalSet
from steelyard.data.units import UnitEffect
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Counts, Floats, same_digits
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.paired.tests import FEW_UNITS, error_note, t_interval
from steelyard.stats.ranks import ranks
from steelyard.stats.strength.bradleyterry import Strengths, bradley_terry

DEFAULT = ("mean", "median", "bt")


def compare(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str | None = None,
    *,
    by: By | None = None,
    tests: TestName | Sequence[str] | None = None,
    tolerance: float = 0.0,
    alternative: Alternative = "two-sided",
    correction: Correction = "holm",
    alpha: float = 0.05,
    unit: str = "auto",
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
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
        that are 0 or 1, no Bradley-Terry of more than 300 systems); with options as
        ``[sy.bt(ties="davidson"), sy.elo(k=20)]``. The mean of a corpus score, such as BLEU, is the
        score of all segments together where its statistics are known; ``sentence-mean`` is the mean
        of its sentence scores.
    tests
        Tests of all pairs: ``t permutation bootstrap mood median sign wilcoxon mcnemar bt-gap``; by
        default those that fit the rankings, and none for more than 300 systems.
    tolerance
        Differences of at most this are ties of ``bt``, ``elo``, ``trueskill`` and ``sign``.
    alternative, correction, alpha
        ``two-sided``, ``greater`` or ``less``; ``holm``, ``benjamini-hochberg``, ``bonferroni`` or
        ``none``; the level of the tiers.
    unit
        What is independent: ``segment``, ``document``, ``prompt`` (segments of one source), a
        column of the input, or a number of consecutive segments. ``auto`` takes documents where at
        least ten are known, or prompts that segments share, else segments. Tests, intervals, ranks
        and tiers follow it.
    intervals, n_bootstrap
        Whether whole units are resampled for 95% intervals (None: no intervals), and how often.
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
    return compare_by(as_evalset(es, unit=options.unit), score, options, rng)


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
        over_all = OverAll(data.n_segments, data.sign * mean_scores(data))
        ids = [es.segments.ids[k] for k in common]
        es = es.select(systems=data.systems, segments=ids)
        data = compared(es, chosen, options.unit)
        notes.append(over_all.note(data.systems, len(ids)))
    stream, *streams, test_stream = _streams(rng, names, data, options)
    asked = fitting_tests(names, data) if options.tests is None else options.tests
    if any(TESTS[name].binary for name in asked) and not data.binary:
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{chosen}' is not")
    several, few = len(data.systems) > 1, len(data.systems) <= MOST_SHOWN
    sample = draw_sample(data, options, stream, pairs=few or options.tests is not None)
    question = Question(data, sample, options, test_stream)
    for name in asked if several else ():
        refuse_unfit(name, question)
    stream_of = dict(zip(AGGREGATIONS, streams, strict=True))
    aggregates = {
        name: AGGREGATIONS[name].rank(sample, options, stream_of[name]) for name in each(names)
    }
    rankings = {name: _ranked(name, a, question, asked) for name, a in aggregates.items()}
    if "bootstrap" not in asked:  # resamples are large, and nothing else reads them again
        question = replace(question, sample=replace(sample, counts=None))
    aggregates = {name: replace(a, replicates=None, against=None) for name, a in aggregates.items()}
    parts = _Parts(es, question, aggregates, rankings, tuple(asked), tuple(notes))
    alone = None
    if few and not all(ranked.average for ranked in rankings.values()):
        alone = parts.superiority
    return Comparison(
        score=chosen,
        systems=data.systems,
        n_segments=data.n_segments,
        n_scored=n_scored,
        over_all=over_all,
        aggregations=with_pairs_alone(rankings, alone),
        unit=lazy(lambda: parts.unit),
        tests=lazy(lambda: parts.tests),
        tiers=lazy(lambda: parts.tiers),
        effects=lazy(lambda: parts.effects),
        diagnosis=lazy(lambda: parts.diagnosis),
        notes=lazy(lambda: parts.notes),
        warnings=lazy(lambda: parts.warnings),
        provenance=lazy(
            lambda: Provenance.of(
                "compare", _settings(data, names, asked, options), es.inputs, rng, options
            )
        ),
        alpha=options.alpha,
        higher_is_better=data.higher_is_better,
        source=es,
    )


def _common_segments(data: Compared, names: Sequence[str]) -> Counts | None:
    """Return the segments that all systems have, where averages order systems otherwise on them.

    None where the orders agree, and where fewer than half of the segments are left.
    """
    common = np.flatnonzero(~np.isnan(data.scores).any(axis=0))
    averages = [average for name in names if (average := AGGREGATIONS[name].average)]
    if not averages or len(common) == data.n_segments or 2 * len(common) < data.n_segments:
        return None
    stats = None if data.statistics is None else data.statistics.select(segments=common)
    shared = replace(data, scores=data.scores[:, common], statistics=stats)
    for average in averages:
        if (ranks(average(data)) != ranks(average(shared))).any():
            return common
    return None


def _streams(
    rng: Rng, names: Sequence[str], data: Compared, options: CompareOptions
) -> list[np.random.Generator]:
    """Return a stream for resamples, for each ranking and for tests; one where none is drawn."""
    stream, n = generator(rng), 2 + len(AGGREGATIONS)
    drawn = options.intervals is not None or data.statistics is not None
    if drawn or any(AGGREGATIONS[name].in_order for name in names) or not isinstance(rng, int):
        return stream.spawn(n)
    return [stream] * n


def _settings(
    data: Compared, names: Sequence[str], tests: Sequence[str], options: CompareOptions
) -> dict[str, Any]:
    settings: dict[str, Any] = {"score": data.name, **options.settings(names, tests)}
    settings |= {"unit": data.units.name}
    if options.intervals:
        settings |= {"bootstrap": options.n_bootstrap}
    if any(AGGREGATIONS[name].in_order for name in names):
        settings |= {"orders": options.orders or "file"}
    return settings


def _rankings(options: CompareOptions, data: Compared) -> tuple[tuple[str, ...], list[str]]:
    """Return the rankings to make, and notes on them."""
    names = options.by
    notes: list[str] = []
    many = len(data.systems) > MOST_SHOWN
    if names is None:
        unfit = {"median"} if data.binary else set()
        names = tuple(name for name in DEFAULT if name not in unfit | ({"bt"} if many else set()))
        why = 'no Bradley-Terry, which compares every pair (by="bt" asks for it)'
        notes += [f"more than {MOST_SHOWN} systems: {why}"] if many else []
    if many and options.tests is None:
        why = 'pairs are not tested, nor differences kept (tests="t" does both)'
        notes.append(f"more than {MOST_SHOWN} systems: {why}")
    if data.statistics is not None:
        others = ", ".join(name for name in names if name != "mean")
        notes += ["corpus: the score of all segments together"] if "mean" in names else []
        notes += [f"{others}: on {SENTENCES}"] if others else []
    rated = [name for name in names if name in RATINGS]
    notes += [f"{' and '.join(rated)}: {rating_note(options.orders, 'file')}"] if rated else []
    return names, notes


def _ranked(by: str, aggregate: Aggregate, question: Question, tests: Sequence[str]) -> Ranked:
    """Return a ranking with its intervals, in the numbers of the score itself."""
    data, sample = question.data, question.sample
    average = AGGREGATIONS[by].average is not None
    ranked = with_intervals(aggregate, sample.level, average=average)
    ranked = _with_few_units(by, ranked, question, tests)
    if ranked.average and not data.higher_is_better:
        ranked = ranked.turned()
    if data.statistics is not None:
        return replace(ranked, of=CORPUS if by == "mean" else SENTENCES)
    if not (AGGREGATIONS[by].test_of_binary and data.binary):
        return ranked
    present = ~np.isnan(data.scores)
    alone = sample.counts is not None and sample.blocks is None
    if alone and present.any(axis=0).sum() > 1:  # else there is no interval
        right = np.where(present, np.abs(data.scores), 0.0).sum(axis=1)
        low, high = wilson_interval(right, present.sum(axis=1), LEVEL)
        note = "proportion: Wilson's 95% intervals; those of ranks are of resamples"
        ranked = replace(ranked, low=low, high=high, notes=(note,))
    return replace(ranked, of=PROPORTION)


def _with_few_units(by: str, ranked: Ranked, question: Question, tests: Sequence[str]) -> Ranked:
    """Give means of few units intervals by t, and their differences those of the test."""
    data = question.data
    if ranked.low is None or by not in ("mean", "sentence-mean") or data.units.n >= FEW_UNITS:
        return ranked
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


@dataclass(frozen=True, eq=False)
class _Parts:
    """Tests, tiers, effects, notes and warnings of some rankings, each computed when read.

    ``rankings`` are the aggregates in the numbers of the score; ``asked`` names the tests.
    """

    es: EvalSet
    question: Question
    aggregates: Mapping[str, Aggregate]
    rankings: Mapping[str, Ranked]
    asked: tuple[str, ...]
    first_notes: tuple[str, ...]

    @property
    def _several(self) -> bool:
        return len(self.question.data.systems) > 1

    @property
    def _bt(self) -> bool:
        return "bt" in self.aggregates and self._several

    @cached_property
    def _fit(self) -> Strengths:
        """The fit of Bradley-Terry to its end: not all iterations go there."""
        options, fit = self.question.options, self.aggregates["bt"].strengths
        if fit is not None and options.method == "newton":
            return fit
        counts = self.question.data.wins.by(options.tolerance)
        return bradley_terry(counts.wins, counts.ties, ties_as=options.ties, prior=options.prior)

    @cached_property
    def tests(self) -> dict[str, PairTest]:
        """Tests of all pairs."""
        return {name: pair_test(name, self.question) for name in self.asked if self._several}

    @cached_property
    def tiers(self) -> dict[str, Tiers]:
        """Systems in tiers, by each ranking and the test that fits it, or else the first."""
        data, tiers = self.question.data, {}
        for by, aggregate in self.aggregates.items():
            fits = fitting(by, data)
            name = fits if fits in self.tests else next(iter(self.tests), None)
            if name is None:
                continue
            verdicts = Verdicts(name, self.tests[name], TESTS[name].ahead(data))
            alpha = self.question.options.alpha
            tier = tiers_by(by, aggregate.ranks, data.systems, verdicts, alpha)
            if tier is not None:
                tiers[by] = tier
        return tiers

    @cached_property
    def effects(self) -> dict[str, Floats]:
        """How large the differences of all pairs are; nothing of more than 300 systems."""
        data = self.question.data
        if len(data.systems) > MOST_SHOWN:
            return {}
        size = paired.standardised_difference(data.additive())
        return {
            "superiority": self.superiority,
            "cliffs_delta": paired.cliffs_delta(data.scores),
            "standardised_difference": data.sign * size + 0.0,  # no -0.0
        }

    @cached_property
    def superiority(self) -> Floats:
        """The share of segments that each system wins against each other one."""
        return paired.superiority(self.question.data.wins.by(self.question.options.tolerance))

    @property
    def unit(self) -> UnitEffect:
        """What it changes that segments of a unit are alike."""
        data = self.question.data
        return data.units.effect(data.additive())

    @cached_property
    def _pairing(self) -> tuple[dict[str, Any] | None, list[str]]:
        return pairing_note(self.question.data.scores)

    @cached_property
    def _explained(self) -> dict[str, Any]:
        return diagnose(self.es, self.question.data, self.aggregates)

    @property
    def diagnosis(self) -> dict[str, Any]:
        """Where rankings disagree, and what the pairing of segments is worth."""
        parts = {name: part for name, part in self._explained.items() if name != "warnings"}
        return {**parts, "pairing": self._pairing[0]}

    @property
    def notes(self) -> tuple[str, ...]:
        """What the tests ask, what becomes of ties, and what pairing is worth."""
        notes, data, options = list(self.first_notes), self.question.data, self.question.options
        on_sentences = any(note.endswith(SENTENCES) for note in notes)  # which is said once
        for test in self.tests.values():
            suffix = f" (on {SENTENCES})" if on_sentences else ""
            notes.append(test.reason.removesuffix(suffix))
        if self._bt:
            counts = data.wins.by(options.tolerance)
            notes += tie_note(counts, data.systems, options, self._fit)
        notes += self._pairing[1]
        notes += [text for ranked in self.rankings.values() for text in ranked.notes]
        return tuple(dict.fromkeys(notes))

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings of the data, the tests, the rankings, and where they contradict each other."""
        data, options = self.question.data, self.question.options
        warnings = [*data.warnings, *self.question.sample.warnings]
        warnings += [text for test in self.tests.values() for text in test.warnings]
        warnings += [text for aggregate in self.aggregates.values() for text in aggregate.warnings]
        warnings += self._unofficial(self.aggregates.get("mean"))
        warnings += error_note(max((test.error for test in self.tests.values()), default=0.0))
        warnings += [text for tiers in self.tiers.values() for text in tiers.warnings]
        if self._bt:
            counts = data.wins.by(options.tolerance)
            warnings += order_flips(counts, data.systems, options, self._fit)
        warnings += self._explained["warnings"]
        return tuple(dict.fromkeys(warnings))

    def _unofficial(self, mean: Aggregate | None) -> list[str]:
        """Warn where means of segments stand in for official scores that are something else."""
        data = self.question.data
        table = self.es[data.name]
        if mean is None or data.statistics is not None or table.system_scores is None:
            return []
        rows = [self.es.systems.index(system) for system in data.systems]
        official = data.sign * table.system_scores[rows]
        if same_digits(official, mean.scores):
            return []
        text = (
            f"mean ranks by means of segment scores, which the official system scores of "
            f"'{data.name}' are not"
        )
        moved = [
            f"{system} is {int(here)}, officially {int(there)}"
            for system, here, there in zip(data.systems, mean.ranks, ranks(official), strict=True)
            if not np.isnan(there) and here != there
        ]
        if not moved:
            return [f"{text}; the order is the same"]
        more = f" (and {len(moved) - 4} more)" if len(moved) > 4 else ""
        return [f"{text}; the places differ: {'; '.join(moved[:4])}{more}"]


def compare_scores(  # noqa: PLR0913 - every option has a default
    es: Source,
    scores: Sequence[str],
    *,
    by: By | None = None,
    autorank: AutoRankForm = "wmt25",
    tests: TestName | Sequence[str] | None = None,
    tolerance: float = 0.0,
    alternative: Alternative = "two-sided",
    correction: Correction = "holm",
    alpha: float = 0.05,
    unit: str = "auto",
    intervals: str | None = "unit",
    n_bootstrap: int = 1000,
    rng: Rng = 0,
) -> ManyScores | AutoRanking:
    """Compare systems by several scores, and say where the scores disagree.

    Parameters
    ----------
    es, scores
        Systems, segments and scores, as in :func:`steelyard.compare`; the scores to compare by.
    by
        One ranking, by default ``mean``. With ``autorank``, the scores make one ranking together.
    autorank
        The form of AutoRank.
    tests, tolerance, alternative, correction, alpha, unit, intervals, n_bootstrap, rng
        As in :func:`steelyard.compare`.

    Returns
    -------
    ManyScores or AutoRanking
        A comparison by each score, or one ranking by all of them.

    See Also
    --------
    compare : Compare by one score.

    Examples
    --------
    >>> import steelyard as sy
    >>> scores = ["learned-refA", "overlap-refA"]
    >>> result = sy.compare_scores(sy.demo_set(), scores, by="autorank", n_bootstrap=10)
    >>> result.ranking("autorank")[:3]
    ['Kaolin', 'Dolomite', 'Jasper']
    """
    options = CompareOptions.of(locals())
    es = as_evalset(es, unit=options.unit)
    check_names(scores=scores)
    if options.by == (AUTORANK,):
        return rank_together(es, scores, options, rng)
    return compare_each(es, scores, options, rng)


def compare_each(
    es: EvalSet, scores: Sequence[str], options: CompareOptions, rng: Rng = 0
) -> ManyScores:
    """Compare systems by each of several scores."""
    if len(scores) < 2:
        raise UsageError("several scores are needed, got one")
    by = (options.by or ("mean",))[0]
    options = replace(options, by=(by,))
    results = {name: compare_by(es, name, options, rng) for name in each(scores)}
    rank_of = [
        dict(zip(r.systems, r.aggregations[by].ranks, strict=True)) for r in results.values()
    ]
    systems = sorted(set.intersection(*(set(mapping) for mapping in rank_of)))
    columns = np.array([[-mapping[s] for s in systems] for mapping in rank_of])
    columns = columns.reshape(len(rank_of), -1).T
    agreement = np.ones((len(results), len(results)))
    for i, j in combinations(range(len(results)), 2):
        counts = count_pairs(columns[:, [i]], columns[:, [j]])
        agreement[i, j] = agreement[j, i] = kendall_b(counts)[0]
    warnings = [text for result in results.values() for text in result.warnings]
    return ManyScores(by, results, agreement, tuple(dict.fromkeys(warnings)))
