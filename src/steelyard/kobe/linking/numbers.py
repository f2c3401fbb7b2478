"""Values of a text: numbers in digits and words, percentages, ordinals, dates, times, currencies.

A value becomes an id that is the same in every language and script: ``1.234,5`` in German,
``1,234.5`` in English and ``1 234,5`` in French are ``num:1234.5``; ``12億`` is ``num:1200000000``.
Ordinals and days are their numbers, too: one language's "5th floor" is another's "floor 5". An
amount of money is its number and its currency, a date its day, month and year, so that one wrong
part does not hide the others. Texts are folded (:mod:`steelyard.kobe.linking.wordforms`).

Number words are in ``words/``, one file per language; ``en.toml`` explains the keys.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise, product
from typing import Any, NamedTuple

from steelyard.kobe.linking import cjk
from steelyard.kobe.linking.dates import (
    CENTURY,
    Value,
    at_runs,
    clocks,
    dates,
    decade_at,
    dotted_time,
    has_roman,
    roman_numbers,
)
from steelyard.kobe.linking.money_units import SIGN, currencies, glued_symbol
from steelyard.kobe.linking.wordforms import Token, fold_text

# -- number words

_VALUED = ("magnitudes", "plurals", "inside", "groups", "loose", "fractions")
_SETS = "hundred half articles plus_half unsure sure_after verbs joiners".split()
_BEGIN = ("magnitudes", "loose", "groups", "hundred", "half", "plus_half")
LANGUAGES = tuple("ar cs de en es fi fr hi hu it ko nl pl pt ru sv tr uk".split())


@dataclass(frozen=True, slots=True, kw_only=True)
class NumberWords:
    """The number words of a language, folded; magnitudes are powers of ten."""

    cardinals: dict[str, float]
    ordinals: dict[str, float]
    magnitudes: dict[str, float]
    plurals: dict[str, float]
    inside: dict[str, float]
    groups: dict[str, float]
    loose: dict[str, float]
    fractions: dict[str, float]
    hundred: frozenset[str]
    half: frozenset[str]
    articles: frozenset[str]
    plus_half: frozenset[str]
    unsure: frozenset[str]
    sure_after: frozenset[str]
    verbs: frozenset[str]
    joiners: frozenset[str]
    verb_after: tuple[str, ...]
    and_half: tuple[str, ...]
    percent: tuple[str, ...]
    percent_before: tuple[str, ...]
    joined: str  # written on the front of the next number: Arabic "and"
    by_twenties: bool
    year_pairs: bool
    ten_joins: bool
    first: frozenset[str]  # words that can begin a number
    telling: frozenset[str]  # those without which a text has no number: no articles


@cache
def number_words(lang: str) -> NumberWords:
    """Return the number words of a language; none for one that has no file."""
    table: dict[str, Any] = {}
    if lang in LANGUAGES:
        file = files("steelyard.kobe.linking").joinpath("words", f"{lang}.toml")
        lines = file.read_text(encoding="utf-8").split("\n")
        table = tomllib.loads("\n".join(fold_text(line, lang).text for line in lines))
    endings = table.get("ordinal_endings", "-")
    cardinals = {
        **dict.fromkeys(table.get("zero", "").split(), 0),
        **_numbered(table.get("cardinals", "")),
        **_numbered(table.get("tens", ""), 20, 10),
        **_compounds(lang, table, table.get("tens", "")),
        **_numbered(table.get("hundreds", ""), 100, 100),
        **_valued(table.get("exact", "")),
    }
    ordinals = {
        **_numbered(table.get("ordinals", ""), endings=endings),
        **_numbered(table.get("ordinal_tens", ""), 20, 10, endings=endings),
    }
    if lang == "de":
        ordinals |= _compounds(lang, table, table["ordinal_tens"], endings)
    ordinals = {word: n for word, n in ordinals.items() if word not in cardinals}
    tables: dict[str, Any] = {
        **{name: _valued(table.get(name, "")) for name in _VALUED},
        **{name: frozenset(table.get(name, "").split()) for name in _SETS},
        **{name: tuple(table.get(name, ())) for name in ("and_half", "percent", "percent_before")},
        **{name: table.get(name, False) for name in ("by_twenties", "year_pairs", "ten_joins")},
    }
    begin = [cardinals, ordinals, *(tables[name] for name in _BEGIN)]
    first = frozenset(word.rstrip(".") for words in begin for word in words)
    return NumberWords(
        cardinals=cardinals,
        ordinals=ordinals,
        **tables,
        verb_after=tuple(table.get("verb_after", "").split()),
        joined=table.get("joined", ""),
        first=first,
        telling=frozenset(
            word for word in first if cardinals.get(word) != 1 and ordinals.get(word) != 1
        ),
    )


def _numbered(text: str, first: int = 1, step: int = 1, endings: str = "-") -> dict[str, float]:
    """Read words in the order of their numbers, each with all endings."""
    ends = ["" if end == "-" else end for end in endings.split()]
    return {
        stem + end: first + i * step
        for i, forms in enumerate(text.split())
        for stem, end in product(forms.split("/"), ends)
        if stem != "-"
    }


def _valued(text: str) -> dict[str, float]:
    """Read ``12:dozen 1.5:anderthalb/eineinhalb``."""
    return {
        form: int(value) if value.isdigit() else float(value)
        for value, _, forms in (word.partition(":") for word in text.split())
        for form in forms.split("/")
    }


def _compounds(lang: str, table: dict[str, Any], tens: str, endings: str = "-") -> dict[str, float]:
    """Make the numbers from 21 to 99 of languages that write them as one word."""
    units = table.get("compound_units", "").split()
    made: dict[str, float] = {}
    for (t, forms), (u, unit_forms) in product(enumerate(tens.split(), 2), enumerate(units, 1)):
        for ten, unit in product(forms.split("/"), unit_forms.split("/")):
            if lang in ("de", "nl"):
                made |= _numbered(unit + ten, 10 * t + u, endings=endings)
            elif lang == "it" and unit[0] in "uo":  # ventuno, ventotto
                made[ten[:-1] + unit] = 10 * t + u
            elif ten != "-":
                made[ten + unit] = 10 * t + u
    return made


def compound(word: str, words: NumberWords) -> float:
    """Return the value of a number with hundreds or thousands in one word, 0 for other words."""
    for part, power in words.inside.items():
        head, match, tail = word.partition(part)
        if not match:
            continue
        if not head and not tail:
            return 0  # the magnitude alone is a word of its own
        times = 1 if not head else words.cardinals.get(head) or compound(head, words)
        tail = tail.removeprefix("und")
        rest = 0 if not tail else words.cardinals.get(tail) or compound(tail, words)
        limit = 1000 if power > 2 else 100
        if times and times < limit and (rest or not tail) and rest < 10**power:
            return times * int(10**power) + rest
    return 0


# -- numbers in words


class _Spoken(NamedTuple):
    """A number in words: its value, the token after it, whether it is an ordinal or doubtful."""

    value: float
    end: int
    ordinal: bool = False
    doubtful: bool = False


def _text_of(value: float) -> str:
    return str(int(value)) if value == int(value) else str(value)


def _word_values(text: str, tokens: Sequence[Token], words: NumberWords) -> list[Value]:
    inside = [part for part in words.inside if part in text]
    values = []
    end = 0
    for at, (word, start, stop) in enumerate(tokens):
        if at < end or not (word in words.first or any(part in word for part in inside)):
            continue
        if word in words.loose:
            number = _text_of(words.loose[word])
            values.append(Value(start, stop, f"num:{number}", "number", doubtful=True))
            continue
        spoken = _spoken(text, tokens, at, words)
        end = max(spoken.end, at + 1)
        value = spoken.value
        if spoken.end == at:
            continue
        last, number = tokens[spoken.end - 1][2], _text_of(value)
        if spoken.end < len(tokens) and tokens[spoken.end][0] in words.fractions:
            fraction, begin, stop_after = tokens[spoken.end]
            if not spoken.ordinal and text[last:begin] in (" ", "-"):
                share = f"num:{number}/{words.fractions[fraction]}"
                values.append(Value(start, stop_after, share, "number", doubtful=True))
                end += 1
                continue
        if value == 1:  # "one" and "ein" are articles and pronouns far too often
            continue
        before = tokens[at - 1][0] if at else ""
        if word in words.magnitudes and before[-1:].isdigit() and not before.isdigit():
            continue  # N585 million: the name has the digits
        alone = spoken.end == at + 1 and before not in words.sure_after
        unsure = alone and (word in words.unsure or _is_verb(text, tokens, at, words))
        # "second" is a figure of speech, and "a third" a share as often.
        loose = spoken.ordinal and (
            value == 2 or (word in words.fractions and before in words.articles)
        )
        doubtful = spoken.doubtful or unsure or value == 0 or loose
        if tail := _percent_word(text, last, words):
            values.append(Value(start, tail, f"pct:{number}", "percent"))
        elif before and before in words.percent_before:
            values.append(Value(tokens[at - 1][1], last, f"pct:{number}", "percent"))
        elif decade := decade_at(text, start, last, number):  # les années quatre-vingt
            values.append(decade)
        else:
            category = "ordinal" if spoken.ordinal else "number"
            values.append(Value(start, last, f"num:{number}", category, doubtful=doubtful))
    return values


def _is_verb(text: str, tokens: Sequence[Token], at: int, words: NumberWords) -> bool:
    """Tell whether a number word rather is a verb, which ends its clause: it counts nothing."""
    word, _, stop = tokens[at]
    if word not in words.verbs or not at:
        return False
    last = at + 1 == len(tokens) or bool(text[stop : tokens[at + 1][1]].strip())
    return last or tokens[at - 1][0].endswith(words.verb_after)


def _percent_word(text: str, at: int, words: NumberWords) -> int:
    if text[at : at + 1] not in (" ", "-"):
        return 0
    for word in words.percent:
        stem = word.removesuffix("*")
        end = at + 1 + len(stem)
        if text.startswith(stem, at + 1):
            while stem != word and text[end : end + 1].isalpha():
                end += 1
            if not text[end : end + 1].isalnum():
                return end
    return 0


def _half_after(text: str, at: int, words: NumberWords) -> int:
    """Return the end of "and a half" that follows, 0 if it does not."""
    for phrase in words.and_half:
        end = at + 1 + len(phrase)
        if text.startswith(phrase, at + 1) and not text[end : end + 1].isalnum():
            return end if text[at] in " -" else 0
    return 0


def _spoken(  # noqa: C901, PLR0912, PLR0915 - the grammar of numbers
    text: str, tokens: Sequence[Token], at: int, words: NumberWords
) -> _Spoken:
    """Read a number in words from a token on.

    A cardinal is worth less than 1000 by itself, ``hundred`` multiplies what stands before it, and
    so do magnitudes; a magnitude in the plural says nothing alone ("thousands came").
    """
    total = current = 0.0
    end, seen, halved, doubtful = at, False, False, False
    last = 18  # the power of ten of the last magnitude
    skip = 0
    for i in range(at, len(tokens)):
        word, _, stop = tokens[i]
        if i > at and text[tokens[i - 1][2] : tokens[i][1]] not in (" ", "-"):
            break
        if skip:
            skip -= 1
            continue
        if word in words.joiners and seen:
            continue
        if words.joined and seen and word not in words.cardinals:
            word = word.removeprefix(words.joined)
        value = words.cardinals.get(word)
        if value is None and words.inside:
            value = compound(word, words) or None
        power = int(words.magnitudes.get(word) or (words.plurals.get(word) if seen else 0) or 0)
        following = tokens[i + 1][0] if i + 1 < len(tokens) else ""
        if value is not None and not (power and seen):
            if value == 20 and current == 4 and words.by_twenties:
                current = 80
            elif value >= 1000 or value != int(value) or value == 0:
                if seen:
                    break
                current = value
                if value >= 1000:
                    total, current, last = value, 0, 3
            elif words.year_pairs and current in (18, 19, 20) and value >= 10 and not total:
                current = current * 100 + value
            elif not _fits(current, value, words):
                break
            else:
                current += value
        elif word in words.hundred:
            if current > 99 or (seen and not current):
                break
            current = max(current, 1) * 100
            doubtful = not seen
        elif power:
            if seen and not current:
                if power <= last or not total:
                    break
                total, last = total * 10**power, power  # mil millones
            elif power >= last:
                if (total + current) * 10**power > 10**18 or not total:
                    break
                total, current, last = (total + current) * 10**power, 0, power
            else:
                doubtful = not seen and power < 5
                total += (current or 1) * 10**power
                last, current = power, 0
        elif word in words.groups:
            return _Spoken((current or 1) * words.groups[word], i + 1, doubtful=True)
        elif not seen and word in (words.half | words.plus_half):
            ahead = i + 1 + (following in words.articles)
            following = tokens[ahead][0] if ahead < len(tokens) else ""
            if word in words.plus_half and following in words.cardinals:
                halved = True
                continue
            if not _is_large(following, words):
                break
            current, skip = 0.5, ahead - i - 1
        elif seen and word in words.ordinals:
            ordinal = words.ordinals[word]
            if _fits(current, ordinal, words) and ordinal < 10 and current and current % 10 == 0:
                return _Spoken(total + current + ordinal, i + 1, ordinal=True)
            break
        elif not seen and word in words.ordinals:
            ordinal = words.ordinals[word]
            if ordinal >= 20 and ordinal % 10 == 0 and following:  # dvacátý první
                more = words.ordinals.get(following, 10)
                if more < 10 and text[stop : tokens[i + 1][1]] in (" ", "-"):
                    return _Spoken(ordinal + more, i + 2, ordinal=True)
            return _Spoken(ordinal, i + 1, ordinal=True)
        elif word in words.half and current == 1 and not total and _is_large(following, words):
            current = 0.5  # eine halbe Million
            continue
        else:
            break
        seen, end = True, i + 1
        if halved and current and current == int(current):
            current += 0.5
            halved = False
        elif words.and_half and (after := _half_after(text, stop, words)):
            if current:
                current += 0.5
            else:
                total += 0.5 * 10**last
            while end < len(tokens) and tokens[end][2] <= after:
                end += 1
                skip += 1
    return _Spoken(total + current, end, doubtful=doubtful)


def _is_large(word: str, words: NumberWords) -> bool:
    return word in words.magnitudes or word in words.plurals or word in words.groups


def _fits(current: float, value: float, words: NumberWords) -> bool:
    """Tell whether a smaller number may follow: twenty-five, but not five twenty."""
    if current == 0:
        return True
    if words.by_twenties and 10 <= value < 20:  # soixante-dix, quatre-vingt-quinze
        return current % 100 in (0, 60, 80)
    if words.joined and value % 10 == 0 and value < 100:  # five and twenty, three ten
        return 0 < current % 100 < 10 or (current % 100 == 0 and value > 10)
    if value < 10:
        joins = current % 10 == 0 and (current % 100 != 10 or words.ten_joins)
        return joins or (words.by_twenties and value > 6 and current % 100 in (10, 70, 90))
    return value < 100 and current % 100 == 0


# -- numbers in digits

#: Languages that write 1,234.5; all others write 1.234,5 or 1 234,5.
POINT_LANGUAGES = frozenset(
    "am ar bn cy en fil ga gu he hi ja kn ko ml mr ms mt my ne pa si sw ta te th ti ur yue"
    " zh".split()
)
_DIGIT = re.compile(r"\d")
_RUN = re.compile(r"\d+")
_BEFORE_DIGITS = r"(?:(?<![a-zà-ÿа-яё_\d])|(?<=[\d ][xх]))"
_DIGITS = re.compile(
    _BEFORE_DIGITS
    + r"(?:\d{1,3}(?: \d{3})+(?!\d)(?:[.,]\d+)?|\d+(?:-\d+){2,}(?![-\d])|\d+(?:[.,'٫٬]\d+)*)"
)
_DIGITS_APART = re.compile(  # in Chinese, Japanese and Korean, 6,8 is two numbers
    _BEFORE_DIGITS
    + r"(?:\d+(?:-\d+){2,}(?![-\d])|\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d+(?:\.\d+)*)"
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
_MASK_HINT = re.compile(r"://|www\.|[@#]|24/7|\.(?<=\w\.)[a-z]{2,4}\b")
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
    r"|y|o|u|e|i|do|och|till|eller|en|tot|of|至|到|から|和|与|、|ja|és|ve|ile|से|और|या|إلى|و|та|або)\s?"
    r"(?:the |den |dem |am |zum |на )?"
)
_LIST = re.compile(r"\.?(?:, ?|、)")
_DAY_GAP = re.compile(r"(?:st|nd|rd|th)?[.,]?\s?(?:of|de|del|d'|den|-ro|-е|-го|º|\.º)?\s?(?:the )?")
_DOT_ORDINAL = re.compile(r"\.(?= ?[^\W\d])")
_ORDINAL_TAILS = {
    **dict.fromkeys("de cs sk pl hu fi da nb sl hr sr bs et tr lv".split(), _DOT_ORDINAL),
    **dict.fromkeys(("es", "it", "pt"), re.compile(r"\.?[ºªoa°](?!\w)")),
    "en": re.compile(r"(?:st|nd|rd|th)\b"),
    "fr": re.compile(r"(?:er|re|e|ème|eme|nd|nde)\b"),
    "nl": re.compile(r"(?:e|de|ste)\b"),
    "sv": re.compile(r":[ae]\b"),
    "ru": re.compile(r"-(?:й|го|му|м|я|ю|е|ой|ый|ий|ая|ое|х|ти|ом|ым|ых)\b"),
    "uk": re.compile(r"-(?:й|го|му|м|а|у|е|ї|ої|ий|та|те|х|ти|ому|им|их)\b"),
}
_LARGEST_ORDINAL = 999  # 2021. is the end of a sentence
_ENGLISH_MONTH = re.compile(
    r"\b(?:march|may)\b(?=\.? \d{1,2}(?:st|nd|rd|th)?\b(?! people| %|%)|,? (?:19|20)\d\d\b)"
    r"|(?:(?<=\d )|(?<=(?:st|nd|rd|th) ))(?:march|may)\b"
)
_MONEY_SIGNS = tuple("$€£¥₽₴₹")
_LATIN_NUMERALS = str.maketrans("ХІ", "XI")  # Cyrillic letters that look like them
_CENTURY_AHEAD = 30  # characters from a decade to its century


def canonical(written: str, lang: str) -> str:
    """Return a number as digits with a decimal point, by the habits of a language.

    Examples
    --------
    >>> canonical("1.234,5", "de"), canonical("1,234.5", "en"), canonical("1.234", "de")
    ('1234.5', '1234.5', '1234')
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
    """Multiply a canonical number by a power of ten."""
    whole, _, fraction = number.partition(".")
    fraction = fraction.ljust(power, "0")
    return _plain(whole + fraction[:power], fraction[power:])


@cache
def _tails(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Return the patterns of what may follow digits: a magnitude; a sign or word for percent."""
    words = number_words(lang)
    magnitudes = {*words.magnitudes, *words.plurals, "k"}
    longest = sorted(map(re.escape, magnitudes), key=len, reverse=True)
    percents = [
        re.escape(word.removesuffix("*")) + (r"\w*" if word.endswith("*") else "")
        for word in sorted(words.percent, key=len, reverse=True)
    ]
    signs = r"\s?[%٪](?:-?ig\w*|n[íý]\w*|-й|-ный|-ная|-ное)?"
    percent_words = rf"|[ -]?(?:{'|'.join(percents)})(?!\w)" if percents else ""
    return re.compile(rf"[ -]?({'|'.join(longest)})(?!\w)"), re.compile(signs + percent_words)


def find_values(
    text: str,
    tokens: Sequence[Token],
    lang: str,
    months: Sequence[tuple[int, int]] = (),
    written: str | None = None,
) -> list[Value]:
    """Find the values of a folded text and its words.

    A small number beside one of the ``months`` (spans of their names) is a day. ``written`` is the
    text with its capitals, aligned with the folded one.

    Examples
    --------
    >>> [v.id for v in find_values("1,2 mrd. euro, 25 % am 5. platz", [], "de")]
    ['num:1200000000', 'cur:EUR', 'pct:25', 'num:5']
    """
    written = text if written is None else written
    values = _digit_values(text, written, lang) if _DIGIT.search(text) else []
    words = number_words(lang)
    has_words = not words.telling.isdisjoint([token[0] for token in tokens])
    if has_words or any(part in text for part in words.inside):
        values = _merged(values, _word_values(text, tokens, words))
    if lang in cjk.LANGUAGES and cjk.CJK_NUMBER.search(text):
        values = _merged(values, cjk.cjk_values(text, values, lang))
    roman = written.translate(_LATIN_NUMERALS) if lang in ("ru", "uk") else written
    if has_roman(roman):
        values = _merged(values, roman_numbers(roman, text))
    if lang == "en" and values and ("May" in written or "March" in written):
        values = _merged(values, _english_months(text, written))
    if values or ((not text.isascii() or "$" in text) and SIGN.search(text)):
        values = _merged(values, currencies(text, written, lang, values))
    return _settled(text, _ranges(text, values, lang), months) if values else values


def _digit_values(text: str, written: str, lang: str) -> list[Value]:
    values: list[Value] = []
    masked = [m.span() for m in _MASKED.finditer(text)] if _MASK_HINT.search(text) else []
    runs = [run.start() for run in _RUN.finditer(text)]
    dated = list(dates(text, lang))
    for phone in _PHONE.finditer(text) if len(_DIGIT.findall(text)) >= _SHORTEST_PHONE else ():
        spans = [*masked, *(date[:2] for date in dated)]
        if not any(start < phone.end() and phone.start() < end for start, end in spans):
            number = "".join(c for c in phone[0] if c.isdigit())
            values.append(Value(*phone.span(), f"num:{number}", "number", doubtful=True))
            masked.append(phone.span())
    fixed: dict[int, tuple[int, list[Value]]] = {}  # what begins with digits and is no plain number
    for start, clock in clocks(text, lang, runs):
        fixed[start] = clock.end, [clock]
    for start, end, parts in dated:
        if not _VERSION_BEFORE.search(text[max(0, start - 12) : start]):
            fixed[start] = end, parts
    for match in _FRACTION.finditer(text) if "⁄" in text else ():
        number = _text_of(int(match[1] or 0) + _FRACTIONS[match[2]])
        fixed[match.start()] = match.end(), [Value(*match.span(), f"num:{number}", "number")]
    taken = 0
    pattern = _DIGITS_APART if lang in cjk.LANGUAGES else _DIGITS
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
        values += parts
    glued = [
        Value(*m.span(), f"num:{int(m[0])}", "number", doubtful=True)
        for m in _GLUED.finditer(written)
        if not any(begin <= m.start() < end for begin, end in masked)
    ]
    listed = {m.start(1) for m in _LISTED.finditer(text)}
    values = _merged(values, glued)
    return sorted(v._replace(doubtful=True) if v.start in listed else v for v in values)


def _number(  # noqa: PLR0911
    text: str, written: str, digits: re.Match[str], lang: str
) -> Value:
    start, end = digits.span()
    number = canonical(digits[0], lang)
    magnitude, percent = _tails(lang)
    if tail := percent.match(text, end):
        return Value(start, tail.end(), f"pct:{number}", "percent")
    if lang == "tr" and text[max(0, start - 6) : start].endswith(("%", "yüzde ")):
        return Value(start, end, f"pct:{number}", "percent")
    if value := decade_at(text, start, end, digits[0]):
        return value
    if half := _half_after(text, end, number_words(lang)) if number.isdigit() else 0:
        number, end = f"{number}.5", half
    tail = magnitude.match(text, end)
    if tail and (scaled := _scaled(text, written, digits, number, tail, lang)):
        return scaled
    others = _otherwise(digits[0], number, lang)
    if lang not in ("en", "zh", "ja"):
        time, sure = dotted_time(text, start, digits[0])
        if sure:
            return Value(start, end, time, "time", (f"num:{number}",))
        others = (*others, time) if time else others
    ordinal = _ORDINAL_TAILS.get(lang)
    if ordinal and number.isdigit() and int(number) <= _LARGEST_ORDINAL:
        tail = ordinal.match(text, end)
        if tail and (ordinal is not _DOT_ORDINAL or _continues(written, tail.end(), lang)):
            return Value(start, tail.end(), f"num:{number}", "ordinal")
    # COVID-19 and the E 94 are names; their digits may go with the name.
    named = start > 1 and text[start - 1] == "-" and text[start - 2].isalpha()
    doubtful = named or (not half and _part_of_name(text, written, end))
    return Value(start, end, f"num:{number}", "number", others, doubtful)


def _scaled(  # noqa: PLR0911
    text: str, written: str, digits: re.Match[str], number: str, tail: re.Match[str], lang: str
) -> Value | None:
    words = number_words(lang)
    start, end, word = digits.start(), tail.end(), tail[1]
    power = int(words.magnitudes.get(word) or words.plurals.get(word) or 3)
    scaled = f"num:{shifted(number, power)}"
    if len(word) == 1:
        if text[:start].endswith(_MONEY_SIGNS) or text[end:].lstrip().startswith(_MONEY_SIGNS):
            return Value(start, end, scaled, "number")
        if tail.start(1) != digits.end():
            return None  # 5 m is metres
        if word == "k":
            return Value(start, end, scaled, "number", (f"num:{number}",))
        return Value(start, digits.end(), f"num:{number}", "number", (scaled,))
    year = digits[0].isdigit() and len(digits[0]) == 4 and 1900 <= int(digits[0]) < 2200
    if year and word in words.magnitudes and written[tail.start(1)].isalpha():
        return None  # "in 2024 a million": the year ends before
    if percent := _tails(lang)[1].match(text, end):
        return Value(start, percent.end(), f"pct:{scaled[4:]}", "percent")
    half = _half_after(text, end, words)
    if half and number.isdigit():  # 2 millions et demi
        return Value(start, half, f"num:{shifted(number + '.5', power)}", "number")
    return Value(start, end + (text[end : end + 1] == "." and len(word) <= 4), scaled, "number")


def _otherwise(written: str, number: str, lang: str) -> tuple[str, ...]:
    """Read a number by the habits of the other languages, if that gives another one."""
    if written.count(".") + written.count(",") != 1 or not written[-3:].isdigit():
        return ()
    other = canonical(written, "de" if lang in POINT_LANGUAGES else "en")
    return () if other == number else (f"num:{other}",)


def _continues(written: str, at: int, lang: str) -> bool:
    """Tell whether a sentence goes on after a full stop: a small letter, or a noun in German."""
    rest = written[at : at + 2].lstrip()[:1]
    return rest == rest.lower() or lang == "de"


def _part_of_name(text: str, written: str, end: int) -> bool:
    """Tell whether letters follow digits that are no symbol of a unit: 4x4s, 83hodinový."""
    after = text[end : end + 1]
    if after in ("x", "х") and text[end + 1 : end + 2].isdigit():
        return False  # 60x100
    return after.isalpha() and after < "\u0590" and not glued_symbol(written, end)


def _english_months(text: str, written: str) -> Iterator[Value]:
    for match in _ENGLISH_MONTH.finditer(text):
        if written[match.start()].isupper():
            yield Value(*match.span(), "month:3" if match[0] == "march" else "month:5", "month")


# -- values among each other


def _merged(values: list[Value], more: Iterable[Value]) -> list[Value]:
    merged = values
    for value in more:
        rivals = [v for v in merged if v.start < value.end and value.start < v.end]
        if all(v.end - v.start < value.end - value.start for v in rivals):
            merged = [v for v in merged if v not in rivals] + [value]
    return merged if merged is values else sorted(merged)


def _ranges(text: str, values: list[Value], lang: str) -> list[Value]:
    """In "from 10 to 20 %" the first number is a percentage as well, and so with millions."""
    result = sorted(values)
    for at in range(len(result) - 2, -1, -1):
        value, after = result[at], result[at + 1]
        if value.category not in ("number", "ordinal") or after.start <= value.end:
            continue
        gap = text[value.end : after.start]
        if after.category == "currency" and at + 2 < len(result):  # $5 to $10 million
            after = result[at + 2]
            gap = text[value.end : after.start].rstrip("".join(_MONEY_SIGNS))
        near = _RANGE.fullmatch(gap) is not None
        if not near and _LIST.fullmatch(gap) is None:
            continue
        number = value.id.removeprefix("num:")
        small = int(number) if near and number.isdigit() else 99
        if after.category == "percent":
            readings = (value.id, *value.others)
            result[at] = value._replace(id=f"pct:{number}", category="percent", others=readings)
            continue
        more: tuple[str, ...] = ()
        if after.category == "month" and small <= 12:
            more = (f"month:{number}",)
        elif after.category == "time" and small <= 24:
            more = tuple(f"time:{hour % 24:02}:00" for hour in (small, small + 12))
        elif near and (power := _power(text, after, lang)):
            more = (f"num:{shifted(number, power)}",)
        result[at] = value._replace(others=(*value.others, *more))
    return result


def _power(text: str, value: Value, lang: str) -> int:
    digits = _DIGITS.match(text, value.start)
    if digits is None or value.category != "number" or digits.end() >= value.end:
        return 0
    number = canonical(digits[0], lang)
    powers = (3, 4, 5, 6, 7, 8, 9, 12)
    return next((p for p in powers if f"num:{shifted(number, p)}" == value.id), 0)


def _settled(text: str, values: list[Value], months: Sequence[tuple[int, int]]) -> list[Value]:
    """Tell days beside a month from other numbers, and doubt ones and the century of a decade."""
    spans = [*months, *((v.start, v.end) for v in values if v.category == "month")]
    result = list(values)
    for at, value in enumerate(values):
        number = value.id.removeprefix("num:")
        if value.category not in ("number", "ordinal") or len(number) > 2 or not number.isdigit():
            continue
        if 1 <= int(number) <= 31 and any(_beside(text, value, month) for month in spans):
            result[at] = value._replace(category="date", doubtful=False)
        elif number in ("0", "1") or (at and _in_decade(text, values[at - 1], value)):
            result[at] = value._replace(doubtful=True)
    for at, (value, after) in reversed(list(enumerate(pairwise(result)))):
        # 9. bis 10. Dezember: the first is a day, too
        small = value.category in ("number", "ordinal") and len(value.id) <= len("num:31")
        if small and after.category == "date" and _RANGE.fullmatch(text, value.end, after.start):
            result[at] = value._replace(category="date")
    return sorted(result)


def _in_decade(text: str, decade: Value, value: Value) -> bool:
    """Tell whether a number is the century of the decade before it: 80-е годы XX века."""
    short = decade.category == "number" and len(decade.others) == 3  # of any century
    near = value.category == "ordinal" and value.start - decade.end < _CENTURY_AHEAD
    return short and near and CENTURY.search(text, decade.end, value.end + 16) is not None


def _beside(text: str, value: Value, month: tuple[int, int]) -> bool:
    start, end = month
    if value.end <= start <= value.end + 8:
        return _DAY_GAP.fullmatch(text, value.end, start) is not None
    return end <= value.start and text[end : value.start] in (" ", ". ", " the ", "", " (")


def is_year(value: Value, text: str) -> bool:
    """Tell whether a value may be a year: after it, "года" is no unit."""
    digits = text[value.start : value.end]
    return len(digits) == 4 and digits.isdigit() and 1000 <= int(digits) < 2200
