"""Values: numbers, percentages, ordinals, days, clock times and signs of currencies in a text.

A value becomes an id that is the same in every language and script: ``1.234,5`` in German,
``1,234.5`` in English and ``1 234,5`` in French are ``num:1234.5``; ``12億`` is ``num:1200000000``.
An amount of money is its number and its currency, a date its day, month and year, so that one wrong
part does not hide the others. Everything here works on text that was folded
(:mod:`steelyard.kobe.linking.wordforms`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

from steelyard.kobe.linking.written import (
    CJK_NUMBER,
    Token,
    Value,
    cjk_values,
    first_words,
    number_words,
    word_values,
)

#: Languages that write 1,234.5; all others write 1.234,5 or 1 234,5.
POINT_LANGUAGES = frozenset(
    "am ar bn cy en fil ga gu he hi ja kn ko ml mr ms mt my ne pa si sw ta te th ti ur yue"
    " zh".split()
)
_FIRST_ORDINAL = 3  # "first" and "second" are figures of speech far too often
_NUMBER = r"\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:[.,']\d+)*"
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(rf"(?<![a-zà-ÿа-яё_\d])(?:{_NUMBER})")
_DATE = re.compile(
    r"(?<![\d.])(?:(\d{1,2})(\. ?|/)(\d{1,2})(?:\2)(\d{4})|(\d{4})-(\d{2})-(\d{2}))(?![\d/]|\.\d)"
)
_CLOCK = re.compile(
    r"(?<![\d:.,])([01]?\d|2[0-4])(?:(:)([0-5]\d)(?::[0-5]\d)?(?![\d:])"
    r"|([.h]) ?([0-5]\d)(?=\s?(?:uhr|[ap]\.?m\b)|h)(?!\d)"
    r"|(?=\s?(?:[ap]\.? ?m\b|uhr\b|h\b|o'clock)))"
    r"(h ?[0-5]\d\b|\s?(?:[ap]\. ?m\.|[ap]\.?m\b|uhr\b|h\b|o'clock\b))?"
)
_HOURS = ("fr", "pt", "es", "it", "de")  # where 17h30 is a time
_HOUR_MINUTE = re.compile(r"(?<![\d:.,])([01]?\d|2[0-4]) ?h ?([0-5]\d)\b")
_RANGE = re.compile(r"\s?(?:-|~|to|and|bis|und|à|a|et|до|и|až|az|y|e|do|至|到|から)\s?")
_DAY_GAP = re.compile(r"(?:st|nd|rd|th)?[.,]?\s?(?:of|de|del|d'|den|-ro|-е|-го|º|\.º)?\s?(?:the )?")
_SYMBOLS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₽": "RUB", "₴": "UAH", "₹": "INR", "₩": "KRW",
    "₺": "TRY", "₪": "ILS", "₫": "VND", "฿": "THB", "₱": "PHP", "₸": "KZT",
}  # fmt: skip
_DOLLARS = {"a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "hk": "HKD", "nz": "NZD", "s": "SGD",
            "r": "BRL", "us": "USD", "nt": "TWD", "mx": "MXN"}  # fmt: skip
_SYMBOL = re.compile(rf"(?:(?<![a-z])({'|'.join(_DOLLARS)}))?([{re.escape(''.join(_SYMBOLS))}])")
_SHORT_CURRENCIES = {"kč": "CZK", "zł": "PLN", "руб": "RUB", "грн": "UAH"}
_CURRENCY_AFTER = {"元": "CNY", "円": "JPY", "圓": "TWD", "원": "KRW"}
_ENGLISH_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_ORDINAL_TAILS = {
    "en": _ENGLISH_ORDINAL,
    **dict.fromkeys(
        ("de", "cs", "sk", "pl", "hu", "fi", "da", "nb", "sl", "hr", "sr", "bs", "et", "tr", "lv"),
        re.compile(r"\.(?= ?[^\W\d])"),
    ),
    "fr": re.compile(r"(?:er|re|e|ème|eme|nd|nde)\b"),
    "nl": re.compile(r"(?:e|de|ste)\b"),
    "sv": re.compile(r":[ae]\b"),
    **dict.fromkeys(("es", "it", "pt"), re.compile(r"\.?[ºªoa°](?!\w)")),
    "ru": re.compile(r"-(?:й|го|му|м|я|ю|е|ой|ый|ий|ая|ое|х|ти)\b"),
    "uk": re.compile(r"-(?:й|го|му|м|а|у|е|ї|ої|ий|та|те|х|ти)\b"),
}


def canonical(written: str, lang: str) -> str:
    """Give a number as digits with a decimal point, by the habits of a language.

    Examples
    --------
    >>> canonical("1.234,5", "de"), canonical("1,234.5", "en"), canonical("1.234", "de")
    ('1234.5', '1234.5', '1234')
    >>> canonical("1.234", "en"), canonical("1 234 567", "ru"), canonical("0,50", "cs")
    ('1.234', '1234567', '0.5')
    """
    text = written.replace(" ", "").replace("'", "")
    marks = [c for c in text if c in ".,"]
    if not marks:
        return _plain(text, "")
    last = marks[-1]
    head, _, tail = text.rpartition(last)
    if len(set(marks)) == 2:
        whole = head.replace("," if last == "." else ".", "")
        return _plain(whole, tail) if last not in whole else text  # 1.2,3.4: no number, but a name
    grouped = all(len(part) == 3 for part in text.split(last)[1:]) and len(text.split(last)[0]) <= 3
    if len(marks) > 1:
        return _plain(text.replace(last, ""), "") if grouped else text
    decimal = "." if lang in POINT_LANGUAGES else ","
    if grouped and last != decimal and not head.startswith("0"):
        return _plain(head + tail, "")
    return _plain(head, tail)


def _plain(whole: str, fraction: str) -> str:
    whole, fraction = whole.lstrip("0") or "0", fraction.rstrip("0")
    return f"{whole}.{fraction}" if fraction else whole


def shifted(number: str, power: int) -> str:
    """Multiply a canonical number by a power of ten.

    Examples
    --------
    >>> shifted("1.2", 9), shifted("12", 8), shifted("0.00125", 3)
    ('1200000000', '1200000000', '1.25')
    """
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(power, "0")
    return _plain(whole + fraction[:power], fraction[power:])


@cache
def _tails(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """What may follow digits: a magnitude, a sign or word for percent."""
    words = number_words(lang)
    powers = {**words.magnitudes, **words.plurals}
    longest = sorted(map(re.escape, powers), key=len, reverse=True)
    magnitude = rf"[ -]?({'|'.join(longest)})(?!\w)\.?" if longest else r"(?!)"
    percents = "|".join(map(re.escape, sorted(words.percent, key=len, reverse=True)))
    percent = r"\s?%" + (rf"|[ -]?(?:{percents})(?!\w)" if percents else "")
    return re.compile(magnitude), re.compile(percent)


def find_values(
    text: str, tokens: Sequence[Token], lang: str, months: Sequence[tuple[int, int]] = ()
) -> list[Value]:
    """Find the values of a folded text.

    Parameters
    ----------
    text, tokens
        The folded text and its words.
    lang
        Its language.
    months
        Spans of names of months: a small number beside one is a day.

    Examples
    --------
    >>> [v.id for v in find_values("1,2 mrd. euro, 25 % am 5. platz", [], "de")]
    ['num:1200000000', 'pct:25', 'ord:5']
    """
    found: list[Value] = []
    if _DIGIT.search(text):
        found = _digit_values(text, lang)
    if tokens and not first_words(lang).isdisjoint([t[0] for t in tokens]):
        found = _merged(found, word_values(text, tokens, number_words(lang)))
    if lang in ("zh", "ja", "yue") and CJK_NUMBER.search(text):
        found = _merged(found, cjk_values(text, found))
    if not text.isascii() or "$" in text:
        found += _currency_signs(text, lang, found)
    return _settled(text, _ranges(text, found), months) if found else found


def _digit_values(text: str, lang: str) -> list[Value]:
    found: list[Value] = []
    taken = 0
    dated = {m.start(): m for m in _DATE.finditer(text)}
    clocks = {m.start(): m for m in _CLOCK.finditer(text)}
    clocks |= {m.start(): m for m in _HOUR_MINUTE.finditer(text)} if lang in _HOURS else {}
    for digits in _DIGITS.finditer(text):
        start = digits.start()
        if start < taken:
            continue
        if start in dated and (parts := _date(dated[start], lang)):
            found += parts
            taken = dated[start].end()
        elif start in clocks and (clock := _clock(clocks[start])):
            found.append(clock)
            taken = clock.end
        else:
            value = _number(text, digits, lang)
            if value is not None:
                found.append(value)
                taken = value.end
    return found


def _date(found: re.Match[str], lang: str) -> list[Value]:
    if found[5]:
        year, month, day = 5, 6, 7
    else:
        day, month, year = 1, 3, 4
        if found[2] == "/" and lang == "en" and int(found[1]) <= 12:
            day, month = 3, 1
    if not (1 <= int(found[month]) <= 12 and 1 <= int(found[day]) <= 31):
        return []
    parts = [
        Value(*found.span(day), f"day:{int(found[day])}", "date"),
        Value(*found.span(month), f"month:{int(found[month])}", "month"),
        Value(*found.span(year), f"num:{found[year]}", "number"),
    ]
    return sorted(parts)


def _clock(found: re.Match[str]) -> Value | None:
    groups = found.groups()
    hour = int(groups[0])
    if len(groups) == 2:  # 17h30
        minute, tail = groups[1], "h"
    else:
        minute = groups[2] or groups[4] or "00"
        tail = (groups[5] or "").strip()
    half = tail[:1] if tail[:1] in "ap" and tail else ""
    if half and (hour > 12 or hour == 0):
        half = ""
    if half:
        hour = hour % 12 + (12 if half == "p" else 0)
    hour %= 24
    others = () if half or hour >= 12 or hour == 0 else (f"time:{hour + 12:02}:{minute}",)
    return Value(found.start(), found.end(), f"time:{hour:02}:{minute}", "time", others)


def _number(text: str, found: re.Match[str], lang: str) -> Value | None:
    start, end = found.span()
    number = canonical(found[0], lang)
    magnitude, percent = _tails(lang)
    words = number_words(lang)
    if tail := percent.match(text, end):
        return Value(start, tail.end(), f"pct:{number}", "percent")
    if tail := magnitude.match(text, end):
        power = words.magnitudes.get(tail[1]) or words.plurals[tail[1]]
        if len(tail[1]) > 1 or text[start - 1 : start] in _SYMBOLS:  # 5m may be metres, $5m not
            value = shifted(number, power)
            if whole := percent.match(text, tail.end()):
                return Value(start, whole.end(), f"pct:{value}", "percent")
            return Value(start, tail.end(), f"num:{value}", "number")
    ordinal = _ORDINAL_TAILS.get(lang)
    if ordinal and "." not in number and (tail := ordinal.match(text, end)):
        return Value(start, tail.end(), f"ord:{number}", "ordinal")
    after = text[end : end + 1]
    if after.isalpha() and after.isascii() and text[end : end + 2].isalpha():
        return None  # 4x4s, 3rdparty: part of a name
    return Value(start, end, f"num:{number}", "number")


def _merged(first: list[Value], more: Iterable[Value]) -> list[Value]:
    """Add values that do not overlap those there are; a longer one takes the place of a shorter."""
    kept = list(first)
    for value in more:
        rivals = [v for v in kept if v.start < value.end and value.start < v.end]
        if all(v.end - v.start < value.end - value.start for v in rivals):
            kept = [v for v in kept if v not in rivals]
            kept.append(value)
    return sorted(kept)


def _currency_signs(text: str, lang: str, numbers: Sequence[Value]) -> list[Value]:
    found = []
    for sign in _SYMBOL.finditer(text):
        code = _SYMBOLS[sign[2]]
        if sign[2] == "$" and sign[1]:
            code = _DOLLARS[sign[1]]
        elif sign[2] == "¥" and lang in ("zh", "yue"):
            code = "CNY"
        start = sign.start() if sign[2] == "$" else sign.start(2)
        found.append(Value(start, sign.end(), f"cur:{code}", "currency"))
    for number in numbers:
        start = number.end
        after = text[start : start + 1]
        if after in _CURRENCY_AFTER:
            found.append(Value(start, start + 1, f"cur:{_CURRENCY_AFTER[after]}", "currency"))
        elif after == " ":
            for word, code in _SHORT_CURRENCIES.items():
                end = start + 1 + len(word)
                if text.startswith(word, start + 1) and not text[end : end + 1].isalnum():
                    found.append(Value(start + 1, end, f"cur:{code}", "currency"))
    return found


def _ranges(text: str, found: list[Value]) -> list[Value]:
    """In "from 10 to 20 %" the first number is a percentage as well."""
    result = list(found)
    for at, (value, after) in enumerate(pairwise(found)):
        if (
            value.category == "number"
            and after.category == "percent"
            and after.start > value.end
            and _RANGE.fullmatch(text, value.end, after.start)
        ):
            result[at] = value._replace(id="pct:" + value.id[4:], category="percent")
    return result


def _settled(text: str, found: list[Value], months: Sequence[tuple[int, int]]) -> list[Value]:
    """Turn numbers beside a month into days, and drop ordinals that are mere figures of speech."""
    result = []
    for value in found:
        kind, _, number = value.id.partition(":")
        if kind in ("num", "ord") and len(number) <= 2 and number.isdigit():
            if 1 <= int(number) <= 31 and any(_beside(text, value, month) for month in months):
                result.append(value._replace(id=f"day:{number}", category="date"))
                continue
            if kind == "ord" and int(number) < _FIRST_ORDINAL:
                continue
        result.append(value)
    return sorted(result)


def _beside(text: str, value: Value, month: tuple[int, int]) -> bool:
    start, end = month
    if value.end <= start <= value.end + 8:
        return _DAY_GAP.fullmatch(text, value.end, start) is not None
    if end <= value.start <= end + 6:
        return text[end : value.start] in (" ", ". ", " the ", "", " (")
    return False
