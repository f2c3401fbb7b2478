"""The number words of a language, as its file in ``words/`` lists them.

In a file, words stand in the order of their numbers, the forms of one number between slashes, and
``-`` where there is none: ``cardinals`` and ``ordinals`` from 1 on, ``tens`` and ``ordinal_tens``
from 20, ``hundreds`` from 100. ``ordinals`` are stems where there are ``ordinal_endings``;
``units`` are 1 to 9 as they stand within longer words. Magnitudes come with their power of ten,
``inside`` those that stand within longer words. ``exact``, ``groups`` (dozen) and ``loose`` (both,
twice) come with their value. ``loose`` ones and those of ``groups`` are said freely, ``unsure``
words mean something else as often; they are doubtful, the latter unless after one of
``sure_after``. ``verbs`` are forms of a verb too (give): at the end of a clause, or after a word
that ends in ``verb_after``, they are unsure. A number of ``prefixes`` may stand before a stem of
``prefixed``. A word of ``percent`` with a star may have any ending. Everything is folded when it is
read.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any

from steelyard.kobe.linking.wordforms import fold_text

LANGUAGES = (
    "ar", "cs", "de", "en", "es", "fi", "fr", "hi", "hu", "it", "ko", "nl", "pl", "pt", "ru",
    "sv", "tr", "uk",
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """The number words of a language; magnitudes are powers of ten."""

    cardinals: dict[str, float] = field(default_factory=dict)
    hundreds: frozenset[str] = frozenset()
    magnitudes: dict[str, int] = field(default_factory=dict)
    plurals: dict[str, int] = field(default_factory=dict)
    ordinals: dict[str, float] = field(default_factory=dict)
    inside: tuple[tuple[str, int], ...] = ()
    groups: dict[str, float] = field(default_factory=dict)
    loose: dict[str, float] = field(default_factory=dict)
    half: frozenset[str] = frozenset()
    articles: frozenset[str] = frozenset()
    plus_half: frozenset[str] = frozenset()
    and_half: tuple[str, ...] = ()
    unsure: frozenset[str] = frozenset()
    sure_after: frozenset[str] = frozenset()
    verbs: frozenset[str] = frozenset()
    verb_after: tuple[str, ...] = ()
    joiners: frozenset[str] = frozenset()
    joined: str = ""  # written on the front of the next number: Arabic "and"
    percent: tuple[str, ...] = ()
    percent_before: tuple[str, ...] = ()
    adjective: re.Pattern[str] | None = None
    prefixes: dict[str, float] = field(default_factory=dict)
    by_twenties: bool = False
    year_pairs: bool = False
    ten_joins: bool = False


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
    file = files("steelyard.kobe.linking").joinpath("words", f"{lang}.toml")
    told: dict[str, Any] = tomllib.loads(_folded(file.read_text(encoding="utf-8"), lang))
    units, tens = told.get("units", "").split(), told.get("tens", "")
    cardinals = _numbered(told["cardinals"]) | _numbered(tens, 20, 10)
    ordinals = _numbered(told["ordinals"], endings=told.get("ordinal_endings", "-"))
    ordinals |= _numbered(
        told.get("ordinal_tens", ""), 20, 10, endings=told.get("ordinal_endings", "-")
    )
    if lang in _COMPOUNDS:
        cardinals |= _COMPOUNDS[lang](cardinals, units, tens.split())
    if lang == "de":
        ordinals |= _german_ordinals(units, told["ordinal_tens"], told["ordinal_endings"])
    more = _numbered(told.get("hundreds", ""), 100, 100)
    zero = dict.fromkeys(told.get("zero", "").split(), 0)
    valued, several = ("groups", "loose", "prefixes"), ("percent", "percent_before", "and_half")
    listed = ("half", "articles", "plus_half", "unsure", "sure_after", "verbs", "joiners")
    more_tables: dict[str, Any] = {
        **{name: _valued(told.get(name, "")) for name in valued},
        **{name: frozenset(told.get(name, "").split()) for name in listed},
        **{name: tuple(told.get(name, ())) for name in several},
    }
    return NumberWords(
        cardinals={**zero, **cardinals, **more, **_valued(told.get("exact", ""))},
        magnitudes=_powers(told["magnitudes"]),
        plurals=_powers(told["plurals"]),
        ordinals={word: n for word, n in ordinals.items() if word not in cardinals},
        inside=tuple(
            (word, int(power))
            for power, _, word in (part.partition(":") for part in told.get("inside", "").split())
        ),
        hundreds=frozenset(told.get("hundred", "").split()),
        adjective=_adjective(told),
        **more_tables,
        joined=told.get("joined", ""),
        verb_after=tuple(told.get("verb_after", "").split()),
        by_twenties=told.get("by_twenties", False),
        year_pairs=told.get("year_pairs", False),
        ten_joins=told.get("ten_joins", False),
    )


@cache
def first_words(lang: str) -> frozenset[str]:
    """Give all words that can begin a number in a language."""
    words = number_words(lang)
    named = (words.cardinals, words.magnitudes, words.ordinals, words.loose, words.groups)
    begin = {word.rstrip(".") for table in named for word in table}
    return frozenset(begin | words.hundreds | words.half | words.plus_half)


@cache
def telling_words(lang: str) -> frozenset[str]:
    """Give the words without which a text has no number: all but articles and the like."""
    words = number_words(lang)
    ones = {
        word for table in (words.cardinals, words.ordinals) for word, n in table.items() if n == 1
    }
    return first_words(lang) - ones


@cache
def silent_words(lang: str) -> set[str]:  # noqa: ARG001 - one set per language
    """Give the words that were found to be no part of a number; whoever finds them adds them."""
    return set()


def _folded(text: str, lang: str) -> str:
    """Fold a file line by line, so that its keys and values stay what they are."""
    return "\n".join([fold_text(line, lang).text for line in text.split("\n")])


def _adjective(told: dict[str, Any]) -> re.Pattern[str] | None:
    """Make the pattern of words that begin with a number: zweijährig, пятилетний."""
    heads = sorted(map(re.escape, _valued(told.get("prefixes", ""))), key=len, reverse=True)
    tails = "|".join(told.get("prefixed", "").split())
    return re.compile(rf"\b({'|'.join(heads)})(?:{tails})\w*") if heads else None


def _numbered(text: str, first: int = 1, step: int = 1, endings: str = "-") -> dict[str, float]:
    ends = ["" if end == "-" else end for end in endings.split()]
    return {
        stem + end: first + i * step
        for i, forms in enumerate(text.split())
        for stem, end in product(forms.split("/"), ends)
        if stem != "-"
    }


def _powers(text: str) -> dict[str, int]:
    """Read ``3:thousand 6:million/mio``."""
    return {word: int(value) for word, value in _valued(text).items()}


def _valued(text: str) -> dict[str, float]:
    """Read ``12:dozen 1.5:anderthalb/eineinhalb``."""
    return {
        form: int(value) if value.isdigit() else float(value)
        for value, _, forms in (word.partition(":") for word in text.split())
        for form in forms.split("/")
    }


# -- languages that write the parts of a number as one word

_Compounds = Callable[[dict[str, float], list[str], list[str]], dict[str, float]]


def _german(words: dict[str, float], units: list[str], tens: list[str]) -> dict[str, float]:
    del words
    return {
        f"{unit}und{ten}": 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
    }


def _german_ordinals(units: list[str], tens: str, endings: str) -> dict[str, float]:
    return {
        f"{unit}und{ten}{end}": 10 * t + u
        for (t, ten), (u, unit), end in product(
            enumerate(tens.split(), 2), enumerate(units, 1), endings.split()
        )
    }


def _dutch(_: dict[str, float], units: list[str], tens: list[str]) -> dict[str, float]:
    return {
        f"{unit}{'ën' if unit in ('twee', 'drie') else 'en'}{ten}": 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
    }


def _together(_: dict[str, float], units: list[str], tens: list[str]) -> dict[str, float]:
    return {
        form + unit: 10 * t + u
        for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1))
        for form in ten.split("/")
        if form != "-"
    }


def _italian(_: dict[str, float], units: list[str], tens: list[str]) -> dict[str, float]:
    made: dict[str, float] = {}
    for (t, ten), (u, unit) in product(enumerate(tens, 2), enumerate(units, 1)):
        stem = ten[:-1] if u in (1, 8) else ten  # ventuno, ventotto
        made[stem + ("tré" if u == 3 else unit)] = 10 * t + u
        made.setdefault(stem + unit, 10 * t + u)
    return made


_COMPOUNDS: dict[str, _Compounds] = {
    "de": _german,
    "fi": _together,
    "hu": _together,
    "it": _italian,
    "nl": _dutch,
    "sv": _together,
    "tr": _together,
}


def compound(word: str, words: NumberWords) -> float:
    """Give the value of a number with hundreds or thousands in one word; 0 for any other word.

    Examples
    --------
    >>> compound("zweitausendeinundzwanzig", number_words("de"))
    2021
    >>> compound("neunzehnhundertvierundachtzig", number_words("de"))
    1984
    >>> compound("jahrhundert", number_words("de"))
    0
    """
    for part, power in words.inside:
        head, found, tail = word.partition(part)
        if not found:
            continue
        times = 1 if not head else words.cardinals.get(head) or compound(head, words)
        if not head and not tail:
            return 0  # the magnitude alone is a word of its own
        tail = tail.removeprefix("und") if tail.startswith("und") else tail
        rest = 0 if not tail else words.cardinals.get(tail) or compound(tail, words)
        limit = 1000 if power > 2 else 100
        if times and times < limit and (rest or not tail) and rest < 10**power:
            return times * int(10**power) + rest
    return 0
