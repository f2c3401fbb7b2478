"""Currencies and units beside numbers: signs, codes and symbols in their own case, and words.

A bare sign or name may mean any currency of its family: ``$`` is most often the US dollar, but an
Australian's dollar as well. Names of units come from the base; ``units.toml`` has the symbols that
need their case (MB is no Mb), the forms that the base lacks, and the units that are said so freely
in other languages that their loss tells nothing (hours, years). ``money.toml`` has currencies.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, NamedTuple

from steelyard.kobe.base.codec import UNSTATED
from steelyard.kobe.linking.dates import Value
from steelyard.kobe.linking.lexicon import UNSPACED, Lexicon
from steelyard.kobe.linking.wordforms import base_forms, fold, fold_text
from steelyard.kobe.mention import Id

#: A word in a pattern; the vowel signs of Indian scripts are no letters to it.
_LETTERS = r"[^\W\d_](?:[^\W\d_]|[\u0900-\u0963\u0981-\u0dff])*"


def _table(name: str) -> dict[str, Any]:
    file = files("steelyard.kobe.linking").joinpath(name)
    return tomllib.loads(file.read_text(encoding="utf-8"))


def _any(words: Iterable[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True)) or "(?!)"


# -- money

_MONEY = _table("money.toml")
_SIGNS, _DOLLARS = (
    dict(pair.replace("_", " ").split(":") for pair in _MONEY["signs"][name].split())
    for name in ("all", "dollars")
)
_CURRENCY_WORDS, _TOGETHER = (
    {word: code for code, names in _MONEY[name].items() for word in names.split()}
    for name in ("words", "together")
)
#: Currencies that every reader knows: their names are hardly ever another word.
COMMON = frozenset(_MONEY["signs"]["common"].split())
SIGN = re.compile(rf"[{''.join(_SIGNS)}]")
_SYMBOL = re.compile(rf"(?:(?<![a-z])({_any(_DOLLARS)}))?({SIGN.pattern})")
_CODES = _any(_MONEY["signs"]["codes"].split())
_CODE_AFTER = re.compile(rf"[ -]?({_CODES})(?![^\W\d_])")
_CODE_BEFORE = re.compile(rf"(?<![^\W\d_])({_CODES})[ $€£]?$")
_WORD_AFTER = re.compile(rf"[ -]?(?:de |d'|di )?({_LETTERS}|₹)(?!\w)")
_WORD_BEFORE = re.compile(r"(?<!\w)(kč|czk|rs|rs\.|kr|kr\.|eur|euro|rmb) ?$")
_WORD_TOGETHER = re.compile(rf"\s?({_any(_TOGETHER)})(?!件|素|首|老|月|旦)")
_NO_AMOUNT = frozenset({"time", "percent", "month", "currency"})


@cache
def readings(code: str) -> tuple[str, ...]:
    """Return the other currencies that a bare name or sign of one may mean."""
    return tuple(f"cur:{other}" for other in _MONEY["families"].get(code, "").split())


@cache
def currency_words(code: str) -> tuple[str, ...]:
    """Return the short words of any language for a currency: crowns, zł."""
    return tuple(word for word, other in _CURRENCY_WORDS.items() if other == code)


def currencies(text: str, written: str, lang: str, numbers: Sequence[Value]) -> Iterator[Value]:
    """Find currencies by their signs anywhere, by codes and short words beside numbers."""
    for sign in _SYMBOL.finditer(text) if SIGN.search(text) else ():
        code = _SIGNS[sign[2]]
        others, start = readings(code), sign.start() if sign[2] == "$" else sign.start(2)
        if sign[2] == "$" and sign[1]:
            code, others = _DOLLARS[sign[1]], ()
        elif sign[2] == "¥" and lang in ("zh", "yue"):
            code, others = "CNY", ("cur:JPY",)
        beside = text[start - 1 : start].isdigit() or any(
            0 <= v.start - sign.end() <= 1 or 0 <= start - v.end <= 1 for v in numbers
        )
        yield Value(start, sign.end(), f"cur:{code}", "currency", others, not beside)
    for number in numbers:
        if number.category in _NO_AMOUNT:
            continue
        ahead = max(0, number.start - 5), number.start
        for match in (
            _CODE_AFTER.match(written, number.end),
            _CODE_BEFORE.search(written, *ahead),
        ):
            if match:
                code = "CNY" if match[1] == "RMB" else match[1]
                yield Value(*match.span(1), f"cur:{code}", "currency")
        if match := _WORD_TOGETHER.match(text, number.end):
            code = _TOGETHER[match[1]]
            others = readings(code) if match[1] in ("元", "块", "ドル", "ルピー") else ()
            yield Value(*match.span(1), f"cur:{code}", "currency", others)
        elif (match := _WORD_AFTER.match(text, number.end)) and match[1] in _CURRENCY_WORDS:
            code = _CURRENCY_WORDS[match[1]]
            yield Value(*match.span(1), f"cur:{code}", "currency", readings(code))
        if match := _WORD_BEFORE.search(text, *ahead):
            code = _CURRENCY_WORDS[match[1].rstrip(".")]
            yield Value(*match.span(1), f"cur:{code}", "currency", readings(code))


# -- units

_WORD = re.compile(rf"[ -]?(?:de |d'|di )?({_LETTERS})(?![^\W_])")
_YEAR = "unit:duration-year"
_UNITS = _table("units.toml")
_SYMBOLS = {
    symbol: f"unit:{unit}" for unit, names in _UNITS["symbols"].items() for symbol in names.split()
}
# A letter may follow where words are written together: 5kg的
_UNIT_SYMBOL = re.compile(
    rf"[ -]?({_any(_SYMBOLS)})(?![^\W\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]|[²³/])"
)


class Meaning(NamedTuple):
    """What a unit or currency of a text may be, best first, and whether it says little."""

    ids: tuple[Id, ...]
    doubtful: bool


@cache
def _words(lang: str) -> tuple[dict[str, str], re.Pattern[str]]:
    words = {
        fold_text(name, lang).text.replace("_", " "): f"unit:{unit}"
        for langs, listed in _UNITS["words"].items()
        if lang in langs.split()
        for unit, names in (part.split("=") for part in listed.split())
        for name in names.split("/")
    }
    return words, re.compile(rf"\s?({_any(words)})")


@cache
def _kin() -> dict[str, tuple[str, ...]]:
    """Return the units that stand for each other in translations, the usual one first."""
    lines = [[f"unit:{u}" for u in line.split()] for line in _UNITS["kin"].values()]
    kin = {unit: tuple(dict.fromkeys((line[0], unit, *line))) for line in lines for unit in line}
    for unit, line in _UNITS["wide"].items():
        kin[f"unit:{unit}"] = tuple(f"unit:{u}" for u in line.split())
    return kin


@cache
def _is_loose(unit: str) -> bool:
    loose = _UNITS["loose"]
    kinds = tuple(f"unit:{kind}-" for kind in loose["kinds"].split())
    return unit.startswith(kinds) or unit.removeprefix("unit:") in loose["units"].split()


def glued_symbol(written: str, at: int) -> bool:
    """Tell whether a symbol of a unit follows at once: 85mph, but not 4x4s."""
    match = _UNIT_SYMBOL.match(written, at)
    return match is not None and match.start(1) == at


class Units:
    """The units of a language, in the numbers of a base."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._lexicon, self._lang = lexicon, lexicon.lang
        self._units: dict[tuple[str, ...], Meaning | None] = {}
        self._names: dict[str, str | None] = {}

    def after(
        self, text: str, written: str, at: int, *, year: bool
    ) -> tuple[int, int, Meaning] | None:
        """Find the unit that follows a number, which ends at a place: its span and meaning."""
        name: str | None
        if match := _UNIT_SYMBOL.match(written, at):
            name = _SYMBOLS[match[1]]
            if year and match[1] in ("г", "h", "s"):
                return None  # 2021 г. is the year, not grams
            if match[0][0] == "-" and len(match[1]) == 1 and not match[1].isascii():
                return None  # 1985-м is an ordinal
        elif self._lang in UNSPACED or self._lang == "ko":
            words, word = _words(self._lang)
            match = word.match(text, at)
            if match is None or text.startswith("分の", at):  # 5分の1 is a fifth
                return None
            name = words[match[1]]
        else:
            match = _WORD.match(text, at)
            name = self._named(match[1]) if match else None
        if match is None or name is None or (year and name == _YEAR):
            return None
        unit = self._unit((name,))
        if unit is not None and match[1] == "m" and self._lang == "en" and match.start(1) == at:
            unit = unit._replace(doubtful=True)  # 44m: millions as often
        return None if unit is None else (*match.span(1), unit)

    def _named(self, word: str) -> str | None:
        if word not in self._names:
            self._names[word] = next(self._inflected(word), None)
        return self._names[word]

    def _inflected(self, word: str) -> Iterator[str]:
        lang, kb = self._lang, self._lexicon.kb
        if word in _words(lang)[0]:
            yield _words(lang)[0][word]
        elif len(word) > 2:
            for form in (word, *base_forms(word, lang), *base_forms(word.capitalize(), lang)):
                name = fold(form, lang)
                for code in (lang, UNSTATED):
                    key = kb.key(code, name)
                    entry = None if key is None else self._lexicon.entry(key, name)
                    if entry is not None and entry.category == "unit":
                        yield kb.external_id(entry.ids[0])

    def named(self, ids: tuple[Id, ...], written: str, *, year: bool) -> Meaning | None:
        """Return the unit of a name that the base has, as it is written; None if it is none."""
        symbol = _SYMBOLS.get(written.removesuffix("."))
        if symbol is None and len(written) < 3 and written.isascii():
            return None  # "in" and "st" are words
        codes = tuple(self._lexicon.kb.external_id(i) for i in ids if isinstance(i, int))
        if year and _YEAR in codes:
            return None
        if symbol:  # 200 г. is grams, more often than years
            codes = (symbol, *codes) if written.endswith(".") else (symbol,)
        return self._unit(codes)

    def _unit(self, codes: tuple[str, ...]) -> Meaning | None:
        if codes not in self._units:
            kin = dict.fromkeys(k for code in codes for k in _kin().get(code, (code,)))
            entities = [self._lexicon.values[code] for code in kin]
            ids = tuple(entity for entity in entities if entity is not None)
            self._units[codes] = Meaning(ids, _is_loose(codes[0])) if ids else None
        return self._units[codes]
