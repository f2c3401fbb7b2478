"""What differences are worth, as it stands in files: studies of the user's own, and a reference.

The reference (``worth.toml``, made by ``tools/make_worth.py``) holds a few points per metric,
measured on public judgements, for metrics whose name says what they are and on which scale.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.formats.record import Record, within
from steelyard.formats.view import FileView
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
    found: dict[str, AgreementCurve] = {}
    for own in within(view, "worth"):
        name = own.name("metric")
        if name in found:
            own.fail(f"'{name}' occurs twice, expected each metric once")
        found[name] = _worth(replace(own, place=f"{name}."), origin)
    return found


def _worth(own: Record, origin: str) -> AgreementCurve:
    """Make the object of what a file says of one metric."""
    x = _numbers(own, "x", np.inf)
    if not len(x) or x[0] != 0 or (np.diff(x) <= 0).any():
        own.wrong("x", "numbers that rise from 0")
    # Where no p-value is known, nothing is known of what is significant.
    unknown = all(one is None for key in _SIGNIFICANT for one in own.list(key))
    curves: dict[str, Any] = {
        key: _numbers(own, key, 1.0, gaps=unknown and key in _SIGNIFICANT) for key in CURVES
    }
    for key, curve in curves.items():
        if len(curve) != len(x):
            own.wrong(key, f"{len(x)} numbers, as 'x' has")
    for low, high in _BANDS:
        for place in np.flatnonzero(curves[low] > curves[high])[:1]:
            most = f"no more than in '{high}', {curves[high][place]:g}"
            own.wrong(f"{low}[{place}]", most, curves[low][place].item())
    counts: dict[str, Any] = {key: _count(own, key) for key in _COUNTS}
    return AgreementCurve(
        metric=own.name("metric"),
        x=x,
        **curves,
        **counts,
        needed=dict(_needed(one) for one in _each(own, "needed")),
        accuracy=_share(own, "accuracy"),
        alpha=_share(own, "alpha", ends=False),
        origin=origin,
    )


def _numbers(own: Record, key: str, most: float, *, gaps: bool = False) -> Floats:
    """Read a list of numbers from 0 to ``most``; with ``gaps``, NaN for null."""
    found = np.array([np.nan if one is None else one for one in own.numbers(key)])
    wrong = (found < 0) | (found > most) | (np.isnan(found) & (not gaps))
    for place in np.flatnonzero(wrong)[:1]:
        what = "a number from 0 to 1" if most == 1 else "a number that is not below 0"
        own.wrong(f"{key}[{place}]", what, own.list(key)[place])
    return found


def _count(own: Record, key: str) -> int:
    value = own.whole(key)
    if value is None or not 1 <= value <= _MOST:
        own.wrong(key, "a count")
    return value


def _share(own: Record, key: str, *, ends: bool = True) -> float:
    value = own.number(key)
    if value is None or not 0 <= value <= 1 or (value in (0, 1) and not ends):
        own.wrong(key, f"a number {'from 0 to 1' if ends else 'between 0 and 1'}")
    return value


def _each(own: Record, key: str) -> Iterator[Record]:
    own.list(key)
    return own.objects(key)


def _needed(own: Record) -> tuple[float, tuple[float, float, float]]:
    """Read a chance of agreement, and the difference at which it is reached, with its band."""
    ends = {key: own.number(key) for key in ("difference", "low", "high")}
    for key, value in ends.items():
        if value is not None and value < 0:
            own.wrong(key, "a number that is not below 0, or null")
    value, low, high = (np.nan if end is None else end for end in ends.values())
    if low > high:
        own.wrong("low", f"no more than 'high', {high:g}")
    return _share(own, "agree", ends=False), (value, low, high)


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
    known = scores[~np.isnan(scores)]
    held = _reference()
    for keys in held["metric"]:
        if bare not in keys["names"] or (keys["corpus"] and not corpus) or not known.size:
            continue
        most = float(known.max())
        if known.min() < 0 or 1 < most <= _UNCLEAR or most > keys["most"]:
            return None
        own = {"needed": [], "alpha": 0.05, **keys}
        found = _worth(Record(FileView(Path("worth.toml")), None, own), held["origin"])
        return replace(found, metric=score, x=found.x / (100 if most <= 1 else 1))
    return None
