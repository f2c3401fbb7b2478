"""Units beside numbers: symbols in their own case, glued or not, and words in any form.

Names of units come from the base; here are the symbols that need their case (MB is no Mb), the
forms that the base lacks, and which units are said so freely in other languages that their loss
tells nothing (hours, years).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.resources import files
from typing import NamedTuple
from weakref import WeakKeyDictionary

from steelyard.kobe.base.codec import UNSTATED
from steelyard.kobe.linking.lexicon import UNSPACED, Lexicon
from steelyard.kobe.linking.wordforms import base_forms, fold, fold_text
from steelyard.kobe.linking.written import LETTERS
from steelyard.kobe.mention import Id


class Unit(NamedTuple):
    """A unit of a text: what it may be, best first, and whether it says little."""

    ids: tuple[Id, ...]
    doubtful: bool


_WORD = re.compile(rf"[ -]?(?:de |d'|di )?({LETTERS})(?![^\W_])")
_YEAR = "unit:duration-year"


@cache
def _told() -> dict[str, dict[str, str]]:
    file = files("steelyard.kobe.linking").joinpath("units.toml")
    told: dict[str, dict[str, str]] = tomllib.loads(file.read_text(encoding="utf-8"))
    return told


@cache
def symbols() -> dict[str, str]:
    """Give the unit of each symbol, in its own case."""
    return {
        symbol: f"unit:{unit}"
        for unit, names in _told()["symbols"].items()
        for symbol in names.split()
    }


@cache
def _symbol() -> re.Pattern[str]:
    longest = sorted(map(re.escape, symbols()), key=len, reverse=True)
    # A letter may follow where words are written together: 5kg的
    together = "\u0e00-\u0eff\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
    return re.compile(rf"[ -]?({'|'.join(longest)})(?![^\W{together}]|[²³/])")


@cache
def _words(lang: str) -> dict[str, str]:
    """Give the units of words that the base lacks in a language."""
    return {
        fold_text(name, lang).text.replace("_", " "): f"unit:{unit}"
        for langs, told in _told()["words"].items()
        if lang in langs.split()
        for unit, names in (part.split("=") for part in told.split())
        for name in names.split("/")
    }


@cache
def _unspaced(lang: str) -> re.Pattern[str]:
    longest = sorted(map(re.escape, _words(lang)), key=len, reverse=True)
    return re.compile(rf"\s?({'|'.join(longest) or '(?!)'})")


@cache
def _kin() -> dict[str, tuple[str, ...]]:
    """Give units that stand for each other in translations, the usual one first."""
    kin = [[f"unit:{u}" for u in line.split()] for line in _told()["kin"].values()]
    mutual = {unit: tuple(dict.fromkeys((line[0], unit, *line))) for line in kin for unit in line}
    wide = {
        f"unit:{unit}": tuple(f"unit:{u}" for u in line.split())
        for unit, line in _told()["wide"].items()
    }
    return mutual | wide


@cache
def _loose() -> tuple[tuple[str, ...], frozenset[str]]:
    """Give the kinds of units, and the units, that translators say in other ways."""
    told = _told()["loose"]
    kinds = tuple(f"unit:{kind}-" for kind in told["kinds"].split())
    return kinds, frozenset(f"unit:{unit}" for unit in told["units"].split())


def glued_symbol(written: str, at: int) -> int:
    """Give the end of a symbol of a unit right at a place; 0 where there is none.

    Examples
    --------
    >>> glued_symbol("85mph", 2), glued_symbol("4x4s", 1)
    (5, 0)
    """
    found = _symbol().match(written, at)
    return found.end() if found and found.start(1) == at else 0


class Units:
    """The units of a language, in the numbers of a base."""

    def __init__(self, lexicon: Lexicon) -> None:
        self._kb, self._lang = lexicon.kb, lexicon.lang
        self._entry, self._values = lexicon.entry, lexicon.values
        self._units: dict[str, Unit | None] = {}
        self._forms: dict[str, tuple[str, ...]] = {}

    def after(  # noqa: PLR0911 - symbols, then words
        self, text: str, written: str, at: int, *, year: bool
    ) -> tuple[int, int, Unit] | None:
        """Find the unit that follows a number, which ends at a place: its span and meaning."""
        if found := _symbol().match(written, at):
            name = symbols()[found[1]]
            if year and found[1] in ("г", "h", "s"):
                return None  # 2021 г. is the year, not grams
            if found[1] == "m" and self._lang == "en" and found.start(1) == at:
                unit = self.unit((name,))  # 44m: millions as often
                return None if unit is None else (*found.span(1), unit._replace(doubtful=True))
        elif self._lang in UNSPACED or self._lang == "ko":
            found = _unspaced(self._lang).match(text, at)
            if found is None or text.startswith("分の", at):  # 5分の1 is a fifth
                return None
            name = _words(self._lang)[found[1]]
        else:
            found = _WORD.match(text, at)
            if found is None:
                return None
            names = self._forms.get(found[1])
            if names is None:
                names = self._forms[found[1]] = tuple(self._inflected(found[1]))
            if not names:
                return None
            name = names[0]
        if year and name == _YEAR:
            return None
        unit = self.unit((name,))
        return None if unit is None else (*found.span(1), unit)

    def _inflected(self, word: str) -> Iterator[str]:
        if word in _words(self._lang):
            yield _words(self._lang)[word]
            return
        if len(word) < 3:
            return
        forms = [word, *base_forms(word, self._lang), *base_forms(word.capitalize(), self._lang)]
        for form in forms:
            name = fold(form, self._lang)
            for lang in (self._lang, UNSTATED):
                key = self._kb.key(lang, name)
                entry = None if key is None else self._entry(key, name)
                if entry is not None and entry.category == "unit":
                    yield self._kb.external_id(entry.ids[0])

    def named(self, ids: tuple[Id, ...], written: str, *, year: bool) -> Unit | None:
        """Give the unit of a name that the base has, as it is written; None where it is none."""
        own = symbols().get(written)
        if own is None and len(written) < 3 and written.isascii():
            return None  # "in" and "st" are words
        codes = (own,) if own else tuple(self._kb.external_id(i) for i in ids if isinstance(i, int))
        if year and codes[0] == _YEAR:
            return None
        return self.unit(codes)

    def unit(self, codes: tuple[str, ...]) -> Unit | None:
        """Give the entities of units, with those they stand for in translations."""
        key = " ".join(codes)
        if key not in self._units:
            self._units[key] = self._make(codes)
        return self._units[key]

    def _make(self, codes: tuple[str, ...]) -> Unit | None:
        kin = [k for code in codes for k in _kin().get(code, (code,))]
        found = [self._values[code] for code in dict.fromkeys(kin)]
        ids = tuple(i for i in found if i is not None)
        kinds, units = _loose()
        doubtful = codes[0].startswith(kinds) or codes[0] in units
        return Unit(ids, doubtful) if ids else None


_KNOWN: WeakKeyDictionary[Lexicon, Units] = WeakKeyDictionary()


def units_of(lexicon: Lexicon) -> Units:
    """Give the units of a lexicon, made once."""
    found = _KNOWN.get(lexicon)
    if found is None:
        found = _KNOWN[lexicon] = Units(lexicon)
    return found
