"""What differences are worth, as it stands in files: studies of the user's own, and a reference.

The reference (``worth.toml``, made by ``tools/make_worth.py``) holds a few points per metric,
measured on public judgements, for metrics whose name says what they are and on which scale.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError
from steelyard.data.worth import CURVES, Worth
from steelyard.formats import files
from steelyard.stats.arrays import Floats

_COUNTS = ("n_pairs", "n_systems", "n_sets")
_UNCLEAR = 5  # scores of up to 1 end there, or are of systems of no use on a scale up to 100
_SEES = re.compile(r"-(ref[^-]*|src|all)$")  # what a metric's name says it compares with


def read_worths(path: str | Path) -> dict[str, Worth]:
    """Read what ``steelyard study worth --out FILE.json`` wrote, by metric."""
    path = Path(path)
    found = files.parse_json(files.read_text(path), path, 1)
    listed = found.get("worth") if isinstance(found, dict) else None
    if not isinstance(listed, list) or not listed:
        raise InputError(
            'expected the JSON of "steelyard study worth", found no "worth"', path=path
        )
    origin = f"measured in {path.name}"
    return {one.metric: one for one in (_worth(each, path, origin) for each in listed)}


def _worth(keys: Any, path: Path, origin: str) -> Worth:
    """Make the object of what a file says of one metric."""
    if not isinstance(keys, Mapping) or not isinstance(keys.get("metric"), str):
        raise InputError("worth: expected an object with the name of a metric", path=path)
    name = keys["metric"]
    x = _numbers(keys, "x", name, path)
    arrays: dict[str, Any] = {key: _numbers(keys, key, name, path) for key in CURVES}
    wrong = [key for key, own in arrays.items() if len(own) != len(x)]
    if wrong or not len(x) or (np.diff(x) <= 0).any() or np.isnan(x).any():
        what = f"'{wrong[0]}' has another length than 'x'" if wrong else "'x' does not rise"
        raise InputError(f"worth of '{name}': {what}", path=path)
    counts: dict[str, Any] = {}
    for key in _COUNTS:
        value = keys.get(key)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise InputError(
                f"worth of '{name}': '{key}' is {value!r}, expected a count", path=path
            )
        counts[key] = value
    needed: Any = {
        float(one["agree"]): tuple(_number(one.get(end)) for end in ("difference", "low", "high"))
        for one in keys.get("needed", [])
    }
    return Worth(
        metric=name,
        x=x,
        **arrays,
        **counts,
        needed=needed,
        accuracy=_number(keys.get("accuracy")),
        alpha=float(keys.get("alpha", 0.05)),
        origin=origin,
    )


def _number(value: Any) -> float:
    return float("nan") if value is None else float(value)


def _numbers(keys: Mapping[str, Any], key: str, name: str, path: Path) -> Floats:
    own = keys.get(key)
    good = isinstance(own, list) and all(
        one is None or (isinstance(one, (int, float)) and not isinstance(one, bool)) for one in own
    )
    if not good:
        raise InputError(f"worth of '{name}': '{key}' is no list of numbers", path=path)
    return np.array([_number(one) for one in own or ()], dtype=np.float64)


@cache
def _reference() -> dict[str, Any]:
    text = (package_files("steelyard.formats") / "worth.toml").read_text(encoding="utf-8")
    return tomllib.loads(text)


def reference_worth(score: str, scores: Floats, *, corpus: bool) -> Worth | None:
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
        found = _worth({"needed": [], **keys}, Path("worth.toml"), held["origin"])
        return replace(found, metric=score, x=found.x / (100 if most <= 1 else 1))
    return None
