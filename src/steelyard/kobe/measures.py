"""Measures of a text: numbers with their units, spans of time in words, shares, to compare by size.

85 miles are 137 kilometres, half a year is six months, a fifth is 20 %, and so are two in ten.
Sizes are compared where units differ: within one system exactly, between miles and metres as people
round.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import pairwise
from typing import NamedTuple

from steelyard.kobe.linking.wordforms import fold_text
from steelyard.kobe.mention import Mention, Mentions

_ROUNDED = 0.06  # of a size, where it was converted from one system to another
_EXACT = 0.005  # of a size, within one: a year is 365 days or 12 months
_DEGREES = 1.0  # of a temperature
_GAP = 3  # characters between a number and its unit
#: Units that are said one after the other, the larger first.
_TOGETHER = {("length-foot", "length-inch"), ("mass-pound", "mass-ounce"),
             ("duration-hour", "duration-minute")}  # fmt: skip
_BETWEEN = 10  # characters between the numbers of a share: four out of ten
_TEMPERATURES = ("temperature-celsius", "temperature-fahrenheit")


class Measure(NamedTuple):
    """A size with its dimension, and which mentions of the text it is made of."""

    kind: str
    sizes: tuple[float, ...]
    unit: str
    system: str
    mentions: tuple[int, ...]
    start: int
    end: int

    def equals(self, other: Measure) -> bool:
        """Tell whether it is the same size in another unit."""
        if self.kind != other.kind or self.unit == other.unit:
            return False
        if self.kind == "temperature":
            return any(abs(a - b) <= _DEGREES for a in self.sizes for b in other.sizes)
        within = _EXACT if self.system == other.system else _ROUNDED
        return any(
            abs(a - b) <= within * max(abs(a), abs(b)) for a in self.sizes for b in other.sizes
        )


@cache
def told() -> dict[str, dict[str, str]]:
    """Read what stands beside this file."""
    file = files("steelyard.kobe").joinpath("otherwords.toml")
    found: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))
    return found


@cache
def _sizes() -> dict[str, tuple[float, str]]:
    return {
        unit: (float(size), system)
        for system, own in told()["sizes"].items()
        for unit, _, size in (part.partition("=") for part in own.split())
    }


@cache
def _spans(lang: str) -> tuple[re.Pattern[str], Mapping[str, tuple[float, str]]]:
    """Give a pattern of the words for spans of time, and by its groups their sizes."""
    alternatives: list[str] = []
    sizes: dict[str, tuple[float, str]] = {}
    for part in told()["spans"].get(lang, "").split():
        amount, _, names = part.partition("=")
        found = re.fullmatch(r"([\d.]+)(\w+)", amount)
        assert found is not None
        group = f"g{len(sizes)}"
        sizes[group] = (float(found[1]) * _sizes()[f"duration-{found[2]}"][0], amount)
        forms = (fold_text(name, lang).text for name in names.split("/"))
        words = "|".join(
            re.escape(f).replace(r"\*", r"\w*").replace("\\*", r"\w*").replace("_", r"\s+")
            for f in forms
        )
        alternatives.append(rf"(?P<{group}>{words})")
    return re.compile(rf"(?<!\w)(?:{'|'.join(alternatives) or '(?!)'})(?!\w)"), sizes


def values(mention: Mention, kind: str = "num:") -> tuple[float, ...]:
    """Give the numbers that a mention may mean, of one kind: ``num:`` or ``pct:``.

    Examples
    --------
    >>> values(Mention(0, 3, "20s", "num:1920", candidates=("num:1920", "num:20")))
    (1920.0, 20.0)
    """
    found = []
    for reading in mention.readings:
        if isinstance(reading, str) and reading.startswith(kind):
            number = reading.removeprefix(kind)
            if re.fullmatch(r"-?\d+(?:\.\d+)?", number):
                found.append(float(number))
    return tuple(found)


def measures(
    text: str, mentions: Mentions, lang: str, code: Callable[[Mention], str]
) -> list[Measure]:
    """List the measures of a text; ``code`` names the unit of a mention (``length-mile``)."""
    plain = [*_with_units(mentions, code)]
    return [*plain, *_composite(plain), *_in_words(text, mentions, lang), *shares(mentions)]


def shares(mentions: Mentions) -> Iterator[Measure]:
    """Give what may be a part of a whole: percents, a fifth, two fifths, four in ten.

    Whether it is one can't be seen by the numbers alone; so it is asked for where the other text
    has the same share in another form.

    Examples
    --------
    >>> fifth, percent = Mention(2, 7, "fifth", "num:5", "ordinal"), Mention(
    ...     0, 3, "20%", "pct:20", "percent")
    >>> next(shares([fifth])).equals(next(shares([percent])))
    True
    """
    for at, own in enumerate(mentions):
        percents = values(own, "pct:")
        if percents:
            parts = tuple(size / 100 for size in percents)
            yield Measure("share", parts, "percent", "metric", (at,), own.start, own.end)
        sizes = values(own)
        if not sizes or not all(sizes) or own.category not in ("ordinal", "number"):
            continue
        if own.category == "ordinal":
            parts = tuple(1 / size for size in sizes)
            yield Measure("share", parts, "part", "metric", (at,), own.start, own.end)
        before = mentions[at - 1] if at else None
        near = before is not None and 0 <= own.start - before.end <= _BETWEEN
        if before is not None and near and before.category == "number":
            parts = tuple(a / b for a in values(before) for b in sizes if a < b)
            place = ((at - 1, at), before.start, own.end)
            yield Measure("share", parts, "part", "metric", *place)


def _composite(found: Sequence[Measure]) -> Iterator[Measure]:
    """Put together what is said in two units: 5 feet 6 inches."""
    for one, two in pairwise(found):
        if (one.unit, two.unit) in _TOGETHER and 0 <= two.start - one.end <= _GAP:
            sizes = tuple(a + b for a in one.sizes for b in two.sizes)
            own = (*one.mentions, *two.mentions)
            yield Measure(one.kind, sizes, f"{one.unit}-and", one.system, own, one.start, two.end)


def _as_unit(mention: Mention, code: Callable[[Mention], str]) -> Mention:
    """Take a word for money that may be a weight for the weight: 375 pounds."""
    for reading in mention.readings if mention.category == "currency" else ():
        weight = mention._replace(id=reading, category="unit")
        if code(weight) == "mass-pound":
            return weight
    return mention


def _with_units(mentions: Mentions, code: Callable[[Mention], str]) -> Iterator[Measure]:
    for at, unit in enumerate(_as_unit(mention, code) for mention in mentions):
        if unit.category != "unit" or not at:
            continue
        number, name = mentions[at - 1], code(unit)
        amounts = values(number)
        if not amounts or not 0 <= unit.start - number.end <= _GAP:
            continue
        kind = name.partition("-")[0]
        place = ((at - 1, at), number.start, unit.end)
        if name in _TEMPERATURES:
            celsius = amounts
            if name != _TEMPERATURES[0]:
                celsius = tuple((a - 32) / 1.8 for a in amounts)
            yield Measure(kind, celsius, name, "", *place)
        elif name in _sizes():
            size, system = _sizes()[name]
            yield Measure(kind, tuple(a * size for a in amounts), name, system, *place)


def _in_words(text: str, mentions: Mentions, lang: str) -> Iterator[Measure]:
    if lang not in told()["spans"]:
        return
    folded = fold_text(text, lang)
    pattern, sizes = _spans(lang)
    for found in pattern.finditer(folded.text):
        assert found.lastgroup is not None
        size, name = sizes[found.lastgroup]
        start, end = found.span()
        if folded.places is not None:
            start, end = folded.places[start], folded.places[end - 1] + 1
        before = [
            (i, m)
            for i, m in enumerate(mentions)
            if 0 <= start - m.end <= _GAP and values(m) and m.group == "number"
        ]
        inside = tuple(i for i, m in enumerate(mentions) if start <= m.start and m.end <= end)
        if before:
            at, number = before[-1]
            made = tuple(value * size for value in values(number))
            yield Measure("duration", made, name, "metric", (at, *inside), number.start, end)
        else:
            yield Measure("duration", (size,), name, "metric", inside, start, end)
