"""Ship it or not: everything about the difference of two systems, and a verdict in a sentence."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import CardOptions
from steelyard.comparison.results import CORPUS, PROPORTION
from steelyard.comparison.scores import LEVEL, check_segments, is_binary, the_score
from steelyard.core import bounds
from steelyard.core.errors import UsageError, hint
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.independence import UnitEffect, Units, units_of
from steelyard.data.overview import direction_warnings
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Counts, Floats, row_means, same_digits
from steelyard.stats.paired import pairedtests, unitflips
from steelyard.stats.paired.testpower import MOST, permutation_needed
from steelyard.stats.permutation.corpus import (
    CorpusStatistics,
    bootstrap_scores,
    corpus_test,
    pseudo_values,
)
from steelyard.stats.permutation.pvalues import block_sums
from steelyard.stats.resampling import bootstrap
from steelyard.stats.resampling.unitfreedom import unit_level

_SHOWN = 5  # regressions that are listed
_FOUR = ("both", "first", "second", "neither")  # cells of a table of right and wrong


@dataclass(frozen=True, slots=True)
class Regression:
    """A segment on which the better system is worse."""

    segment: str
    first: float
    second: float
    source: str | None = None
    outputs: tuple[str | None, str | None] = (None, None)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "segment": self.segment,
            "scores": [self.first, self.second],
            "source": self.source,
            "outputs": list(self.outputs),
        }


@dataclass(frozen=True, slots=True)
class Decision:
    """The difference of two systems by one score: ``difference`` is the first minus the second.

    Numbers are those of the score itself, also where less is better. ``means`` are corpus scores
    where the score is one (``of``), and proportions where all scores are 0 or 1; these have a
    ``two_by_two`` table of segments: right by both, by the first, by the second, by neither.
    """

    score: str
    pair: tuple[str, str]
    n_segments: int
    means: tuple[float, float]
    difference: float
    ci: tuple[float, float]
    probability: float  # that the first is better, over resamples
    wins: int
    ties: int
    losses: int
    p: float
    p_sign: float
    superiority: float
    effect: float
    needed: int | None  # segments to see a difference this large; None if none, or over 10 million
    power: float
    unit: UnitEffect
    verdict: str
    regressions: tuple[Regression, ...] = ()
    human: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = field(default=None, repr=False)
    higher_is_better: bool = True
    of: str | None = None
    two_by_two: tuple[int, int, int, int] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "score": self.score,
            "pair": list(self.pair),
            "systems": list(self.pair),
            "n_segments": self.n_segments,
            "higher_is_better": self.higher_is_better,
            "of": self.of,
            "means": list(self.means),
            "difference": self.difference,
            "ci": list(self.ci),
            "probability": self.probability,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "two_by_two": None
            if self.two_by_two is None
            else dict(zip(_FOUR, self.two_by_two, strict=True)),
            "p": {"permutation": self.p, "sign": self.p_sign}
            | ({} if self.two_by_two is None else {"mcnemar": self.p_sign}),
            "superiority": self.superiority,
            "standardised_difference": self.effect,
            "segments_needed": self.needed,
            "power": self.power,
            "unit": self.unit.to_dict(),
            "verdict": self.verdict,
            "human": self.human,
            "regressions": [one.to_dict() for one in self.regressions],
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def table(self) -> Table:
        """Give the card as two columns."""
        a, b = self.pair
        direction = "" if self.higher_is_better else ", lower is better"
        what = {CORPUS: "corpus scores", PROPORTION: "proportions"}.get(self.of or "", "means")
        name = f"{CORPUS} {self.score}" if self.of == CORPUS else self.score
        rows = [
            (f"{a}, {b}", f"{self.means[0]:.4g}, {self.means[1]:.4g} ({name}{direction})"),
            ("difference", _interval(self.difference, self.ci)),
        ]
        by = "" if self.unit.design_effect == 1 else f" by {self.unit.name}"
        sign = f"p of wins (sign{by})"
        if self.two_by_two is not None:
            cells = ", ".join(map(str, self.two_by_two))
            rows.append((f"1 by both, {a} alone, {b} alone, neither", cells))
            sign = f"p of the proportions (McNemar{by}, exact)"
        if not math.isnan(self.probability):
            share = f"{100 * self.probability:.1f} %"
            rows.append((f"{a} better, wherever resampled", share))
        rows += [
            ("wins, ties, losses", f"{self.wins}, {self.ties}, {self.losses}"),
            (f"p of the {what} (permutation{by})", shown_p(self.p)),
            (sign, shown_p(self.p_sign)),
        ]
        rows.append((f"chance that {a} wins a segment", f"{100 * self.superiority:.1f} %"))
        shown = "undefined (no spread)" if math.isnan(self.effect) else f"{self.effect:+.3f}"
        rows.append(("difference in standard deviations", shown))
        if self.difference and not math.isnan(self.p) and self.unit.n > 1:
            count = f"more than {MOST:,}" if self.needed is None else f"{self.needed:,}"
            text = f"{count} (there are {self.n_segments:,})"
            rows.append((f"segments for {100 * self.power:.0f} % power", text))
        if self.human is not None:
            text = _interval(self.human["difference"], self.human["ci"])
            direction = "" if self.human["higher_is_better"] else ", lower is better"
            rows.append((f"in human terms ({self.human['score']}{direction})", text))
        for one in self.regressions:
            text = f"{one.first:.4g}, {one.second:.4g}"
            rows.append((f"worst for the better one: {one.segment}", text))
        columns = (Column("decision"), Column("value"))
        return Table("", columns, tuple(rows), (self.verdict, self.unit.sentence()))


@keywords(CardOptions)
def decide(
    es: Source,
    pair: tuple[str, str],
    score: str | None = None,
    *,
    options: CardOptions,
    rng: Rng = 0,
) -> Decision:
    """Weigh one system against another.

    Parameters
    ----------
    es
        Systems, segments and scores.
    pair
        The two systems; the difference is the first minus the second.
    score
        Which score; may be left out if there is only one.
    human
        A human score, to show the same difference in human terms.
    alpha, power
        Level of the tests; power at which the segments needed are counted.
    unit
        What is independent, hence permuted and resampled as a whole: see
        :func:`steelyard.compare`.
    n_bootstrap, rng
        Number of resamples, seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> card = decide(sy.demo_set(), ("Dolomite", "Granite"), "learned-refA")
    >>> card.verdict
    'Dolomite is better than Granite by learned-refA: +0.04...p < 0.0001.'
    """
    es = as_evalset(es, options.human, options.unit)
    two = _two(es, pair, score, options)
    stream, both, stats, sign = generator(rng), two.both, two.statistics, two.sign
    gap = both[0] - both[1]
    counts = bootstrap.segment_counts(options.n_bootstrap, len(gap), stream, two.blocks)
    if stats is None:
        means, moved = row_means(both), gap
        replicates = bootstrap.bootstrap_means(gap[None, :], counts)[:, 0]
        tested, error = pairedtests.permutation_p(both, blocks=two.blocks)
    else:
        means, moved = sign * stats.corpus_scores(), sign * np.subtract(*pseudo_values(stats))
        replicates = sign * np.subtract(*bootstrap_scores(stats, counts).T)
        tested, error = corpus_test(stats, blocks=two.blocks, rng=stream), 0.0
    several = two.units.n > 1
    if not several:  # the same segments again and again are no resamples
        replicates = np.full(len(replicates), np.nan)
    level = unit_level(LEVEL, two.blocks) if several else LEVEL
    low, high = (float(x[0]) for x in bootstrap.interval(replicates[:, None], level))
    lead = float(gap.mean()) if stats is None else float(means[0] - means[1])
    wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
    p = float(tested[0, 1])
    drawn = replicates[~np.isnan(replicates)]
    needed = _needed(moved, two.blocks, options, stream) if several else None
    warnings = [*es.notes, *direction_warnings(two.score, two.table)]
    warnings += [*two.units.warnings, *pairedtests.error_note(error)]
    warnings += _unofficial(two, sign * means)
    if not several:
        warnings.append(f"{two.units.counted()}: there is nothing to resample, and no interval")
    if not two.known.all():
        alone = int((~two.known).sum())
        warnings.append(f"{alone:,} segments that only one of the two has take no part")
    if p < options.alpha and (wins - losses) * lead < 0:
        warnings.append("the mean and the number of wins point in different directions")
    settings = {
        "score": two.score,
        "pair": ",".join(pair),
        "unit": two.units.name,
        "bootstrap": options.n_bootstrap,
    }
    effect = pairedtests.standardised_difference(np.stack([moved, 0 * moved]))[0, 1]
    card = Decision(
        score=two.score,
        pair=pair,
        n_segments=len(gap),
        means=two.own(*means),
        difference=sign * lead + 0.0,
        ci=(low, high) if sign > 0 else (0.0 - high, 0.0 - low),
        probability=float(row_means((drawn > 0) + 0.5 * (drawn == 0))),
        wins=wins,
        ties=int((gap == 0).sum()),
        losses=losses,
        p=p,
        p_sign=_p_of_wins(two),
        superiority=float(pairedtests.superiority(both)[0, 1]),
        effect=sign * float(effect) + 0.0,
        needed=needed,
        power=options.power,
        unit=two.units.effect(np.stack([moved, 0 * moved])),
        verdict="",
        regressions=_regressions(es, two, lead),
        human=None if options.human is None else _human(es, options.human, two, counts, level),
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=Provenance.of("compare", settings, es.inputs, rng),
        higher_is_better=two.table.higher_is_better,
        of=CORPUS if stats is not None else PROPORTION if two.binary else None,
        two_by_two=_two_by_two(sign * both) if two.binary else None,
    )
    return replace(card, verdict=_verdict(card, options.alpha))


@dataclass(frozen=True, slots=True, eq=False)
class _Two:
    """Two systems by one score, on the segments that both have (``known`` of all)."""

    score: str
    pair: tuple[str, str]
    rows: list[int]
    table: ScoreTable
    known: np.ndarray
    both: Floats  # more is better
    units: Units
    statistics: CorpusStatistics | None

    @property
    def blocks(self) -> Counts | None:
        return self.units.codes

    @property
    def sign(self) -> float:
        return 1.0 if self.table.higher_is_better else -1.0

    @property
    def binary(self) -> bool:
        return self.statistics is None and is_binary(self.table.values)

    def own(self, first: float, second: float) -> tuple[float, float]:
        """Give values of both in the numbers of the score itself."""
        return float(self.sign * first + 0.0), float(self.sign * second + 0.0)


def _two(es: EvalSet, pair: tuple[str, str], score: str | None, options: CardOptions) -> _Two:
    bounds.pair(pair=pair)
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    if pair[0] == pair[1]:
        raise UsageError(f"a pair needs two systems, got '{pair[0]}' twice")
    chosen = the_score(es, score)
    check_segments(es, chosen)
    table, rows = es[chosen], [es.systems.index(name) for name in pair]
    values = table.oriented[rows]
    stats = None if table.statistics is None else table.statistics.select(systems=rows)
    known = np.asarray((~np.isnan(values) if stats is None else stats.known).all(axis=0))
    if not known.any():
        raise UsageError(f"{pair[0]} and {pair[1]} share no segment with a '{chosen}' score")
    return _Two(
        score=chosen,
        pair=pair,
        rows=rows,
        table=table,
        known=known,
        both=values[:, known],
        units=units_of(es.segments, options.unit, known).of(known),
        statistics=None if stats is None else stats.select(segments=np.flatnonzero(known)),
    )


def _p_of_wins(two: _Two) -> float:
    """Test who wins more segments."""
    if two.blocks is None:
        return float(pairedtests.sign_test(two.both)[0, 1])
    return float(unitflips.sign(two.both, two.blocks)[0][0, 1])


def _two_by_two(both: Floats) -> tuple[int, int, int, int]:
    """Count segments that both, only the first, only the second, and neither has right."""
    one, two = both == 1
    cells = (one & two, one & ~two, ~one & two, ~one & ~two)
    a, b, c, d = (int(cell.sum()) for cell in cells)
    return a, b, c, d


def _unofficial(two: _Two, means: Floats) -> list[str]:
    """Warn where the official scores of the two are something else than what is compared."""
    if two.table.system_scores is None or two.statistics is not None:
        return []
    official = two.table.system_scores[two.rows]
    if np.isnan(official).any() or same_digits(official, means):
        return []
    told = (
        f"means of segment scores are compared, which the official system scores of '{two.score}' "
        f"({official[0]:.4g}, {official[1]:.4g}) are not"
    )
    if np.subtract(*official) * np.subtract(*means) < 0:
        told += "; these order the two the other way"
    return [told]


def shown_p(p: float) -> str:
    """Write a p-value for a card; one that is too small for four digits is not 0.

    Examples
    --------
    >>> shown_p(0.00004), shown_p(0.0312), shown_p(float("nan"))
    ('< 0.0001', '0.0312', 'undefined')
    """
    return "undefined" if math.isnan(p) else "< 0.0001" if p < 0.0001 else f"{p:.4f}"


def _interval(value: float, ends: Sequence[float]) -> str:
    """Write a difference with its interval, as far as there is one."""
    if math.isnan(value):
        return "undefined"
    shown, low, high = (f"{x:+.4g}" if x else "0" for x in (value, *ends))
    return f"{shown} (no interval)" if np.isnan(ends).any() else f"{shown} ({low} to {high})"


def _needed(
    gap: Floats, blocks: Counts | None, options: CardOptions, rng: np.random.Generator
) -> int | None:
    """Segments at which the permutation test would see a difference this large, None if never.

    Where documents are permuted, as many of them as it takes, of the length they have on average.
    """
    units = block_sums(gap[None, :], blocks)[0]
    if not float(gap.mean()) or len(gap) < 2:
        return None
    found = permutation_needed(units, options.alpha, options.power, rng)
    return None if found is None else int(np.ceil(found * len(gap) / len(units)))


def _verdict(card: Decision, alpha: float) -> str:
    a, b = card.pair
    by = card.score if card.higher_is_better else f"{card.score} (lower is better)"
    open_question = f"{by} does not settle which of {a} and {b} is better"
    if not (card.wins or card.losses):
        return f"{open_question}: they tie on every segment."
    plain = card.p < 0.0001 or math.isnan(card.p)
    found = f"{_interval(card.difference, card.ci)}, p {'' if plain else '= '}{shown_p(card.p)}."
    if card.p < alpha:
        first = (card.difference > 0) == card.higher_is_better
        better, worse = (a, b) if first else (b, a)
        return f"{better} is better than {worse} by {by}: {found}"
    text = f"{open_question}: {found}"
    if not card.difference or math.isnan(card.p):
        return text
    n = card.n_segments if card.unit.n > 1 else 1
    return f"{text} {_more(n, card.needed, card.power)}".rstrip()


def _more(n: int, needed: int | None, power: float) -> str:
    """Say how many segments a difference like this would take; one alone does not tell."""
    if n < 2:
        return ""
    if needed is not None and needed <= n:
        return f"The power for a difference this large is {power:.0%} or more already."
    count = f"more than {MOST:,}" if needed is None else f"about {needed:,}"
    return f"A difference this large would take {count} segments ({power:.0%} power)."


def _regressions(es: EvalSet, two: _Two, lead: float) -> tuple[Regression, ...]:
    """Segments on which the system that is ahead loses most."""
    loss = np.subtract(*two.both) if lead >= 0 else -np.subtract(*two.both)
    places, sources = np.flatnonzero(two.known), es.segments.sources
    found = []
    for k in np.argsort(loss, kind="stable")[:_SHOWN]:
        if not loss[k] < 0:
            break
        s = int(places[k])
        source = None if sources is None else sources[s]
        a, b = (es.outputs[name][s] if name in es.outputs else None for name in two.pair)
        found.append(Regression(es.segments.ids[s], *two.own(*two.both[:, k]), source, (a, b)))
    return tuple(found)


def _human(es: EvalSet, human: str, two: _Two, counts: Floats, level: float) -> dict[str, Any]:
    """Show the same difference in human terms, on the segments that people scored for both."""
    gap = np.subtract(*es[human].values[two.rows][:, two.known])
    if np.isnan(gap).all():
        raise UsageError(f"no segment has a '{human}' score of both systems")
    drawn = bootstrap.bootstrap_means(gap[None, :], counts)
    if two.units.n < 2:
        drawn = np.full(drawn.shape, np.nan)
    low, high = bootstrap.interval(drawn, level)
    return {
        "score": human,
        "higher_is_better": es[human].higher_is_better,
        "difference": float(np.nanmean(gap)),
        "ci": [float(low[0]), float(high[0])],
        "n_segments": int((~np.isnan(gap)).sum()),
    }
