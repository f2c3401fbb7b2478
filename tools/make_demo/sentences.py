"""The grammar of ``sentences.txt``: German sentences, with English that can go wrong in places."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

#: What the letter before a wrong wording means.
CATEGORIES = {
    "": "accuracy/mistranslation",
    "g": "fluency/grammar",
    "s": "fluency/spelling",
    "t": "terminology/inappropriate for context",
    "w": "style/unnatural or awkward",
}
OMISSION, UNTRANSLATED = "accuracy/omission", "accuracy/untranslated text"
PUNCTUATION, NOT_TRANSLATED = "fluency/punctuation", "non-translation!"
_TOKENS = re.compile(r"\[([^]]*)\]|<(\w+)>|([()])")
_LETTER = re.compile(r"([gstw]):")


@dataclass(frozen=True, slots=True)
class Wrong:
    """A wrong wording, and what raters call it."""

    category: str
    text: str


@dataclass(frozen=True, slots=True)
class Piece:
    """A part of a sentence that is worded well in one or several ways, or wrong.

    ``slot`` is the name or number that stands here; ``group`` counts the phrases that can be left
    out, None outside of them.
    """

    good: tuple[str, ...]
    minor: tuple[Wrong, ...] = ()
    major: tuple[Wrong, ...] = ()
    slot: str | None = None
    group: int | None = None


@dataclass(frozen=True, slots=True)
class Sentence:
    """A German sentence with its English pieces; both have the same phrases to leave out."""

    source: tuple[Piece, ...]
    target: tuple[Piece, ...]


def read_sentences(path: Path) -> dict[str, list[Sentence]]:
    """Read the sentences of every domain."""
    found: dict[str, list[Sentence]] = {}
    waiting: str | None = None
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.startswith("== "):
            own = found.setdefault(line[3:], [])
        elif not line or line.startswith("#"):
            continue
        elif waiting is None:
            waiting = line
        else:
            own.append(Sentence(tuple(_pieces(waiting)), tuple(_pieces(line))))
            waiting = None
    return found


def _pieces(line: str) -> Iterator[Piece]:
    group, opened, at = None, 0, 0
    for token in _TOKENS.finditer(line):
        if token.start() > at:
            yield Piece((line[at : token.start()],), group=group)
        at = token.end()
        choice, slot, bracket = token.groups()
        if bracket == "(":
            group, opened = opened, opened + 1
        elif bracket == ")":
            group = None
        elif slot is not None:
            yield Piece(("",), slot=slot, group=group)
        else:
            kept, _, major = choice.partition("!")
            good, _, minor = kept.partition(";")
            yield Piece(
                tuple(good.split("|")),
                tuple(map(_wrong, minor.split("|"))) if minor else (),
                tuple(map(_wrong, major.split("|"))) if major else (),
                group=group,
            )
    if at < len(line):
        yield Piece((line[at:],), group=group)


def _wrong(text: str) -> Wrong:
    letter = _LETTER.match(text)
    if letter is None:
        return Wrong(CATEGORIES[""], text)
    return Wrong(CATEGORIES[letter[1]], text[letter.end() :])


# Names and numbers: German, English. What they hold is invented.
_TOWNS = (("Wien", "Vienna"), ("München", "Munich"), ("Köln", "Cologne"), ("Zürich", "Zurich"),
          ("Genf", "Geneva"), ("Nürnberg", "Nuremberg"), ("Prag", "Prague"), ("Mailand", "Milan"),
          ("Brüssel", "Brussels"), ("Lissabon", "Lisbon"))  # fmt: skip
_DAYS = (("Montag", "Monday"), ("Dienstag", "Tuesday"), ("Mittwoch", "Wednesday"),
         ("Donnerstag", "Thursday"), ("Freitag", "Friday"), ("Samstag", "Saturday"))  # fmt: skip
_MONTHS = (("Januar", "January"), ("Februar", "February"), ("März", "March"), ("Mai", "May"),
           ("Juni", "June"), ("Juli", "July"), ("Oktober", "October"))  # fmt: skip
_HOURS = (("9 Uhr", "9 am"), ("14 Uhr", "2 pm"), ("17 Uhr", "5 pm"), ("20 Uhr", "8 pm"))


def _alike(*names: str) -> tuple[tuple[str, str], ...]:
    return tuple((name, name) for name in names)


#: What a slot may hold, each as (German, English).
SLOTS: Mapping[str, tuple[tuple[str, str], ...]] = {
    "town": _TOWNS,
    "day": _DAYS,
    "month": _MONTHS,
    "hour": _HOURS,
    "date": tuple((f"{n}. {de}", f"{n} {en}") for n in (3, 12, 21) for de, en in _MONTHS),
    "n": _alike("3", "4", "6", "8", "12", "15", "18", "24", "30", "40"),
    "year": _alike("1987", "1994", "1998", "2003", "2009", "2012", "2016", "2019"),
    "pct": tuple((f"{n} Prozent", f"{n} per cent") for n in (12, 43, 48, 52, 56, 61)),
    "contra": tuple((f"{n} Prozent", f"{n} per cent") for n in (18, 21, 26, 33, 38)),
    "big": tuple((f"{n}.{m}", f"{n},{m}") for n in (1, 2, 4, 7) for m in ("200", "450", "800")),
    "money": tuple((f"{n},{m} Euro", f"{n}.{m} euros") for n in (19, 49, 85) for m in (50, 90)),
    "mio": tuple((f"{n},{m} Millionen Euro", f"{n}.{m} million euros")
                 for n in (2, 3, 6) for m in (1, 4, 7)),
    "score": (("3:1", "3-1"), ("2:0", "2-0"), ("4:2", "4-2"), ("1:0", "1-0")),
    "person": _alike("Anna Berger", "Maria Lindner", "Eva Sommer", "Karin Hofer", "Ruth Adler",
                     "Clara Winter", "Sofia Brandt", "Julia Kern"),
    "pet": _alike("Minka", "Luna", "Molly", "Paula"),
    "key": _alike("START", "MODE", "RESET", "ECO"),
    "model": _alike("K2", "B7", "X40", "T15"),
}  # fmt: skip


def slot_kind(slot: str) -> str:
    """Give what a slot holds: ``town2`` is a second town.

    Examples
    --------
    >>> slot_kind("town2")
    'town'
    """
    return slot.rstrip("2")


def wrong_values(slot: str, value: tuple[str, str], taken: frozenset[str]) -> Piece:
    """Give the ways to get a name or a number wrong, with the value itself as the good one.

    Another value is a major error; a German form, or letters that changed places, a minor one.
    ``taken`` are values that stand in the sentence anyway.
    """
    german, english = value
    others = (en for _, en in SLOTS[slot_kind(slot)] if en != english and en not in taken)
    minor: tuple[Wrong, ...] = ()
    if german != english and english not in german:
        minor = (Wrong(UNTRANSLATED, german),)
    elif slot == "person" or (len(english) > 5 and english.isalpha()):
        minor = (Wrong(CATEGORIES["s"], f"{english[:-3]}{english[-2]}{english[-3]}{english[-1]}"),)
    major = tuple(Wrong(CATEGORIES[""], text) for text in others)
    return Piece((english,), minor, major, slot)
