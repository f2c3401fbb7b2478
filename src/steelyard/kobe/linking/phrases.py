"""Names of several words in other forms than that of the base: Владимира Путина, des Weißen Hauses.

Every word of such a name may change its ending. Words are compared by their stems; the names whose
first word has a stem are read from the base when that stem is first met, so that a base of any
size costs nothing at the start.
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING, Any

from steelyard.kobe.linking.wordforms import base_forms, fold, inflects, stop_words
from steelyard.kobe.linking.written import Token

if TYPE_CHECKING:
    from steelyard.kobe.linking.lexicon import Form, Lexicon

_LONGEST = 6  # words
_MANY = 5000  # names that begin with a stem
_END = ""  # under this a node has the name that ends there
_KEPT = 50_000
#: Here endings tell plurals only: names do not change.
_TERMS_ONLY = frozenset({"en"})
#: Languages that write compounds as one word.
COMPOUNDING = frozenset("de nl sv da nb nn fi et hu is lb gsw".split())
_SHORTEST_PART = 3
_SHORTEST_TERM = 4

_Node = dict[str, Any]


class Phrases:
    """Finds names of several words in any form; terms also inside compounds."""

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon, self.lang = lexicon, lexicon.lang
        categories = lexicon.kb.manifest["categories"]
        self.terms = "term" in categories
        self.on = inflects(self.lang) and (self.terms or self.lang not in _TERMS_ONLY)
        self.compounds = self.lang in COMPOUNDING
        self._parts: dict[str, tuple[int, int, Form] | None] = {}
        self._nodes: dict[str, _Node] = {}
        self._starts: dict[str, tuple[_Node, ...]] = {}
        self._stems: dict[str, tuple[str, ...]] = {}
        self.idle: set[str] = set()  # words as they are written that begin no such name

    def trim(self) -> None:
        """Forget what was looked up where it is much."""
        if max(len(self._starts), len(self._stems), len(self._parts)) > _KEPT:
            for memo in (self._nodes, self._starts, self._stems, self._parts):
                memo.clear()
            self.idle.clear()

    def find(self, text: str, tokens: list[Token], at: int) -> tuple[int, Form] | None:
        """Find the longest name that begins with a word: the number of its last word, its form."""
        word, start, end = tokens[at]
        own = text[start:end]
        nodes = self._starts.get(own)
        if nodes is None:
            nodes = self._starts[own] = self._first(own, word)
            if not nodes:
                self.idle.add(own)
        best = None
        if nodes:
            for node in nodes:
                found = self._longest(text, tokens, at, node)
                if found and (best is None or found[0] > best[0]):
                    best = found
        return best

    def _first(self, word: str, folded: str) -> tuple[_Node, ...]:
        if len(folded) < _SHORTEST_PART or folded in stop_words(self.lang):
            return ()
        if not self.terms and word[0] == word[0].lower():
            return ()
        return tuple(node for stem in self._forms(word, folded) if (node := self._node(stem)))

    def _forms(self, word: str, folded: str) -> tuple[str, ...]:
        """Give the stems that a word may have."""
        found = self._stems.get(word)
        if found is None:
            stems, lang = self.lexicon.stems, self.lang
            more = [stems[fold(form, lang)] for form in base_forms(word, lang)[:3]]
            found = self._stems[word] = tuple(dict.fromkeys([stems[folded], *more]))
        return found

    def _node(self, stem: str) -> _Node:
        """Give the names whose first word has a stem, by the stems of their other words."""
        found = self._nodes.get(stem)
        if found is None:
            found = self._nodes[stem] = {}
            stems = self.lexicon.stems
            for name, key in islice(self.lexicon.kb.starting(self.lang, stem), _MANY):
                first, *words = name.split(" ")
                if not 0 < len(words) < _LONGEST or stems[first] != stem:
                    continue
                node = found
                for word in words:
                    node = node.setdefault(stems[word], {})
                node.setdefault(_END, (key, name))
        return found

    def _longest(
        self, text: str, tokens: list[Token], at: int, node: _Node
    ) -> tuple[int, Form] | None:
        best = None
        last = at
        nodes = [node]
        while nodes and last + 1 < len(tokens):
            if text[tokens[last][2] : tokens[last + 1][1]] != " ":
                break
            last += 1
            word, start, end = tokens[last]
            forms = self._forms(text[start:end], word)
            nodes = [deeper[form] for deeper in nodes for form in forms if form in deeper]
            for found in nodes:
                form = self._meant(text, tokens[at : last + 1], found.get(_END))
                if form:
                    best = last, form
        return best

    def _meant(self, text: str, tokens: list[Token], found: tuple[int, str] | None) -> Form | None:
        if found is None:
            return None
        key, name = found
        entry = self.lexicon.entry(key, name)
        if entry is None or entry.after_number or entry.case == 2:
            return None
        if self.lang in _TERMS_ONLY and entry.category != "term":
            return None
        if entry.category == "person" and any(text[t[1]].islower() for t in tokens):
            return None
        return key, entry

    # -- compounds

    def compound(self, folded: str) -> tuple[int, int, Form] | None:
        """Find a part of a compound: its start and end in the word, and what it means.

        Terms are the first or the last part, days of the week the first (Montagabend).
        """
        try:
            return self._parts[folded]
        except KeyError:
            found = self._parts[folded] = self._compound(folded)
            return found

    def _compound(self, folded: str) -> tuple[int, int, Form] | None:
        lexicon = self.lexicon
        if len(folded) < _SHORTEST_TERM + _SHORTEST_PART:
            return None
        for length, key in lexicon.names(folded):
            if _SHORTEST_TERM <= length <= len(folded) - _SHORTEST_PART:
                entry = lexicon.entry(key, folded[:length])
                if entry and entry.category in ("term", "weekday") and not entry.after_number:
                    return 0, length, (key, entry)
        for at in range(_SHORTEST_PART, len(folded) - _SHORTEST_TERM + 1) if self.terms else ():
            name = folded[at:]
            found = lexicon.kb.key(self.lang, name)
            entry = None if found is None else lexicon.entry(found, name)
            if found is not None and entry and entry.category == "term":
                return at, len(folded), (found, entry)
        return None
