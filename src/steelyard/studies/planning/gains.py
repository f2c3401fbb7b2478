"""What another design would bring: the error of a mean difference, and how much it takes."""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil

import numpy as np
from scipy.special import ndtri

from steelyard.core.table import Cell, Column, Table

_TWICE, _HALF = 2.0, 0.5


@dataclass(frozen=True, slots=True)
class Shape:
    """How many documents and segments there are (of a system), and the size of documents.

    ``effective`` is the size of the document that a random segment is in, which is above the mean
    where sizes differ: long documents hold more of the segments.
    """

    documents: int
    segments: float
    effective: float

    @property
    def mean(self) -> float:
        """How many segments a document has."""
        return self.segments / self.documents


@dataclass(frozen=True, slots=True)
class Plan:
    r"""Variances of the difference of two systems, and the design that they were found in.

    The mean of :math:`n` differences in documents of :math:`m_g` segments has variance
    :math:`\sigma_d^2\sum m_g^2/n^2+\sigma_s^2/n`, and raters add to it by how unevenly they judge
    the two systems. ``total`` is :math:`\sigma_d^2+\sigma_s^2`, which is known even if documents
    are single segments and nothing else is; ``rater`` is what raters add now; ``noise`` is the part
    of a segment's variance that a second rating would halve, NaN if unknown; ``severity`` is how
    raters differ, None where scores do not tell, and ``apart`` the share of segments on which two
    systems have different raters: what one rater has for both is gone from their difference.
    """

    document: float
    total: float
    shape: Shape
    rater: float = 0.0
    noise: float = float("nan")
    severity: float | None = None
    apart: float = 1.0

    def variance(self, documents: float = 1.0, length: float = 1.0) -> float:
        """Give that of the mean difference with so many times the documents, so many times as long.

        Documents have at least a segment. Raters judge as much as they do now.
        """
        length = max(length, 1 / self.shape.mean)
        n = self.shape.segments * documents * length
        effective = max(self.shape.effective * length, 1.0)
        return self._of(n, effective) + self.rater / (documents * length)

    def single(self) -> float:
        """Give that of as many segments, each a document of its own."""
        return self._of(self.shape.segments, 1.0) + self.rater

    def _of(self, n: float, effective: float) -> float:
        shared = 0.0 if effective == 1 else self.document * (effective - 1)
        return (self.total + shared) / n

    @property
    def design_effect(self) -> float:
        """Variance of the mean difference against that of as many independent segments."""
        now = self.variance() * self.shape.segments
        return now / self.independent if self.independent > 0 else float("nan")

    @property
    def independent(self) -> float:
        """Variance of one difference by itself, of two outputs and their raters."""
        return self.total + 2 * self.apart * (self.severity or 0.0)


def gain_table(plan: Plan, seen: float) -> Table:
    """Compare designs; ``seen`` is how many errors a difference must have to be found."""
    shape = plan.shape
    n, g = shape.segments, shape.documents
    rows: list[tuple[str, float, float, float]] = [("as now", g, n, plan.variance())]
    if shape.mean > 1:
        halved = max(_HALF, 1 / shape.mean)
        name = "half as long" if halved == _HALF else "of one segment"
        rows += [
            (
                f"as many segments, documents {name}",
                g / halved,
                n,
                plan.variance(1 / halved, halved),
            )
        ]
    rows += [
        ("twice as many documents", _TWICE * g, _TWICE * n, plan.variance(_TWICE)),
        ("documents twice as long", g, _TWICE * n, plan.variance(1.0, _TWICE)),
    ]
    if shape.mean > 1:
        rows += [("as many segments, each a document", n, n, plan.single())]
    if plan.severity is not None:
        noise = 0.0 if np.isnan(plan.noise) else plan.noise
        again = plan.variance() - plan.rater / 2 - noise / 2 / n
        rows += [
            ("twice as many raters", g, n, plan.variance() - plan.rater / 2),
            ("two raters for every output", g, n, again),
            ("a document's systems by one rater", g, n, plan.variance() - plan.rater),
        ]
    now = np.sqrt(plan.variance())
    cells: list[tuple[Cell, ...]] = []
    for name, documents, segments, variance in rows:
        error = float(np.sqrt(variance))
        against = error / now if now > 0 else float("nan")
        cells.append((name, round(documents), round(segments), error, against, seen * error))
    columns = (
        Column("design"),
        Column("documents"),
        Column("segments"),
        Column("error"),
        Column("of now", digits=3),
        Column("finds"),
    )
    told = "error: standard error of the mean difference of two systems"
    notes = [f"{told}; finds: the difference with the wanted power"]
    if plan.severity is not None:
        notes.append("more segments come with more raters, who judge as much as they do now")
        if np.isnan(plan.noise):
            notes.append(
                "two raters: no output was rated twice, so that noise is unknown; at least this "
                "is gained"
            )
    return Table("What another design would bring", columns, tuple(cells), tuple(notes))


def needed_table(plan: Plan, deltas: tuple[float, ...], seen: float, power: float) -> Table:
    """Find how many segments and documents it takes to find differences."""
    shape = plan.shape
    n = shape.segments
    half = max(_HALF, 1 / shape.mean)
    rows: list[tuple[Cell, ...]] = []
    for delta in deltas:
        wanted = (delta / seen) ** 2
        now = plan.variance() / wanted * n
        short = plan.variance(1 / half, half) / wanted * n
        single = plan.single() / wanted * n
        rows.append((float(delta), _up(now), _up(now / shape.mean), _up(short),
                     _up(short / shape.mean / half), _up(single)))  # fmt: skip
    columns = (
        Column("difference", mixed=True),
        Column("segments"),
        Column("documents"),
        Column("half:segments"),
        Column("half:documents"),
        Column("single segments"),
    )
    told = (
        f"documents of {shape.mean:.3g} segments as now; half: documents half as long (of a "
        "segment at least); single segments: each a document of its own"
    )
    title = f"How many it takes to find a difference with a power of {power:g}"
    return Table(title, columns, tuple(rows), (told,))


def _up(number: float) -> int | None:
    return None if np.isnan(number) else ceil(number - 1e-9)


def errors_needed(alpha: float, power: float) -> float:
    """How many standard errors a difference must have to be found, by the normal distribution.

    Examples
    --------
    >>> round(errors_needed(0.05, 0.8), 4)
    2.8016
    """
    return float(ndtri(1 - alpha / 2) + ndtri(power))
