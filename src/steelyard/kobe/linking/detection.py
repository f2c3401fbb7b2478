"""Names in a text, as a dictionary has them: where they begin, which is meant, which are doubtful.

Names begin where a word begins, and the longest counts; where words are written together (Chinese,
Japanese, Thai), a name may begin anywhere.

No base knows every name. What may be a part of a longer name (London in "London Grammar", 11 in
"Windows 11"), or a small place that nothing shows to be a place, is left undecided: it is never
wanted of a translation, but good where it is kept.
"""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import NamedTuple

from steelyard.kobe.languages import CASELESS
from steelyard.kobe.linking.lexicon import OPEN_ENDED, PLACES, UNSPACED, Entry, Lexicon
from steelyard.kobe.linking.wordforms import (
    NOUNS_WITH_CAPITALS,
    Token,
    common,
    in_word,
    is_mark,
    joining_words,
    lemma,
    place_words,
    stop_words,
)
from steelyard.kobe.mention import Mention, Mentions

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
    forms, idle = lexicon.forms, lexicon.idle
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
            elif part := lexicon.phrases.compound(folded):
                hit = NameSpan(start, start + part[0], *part[1], inflected=True)
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


# -- is this name doubtful?

#: After these a capital says nothing.
BEFORE_CAPITAL = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|\n¿¡")
_WORD = r"[^\W_]\w*(?:['’&-][^\W_]\w*)*"
_NUMBERS = frozenset({"number", "ordinal"})
#: People and countries keep their names inside longer ones; all of these need not.
_PARTS = PLACES | _NUMBERS | {"organisation", "product", "event", "name", "month", "language"}
#: A neighbour of these kinds is a mention of its own, not a part of the same name.
_APART = frozenset({"country", "weekday", "unit", "currency", "percent", "date", "time", "number"})
_LISTED = 6  # characters between two names of a list
_SHORT_IN_HAN = 3  # characters of a name that is hardly anything else
_CHINESE_NAME = re.compile(r"[\u3400-\u9fff]{1,6}(?:·[\u3400-\u9fff]{1,4})+")
_NEIGHBOURHOOD = 40  # characters in which a neighbour is looked for
_HEADLINE = 0.7  # of the words of a headline have a capital ...
_SHORT = 10  # ... all of them in a text of fewer words


class NameSpan(NamedTuple):
    """A name in a folded text: its span, its key and meaning, and how it was found."""

    start: int
    end: int
    key: int
    entry: Entry
    inflected: bool = False
    doubtful: bool = False


def is_initial(text: str, at: int) -> bool:
    """Tell whether a capital is only that of a sentence's beginning."""
    before = text[:at].rstrip()
    return not before or before[-1] in BEFORE_CAPITAL


def small_places(
    text: str, tokens: Sequence[Token], names: list[NameSpan], lang: str
) -> list[NameSpan]:
    """Mark the places that may be words or people; ``text`` has the places of the folded one.

    Where no capital tells a name from a word, they are left out.
    """
    starts = [token[1] for token in tokens]
    marked = []
    for at, name in enumerate(names):
        doubtful = name.doubtful or name.entry.doubtful
        doubtful = doubtful or ("·" in text and lang in UNSPACED and _in_chinese_name(text, name))
        if _is_small_place(name, lang) and not (
            _shown_to_be_place(text, tokens, starts, names, at, lang)
            and not _is_word(text[name.start : name.end], lang)
        ):
            if lang in CASELESS:
                continue
            doubtful = True
        marked.append(name._replace(doubtful=True) if doubtful else name)
    return marked


def _is_word(written: str, lang: str) -> bool:
    """Tell whether a name is an ordinary word as well; without capitals, any word may be meant."""
    if lang in CASELESS:
        return " " not in written and lemma(written, lang) is not None
    return common(written.lower(), lang)


def _is_small_place(name: NameSpan, lang: str) -> bool:
    entry = name.entry
    if lang in UNSPACED:
        short = name.end - name.start < _SHORT_IN_HAN
        return entry.category in ("city", "airport") and entry.doubtful and short
    return entry.unplaced


def _in_chinese_name(text: str, name: NameSpan) -> bool:
    """Tell whether a name is a piece of a longer one, as Niue is of 埃马纽埃尔·马克龙."""
    matches = _CHINESE_NAME.finditer(text)
    return any(m.start() <= name.start and name.end <= m.end() for m in matches)


def _shown_to_be_place(
    text: str,
    tokens: Sequence[Token],
    starts: Sequence[int],
    names: Sequence[NameSpan],
    at: int,
    lang: str,
) -> bool:
    """Tell whether a word before a name, or another place beside it, shows that it is a place."""
    name, words = names[at], place_words(lang)
    if " " in text[name.start : name.end] or not (words or lang in CASELESS):
        return True
    first = bisect_left(starts, name.start)
    if first and tokens[first - 1][0] in words and text[tokens[first - 1][2] : name.start] == " ":
        return True
    for other in (*names[max(0, at - 1) : at], *names[at + 1 : at + 2]):
        if other.entry.category in PLACES or other.entry.category == "country":
            left, right = sorted((name, other))
            gap = text[left.end : right.start]
            if len(gap) <= _LISTED and not gap.isspace() and "." not in gap:
                return not _is_small_place(other, lang) or lang not in CASELESS
    return False


def parts_of_names(text: str, lang: str, mentions: Mentions) -> Mentions:
    """Mark mentions as doubtful that stand beside another word with a capital.

    Two words that "of" joins stand beside each other. Titles of works are translated as a whole,
    and a number after a product is its version.

    Examples
    --------
    >>> eleven = Mention(14, 16, "11", "num:11", "number")
    >>> [m.doubtful for m in parts_of_names("I use Windows 11.", "en", (eleven,))]
    [True]
    """
    apart = {at for m in mentions if m.category in _APART for at in (m.start, m.end)}
    products = {m.end + gap for m in mentions if m.category == "product" for gap in (0, 1)}
    capitals_tell = lang not in CASELESS and bool(mentions) and not is_headline(text)
    marked = []
    for mention in mentions:
        if mention.category in _NUMBERS and mention.start in products:
            doubtful = True
        elif mention.category in _PARTS and not mention.doubtful:
            doubtful = capitals_tell and _is_part(text, lang, mention, apart)
        else:
            doubtful = mention.category == "work" and lang not in CASELESS
        marked.append(mention._replace(doubtful=True) if doubtful else mention)
    return tuple(marked)


@lru_cache(maxsize=1 << 14)
def is_headline(text: str) -> bool:
    """Tell whether capitals say nothing, since nearly all words have them."""
    words = [word for word in text.split() if word[0].isalpha() and len(word) > 3]
    share = 1 if len(words) < _SHORT else _HEADLINE
    return len(words) > 3 and sum(word[0].isupper() for word in words) >= share * len(words)


def _is_part(text: str, lang: str, mention: Mention, apart: set[int]) -> bool:
    numeric = mention.category in _NUMBERS
    if numeric and lang in NOUNS_WITH_CAPITALS:
        return False
    before, after = _neighbours(lang)
    match = before.search(text, max(0, mention.start - _NEIGHBOURHOOD), mention.start)
    if match and match.end("word") not in apart and _has_name_capital(text, lang, match):
        return True
    match = None if numeric else after.match(text, mention.end)
    return bool(match and match.start("word") not in apart) and _has_name_capital(text, lang, match)


@cache
def _neighbours(lang: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    words = joining_words(lang)
    gap = f"[ -]| (?:{'|'.join(words)}) " if words else "[ -]"
    return (
        re.compile(rf"(?<![\w'’-])(?P<word>{_WORD})(?:{gap})$"),
        re.compile(rf"(?:{gap})(?P<word>{_WORD})"),
    )


def _has_name_capital(text: str, lang: str, match: re.Match[str] | None) -> bool:
    if match is None:
        return False
    word, low = match["word"], match["word"].lower()
    if not (word[0].isupper() or (word.isalpha() and word != low)):  # iPhone
        return False
    if "-" in (match[0][0], match[0][-1]):  # London-Marathon
        return True
    if low in stop_words(lang):
        return False
    if lang in NOUNS_WITH_CAPITALS:
        return lemma(word, lang) is None
    return not (is_initial(text, match.start("word")) and common(low, lang))
