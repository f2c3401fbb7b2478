"""Signs, codes and short words of currencies beside numbers; currencies that share a name.

A bare sign or name may mean any currency of its family: ``$`` is most often the US dollar, but an
Australian's dollar as well. The others are further readings.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from steelyard.kobe.linking.written import LETTERS, Value

_SYMBOLS = {
    "$": "USD", "€": "EUR", "£": "GBP", "¥": "JPY", "₽": "RUB", "₴": "UAH", "₹": "INR", "₩": "KRW",
    "₺": "TRY", "₪": "ILS", "₫": "VND", "฿": "THB", "₱": "PHP", "₸": "KZT", "₦": "NGN", "₡": "CRC",
}  # fmt: skip
_DOLLARS = {"a": "AUD", "au": "AUD", "c": "CAD", "ca": "CAD", "hk": "HKD", "nz": "NZD", "s": "SGD",
            "r": "BRL", "us": "USD", "u.s. ": "USD", "nt": "TWD", "mx": "MXN"}  # fmt: skip
_LONGEST = sorted(map(re.escape, _DOLLARS), key=len, reverse=True)
_SYMBOL = re.compile(rf"(?:(?<![a-z])({'|'.join(_LONGEST)}))?([{re.escape(''.join(_SYMBOLS))}])")
SIGN = re.compile(rf"[{re.escape(''.join(_SYMBOLS))}]")
#: Currencies that a bare name or sign may mean as well.
FAMILIES = {
    "USD": ("AUD", "CAD", "HKD", "NZD", "SGD", "TWD"),
    "CZK": ("SEK", "NOK", "DKK", "ISK"),
    "SEK": ("CZK", "NOK", "DKK", "ISK"),
    "NOK": ("CZK", "SEK", "DKK", "ISK"),
    "DKK": ("CZK", "SEK", "NOK", "ISK"),
    "INR": ("PKR", "LKR", "NPR", "IDR"),
    "JPY": ("CNY",),
    "CNY": ("JPY", "TWD"),
    "MXN": ("ARS", "CLP", "COP", "PHP", "CUP", "UYU"),
    "RUB": ("BYN",),
    "CHF": ("XOF", "XAF", "FRF"),
    "GBP": ("EGP", "SYP", "LBP"),
    "EGP": ("GBP", "SDG", "SYP", "LBP"),
    "SAR": ("QAR", "YER", "OMR", "IRR", "BRL"),
    "AED": ("MAD",),
    "KWD": ("JOD", "IQD", "BHD", "TND", "DZD", "LYD", "RSD"),
    "TRY": ("SYP", "LBP", "ITL"),
}
_CODES = (
    "USD EUR GBP JPY CNY RMB CHF CZK PLN HUF RUB UAH SEK NOK DKK AUD CAD NZD HKD SGD TWD KRW INR "
    "PKR BRL MXN ARS CLP COP ZAR TRY ILS AED SAR EGP THB VND IDR MYR PHP NGN KES RON BGN RSD KZT"
)
_CODE_AFTER = re.compile(rf"[ -]?({_CODES.replace(' ', '|')})(?![^\W\d_])")
_CODE_BEFORE = re.compile(rf"(?<![^\W\d_])({_CODES.replace(' ', '|')})[ $€£]?$")
#: Short words beside a number, in any language that has them: folded, with what they may mean.
_WORDS = {
    "czk": "CZK", "rmb": "CNY",
    "kč": "CZK", "kc": "CZK", "zł": "PLN", "zl": "PLN", "złoty": "PLN", "złotych": "PLN",
    "руб": "RUB", "р": "RUB", "грн": "UAH", "rs": "INR", "rs.": "INR", "re": "", "₹": "INR",
    "bucks": "USD", "buck": "USD", "quid": "GBP", "crown": "CZK", "crowns": "CZK",
    "koruna": "CZK", "koruny": "CZK", "korun": "CZK", "korunami": "CZK", "korunách": "CZK",
    "kronen": "CZK", "krone": "NOK", "kroner": "NOK", "kronor": "SEK", "krona": "SEK",
    "kr": "SEK", "euros": "EUR", "euro": "EUR", "eur": "EUR", "евро": "EUR", "eura": "EUR",
    "eurot": "EUR", "euroa": "EUR", "euron": "EUR", "eurón": "EUR", "євро": "EUR",
    "rupees": "INR", "rupee": "INR", "rupien": "INR", "рупий": "INR", "रुपये": "INR",
    "रुपए": "INR", "रुपयों": "INR", "रुपया": "INR", "रु": "INR", "डॉलर": "USD", "यूरो": "EUR",
    "दिनार": "", "peso": "MXN", "pesos": "MXN", "yuan": "CNY", "юаней": "CNY", "юаня": "CNY",
    "jüanů": "CNY", "kuai": "CNY", "ft": "HUF", "forint": "HUF", "forintot": "HUF", "tl": "TRY",
    "lira": "TRY", "dolar": "USD", "dolary": "USD", "dolarů": "USD", "доллара": "USD",
    "долларов": "USD", "долл": "USD", "dollaria": "USD", "dollár": "USD", "dollárt": "USD",
    "dolarów": "USD", "يورو": "EUR", "دولار": "USD", "دولارا": "USD", "دولارات": "USD",
    "ريال": "SAR", "ريالا": "SAR", "ريالات": "SAR", "درهم": "AED", "درهما": "AED",
    "دراهم": "AED", "دينار": "KWD", "دينارا": "KWD", "دنانير": "KWD", "جنيه": "EGP",
    "جنيها": "EGP", "جنيهات": "EGP", "ليرة": "TRY", "ليرات": "TRY",
    "유로": "EUR", "달러": "USD", "엔": "JPY", "위안": "CNY", "파운드": "GBP",
}  # fmt: skip
_WORD_AFTER = re.compile(rf"[ -]?(?:de |d'|di )?({LETTERS}|₹)(?!\w)")
_WORD_BEFORE = re.compile(r"(?<!\w)(kč|czk|rs|rs\.|kr|kr\.|eur|euro|rmb) ?$")
_AFTER = {
    "元": "CNY", "块": "CNY", "塊": "TWD", "円": "JPY", "圓": "TWD", "원": "KRW", "ドル": "USD",
    "ユーロ": "EUR", "ポンド": "GBP", "ウォン": "KRW", "달러": "USD", "유로": "EUR", "엔": "JPY",
    "위안": "CNY", "刀": "USD", "日元": "JPY", "美元": "USD", "美金": "USD", "欧元": "EUR",
    "歐元": "EUR", "英镑": "GBP", "英鎊": "GBP", "港元": "HKD", "港币": "HKD", "韩元": "KRW",
    "卢布": "RUB", "卢比": "INR", "人民币": "CNY", "新台币": "TWD", "加元": "CAD", "澳元": "AUD",
    "新元": "SGD", "瑞士法郎": "CHF", "人民元": "CNY", "ルーブル": "RUB", "ルピー": "INR",
    "ペソ": "MXN", "フラン": "CHF",
}  # fmt: skip
_CJK = re.compile(rf"\s?({'|'.join(sorted(_AFTER, key=len, reverse=True))})(?!件|素|首|老|月|旦)")
#: Currencies that every reader knows: their names are hardly ever another word.
COMMON = frozenset("USD EUR GBP JPY CNY CHF RUB CZK PLN UAH INR SEK NOK DKK HUF TRY KRW".split())


def readings(code: str) -> tuple[str, ...]:
    """Give the other currencies that a bare name or sign of one may mean.

    Examples
    --------
    >>> readings("CHF")
    ('cur:XOF', 'cur:XAF', 'cur:FRF')
    """
    return tuple(f"cur:{other}" for other in FAMILIES.get(code, ()))


def currencies(text: str, written: str, lang: str, numbers: Sequence[Value]) -> Iterator[Value]:
    """Find currencies by their signs anywhere, by codes and short words beside numbers."""
    for sign in _SYMBOL.finditer(text) if SIGN.search(text) else ():
        code, others = _SYMBOLS[sign[2]], readings(_SYMBOLS[sign[2]])
        if sign[2] == "$" and sign[1]:
            code, others = _DOLLARS[sign[1]], ()
        elif sign[2] == "¥" and lang in ("zh", "yue"):
            code = "CNY"
            others = ("cur:JPY",)
        start = sign.start() if sign[2] == "$" else sign.start(2)
        beside = text[start - 1 : start].isdigit() or any(
            0 <= v.start - sign.end() <= 1 or 0 <= start - v.end <= 1 for v in numbers
        )
        yield Value(start, sign.end(), f"cur:{code}", "currency", others, not beside)
    for number in numbers:
        if number.category in ("time", "percent", "month", "currency"):
            continue
        codes = (
            _CODE_AFTER.match(written, number.end),
            _CODE_BEFORE.search(written, max(0, number.start - 5), number.start),
        )
        for found in filter(None, codes):
            code = "CNY" if found[1] == "RMB" else found[1]
            yield Value(*found.span(1), f"cur:{code}", "currency")
        if cjk := _CJK.match(text, number.end):
            code = _AFTER[cjk[1]]
            others = readings(code) if cjk[1] in ("元", "块", "ドル", "ルピー") else ()
            yield Value(*cjk.span(1), f"cur:{code}", "currency", others)
        elif (after := _WORD_AFTER.match(text, number.end)) and _WORDS.get(after[1]):
            code = _WORDS[after[1]]
            yield Value(*after.span(1), f"cur:{code}", "currency", readings(code))
        if before := _WORD_BEFORE.search(text, max(0, number.start - 5), number.start):
            code = _WORDS[before[1].rstrip(".")]
            if code:
                yield Value(*before.span(1), f"cur:{code}", "currency", readings(code))
