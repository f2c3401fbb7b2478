"""Systems against systems: which is better, by what reading of the scores, and how sure is that."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np

from steelyard.comparison.aggregations import (
    AGGREGATIONS,
    AVERAGES,
    Aggregate,
    mean_scores,
    ranked,
)
from steelyard.comparison.autoranking import AutoRanking, rank_together
from steelyard.comparison.beside import Findings
from steelyard.comparison.options import AUTORANK, CompareOptions
from steelyard.comparison.ranked import (
    CORPUS,
    MOST_SHOWN,
    PROPORTION,
    SENTENCES,
    Ranked,
    with_pairs_alone,
)
from steelyard.comparison.results import Comparison, OverAll
from steelyard.comparison.scores import (
    LEVEL,
    Compared,
    check_segments,
    compared,
    draw_sample,
    the_score,
)
from steelyard.comparison.scoreswords import told_of_many, verdict
from steelyard.comparison.tests import (
    TESTS,
    Question,
    fitting_tests,
    mean_gap_intervals,
    refuse_unfit,
)
from steelyard.comparison.words import best_of
from steelyard.core.display import Result, Summary, named, one_line
from steelyard.core.errors import UsageError
from steelyard.core.lazy import lazy
from steelyard.core.options import check_names, keywords
from steelyard.core.progress import each
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Cell, Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.correlation import kendall_b
from steelyard.stats.kendall.counting import count_pairs
from steelyard.stats.paired.corrections import wilson_interval
from steelyard.stats.paired.tests import FEW_UNITS, t_interval
from steelyard.stats.ranks import ranks

DEFAULT = ("mean", "median", "bt")


def compare(  # noqa: PLR0913 - every option has a default
    es: Source,
    score: str | None = None,
    *,
    by: str | Sequence[str] | None = None,
    tests: str | Sequence[str] | None = None,
    ties: str = "half",
    tolerance: float = 0.0,
    prior: float = 0.0,
    method: str = "newton",
    orders: int = 100,
    k: float = 20.0,
    trueskill_beta: float = 25 / 6,
    trueskill_tau: float = 25 / 300,
    trueskill_draw: float = 0.1,
    alternative: str = "two-sided",
    correction: str = "holm",
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
        that are 0 or 1, no Bradley-Terry of more than 300 systems). The mean of a corpus score,
        such as BLEU, is the score of all segments together where its statistics are known;
        ``sentence-mean`` is the mean of its sentence scores.
    tests
        Tests of all pairs: ``t permutation bootstrap mood median sign wilcoxon mcnemar bt-gap``; by
        default those that fit the rankings, and none for more than 300 systems.
    ties, tolerance, prior, method
        Bradley-Terry: what becomes of ties, which differences are ties, a weak prior, and how the
        fit is made (``newton``, ``mm``).
    orders, k
        Elo and TrueSkill depend on the order of segments: the number of random orders that are
        averaged, 0 for the order of the file; K of Elo.
    trueskill_beta, trueskill_tau, trueskill_draw
        TrueSkill, whose skills start at 25 with a deviation of 25/3: deviation of a performance,
        drift of a skill before each battle, and the chance that equals tie.
    alternative, correction, alpha
        ``two-sided``, ``greater`` or ``less``; ``holm``, ``benjamini-hochberg``, ``bonferroni`` or
        ``none``; the level of the tiers.
    unit
        What is independent: ``segment``, ``document``, ``prompt`` (segments of one source), a
        column of the input, or a number of consecutive segments. ``auto`` takes documents where at
        least ten are known, or prompts that segments share, else segments. Tests, intervals, ranks
        and tiers follow it.
    intervals, n_bootstrap
        Whether whole units are resampled for 95 % intervals (None: no intervals), and how often.
    rng
        Seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> result = compare(sy.demo_set(), "learned-refA", by=["mean", "bt"])
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
    stream, *streams, drawn = _streams(rng, names, data, options)
    asked = fitting_tests(names, data) if options.tests is None else options.tests
    if any(TESTS[name].binary for name in asked) and not data.binary:
        raise UsageError(f"mcnemar's test is of scores that are 0 or 1, which '{chosen}' is not")
    several, few = len(data.systems) > 1, len(data.systems) <= MOST_SHOWN
    sample = draw_sample(data, options, stream, pairs=few or options.tests is not None)
    question = Question(data, sample, options, drawn)
    for name in asked if several else ():
        refuse_unfit(name, question)
    chance = dict(zip(AGGREGATIONS, streams, strict=True))
    found = {name: AGGREGATIONS[name].rank(sample, options, chance[name]) for name in each(names)}
    shown = {name: _shown(name, own, question, asked) for name, own in found.items()}
    if "bootstrap" not in asked:  # resamples are large, and nothing else looks at them again
        question = replace(question, sample=replace(sample, counts=None))
    found = {name: replace(own, replicates=None, against=None) for name, own in found.items()}
    parts = Findings(es, question, found, shown, tuple(asked), tuple(notes))
    alone = None
    if few and not all(own.average for own in shown.values()):
        alone = parts.superiority
    return Comparison(
        score=chosen,
        systems=data.systems,
        n_segments=data.n_segments,
        n_scored=n_scored,
        over_all=over_all,
        unit=parts.later("unit"),
        aggregations=with_pairs_alone(shown, alone),
        tests=parts.later("tests"),
        tiers=parts.later("tiers"),
        effects=parts.later("effects"),
        diagnosis=parts.later("diagnosis"),
        notes=parts.later("notes"),
        warnings=parts.later("warnings"),
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
    """Give the segments that all systems have, where averages order systems otherwise on them.

    None where the orders agree, and where fewer than half of the segments are left.
    """
    common = np.flatnonzero(~np.isnan(data.scores).any(axis=0))
    averages = [name for name in names if AGGREGATIONS[name].average]
    if not averages or len(common) == data.n_segments or 2 * len(common) < data.n_segments:
        return None
    stats = None if data.statistics is None else data.statistics.select(segments=common)
    shared = replace(data, scores=data.scores[:, common], statistics=stats)
    for name in averages:
        average = AVERAGES[name]
        if (ranks(average(data)) != ranks(average(shared))).any():
            return common
    return None


def _streams(
    rng: Rng, names: Sequence[str], data: Compared, options: CompareOptions
) -> list[np.random.Generator]:
    """Give resamples, each ranking and tests a stream of their own; one, where nothing is drawn."""
    own, n = generator(rng), 2 + len(AGGREGATIONS)
    drawn = options.intervals is not None or data.statistics is not None
    if drawn or any(AGGREGATIONS[name].in_order for name in names) or not isinstance(rng, int):
        return own.spawn(n)
    return [own] * n


def _settings(
    data: Compared, names: Sequence[str], tests: Sequence[str], options: CompareOptions
) -> dict[str, Any]:
    found: dict[str, Any] = {"score": data.name, **options.settings(names, tests)}
    found |= {"unit": data.units.name}
    if options.intervals:
        found |= {"bootstrap": options.n_bootstrap}
    if any(AGGREGATIONS[name].in_order for name in names):
        found |= {"orders": options.orders or "file"}
    return found


def _rankings(options: CompareOptions, data: Compared) -> tuple[tuple[str, ...], list[str]]:
    """Give the rankings to make, and what must be known of them."""
    names = options.by
    notes: list[str] = []
    many = len(data.systems) > MOST_SHOWN
    told = f"more than {MOST_SHOWN} systems"
    if names is None:
        unfit = {"median"} if data.binary else set()
        names = tuple(name for name in DEFAULT if name not in unfit | ({"bt"} if many else set()))
        why = 'no Bradley-Terry, which compares every pair (by="bt" asks for it)'
        notes += [f"{told}: {why}"] if many else []
    if many and options.tests is None:
        notes.append(f'{told}: pairs are not tested, nor differences kept (tests="t" does both)')
    if data.statistics is not None:
        others = ", ".join(name for name in names if name != "mean")
        notes += ["corpus: the score of all segments together"] if "mean" in names else []
        notes += [f"{others}: on {SENTENCES}"] if others else []
    return names, notes


def _shown(by: str, found: Aggregate, asked: Question, tests: Sequence[str]) -> Ranked:
    """Give a ranking with its intervals, in the numbers of the score itself."""
    data, sample = asked.data, asked.sample
    result = _with_few_units(by, ranked(by, found, sample.level), asked, tests)
    if result.average and not data.higher_is_better:
        result = result.turned()
    if data.statistics is not None:
        return replace(result, of=CORPUS if by == "mean" else SENTENCES)
    if not (AGGREGATIONS[by].test_of_binary and data.binary):
        return result
    known = ~np.isnan(data.scores)
    alone = sample.counts is not None and sample.blocks is None
    if alone and known.any(axis=0).sum() > 1:  # else there is no interval
        right = np.where(known, np.abs(data.scores), 0.0).sum(axis=1)
        low, high = wilson_interval(right, known.sum(axis=1), LEVEL)
        told = "proportion: Wilson's 95 % intervals; those of ranks are of resamples"
        result = replace(result, low=low, high=high, notes=(told,))
    return replace(result, of=PROPORTION)


def _with_few_units(by: str, found: Ranked, asked: Question, tests: Sequence[str]) -> Ranked:
    """Give means of few units intervals by t, and their differences those of the test."""
    data = asked.data
    if found.low is None or by not in ("mean", "sentence-mean") or data.units.n >= FEW_UNITS:
        return found
    if not data.binary and (data.statistics is None or by != "mean"):
        low, high = t_interval(data.scores, data.blocks, LEVEL)
        found = replace(found, low=low, high=high)
    ends = mean_gap_intervals(by, tests, asked)
    if ends is None:
        return found
    found = replace(found, pairwise_low=ends[0], pairwise_high=ends[1])
    if np.isnan(data.scores).any():  # gaps of means over what each has are something else
        return found
    return replace(found, gap_low=ends[0], gap_high=ends[1])


@dataclass(frozen=True, slots=True, repr=False)
class ManyScores(Result):
    """Comparisons by several scores; ``agreement`` is Kendall's tau-b between their rankings."""

    by: str
    comparisons: Mapping[str, Comparison]
    agreement: Floats
    verdict: str
    warnings: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        first = next(iter(self.comparisons.values()))
        return {
            "by": self.by,
            "systems": list(first.systems),
            "scores": {name: found.to_dict() for name, found in self.comparisons.items()},
            "agreement": {"scores": list(self.comparisons), "tau_b": self.agreement},
            "verdict": self.verdict,
            "unit": first.unit.to_dict(),
            "read": origin(first.provenance)["read"],
            "warnings": list(self.warnings),
        }

    @property
    def provenance(self) -> Provenance | None:
        """How the comparisons came about: all in the same way, by the same inputs."""
        return next(iter(self.comparisons.values())).provenance

    def words(self) -> Summary:
        """Say whether the scores name the same best system, and what each of them leaves open."""
        return Summary.of(told_of_many(self))

    def __repr__(self) -> str:
        first = next(iter(self.comparisons.values()), None)
        size = "" if first is None else f": {plural(len(first.systems), 'system')}"
        return one_line(self, f"by {named(list(self.comparisons))}{size}")

    def table(self) -> Table:
        """Give a row per score: its best systems, and how its ranking agrees with the others."""
        rows: list[tuple[Cell, ...]] = []
        for i, (name, found) in enumerate(self.comparisons.items()):
            tiers = found.tiers.get(self.by)
            ranking = found.ranking(self.by)
            top = ranking[:1]
            if tiers is not None:
                place = dict(zip(found.systems, tiers.clusters, strict=True))
                top = [s for s in ranking if place[s] == 1]
            others = np.delete(self.agreement[i], i)
            mean = float(np.nanmean(others)) if (~np.isnan(others)).any() else None
            rows.append((name, ", ".join(best_of(found, self.by)), ", ".join(top), mean))
        columns = (Column("score"), Column("best", importance=8), Column("first tier"),
                   Column("agreement", "higher", digits=3, importance=3))  # fmt: skip
        first = next(iter(self.comparisons.values()))
        notes = (
            f"{self._ranked_by()}; agreement: mean tau-b with the other scores",
            first.unit.sentence(),
            self.verdict,
        )
        return Table("", columns, tuple(rows), notes)

    def _ranked_by(self) -> str:
        """Say what scores are ranked by, as the table of each does; that need not be the same."""
        scores: dict[str, list[str]] = {}
        for name, found in self.comparisons.items():
            scores.setdefault(found.shown(self.by), []).append(name)
        if len(scores) == 1:
            return f"ranked by {next(iter(scores))}"
        return "ranked by " + ", ".join(f"{by} ({', '.join(own)})" for by, own in scores.items())


@keywords(CompareOptions)
def compare_scores(
    es: Source, scores: Sequence[str], *, options: CompareOptions, rng: Rng = 0
) -> ManyScores | AutoRanking:
    """Compare systems by several scores, and say where the scores disagree.

    Options are those of :func:`steelyard.compare`; one ranking counts, by default ``mean``. With
    ``by="autorank"``, the scores make one ranking together (``autorank`` is its form, ``wmt25`` or
    ``wmt24``).

    Examples
    --------
    >>> import steelyard as sy
    >>> scores = ["learned-refA", "overlap-refA"]
    >>> found = sy.compare_scores(sy.demo_set(), scores, by="autorank", n_bootstrap=10)
    >>> found.ranking("autorank")[:3]
    ['Kaolin', 'Dolomite', 'Jasper']
    """
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
    found = {name: compare_by(es, name, options, rng) for name in each(scores)}
    ranks = [
        dict(zip(own.systems, own.aggregations[by].ranks, strict=True)) for own in found.values()
    ]
    systems = sorted(set.intersection(*(set(own) for own in ranks)))
    columns = np.array([[-own[s] for s in systems] for own in ranks]).reshape(len(ranks), -1).T
    agreement = np.ones((len(found), len(found)))
    for i, j in combinations(range(len(found)), 2):
        counts = count_pairs(columns[:, [i]], columns[:, [j]])
        agreement[i, j] = agreement[j, i] = kendall_b(counts)[0]
    warnings = [w for own in found.values() for w in own.warnings]
    return ManyScores(
        by=by,
        comparisons=found,
        agreement=agreement,
        verdict=verdict(found, by),
        warnings=tuple(dict.fromkeys(warnings)),
    )
