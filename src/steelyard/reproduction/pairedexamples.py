"""The worked examples and the simulation of the paired-evaluation paper, which need no data."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from steelyard.reproduction.reproduction import COMPUTED, Allowed, Row, claim, judge, printed, same
from steelyard.stats.arrays import Floats
from steelyard.stats.resampling.bootstrap import row_medians
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts
from steelyard.studies.study import Study

_RUNS = Allowed(printed(3).most, f"{printed(3).why}; a mean of three simulations against one")


def figure1_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """Three systems with one mean; the median prefers A, Bradley-Terry prefers B and C."""
    table = {name: np.array(own, dtype=np.float64) for name, own in scores.items()}
    means = {name: float(own.mean()) for name, own in table.items()}
    equal = "equal" if len(set(means.values())) == 1 else str(means)
    yield same("Figure 1, means of A B C", "equal", equal)
    a, b = row_medians(np.stack([table["A"], table["B"]]))
    ahead = "A" if a > b else "B" if b > a else "equal"
    yield same("Figure 1, higher median of A and B", "A", ahead)
    for rival in ("B", "C"):
        share = _strengths(np.stack([table[rival], table["A"]]))[0]
        yield judge(f"Figure 1, bt of {rival} against A", 0.8, share, within=COMPUTED)


def appendix_f_rows(scores: Mapping[str, list[float]]) -> Iterator[Row]:
    """B is ahead of A; with C there, all three are equal."""
    a, b, c, cycle = (np.array(scores[name], dtype=np.float64) for name in ("A", "B", "C", "cycle"))
    two = _strengths(np.stack([a, b]))
    yield judge("Appendix F, bt of B against A", round(2 / 3, 3), float(two[1]), within=printed(3))
    reason = "the scores printed for C tie with others; with 3, 1, 2 for C, a cycle, all are equal"
    for title, third in (("C = 3, 2, 1 as printed", c), ("C = 3, 1, 2", cycle)):
        for name, strength in zip("ABC", _strengths(np.stack([a, b, third])), strict=True):
            what = f"Appendix F, with {title}, bt of {name}"
            yield judge(what, round(1 / 3, 3), float(strength), within=printed(3), reason=reason)


def _strengths(scores: Floats) -> Floats:
    counts = win_counts(scores)
    return bradley_terry(counts.wins, counts.ties).strength


def simulation_rows(published: Mapping[str, Any], study: Study) -> Iterator[Row]:
    """The claims of section 4, and the figures of the authors' simulation run again."""
    for own in study.table("claims").records():
        yield claim(f"Figure 3, {own['claim']}", holds=bool(own["holds"]),
                    reason=str(own["evidence"]))  # fmt: skip
    reason = "both are simulations, and differ by more than two standard errors"
    for row in study.table("overall").records():
        name = str(row["ranking"])
        tau, low, high = (float(row[key] or np.nan) for key in ("tau", "low", "high"))
        what = f"Figure 3, tau of {name} over all simulations"
        yield judge(what, published["overall"][name], tau, within=_RUNS, error=_error(low, high),
                    reason=reason)  # fmt: skip
    curve = study.curve("e")
    for line in curve.lines:
        for k, x in enumerate(published["outliers"]):
            place = curve.x.index(x)
            what = f"Figure 3, tau of {line.name} with {100 * x:g} % outliers"
            error = _error(float(line.low[place]), float(line.high[place]))
            yield judge(what, published[line.name][k], float(line.y[place]), within=_RUNS,
                        error=error, reason=reason)  # fmt: skip


def _error(low: float, high: float) -> float:
    """Standard error of the difference between this run and three of the authors'."""
    return (high - low) / (2 * 1.96) * math.sqrt(1 + 1 / 3)
