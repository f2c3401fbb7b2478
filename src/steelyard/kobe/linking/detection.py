"""Finding mentions: names that begin where a word begins, the longest first.

Where words are written together (Chinese, Japanese, Thai), a name may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

from steelyard.kobe.linking.lexicon import OPEN_ENDED, PHRASE, UNSPACED, Entry, Lexicon
from steelyard.kobe.numbers.quantities import Token

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
    end = 0
    tokens = []
    for text in word.findall(folded):
        start = folded.index(text, end)
        end = start + len(text)
        tokens.append((text, start, end))
    return tokens


def detect(  # noqa: C901, PLR0912 - the inner loop: calls cost more than they explain
    folded: str, text: str, tokens: list[Token], lexicon: Lexicon
) -> list[Found]:
    """Find names that are written as names, the longest at each place.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    if lexicon.lang in UNSPACED:
        return _detect_unspaced(folded, text, lexicon)
    found = []
    entry_of, start_of, longer = lexicon.entry, lexicon.known_starts.get, lexicon.known_pairs.get
    lang = lexicon.lang
    loose = lang in OPEN_ENDED
    n, last, taken = len(folded), len(tokens) - 1, 0
    for at, (token, start, stop) in enumerate(tokens):
        if start < taken:
            continue
        known = start_of(token)
        if known is None:
            known = lexicon.start(token)
        if known is False:
            continue
        if known is True:
            # Most words that begin a longer name do not begin one here: ask the next word first.
            goes_on: bool | None = loose
            if at < last and not loose:
                pair = folded[start : tokens[at + 1][2]]
                goes_on = longer(pair)
                if goes_on is None:
                    goes_on = lexicon.goes_on(pair)
            if goes_on:
                names: Sequence[tuple[int, int]] = lexicon.names(folded[start : start + WINDOW])
            else:
                names = lexicon.exact(token if folded[stop : stop + 1] != "." else token + ".")
        else:
            names = known
        for length, key in names:
            end = start + length
            if end < n and folded[end].isalnum() and folded[end - 1].isalnum() and not loose:
                continue
            entry = entry_of(key, folded[start:end])
            if entry is not None:
                meant = as_written(entry, text, start, end, lang)
                if meant is not None:
                    found.append(Found(start, end, key, meant))
                    taken = end
                    break
    return found


def _detect_unspaced(folded: str, text: str, lexicon: Lexicon) -> list[Found]:
    found = []
    taken = 0
    japanese = lexicon.lang == "ja"
    for piece in _PIECE.finditer(folded):
        start = piece.start()
        if start < taken or not lexicon.begins(folded[start : start + 2]):
            continue
        together = piece.end() - start == 1 and piece[0] >= "\u0e00"
        for length, key in lexicon.names(folded[start : start + WINDOW]):
            end = start + length
            if together and not _stands_alone(folded, start, end, japanese=japanese):
                continue
            if not together and end < len(folded) and _latin(folded[end - 1 : end + 1]):
                continue
            entry = lexicon.entry(key, folded[start:end])
            if entry is not None:
                meant = as_written(entry, text, start, end, lexicon.lang)
                if meant is not None:
                    found.append(Found(start, end, key, meant))
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
    """Find names that are inflected, among words that are not part of one yet."""
    found: list[Found] = []
    end_taken = 0
    lang, forms = lexicon.lang, lexicon.known_forms
    hyphens = "-" in text
    free = _free(tokens, taken)
    for at, (folded, start, end) in enumerate(free):
        if start < end_taken:
            continue
        word = text[start:end]
        hit = None
        if hyphens and text[end : end + 1] == "-":
            hit = _hyphenated(text, free, at, lexicon)
        if hit is None:
            form = forms[word] if word in forms else lexicon.inflected(word, folded)
            if form is None:
                continue
            if form == PHRASE:
                hit = _phrase(text, free, at, lexicon)
                form = lexicon.form(word, folded) if hit is None else None
            if hit is None and form is not None:
                entry = lexicon.entry(form, folded)
                assert entry is not None  # only keys with a meaning are given
                hit = Found(start, end, form, entry, inflected=True)
        if hit is not None:
            meant = as_written(hit.entry, text, hit.start, hit.end, lang)
            if meant is not None:
                found.append(hit._replace(entry=meant))
                end_taken = hit.end
    return found


def _hyphenated(text: str, tokens: list[Token], at: int, lexicon: Lexicon) -> Found | None:
    """Find an inflected name of two words with a hyphen: Санкт-Петербурге."""
    if at + 1 == len(tokens) or tokens[at][2] + 1 != tokens[at + 1][1]:
        return None
    start, end = tokens[at][1], tokens[at + 1][2]
    key = lexicon.form(text[start:end], f"{tokens[at][0]}-{tokens[at + 1][0]}")
    entry = None if key is None else lexicon.entry(key, "")
    return None if key is None or entry is None else Found(start, end, key, entry, inflected=True)


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
    words = [lexicon.stem(tokens[at][0])]
    best = None
    for i in range(at + 1, min(at + 4, len(tokens))):
        if text[tokens[i - 1][2] : tokens[i][1]] != " ":
            break
        words.append(lexicon.stem(tokens[i][0]))
        key = lexicon.phrase(" ".join(words))
        if key is not None:
            entry = lexicon.entry(key, "")
            assert entry is not None  # only keys with a meaning are phrases
            best = Found(tokens[at][1], tokens[i][2], key, entry, inflected=True)
    return best


def as_written(entry: Entry, text: str, start: int, end: int, lang: str) -> Entry | None:
    """Give what a name means as it is written; None where it is not written as a name.

    It needs capitals where names have them, and must not be an ordinary word with a capital for
    other reasons. ``text`` is the original, ``start`` and ``end`` the span in it.
    """
    if entry.with_capital is not None and text[start] != text[start].lower():
        entry = entry.with_capital
    if not entry.case and not entry.ordinary:
        return entry
    written = text[start:end]
    first = written[0]
    if entry.case == 2 and written != written.upper():
        return None
    if entry.case == 1 and first == first.lower() and first != first.upper():
        return None
    return entry if not entry.ordinary or _is_name(text, start, written, lang) else None


def _is_name(text: str, start: int, written: str, lang: str) -> bool:
    """Whether an ordinary word is a name here, to judge by its capital."""
    first = written[0]
    if first == first.lower():
        return first == first.upper() and len(written) > 2  # no capitals in this script
    if lang in _PLACE_WORDS:  # nouns have capitals too: only the word before can tell
        before = text[:start].split()[-1:]
        return bool(before) and before[0].lower() in _PLACE_WORDS[lang]
    before_text = text[:start].rstrip()
    if not before_text or before_text[-1] in _BEFORE_CAPITAL:
        return any(word[:1].isupper() for word in written.split()[1:])
    return True
