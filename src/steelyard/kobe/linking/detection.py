"""Names in a text, as a dictionary has them: where they may begin, which is meant, how they end.

Names begin where a word begins, and the longest counts; where words are written together (Chinese,
Japanese, Thai), a name may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.kobe.linking.context import NameSpan, is_initial
from steelyard.kobe.linking.lexicon import OPEN_ENDED, UNSPACED, Entry, Lexicon
from steelyard.kobe.linking.wordforms import Token, common, in_word, is_mark, stop_words

_WINDOW = 60  # characters of the longest name that is looked for
#: Words that are not Chinese, Japanese, Thai ...: those are taken character by character.
_UNSPACED_CHAR = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(rf"[{_UNSPACED_CHAR}]|[^\W{_UNSPACED_CHAR}]+")
_ENDS = frozenset(".':")  # signs that may be the end of a name
_AROUND = 30  # characters that tell a headline
_ABBREVIATED = range(2, 5)  # letters
_TITLED = frozenset({"city", "state", "person", "organisation", "work", "product", "event"})
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
_PLACE_WORDS = {"de": frozenset({"in", "nach", "aus"}), "lb": frozenset({"zu"})}


def detect(  # noqa: PLR0912 - the names that a word may begin, the commonest case first
    folded: str, text: str, tokens: list[Token], lexicon: Lexicon
) -> list[NameSpan]:
    """Find names that are written as names, the longest at each place.

    ``text`` is the text in its own writing, aligned with the folded one.
    """
    if lexicon.lang in UNSPACED:
        return _detect_unspaced(folded, text, lexicon)
    names = []
    starts, begins, entry_of = lexicon.starts, lexicon.begins, lexicon.entry
    loose = lexicon.lang in OPEN_ENDED
    n, last, taken = len(folded), len(tokens) - 1, 0
    for at, (token, start, stop) in enumerate(tokens):
        if start < taken:
            continue
        keys: Sequence[tuple[int, int]] | bool = starts[token]
        if keys is False:
            continue
        if keys is True:
            # Most words that begin a longer name do not begin one here: ask the next words first.
            if loose or (at < last and begins[folded[start : tokens[at + 1][2]]]):
                if not loose and at + 1 < last and not begins[folded[start : tokens[at + 2][2]]]:
                    keys = lexicon.exact[folded[start : min(tokens[at + 2][1], start + _WINDOW)]]
                else:
                    keys = lexicon.names(folded[start : start + _WINDOW])
            elif folded[stop : stop + 1] in _ENDS:
                keys = lexicon.exact[folded[start : stop + 1]]
            else:
                keys = lexicon.alone[token]
        for length, key in keys:
            end = start + length
            if (
                end < n
                and not loose
                and (after := folded[end]) != " "
                and ((after.isalnum() or after >= "\u0300") and in_word(folded, end))
            ):
                continue
            entry = entry_of(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lexicon.lang)):
                names.append(NameSpan(start, end, key, meant))
                taken = end
                break
    return names


def _detect_unspaced(folded: str, text: str, lexicon: Lexicon) -> list[NameSpan]:
    names = []
    taken = 0
    japanese, begins = lexicon.lang == "ja", lexicon.begins
    for piece in _PIECE.finditer(folded):
        start = piece.start()
        if start < taken or not begins[folded[start : start + 2]]:
            continue
        together = piece.end() - start == 1 and piece[0] >= "\u0e00"
        # Most names have two characters, and are not looked for twice.
        if begins[folded[start : start + 3]]:
            keys: Sequence[tuple[int, int]] = lexicon.names(folded[start : start + _WINDOW])
        else:
            keys = lexicon.exact[folded[start : start + 2]]
        for length, key in keys:
            end = start + length
            if end < len(folded) and is_mark(folded[end]):
                continue
            if together and not _stands_alone(folded, start, end, japanese=japanese):
                continue
            if not together and _in_latin_word(folded, end):
                continue
            entry = lexicon.entry(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lexicon.lang)):
                names.append(NameSpan(start, end, key, meant))
                taken = end
                break
    return names


def _in_latin_word(text: str, at: int) -> bool:
    """Tell whether a place is inside a word of a script with blanks."""
    pair = text[at - 1 : at + 1]
    return len(pair) == 2 and all(char.isalnum() and char < "\u0e00" for char in pair)


def _stands_alone(folded: str, start: int, end: int, *, japanese: bool) -> bool:
    """Tell whether a name in writing without blanks can be a word of its own."""
    if end - start < 2:
        return False
    if not japanese:
        return True
    if _HIRAGANA.fullmatch(folded, start, end):
        return end - start >= 4
    cut = (folded[max(0, start - 1) : start + 1], folded[end - 1 : end + 1])
    return not any(len(pair) == 2 and all(map(_KATAKANA.match, pair)) for pair in cut)


def phrases(text: str, tokens: list[Token], lexicon: Lexicon) -> list[NameSpan]:
    """Find names of several words, in whatever form they are."""
    names: list[NameSpan] = []
    finder, taken = lexicon.phrases, 0
    for at, (_, start, end) in enumerate(tokens[:-1]) if finder.on else ():
        if start < taken or text[start:end] in finder.idle:
            continue
        if phrase := finder.find(text, tokens, at):
            last, (key, entry) = phrase
            stop = tokens[last][2]
            if meant := as_written(entry, text, start, stop, lexicon.lang):
                names.append(NameSpan(start, stop, key, meant, inflected=True))
                taken = stop
    return names


def joined(names: list[NameSpan], more: list[NameSpan]) -> list[NameSpan]:
    """Join two sorted lists; of names that overlap the longer counts, else that of the first."""
    if not more:
        return names
    kept = [
        name for name in names
        if not any(_overlap(name, o) and o.end - o.start > name.end - name.start for o in more)
    ]  # fmt: skip
    return sorted(kept + [m for m in more if not any(_overlap(m, name) for name in kept)])


def _overlap(name: NameSpan, other: NameSpan) -> bool:
    return name.start < other.end and other.start < name.end


def inflected(
    text: str, tokens: list[Token], names: list[NameSpan], lexicon: Lexicon
) -> list[NameSpan]:
    """Find names that are inflected, among words that are not part of one yet."""
    hits: list[NameSpan] = []
    taken = 0
    forms, idle, finder = lexicon.forms, lexicon.idle, lexicon.phrases
    hyphens = "-" in text
    if not hyphens:
        tokens = [token for token in tokens if text[token[1] : token[2]] not in idle]
    free = _free(tokens, names)
    for at, (folded, start, end) in enumerate(free):
        if start < taken:
            continue
        word, hit = text[start:end], None
        if text[end : end + 1] == "-":
            hit = _hyphenated(text, free, at, lexicon)
        if hit is None:
            if form := forms[word]:
                hit = NameSpan(start, end, *form, inflected=True)
            elif finder.compounds and (part := finder.compound(folded)):
                hit = NameSpan(start + part[0], start + part[1], *part[2], inflected=True)
            else:
                idle.add(word)
        if hit and (meant := as_written(hit.entry, text, hit.start, hit.end, lexicon.lang)):
            hits.append(hit._replace(entry=meant))
            taken = hit.end
    return hits


def _hyphenated(text: str, tokens: list[Token], at: int, lexicon: Lexicon) -> NameSpan | None:
    """Find an inflected name of two words with a hyphen: Санкт-Петербурге."""
    if at + 1 == len(tokens) or tokens[at][2] + 1 != tokens[at + 1][1]:
        return None
    start, end = tokens[at][1], tokens[at + 1][2]
    form = lexicon.forms[text[start:end]]
    return None if form is None else NameSpan(start, end, *form, inflected=True)


def _free(tokens: list[Token], names: list[NameSpan]) -> list[Token]:
    """Return the words that are no part of a name."""
    result = []
    spans = iter([(name.start, name.end) for name in names] + [(1 << 60, 1 << 60)])
    start, end = next(spans)
    for token in tokens:
        while token[1] >= end:
            start, end = next(spans)
        if token[2] <= start:
            result.append(token)
    return result


def as_written(entry: Entry, text: str, start: int, end: int, lang: str) -> Entry | None:
    """Return what a name means as it is written, None if it is not written as a name.

    It needs capitals where names have them, and must not be an ordinary word with a capital for
    other reasons.
    """
    if entry.in_capitals is not None and (written := text[start:end]) == written.upper():
        entry = entry.in_capitals
    elif entry.with_capital is not None and text[start] != text[start].lower():
        entry = entry.with_capital
    if not entry.case and not entry.ordinary:
        return entry
    written = text[start:end]
    first, capitals = written[0], written == written.upper()
    if entry.case == 2:
        shouted = written.lower() in stop_words(lang) and _shouted(text, start, end)
        return entry if capitals and not shouted else None
    if entry.case == 1 and first == first.lower() and first != first.upper():
        return None
    abbreviated = len(written) in _ABBREVIATED and capitals and written != written.lower()
    if entry.case == 1 and abbreviated and not _shouted(text, start, end):
        return None  # ROM is not Rom
    if lang == "en" and entry.category in _TITLED and " " in written and _small(written):
        return None
    return entry if not entry.ordinary or _is_name(text, start, written, lang) else None


def _small(written: str) -> bool:
    """Tell whether a word of a name in English lacks its capital, which only little words do."""
    words = [word for word in written.split() if word[0].islower() and len(word) > 3]
    return any(word not in stop_words("en") and common(word, "en") for word in words)


def _shouted(text: str, start: int, end: int) -> bool:
    """Tell whether the words around a span are in capitals, so that its capitals say nothing."""
    around = text[max(0, start - _AROUND) : start] + text[end : end + _AROUND]
    return around == around.upper() and around != around.lower()


def _is_name(text: str, start: int, written: str, lang: str) -> bool:
    """Tell whether an ordinary word is a name here, to judge by its capital."""
    first = written[0]
    if first == first.lower():
        return first == first.upper() and len(written) > 2  # no capitals in this script
    if lang in _PLACE_WORDS:  # nouns have capitals too: only the word before can tell
        before = text[:start].split()[-1:]
        return bool(before) and before[0].lower() in _PLACE_WORDS[lang]
    if is_initial(text, start):
        return any(word[:1].isupper() for word in written.split()[1:])
    return True
