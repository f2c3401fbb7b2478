"""Numbers that are written out: ``vierundzwanzig``, ``pěti``, 二十五, 12億, 下午3点.

The words of a language are in ``words/*.toml``, folded; how they are put together is here. A
cardinal is worth less than 1000 by itself, ``hundred`` multiplies what stands before it, and so do
magnitudes; a magnitude in the plural says nothing alone ("thousands came").

In a file, words stand in the order of their numbers, the forms of one number between slashes, and
``-`` where there is none: ``cardinals`` and ``ordinals`` from 1 on, ``tens`` from 20, ``hundreds``
from 100. ``ordinals`` are stems where there are ``ordinal_endings``; ``units`` are 1 to 9 as they
stand within longer words; magnitudes come with their power of ten.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from itertools import product
from typing import Any, NamedTuple

LANGUAGES = ("cs", "de", "en", "es", "fr", "it", "nl", "pl", "pt", "ru", "sv", "uk")


class Value(NamedTuple):
    """A value and its span in the folded text; ``others`` are further readings."""

    start: int
    end: int
    id: str
    category: str
    others: tuple[str, ...] = ()


#: A word of the folded text: itself, its start and its end.
Token = tuple[str, int, int]


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
    file = files("steelyard.kobe.linking").joinpath("words", f"{lang}.toml")
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


# -- numbers of several words

_LONE_ONE = 1  # "one" and "ein" are articles and pronouns far too often


def word_values(text: str, tokens: Sequence[Token], words: NumberWords) -> list[Value]:
    """Find numbers in words, among the words of a folded text."""
    found = []
    end = 0
    for at, (word, start, stop) in enumerate(tokens):
        if at < end:
            continue
        if word in words.ordinals and word not in words.cardinals:
            found.append(Value(start, stop, f"ord:{words.ordinals[word]}", "ordinal"))
            continue
        value, end = _spoken(text, tokens, at, words)
        if value > _LONE_ONE:
            last = tokens[end - 1][2]
            if tail := _percent_word(text, last, words):
                found.append(Value(start, tail, f"pct:{value}", "percent"))
            else:
                found.append(Value(start, last, f"num:{value}", "number"))
    return found


def _percent_word(text: str, at: int, words: NumberWords) -> int:
    for word in words.percent:
        if text.startswith(word, at + 1) and not text[at + 1 + len(word) :][:1].isalnum():
            return at + 1 + len(word)
    return 0


def _spoken(  # noqa: C901, PLR0912 - the grammar of numbers, in one place
    text: str, tokens: Sequence[Token], at: int, words: NumberWords
) -> tuple[int, int]:
    """Read a number in words from a token on; give it (0: none) and the token after it."""
    total = current = 0
    end, seen = at, False
    limit = 10**18
    for i in range(at, len(tokens)):
        word = tokens[i][0]
        if i > at and text[tokens[i - 1][2] : tokens[i][1]] not in (" ", "-"):
            break
        if word in words.joiners and seen:
            continue
        power = words.magnitudes.get(word) or (words.plurals.get(word) if seen else None)
        if word in words.cardinals:
            value = words.cardinals[word]
            if value == 20 and current == 4 and words.by_twenties:
                current = 80
            elif value >= 1000:
                if seen:
                    break
                total, limit = value, 1000
            elif not _fits(current, value, by_twenties=words.by_twenties):
                break
            else:
                current += value
        elif word in words.hundreds:
            if current > 9 or (not seen and current):
                break
            current = max(current, 1) * 100
        elif power:
            if 10**power >= limit or (seen and not current):
                break
            total += max(current, 1) * 10**power
            limit, current = 10**power, 0
        else:
            break
        seen, end = True, i + 1
    return total + current, end


def _fits(current: int, value: int, *, by_twenties: bool) -> bool:
    """Whether a smaller number may follow: twenty-five, but not five twenty."""
    if current == 0:
        return True
    if by_twenties and 10 <= value < 20:  # soixante-dix, quatre-vingt-quinze
        return current % 100 in (0, 60, 80)
    if value < 10:
        joins = current % 10 == 0 and current % 100 != 10
        return joins or (by_twenties and value > 6 and current % 100 in (10, 70, 90))
    return value < 100 and current % 100 == 0


# -- Chinese and Japanese

_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "两": 2, "兩": 2, "壱": 1, "弐": 2, "参": 3,
}  # fmt: skip
_SMALL = {"十": 10, "百": 100, "千": 1000, "拾": 10}
_LARGE = {"万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12}
_NUMERALS = "".join([*_DIGITS, *_SMALL, *_LARGE])
_UNITS = "".join([*_SMALL, *_LARGE])
_MIXED = rf"(?:\d+(?:[.,]\d+)*[{_UNITS}]+)+(?:\d+)?"
_WRITTEN = rf"[{_NUMERALS}]+"
#: What may follow a single numeral that really counts something.
_COUNTERS = (
    "个個名位人年月日天次岁歳歲家所件种種块倍艘架台只隻条條本枚匹头頭国國省市支篇步章点點時时度"
)
CJK_NUMBER = re.compile(rf"[{_NUMERALS}]|\d[点點时時日号號成]")
_FIND = re.compile(
    rf"(?P<half>上午|早上|凌晨|中午|下午|晚上|傍晚|午前|午後)?(?P<hour>\d{{1,2}}|[一二三四五六七八九十两]{{1,3}})"
    rf"(?:点钟?|點鐘?|时(?!间|候|代|刻)|時(?!間|代|期|点))(?:(?P<minute>\d{{1,2}})分|(?P<thirty>半))?"
    rf"|百分之(?P<percent>{_MIXED}|\d+(?:[.,]\d+)*|{_WRITTEN})"
    rf"|第(?P<ordinal>\d+|{_WRITTEN})"
    rf"|(?P<day>\d{{1,2}}|[一二三四五六七八九十廿]{{1,3}})(?:日(?!間|本|元|币)|号(?!码|线|楼|店)|號)"
    rf"|(?P<mixed>{_MIXED})|(?P<written>{_WRITTEN})"
)


def chinese_number(written: str) -> int | None:
    """Read a number in Chinese numerals, or digits and units; None where it is none.

    Examples
    --------
    >>> chinese_number("二十五"), chinese_number("3万5000"), chinese_number("十二億")
    (25, 35000, 1200000000)
    >>> chinese_number("二〇二四"), chinese_number("二三十") is None
    (2024, True)
    """
    if all(c in _DIGITS for c in written):
        return int("".join(str(_DIGITS[c]) for c in written)) if len(written) != 2 else None
    total = section = 0.0
    number: float | None = None
    for part in re.findall(r"\d+(?:[.,]\d+)*|\D", written):
        if part[0].isdigit():
            digits = _western(part)
            if number is not None or not re.fullmatch(r"\d+(\.\d+)?", digits):
                return None  # 1,5万 is no number in either language
            number = float(digits)
        elif part in _DIGITS:
            if number:
                return None
            number = float(_DIGITS[part])
        elif part in _SMALL:
            section += (1 if number is None else number) * _SMALL[part]
            number = None
        else:
            section += number or 0
            if section == 0:
                return None
            total += section * _LARGE[part]
            section, number = 0.0, None
    value = total + section + (number or 0)
    return int(value) if value == int(value) else None


def _western(digits: str) -> str:
    return digits.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits) else digits


def cjk_values(text: str, taken: Sequence[Value]) -> Iterator[Value]:
    """Find values in Chinese or Japanese writing.

    ``taken`` are values in plain digits; longer ones found here are meant to replace them.
    """
    for found in _FIND.finditer(text):
        kind = found.lastgroup
        if kind in ("hour", "half", "minute", "thirty"):
            value = _clock(found)
        elif kind == "written":
            value = _written(text, found, taken)
        else:
            assert kind is not None  # every alternative has a name
            value = _counted(text, found, kind)
        if value is not None:
            yield value


def _counted(text: str, found: re.Match[str], kind: str) -> Value | None:
    number = _any_number(found[kind])
    start, end = found.span()
    if number is None:
        return None
    if kind == "percent":
        return Value(start, end, f"pct:{number}", "percent")
    if kind == "ordinal" and number not in ("1", "2"):
        return Value(start, end, f"ord:{number}", "ordinal")
    if kind == "day" and number.isdigit() and 1 <= int(number) <= 31:
        return Value(start, end, f"day:{number}", "date", (f"num:{number}", f"ord:{number}"))
    if kind == "mixed" and text[end : end + 1] in ("%", "\uff05"):
        return Value(start, end + 1, f"pct:{number}", "percent")
    return Value(start, end, f"num:{number}", "number") if kind == "mixed" else None


def _any_number(written: str) -> str | None:
    if written.isascii():
        return _western(written)
    number = chinese_number(written)
    return None if number is None else str(number)


def _clock(found: re.Match[str]) -> Value | None:
    number = _any_number(found["hour"])
    if number is None or not number.isdigit() or int(number) > 24:
        return None
    half, hour = found["half"], int(number)
    if not (half or found["minute"] or found["thirty"] or found["hour"].isdigit()):
        return None  # "一点" is mostly "a little"
    minute = "30" if found["thirty"] else f"{int(found['minute'] or 0):02}"
    later = half in ("下午", "晚上", "傍晚", "午後") or (half == "中午" and hour < 11)
    if later and hour < 12:
        hour += 12
    others = () if half or hour >= 12 or hour == 0 else (f"time:{hour + 12:02}:{minute}",)
    return Value(found.start(), found.end(), f"time:{hour % 24:02}:{minute}", "time", others)


def _written(text: str, found: re.Match[str], taken: Sequence[Value]) -> Value | None:
    written = found["written"]
    start, end = found.span()
    after = text[end : end + 1]
    if (
        any(v.start < end and start < v.end for v in taken)
        or text.startswith("分之", end)
        or text.startswith("分之", max(0, start - 2))
        or written[0] in "百千万萬亿億兆〇零"
        or (len(written) == 1 and (after not in _COUNTERS or not after or written == "一"))
        or written in ("一一", "一二", "一三")
    ):
        return None
    number = chinese_number(written) or 0
    return Value(start, end, f"num:{number}", "number") if number > 1 else None
