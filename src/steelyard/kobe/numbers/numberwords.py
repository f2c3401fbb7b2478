"""Words for numbers in the main languages: what ``vierundzwanzig`` or ``pěti`` is worth.

The words of a language are in ``words/*.toml``, folded; how they are put together is here. A
cardinal is worth less than 1000 by itself, ``hundred`` multiplies what stands before it, and so do
magnitudes; a magnitude in the plural says nothing alone ("thousands came").

In a file, words stand in the order of their numbers, the forms of one number between slashes, and
``-`` where there is none: ``cardinals`` and ``ordinals`` from 1 on, ``tens`` from 20, ``hundreds``
from 100. ``ordinals`` are stems where there are ``ordinal_endings``; ``units`` are 1 to 9 as they
stand within longer words; magnitudes come with their power of ten.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

LANGUAGES = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv", "uk")


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """The number words of a language; magnitudes are powers of ten."""

    cardinals: dict[str, int] = field(default_factory=dict)
    hundreds: frozenset[str] = frozenset()
    magnitudes: dict[str, int] = field(default_factory=dict)
    plurals: dict[str, int] = field(default_factory=dict)
    ordinals: dict[str, int] = field(default_factory=dict)
    joiners: frozenset[str] = frozenset()
    percent: tuple[str, ...] = ()
    by_twenties: bool = False


@cache
def number_words(lang: str) -> NumberWords:
    """Give the number words of a language; none for one that is not covered.

    Examples
    --------
    >>> number_words("de").cardinals["vierundzwanzig"], number_words("pl").cardinals["pięciu"]
    (24, 5)
    """
    if lang not in LANGUAGES:
        return NumberWords()
    file = files("steelyard.kobe.numbers").joinpath("words", f"{lang}.toml")
    told: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
    units, tens = told.get("units", "").split(), told.get("tens", "")
    cardinals = _numbered(told["cardinals"]) | _numbered(tens, 20, 10)
    if lang in _COMPOUNDS:
        cardinals |= _COMPOUNDS[lang](cardinals, units, tens.split())
    return NumberWords(
        cardinals=cardinals | _numbered(told.get("hundreds", ""), 100, 100),
        hundreds=frozenset(told.get("hundred", "").split()),
        magnitudes=_powers(told["magnitudes"]),
        plurals=_powers(told["plurals"]),
        ordinals=_numbered(told["ordinals"], endings=told.get("ordinal_endings", "-")),
        joiners=frozenset(told.get("joiners", "").split()),
        percent=tuple(told["percent"]),
        by_twenties=told.get("by_twenties", False),
    )


@cache
def first_words(lang: str) -> frozenset[str]:
    """Give all words that can begin a number in a language."""
    words = number_words(lang)
    return frozenset({*words.cardinals, *words.hundreds, *words.magnitudes, *words.ordinals})


def _numbered(text: str, first: int = 1, step: int = 1, endings: str = "-") -> dict[str, int]:
    ends = ["" if end == "-" else end for end in endings.split()]
    return {
        stem + end: first + i * step
        for i, forms in enumerate(text.split())
        for stem, end in product(forms.split("/"), ends)
        if stem != "-"
    }


def _powers(text: str) -> dict[str, int]:
    """Read ``3:thousand 6:million/mio``."""
    return {
        form: int(power)
        for power, _, forms in (word.partition(":") for word in text.split())
        for form in forms.split("/")
    }


# -- languages that write the parts of a number as one word

_Compounds = Callable[[dict[str, int], list[str], list[str]], dict[str, int]]


def _german(words: dict[str, int], units: list[str], tens: list[str]) -> dict[str, int]:
    made = {
        f"{unit}und{ten}": 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
    }
    alone = [word for word in words if word.startswith("eine") or word == "eins"]
    small = {word: n for word, n in (words | made).items() if word not in alone}
    for u, unit in enumerate(units, 1):
        made[f"{unit}hundert"] = 100 * u
        made |= {f"{unit}hundert{word}": 100 * u + n for word, n in small.items()}
    # "zwanzigtausend" is worth its number of thousands: kept as a cardinal above 1000.
    return made | {f"{word}tausend": 1000 * n for word, n in small.items()}


def _dutch(_: dict[str, int], units: list[str], tens: list[str]) -> dict[str, int]:
    made = {
        f"{unit}{'ën' if unit in ('twee', 'drie') else 'en'}{ten}": 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
    }
    return made | {f"{unit}honderd": 100 * u for u, unit in enumerate(units, 1)}


def _swedish(_: dict[str, int], units: list[str], tens: list[str]) -> dict[str, int]:
    return {
        ten + unit: 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
    }


def _italian(words: dict[str, int], units: list[str], tens: list[str]) -> dict[str, int]:
    made = {}
    for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1)):
        stem = ten[:-1] if u in (1, 8) else ten  # ventuno, ventotto
        made[stem + ("tré" if u == 3 else unit)] = 10 * t + u
    made["cento"] = 100
    made |= {f"{unit}cento": 100 * u for u, unit in enumerate(units, 1) if u > 1}
    return made | {f"{word}mila": 1000 * n for word, n in (words | made).items()}


_COMPOUNDS: dict[str, _Compounds] = {
    "de": _german,
    "it": _italian,
    "nl": _dutch,
    "sv": _swedish,
}
