"""Dates and clock times in digits, decades and centuries.

A day is its number, a year too; a month is an entity of its own (``month:5``). A two-digit year is
one of the years it may stand for.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from steelyard.kobe.linking.written import Value, at_runs

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
    r"(?: (?:годов|годах|годы|годам|гг|років|роках|роки)\b)?|-luvu\w*|-(?:tal|talet)\b"
    r"|-as évek\w*|-es évek\w*|\. léta\b|\. let(?:ech|ům)?\b"
    r"|'?(?:li|lı|lu|lü|lar|ler) yıllar\w*"
)
_DECADE_BEFORE = re.compile(
    r"\b(?:années|anni|años|anos|década de(?: los)?|lata|latach|lat|ani[ilor]*|سنوات|عقد|les)"
    r"\s(?:'|’)?$"
)
_APOSTROPHE_YEAR = re.compile(r"(?<!\w)'(\d\d)(s)?\b")
_SEASON = re.compile(r"(?<![\d/.-])((?:19|20)\d\d)[/-](\d\d)(?![\d/.-])")
_SLASHED = re.compile(r"(?<![\d/.,])(\d{1,2})/(\d{1,2})(?![\d/]|[.,]\d)")
_ROMAN = re.compile(r"(?<!\w)(?=[IVX])(X{0,3}(?:IX|IV|V?I{0,3}))(?=e\b|[èo]?me\b|\W|$)")
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10}
_CENTURY = re.compile(
    r"centur|jahrhundert|jh\.|\bвек|\bвв?\.|\bстоліт|\bстолет|\bstolet|\bstol\.|wiek|siècle|"
    r"siglo|secolo|século|eeuw|sekel|århundrad|vuosisa|század|yüzyıl|sec\."
)


def dates(text: str, lang: str) -> Iterator[tuple[int, int, list[Value]]]:
    """Find dates in digits: start, end and the values of each."""
    if _HINT.search(text) is None:
        return
    for found in _DATE.finditer(text):
        parts = _date(found, lang)
        if parts:
            yield found.start(), found.end(), parts
    if lang not in ("zh", "ja", "ko", "en"):
        for found in _SHORT_DATE.finditer(text):
            day, month = int(found["d"]), int(found["m"])
            if 1 <= month <= _MONTHS and 1 <= day <= _DAYS:
                start = found.start("d")
                yield start, found.end(), _parts(found, ("d", "m", ""), day, month)
    for found in _SLASHED.finditer(text):  # 9/11: either may be the month
        parts = [
            Value(*found.span(i), f"num:{int(found[i])}", "number", _as_month(int(found[i])))
            for i in (1, 2)
        ]
        yield found.start(), found.end(), parts
    for found in _SEASON.finditer(text):
        first, second = int(found[1]), int(found[2])
        ranged = found[0][4] == "-" and second > max(first % 100, _MONTHS)  # 1986-88
        if second == (first + 1) % 100 or ranged:
            year = Value(*found.span(1), f"num:{first}", "number")
            yield found.start(), found.end(), [year, two_digits(*found.span(2), second)]
    if "'" in text:
        for found in _APOSTROPHE_YEAR.finditer(text):
            span, short = found.span(), int(found[1])
            value = decade(*span, short) if found[2] else two_digits(*span, short)
            if value is not None:
                yield *span, [value]


def _date(found: re.Match[str], lang: str) -> list[Value]:
    if found["Y"]:
        day, month = int(found["D"]), int(found["M"])
        ok = 1 <= month <= _MONTHS and 1 <= day <= _DAYS
        return _parts(found, ("D", "M", "Y"), day, month) if ok else []
    if found["dd"]:
        day, month = int(found["dd"]), int(found["mm"])
        ok = 1 <= month <= _MONTHS and 1 <= day <= _DAYS and lang not in ("en", "zh", "ja", "ko")
        return _parts(found, ("dd", "mm", ""), day, month) if ok else []
    first, second = int(found["d"]), int(found["m"])
    dotted = found["m1"].startswith(".")
    if found["m1"] == "-" and len(found["y"]) == 2:
        return []
    if dotted and len(found["y"]) == 2 and lang in ("en", "zh", "ja", "ko") and first > _DAYS:
        return []
    names = ("d", "m", "y")
    day, month = first, second
    american = lang == "en" and not dotted
    if (american and first <= _MONTHS) or (second > _MONTHS >= first):
        names, day, month = ("m", "d", "y"), second, first
    if not (1 <= month <= _MONTHS and 1 <= day <= _DAYS):
        return []
    # 3/4 is one day in London and another one in New York.
    return _parts(found, names, day, month, either=not dotted and first <= _MONTHS >= second)


def _parts(
    found: re.Match[str],
    names: tuple[str, str, str],
    day: int,
    month: int,
    *,
    either: bool = False,
) -> list[Value]:
    swapped = either and day != month
    days = (f"num:{month}",) if swapped else ()
    months = (f"month:{day}",) if swapped else ()
    parts = [
        Value(*found.span(names[0]), f"num:{day}", "date", days),
        Value(*found.span(names[1]), f"month:{month}", "month", months),
    ]
    if names[2]:
        year = found[names[2]]
        span = found.span(names[2])
        full = len(year) == 4
        parts.append(
            Value(*span, f"num:{year}", "number") if full else two_digits(*span, int(year))
        )
    return sorted(parts)


def _as_month(number: int) -> tuple[str, ...]:
    return (f"month:{number}",) if 1 <= number <= _MONTHS else ()


def two_digits(start: int, end: int, short: int) -> Value:
    """Give the year of two digits; it may be one of the last century.

    Examples
    --------
    >>> two_digits(0, 2, 19).id, two_digits(0, 2, 88).others
    ('num:2019', ('num:88', 'num:2088'))
    """
    near, far = (2000, 1900) if short < 50 else (1900, 2000)
    others = (f"num:{short}", f"num:{far + short}")
    return Value(start, end, f"num:{near + short}", "number", others)


def decade(start: int, end: int, number: int, *, century: int | None = None) -> Value | None:
    """Give a decade: that of 1980 is 1980, and most often what "the 80s" means.

    Examples
    --------
    >>> decade(0, 3, 80).id, decade(0, 3, 80, century=19).id, decade(0, 5, 1850).id
    ('num:1980', 'num:1880', 'num:1850')
    """
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
    """Give the decade that digits in a text are, or None: 1980s, 80er, 80-х, années 80."""
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
    """Find clock times in digits, which begin at the places ``runs``."""
    for found in at_runs(_CLOCK, text, runs):
        minute = int(found[3] or found[5] or 0)
        tail = (found[6] or "").strip()
        if tail[:1] == "h" and tail[1:].strip().isdigit():
            minute = int(tail[1:])
        side = tail[:1] if tail and tail[0] in "ap" else ""
        hour = int(found[1])
        value = hour_value(found.start(), found.end(), hour, minute, side)
        if value is None:
            continue
        # 3:10 may be a score, outside English.
        score = not tail and len(found[1]) == 1 and lang not in ("en", "zh", "ja", "ko", "hi", "ar")
        if score and not _TIME_BEFORE.search(text[max(0, found.start() - 14) : found.start()]):
            value = value._replace(doubtful=True)
        yield found.start(), value
    if lang in _HOURS:
        for found in at_runs(_HOUR_MINUTE, text, runs):
            value = hour_value(found.start(), found.end(), int(found[1]), int(found[2] or 0), "")
            if value is not None and (found[2] or "h" not in found[0].split()[-1][-1:]):
                yield found.start(), value


#: Arabic counts hours as it counts places: at the seventh hour.
_ARABIC_HOURS = (
    "الواحدة الثانية الثالثة الرابعة الخامسة السادسة السابعة الثامنة التاسعة العاشرة".split()
)
_ARABIC_HOUR = re.compile(
    rf"(?<!\w)[بو]?الساعة (?:(?P<more>الحادية|الثانية) عشرة?|(?P<hour>{'|'.join(_ARABIC_HOURS)}))"
    r"(?: (?P<part>والنصف|والربع|والثلث))?(?: (?P<side>صباحا|فجرا|ظهرا|عصرا|مساء|ليلا))?(?!\w)"
)
_ARABIC_MINUTES = {"والنصف": 30, "والربع": 15, "والثلث": 20}


def arabic_hours(text: str) -> Iterator[Value]:
    """Find clock times in Arabic words.

    Examples
    --------
    >>> [value.id for value in arabic_hours("الساعة السابعة والنصف مساء")]
    ['time:19:30']
    """
    for found in _ARABIC_HOUR.finditer(text):
        if found["more"]:
            hour = 11 + (found["more"] == "الثانية")
        else:
            hour = 1 + _ARABIC_HOURS.index(found["hour"])
        early = found["side"] in ("صباحا", "فجرا")
        side = "" if found["side"] is None else ("a" if early else "p")
        minute = _ARABIC_MINUTES.get(found["part"], 0)
        value = hour_value(found.start(), found.end(), hour, minute, side)
        if value is not None:
            yield value


def hour_value(start: int, end: int, hour: int, minute: int, side: str) -> Value | None:
    """Give a clock time; ``side`` is ``a`` (am), ``p`` (pm) or empty.

    A full hour may also be said with its number alone.

    Examples
    --------
    >>> hour_value(0, 4, 5, 30, "p").id, hour_value(0, 4, 5, 30, "").others
    ('time:17:30', ('time:17:30',))
    """
    if hour > 24 or minute > 59:
        return None
    if hour > 12 or hour == 0:
        side = ""
    said = hour
    if side:
        hour = hour % 12 + (12 if side == "p" else 0)
    hour %= 24
    others: list[str] = []
    if not side and 0 < hour <= 12:
        others.append(f"time:{(hour + 12) % 24:02}:{minute:02}")
    if minute == 0:
        others += dict.fromkeys((f"num:{said}", f"num:{hour}", f"num:{hour % 12 or 12}"))
    return Value(start, end, f"time:{hour:02}:{minute:02}", "time", tuple(others))


def dotted_time(text: str, start: int, written: str) -> tuple[str, bool]:
    """Give the time that a number with a point may be, and whether a word before says so.

    Examples
    --------
    >>> dotted_time("klo 17.30", 4, "17.30"), dotted_time("17.3", 0, "17.3")
    (('time:17:30', True), ('', False))
    """
    found = _DOTTED.fullmatch(written)
    if found is None:
        return "", False
    sure = _TIME_BEFORE.search(text[max(0, start - 14) : start]) is not None
    return f"time:{int(found[1]) % 24:02}:{found[2]}", sure and found[2] != "00"


# -- centuries and rulers


def has_roman(text: str) -> bool:
    """Whether a text may have a Roman numeral; plain searches are faster than a pattern.

    Examples
    --------
    >>> has_roman("Elizabeth II"), has_roman("I am Ivan")
    (True, False)
    """
    return (
        "II" in text or "IV" in text or "VI" in text or "IX" in text or "XI" in text
        or "XX" in text or "XV" in text or "X " in text or "V " in text
    )  # fmt: skip


def roman_numbers(written: str, text: str) -> Iterator[Value]:
    """Find Roman numerals in capitals: XX век, Elizabeth II, World War II."""
    for found in _ROMAN.finditer(written):
        numeral = found[1]
        value = sum(
            -_ROMAN_DIGITS[c] if _ROMAN_DIGITS[c] < _ROMAN_DIGITS[n] else _ROMAN_DIGITS[c]
            for c, n in zip(numeral, numeral[1:] + "I", strict=True)
        )
        start, end = found.span(1)
        near = text[max(0, start - 10) : start] + text[end : end + 16]
        century = _CENTURY.search(near) is not None
        if century or len(numeral) > 1:
            yield Value(start, end, f"num:{value}", "ordinal", doubtful=not century)
