"""Words with capitals, and how they are written: the shapes by which names are told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache, lru_cache
from typing import NamedTuple

from steelyard.kobe.languages import script, scripts

_UPPER = "".join(c for c in map(chr, (*range(0x590), *range(0x1E00, 0x2000))) if c.isupper())
_INNER = r"[\w\u0300-\u036f]"
_LATIN = "A-Za-z\u00c0-\u024f\uff21-\uff3a\uff41-\uff5a"
_LATIN_UPPER = "".join(c for c in map(chr, range(0x250)) if c.isupper()) + "\uff21-\uff3a"
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[!-~]*[A-Za-z0-9/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@])@[A-Za-z0-9_.]*[A-Za-z0-9_]{2}"
)
#: Writing without capitals, in which words of other scripts stand out.
CASELESS = frozenset(
    "ar fa ur ps sd ug ckb he yi hi mr ne sa bn as gu pa or ta te kn ml si th lo my km am ti ka zh "
    "yue lzh ja ko bo dz".split()
)
_ELIDING = frozenset({"fr", "it", "ca", "oc"})  # l'Allemagne is two words
_BEGINS = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|/\n¿¡‚‹›")
_CLITIC = ("'s", "’s")
_INFLECTED_CAPITALS = re.compile(r"[A-ZА-ЯČŠŽŘ]{2,}(?:['’]?s|[а-я]{1,2}|['’-]?[a-z]{1,2})")
_ABBREVIATED = re.compile(
    r"\b(?:[^\W\d_]{1,2}|Mrs|Prof|Gen|Sen|Rep|Gov|Rev|Ing|Mgr|JUDr|MUDr|Sra|Mme|Mlle|Frl|bzw)\.$"
)
_JOINTS = re.compile("[-‑'’&·]")


class Word(NamedTuple):
    """A word with a capital, or a small one inside a name."""

    text: str
    start: int
    end: int
    shape: str  # cap, caps, mixed, code, initial, small, part (nothing by itself)
    begins: bool = False  # a sentence, or what may be one
    foreign: bool = False  # in Latin letters, in a text of another script


@cache
def _pattern(lang: str) -> re.Pattern[str]:
    if lang in CASELESS:
        inner = f"[0-9{_LATIN}]"
        more = f"(?:[-‑'’&.]{inner}+)*"
        return re.compile(rf"(?<![A-Za-z0-9])(?:[a-z]{{1,4}}|\d+)?[{_LATIN_UPPER}]{inner}*{more}")
    joints = "[-‑&·]" if lang in _ELIDING else "[-‑'’&·]"
    return re.compile(
        rf"\b(?:(?:[{_UPPER}]\.){{2,}}|[^\W{_UPPER}]{{0,4}}[{_UPPER}]{_INNER}*"
        rf"(?:{joints}{_INNER}+)*)"
    )


def addresses(text: str) -> list[tuple[int, int]]:
    """Give the spans of addresses: of pages, of mail, and @names.

    Examples
    --------
    >>> addresses("See www.example.org, or ask @someone.")
    [(4, 19), (28, 36)]
    """
    if "@" not in text and "://" not in text and "www." not in text:
        return []
    return [match.span() for match in _ADDRESS.finditer(text)]


def capital_words(text: str, lang: str) -> Iterator[Word]:
    """Give the words of a text that have a capital.

    Examples
    --------
    >>> [(word.text, word.shape) for word in capital_words("In May, iPads beat the A380.", "en")]
    [('In', 'cap'), ('May', 'cap'), ('iPads', 'mixed'), ('A380', 'code')]
    """
    mixed = "LATIN" not in scripts(lang)
    for match in _pattern(lang).finditer(text):
        start, end = match.span()
        own = match[0]
        if own.endswith(_CLITIC) and len(own) > 3:
            own, end = own[:-2], end - 2
        form = shape(own)
        before = text[start - 1] if start else " "
        if before in "#\\_" or text[end : end + 2] in ("- ", "-,"):
            form = "part"
        elif form == "initial":
            if text[end : end + 1] == ".":
                end += 1
            else:
                form = "part"
        at = start
        while at and text[at - 1] == " ":
            at -= 1
        begins = not at or (text[at - 1] in _BEGINS and not _inside_sentence(text, at, before))
        yield Word(own, start, end, form, begins, mixed and script(own[0]) in ("LATIN", None))


def _inside_sentence(text: str, at: int, before: str) -> bool:
    """Whether the sign before a word is one of an abbreviation or a compound: Mr. Smith."""
    if before in "-'’":
        return at > 1 and text[at - 2].isalnum()
    return text[at - 1] == "." and _ABBREVIATED.search(text, max(0, at - 8), at) is not None


@lru_cache(maxsize=1 << 16)
def shape(word: str) -> str:
    """Say how a word with a capital is written.

    Examples
    --------
    >>> [shape(word) for word in ("Wien", "WDR", "BMWs", "iPhone", "A380", "J", "z.B.")]
    ['cap', 'caps', 'caps', 'mixed', 'code', 'initial', 'part']
    """
    capitals = sum(c.isupper() for c in word)
    letters = sum(c.isalpha() for c in word)
    found = "cap" if word[0].isupper() else "part"
    if not word.isupper() and len({script(c) for c in word if c.isalpha()}) > 1:
        found = "part"
    elif letters < len(word) and any(c.isdigit() for c in word):
        found = "code"
    elif letters == 1:
        found = "initial"
    elif capitals == letters or _INFLECTED_CAPITALS.fullmatch(word):
        found = "caps"
    elif "." in word:
        found = "part"
    elif any(
        not p[1:].islower() and p[1:].lower() != p[1:] and p != p.upper()
        for p in _JOINTS.split(word)
    ):
        found = "mixed" if letters >= 4 else "part"
    return found
