"""Names in a text, as a dictionary has them: where they may begin, which is meant, how they end.

Names begin where a word begins, and the longest counts; where words are written together (Chinese,
Japanese, Thai), a name may begin anywhere.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from steelyard.kobe.linking.context import Found, is_initial
from steelyard.kobe.linking.lexicon import OPEN_ENDED, UNSPACED, Entry, Lexicon
from steelyard.kobe.linking.tokens import in_word, is_mark
from steelyard.kobe.linking.wordforms import common, stop_words
from steelyard.kobe.linking.written import Token

WINDOW = 60  # characters of the longest name that is looked for
#: Words that are not Chinese, Japanese, Thai ...: those are taken character by character.
_UNSPACED_CHAR = "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
_PIECE = re.compile(rf"[{_UNSPACED_CHAR}]|[^\W{_UNSPACED_CHAR}]+")
_ENDS = frozenset(".':")  # signs that may be the end of a name
_AROUND = 30  # characters by which a headline is told
_ABBREVIATED = range(2, 5)  # letters
_TITLED = frozenset({"city", "state", "person", "organisation", "work", "product", "event"})
_DOTTED = re.compile(r"(?<!\w)(?:[^\W\d_]\.){2,5}")
_KATAKANA = re.compile(r"[\u30a1-\u30fa\u30fc]")
_HIRAGANA = re.compile(r"[\u3041-\u3096]+")
_PLACE_WORDS = {"de": frozenset({"in", "nach", "aus"}), "lb": frozenset({"zu"})}


def detect(  # noqa: PLR0912 - the names that a word may begin, the commonest case first
    folded: str, text: str, tokens: list[Token], lexicon: Lexicon
) -> list[Found]:
    """Find names that are written as names, the longest at each place.

    ``text`` is the text in its own writing, in the places of the folded one.
    """
    if lexicon.lang in UNSPACED:
        return _detect_unspaced(folded, text, lexicon)
    found = []
    starts, begins, entry_of = lexicon.starts, lexicon.begins, lexicon.entry
    exact, alone = lexicon.exact, lexicon.alone
    lang = lexicon.lang
    loose = lang in OPEN_ENDED
    n, last, taken = len(folded), len(tokens) - 1, 0
    for at, (token, start, stop) in enumerate(tokens):
        if start < taken:
            continue
        known = starts[token]
        if known is False:
            continue
        if known is True:
            # Most words that begin a longer name do not begin one here: ask the next words first.
            names: Sequence[tuple[int, int]]
            if loose or (at < last and begins[folded[start : tokens[at + 1][2]]]):
                if not loose and at + 1 < last and not begins[folded[start : tokens[at + 2][2]]]:
                    names = exact[folded[start : min(tokens[at + 2][1], start + WINDOW)]]
                else:
                    names = lexicon.names(folded[start : start + WINDOW])
            elif folded[stop : stop + 1] in _ENDS:
                names = exact[folded[start : stop + 1]]
            else:
                names = alone[token]
        else:
            names = known
        for length, key in names:
            end = start + length
            if (
                end < n
                and not loose
                and (after := folded[end]) != " "
                and ((after.isalnum() or after >= "\u0300") and in_word(folded, end))
            ):
                continue
            entry = entry_of(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lang)):
                found.append(Found(start, end, key, meant))
                taken = end
                break
    return found


def _detect_unspaced(folded: str, text: str, lexicon: Lexicon) -> list[Found]:
    found = []
    taken = 0
    japanese, begins = lexicon.lang == "ja", lexicon.begins
    for piece in _PIECE.finditer(folded):
        start = piece.start()
        if start < taken or not begins[folded[start : start + 2]]:
            continue
        together = piece.end() - start == 1 and piece[0] >= "\u0e00"
        # Most names have two characters, and are not looked for twice.
        if begins[folded[start : start + 3]]:
            names: Sequence[tuple[int, int]] = lexicon.names(folded[start : start + WINDOW])
        else:
            names = lexicon.exact[folded[start : start + 2]]
        for length, key in names:
            end = start + length
            if end < len(folded) and is_mark(folded[end]):
                continue
            if together and not _stands_alone(folded, start, end, japanese=japanese):
                continue
            if not together and end < len(folded) and _latin(folded[end - 1 : end + 1]):
                continue
            entry = lexicon.entry(key, folded[start:end])
            if entry and (meant := as_written(entry, text, start, end, lexicon.lang)):
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


def surnames(text: str, tokens: list[Token], found: list[Found], lexicon: Lexicon) -> list[Found]:
    """Find people whose full name is in the text by the last word of it: Merkel, after all.

    They are doubtful: translators repeat names, or not, as their language likes it.
    """
    people: dict[str, Found] = {}
    for one in found:
        first, _, last = text[one.start : one.end].rpartition(" ")
        if one.entry.category == "person" and first and len(last) > 2:
            people.setdefault(lexicon.stems[last.lower()], one)
    if not people:
        return []
    more = []
    for folded, start, end in tokens:
        person = people.get(lexicon.stems[folded])
        if person and not person.start <= start < person.end and text[start].isupper():
            more.append(person._replace(start=start, end=end, doubtful=True))
    return more


def dotted(text: str, lexicon: Lexicon) -> list[Found]:
    """Find abbreviations with dots that the base has without: U.S., U.K., U.S.A."""
    found = []
    for match in _DOTTED.finditer(text):
        letters = match[0].replace(".", "")
        form = lexicon.abbreviation(letters) if letters == letters.upper() else None
        if form is not None:
            found.append(Found(*match.span(), *form))
    return found


def phrases(text: str, tokens: list[Token], lexicon: Lexicon) -> list[Found]:
    """Find names of several words, in whatever form they are."""
    found: list[Found] = []
    own, lang = lexicon.phrases, lexicon.lang
    if not own.on:
        return found
    taken, idle = 0, own.idle
    for at, (_, start, end) in enumerate(tokens[:-1]):
        if start < taken or text[start:end] in idle or not (hit := own.find(text, tokens, at)):
            continue
        last, (key, entry) = hit
        stop = tokens[last][2]
        if meant := as_written(entry, text, start, stop, lang):
            found.append(Found(start, stop, key, meant, inflected=True))
            taken = stop
    return found


def joined(found: list[Found], more: list[Found]) -> list[Found]:
    """Put names together; of two that overlap the longer counts, else the one of the first list.

    Both are sorted.
    """
    if not more:
        return found
    result = [
        one for one in found
        if not any(_overlap(one, o) and o.end - o.start > one.end - one.start for o in more)
    ]  # fmt: skip
    kept = [one for one in more if not any(_overlap(one, other) for other in result)]
    return sorted(result + kept)


def _overlap(one: Found, other: Found) -> bool:
    return one.start < other.end and other.start < one.end


def inflected(text: str, tokens: list[Token], taken: list[Found], lexicon: Lexicon) -> list[Found]:
    """Find names that are inflected, among words that are not part of one yet."""
    found: list[Found] = []
    end_taken = 0
    lang, forms = lexicon.lang, lexicon.known_forms
    hyphens, compounds, idle = "-" in text, lexicon.phrases.compounds, lexicon.idle
    if not hyphens:
        tokens = [token for token in tokens if text[token[1] : token[2]] not in idle]
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
            if form is not None:
                hit = Found(start, end, *form, inflected=True)
            elif compounds and (part := lexicon.phrases.compound(folded)):
                hit = Found(start + part[0], start + part[1], *part[2], inflected=True)
            else:
                idle.add(word)
        if hit and (meant := as_written(hit.entry, text, hit.start, hit.end, lang)):
            found.append(hit._replace(entry=meant))
            end_taken = hit.end
    return found


def _hyphenated(text: str, tokens: list[Token], at: int, lexicon: Lexicon) -> Found | None:
    """Find an inflected name of two words with a hyphen: Санкт-Петербурге."""
    if at + 1 == len(tokens) or tokens[at][2] + 1 != tokens[at + 1][1]:
        return None
    start, end = tokens[at][1], tokens[at + 1][2]
    form = lexicon.form(text[start:end], f"{tokens[at][0]}-{tokens[at + 1][0]}")
    return None if form is None else Found(start, end, *form, inflected=True)


def _free(tokens: list[Token], taken: list[Found]) -> list[Token]:
    result = []
    spans = iter([(f.start, f.end) for f in taken] + [(1 << 60, 1 << 60)])
    start, end = next(spans)
    for token in tokens:
        while token[1] >= end:
            start, end = next(spans)
        if token[2] <= start:
            result.append(token)
    return result


def as_written(entry: Entry, text: str, start: int, end: int, lang: str) -> Entry | None:  # noqa: PLR0911
    """Give what a name means as it is written; None where it is not written as a name.

    It needs capitals where names have them, and must not be an ordinary word with a capital for
    other reasons. ``text`` is the original, ``start`` and ``end`` the span in it.
    """
    if entry.in_capitals is not None and (written := text[start:end]) == written.upper():
        entry = entry.in_capitals
    elif entry.with_capital is not None and text[start] != text[start].lower():
        entry = entry.with_capital
    if not entry.case and not entry.ordinary:
        return entry
    written = text[start:end]
    first = written[0]
    if entry.case == 2:
        if written != written.upper():
            return None
        word = written.lower()
        return None if word in stop_words(lang) and _shouted(text, start, end) else entry
    if entry.case == 1 and len(written) in _ABBREVIATED and _is_abbreviation(text, start, end):
        return None
    if entry.case == 1 and first == first.lower() and first != first.upper():
        return None
    if lang == "en" and entry.category in _TITLED and " " in written and _small(written):
        return None
    return entry if not entry.ordinary or _is_name(text, start, written, lang) else None


def _small(written: str) -> bool:
    """Whether a word of a name in English lacks its capital, which only little words do."""
    words = [word for word in written.split() if word[0].islower() and len(word) > 3]
    return any(word not in stop_words("en") and common(word, "en") for word in words)


def _shouted(text: str, start: int, end: int) -> bool:
    """Whether the words around a span are in capitals, so that its own say nothing."""
    around = text[max(0, start - _AROUND) : start] + text[end : end + _AROUND]
    return around == around.upper() and around != around.lower()


def _is_abbreviation(text: str, start: int, end: int) -> bool:
    """Whether a short word in capitals is none that is written so: ROM is not Rom."""
    written = text[start:end]
    return written == written.upper() != written.lower() and not _shouted(text, start, end)


def _is_name(text: str, start: int, written: str, lang: str) -> bool:
    """Whether an ordinary word is a name here, to judge by its capital."""
    first = written[0]
    if first == first.lower():
        return first == first.upper() and len(written) > 2  # no capitals in this script
    if lang in _PLACE_WORDS:  # nouns have capitals too: only the word before can tell
        before = text[:start].split()[-1:]
        return bool(before) and before[0].lower() in _PLACE_WORDS[lang]
    if is_initial(text, start):
        return any(word[:1].isupper() for word in written.split()[1:])
    return True
