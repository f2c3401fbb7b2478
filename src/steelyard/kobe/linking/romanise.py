"""Names in Latin letters, as they sound: so that a name is known again in another script.

Spelling is not translated but followed by ear, and every language hears otherwise: Зеленский is
Zelenskyy, Zelensky or Selenskyj. So forms are compared in three ways: as spelled, by the sounds
that spellings share, and, where a script writes few vowels (Arabic, Devanagari), by consonants.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache

from steelyard.core.errors import need_extra

#: Spellings of one sound, the longest first; then those that languages read in two ways.
_SPELLED = (
    ("schtsch", "S"), ("shch", "S"), ("tsch", "S"), ("dsch", "S"), ("tch", "S"), ("sch", "S"),
    ("dzh", "S"), ("tsz", "S"), ("dj", "S"), ("dz", "S"), ("cz", "S"), ("sz", "S"), ("rz", "S"),
    ("zh", "S"), ("sh", "S"), ("ts", "S"), ("tz", "S"), ("cs", "S"), ("th", "T"), ("ph", "F"),
    ("gh", "K"), ("ck", "K"), ("qu", "KF"), ("ce", "Se"), ("ci", "Si"), ("cy", "Sy"),
)  # fmt: skip
_READINGS = (
    (("ch", "S"), ("kh", "K"), ("j", "S"), ("w", "F")),
    (("ch", "K"), ("kh", ""), ("ks", "S"), ("j", "a"), ("w", "a")),
)
_CLASS = str.maketrans({
    **dict.fromkeys("bp", "P"), **dict.fromkeys("fv", "F"), **dict.fromkeys("td", "T"),
    **dict.fromkeys("kgqc", "K"), **dict.fromkeys("sz", "S"), **dict.fromkeys("lr", "L"),
    **dict.fromkeys("mn", "N"), **dict.fromkeys("aeiouy", "a"), "h": "",
})  # fmt: skip
_NO_VOWELS = str.maketrans("", "", "aeiouyh")
_SMALL = dict(zip("ァィゥェォャュョヮ", "aiueoauoa", strict=True))
_DOUBLE = re.compile(r"(.)\1+")
_PLAIN = re.compile(r"[^a-z0-9]+")
_VOWELS = re.compile(r"(?<!^)a")
#: Scripts that leave vowels out, or write some that are not spoken.
_OTHER_VOWELS = re.compile(r"[\u0590-\u08ff\u0900-\u0dff\u0e00-\u0eff\u30a1-\u30fc]")


@lru_cache(maxsize=1 << 16)
def romanise(word: str) -> str:
    """Write a word in small Latin letters and digits, without marks.

    Examples
    --------
    >>> romanise("Зеленский"), romanise("ジョンソン"), romanise("習近平"), romanise("Łódź")
    ('zelenskiy', 'jonson', 'xijinping', 'lodz')
    """
    word = unicodedata.normalize("NFC", word)
    if not word.isascii():
        need_extra("kobe", "a knowledge base", "anyascii")
        from anyascii import anyascii

        word = _kana(word) if any("\u30a1" <= c <= "\u30fc" for c in word) else word
        word = anyascii(word)
    return _PLAIN.sub("", word.lower())


def _kana(word: str) -> str:
    """Write Katakana as it is spoken: small vowels take the place of the one before."""
    from anyascii import anyascii

    written: list[str] = []
    for char in word:
        if char in _SMALL and written:
            before = written[-1][:-1] or written[-1]
            written[-1] = before + _SMALL[char]
        elif char not in "ーッ":
            written.append(anyascii(char))
    return "".join(written)


@lru_cache(maxsize=1 << 16)
def sounds(key: str) -> tuple[str, ...]:
    """Give the classes of sounds of a romanised word, in each way to read it.

    Letters that languages mix up share a class.

    Examples
    --------
    >>> sounds("tschaikowski")[0] == sounds("chaykovskiy")[0], sounds("smith"), sounds("jelzin")
    (True, ('SNaT',), ('SaLSaN', 'aLSaN'))
    """
    for letters, one in _SPELLED:
        if letters in key:
            key = key.replace(letters, one)
    found = []
    for reading in _READINGS:
        read = key
        for letters, one in reading:
            read = read.replace(letters, one)
        found.append(_DOUBLE.sub(r"\1", read.translate(_CLASS)))
    return tuple(dict.fromkeys(found))


def bare(heard: str) -> str:
    """Leave out vowels but the first, for scripts that hardly write them.

    Examples
    --------
    >>> bare("SaLNaN"), bare("aNSaN")
    ('SLN', 'aNSN')
    """
    return _DOUBLE.sub(r"\1", _VOWELS.sub("", heard))


@lru_cache(maxsize=1 << 16)
def _spelling(key: str) -> str:
    """Write what transliteration writes with several letters as the languages themselves do."""
    for letters, one in (("x", "ks"), ("dzh", "j"), ("dsch", "j"), ("kh", "h")):
        key = key.replace(letters, one)
    return key


@lru_cache(maxsize=1 << 16)
def _consonants(key: str) -> str:
    return _DOUBLE.sub(r"\1", key.translate(_NO_VOWELS)) or key


@lru_cache(maxsize=1 << 17)
def similarity(one: str, other: str) -> float:
    """Say how alike two words of any script are as names: 1 for the same, 0 for nothing in common.

    It is the mean of how alike they are as spelled, by their consonants, and as heard: Smith and
    Schmidt sound alike, and are not.

    Examples
    --------
    >>> similarity("Зеленский", "Selenskyj") > 0.75, similarity("Байден", "Biden") > 0.8
    (True, True)
    >>> similarity("Trump", "Biden") < 0.4, similarity("Smith", "Schmidt") < 0.8
    (True, True)
    """
    from rapidfuzz.distance import Levenshtein

    a, b = _spelling(romanise(one)), _spelling(romanise(other))
    if not a or not b:
        return 0.0
    spelled = Levenshtein.normalized_similarity(a, b)
    if spelled == 1 or a.isdigit() or b.isdigit():
        return spelled
    vowels = not (_OTHER_VOWELS.search(one) or _OTHER_VOWELS.search(other))
    best = 0.0
    for x in sounds(a):
        for y in sounds(b):
            best = max(best, Levenshtein.normalized_similarity(x, y))
            if not vowels and min(len(bare(x)), len(bare(y))) >= 2:
                best = max(best, Levenshtein.normalized_similarity(bare(x), bare(y)))
    if not vowels:  # spelling says little
        return max(spelled, 0.3 * spelled + 0.7 * best)
    letters = Levenshtein.normalized_similarity(_consonants(a), _consonants(b))
    return (spelled + letters + best) / 3
