"""Values in Chinese, Japanese and Korean writing: 二十五, 12億, 下午3点, 百分之三十."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from fractions import Fraction

from steelyard.kobe.linking.dates import Value, decade, hour_value, two_digits

LANGUAGES = frozenset({"zh", "yue", "ja", "ko"})

_DIGITS = {c: i for i, c in enumerate("〇一二三四五六七八九")} | {
    "零": 0, "两": 2, "兩": 2, "壱": 1, "弐": 2, "参": 3, "廿": 20,
}  # fmt: skip
_SMALL = {"十": 10, "百": 100, "千": 1000, "拾": 10, "백": 100, "천": 1000}
_LARGE = {
    "万": 10**4, "萬": 10**4, "亿": 10**8, "億": 10**8, "兆": 10**12, "만": 10**4, "억": 10**8,
    "조": 10**12,
}  # fmt: skip
_NUMERALS = "".join(c for c in [*_DIGITS, *_SMALL, *_LARGE] if c < "가")
_UNITS = "".join([*_SMALL, *_LARGE])
_PLAIN = r"\d+(?:[.,]\d+)*"
_MIXED = rf"(?:{_PLAIN} ?[余餘多]?(?:(?!千[米克瓦卡赫])[{_UNITS}])+ ?)+(?:\d+(?![\d:.]))?"
_WRITTEN = rf"[{_NUMERALS}]+"
_ANY = rf"(?:{_MIXED}|{_PLAIN}|{_WRITTEN})"
#: What may follow a single numeral that really counts something.
_COUNTERS = frozenset(
    "个個名位人年月日天次岁歳歲家所件种種块倍艘架台臺只隻条條本枚匹头頭国國省市支篇步章点點時时度"
    "回階层層週周杯冊册辆輛組组届屆世代口棵座张張套项項场場句封段株羽戸軒社校室部类類级級颗顆"
    "つ秒ヶケカか公千米克吨升斤元角円圓"
)
#: What else may follow a number of several numerals in Japanese; before other Han it is a part of a
#: word: 八百長, 八百屋.
_AFTER = _COUNTERS | frozenset("分間以余程数目番号票席平立坪畳里弱強超前後半等万億兆割％パ")
_LATER = frozenset("下午 晚上 傍晚 午後 夜 夕方 오후 저녁 밤".split())
_EARLIER = frozenset("上午 早上 凌晨 清晨 中午 午前 朝 早朝 오전 새벽 아침".split())
_SMALL_HOUR = r"[一二三四五六七八九十两]{1,3}"
CJK_NUMBER = re.compile(
    rf"[{_NUMERALS}]|\d ?[{_UNITS}点點时時시日号號成割月월일世年个個后後余餘多]"
)
#: Where any of it may begin: a look at one character is faster than one at all of them.
_BEGIN = rf"(?=[\d\s第{_NUMERALS}{''.join(sorted({word[0] for word in _LATER | _EARLIER}))}])"
_FIND = re.compile(
    rf"{_BEGIN}(?:(?P<half>{'|'.join(sorted(_LATER | _EARLIER))})?\s?"
    rf"(?P<hour>\d{{1,2}}|{_SMALL_HOUR})\s?"
    rf"(?:点钟?|點鐘?|时(?!间|候|代|刻|期|段|尚)|時(?!間|代|期|点|段|計)|시(?![간즌]))"
    rf"(?:\s?(?P<minute>\d{{1,2}})\s?[分분]|\s?(?P<thirty>[半반]))?"
    rf"|百分之(?P<percent>{_ANY})"
    rf"|(?P<points>{_ANY})\s?(?:个百分点|個百分點|パーセント|퍼센트|%|\uff05)"
    rf"|(?P<tenths>\d(?:\.\d)?|[一二三四五六七八九])(?:成(?!为|為|立|员|果|熟|本|长|功|都|绩)|割(?!引|合|り))"
    rf"|(?:(?P<century>\d{{1,2}}|[一二十九八]{{1,3}})\s?(?:世纪|世紀|세기)\s?)?"
    rf"(?P<decade>\d{{2,4}}|[二三四五六七八][三四五六七八九]十|[一二三四五六七八九]〇|[一二三四五六七八九]十)\s?(?:年代|년대)"
    rf"|(?P<born>\d{{2}})[后後](?![^\W]?半)"
    rf"|第\s?(?P<ordinal>\d+|{_WRITTEN})"
    rf"|(?P<month>\d{{1,2}}|十?[一二三四五六七八九十])\s?[月월](?![球亮光饼餅薪租底份]?\w?饼|球|亮|光|饼)"
    rf"|(?P<day>\d{{1,2}}|[一二三四五六七八九十廿]{{1,3}})\s?(?:日(?!間|本|元|币|目)|일(?!간)|号(?!码|线|楼|店)|號)"
    rf"|(?P<halves>{_ANY})\s?(?:个|個|年|小时|小時|時間|岁|歳|天|日|个月|ヶ月|か月|倍|시간|년)(?=半|반)"
    rf"|(?P<mixed>{_MIXED})|(?P<written>{_WRITTEN}))"
)


def chinese_number(written: str) -> int | None:
    """Read a number in Chinese numerals, or digits and units; None if it is none.

    Examples
    --------
    >>> chinese_number("二十五"), chinese_number("3万5000"), chinese_number("2.1万亿")
    (25, 35000, 2100000000000)
    """
    written = re.sub("[ 余餘多]", "", written)  # 30余万: a little more than 300,000
    if all(c in _DIGITS for c in written):
        return int("".join(str(_DIGITS[c]) for c in written)) if len(written) != 2 else None
    total = section = Fraction(0)
    number: Fraction | None = None
    for part in re.findall(r"\d+(?:[.,]\d+)*|\D", written):
        if part[0].isdigit():
            digits = _western(part)
            if number is not None or digits is None:
                return None  # 1,5万 is no number in either language
            number = Fraction(digits)
        elif part in _DIGITS:
            if number:
                return None
            number = Fraction(_DIGITS[part])
        elif part in _SMALL:
            section += (1 if number is None else number) * _SMALL[part]
            number = None
        else:
            section += number or 0
            if section == 0:
                if total == 0:
                    return None
                total *= _LARGE[part]  # 万亿
            total += section * _LARGE[part]
            section, number = Fraction(0), None
    value = total + section + (number or 0)
    return int(value) if value.denominator == 1 else None


def _western(digits: str) -> str | None:
    """Return a number in digits without its commas, None if it is none."""
    if re.fullmatch(r"\d{1,3}(,\d{3})+(\.\d+)?", digits):
        digits = digits.replace(",", "")
    return digits if re.fullmatch(r"\d+(\.\d+)?", digits) else None


def _any_number(written: str) -> str | None:
    if written.strip().isascii():
        return _western(written.strip())
    number = chinese_number(written)
    return None if number is None else str(number)


def cjk_values(text: str, taken: Sequence[Value], lang: str = "zh") -> Iterator[Value]:
    """Find values in Chinese, Japanese or Korean writing.

    ``taken`` are values in plain digits; longer ones are meant to replace them.
    """
    for match in _FIND.finditer(text):
        kind = match.lastgroup or ""
        if kind in ("hour", "half", "minute", "thirty"):
            value = _clock(match)
        elif kind == "written":
            value = _written(text, match, taken)
            after = text[match.end() : match.end() + 1]
            if value and lang == "ja" and "\u3400" <= after <= "\u9fff" and after not in _AFTER:
                value = value._replace(doubtful=True)  # rather the front of a word: 八百長
        else:
            value = _counted(text, match, kind)
            # Without a month, 1日 is a day rather than the first.
            if value and lang == "ja" and kind == "day" and value.id == "num:1":
                value = value._replace(doubtful=text[value.start - 1 : value.start] != "月")
        if value is not None:
            yield value


def _counted(text: str, match: re.Match[str], kind: str) -> Value | None:  # noqa: PLR0911
    number = _any_number(match[kind])
    start, end = match.span()
    if kind == "decade" and number is None:  # 六七十年代: two of them, the first is enough
        number = str(10 * _DIGITS[match[kind][0]])
    if number is None or _vague(text, start):
        return None
    if kind in ("percent", "points"):
        return Value(start, end, f"pct:{number}", "percent")
    if kind == "tenths":
        return Value(start, end, f"pct:{_plain(10 * Fraction(number))}", "percent", doubtful=True)
    if kind == "decade":
        century = _any_number(match["century"]) if match["century"] else None
        return decade(start, end, int(number), century=int(century) if century else None)
    if kind == "born":  # 95后: who was born in 1995 or later
        return two_digits(start, end - 1, int(number))._replace(doubtful=True)
    if kind == "ordinal":
        return Value(start, end, f"num:{number}", "ordinal", doubtful=number in ("1", "2"))
    if kind == "month" and 1 <= int(number) <= 12:
        return Value(start, end, f"month:{number}", "month")
    if kind == "day" and number.isdigit() and 1 <= int(number) <= 31:
        return Value(start, end, f"num:{number}", "date")
    if kind == "halves":
        more = _plain(Fraction(number) + Fraction(1, 2))
        return Value(start, match.end(kind), f"num:{more}", "number", (f"num:{number}",))
    if kind == "mixed":
        return Value(start, start + len(match[0].rstrip()), f"num:{number}", "number")
    return None


def _plain(value: Fraction) -> str:
    return str(int(value)) if value.denominator == 1 else f"{float(value):g}"


def _clock(match: re.Match[str]) -> Value | None:
    number = _any_number(match["hour"])
    half = match["half"]
    if number is None or int(number) > 24:
        return None
    if not (half or match["minute"] or match["thirty"] or match["hour"].isdigit()):
        return None  # "一点" is mostly "a little"
    hour, minute = int(number), 30 if match["thirty"] else int(match["minute"] or 0)
    if half in _LATER or (half == "中午" and hour < 11):
        side = "p"
    else:
        side = "a" if half in _EARLIER else ""
    start = match.start() if half else match.start("hour")
    return hour_value(start, start + len(match[0].strip()), hour, minute, side)


def _vague(text: str, start: int) -> bool:
    """Tell whether a number is only a part of "some dozens", "several hundred"."""
    return start > 0 and text[start - 1] in "几幾数數"


def _written(text: str, match: re.Match[str], taken: Sequence[Value]) -> Value | None:
    written = match["written"]
    start, end = match.span()
    before, after = text[max(0, start - 1) : start], text[end : end + 1]
    single = len(written) == 1
    counts = after in _COUNTERS or before == "前"  # 前三季度: the first three quarters
    if (
        any(v.start < end and start < v.end for v in taken)
        or text.startswith("分之", end)
        or text.startswith("分之", max(0, start - 2))
        or written[0] in "百千万萬亿億兆〇零"
        or (single and (not counts or written == "一"))
        or _vague(text, start)
        or written in ("一一", "一二", "一三")
        or written + after in ("四周", "三口", "两口")
    ):
        return None
    number = chinese_number(written) or 0
    spelt = all(c in _DIGITS for c in written) and not single
    year = after == "年" and len(written) == 4 and text[end + 1 : end + 2] not in "级級"
    if spelt and not (year or "〇" in written or "零" in written):
        return None  # 三四五六: one after the other
    # 十几 is more than ten, and who has 两人 may say "both" or nothing.
    loose = after in ("几", "幾", "来", "數", "数") or before == "双"
    return Value(start, end, f"num:{number}", "number", doubtful=loose) if number > 1 else None
