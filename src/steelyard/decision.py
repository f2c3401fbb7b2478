"""Ship it or not: everything about the difference of two systems, and a verdict in a sentence."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import ndtri

from steelyard.comparison import document_codes, the_score
from steelyard.errors import UsageError, hint
from steelyard.evalset import EvalSet
from steelyard.provenance import Provenance
from steelyard.rng import Rng, generator
from steelyard.stats import bootstrap, effects, pairedtests
from steelyard.stats.arrays import Counts, Floats
from steelyard.stats.permutation import block_sums
from steelyard.table import Column, Table

_SHOWN = 5  # regressions that are listed


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
    """The difference of two systems by one score: ``difference`` is the first minus the second."""

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
    needed: int | None  # segments to see a difference this large
    power: float
    unit: str
    verdict: str
    regressions: tuple[Regression, ...] = ()
    human: dict[str, Any] | None = None
    warnings: tuple[str, ...] = ()
    provenance: Provenance | None = field(default=None, repr=False)

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "score": self.score,
            "pair": list(self.pair),
            "systems": list(self.pair),
            "n_segments": self.n_segments,
            "means": list(self.means),
            "difference": self.difference,
            "ci": list(self.ci),
            "probability": self.probability,
            "wins": self.wins,
            "ties": self.ties,
            "losses": self.losses,
            "p": {"permutation": self.p, "sign": self.p_sign},
            "superiority": self.superiority,
            "standardised_difference": self.effect,
            "segments_needed": self.needed,
            "power": self.power,
            "unit": self.unit,
            "verdict": self.verdict,
            "human": self.human,
            "regressions": [one.to_dict() for one in self.regressions],
            "warnings": list(self.warnings),
            "provenance": None if self.provenance is None else self.provenance.to_dict(),
        }

    def table(self) -> Table:
        """Give the card as two columns."""
        a, b = self.pair
        rows: list[tuple[str, str]] = [
            (f"{a}, {b}", f"{self.means[0]:.4g}, {self.means[1]:.4g} ({self.score})"),
            ("difference", f"{self.difference:+.4g} ({self.ci[0]:+.4g} to {self.ci[1]:+.4g})"),
            (f"{a} better, wherever resampled", f"{100 * self.probability:.1f} %"),
            ("wins, ties, losses", f"{self.wins}, {self.ties}, {self.losses}"),
            ("p of the means (permutation)", f"{self.p:.4f}"),
            ("p of wins (sign)", f"{self.p_sign:.4f}"),
            (f"chance that {a} wins a segment", f"{100 * self.superiority:.1f} %"),
            ("difference in standard deviations", f"{self.effect:+.3f}"),
        ]
        if self.needed is not None:
            text = f"{self.needed:,} (there are {self.n_segments:,})"
            rows.append((f"segments for {100 * self.power:.0f} % power", text))
        if self.human is not None:
            low, high = self.human["ci"]
            text = f"{self.human['difference']:+.4g} ({low:+.4g} to {high:+.4g})"
            rows.append((f"in human terms ({self.human['score']})", text))
        for one in self.regressions:
            text = f"{one.first:.4g}, {one.second:.4g}"
            rows.append((f"worst for the better one: {one.segment}", text))
        columns = (Column("decision"), Column("value"))
        return Table("", columns, tuple(rows), (self.verdict,))


def decide(
    es: EvalSet,
    pair: tuple[str, str],
    score: str | None = None,
    *,
    human: str | None = None,
    alpha: float = 0.05,
    power: float = 0.8,
    unit: str = "segment",
    n_bootstrap: int = 10_000,
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
        What is resampled and permuted: ``segment`` or ``document``.
    n_bootstrap, rng
        Number of resamples, seed of the draws.

    Examples
    --------
    >>> import steelyard as sy
    >>> card = decide(sy.demo_set(), ("Dolomite", "Granite"), "learned-refA")
    >>> card.verdict
    'Dolomite is better than Granite by learned-refA: +0.04...p < 0.0001.'
    """
    for name in pair:
        if name not in es.systems:
            raise UsageError(f"no system '{name}'; {hint(name, es.systems)}")
    if pair[0] == pair[1]:
        raise UsageError(f"a pair needs two systems, got '{pair[0]}' twice")
    chosen = the_score(es, score)
    i, j = (es.systems.index(name) for name in pair)
    values = es[chosen].oriented[[i, j]]
    known = np.asarray(~np.isnan(values).any(axis=0))
    if not known.any():
        raise UsageError(f"{pair[0]} and {pair[1]} share no segment with a '{chosen}' score")
    stream = generator(rng)
    blocks = document_codes(es)[known] if unit == "document" else None
    both = values[:, known]
    gap = both[0] - both[1]
    counts = bootstrap.segment_counts(n_bootstrap, len(gap), stream, blocks)
    replicates = bootstrap.bootstrap_means(gap[None, :], counts)[:, 0]
    low, high = (float(x[0]) for x in bootstrap.interval(replicates[:, None]))
    p = float(pairedtests.permutation_test(both, blocks=blocks)[0, 1])
    p_sign = float(pairedtests.sign_test(both)[0, 1])
    difference = float(gap.mean())
    needed = _needed(gap, blocks, alpha, power)
    warnings = [*es.notes]
    if not known.all():
        warnings.append(
            f"{int((~known).sum()):,} segments that only one of the two has take no part"
        )
    wins, losses = int((gap > 0).sum()), int((gap < 0).sum())
    if p < alpha and (wins - losses) * difference < 0:
        warnings.append("the mean and the number of wins point in different directions")
    settings = {"score": chosen, "pair": ",".join(pair), "unit": unit, "bootstrap": n_bootstrap}
    return Decision(
        chosen,
        pair,
        len(gap),
        (float(both[0].mean()), float(both[1].mean())),
        difference,
        (low, high),
        float(((replicates > 0) + 0.5 * (replicates == 0)).mean()),
        wins,
        int((gap == 0).sum()),
        losses,
        p,
        p_sign,
        float(effects.superiority(both)[0, 1]),
        float(effects.standardised_difference(both)[0, 1]),
        needed,
        power,
        unit,
        _verdict(pair, chosen, difference, (low, high), p, alpha, needed, power),
        _regressions(es, pair, both, known, difference),
        None if human is None else _human(es, human, (i, j), counts, known),
        tuple(dict.fromkeys(warnings)),
        Provenance("compare", settings, es.inputs, rng if isinstance(rng, int) else None),
    )


def _needed(gap: Floats, blocks: Counts | None, alpha: float, power: float) -> int | None:
    """Segments at which a two-sided test would see a difference this large, None if there is none.

    Segments of a document vary together; their number is scaled by how much more the mean varies.
    """
    difference = float(gap.mean())
    if difference == 0 or len(gap) < 2:
        return None
    variance = float(gap.var(ddof=1))
    if blocks is not None:
        rest = block_sums((gap - difference)[None, :], blocks)[0]
        variance = max(variance, float((rest * rest).sum() / len(gap)))
    reach = float(ndtri(1 - alpha / 2) + ndtri(power))
    return int(np.ceil(max(2.0, variance * (reach / difference) ** 2)))


def _verdict(
    pair: tuple[str, str],
    score: str,
    difference: float,
    ci: tuple[float, float],
    p: float,
    alpha: float,
    needed: int | None,
    power: float,
) -> str:
    shown = f"{difference:+.4g} ({ci[0]:+.4g} to {ci[1]:+.4g})"
    sure = f"p < {0.0001}" if p < 0.0001 else f"p = {p:.4f}"
    if p < alpha:
        better, worse = pair if difference > 0 else pair[::-1]
        return f"{better} is better than {worse} by {score}: {shown}, {sure}."
    text = f"{score} does not settle which of {pair[0]} and {pair[1]} is better: {shown}, {sure}."
    if needed is not None:
        text += (
            f" A difference this large would take about {needed:,} segments ({power:.0%} power)."
        )
    return text


def _regressions(
    es: EvalSet, pair: tuple[str, str], both: Floats, known: np.ndarray, difference: float
) -> tuple[Regression, ...]:
    """Segments on which the system with the higher mean loses most."""
    gap = both[0] - both[1]
    loss = gap if difference >= 0 else -gap
    order = np.argsort(loss, kind="stable")[:_SHOWN]
    places = np.flatnonzero(known)
    found = []
    for k in order:
        if loss[k] >= 0:
            break
        s = int(places[k])
        sources = es.segments.sources
        texts = [es.outputs[name][s] if name in es.outputs else None for name in pair]
        found.append(
            Regression(
                es.segments.ids[s],
                float(both[0][k]),
                float(both[1][k]),
                None if sources is None else sources[s],
                (texts[0], texts[1]),
            )
        )
    return tuple(found)


def _human(
    es: EvalSet, human: str, pair: tuple[int, int], counts: Floats, known: np.ndarray
) -> dict[str, Any]:
    """Show the same difference in human terms, on the segments that people scored for both."""
    values = es[human].oriented[list(pair)][:, known]
    gap = values[0] - values[1]
    if np.isnan(gap).all():
        raise UsageError(f"no segment has a '{human}' score of both systems")
    replicates = bootstrap.bootstrap_means(gap[None, :], counts)
    low, high = bootstrap.interval(replicates)
    return {
        "score": human,
        "difference": float(np.nanmean(gap)),
        "ci": [float(low[0]), float(high[0])],
        "n_segments": int((~np.isnan(gap)).sum()),
    }
