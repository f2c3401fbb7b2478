"""Words of a folded text, in all scripts: letters, digits, and the marks that belong to letters.

Vowel signs of the scripts of India, tone marks and the like are no letters to Python, but a word
that is cut at them is no word.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

from steelyard.kobe.linking.written import Token

_APOSTROPHE_IN_WORDS = {
    "uk": "'", "be": "'", "yo": "'", "agq": "'", "jgo": "'", "nnh": "'", "bas": "'", "ksf": "'",
}  # fmt: skip
_MARKED = 0x300  # the first mark of Unicode
_PLANES = 0x1FFFF  # marks of letters lie below
#: All marks and more: a look at these few ranges is faster than one at each mark.
_MAY_BE_MARK = re.compile(
    "[^\\x00-\u02ff\u0370-\u0482\u048a-\u0590\u2000-\u20cf\u2100-\u2cee"
    "\u3000-\u3029\u3030-\u3098\u309b-\ua66e\uac00-\ud7ff\uff00-\uffef]"
)


@cache
def _marks() -> str:
    """Give all marks as ranges of a class of regular expressions."""
    found: list[list[int]] = []
    for code in range(_MARKED, _PLANES):
        if unicodedata.category(chr(code))[0] == "M":
            if found and found[-1][1] == code - 1:
                found[-1][1] = code
            else:
                found.append([code, code])
    return "".join(f"{chr(first)}-{chr(last)}" for first, last in found)


@cache
def _word(lang: str, *, marks: bool) -> re.Pattern[str]:
    char = rf"[\w{_marks()}]" if marks else r"\w"
    joint = _APOSTROPHE_IN_WORDS.get(lang)
    return re.compile(rf"{char}+(?:{joint}{char}+)*" if joint else f"{char}+")


def tokenise(folded: str, lang: str) -> list[Token]:
    """Split a folded text into words with their places.

    Examples
    --------
    >>> tokenise("l'allemagne", "fr")
    [('l', 0, 1), ('allemagne', 2, 11)]
    >>> [word for word, _, _ in tokenise("जर्मनी और भारत", "hi")]
    ['जर्मनी', 'और', 'भारत']
    """
    marks = not folded.isascii() and _MAY_BE_MARK.search(folded) is not None
    word = _word(lang, marks=marks)
    end = 0
    tokens = []
    for text in word.findall(folded):
        start = folded.index(text, end)
        end = start + len(text)
        tokens.append((text, start, end))
    return tokens


@cache
def is_mark(char: str) -> bool:
    """Whether a character is a mark on the letter before it."""
    return char >= "\u0300" and unicodedata.category(char)[0] == "M"


def in_word(text: str, at: int) -> bool:
    """Whether a place in a text is inside a word, not between words.

    Examples
    --------
    >>> in_word("Wien!", 2), in_word("Wien!", 4), in_word("दिल्ली", 4)
    (True, False, True)
    """
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    if is_mark(after):
        return True
    return after.isalnum() and (before.isalnum() or is_mark(before))
