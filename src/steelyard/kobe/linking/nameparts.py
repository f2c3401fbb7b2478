"""Parts of people's names in scripts without capitals, and in which forms a part is written.

The embedded base has a table of some 50,000 parts (Donald, Trump) with their usual forms in six
languages. Many are words as well, so that a part alone tells nothing; a part beside another, or
beside a word that no dictionary has, is a name.
"""

from __future__ import annotations

import gzip
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache

from steelyard.core.errors import InputError
from steelyard.kobe.base.packaged import embedded
from steelyard.kobe.linking.romanise import bare, romanise, sounds
from steelyard.kobe.linking.wordforms import fold, lemma, place_words, stop_words, without_prefix

FILE = "name-parts.tsv.gz"
_WORD = re.compile(r"[^\W\d_]+(?:['׳’][^\W\d_]+)*")
_DEVANAGARI = re.compile(r"[\u0900-\u0963\u0970-\u097f]+")
_SHORTEST = 3
_LONGEST = 4  # words of a name
_PEOPLE = frozenset({"ar", "he"})
_SMALL = {
    "ar": """على حتى منذ عند لدى هذا هذه ذلك تلك عندما بعد قبل خلال بين أمام حول ضد دون غير كما لكن
    ليس كان كانت قال قالت الذي التي أن إن""",
    "he": "את של על אל עם זה זו היה היתה אמר אמרה כי אם גם",
}
#: Hindi marks who has done something, which things hardly ever have.
_AGENTS = frozenset({"ने"})
_AND = frozenset("وו")  # stands before words of any length
_LETTERS = 4  # of a part in Latin letters that is compared by its sound, of a word after a prefix
_CONSONANTS = 2


@cache
def _table() -> tuple[dict[str, str], ...]:
    """Give the rows of the table by language; none where the base has no table."""
    try:
        file = embedded() / FILE
    except InputError:  # who brings a base of their own may have no other
        return ()
    if not file.is_file():
        return ()
    head, *lines = gzip.decompress(file.read_bytes()).decode().splitlines()
    langs = head.split("\t")
    return tuple(dict(zip(langs, line.split("\t"), strict=True)) for line in lines)


@cache
def parts(lang: str) -> Mapping[str, frozenset[str]]:
    """Give the English parts that each folded form of a language stands for."""
    found: dict[str, set[str]] = defaultdict(set)
    for row in _table():
        for form in filter(None, row.get(lang, "").split("|")):
            found[fold(form, lang)].add(row["en"])
    return {form: frozenset(own) for form, own in found.items()}


@cache
def forms(lang: str) -> Mapping[str, frozenset[str]]:
    """Give the folded forms of a language that each English part has."""
    return {
        row["en"]: frozenset(fold(form, lang) for form in row[lang].split("|"))
        for row in _table()
        if row.get(lang)
    }


@cache
def _heard() -> frozenset[str]:
    """Give the consonants of all parts, as they sound."""
    return frozenset(
        kept
        for row in _table()
        if len(row["en"]) >= _LETTERS
        for reading in sounds(romanise(row["en"]))
        if len(kept := bare(reading)) > _CONSONANTS
    )


#: The language of the table whose script a character is of.
_SCRIPTS = (
    ("\u0400", "\u052f", "ru"), ("\u0590", "\u05ff", "he"), ("\u0600", "\u06ff", "ar"),
    ("\u30a1", "\u30fc", "ja"), ("\u3400", "\u9fff", "zh"), ("\uac00", "\ud7a3", "ko"),
)  # fmt: skip


def _language(char: str) -> str:
    return next((lang for first, last, lang in _SCRIPTS if first <= char <= last), "")


@lru_cache(maxsize=1 << 16)
def same_part(one: str, other: str) -> bool:
    """Whether two words of different scripts are one part of names, as the table has it.

    Chinese is written without blanks, so that a form may stand inside a longer piece.

    Examples
    --------
    >>> same_part("特朗普", "Trump"), same_part("Trump", "总统特朗普说")
    (True, True)
    """
    first, second = _language(one[:1]), _language(other[:1])
    if first and not second:
        one, other, first, second = other, one, second, first
    if first or not second:
        return False
    own = forms(second).get(one.lower(), frozenset())
    folded = fold(other, second)
    if second == "zh":
        return any(len(form) > 1 and form in folded for form in own)
    return folded in own


@lru_cache(maxsize=1 << 16)
def _is_unknown(word: str, lang: str) -> bool:
    """Whether no dictionary has a word, with or without the letters written together with it."""
    rests = [own for own in without_prefix(word, lang) if word[0] in _AND or len(own) > _LETTERS]
    return all(lemma(own, lang) is None for own in (word, *rests))


@lru_cache(maxsize=1 << 16)
def _is_part(word: str, lang: str) -> bool:
    if lang == "hi":
        return any(bare(reading) in _heard() for reading in sounds(romanise(word)))
    return len(word) >= _SHORTEST and fold(word, lang) in parts(lang)


def people(text: str, lang: str) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    """Find names of people: words side by side, one a part of names, one that no dictionary has.

    Examples
    --------
    >>> text = "قال أنطونيو غوتيريش إن"
    >>> [text[start:end] for start, end, _ in people(text, "ar")]
    ['أنطونيو غوتيريش']
    """
    if lang != "hi" and lang not in _PEOPLE:
        return
    pattern = _DEVANAGARI if lang == "hi" else _WORD
    run: list[tuple[str, int, int]] = []
    for match in pattern.finditer(text):
        word = match[0]
        good = _fits(word, lang)
        if run and (not good or text[run[-1][2] : match.start()] != " "):
            yield from _named(run, lang, acts=word in _AGENTS and text[match.start() - 1] == " ")
            run = []
        if good:
            run.append((word, *match.span()))
    yield from _named(run, lang)


@cache
def _small_words(lang: str) -> frozenset[str]:
    """Give words that name nothing, of which the dictionaries lack some."""
    return stop_words(lang) | {fold(word, lang) for word in _SMALL.get(lang, "").split()}


@lru_cache(maxsize=1 << 16)
def _fits(word: str, lang: str) -> bool:
    """Whether a word may be one of a name."""
    if len(word) < _SHORTEST or (lang == "ar" and word.startswith(("ال", "وال", "بال", "لل"))):
        return False
    folded = fold(word, lang)
    if folded in place_words(lang) or folded in _small_words(lang):
        return False
    return _is_unknown(word, lang) or (lang != "hi" and _is_part(word, lang))


def _named(
    run: list[tuple[str, int, int]], lang: str, *, acts: bool = False
) -> Iterator[tuple[int, int, tuple[str, ...]]]:
    if acts and run and len(run) <= _LONGEST:
        yield run[0][1], run[-1][2], tuple(word for word, _, _ in run)
        return
    if not 1 < len(run) <= _LONGEST:
        return
    words = tuple(word for word, _, _ in run)
    # By its sound alone much is like a part.
    like = all if lang == "hi" else any
    unknown = any(_is_unknown(word, lang) for word in words)
    if unknown and like(_is_part(word, lang) for word in words):
        yield run[0][1], run[-1][2], words
