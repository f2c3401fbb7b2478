"""Names that no base knows: found by their capitals, known again in a translation by their sound.

A name has no entity. The mentions of a source come first; each output is searched for what is like
them, and what is there has the id of the source's mention. These names never count in a score, and
an alarm about one needs the support of another system or of a human translation.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache, partial
from typing import NamedTuple

from steelyard.core.errors import need_extra
from steelyard.kobe.languages import CASELESS, script, scripts
from steelyard.kobe.linking.detection import is_headline, parts_of_names
from steelyard.kobe.linking.wordforms import (
    NOUNS_WITH_CAPITALS,
    lemma,
    lemmatised,
    ordinary,
    stop_words,
)
from steelyard.kobe.mention import Id, Mention, Mentions

TIER, RULE = "name", "unknown"
UNKNOWN = "name:"  # begins the ids of names that no base knows
_ALWAYS = frozenset({"address", "code"})
#: Kinds of names that human translations keep in nine cases of ten, by the scripts of a pair.
SURE: dict[tuple[str, str], frozenset[str]] = {
    ("LATIN", "LATIN"): _ALWAYS | {"mixed", "person", "single"},
    ("CYRILLIC", "LATIN"): _ALWAYS | {"foreign", "person", "single"},
    ("LATIN", "CYRILLIC"): _ALWAYS | {"person", "single"},
    ("CYRILLIC", "CYRILLIC"): _ALWAYS | {"foreign", "person", "single"},
    ("CJK", "LATIN"): _ALWAYS | {"foreign", "acronym", "mixed"},
    ("LATIN", "DEVANAGARI"): _ALWAYS | {"person", "single"},
    ("LATIN", "KATAKANA"): frozenset({"address", "person"}),
}
_SYLLABLES = re.compile("(?:(?:[kgsztdnhbpmrfjyw]|[sct]h|ts|[kgnhbpmr]y)?[aiueo]h?n?)+")

# -- names in a text

_UPPER = "".join(c for c in map(chr, (*range(0x590), *range(0x1E00, 0x2000))) if c.isupper())
_LATIN = "A-Za-z\u00c0-\u024f\uff21-\uff3a\uff41-\uff5a"
_LATIN_UPPER = "".join(c for c in map(chr, range(0x250)) if c.isupper()) + "\uff21-\uff3a"
_ADDRESS = re.compile(
    r"(?:https?://|www\.)[!-~]*[A-Za-z0-9/]|(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+"
    r"|(?<![\w@])@[A-Za-z0-9_.]*[A-Za-z0-9_]{2}"
)
_BEGINS = frozenset(".!?…:;\"“”„«»‘'([{*-–—•|/\n¿¡‚‹›")
_PARTICLES = re.compile(
    r" (?:(?:de|da|do|dos|del|di|du|van|von|bin|ibn|al|el|фон|де|ван) (?:(?:der|den|la) )?)?"
)
_SHORT = re.compile(r"\b(?:[^\W\d_]{1,2}|Mrs|Prof|Gen|Sen|Rep|Gov|Rev)\.$")
_JOINED = re.compile(r"\w['’-]$")  # l'Allemagne
_ROMAN = re.compile("[IVXLC]+")
_LONGEST_ACRONYM = 7
_LOOK_BACK = 9  # characters before a word that tell whether it begins a sentence


class Name(NamedTuple):
    """A name in a text: its span, how it is written, and its words."""

    start: int
    end: int
    kind: str  # address, code, acronym, mixed, person, single, foreign; titled, listed (in doubt)
    words: tuple[str, ...]


class _Word(NamedTuple):
    text: str
    start: int
    end: int
    shape: str  # cap, caps, mixed, code, initial
    begins: bool  # a sentence


@cache
def _pattern(lang: str) -> re.Pattern[str]:
    if lang in CASELESS:  # words in Latin letters stand out
        inner = f"[0-9{_LATIN}]"
        return re.compile(rf"(?<![A-Za-z0-9])[{_LATIN_UPPER}]{inner}*(?:[-'’&.]{inner}+)*")
    inner = r"[\w\u0300-\u036f]"
    return re.compile(
        rf"\b(?:(?:[{_UPPER}]\.){{2,}}|[^\W{_UPPER}]{{0,4}}[{_UPPER}]{inner}*(?:[-'’&]{inner}+)*)"
    )


def _words(text: str, lang: str) -> Iterator[_Word]:
    for match in _pattern(lang).finditer(text):
        start, end = match.span()
        word = match[0]
        if word.endswith(("'s", "’s")) and len(word) > 3:
            word, end = word[:-2], end - 2
        form = shape(word)
        if form == "initial" and text[end : end + 1] == ".":
            end += 1
        yield _Word(word, start, end, form, _begins(text, start))


def _begins(text: str, start: int) -> bool:
    before = text[max(0, start - _LOOK_BACK) : start].rstrip(" ")
    if not before:
        return not text[:start].strip(" ")
    if before[-1] not in _BEGINS:
        return False
    return not (_SHORT.search(before) or _JOINED.search(text[max(0, start - 2) : start]))


@lru_cache(maxsize=1 << 16)
def shape(word: str) -> str:
    """Return how a word with a capital is written."""
    letters = [c for c in word if c.isalpha()]
    if any(c.isdigit() for c in word):
        return "code"
    if len(letters) == 1:
        return "initial"
    if all(c.isupper() for c in letters):
        return "caps"
    parts = re.split("[-'’&]", word)
    inner = any(part[1:] != part[1:].lower() and part != part.upper() for part in parts)
    return "mixed" if inner or not word[0].isupper() else "cap"


@lru_cache(maxsize=1 << 16)
def _status(word: str, lang: str) -> str:
    """Return what a word is in a dictionary: an ordinary ``word``, a ``name``, or ``unknown``."""
    low = word.lower()
    if low in stop_words(lang):
        return "word"
    if not lemmatised(lang):
        return "name"
    form = lemma(low, lang)
    small = form is not None and form[:1] == form[:1].lower()
    if small or (lang in NOUNS_WITH_CAPITALS and ordinary(low, lang)):
        return "word"
    parts = [part for part in re.split("[-'’]", low) if part]
    if len(parts) > 1 and all(ordinary(part, lang) for part in parts):
        return "word"
    return "unknown" if form is None and lemma(word, lang) is None else "name"


def find_names(text: str, lang: str, mentions: Mentions = ()) -> tuple[Name, ...]:
    """Find names beside the mentions of a base, in order of their place.

    Examples
    --------
    >>> text = "Yesterday Olaf Tschentscher met Ms Kowalska in the iHub."
    >>> [text[name.start : name.end] for name in find_names(text, "en")]
    ['Olaf Tschentscher', 'Kowalska', 'iHub']
    """
    taken = [(m.start, m.end) for m in mentions if not m.doubtful]
    undecided = {(m.start, m.end) for m in mentions if m.doubtful}
    names = [Name(*m.span(), "address", (m[0],)) for m in _ADDRESS.finditer(text)]
    taken += [(name.start, name.end) for name in names]
    if lang not in CASELESS and is_headline(text):
        return tuple(names)
    for run in _runs(text, lang, taken):
        name = _named(run, lang)
        if name is not None and (name.start, name.end) not in undecided:
            names.append(name)
    return tuple(sorted(names))


def _runs(text: str, lang: str, taken: Sequence[tuple[int, int]]) -> Iterator[list[_Word]]:
    run: list[_Word] = []
    for word in _words(text, lang):
        free = all(end <= word.start or word.end <= start for start, end in taken)
        joined = run and not word.begins and _PARTICLES.fullmatch(text[run[-1].end : word.start])
        if run and not (joined and free and "code" not in (run[-1].shape, word.shape)):
            yield run
            run = []
        if free:
            run.append(word)
    if run:
        yield run


def _named(run: list[_Word], lang: str) -> Name | None:
    if lang in CASELESS or not scripts(lang) & {script(run[0].text[0])}:
        kind = _kind_of_word(run[0], "") if len(run) == 1 else "foreign"
    else:
        plain = [w for w in run if w.shape == "cap" and _status(w.text, lang) == "word"]
        # An ordinary word before a name is a title, or begins a sentence: President Joe Biden.
        if plain and plain[0] is run[0] and (len(plain) == 1 or run[0].begins):
            run, plain = run[1:], plain[1:]
        kind = "titled" if plain else _kind(run, lang)
        if plain and (len(run) == 1 or lang in NOUNS_WITH_CAPITALS):
            kind = None
    if kind is None:
        return None
    return Name(run[0].start, run[-1].end, kind, tuple(word.text for word in run))


def _kind(run: Sequence[_Word], lang: str) -> str | None:
    main = [word for word in run if not _ROMAN.fullmatch(word.text)]  # Charles III
    if len(main) > 1:
        # Where nouns have capitals, a dictionary has them as it has names: one must be unknown.
        sure = lang not in NOUNS_WITH_CAPITALS or "unknown" in (_status(w.text, lang) for w in main)
        return "person" if sure and any(w.shape in ("cap", "mixed") for w in main) else None
    return _kind_of_word(main[0], lang) if main else None


def _kind_of_word(word: _Word, lang: str) -> str | None:
    if word.shape in ("code", "mixed"):
        return None if word.text[0].isdigit() else word.shape
    if word.shape == "caps":
        plain = word.text.replace(".", "")
        is_word = plain.lower() in stop_words(lang) or (
            len(plain) > 3 and bool(lang) and _status(plain, lang) == "word"
        )
        return "acronym" if len(plain) <= _LONGEST_ACRONYM and not is_word else None
    if not lang:
        return "foreign" if word.shape == "cap" else None
    # German writes every noun with a capital, and no dictionary has all of its compounds.
    if lang in NOUNS_WITH_CAPITALS or word.shape != "cap" or word.begins or len(word.text) < 3:
        return None
    return "single" if _status(word.text, lang) == "unknown" else "listed"


class NameTier:
    """Names of one pair of languages that no base knows.

    Examples
    --------
    >>> tier = NameTier("ru", "en")
    >>> source = tier.mentions("Об этом сообщил Алексей Голошейкин.", ())
    >>> [(m.text, m.id, m.doubtful) for m in source]
    [('Алексей Голошейкин', 'name:aleksey golosheykin', False)]
    >>> [m.text for m in tier.kept(source, "This was said by Alexey Goloshyokin.", ())]
    ['Alexey Goloshyokin']
    """

    def __init__(self, lang: str, other: str) -> None:
        self.lang, self.other = lang, other
        pair = (_main_script(lang), _main_script(other))
        self._sure = SURE.get(pair, frozenset({"address"}))

    def mentions(self, text: str, linked: Mentions) -> Mentions:
        """Return the mentions of a source with those of names that the base does not know."""
        names = find_names(text, self.lang, linked)
        if not names:
            return linked
        seen: set[str] = set()
        mentions = list(linked)
        for name in names:
            key = UNKNOWN + " ".join(filter(None, map(romanise, name.words)))
            # A translation says "he" where a name would be repeated.
            doubtful = key in seen or not self._is_sure(name)
            if not doubtful:
                seen.add(key)
            span = name.start, name.end, text[name.start : name.end]
            mentions.append(Mention(*span, key, "name", TIER, (key,), RULE, doubtful))
        mentions.sort(key=lambda m: (m.start, m.end))
        return parts_of_names(text, self.lang, tuple(mentions))

    def _is_sure(self, name: Name) -> bool:
        if name.kind not in self._sure:
            return False
        # Japanese names go back to Kanji, which have no sounds of their own.
        return self.other != "ja" or not all(_SYLLABLES.fullmatch(romanise(w)) for w in name.words)

    def kept(self, source: Mentions, output: str, linked: Mentions) -> Mentions:
        """Return the mentions of an output with those of the source's names that it keeps."""
        readings = {reading for m in linked for reading in m.readings}
        more: dict[tuple[Span, Id], Mention] = {}
        words = cache(partial(pieces, output))
        for mention in source:
            # People of the base have no name in every language.
            person = mention.category == "person" and not mention.doubtful
            if mention.rule != RULE and not (person and readings.isdisjoint(mention.readings)):
                continue
            if mention.doubtful:
                span = exactly(mention.text, output)
            else:
                span = find_in(mention.text, output, words)
            if span is not None:
                start, end = span
                copy = mention._replace(start=start, end=end, text=output[start:end])
                more.setdefault((span, mention.id), copy._replace(rule=RULE, doubtful=False))
        if not more:
            return linked
        return tuple(sorted((*linked, *more.values()), key=lambda m: (m.start, m.end)))


def _main_script(lang: str) -> str:
    every = scripts(lang)
    return next(s for s in ("KATAKANA", "CJK", "CYRILLIC", "LATIN", *sorted(every)) if s in every)


# -- a name of the source in its translation

#: How alike two words must be to be one name: in one script, across scripts, and with scripts of
#: few vowels, in which much is alike.
SAME_SCRIPT, OTHER_SCRIPT, KATAKANA, FEW_VOWELS = 0.76, 0.64, 0.66, 0.74
_SHORT_WORD = 4  # letters below which words must be more alike
_BESIDE = 0.7  # of what is needed, beside a part of the name that is there
_ENDING = 4  # letters that an inflected name may have more, or fewer
_HOPELESS = 0.4  # of what is needed: no ending makes up for less
_PIECE = re.compile(
    r"[\u30a1-\u30fa\u30fc]+|[\u3400-\u9fff]+|[\u3041-\u3096]+"
    r"|[^\s\u0000-\u002f\u003a-\u0040\u005b-\u0060\u007b-\u00bf\u2000-\u206f\u3000-\u30ff"
    r"\u3400-\u9fff\u0964\u0965\u060c\u061b\u061f\uff00-\uff0f\uff1a-\uff20]+"
)
_PARTS = re.compile(r"[\s\-‑'’&.·・･＝=]+")
Span = tuple[int, int]


class Piece(NamedTuple):
    """A word of an output."""

    text: str
    start: int
    end: int


def pieces(text: str) -> list[Piece]:
    """Return the words of a text that may be names: those with a capital, or of other scripts."""
    return [Piece(m[0], *m.span()) for m in _PIECE.finditer(text) if _may_be_name(m[0])]


@lru_cache(maxsize=1 << 16)
def _may_be_name(word: str) -> bool:
    return word.lower() != word or (not word.isascii() and word == word.upper())


def find_in(name: str, output: str, words: Callable[[], list[Piece]]) -> Span | None:
    """Return the span of an output that is like a name of the source, or None.

    ``words`` returns the words of the output, if the name is not there as it is written.

    Examples
    --------
    >>> text = "So Volodymyr Zelenskyy said"
    >>> find_in("Владимир Зеленский", text, lambda: pieces(text))
    (3, 22)
    """
    span = exactly(name, output)
    if span is not None:
        return span
    parts = [part for part in _PARTS.split(name) if part]
    if not parts:
        return None
    there = words()
    span = _together(parts, there)
    if span is None and not any(map(str.isdigit, name)):  # F-15 is like F-16, and another
        span = _apart(parts, there)
    return span or exactly(name.lower(), output.lower())


def exactly(written: str, output: str) -> Span | None:
    """Find a name as it is written, at the start of a word and up to an ending of its last."""
    at = output.find(written)
    while at >= 0:
        end = at + len(written)
        before = output[at - 1] if at else " "
        if not (before.isalnum() and before < "\u0e00" and written[0].isalnum()):
            more = end
            while more < len(output) and output[more].isalpha() and output[more] < "\u0e00":
                more += 1
            if more - end <= (_ENDING if len(written) >= 4 else 1):
                return at, more
        at = output.find(written, at + 1)
    return None


def _together(parts: Sequence[str], words: Sequence[Piece]) -> Span | None:
    """Find a name whose words are joined or cut otherwise: Cyber Punk, Cyberpunk, Cyber-Punk."""
    whole = "".join(map(romanise, parts))
    if len(whole) < 4:
        return None
    for at, word in enumerate(words):
        joined = ""
        for last in words[at : at + len(parts) + 2]:
            joined += romanise(last.text)
            if len(joined) >= len(whole):
                if joined.startswith(whole) and len(joined) - len(whole) <= _ENDING:
                    return word.start, last.end
                break
    return None


def _apart(parts: Sequence[str], words: Sequence[Piece]) -> Span | None:
    free = dict(enumerate(words))
    hits: list[int] = []
    left = []
    for part in sorted(parts, key=lambda p: (-len(p), p)):
        best, at = _best(part, free)
        if best >= 1:
            hits.append(at)
            del free[at]
        else:
            left.append(part)
    lost = 0
    for part in left:
        near = {at: free[at] for hit in hits for at in (hit - 1, hit + 1) if at in free}
        best, at = _best(part, near)
        if best >= _BESIDE:
            hits.append(at)
            del free[at]
        elif len(part) >= _SHORT_WORD:
            lost += 1
    if not hits or lost >= len(hits) + (len(parts) == 2) or (lost and _replaced(hits, words)):
        return None
    start, end = min(hits), max(hits)
    if end - start > 2 * len(parts) + 2:
        start = end = hits[0]
    return words[start].start, words[end].end


def _best(part: str, words: Mapping[int, Piece]) -> tuple[float, int]:
    scores = [(alike(part, word.text), at) for at, word in words.items()]
    return max(scores, key=lambda pair: pair[0], default=(0.0, -1))


def _replaced(hits: Sequence[int], words: Sequence[Piece]) -> bool:
    """Tell whether another name stands beside what is there, in the place of what is not."""
    for hit in hits:
        for at in (hit - 1, hit + 1):
            if 0 <= at < len(words) and at not in hits:
                left, right = sorted((words[at], words[hit]), key=lambda word: word.start)
                near = words[at].text
                if right.start - left.end <= 1 and near[0].isupper() and len(near) > 2:
                    return True
    return False


@lru_cache(maxsize=1 << 17)
def alike(word: str, other: str) -> float:
    """Return how far two words are one name: 1 and more if they are."""
    a, b = romanise(word), romanise(other)
    if not a or not b:
        return 0.0
    if a == b:
        return 2.0
    shorter, longer = sorted((a, b), key=len)
    if shorter.isdigit() or longer.isdigit() or len(shorter) < 2:
        return 0.0
    ending = _ENDING if len(shorter) >= 4 else 2
    if len(shorter) >= 3 and longer.startswith(shorter) and len(longer) - len(shorter) <= ending:
        return 1.5
    need = _needed(word, other)
    best = similarity(word, other)
    # Endings of cases: the rest must be alike.
    cuts = () if need in (KATAKANA, FEW_VOWELS) or best < _HOPELESS * need else (1, 2, 3)
    for cut in cuts:
        if best < need and len(a) - cut >= 4 and len(word) - cut >= 4:
            best = max(best, similarity(word[: len(word) - cut], other) - 0.03 * cut)
        if best < need and len(b) - cut >= 4 and len(other) - cut >= 4:
            best = max(best, similarity(word, other[: len(other) - cut]) - 0.03 * cut)
    return best / (need + 0.1 * (len(shorter) < _SHORT_WORD))


def _needed(word: str, other: str) -> float:
    first, second = sorted((word[0], other[0]))
    if second < "\u0250" or (first >= "\u0370" and second < "\u0530"):
        return SAME_SCRIPT
    if "\u0590" <= second < "\u0f00":
        return FEW_VOWELS
    return KATAKANA if "\u30a0" <= second <= "\u30ff" else OTHER_SCRIPT


# -- names in Latin letters, as they sound: Зеленский is Zelenskyy, Zelensky or Selenskyj

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
#: What transliteration writes with several letters, as the languages themselves do.
_TRANSLITERATED = (("x", "ks"), ("dzh", "j"), ("dsch", "j"), ("kh", "h"))
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
    """Write a word in small Latin letters and digits, without marks."""
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
    """Return the classes of sounds of a romanised word, in each way to read it."""
    key = _respelled(key, _SPELLED)
    heard = [_respelled(key, reading).translate(_CLASS) for reading in _READINGS]
    return tuple(dict.fromkeys(_DOUBLE.sub(r"\1", reading) for reading in heard))


def bare(heard: str) -> str:
    """Leave out vowels but the first, for scripts that hardly write them."""
    return _DOUBLE.sub(r"\1", _VOWELS.sub("", heard))


def _respelled(key: str, spellings: Iterable[tuple[str, str]]) -> str:
    for letters, sound in spellings:
        key = key.replace(letters, sound)
    return key


@lru_cache(maxsize=1 << 17)
def similarity(word: str, other: str) -> float:
    """Return how alike two words of any script are as names, from 0 to 1.

    It is the mean of how alike they are as spelled, by their consonants, and as heard: Smith and
    Schmidt sound alike, and are not.
    """
    from rapidfuzz.distance import Levenshtein

    a, b = (_respelled(romanise(name), _TRANSLITERATED) for name in (word, other))
    if not a or not b:
        return 0.0
    spelled = Levenshtein.normalized_similarity(a, b)
    if spelled == 1 or a.isdigit() or b.isdigit():
        return spelled
    vowels = not (_OTHER_VOWELS.search(word) or _OTHER_VOWELS.search(other))
    best = 0.0
    for x in sounds(a):
        for y in sounds(b):
            best = max(best, Levenshtein.normalized_similarity(x, y))
            if not vowels and min(len(bare(x)), len(bare(y))) >= 2:
                best = max(best, Levenshtein.normalized_similarity(bare(x), bare(y)))
    if not vowels:  # spelling says little
        return max(spelled, 0.3 * spelled + 0.7 * best)
    a, b = (_DOUBLE.sub(r"\1", key.translate(_NO_VOWELS)) or key for key in (a, b))
    letters = Levenshtein.normalized_similarity(a, b)
    return (spelled + letters + best) / 3
