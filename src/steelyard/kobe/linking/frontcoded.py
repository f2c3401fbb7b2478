"""Dictionaries of the lemmatiser, in which a few words are looked up without reading all.

simplemma keeps the words of a language sorted, each as the number of bytes that it shares with the
word before, and the rest. It reads all of them before it tells anything of the first word: a second
for a million German ones, when a text has some hundred. Words that share their first bytes stand
together, so a word is found by going down as in a tree, from byte to byte. Once so many were
asked for that reading all is less work, that is what is done.
"""

from __future__ import annotations

import lzma
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.resources import files
from typing import Any

import numpy as np
from numpy.typing import NDArray

_MAGIC = b"SMFC1"
_REVERSED = 1
_SAME, _LITERAL = 254, 255  # instead of the bytes that a value lacks of its word
_LONG = 128  # numbers from here on take more than a byte
_CHUNK, _RUN_UP = 2048, 512  # bytes that are walked through at the same time, and before that
_BEYOND = 8  # bytes that are read beyond the end, at most
_FEW = 32  # words that are read one by one
_SHALLOW = 3  # bytes of a word up to which the way down is kept
_SHARE = 60  # looking a word up takes as long as reading so many
Places = NDArray[np.int64]


class UnreadableError(ValueError):
    """Other versions of simplemma keep their words otherwise."""


class FrontCoded(Mapping[str, str]):
    r"""The words of a language and their dictionary forms.

    Examples
    --------
    >>> ate, cats = b"\0\3ate\3\3eat", b"\0\4cats\1\0"  # shared, more of a word, less, value
    >>> FrontCoded(b"SMFC1\0\2" + ate + cats).get("cats")
    'cat'
    """

    def __init__(self, content: bytes) -> None:
        if content[: len(_MAGIC)] != _MAGIC:
            raise UnreadableError("no front-coded words")
        at = len(_MAGIC)
        self._reversed = bool(content[at] & _REVERSED)
        self._count, at = _number(content, at + 1)
        self._content = content
        self._codes = np.frombuffer(content + bytes(_BEYOND), dtype=np.uint8)
        starts = _records(self._codes, at, len(content), self._count)
        shared, places = _numbers(self._codes, starts)
        self._shared = shared.astype(np.uint16)
        self._sizes, self._places = _numbers(self._codes, places)  # of what is not shared
        self._known: dict[tuple[int, bytes], tuple[Places, NDArray[np.uint8]]] = {}

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[str]:
        key = b""
        for place in range(self._count):
            key = key[: self._shared[place]] + self._rest(place)
            yield self._turned(key).decode()

    def __getitem__(self, word: str) -> str:
        found = self._find(self._turned(word.encode()))
        if found is None:
            raise KeyError(word)
        return self._turned(found).decode()

    def _turned(self, stored: bytes) -> bytes:
        return stored[::-1] if self._reversed else stored

    # -- down to a word

    def _find(self, key: bytes) -> bytes | None:
        low, high = 0, self._count
        for depth in range(len(key)):
            if high - low <= _FEW:
                return self._scan(low, high, key, depth)
            edges, letters = self._below(low, high, key, depth)
            rest = self._rest(low)[depth - int(self._shared[low]) :]
            if rest[:1] == key[depth : depth + 1]:
                high = int(edges[0]) if len(edges) else high
                continue
            which = int(np.searchsorted(letters, key[depth]))
            if which == len(letters) or letters[which] != key[depth]:
                return None
            low = int(edges[which])
            high = int(edges[which + 1]) if which + 1 < len(edges) else high
        return self._scan(low, high, key, len(key))

    def _below(
        self, low: int, high: int, key: bytes, depth: int
    ) -> tuple[Places, NDArray[np.uint8]]:
        """Give the places where the next byte changes, among words that share all before."""
        found = self._known.get((depth, key[:depth]))
        if found is None:
            edges = low + 1 + np.flatnonzero(self._shared[low + 1 : high] == depth)
            found = edges, self._codes[self._places[edges]]
            if depth < _SHALLOW:
                self._known[depth, key[:depth]] = found
        return found

    def _scan(self, low: int, high: int, key: bytes, depth: int) -> bytes | None:
        """Read words one by one; all of them begin with ``depth`` bytes of the key."""
        own = key[:depth] + self._rest(low)[depth - int(self._shared[low]) :]
        place = low
        while own < key and place + 1 < high:
            place += 1
            own = own[: self._shared[place]] + self._rest(place)
        return self._value(place, own) if own == key else None

    # -- what is stored at a place

    def _rest(self, place: int) -> bytes:
        at = int(self._places[place])
        return self._content[at : at + int(self._sizes[place])]

    def _value(self, place: int, key: bytes) -> bytes:
        here = place
        while True:
            at = int(self._places[here]) + int(self._sizes[here])
            cut = self._content[at]
            if cut != _SAME:
                break
            here -= 1  # the value of the word before
        size, at = _number(self._content, at + 1)
        more = self._content[at : at + size]
        if cut == _LITERAL:
            return more
        own = self._before(here, place, key)
        return own[: len(own) - cut] + more

    def _before(self, here: int, place: int, key: bytes) -> bytes:
        """Give the word at a place before that of a key."""
        if here == place:
            return key
        alike = int(self._shared[here + 1 : place + 1].min())
        found, need = self._rest(here), int(self._shared[here])
        while need > alike:
            here -= 1
            shared = int(self._shared[here])
            if shared < need:
                found, need = self._rest(here)[: need - shared] + found, shared
        return key[:need] + found


def _number(content: bytes, at: int) -> tuple[int, int]:
    """Read a number, seven bits to a byte; give where it ends, too."""
    number = shift = 0
    while True:
        byte = content[at]
        number |= (byte & 127) << shift
        at, shift = at + 1, shift + 7
        if byte < _LONG:
            return number, at


def _numbers(codes: NDArray[np.uint8], at: Places) -> tuple[Places, Places]:
    """Read numbers of one byte or two, many at once."""
    numbers = codes[at].astype(np.int64)
    at = at + 1
    if numbers.max(initial=0) >= _LONG:
        long = numbers >= _LONG
        numbers[long] += (codes[at[long]].astype(np.int64) - 1) * _LONG
        at[long] += 1
    return numbers, at


def _records(codes: NDArray[np.uint8], begin: int, end: int, count: int) -> Places:
    """Tell where so many words begin: each tells how long it is, so that the next one is known.

    All chunks are walked through side by side. Where the first word of a chunk begins is guessed by
    running up to it from anywhere, which soon falls into step; and walked through anew until every
    chunk begins where the one before has ended. Words whose numbers take two bytes are rare: these
    are read with more care if the count is wrong without.
    """
    bounds = np.append(np.arange(begin, end, _CHUNK), end)
    guesses = _walk(codes, np.maximum(bounds[:-1] - _RUN_UP, begin), bounds[:-1], long=False)
    for long in (False, True):
        entries, exits = guesses, np.zeros_like(guesses)
        marks = np.zeros(len(codes), dtype=np.bool_)
        todo = np.arange(len(entries))
        while todo.size:
            for chunk in todo.tolist() if len(todo) < len(entries) else ():
                marks[bounds[chunk] : bounds[chunk + 1]] = False
            exits[todo] = _walk(codes, entries[todo], bounds[todo + 1], marks, long=long)
            right = np.append(begin, exits[:-1])
            todo = np.flatnonzero(right != entries)
            entries = right
        starts = np.flatnonzero(marks[:end])
        if len(starts) == count and exits[-1] == end and (long or _are_short(codes, starts)):
            return starts
    raise UnreadableError("words are not as expected")


def _are_short(codes: NDArray[np.uint8], starts: Places) -> bool:
    """Whether words that were read as if all numbers took one byte have such ones only."""
    ends = starts + 2 + codes[starts + 1]
    sizes = np.where(codes[ends] == _SAME, 0, codes[ends + 1])
    return not any((part >= _LONG).any() for part in (codes[starts], codes[starts + 1], sizes))


def _walk(
    codes: NDArray[np.uint8],
    at: Places,
    until: Places,
    marks: NDArray[np.bool_] | None = None,
    *,
    long: bool,
) -> Places:
    """Go from word to word up to a bound, from many places at once; give where that ends."""
    at = at.copy()
    last = len(codes) - _BEYOND  # beyond which only a wrong guess leads
    going = np.flatnonzero(at < until)
    while going.size:
        here = at[going]
        if marks is not None:
            marks[here] = True
        if long:
            size, here = _numbers(codes, _numbers(codes, here)[1])
            here = np.minimum(here + size, last)
            size, after = _numbers(codes, here + 1)
            after += size
        else:
            here = np.minimum(here + 2 + codes[here + 1], last)
            after = here + 2 + codes[here + 1]
        at[going] = here = np.where(codes[here] == _SAME, here + 1, after)
        going = going[here < until[going]]
    return at


class Dictionaries:
    """What simplemma's strategies ask for dictionaries, and their words for dictionary forms."""

    def __init__(self) -> None:
        from simplemma import Lemmatizer
        from simplemma.strategies import DefaultStrategy, DictionaryLookupStrategy

        self._opened: dict[str, Any] = {}
        self.words = DictionaryLookupStrategy(self)
        strategy = DefaultStrategy(dictionary_factory=self)
        self.lemmatizer = Lemmatizer(lemmatization_strategy=strategy)

    def get_dictionary(self, lang: str) -> Any:
        """Give the dictionary of a language: simplemma's own where it can't be read here."""
        found = self._opened.get(lang)
        if found is None:
            try:
                found = _Asked(lang)
            except (UnreadableError, OSError, lzma.LZMAError, IndexError):
                found = _whole(lang)
            self._opened[lang] = found
        return found


class _Asked:
    """Words of a language as they are asked for; of many, all are read."""

    def __init__(self, lang: str) -> None:
        file = files("simplemma.strategies.dictionaries").joinpath("data", f"{lang}.plzma")
        self._lang = lang
        self._words: Mapping[str, str] = FrontCoded(lzma.decompress(file.read_bytes()))
        self._most = len(self._words) // _SHARE
        self._told: dict[str, str | None] = {}

    def get(self, word: str, default: Any = None) -> Any:
        told = self._told
        if word not in told:
            if len(told) >= self._most > 0:
                self._words, self._most = _whole(self._lang), 0
            found = self._words.get(word)
            if not self._most:
                return default if found is None else found
            told[word] = found
        found = told[word]
        return default if found is None else found


@cache
def _whole(lang: str) -> Any:
    from simplemma.strategies import DefaultDictionaryFactory

    return DefaultDictionaryFactory().get_dictionary(lang)


@cache
def dictionaries() -> Dictionaries:
    """Give the dictionaries of this process."""
    return Dictionaries()
