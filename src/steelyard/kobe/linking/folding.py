"""Folding: the form in which texts and names are compared.

Compatibility forms, case, apostrophes, hyphens and the marks that writers leave out at will are
folded; diacritics that tell words apart stay. Names and texts go through the same function, and a
text keeps a map from its folded characters back to its own.
"""

from __future__ import annotations

import unicodedata
from typing import NamedTuple

_ODD = "\uf8ff"  # stands for characters that the short way can't fold one by one
_SAME = {
    **dict.fromkeys("\u2018\u2019\u201b\u02bc\u02b9\u2032\u0060\u00b4\uff07", "'"),
    **dict.fromkeys("\u2010\u2011\u2012\u2013\u2212\ufe63\uff0d", "-"),
    **dict.fromkeys("\u30fb\u00b7\u2022\u2027\uff65", "\u00b7"),
    "\u0451": "\u0435",  # Cyrillic yo is written as ye
    "\u0130": "i",  # else two characters
    **dict.fromkeys("\u0622\u0623\u0625\u0671", "\u0627"),  # alef with and without hamza
    **dict.fromkeys("\u0649\u06cc", "\u064a"),  # Arabic and Persian yeh
    "\u06a9": "\u0643",  # Arabic and Persian kaf
    "\u0640": "",  # tatweel
    "\u05f3": "'",
    "\u05f4": '"',
}
_TURKIC = {"I": "\u0131", "\u0130": "i"}
_TURKIC_LANGUAGES = frozenset({"tr", "az"})
#: Marks of vowels and the like that most writers leave out (Hebrew points, Arabic harakat).
_OPTIONAL_MARKS = frozenset(
    [chr(c) for c in (*range(0x0591, 0x05C8), *range(0x064B, 0x0653), 0x0670)]
)
_IGNORED = frozenset("\u00ad\u200b\u200c\u200d\u200e\u200f\u2060\ufeff")


class Folded(NamedTuple):
    """A folded text, and for each of its characters (and its end) the place in the original.

    ``places`` is None where characters stand at the same places in both.
    """

    text: str
    places: tuple[int, ...] | None

    def span(self, start: int, end: int) -> tuple[int, int]:
        """Give the span of the original that a span of the folded text stands for."""
        if self.places is None:
            return start, end
        return self.places[start], max(self.places[end], self.places[end - 1] + 1)


def _fold_cluster(cluster: str) -> str:
    """Fold a character with the marks on it."""
    plain = "".join(c for c in cluster if c not in _OPTIONAL_MARKS and c not in _IGNORED)
    plain = unicodedata.normalize("NFC", "".join(_SAME.get(c, c) for c in plain))
    plain = unicodedata.normalize("NFKC", plain)
    plain = unicodedata.normalize("NFKC", plain.casefold())
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else _SAME.get(c, c) for c in plain)


def _is_mark(char: str) -> bool:
    return unicodedata.combining(char) != 0 or char in "\uff9e\uff9f\u3099\u309a"


class _CharTable(dict[int, str]):
    """What each character folds to by itself, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = _fold_cluster(char)
        if char.isspace():
            folded = " "
        if len(folded) != 1 or _is_mark(char):
            folded = _ODD
        self[code] = folded
        return folded


_TABLE = _CharTable()
_TURKIC_TABLE = _CharTable({ord(k): v for k, v in _TURKIC.items()})


def fold_text(text: str, lang: str) -> Folded:
    """Fold a text, and keep where each character came from.

    Examples
    --------
    >>> fold_text("Straße", "de").text
    'strasse'
    >>> fold_text("Straße", "de").places
    (0, 1, 2, 3, 4, 4, 5, 6)
    """
    turkic = lang in _TURKIC_LANGUAGES
    if text.isascii() and not turkic and text.isprintable():
        return Folded(text.lower().replace("`", "'"), None)
    folded = text.translate(_TURKIC_TABLE if turkic else _TABLE)
    if _ODD not in folded:
        return Folded(folded, None)
    pieces: list[str] = []
    places: list[int] = []
    at, n = 0, len(text)
    while at < n:
        end = at + 1
        while end < n and _is_mark(text[end]):
            end += 1
        piece = folded[at]
        if end > at + 1 or piece == _ODD:
            cluster = text[at:end]
            if turkic:
                cluster = "".join(_TURKIC.get(c, c) for c in cluster)
            piece = _fold_cluster(cluster)
        pieces.append(piece)
        places.extend([at] * len(piece))
        at = end
    return Folded("".join(pieces), (*places, n))


def fold(text: str, lang: str) -> str:
    """Fold a name: the key under which it is stored and found.

    Examples
    --------
    >>> fold("  CÔTE  d’Ivoire ", "fr")
    "côte d'ivoire"
    >>> fold("Королёв", "ru"), fold("ＩＢＭ", "ja"), fold("ISPARTA", "tr")
    ('королев', 'ibm', 'ısparta')
    """
    return " ".join(fold_text(text, lang).text.split())
