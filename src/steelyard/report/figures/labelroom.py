"""Limits of labels that no label reaches, which a chart is drawn faster without.

Vega cuts a label that is wider than its limit. To know, it measures every label three times more,
glyph by glyph, which takes a quarter of the time of a chart. Where all labels are so short that
they fit in any font, there is nothing to measure, and the picture is the same without limits.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

_NARROW = frozenset("abcdefghijklnopqrstuvxyz0123456789 -_.,:;'()[]/")
_EM, _NARROW_EM = 1.1, 0.75  # that a printable ASCII character takes at most, in common sans-serifs
_LONGEST_NUMBER = 24  # characters of a tick
_ASIDE = frozenset({"datasets", "config", "title"})
_NAMING = frozenset({"domain", "values", "sort"})
_OPAQUE = frozenset({"labelExpr", "labelFontSize", "labelFont"})  # labels of which nothing is known
_ANYTHING = "\n"


def without_idle_limits(spec: dict[str, Any]) -> dict[str, Any]:
    """Give a Vega-Lite chart without the limits of its look that none of its labels reaches.

    Examples
    --------
    >>> looks = {"axis": {"labelLimit": 340, "labelFontSize": 11}}
    >>> chart = {"config": looks, "datasets": {"rows": [{"name": "BLEU"}]}}
    >>> without_idle_limits(chart)["config"]["axis"]
    {'labelLimit': 0, 'labelFontSize': 11}
    >>> chart["datasets"]["rows"].append({"name": "W" * 40})
    >>> without_idle_limits(chart) is chart
    True
    """
    config = spec.get("config", {})
    looks = {part: own for part in ("axis", "legend") if (own := config.get(part))}
    size = max((own.get("labelFontSize", 10) for own in looks.values()), default=10)
    texts = set(_rows(spec.get("datasets", {})))
    texts.update(_told({key: part for key, part in spec.items() if key not in _ASIDE}))
    widest = size * max(map(_ems, texts), default=0.0)
    widest = max(widest, size * _LONGEST_NUMBER * _NARROW_EM)
    idle = {
        part: {**own, "labelLimit": 0}
        for part, own in looks.items()
        if own.get("labelLimit", 0) >= widest
    }
    return {**spec, "config": {**config, **idle}} if idle else spec


def _ems(text: str) -> float:
    """Give a width that a text does not exceed; beyond ASCII, anything may be wide."""
    if not (text.isascii() and text.isprintable()):
        return float("inf")
    narrow = sum(char in _NARROW for char in text)
    return _NARROW_EM * narrow + _EM * (len(text) - narrow)


def _rows(held: dict[str, Any]) -> Iterator[str]:
    """Yield the texts of rows, which are dictionaries."""
    for rows in held.values():
        for row in rows:
            yield from (own for own in row.values() if isinstance(own, str))


def _told(spec: Any) -> Iterator[str]:
    """Yield the texts that scales and axes name, and what can't be told where labels are made."""
    if isinstance(spec, list):
        for part in spec:
            yield from _told(part)
    elif isinstance(spec, dict):
        for key, part in spec.items():
            if key in _OPAQUE:
                yield _ANYTHING
            elif key in _NAMING and isinstance(part, list):
                yield from (own for own in part if isinstance(own, str))
            else:
                yield from _told(part)
