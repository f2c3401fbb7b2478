"""Dates and clock times in digits, decades and centuries.

A day is its number, a year too; a month is an entity of its own (``month:5``). A two-digit year is
one of the years it may stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple


class Value(NamedTuple):
    """A value and its span in the folded text.

    ``others`` are further readings. A ``doubtful`` one may mean something else, or is one that
    translators are free to say in another way: nobody is blamed for its loss.
    """

    start: int
    end: int
    id: str
    category: str
    others: tuple[str, ...] = ()
    doubtful: bool = False


_MONTHS, _DAYS = 12, 31
_DATE = re.compile(
    r"(?<![\d.,/-])(?:"
    r"(?P<d>\d{1,2})(?P<m1>\.\s?|/|-)(?P<m>\d{1,2})(?:\s?(?P=m1)|(?P=m1))(?P<y>\d{4}|\d{2})(?![\d])"
    r"|(?P<Y>\d{4})(?P<m2>\.\s?|/|-)(?P<M>\d{1,2})(?P=m2)(?P<D>\d{1,2})"
    r"|(?P<dd>\d{1,2})\.\s?(?P<mm>\d{1,2})\.(?=\s|$|[^\w\s])"
    r")(?![\d/]|[.,]\d)"
)
_HINT = re.compile(r"\d[./-] ?\d|'\d\d")
_SHORT_DATE = re.compile(
    r"(?:\b(?:am|vom|bis|ab|seit|zum|den|dem|der|dne|od|do|ke|на|от|до|по|dnia|le|du|au|el|al|il|op)"
    r"\s)"
    r"(?P<d>\d{1,2})(?P<sep>[./])(?P<m>\d{1,2})(?![\d./,]|\s?(?:%|uhr|h\b))"
)
_CLOCK = re.compile(
    r"(?<![\d:.,])([01]?\d|2[0-4])(?:(:)([0-5]\d)(?::[0-5]\d)?(?![\d:])"
    r"|([.h]) ?([0-5]\d)(?=\s?(?:uhr|[ap]\.?m\b|hod|час|год|klo)|h)(?!\d)"
    r"|(?=\s?(?:[ap]\. ?m\.?|[ap]m\b|uhr\b|o'clock|बजे)))"
    r"(h ?[0-5]\d\b|\s?(?:[ap]\. ?m\.?|[ap]m\b|uhr\b|h\b|o'clock\b|बजे))?"
)
_HOURS = frozenset({"fr", "pt", "es", "it", "de", "ca", "ro"})  # where 17h30 is a time
_HOUR_MINUTE = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4]) ?(?:h|heures?) ?([0-5]\d)?\b(?![\w/])")
_DOTTED = re.compile(r"([01]?\d|2[0-4])\.([0-5]\d)")
_TIME_BEFORE = re.compile(
    r"(?:\b(?:um|gegen|at|by|until|from|to|ab|bis|von|v|ve|od|do|в|с|до|к|о|об|o|a las|alle|à|às|"
    r"klo|kello|kl|klockan|saat|الساعة|around|before|after|since))[.]?\s(?:circa |etwa |about )?$"
)
_DECADE_TAIL = re.compile(
    r"'?s\b|-?er(?:n|jahren|-?jahren?)?\b(?: jahren?\b)?|-?(?:х|ые|ых|ми|тых|ті|тих|их)\b"
    r"(?: (?:годов|годах|годы|годам|гг|років|роках|роки)\b)?|-[еі] (?:годы|роки)\b"
    r"|-luvu\w*|-(?:tal|talet)\b"
    r"|-as évek\w*|-es évek\w*|\. léta\b|\. let(?:ech|ům)?\b"
    r"|'?(?:li|lı|lu|lü|lar|ler) yıllar\w*"
)
_DECADE_BEFORE = re.compile(
    r"\b(?:années|anni|años|anos|década de(?: los)?|lata|latach|lat|ani[ilor]*|سنوات|عقد)"
    r"\s(?:'|’)?$"
)
_APOSTROPHE_YEAR = re.compile(r"(?<!\w)'(\d\d)(s)?\b")
_SEASON = re.compile(r"(?<![\d/.-])((?:19|20)\d\d)[/-](\d\d)(?![\d/.-])")
_SLASHED = re.compile(r"(?<![\d/.,])(\d{1,2})/(\d{1,2})(?![\d/]|[.,]\d)")
_ROMAN = re.compile(r"(?<!\w)(?=[IVX])(X{0,3}(?:IX|IV|V?I{0,3}))(?=e\b|[èo]?me\b|\W|$)")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}
_ROMAN_PAIRS = ("II", "IV", "VI", "IX", "XI", "XX", "XV", "X ", "V ")
_NOT_DAY_FIRST = frozenset({"en", "zh", "ja", "ko"})  # 5.6. is no date there
CENTURY = re.compile(
    r"centur|jahrhundert|jh\.|\bвек|\bвв?\.|\bстоліт|\bстолет|\bstolet|\bstol\.|wiek|siècle|"
    r"siglo|secolo|século|eeuw|sekel|århundrad|vuosisa|század|yüzyıl|sec\."
)


def at_runs(pattern: re.Pattern[str], text: str, runs: Sequence[int]) -> Iterator[re.Match[str]]:
    """Find what begins where digits begin, as ``finditer`` does, without a look elsewhere."""
    end = 0
    for start in runs:
        if start >= end and (match := pattern.match(text, start)):
            end = match.end()
            yield match


def dates(text: str, lang: str) -> Iterator[tuple[int, int, list[Value]]]:
    """Find dates in digits: start, end and the values of each."""
    if _HINT.search(text) is None:
        return
    for match in _DATE.finditer(text):
        if parts := _date(match, lang):
            yield *match.span(), parts
    for match in _SHORT_DATE.finditer(text) if lang not in _NOT_DAY_FIRST else ():
        if parts := _parts(match, ("d", "m", "")):
            yield match.start("d"), match.end(), parts
    for match in _SLASHED.finditer(text):  # 9/11: either may be the month
        pair = [(int(match[i]), match.span(i)) for i in (1, 2)]
        yield (
            *match.span(),
            [
                Value(*span, f"num:{n}", "number", (f"month:{n}",) if 1 <= n <= _MONTHS else ())
                for n, span in pair
            ],
        )
    for match in _SEASON.finditer(text):
        first, second = int(match[1]), int(match[2])
        ranged = match[0][4] == "-" and second > max(first % 100, _MONTHS)  # 1986-88
        if second == (first + 1) % 100 or ranged:
            year = Value(*match.span(1), f"num:{first}", "number")
            yield *match.span(), [year, two_digits(*match.span(2), second)]
    for match in _APOSTROPHE_YEAR.finditer(text) if "'" in text else ():
        make = decade if match[2] else two_digits
        if value := make(*match.span(), int(match[1])):
            yield *match.span(), [value]


def _date(match: re.Match[str], lang: str) -> list[Value]:
    if match["Y"]:
        return _parts(match, ("D", "M", "Y"))
    if match["dd"]:
        return _parts(match, ("dd", "mm", "")) if lang not in _NOT_DAY_FIRST else []
    first, second = int(match["d"]), int(match["m"])
    dotted, short = match["m1"].startswith("."), len(match["y"]) == 2
    if match["m1"] == "-" and short:
        return []
    if (lang == "en" and not dotted and first <= _MONTHS) or second > _MONTHS >= first:
        names = ("m", "d", "y")
    else:
        names = ("d", "m", "y")
    # 3/4 is one day in London and another one in New York.
    return _parts(match, names, either=not dotted and first <= _MONTHS >= second != first)


def _parts(
    match: re.Match[str], names: tuple[str, str, str], *, either: bool = False
) -> list[Value]:
    """Return day, month and year, by the names of their groups; nothing if there is no such day."""
    day, month = int(match[names[0]]), int(match[names[1]])
    if not (1 <= month <= _MONTHS and 1 <= day <= _DAYS):
        return []
    days, months = ((f"num:{month}",), (f"month:{day}",)) if either else ((), ())
    parts = [
        Value(*match.span(names[0]), f"num:{day}", "date", days),
        Value(*match.span(names[1]), f"month:{month}", "month", months),
    ]
    if names[2]:
        span, year = match.span(names[2]), match[names[2]]
        full = len(year) == 4
        parts += [Value(*span, f"num:{year}", "number") if full else two_digits(*span, int(year))]
    return sorted(parts)


def two_digits(start: int, end: int, short: int) -> Value:
    """Return the year of two digits, which may be one of the last century."""
    near, far = (2000, 1900) if short < 50 else (1900, 2000)
    others = (f"num:{short}", f"num:{far + short}")
    return Value(start, end, f"num:{near + short}", "number", others)


def decade(start: int, end: int, number: int, *, century: int | None = None) -> Value | None:
    """Return a decade: that of 1980 is 1980, and most often what "the 80s" means."""
    if number >= 100:
        return Value(start, end, f"num:{number}", "number")
    if number % 10:
        return None
    if century is not None:
        return Value(start, end, f"num:{100 * (century - 1) + number}", "number")
    others = (f"num:{number}", f"num:{2000 + number}", f"num:{1800 + number}")
    near = 1900 if number >= 20 else 2000
    return Value(start, end, f"num:{near + number}", "number", others)


def decade_at(text: str, start: int, end: int, digits: str) -> Value | None:
    """Return the decade that digits in a text are, or None: 1980s, 80er, 80-х, années 80."""
    if not digits.isdigit() or len(digits) not in (2, 4) or digits[-1] != "0":
        return None
    tail = _DECADE_TAIL.match(text, end)
    if tail is None:
        before = text[max(0, start - 14) : start]
        return decade(start, end, int(digits)) if _DECADE_BEFORE.search(before) else None
    if tail[0].startswith(". let") and len(digits) == 2 and int(digits) < 20:
        return None
    return decade(start, tail.end(), int(digits))


# -- clock times


def clocks(text: str, lang: str, runs: Sequence[int]) -> Iterator[tuple[int, Value]]:
    """Find clock times in digits; ``runs`` are the places where digits begin."""
    for match in at_runs(_CLOCK, text, runs):
        tail = (match[6] or "").strip()
        minute = int(match[3] or match[5] or 0)
        if tail[:1] == "h" and tail[1:].strip().isdigit():
            minute = int(tail[1:])
        side = tail[:1] if tail and tail[0] in "ap" else ""
        value = hour_value(*match.span(), int(match[1]), minute, side)
        if value is None:
            continue
        # 3:10 may be a score, outside English.
        score = not tail and len(match[1]) == 1 and lang not in ("en", "zh", "ja", "ko", "hi", "ar")
        if score and not _TIME_BEFORE.search(text[max(0, match.start() - 14) : match.start()]):
            value = value._replace(doubtful=True)
        yield match.start(), value
    for match in at_runs(_HOUR_MINUTE, text, runs) if lang in _HOURS else ():
        value = hour_value(*match.span(), int(match[1]), int(match[2] or 0), "")
        if value is not None and (match[2] or not match[0].endswith("h")):
            yield match.start(), value


def hour_value(start: int, end: int, hour: int, minute: int, side: str) -> Value | None:
    """Return a clock time; ``side`` is ``a`` (am), ``p`` (pm) or empty.

    A full hour may also be said with its number alone.
    """
    if hour > 24 or minute > 59:
        return None
    spoken = hour
    side = side if 0 < hour <= 12 else ""
    if side:
        hour = hour % 12 + (12 if side == "p" else 0)
    hour %= 24
    others: list[str] = []
    if not side and 0 < hour <= 12:
        others.append(f"time:{(hour + 12) % 24:02}:{minute:02}")
    if minute == 0:
        others += dict.fromkeys((f"num:{spoken}", f"num:{hour}", f"num:{hour % 12 or 12}"))
    return Value(start, end, f"time:{hour:02}:{minute:02}", "time", tuple(others))


def dotted_time(text: str, start: int, written: str) -> tuple[str, bool]:
    """Return the time that a number with a point may be, and whether a word before says so."""
    match = _DOTTED.fullmatch(written)
    if match is None:
        return "", False
    sure = _TIME_BEFORE.search(text[max(0, start - 14) : start]) is not None
    return f"time:{int(match[1]) % 24:02}:{match[2]}", sure and match[2] != "00"


# -- centuries and rulers


def has_roman(text: str) -> bool:
    """Tell whether a text may have a Roman numeral; plain searches are faster than a pattern."""
    return any([pair in text for pair in _ROMAN_PAIRS])  # noqa: C419


def roman_numbers(written: str, text: str) -> Iterator[Value]:
    """Find Roman numerals in capitals: XX век, Elizabeth II, World War II."""
    for match in _ROMAN.finditer(written):
        digits = [_ROMAN_DIGITS[c] for c in match[1]]
        value = sum(-a if a < b else a for a, b in zip(digits, [*digits[1:], 1], strict=True))
        start, end = match.span(1)
        near = text[max(0, start - 10) : start] + text[end : end + 16]
        century = CENTURY.search(near) is not None
        if century or len(digits) > 1:
            yield Value(start, end, f"num:{value}", "ordinal", doubtful=not century)
