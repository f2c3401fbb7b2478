"""Values: numbers, percentages, ordinals, dates, clock times and currencies in a text.

A value becomes an id that is the same in every language and script: ``1.234,5`` in German,
``1,234.5`` in English and ``1 234,5`` in French are ``num:1234.5``; ``12億`` is ``num:1200000000``.
Ordinals and days are their numbers, too: one language's "5th floor" is another's "floor 5". An
amount of money is its number and its currency, a date its day, month and year, so that one wrong
part does not hide the others. Everything here works on text that was folded
(:mod:`steelyard.kobe.linking.wordforms`).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import pairwise

from steelyard.kobe.linking import hanzi
from steelyard.kobe.linking.dates import (
    arabic_hours,
    clocks,
    dates,
    decade_at,
    dotted_time,
    has_roman,
    roman_numbers,
)
from steelyard.kobe.linking.money import SIGN, currencies
from steelyard.kobe.linking.numberwords import number_words, silent_words, telling_words
from steelyard.kobe.linking.unitnames import glued_symbol
from steelyard.kobe.linking.written import (
    Token,
    Value,
    adjective_values,
    at_runs,
    digit_runs,
    half_after,
    text_of,
    word_values,
)

#: Languages that write 1,234.5; all others write 1.234,5 or 1 234,5.
POINT_LANGUAGES = frozenset(
    "am ar bn cy en fil ga gu he hi ja kn ko ml mr ms mt my ne pa si sw ta te th ti ur yue"
    " zh".split()
)
_SEPARATE_COMMA = frozenset({"zh", "yue", "ja", "ko"})  # 6,8 is two numbers
_NUMBER = r"\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:-\d+){2,}(?![-\d])|\d+(?:[.,'٫٬]\d+)*"
_DIGIT = re.compile(r"\d")
_DIGITS = re.compile(rf"(?:(?<![a-zà-ÿа-яё_\d])|(?<=[\d ][xх]))(?:{_NUMBER})")
_DIGITS_APART = re.compile(
    r"(?:(?<![a-zà-ÿа-яё_\d])|(?<=[\d ]x))"
    r"(?:\d+(?:-\d+){2,}(?![-\d])|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
)
#: Letters and digits in one: the digits may stand apart in another language (E 94 and E94).
_GLUED = re.compile(r"\d(?<=[^\W\d_]\d)\d{0,3}(?![A-Za-z\d]|[.,]\d)")
_FRACTIONS = {"1⁄2": 0.5, "1⁄4": 0.25, "3⁄4": 0.75}
_FRACTION = re.compile(r"(\d*?) ?(1⁄2|1⁄4|3⁄4)(?!\d)")
#: What is no number though it has digits: addresses, handles, tags, names of files.
_MASKED = re.compile(
    r"(?:https?://|www\.)\S+|(?<!\d)24/7(?!\d)|[\w.+-]+@[\w-]+\.[\w.]+|[@#](?=\w*[^\W\d])\w+"
    r"|[\w-]+\.(?:com|org|net|de|cn|ru|cz|co\.uk|pdf|docx?|xlsx?|pptx?|txt|csv|json|xml|html?|zip|"
    r"jpe?g|png|gif|mp[34]|exe|py|svg)\b(?:/\S*)?"
)
_MASK_SIGNS = ("://", "www.", "@", "#", "24/7")
_MASK_HINT = re.compile(r"\.(?<=\w\.)[a-z]{2,4}\b")
_PHONE = re.compile(
    r"\+\d{1,3}(?:[ ()/.-]{0,2}\d){6,13}|\(\d{2,5}\) ?\d(?:[ -]?\d){4,9}"
    r"|(?<![\d-])\d{3}-\d{3,4}-\d{4}(?![\d-])"
    r"|(?<![\d.,])0\d{1,4}[ /-]\d(?:[ -]?\d){4,9}(?![\d.,%])"
)
_SHORTEST_PHONE = 7  # digits
_LISTED = re.compile(r"^[ \t(*•-]*(\d{1,2})(?=[.)、:](?!\d)|\))", re.MULTILINE)
_VERSION_BEFORE = re.compile(
    r"(?:versio?n?\w*|verz\w*|верси\w*|v|ver|版|release|python|ios|android|windows|macos|bios)"
    r"[.:]? ?v?$"
)
_RANGE = re.compile(
    r"(?:\.|-?\w{1,2})?\s?(?:-|—|~|〜|/|to|and|or|bis|und|oder|à|a|et|ou|al|до|и|по|или|až|az"
    r"|y|o|u|e|i|do|och|till|eller|en|tot|of|至|到|から|和|与|、|ja|és|ve|ile|से|और|या|إلى|و|та|та|або|по)\s?"
    r"(?:the |den |dem |am |zum |на )?"
)
_LIST = re.compile(r"\.?(?:, ?|、)")
_DAY_GAP = re.compile(r"(?:st|nd|rd|th)?[.,]?\s?(?:of|de|del|d'|den|-ro|-е|-го|º|\.º)?\s?(?:the )?")
_ENGLISH_ORDINAL = re.compile(r"(?:st|nd|rd|th)\b")
_DOT_ORDINAL = re.compile(r"\.(?= ?[^\W\d])")
_ORDINAL_TAILS = {
    "en": _ENGLISH_ORDINAL,
    **dict.fromkeys(
        ("de", "cs", "sk", "pl", "hu", "fi", "da", "nb", "sl", "hr", "sr", "bs", "et", "tr", "lv"),
        _DOT_ORDINAL,
    ),
    "fr": re.compile(r"(?:er|re|e|ème|eme|nd|nde)\b"),
    "nl": re.compile(r"(?:e|de|ste)\b"),
    "sv": re.compile(r":[ae]\b"),
    **dict.fromkeys(("es", "it", "pt"), re.compile(r"\.?[ºªoa°](?!\w)")),
    "ru": re.compile(r"-(?:й|го|му|м|я|ю|е|ой|ый|ий|ая|ое|х|ти|ом|ым|ых)\b"),
    "uk": re.compile(r"-(?:й|го|му|м|а|у|е|ї|ої|ий|та|те|х|ти|ому|им|их)\b"),
}
_LARGEST_ORDINAL = 999  # 2021. is the end of a sentence
_ENGLISH_MONTH = re.compile(
    r"\b(march|may)\b(?=\.? \d{1,2}(?:st|nd|rd|th)?\b(?! people| %|%))|(?<=\d )(march|may)\b|"
    r"(?<=(?:st|nd|rd|th) )(march|may)\b|\b(march|may)\b(?=,? (?:19|20)\d\d\b)"
)
_ENGLISH_MONTHS = {"march": 3, "may": 5}
_YEARS = range(1000, 2200)
_MONEY_SIGNS = "$€£¥₽₴₹"
_SILENT = 200_000  # words of a language that are known to be no number


def canonical(written: str, lang: str) -> str:
    """Give a number as digits with a decimal point, by the habits of a language.

    Examples
    --------
    >>> canonical("1.234,5", "de"), canonical("1,234.5", "en"), canonical("1.234", "de")
    ('1234.5', '1234.5', '1234')
    >>> canonical("1.234", "en"), canonical("1 234 567", "ru"), canonical("0,50", "cs")
    ('1.234', '1234567', '0.5')
    >>> canonical("12,34,567.5", "hi")
    '1234567.5'
    """
    text = written.replace(" ", "").replace("'", "").replace("٬", ",").replace("٫", ".")
    if "-" in text:
        return text
    marks = [c for c in text if c in ".,"]
    if not marks:
        return _plain(text, "")
    last = marks[-1]
    head, _, tail = text.rpartition(last)
    if len(set(marks)) == 2:
        whole = head.replace("," if last == "." else ".", "")
        return _plain(whole, tail) if last not in whole else text  # 1.2,3.4: no number, but a name
    parts = text.split(last)
    grouped = all(len(part) == 3 for part in parts[1:]) and len(parts[0]) <= 3
    indian = last == "," and len(parts) > 2 and len(parts[-1]) == 3 and len(parts[0]) <= 2
    grouped = grouped or (indian and all(len(part) == 2 for part in parts[1:-1]))
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
    powers = {**words.magnitudes, **words.plurals, "k": 3}
    longest = sorted(map(re.escape, powers), key=len, reverse=True)
    magnitude = rf"[ -]?({'|'.join(longest)})(?!\w)"
    percents = [
        re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "")
        for word in sorted(words.percent, key=len, reverse=True)
    ]
    signs = r"\s?[%٪](?:-?ig\w*|n[íý]\w*|-й|-ный|-ная|-ное)?"
    words_ = rf"|[ -]?(?:{'|'.join(percents)})(?!\w)" if percents else ""
    return re.compile(magnitude), re.compile(signs + words_)


def find_values(
    text: str,
    tokens: Sequence[Token],
    lang: str,
    months: Sequence[tuple[int, int]] = (),
    written: str | None = None,
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
    written
        The text with its capitals, in the places of the folded one; the folded one by default.

    Examples
    --------
    >>> [v.id for v in find_values("1,2 mrd. euro, 25 % am 5. platz", [], "de")]
    ['num:1200000000', 'cur:EUR', 'pct:25', 'num:5']
    """
    written = text if written is None else written
    found: list[Value] = []
    if _DIGIT.search(text):
        found = _digit_values(text, written, lang)
    words = number_words(lang)
    own = [token[0] for token in tokens]
    spoken = not own or not silent_words(lang).issuperset(own)
    if spoken and _are_silent(own, lang):
        spoken = False
    if (
        spoken
        and tokens
        and (
            not telling_words(lang).isdisjoint(own)
            or (words.inside and any(part in text for part, _ in words.inside))
        )
    ):
        found = _merged(found, word_values(text, tokens, lang))
    if lang == "ar" and "الساعة " in text:
        found = _merged(found, arabic_hours(text))
    if spoken and words.adjective is not None:
        found = _merged(found, adjective_values(text, words))
    if lang in hanzi.LANGUAGES and hanzi.CJK_NUMBER.search(text):
        found = _merged(found, hanzi.cjk_values(text, found, lang))
    if has_roman(written):
        found = _merged(found, roman_numbers(written, text))
    if lang == "en" and found and ("May" in written or "March" in written):
        found = _merged(found, _english_months(text, written))
    if found or ((not text.isascii() or "$" in text) and SIGN.search(text)):
        found = _merged(found, currencies(text, written, lang, found))
    found = hanzi.with_guesses(text, found)
    return _settled(text, _ranges(text, found, lang), months) if found else found


def _are_silent(own: Sequence[str], lang: str) -> bool:
    """Whether no word of a text is or holds a number; such words are told at once from then on."""
    words, silent, telling = number_words(lang), silent_words(lang), telling_words(lang)
    if len(silent) > _SILENT:
        silent.clear()
    for word in own:
        if word in silent:
            continue
        if (
            word in telling
            or any(part in word for part, _ in words.inside)
            or (words.adjective is not None and words.adjective.search(word))
        ):
            return False
        silent.add(word)
    return bool(own)


def _digit_values(text: str, written: str, lang: str) -> list[Value]:
    found: list[Value] = []
    taken = 0
    hinted = any([sign in text for sign in _MASK_SIGNS]) or _MASK_HINT.search(text)  # noqa: C419
    masked = [m.span() for m in _MASKED.finditer(text)] if hinted else []
    runs = digit_runs(text)
    dated = list(dates(text, lang))
    for phone in _PHONE.finditer(text) if len(_DIGIT.findall(text)) >= _SHORTEST_PHONE else ():
        spans = [*masked, *(date[:2] for date in dated)]
        if not any(start < phone.end() and phone.start() < end for start, end in spans):
            number = "".join(c for c in phone[0] if c.isdigit())
            found.append(Value(*phone.span(), f"num:{number}", "number", doubtful=True))
            masked.append(phone.span())
    fixed: dict[int, tuple[int, list[Value]]] = {}
    for start, clock in clocks(text, lang, runs):
        fixed[start] = clock.end, [clock]
    for start, end, parts in dated:
        if not _VERSION_BEFORE.search(text[max(0, start - 12) : start]):
            fixed[start] = end, parts
    for mixed in _FRACTION.finditer(text) if "⁄" in text else ():
        number = text_of(int(mixed[1] or 0) + _FRACTIONS[mixed[2]])
        fixed[mixed.start()] = mixed.end(), [Value(*mixed.span(), f"num:{number}", "number")]
    pattern = _DIGITS_APART if lang in _SEPARATE_COMMA else _DIGITS
    for digits in at_runs(pattern, text, runs):
        start = digits.start()
        if start < taken or any(begin <= start < end for begin, end in masked):
            continue
        if start in fixed:
            taken, parts = fixed[start]
        elif start and start - 1 in fixed and text[start - 1] == "'":
            taken, parts = fixed[start - 1]
        else:
            value = _number(text, written, digits, lang)
            taken, parts = value.end, [value]
        found += parts
    found = _merged(
        found,
        [
            Value(*m.span(), f"num:{int(m[0])}", "number", doubtful=True)
            for m in _GLUED.finditer(written)
            if not any(begin <= m.start() < end for begin, end in masked)
        ],
    )
    listed = {m.start(1) for m in _LISTED.finditer(text)}
    return sorted(v._replace(doubtful=True) if v.start in listed else v for v in found)


def _number(  # noqa: PLR0911 - what follows digits, the likeliest first
    text: str, written: str, found: re.Match[str], lang: str
) -> Value:
    start, end = found.span()
    number = canonical(found[0], lang)
    magnitude, percent = _tails(lang)
    words = number_words(lang)
    if tail := percent.match(text, end):
        return Value(start, tail.end(), f"pct:{number}", "percent")
    if lang == "tr" and text[max(0, start - 6) : start].endswith(("%", "yüzde ")):
        return Value(start, end, f"pct:{number}", "percent")
    if value := decade_at(text, start, end, found[0]):
        return value
    if half := half_after(text, end, words) if number.isdigit() else 0:
        number, end = f"{number}.5", half
    if tail := magnitude.match(text, end):
        scaled = _scaled(text, written, found, number, tail, lang)
        if scaled is not None:
            return scaled
    others = _otherwise(found[0], number, lang)
    time, sure = (
        dotted_time(text, start, found[0]) if lang not in ("en", "zh", "ja") else ("", False)
    )
    if time and sure:
        return Value(start, end, time, "time", (f"num:{number}",))
    if time:
        others = (*others, time)
    ordinal = _ORDINAL_TAILS.get(lang)
    if ordinal and number.isdigit() and int(number) <= _LARGEST_ORDINAL:
        tail = ordinal.match(text, end)
        if tail and (ordinal is not _DOT_ORDINAL or _continues(written, tail.end(), lang)):
            return Value(start, tail.end(), f"num:{number}", "ordinal")
    # COVID-19 and the E 94 are names; their digits may go with the name.
    named = text[start - 1 : start] == "-" and text[start - 2 : start - 1].isalpha() and start > 1
    doubtful = named or (not half and _part_of_name(text, written, end))
    return Value(start, end, f"num:{number}", "number", others, doubtful)


def _scaled(  # noqa: PLR0911 - one way of writing after the other
    text: str, written: str, found: re.Match[str], number: str, tail: re.Match[str], lang: str
) -> Value | None:
    """Give digits with a magnitude: 1.2 billion, $5m, 10K; None where it is none."""
    words = number_words(lang)
    start, word = found.start(), tail[1]
    power = words.magnitudes.get(word) or words.plurals.get(word) or 3
    value = shifted(number, power)
    if len(word) == 1:
        money = text[start - 1 : start] in tuple(_MONEY_SIGNS) or text[tail.end() :].lstrip()[
            :1
        ] in tuple(_MONEY_SIGNS)
        if money:
            return Value(start, tail.end(), f"num:{value}", "number")
        if tail.start(1) != found.end():
            return None  # 5 m is metres
        if word == "k":
            return Value(start, tail.end(), f"num:{value}", "number", (f"num:{number}",))
        return Value(start, found.end(), f"num:{number}", "number", (f"num:{value}",))
    year = found[0].isdigit() and len(found[0]) == 4 and int(found[0]) in range(1900, 2200)
    if year and word in words.magnitudes and written[tail.start(1) :][:1].isalpha():
        return None  # "in 2024 a million": the year ends before
    percent = _tails(lang)[1]
    if whole := percent.match(text, tail.end()):
        return Value(start, whole.end(), f"pct:{value}", "percent")
    end = tail.end() + (text[tail.end() : tail.end() + 1] == "." and len(word) <= 4)
    words_half = half_after(text, tail.end(), words)
    if words_half and number.isdigit():  # 2 millions et demi
        return Value(start, words_half, f"num:{shifted(number + '.5', power)}", "number")
    return Value(start, end, f"num:{value}", "number")


def _otherwise(written: str, number: str, lang: str) -> tuple[str, ...]:
    """Read a number by the habits of the other languages, where that gives another one."""
    if written.count(".") + written.count(",") != 1 or not written[-3:].isdigit():
        return ()
    other = canonical(written, "de" if lang in POINT_LANGUAGES else "en")
    return () if other == number else (f"num:{other}",)


def _continues(written: str, at: int, lang: str) -> bool:
    """Whether a sentence goes on after a full stop: a small letter, or a noun in German."""
    rest = written[at : at + 2].lstrip()[:1]
    return rest == rest.lower() or lang == "de"


def _part_of_name(text: str, written: str, end: int) -> bool:
    """Whether letters follow digits that are no symbol of a unit: 4x4s, 3rdparty, 83hodinový."""
    after = text[end : end + 1]
    cased = after.isalpha() and after < "\u0590"
    if after in ("x", "х") and text[end + 1 : end + 2].isdigit():
        return False  # 60x100
    return cased and not glued_symbol(written, end)


def _english_months(text: str, written: str) -> Iterable[Value]:
    """Find March and May beside a day or a year, where a capital alone would say nothing."""
    for found in _ENGLISH_MONTH.finditer(text):
        if written[found.start()].isupper():
            number = _ENGLISH_MONTHS[found[0]]
            yield Value(*found.span(), f"month:{number}", "month")


def _merged(first: list[Value], more: Iterable[Value]) -> list[Value]:
    """Add values that do not overlap those there are; a longer one takes the place of a shorter."""
    new = list(more)
    if not new:
        return first
    kept = list(first)
    for value in new:
        rivals = [v for v in kept if v.start < value.end and value.start < v.end]
        if not rivals or all(v.end - v.start < value.end - value.start for v in rivals):
            if rivals:
                kept = [v for v in kept if v not in rivals]
            kept.append(value)
    return sorted(kept)


def _ranges(text: str, found: list[Value], lang: str) -> list[Value]:
    """In "from 10 to 20 %" the first number is a percentage as well, and so with millions."""
    result = sorted(found)
    for at in range(len(result) - 2, -1, -1):
        value, after = result[at], result[at + 1]
        if value.category not in ("number", "ordinal") or after.start <= value.end:
            continue
        if after.category == "currency" and at + 2 < len(result):
            after = result[at + 2]  # $5 to $10 million
            gap = text[value.end : after.start].rstrip(_MONEY_SIGNS)
        else:
            gap = text[value.end : after.start]
        near = _RANGE.fullmatch(gap) is not None
        if not near and _LIST.fullmatch(gap) is None:
            continue
        number = value.id.removeprefix("num:")
        if after.category == "percent":
            result[at] = value._replace(
                id=f"pct:{number}", category="percent", others=(value.id, *value.others)
            )
        elif near and after.category == "month" and number.isdigit() and int(number) <= 12:
            result[at] = value._replace(others=(*value.others, f"month:{number}"))
        elif near and after.category == "time" and number.isdigit() and int(number) <= 24:
            hours = (int(number) % 24, (int(number) + 12) % 24)
            times = tuple(f"time:{hour:02}:00" for hour in hours)
            result[at] = value._replace(others=(*value.others, *times))
        elif near and (power := _power(text, after, lang)):
            more = f"num:{shifted(number, power)}"
            result[at] = value._replace(others=(*value.others, more))
    return result


def _power(text: str, value: Value, lang: str) -> int:
    """Give the power of ten by which a magnitude multiplies the digits of a value."""
    digits = _DIGITS.match(text, value.start)
    if digits is None or value.category != "number" or digits.end() >= value.end:
        return 0
    number = canonical(digits[0], lang)
    if not number.replace(".", "").isdigit() or number.count(".") > 1:
        return 0
    return next(
        (p for p in (3, 4, 5, 6, 7, 8, 9, 12) if f"num:{shifted(number, p)}" == value.id), 0
    )


def _settled(text: str, found: list[Value], months: Sequence[tuple[int, int]]) -> list[Value]:
    """Tell days beside a month from other numbers, and ones from numbers that count."""
    spans = [*months, *((v.start, v.end) for v in found if v.category == "month")]
    result: list[Value] = []
    for value in found:
        own = value
        number = value.id.removeprefix("num:")
        if value.category in ("number", "ordinal") and len(number) <= 2 and number.isdigit():
            if 1 <= int(number) <= 31 and any(_beside(text, value, month) for month in spans):
                own = value._replace(category="date", doubtful=False)
            elif number in ("0", "1"):
                own = value._replace(doubtful=True)
        result.append(own)
    for at, (value, after) in reversed(list(enumerate(pairwise(result)))):
        # 9. bis 10. Dezember: the first is a day, too
        small = value.category in ("number", "ordinal") and len(value.id) <= len("num:31")
        if small and after.category == "date" and _RANGE.fullmatch(text, value.end, after.start):
            result[at] = value._replace(category="date")
    return sorted(result)


def _beside(text: str, value: Value, month: tuple[int, int]) -> bool:
    start, end = month
    if value.end <= start <= value.end + 8:
        return _DAY_GAP.fullmatch(text, value.end, start) is not None
    if end <= value.start <= end + 6:
        return text[end : value.start] in (" ", ". ", " the ", "", " (")
    return False


def is_year(value: Value, text: str) -> bool:
    """Whether a value may be a year: after it, "года" is no unit.

    Examples
    --------
    >>> is_year(Value(0, 4, "num:2021", "number"), "2021 года")
    True
    """
    digits = text[value.start : value.end]
    return len(digits) == 4 and digits.isdigit() and int(digits) in _YEARS
