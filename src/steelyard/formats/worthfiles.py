"""What differences are worth, as it stands in files: studies of the user's own, and a reference.

The reference (``worth.toml``, made by ``tools/make_worth.py``) holds a few points per metric,
measured on public judgements, for metrics whose name says what they are and on which scale.
"""

from __future__ import annotations

import re
import tomllib
from dataclasses import replace
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.formats.view import FileView, Record, within
from steelyard.stats.arrays import Floats
from steelyard.stats.curves import CURVES, AgreementCurve

_COUNTS = ("n_pairs", "n_systems", "n_sets")
_MOST = 2**53  # of a count
_SIGNIFICANT = ("significant", "significant_low", "significant_high")
_BANDS = (("low", "high"), _SIGNIFICANT[1:])
_UNCLEAR = 5  # scores of up to 1 end there, or are of systems of no use on a scale up to 100
_SEES = re.compile(r"-(ref[^-]*|src|all)$")  # what a metric's name says it compares with


def read_worths(path: str | Path) -> dict[str, AgreementCurve]:
    """Read what ``steelyard study worth --out FILE.json`` wrote, by metric."""
    view = FileView(Path(path))
    if not isinstance(view.document, dict) or not view.document.get("worth"):
        view.fail('expected the JSON of "steelyard study worth", found no "worth"')
    origin = f"measured in {view.path.name}"
    worths: dict[str, AgreementCurve] = {}
    for record in within(view, "worth"):
        name = record.name("metric")
        if name in worths:
            record.fail(f"'{name}' occurs twice, expected each metric once")
        worths[name] = _worth(replace(record, place=f"{name}."), origin)
    return worths


def _worth(record: Record, origin: str) -> AgreementCurve:
    """Make the object of what a file says of one metric."""
    x = _numbers(record, "x", np.inf)
    if not len(x) or x[0] != 0 or (np.diff(x) <= 0).any():
        record.wrong("x", "numbers that rise from 0")
    # Where no p-value is known, nothing is known of what is significant.
    unknown = all(value is None for key in _SIGNIFICANT for value in record.list(key))
    curves: dict[str, Any] = {
        key: _numbers(record, key, 1.0, gaps=unknown and key in _SIGNIFICANT) for key in CURVES
    }
    for key, curve in curves.items():
        if len(curve) != len(x):
            record.wrong(key, f"{len(x)} numbers, as 'x' has")
    for low, high in _BANDS:
        for index in np.flatnonzero(curves[low] > curves[high])[:1]:
            most = f"no more than in '{high}', {curves[high][index]:g}"
            record.wrong(f"{low}[{index}]", most, curves[low][index].item())
    counts: dict[str, Any] = {key: _count(record, key) for key in _COUNTS}
    record.list("needed")  # which must be there
    return AgreementCurve(
        metric=record.name("metric"),
        x=x,
        **curves,
        **counts,
        needed=dict(_needed(agreement) for agreement in record.objects("needed")),
        accuracy=_share(record, "accuracy"),
        alpha=_share(record, "alpha", ends=False),
        origin=origin,
    )


def _numbers(record: Record, key: str, most: float, *, gaps: bool = False) -> Floats:
    """Read a list of numbers from 0 to ``most``; with ``gaps``, NaN for null."""
    numbers = np.array([np.nan if value is None else value for value in record.numbers(key)])
    wrong = (numbers < 0) | (numbers > most) | (np.isnan(numbers) & (not gaps))
    for index in np.flatnonzero(wrong)[:1]:
        what = "a number from 0 to 1" if most == 1 else "a number that is not below 0"
        record.wrong(f"{key}[{index}]", what, record.list(key)[index])
    return numbers


def _count(record: Record, key: str) -> int:
    value = record.whole(key)
    if value is None or not 1 <= value <= _MOST:
        record.wrong(key, "a count")
    return value


def _share(record: Record, key: str, *, ends: bool = True) -> float:
    value = record.number(key)
    if value is None or not 0 <= value <= 1 or (value in (0, 1) and not ends):
        record.wrong(key, f"a number {'from 0 to 1' if ends else 'between 0 and 1'}")
    return value


def _needed(record: Record) -> tuple[float, tuple[float, float, float]]:
    """Read a chance of agreement, and the difference at which it is reached, with its band."""
    ends = {key: record.number(key) for key in ("difference", "low", "high")}
    for key, value in ends.items():
        if value is not None and value < 0:
            record.wrong(key, "a number that is not below 0, or null")
    value, low, high = (np.nan if end is None else end for end in ends.values())
    if low > high:
        record.wrong("low", f"no more than 'high', {high:g}")
    return _share(record, "agree", ends=False), (value, low, high)


@cache
def _reference() -> dict[str, Any]:
    text = (package_files("steelyard.formats") / "worth.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def reference_worth(score: str, scores: Floats, *, corpus: bool) -> AgreementCurve | None:
    """Give the worth of differences of a metric of known name and scale, None if it is not known.

    ``scores`` are those of the systems at hand, by which the scale is told: up to 1, or up to 100.
    ``corpus`` says whether they are scores of a whole test set, which those of BLEU, chrF and TER
    have to be.

    Examples
    --------
    >>> worth = reference_worth("chrF-refA", np.array([0.51, 0.55]), corpus=True)
    >>> worth.metric, worth.x[worth.x > 0.01].tolist()
    ('chrF-refA', [0.015, 0.02, 0.03, 0.05, 0.07, 0.1, 0.15])
    >>> reference_worth("COMET", np.array([0.81, 0.83]), corpus=False) is None
    True
    """
    bare = _SEES.sub("", score).casefold()
    present = scores[~np.isnan(scores)]
    held = _reference()
    for keys in held["metric"]:
        if bare not in keys["names"] or (keys["corpus"] and not corpus) or not present.size:
            continue
        most = float(present.max())
        if present.min() < 0 or 1 < most <= _UNCLEAR or most > keys["most"]:
            return None
        values = {"needed": [], "alpha": 0.05, **keys}
        worth = _worth(Record(FileView(Path("worth.toml")), None, values), held["origin"])
        return replace(worth, metric=score, x=worth.x / (100 if most <= 1 else 1))
    return None
