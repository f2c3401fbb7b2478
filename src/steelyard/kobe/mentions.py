"""Finding mentions: names that begin where a word begins, the longest first.

Where words are written together (Chinese, Japanese, Thai), a name may begin anywhere.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from steelyard.kobe.lexicon import OPEN_ENDED, UNSPACED, Entry, Lexicon
from steelyard.kobe.values import Token

WINDOW = 60  # characters of the longest name that is looked for
_WORD = re.compile(r"\w+")
_WORD_WITH_APOSTROPHE = re.compile(r"\w+(?:'\w+)*")  # Ukrainian and Belarusian write some in words
_APOSTROPHE_IN_WORDS = frozenset({"uk", "be"})
#: Words that are not Chinese, Japanese, Thai ...: those are taken character by character.
_UNSPACED_CHAR = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(rf"[{_UNSPACED_CHAR}]|[^\W{_UNSPACED_CHAR}]+")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
_BEFORE_CAPITAL = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|\n¿¡")
_PLACE_WORDS = {"de": frozenset({"in", "nach", "aus"}), "lb": frozenset({"zu"})}


class Found(NamedTuple):
    """A name in a folded text: its span, its key and meaning, and whether it was inflected."""

    start: int
    end: int
    key: int
    entry: Entry
    inflected: bool = False


def tokenise(folded: str, lang: str) -> list[Token]:
    """Split a folded text into words with their places.

    Examples
    --------
    >>> tokenise("l'allemagne", "fr")
    [('l', 0, 1), ('allemagne', 2, 11)]
    """
    word = _WORD_WITH_APOSTROPHE if lang in _APOSTROPHE_IN_WORDS else _WORD
    return [(m[0], *m.span()) for m in word.finditer(folded)]


def detect(folded: str, tokens: list[Token], lexicon: Lexicon) -> list[Found]:
    """Find names, the longest at each place; how they are written is not looked at yet."""
    if lexicon.lang in UNSPACED:
        return _detect_unspaced(folded, lexicon)
    found = []
    names, entry_of, start_of = lexicon.names, lexicon.entry, lexicon._starts.get
    loose = lexicon.lang in OPEN_ENDED
    n, taken = len(folded), 0
    for token, start, _ in tokens:
        if start < taken:
            continue
        known = start_of(token)
        if known is None:
            known = lexicon.start(token)
        if known is False:
            continue
        pairs = names(folded[start : start + WINDOW]) if known is True else known
        for length, key in pairs:
            end = start + length
            if end < n and folded[end].isalnum() and folded[end - 1].isalnum() and not loose:
                continue
            entry = entry_of(key, folded[start:end])
            if entry is not None:
                found.append(Found(start, end, key, entry))
                taken = end
                break
    return found


def _detect_unspaced(folded: str, lexicon: Lexicon) -> list[Found]:
    found = []
    taken = 0
    japanese = lexicon.lang == "ja"
    for piece in _PIECE.finditer(folded):
        start = piece.start()
        if start < taken:
            continue
        together = piece.end() - start == 1 and piece[0] >= "\u0e00"
        if not lexicon.begins(folded[start : start + 2]):
            continue
        for length, key in lexicon.names(folded[start : start + WINDOW]):
            end = start + length
            if together and not _stands_alone(folded, start, end, japanese=japanese):
                continue
            if not together and end < len(folded) and _latin(folded[end - 1 : end + 1]):
                continue
            entry = lexicon.entry(key, folded[start:end])
            if entry is not None:
                found.append(Found(start, end, key, entry))
                taken = end
                break
    return found


def _latin(pair: str) -> bool:
    """Whether two characters are of one word of a script with blanks."""
    return pair[0].isalnum() and pair[1].isalnum() and pair[0] < "\u0e00" and pair[1] < "\u0e00"


def _stands_alone(folded: str, start: int, end: int, *, japanese: bool) -> bool:
    """Whether a name in writing without blanks can be a word of its own."""
    if end - start < 2:
        return False
    if not japanese:
        return True
    name = folded[start:end]
    if _HIRAGANA.fullmatch(name):
        return len(name) >= 4
    before, after = folded[start - 1 : start], folded[end : end + 1]
    if _KATAKANA.match(name) and start and _KATAKANA.match(before):
        return False
    return not (_KATAKANA.match(name[-1]) and after and _KATAKANA.match(after))


def inflected(text: str, tokens: list[Token], taken: list[Found], lexicon: Lexicon) -> list[Found]:
    """Find names that are inflected, among words that are not part of one yet.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    free = _free(tokens, taken)
    found: list[Found] = []
    end_taken = 0
    for at, token in enumerate(free):
        folded, start, end = token
        if start < end_taken:
            continue
        word = text[start:end]
        phrase = _phrase(text, free, at, lexicon) if lexicon.starts_phrase(word) else None
        if phrase is not None:
            found.append(phrase)
            end_taken = phrase.end
            continue
        form = lexicon.inflected(word, folded)
        if form is not None:
            entry = lexicon.entry(form[1], folded)
            assert entry is not None  # only keys with a meaning are given
            found.append(Found(start, end, form[1], entry, inflected=True))
    return found


def _free(tokens: list[Token], taken: list[Found]) -> list[Token]:
    if not taken:
        return tokens
    result = []
    spans = iter([(f.start, f.end) for f in taken] + [(1 << 60, 1 << 60)])
    start, end = next(spans)
    for token in tokens:
        while token[1] >= end:
            start, end = next(spans)
        if token[2] <= start:
            result.append(token)
    return result


def _phrase(text: str, tokens: list[Token], at: int, lexicon: Lexicon) -> Found | None:
    """Find the longest name of two to four inflected words."""
    words = [lexicon.lemma(text[tokens[at][1] : tokens[at][2]])]
    best = None
    for i in range(at + 1, min(at + 4, len(tokens))):
        if text[tokens[i - 1][2] : tokens[i][1]] != " ":
            break
        words.append(lexicon.lemma(text[tokens[i][1] : tokens[i][2]]))
        key = lexicon.phrase(" ".join(words))
        if key is not None:
            entry = lexicon.entry(key, "")
            assert entry is not None  # only keys with a meaning are phrases
            best = Found(tokens[at][1], tokens[i][2], key, entry, inflected=True)
    return best


def written_right(found: Found, text: str, start: int, end: int, lang: str) -> bool:
    """Whether a name is written as a name: capitals where it needs them, no ordinary word.

    ``text`` is the original, ``start`` and ``end`` the span in it.
    """
    entry = found.entry
    if not entry.case and not entry.ordinary:
        return True
    written = text[start:end]
    first = written[0]
    if entry.case == 2 and written != written.upper():
        return False
    if entry.case == 1 and first == first.lower() and first != first.upper():
        return False
    if not entry.ordinary:
        return True
    if first == first.lower():
        return first == first.upper() and len(written) > 2  # no capitals in this script
    if lang in _PLACE_WORDS:  # nouns have capitals too: only the word before can tell
        before = text[:start].split()[-1:]
        return bool(before) and before[0].lower() in _PLACE_WORDS[lang]
    before_text = text[:start].rstrip()
    if not before_text or before_text[-1] in _BEFORE_CAPITAL:
        return any(word[:1].isupper() for word in written.split()[1:])
    return True
