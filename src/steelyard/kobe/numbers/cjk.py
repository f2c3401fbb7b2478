"""Numbers as Chinese and Japanese write them: 12億, 3万5000, 二十五, 百分之三十, 第五, 下午3点."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

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
    at = 0
    while at < len(written):
        char = written[at]
        if char.isdigit() and char not in _DIGITS:
            digits = re.compile(r"\d+(?:[.,]\d+)*").match(written, at)
            assert digits is not None
            if number is not None:
                return None
            number = float(_western(digits[0]))
            at = digits.end()
            continue
        if char in _DIGITS:
            if number is not None and number != 0:
                return None
            number = float(_DIGITS[char])
        elif char in _SMALL:
            section += (1 if number is None else number) * _SMALL[char]
            number = None
        else:
            section += number or 0
            if section == 0:
                return None
            total += section * _LARGE[char]
            section, number = 0.0, None
        at += 1
    value = total + section + (number or 0)
    return int(value) if value == int(value) else None


def _western(digits: str) -> str:
    return digits.replace(",", "") if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits) else digits


def cjk_values(
    text: str, taken: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, str, str, tuple[str, ...]]]:
    """Find values in Chinese or Japanese writing: (start, end, id, category, other readings).

    ``taken`` are spans of values in plain digits; longer ones found here are meant to replace
    them.
    """
    for found in _FIND.finditer(text):
        kind = found.lastgroup
        if kind in ("hour", "half", "minute", "thirty"):
            yield from _clock(found)
        elif kind == "written":
            yield from _written(text, found, taken)
        else:
            assert kind is not None  # every alternative has a name
            number = _any_number(found[kind])
            if number is not None:
                yield from _counted(text, found, kind, number)


def _counted(
    text: str, found: re.Match[str], kind: str, number: str
) -> Iterator[tuple[int, int, str, str, tuple[str, ...]]]:
    start, end = found.span()
    if kind == "percent":
        yield start, end, f"pct:{number}", "percent", ()
    elif kind == "ordinal" and number not in ("1", "2"):
        yield start, end, f"ord:{number}", "ordinal", ()
    elif kind == "day" and number.isdigit() and 1 <= int(number) <= 31:
        yield start, end, f"day:{number}", "date", (f"num:{number}", f"ord:{number}")
    elif kind == "mixed" and text[end : end + 1] in ("%", "\uff05"):
        yield start, end + 1, f"pct:{number}", "percent", ()
    elif kind == "mixed":
        yield start, end, f"num:{number}", "number", ()


def _any_number(written: str) -> str | None:
    if written.isascii():
        return _western(written)
    number = chinese_number(written)
    return None if number is None else str(number)


def _clock(found: re.Match[str]) -> Iterator[tuple[int, int, str, str, tuple[str, ...]]]:
    number = _any_number(found["hour"])
    if number is None or not number.isdigit() or int(number) > 24:
        return
    half, hour = found["half"], int(number)
    if not (half or found["minute"] or found["thirty"] or found["hour"].isdigit()):
        return  # "一点" is mostly "a little"
    minute = "30" if found["thirty"] else f"{int(found['minute'] or 0):02}"
    later = half in ("下午", "晚上", "傍晚", "午後") or (half == "中午" and hour < 11)
    if later and hour < 12:
        hour += 12
    others = () if half or hour >= 12 or hour == 0 else (f"time:{hour + 12:02}:{minute}",)
    yield found.start(), found.end(), f"time:{hour % 24:02}:{minute}", "time", others


def _written(
    text: str, found: re.Match[str], taken: Sequence[tuple[int, int]]
) -> Iterator[tuple[int, int, str, str, tuple[str, ...]]]:
    written = found["written"]
    start, end = found.span()
    after = text[end : end + 1]
    if any(s < end and start < e for s, e in taken) or text.startswith("分之", end):
        return
    if text.startswith("分之", max(0, start - 2)) or written[0] in "百千万萬亿億兆〇零":
        return
    if len(written) == 1 and (after not in _COUNTERS or not after or written == "一"):
        return
    if len(written) == 2 and written[0] == "一" and written[1] in "一二三":
        return
    number = chinese_number(written)
    if number is not None and number > 1:
        yield start, end, f"num:{number}", "number", ()
