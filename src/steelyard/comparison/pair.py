"""Ship it or not: everything about the difference of two systems, and a verdict in a sentence."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from steelyard.comparison.options import CardOptions
from steelyard.comparison.pairwords import interval, shown_p, told, verdict
from steelyard.comparison.pairworth import difference_facts, study_file, worth_of_pair
from steelyard.comparison.ranked import CORPUS, PROPORTION, SENTENCES
from steelyard.comparison.readings import (
    Reading,
    Readings,
    read_difference,
    where_readings_disagree,
)
from steelyard.comparison.scores import LEVEL, is_binary
from steelyard.comparison.strata import Strata, stratify
from steelyard.comparison.tests import proportion_interval
from steelyard.comparison.twosystems import (
    Regression,
    TwoSystems,
    regressions_of,
    two_systems,
    unofficial,
)
from steelyard.core.display import RankingRow, Result, Summary, named, one_line, ranked, ranking
from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance, origin
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.core.text import plural
from steelyard.data.evalset import EvalSet
from steelyard.data.overview import direction_warnings
from steelyard.data.units import UnitEffect
from steelyard.formats.load import Source, as_evalset
from steelyard.stats.arrays import Counts, Floats, row_means
from steelyard.stats.curves import AgreementCurve
from steelyard.stats.paired import tests as paired
from steelyard.stats.paired.power import MOST, permutation_needed
from steelyard.stats.paired.tests import (
    FEW_UNITS,
    agreeing,
    error_note,
    flip_interval,
    permutation_test,
    sign_test,
    t_interval,
)
from steelyard.stats.permutation.corpus import bootstrap_scores, corpus_test, pseudo_values
from steelyard.stats.permutation.pvalues import block_sums
from steelyard.stats.resampling import bootstrap
from steelyard.stats.strength.wins import win_counts

_FOUR = ("both", "first", "second", "neither")  # cells of a table of right and wrong


@dataclass(frozen=True, slots=True, repr=False)
class Decision(Result):
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
    readings: Readings
    strata: Strata | None = None
    regressions: tuple[Regression, ...] = ()
    human: dict[str, Any] | None = None
    worth: AgreementCurve | None = None  # of differences by the score, to people
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = None
    higher_is_better: bool = True
    of: str | None = None
    two_by_two: tuple[int, int, int, int] | None = None
    source: EvalSet | None = field(default=None, compare=False)  # what figures show
    alpha: float = 0.05  # level of the tests

    def words(self) -> Summary:
        """Say which one is better, what stays open, how sure that is."""
        return Summary.of(told(self))

    def __repr__(self) -> str:
        a, b = (named([name]) for name in self.pair)
        apart = interval(self.difference, self.ci)
        size = plural(self.n_segments, "segment")
        return one_line(self, f"by {self.score}: {a} minus {b} {apart}, {size}")

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "score": self.score,
            "pair": list(self.pair),
            "systems": list(self.pair),
            "ranking": ranking("system", self._places()),
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
            "readings": self.readings.to_dict(),
            "strata": None if self.strata is None else self.strata.to_dict(),
            "human": self.human,
            "worth": None if self.worth is None else difference_facts(self.worth, self.difference),
            "regressions": [one.to_dict() for one in self.regressions],
            "warnings": list(self.warnings),
            **origin(self.provenance),
        }

    def _places(self) -> list[RankingRow]:
        """Give who is where, best first."""
        ranks = ranked(self.means, higher_is_better=self.higher_is_better)
        places = map(RankingRow, self.pair, ranks, self.means)
        return sorted(places, key=lambda own: own.rank or len(ranks))

    def table(self) -> Table:
        """Give the card as two columns."""
        a, b = self.pair
        direction = "" if self.higher_is_better else ", lower is better"
        what = {CORPUS: "corpus scores", PROPORTION: "proportions"}.get(self.of or "", "means")
        name = f"{CORPUS} {self.score}" if self.of == CORPUS else self.score
        rows = [
            (f"{a}, {b}", f"{self.means[0]:.4g}, {self.means[1]:.4g} ({name}{direction})"),
            ("difference", interval(self.difference, self.ci)),
        ]
        if self.two_by_two is None:  # medians of scores that are 0 or 1 say nothing
            named = ("difference of medians", "median of differences")
            of = ("", f" ({SENTENCES})")[self.of == CORPUS]
            rows += [
                (f"{name}{of}", interval(one.value, one.ci))
                for name, one in zip(named, self.readings.of[1:], strict=True)
            ]
        by = "" if self.unit.design_effect == 1 else f" by {self.unit.name}"
        sign = f"p of wins (sign{by})"
        if self.two_by_two is not None:
            cells = ", ".join(map(str, self.two_by_two))
            rows.append((f"1 by both, {a} alone, {b} alone, neither", cells))
            sign = f"p of the proportions (McNemar{by}, exact)"
        if not math.isnan(self.probability):
            share = f"{100 * self.probability:.1f} %"
            rows.append((f"resampled test sets in which {a} is better", share))
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
            text = interval(self.human["difference"], self.human["ci"])
            direction = "" if self.human["higher_is_better"] else ", lower is better"
            rows.append((f"in human terms ({self.human['score']}{direction})", text))
        for part in () if self.strata is None else self.strata.strata:
            text = interval(part.difference.value, part.difference.ci)
            text += f", wins, ties, losses {part.wins}, {part.ties}, {part.losses}"
            rows.append((f"on {part.n_segments:,} {part.name} segments", text))
        ahead = a if (self.difference >= 0) == self.higher_is_better or not self.difference else b
        for one in self.regressions:
            text = f"{one.first:.4g}, {one.second:.4g}"
            rows.append((f"where {ahead} loses most: segment {one.segment}", text))
        columns = (Column("decision"), Column("value"))
        notes = [self.verdict, self.readings.sentence]
        if self.strata is not None:
            notes += [self.strata.sentence, f"hard and easy: {self.strata.measured_by}"]
        # What people make of such differences; the place of all that is measured of them.
        notes += [] if self.worth is None else [self.worth.sentence(self.difference)]
        notes.append(self.unit.sentence())
        return Table("", columns, tuple(rows), tuple(note for note in notes if note))


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
    worth
        What differences are worth to people: a JSON file that ``steelyard study worth`` wrote. By
        default measured on the human score, if there is one of eight systems or more, else taken
        from a reference for BLEU, chrF, TER (of the corpus), EED and CharacTER.
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
    two = two_systems(es, pair, score, options)
    stream, both, stats, sign = generator(rng), two.both, two.statistics, two.sign
    gap = both[0] - both[1]
    counts = bootstrap.segment_counts(
        options.n_bootstrap, len(gap), stream, two.blocks, compact=True
    )
    if stats is None:
        means, moved = row_means(both), gap
        replicates = bootstrap.bootstrap_means(gap[None, :], counts)[:, 0]
        tested, error = permutation_test(both, two.blocks)
    else:
        means, moved = sign * stats.corpus_scores(), sign * np.subtract(*pseudo_values(stats))
        replicates = sign * np.subtract(*bootstrap_scores(stats, counts).T)
        tested, error = corpus_test(stats, blocks=two.blocks, rng=stream), 0.0
    several = two.units.n > 1
    if not several:  # the same segments again and again are no resamples
        replicates = np.full(len(replicates), np.nan)
    level = two.units.level(LEVEL, np.arange(len(gap))) if several else LEVEL
    lead = float(gap.mean()) if stats is None else float(means[0] - means[1])
    low, high = (float(x[0]) for x in bootstrap.interval(replicates[:, None], level))
    if several and two.units.n < FEW_UNITS:
        low, high = _inverted(two, moved, lead, float(tested[0, 1]))
    wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
    p = float(tested[0, 1])
    drawn = replicates[~np.isnan(replicates)]
    needed = _needed(moved, two.blocks, options, stream) if several else None
    warnings = [*es.notes, *direction_warnings(two.score, two.table)]
    warnings += [*two.units.warnings, *error_note(error)]
    warnings += unofficial(two, sign * means)
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
    origin, worth = Provenance.of("compare", settings, es.inputs, rng, options), None
    if lead or options.worth is not None:  # what is named is read, whatever it says
        worth = worth_of_pair(es, two, options.human, options.worth, stream.spawn(1)[0])
    if options.worth is not None:
        origin = replace(origin, inputs=(*origin.inputs, study_file(options.worth)))
    ci = (low, high) if sign > 0 else (0.0 - high, 0.0 - low)
    means_apart = Reading(sign * lead + 0.0, ci)
    asked = level if several else math.nan
    effect = paired.standardised_difference(np.stack([moved, 0 * moved]))[0, 1]
    card = Decision(
        score=two.score,
        pair=pair,
        n_segments=len(gap),
        means=two.own(*means),
        difference=means_apart.value,
        ci=ci,
        probability=float(row_means((drawn > 0) + 0.5 * (drawn == 0))),
        wins=wins,
        ties=int((gap == 0).sum()),
        losses=losses,
        p=p,
        p_sign=_p_of_wins(two),
        superiority=float(paired.superiority(win_counts(both))[0, 1]),
        effect=sign * float(effect) + 0.0,
        needed=needed,
        power=options.power,
        unit=two.units.effect(np.stack([moved, 0 * moved])),
        verdict="",
        readings=_readings(two, means_apart, counts, asked),
        strata=stratify(es, two, moved, counts),
        regressions=regressions_of(es, two, lead),
        human=None if options.human is None else _human(es, options.human, two, counts, level),
        worth=worth if lead else None,
        warnings=tuple(dict.fromkeys(warnings)),
        provenance=origin,
        higher_is_better=two.table.higher_is_better,
        source=es,
        alpha=options.alpha,
        of=CORPUS if stats is not None else PROPORTION if two.binary else None,
        two_by_two=_two_by_two(sign * both) if two.binary else None,
    )
    return replace(card, verdict=verdict(card))


def _inverted(two: TwoSystems, moved: Floats, lead: float, p: float) -> tuple[float, float]:
    """Interval of the difference of few units that says what the permutation test says."""
    # Scores that are 0 and -1 are as good as 0 and 1.
    right_or_wrong = two.statistics is None and is_binary(np.abs(two.both))
    invert = proportion_interval if right_or_wrong else flip_interval
    shift = lead - moved.mean()  # of a corpus score, from what segments add to it
    low, high = (end + shift for end in invert(moved[None, :], two.blocks))
    low, high = agreeing(np.array([lead]), (low, high), np.array([p]))
    return float(low[0]), float(high[0])


def _readings(two: TwoSystems, means: Reading, counts: Floats, level: float) -> Readings:
    """Read the difference in three ways, and say where these disagree."""
    found = read_difference(two.both, means, counts, level, two.sign)
    told = where_readings_disagree(found.of, two.pair, higher_is_better=two.table.higher_is_better)
    return replace(found, sentence=told)


def _p_of_wins(two: TwoSystems) -> float:
    """Test who wins more segments."""
    return float(sign_test(two.both, two.blocks).p[0, 1])


def _two_by_two(both: Floats) -> tuple[int, int, int, int]:
    """Count segments that both, only the first, only the second, and neither has right."""
    one, two = both == 1
    cells = (one & two, one & ~two, ~one & two, ~one & ~two)
    a, b, c, d = (int(cell.sum()) for cell in cells)
    return a, b, c, d


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


def _human(
    es: EvalSet, human: str, two: TwoSystems, counts: Floats, level: float
) -> dict[str, Any]:
    """Show the same difference in human terms, on the segments that people scored for both."""
    gap = np.subtract(*es[human].values[two.rows][:, two.known])
    if np.isnan(gap).all():
        raise UsageError(f"no segment has a '{human}' score of both systems")
    drawn = bootstrap.bootstrap_means(gap[None, :], counts)
    if two.units.n < 2:
        drawn = np.full(drawn.shape, np.nan)
    low, high = bootstrap.interval(drawn, level)
    if two.units.n < FEW_UNITS:
        low, high = t_interval(gap[None, :], two.blocks, LEVEL)
    return {
        "score": human,
        "higher_is_better": es[human].higher_is_better,
        "difference": float(np.nanmean(gap)),
        "ci": [float(low[0]), float(high[0])],
        "n_segments": int((~np.isnan(gap)).sum()),
    }
