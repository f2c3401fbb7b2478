"""What stands in a text in other words: numbers inside words, abbreviations, names by ear.

The linker finds numbers and names that are written as such. Before a translation is said to have
lost one, these look whether it stands there as osmdesátiletý, quarterfinals, XIV or FRG; they are
asked about few mentions, and may be generous.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise
from typing import NamedTuple

from steelyard.kobe.linking.namematching import alike, pieces
from steelyard.kobe.linking.numberwords import number_words
from steelyard.kobe.linking.romanise import romanise
from steelyard.kobe.linking.wordforms import common, fold, fold_text
from steelyard.kobe.linking.written import LETTERS
from steelyard.kobe.measures import told, values
from steelyard.kobe.mention import Mention

Spans = Sequence[tuple[int, int]]
_STEM = 4  # letters from which on a word may go on after a number: osmdesát-iletý
_MOST = 3999  # of Roman numerals
_SHORT = 6  # letters of an abbreviation at most
_TOGETHER = 6  # letters of a name that may be written with other hyphens and capitals
#: How alike two spellings of one name are in Latin letters; chosen on WMT24: with it, 3 of 1,074
#: names are heard in a Hindi translation of another sentence (two of them rightly), 0 to 4 of 2,400
#: in Japanese, and 16 of 37 that a Hindi reference seems to lack.
_SPELLED = 0.78
_UNSPACED = "\u2e80"  # from here on scripts write words without blanks
_LONG = 10  # letters of a word that may be made of two names
_ALIKE = 0.7  # of letters that abbreviations of one thing in two languages share: PTBS, PTSD
_SIGNS = re.compile(r"\d+(?:[./:\-–]\d+){2,}")  # several numbers with signs between them
_WORD = re.compile(r"[^\W\d_]+(?:['’][^\W\d_]+)?")
_CAPITALS = re.compile(r"(?<![^\W\d_])(?:[^\W\d_]\.){2,6}|(?<![^\W_])[^\W\d_]{2,6}(?![^\W_])")
_HANZI = "〇一二三四五六七八九十"
_POWERS: dict[float, tuple[str, ...]] = {
    1e2: ("百",), 1e3: ("千",), 1e4: ("万", "萬"), 1e6: ("百万", "百萬"),
    1e7: ("千万", "千萬"), 1e8: ("億", "亿"), 1e12: ("兆",),
}  # fmt: skip
_MONTHS = 12


@cache
def _number_stems(lang: str) -> dict[float, tuple[frozenset[str], tuple[str, ...]]]:
    """Give per number the words that mean it, and beginnings of words that hold it."""
    words = number_words(lang)
    whole: dict[float, set[str]] = {}
    begin: dict[float, set[str]] = {}
    for table in (words.cardinals, words.ordinals, words.loose, words.groups, words.prefixes):
        for word, value in table.items():
            whole.setdefault(value, set()).add(word)
            stem = word[:-1] if table is words.ordinals else word
            if len(stem) >= _STEM + (table is words.ordinals):
                begin.setdefault(value, set()).add(stem)
    for powers in (words.magnitudes, words.plurals):  # a thousand may be said as thousands
        for word, power in powers.items():
            whole.setdefault(10.0**power, set()).add(word)
    for part in told()["numbers"].get(lang, "").split():
        value_, _, forms = part.partition(":")
        for form in fold_text(forms, lang).text.split("/"):
            (begin if len(form) >= _STEM else whole).setdefault(float(value_), set()).add(form)
    return {
        value: (frozenset(whole.get(value, ())), tuple(sorted(begin.get(value, ()))))
        for value in {*whole, *begin}
    }


def number_in_words(mention: Mention, text: str, lang: str, linked: Spans) -> Mention | None:
    """Find a number in a text in whatever form: within a word, as a Roman numeral, in digits.

    ``linked`` are the spans that mean something else.

    Examples
    --------
    >>> third = Mention(0, 5, "third", "num:3", "ordinal")
    >>> [m and m.text for m in (number_in_words(third, text, "de", [])
    ...  for text in ("von Drittparteien", "dreiköpfig", "im III. Reich", "im Viertelfinale"))]
    ['Drittparteien', 'dreiköpfig', 'III', None]
    """
    wanted = _said(mention)
    stems = [_number_stems(lang).get(value, (frozenset(), ())) for value in wanted]
    roman = {_roman(int(v)) for v in wanted if v == int(v) and 1 < v <= _MOST}
    digits = {f"{v:g}" for v in wanted if v < 10**6}
    for found in re.finditer(rf"{LETTERS}|\d+(?:[.,]\d+)*", text):
        start, end = found.span()
        if any(start < e and s < end for s, e in linked):
            continue
        word = fold_text(found[0], lang).text
        if (
            found[0] in roman
            or word.replace(",", ".") in digits
            or any(word in whole or word.startswith(begin) for whole, begin in stems)
        ):
            return mention._replace(start=start, end=end, text=found[0], rule="literal")
    return _in_hanzi(mention, text, linked, wanted) if lang in ("zh", "ja") else None


def _said(mention: Mention) -> list[float]:
    """Give the numbers that a mention may mean; of a decade also the years alone."""
    found = [*values(mention)]
    if re.match(r"(?:1\d|20)\d0\D", mention.text + " ") and mention.text[4:].strip():
        found += [value % 100 for value in found]
    return found


def _in_hanzi(mention: Mention, text: str, linked: Spans, wanted: list[float]) -> Mention | None:
    for value in wanted:
        signs = _POWERS.get(value, ())
        if value == int(value) and 0 <= value < len(_HANZI):
            signs = (_HANZI[int(value)], *("两双兩雙両" if value == 2 else ""))
        for sign in signs:
            at = text.find(sign)
            end = at + len(sign)
            if at >= 0 and not any(s < end and at < e for s, e in linked):
                return mention._replace(start=at, end=end, text=sign, rule="literal")
    return None


@cache
def _roman(number: int) -> str:
    """Write a Roman numeral.

    Examples
    --------
    >>> _roman(14), _roman(1999)
    ('XIV', 'MCMXCIX')
    """
    made = ""
    signs = ("M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I")
    for sign, size in zip(
        signs, (1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1), strict=True
    ):
        times, number = divmod(number, size)
        made += sign * times
    return made


# -- abbreviations


def abbreviates(short: str, name: str) -> bool:
    """Tell whether letters stand for a name: initials of its words, and of parts of them.

    Examples
    --------
    >>> abbreviates("FRG", "Federal Republic of Germany"), abbreviates("ČD", "České dráhy")
    (True, True)
    >>> abbreviates("ЦАР", "Центральноафриканская Республика"), abbreviates("UK", "Ukraine")
    (True, False)
    """
    letters = _bare(short)
    words = [_bare(w) for w in re.split(r"[\s\-–·]+", name) if len(w) > 3 or w[:1].isupper()]
    words = [word for word in words if word]
    return 1 < len(words) <= len(letters) <= _SHORT and _takes(letters, words)


def _takes(letters: str, words: list[str]) -> bool:
    if not words:
        return not letters
    if not letters.startswith(words[0][0]):
        return False
    rest = iter(words[0][1:])
    for n in range(1, len(letters) - len(words) + 2):
        if _takes(letters[n:], words[1:]):
            return True
        if n < len(letters) and letters[n] not in rest:  # each takes what follows in the word
            return False
    return False


def _bare(text: str) -> str:
    plain = unicodedata.normalize("NFD", text.casefold())
    return "".join(c for c in plain if c.isalpha())


def capital_tokens(text: str) -> Iterator[tuple[int, int, str]]:
    """Give the abbreviations of a text: FRG, U.S., ČD."""
    for found in _CAPITALS.finditer(text):
        if found[0].isupper():
            yield (*found.span(), found[0])


def as_abbreviation(
    mention: Mention, names: Iterable[str], source: str, output: str, linked: Spans
) -> Mention | None:
    """Find an abbreviation of what a mention names in an output, or its own in other letters.

    ``names`` are those of the entity, in either language; words of the source around the mention
    may belong to the name: České dráhy, ČD. Of a short form (Sgt) the full word is found.

    Examples
    --------
    >>> frg = Mention(0, 3, "ФРГ", 1, "country")
    >>> as_abbreviation(frg, (), "ФРГ", "the FRG said", []).text
    'FRG'
    """
    every = [*names, mention.text, *_runs(mention, source)]
    own = _bare(romanise(mention.text)) if mention.text.isupper() else ""
    unknown = mention.tier == "name" and mention.text.isupper() and mention.text.isalpha()
    for start, end, short in capital_tokens(output):
        if any(start < e and s < end for s, e in linked):
            continue
        if (
            (own and _bare(romanise(short)) == own)
            or any(abbreviates(short, name) for name in every)
            or (unknown and short not in source and _kindred(mention.text, short))
        ):
            return mention._replace(start=start, end=end, text=short, rule="literal")
    return _written_out(mention, source, output)


def _runs(mention: Mention, source: str) -> Iterator[str]:
    """Give the mention with up to three words that follow it, and one before."""
    after = source[mention.end :].split()[:3]
    before = source[: mention.start].split()[-1:]
    text = mention.text
    for word in after:
        text = f"{text} {word.strip('.,;:!?()')}"
        yield text
        if not word[-1:].isalnum():
            break
    if before and before[0][-1:].isalnum():
        yield f"{before[0]} {mention.text}"


def _kindred(one: str, other: str) -> bool:
    from rapidfuzz.distance import Indel

    same = one[0] == other[0] and min(len(one), len(other)) > 3
    return same and Indel.normalized_similarity(one, other) >= _ALIKE


def _written_out(mention: Mention, source: str, output: str) -> Mention | None:
    """Find the word that a short form with a dot or without vowels stands for: Sgt, Sergeant."""
    short = _bare(romanise(mention.text))
    if mention.tier != "name" or not 1 < len(short) < _SHORT or " " in mention.text:
        return None
    if source[mention.end : mention.end + 1] != "." and re.search("[aeiouy]", short):
        return None
    for found in _WORD.finditer(output):
        word = _bare(romanise(found[0]))
        letters = iter(word[1:])
        if len(word) > len(short) and word[0] == short[0] and all(c in letters for c in short[1:]):
            return mention._replace(
                start=found.start(), end=found.end(), text=found[0], rule="literal"
            )
    return None


# -- names by ear


def heard(
    mention: Mention, names: Iterable[str], output: str, linked: Spans, langs: Sequence[str] = ()
) -> Mention | None:
    """Find a name of a base that an output in another script spells otherwise than the base does.

    All of its words must be there, in words that mean nothing else: ``linked`` are the spans of
    those that do. Words that are ordinary in one of ``langs`` are translated within the name of a
    place, and need not be heard: North Holland.

    Examples
    --------
    >>> miami = Mention(0, 5, "Miami", 1, "city")
    >>> [m and m.text for m in (heard(miami, ("मियामी",), text, [])
    ...  for text in ("मैं मायामी में हूँ", "मैं मुंबई में हूँ"))]
    ['मायामी', None]
    """
    if mention.tier == "name" or any(c.isdigit() for c in mention.text):
        return None
    own = _script(mention.text)
    every = [word for word in _spoken(output) if word.script != own]
    there = [w for w in every if not any(w.start < e and s < w.end for s, e in linked)]
    for name in dict.fromkeys((mention.text, *names)) if every else ():
        parts = [part for part in re.split(r"[\s\-·・]+", name) if part]
        span = _cut_otherwise("".join(map(romanise, parts)), every)
        if span is not None:
            start, end = span
            text = output[start:end]
            return mention._replace(start=start, end=end, text=text, rule="literal")
        if mention.group == "place" and len(parts) > 1:
            parts = [p for p in parts if not any(common(fold(p, lang), lang) for lang in langs)]
        found = _by_ear(parts, there)
        if not found and len(parts) != 1:
            found = _by_ear(["".join(parts)], there)
        if found:
            start, end = min(w.start for w in found), max(w.end for w in found)
            if end - start <= 2 * sum(len(w.text) for w in found):
                text = output[start:end]
                return mention._replace(start=start, end=end, text=text, rule="literal")
    return None


class _Spoken(NamedTuple):
    """A word of an output, its script, and how it is written in Latin letters."""

    text: str
    start: int
    end: int
    script: str
    latin: str


@lru_cache(maxsize=64)  # the mentions of one output come one after the other
def _spoken(output: str) -> tuple[_Spoken, ...]:
    return tuple(_Spoken(*w, _script(w.text), romanise(w.text)) for w in pieces(output))


def _cut_otherwise(whole: str, words: Sequence[_Spoken]) -> tuple[int, int] | None:
    """Find a name in two words or three that are one in the base: न्यूयॉर्क, न्यू यॉर्क."""
    for at, first in enumerate(words) if len(whole) > _TOGETHER else ():
        if not whole.startswith(first.latin):
            continue
        joined = first.latin
        for last in words[at + 1 : at + 3]:
            joined += last.latin
            if joined == whole:
                return first.start, last.end
    return None


def _by_ear(parts: Sequence[str], words: Sequence[_Spoken]) -> list[_Spoken]:
    """Give the words that are spelled nearly as the parts of a name are; none if one is missing."""
    found: list[_Spoken] = []
    for part in parts:
        best = _nearest(romanise(part), [word for word in words if word not in found])
        if best is None:
            return _in_a_row(parts, words)
        found.append(best)
    return found


def _nearest(latin: str, words: Sequence[_Spoken]) -> _Spoken | None:
    """Give the word that is most alike in Latin letters; short ones are the same or are not."""
    from rapidfuzz.distance import Levenshtein

    if len(latin) <= _STEM:
        same = (word for word in words if word.latin == latin)
        return next(same, None) if len(latin) == _STEM else None
    least, most = _SPELLED * len(latin) - 1, len(latin) / _SPELLED + 1  # or too much is lacking
    best, nearest = 0.0, None
    for word in words:
        if len(word.latin) > _STEM and least <= len(word.latin) <= most:
            found = Levenshtein.normalized_similarity(latin, word.latin)
            if found >= _SPELLED and found > best:
                best, nearest = found, word
    return nearest


def _in_a_row(parts: Sequence[str], words: Sequence[_Spoken]) -> list[_Spoken]:
    """Give words one after the other that sound as all parts of a longer name do: वर्ल्ड बैंक."""
    n = len(parts)
    for at in range(len(words) - n + 1) if n > 1 else ():
        row = words[at : at + n]
        near = all(b.start - a.end == 1 for a, b in pairwise(row))
        if near and all(alike(part, word.text) >= 1 for part, word in zip(parts, row, strict=True)):
            return [*row]
    return []


@lru_cache(maxsize=1 << 14)
def _script(text: str) -> str:
    """Name the script of the first letter."""
    return next((unicodedata.name(c, "").partition(" ")[0] for c in text if c.isalpha()), "")


def of_place(
    mention: Mention,
    names: Iterable[str],
    output: str,
    places: Iterable[tuple[Mention, Sequence[str]]],
) -> Mention | None:
    """Find an institution under another name of the place that it is of: ヨーロッパ議会, 欧州議会.

    ``places`` are those that an output names, each with its names in the language of the source;
    what follows one of them must end a name of the institution.

    Examples
    --------
    >>> parliament = Mention(0, 19, "European Parliament", 1, "organisation")
    >>> europe = [(Mention(0, 5, "ヨーロッパ", 2, "region"), ["Europe"])]
    >>> [m and m.text for m in (of_place(parliament, ["欧州議会"], text, europe)
    ...  for text in ("ヨーロッパ議会は", "ヨーロッパ銀行は"))]
    ['ヨーロッパ議会', None]
    """
    if mention.category != "organisation":
        return None
    words = _bare_words(mention.text).split()
    tails = {name[-n:] for name in names for n in range(2, len(name)) if name[-n] >= _UNSPACED}
    for place, called in places:
        stems = [_stem(name) for name in called if len(name) > _STEM]
        if not any(word.startswith(stem) for word in words for stem in stems):
            continue
        ends = [place.end + len(t) for t in tails if output.startswith(t, place.end)]
        if ends:
            start, end = place.start, max(ends)
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


# -- parts of names


def joined_name(mention: Mention, output: str) -> Mention | None:
    """Find a name with other hyphens, or two words that one word of the source is made of.

    Examples
    --------
    >>> region = Mention(0, 17, "Uherskohradišťsko", "n", "name", "name")
    >>> joined_name(region, "in the Uherské Hradiště region").text
    'Uherské Hradiště'
    """
    whole = _bare(mention.text)
    if len(whole) >= _TOGETHER and mention.tier == "name":
        loose = r"[\s\-]*".join(map(re.escape, (c for c in mention.text if c.isalnum())))
        there = re.search(rf"(?<!\w){loose}(?!\w)", output, re.IGNORECASE)
        if there is not None:
            start, end = there.span()
            return mention._replace(start=start, end=end, text=there[0], rule="literal")
    if len(whole) < _LONG or " " in mention.text:
        return None
    words = [found for found in _WORD.finditer(output) if found[0][0].isupper()]
    for one, two in pairwise(words):
        if two.start() - one.end() > 1:
            continue
        a, b = _stem(one[0]), _stem(two[0])
        if min(len(a), len(b)) >= _STEM and whole.startswith(a) and b in whole[len(a) :]:
            start, end = one.start(), two.end()
            return mention._replace(start=start, end=end, text=output[start:end], rule="literal")
    return None


def _stem(word: str) -> str:
    bare = _bare(word)
    return bare[: max(_STEM, len(bare) - 2)]


def is_said(mention: Mention, names: Iterable[str], source: str) -> bool:
    """Tell whether a source says what an output is thought to add: derived, romanised, shortened.

    ``names`` are those of the entity in the source's language. Of a person the surname will do, of
    an organisation the first word: Real Madrid is "Реал" too.

    Examples
    --------
    >>> town = Mention(0, 9, "Serpukhov", 1, "city")
    >>> is_said(town, (), "Сами серпуховичи не против"), is_said(town, (), "Сами они не против")
    (True, False)
    """
    names = [*names]
    if any(abbreviates(short, name) for _, _, short in capital_tokens(source) for name in names):
        return True
    plain, heard = _bare_words(source), None
    for name in (*names, mention.text):
        words = [w for w in re.split(r"[\s\-]+", name) if len(w) > 3]
        if mention.category == "person":
            words = words[-1:]
        elif mention.category in ("organisation", "work", "product"):
            words = words[:1]
        if not words:
            continue
        if all(_bare(word)[: max(_STEM, len(word) - 1)] in plain for word in words):
            return True
        if name == mention.text:
            heard = heard or " ".join(romanise(w) for w in source.split())
            latin = [key for key in map(romanise, words) if len(key) > _STEM]
            return bool(latin) and all(key[:-1] in heard for key in latin)
    return False


def _bare_words(text: str) -> str:
    return " ".join(_bare(word) for word in text.split())


def month_number(mention: Mention, name: str) -> Mention | None:
    """Give a month as its number, for texts that count months: the eleventh month."""
    found = re.search(r"month:(\d+)", name)
    if found is None or not 1 < int(found[1]) <= _MONTHS:  # "one" is said too often
        return None
    return mention._replace(id=f"num:{found[1]}", candidates=())


# -- digits as they stand


def signs_around(mention: Mention, source: str, output: str) -> Mention | None:
    """Find the digits and signs that a value stands among (10/12/21) in the output as they are."""
    if not any(c.isdecimal() for c in mention.text) or mention.group not in ("number", "date"):
        return None
    for found in _SIGNS.finditer(source):
        if found.start() <= mention.start and mention.end <= found.end():
            start = output.find(found[0])
            end = start + len(found[0])
            if start < 0 or output[end : end + 1].isdigit():
                return None
            before = output[start - 1 : start] if start else ""
            if before.isdigit():
                return None
            return mention._replace(start=start, end=end, text=found[0], rule="literal")
    return None


def digits_of_time(mention: Mention, output: str) -> Mention | None:
    """Find the digits of a time next to each other: 5 点 9 分 may stand as 5:9."""
    digits = re.findall(r"\d+", plain_digits(mention.text))
    if mention.category != "time" or len(digits) < 2:
        return None
    pattern = r"(?<!\d)" + r"\D{1,3}".join(f"0?{int(d)}" for d in digits) + r"(?!\d)"
    found = re.search(pattern, plain_digits(output))
    if found is None:
        return None
    start, end = found.span()
    return mention._replace(start=start, end=end, text=output[start:end], rule="literal")


def plain_digits(text: str) -> str:
    """Write digits of all scripts alike, character by character."""
    if text.isascii():
        return text
    return "".join(str(unicodedata.decimal(c)) if c.isdecimal() else c for c in text)
