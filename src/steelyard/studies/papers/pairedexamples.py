"""The worked examples and the simulation of the paired-evaluation paper, which need no data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from steelyard.stats.arrays import Floats
from steelyard.stats.medians import row_medians
from steelyard.stats.strength import bradley_terry
from steelyard.stats.wins import win_counts
from steelyard.studies.papers.reproduction import Row, judge
from steelyard.studies.study import Study


def figure1_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """Three systems with one mean; the median prefers A, Bradley-Terry prefers B and C."""
    table = {name: np.array(own, dtype=np.float64) for name, own in scores.items()}
    means = {name: float(own.mean()) for name, own in table.items()}
    equal = "equal" if len(set(means.values())) == 1 else str(means)
    yield Row("Figure 1, means of A B C", "equal", equal, equal == "equal")
    a, b = row_medians(np.stack([table["A"], table["B"]]))
    ahead = "A" if a > b else "B" if b > a else "equal"
    yield Row("Figure 1, higher median of A and B", "A", ahead, ahead == "A")
    for rival in ("B", "C"):
        share = _strengths(np.stack([table[rival], table["A"]]))[0]
        yield judge(f"Figure 1, bt of {rival} against A", 0.8, share, within=1e-9)


def appendix_f_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """B is ahead of A; with C there, all three are equal."""
    a, b, c, cycle = (np.array(scores[name], dtype=np.float64) for name in ("A", "B", "C", "cycle"))
    two = _strengths(np.stack([a, b]))
    yield judge("Appendix F, bt of B against A", round(2 / 3, 3), float(two[1]), within=0.0005)
    reason = "the scores printed for C tie with others; with 3, 1, 2 for C, a cycle, all are equal"
    for title, third in (("C = 3, 2, 1 as printed", c), ("C = 3, 1, 2", cycle)):
        for name, strength in zip("ABC", _strengths(np.stack([a, b, third])), strict=True):
            what = f"Appendix F, with {title}, bt of {name}"
            yield judge(what, round(1 / 3, 3), float(strength), within=0.0005, reason=reason)


def _strengths(scores: Floats) -> Floats:
    counts = win_counts(scores)
    return bradley_terry(counts.wins, counts.ties).strength


def simulation_rows(published: Mapping[str, Any], study: Study) -> Iterator[Row]:
    """The claims of section 4, and the figures of the authors' simulation run again."""
    for claim in study.table("claims").records():
        note = None if claim["holds"] else str(claim["evidence"])
        yield Row(f"Figure 3, {claim['claim']}", "yes", "yes" if claim["holds"] else "no",
                  bool(claim["holds"]), note)  # fmt: skip
    reason = "both are simulations, and differ by more than three standard errors"
    for row in study.table("overall").records():
        name = str(row["ranking"])
        tau, low, high = (float(row[key] or np.nan) for key in ("tau", "low", "high"))
        what = f"Figure 3, tau of {name} over all simulations"
        yield judge(what, published["overall"][name], tau, within=_slack(low, high), reason=reason)
    curve = study.curve("e")
    for line in curve.lines:
        for k, x in enumerate(published["outliers"]):
            place = curve.x.index(x)
            what = f"Figure 3, tau of {line.name} with {100 * x:g} % outliers"
            within = _slack(float(line.low[place]), float(line.high[place]))
            yield judge(
                what, published[line.name][k], float(line.y[place]), within=within, reason=reason
            )


def _slack(low: float, high: float) -> float:
    """Three standard errors of the difference between this run and three of the authors'."""
    return 3 * (high - low) / (2 * 1.96) * math.sqrt(1 + 1 / 3)
