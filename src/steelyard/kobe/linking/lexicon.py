"""The names of a knowledge base as one language sees them, for one language pair.

What can be said of a name without its sentence is worked out once and kept: which entities it may
mean, how it must be written, whether it is an ordinary word as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple, TypeVar

from steelyard.kobe.base.codec import UNSTATED, Flag
from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.languages import CASELESS, national_languages
from steelyard.kobe.linking.wordforms import (
    Token,
    base_forms,
    common,
    fold,
    in_word,
    inflects,
    ordinary,
    resembles,
    stem,
    stop_words,
)
from steelyard.kobe.options import TIERS

_CASED, _UPPER = int(Flag.CASED), int(Flag.UPPER)
_LABEL, _DEMONYM = int(Flag.LABEL), int(Flag.DEMONYM)
_UNSTATED, _ABBREVIATION, _SYMBOL = int(Flag.UNSTATED), int(Flag.ABBREVIATION), int(Flag.SYMBOL)
_READINGS = 8  # further readings of a name are as good as none
_JOINTS = " -'.·/,&(:፡"  # what may stand between the words of a name
PLACES = frozenset({"city", "place", "airport", "region", "state", "subdivision", "geo"})
_CITIES = frozenset({"city", "airport"})
_NAMED = frozenset({"person", "organisation", "work", "product", "event"})
_LOWER_TOO = frozenset({"currency", "unit", "term"})
_WORDLIKE = frozenset({"organisation", "product", "event"})
#: What is known by the first letters of its name, in capitals.
_ABBREVIATED = frozenset({"country", "region", "state", "organisation"})
_CODES_AS_NAMES = frozenset({"us", "eu", "un"})
_SPOKEN = 7.0  # a language of ten million is known by its name, whatever else that means
_FAMOUS = 6.5  # what newspapers don't explain is a name, though it may be a word as well
_SMALLEST = math.log10(15_000)  # cities of fewer people are not linked
_SURE = 6.0  # a city of a million is linked even if its name is an ordinary word
_LARGE = 5.5  # a city of 300,000 is meant by its name alone
_SHORTEST = 3  # characters of a Chinese name that is hardly anything else
#: What a name that is not the main one is worth less (tens of people): an alias in the language, a
#: spelling of the main name, any other alternate name.
_ALIAS, _SPELLING, _ALTERNATE = 0.4, 0.6, 2.5
#: Languages written without blanks between words.
UNSPACED = frozenset("zh yue lzh wuu ja th lo km my bo dz shn mnw blt nod".split())
#: Particles are written on the end of words.
OPEN_ENDED = frozenset({"ko"})


_V = TypeVar("_V")


class Entry(NamedTuple):
    """What a name may mean, and how it must be written to mean it."""

    ids: tuple[int, ...]
    category: str
    tier: str
    case: int  # 0: any, 1: a capital first, 2: capitals only
    ordinary: bool  # an ordinary word as well: a capital must be one of a name
    after_number: bool  # means it only beside a number: 5 m, Sat. 3
    with_capital: Entry | None = None  # what it means instead if written with a capital
    in_capitals: Entry | None = None  # what it means instead if written in capitals
    stated: bool = True  # the main name, or one that is stated in the language
    doubtful: bool = False  # a word as well, or hardly a name of its own
    unplaced: bool = False  # too small a place to be meant where nothing tells that it is one


#: The key of a name that a word is a form of, and its meaning.
Form = tuple[int, Entry]


class _Memo(dict[str, _V]):
    """What a function gives, worked out when it is first asked for."""

    def __init__(self, find: Callable[[str], _V]) -> None:
        self.find = find

    def __missing__(self, key: str) -> _V:
        value = self[key] = self.find(key)
        return value


class Lexicon:
    """The names of a base in a language, restricted to what a language pair shares."""

    def __init__(self, kb: KnowledgeBase, lang: str, other: str) -> None:
        self.kb, self.lang, self.other = kb, lang, other
        self._find = kb.finder(lang)
        self._allowed = kb.shared(lang, other)
        self._stated = kb.stated(lang) if lang != other else None
        self._categories = kb.manifest["categories"]
        # Where capitals tell no names, states need to be told from words as cities do.
        self._small = _CITIES | {"state"} if lang in CASELESS else _CITIES
        self._latin = "LATIN" in kb.manifest["scripts"].get(lang, ())
        self.countries = self._national()
        self._entries: dict[int, Entry | None] = {}
        self.forms = _Memo(self._form)
        #: What begins with a word: nothing (False), longer names too (True), or just these names.
        self.starts = _Memo(self._start)
        self.begins = _Memo(kb.continues(lang))
        self.exact = _Memo(self.names)
        #: The names at the start of a word that mean anything where nothing else belongs to them.
        self.alone = _Memo(self._alone)
        self.stems = _Memo(lambda folded: stem(folded, lang))
        self.values = _Memo(kb.entity)
        self.idle: set[str] = set()  # words as they are written that are no forms of a name
        self.phrases = Phrases(self)

    # -- where names begin

    def _start(self, token: str) -> tuple[tuple[int, int], ...] | bool:
        begins = self.begins.find  # not kept: asked for once
        if self.lang in OPEN_ENDED:
            return begins(token[:2])
        if not begins(token):
            return False
        if any(begins(token + joint) for joint in _JOINTS):
            return True
        exact = [(n, key) for n, key in self.names(token) if n == len(token)]
        return tuple((n, key) for n, key in exact if self.entry(key, token)) or False

    def _alone(self, token: str) -> tuple[tuple[int, int], ...]:
        return tuple(
            (n, key)
            for n, key in self.names(token)
            if (n == len(token) or not in_word(token, n)) and self.entry(key, token[:n])
        )

    def names(self, text: str) -> list[tuple[int, int]]:
        """Find the names at the start of a folded text: (length, key), the longest first.

        Of two of the same length the one that is stated to be in the language goes first.
        """
        names = self._find(text)
        names.reverse()
        for i in range(len(names) - 1):
            (length, key), (shorter, _) = names[i : i + 2]
            if length == shorter and self.kb.postings(key)[1][0] & _UNSTATED:
                names[i], names[i + 1] = names[i + 1], names[i]
        return names

    # -- what names mean

    def entry(self, key: int, name: str) -> Entry | None:
        """Return what a key means; ``name`` is its folded name."""
        try:
            return self._entries[key]
        except KeyError:
            entry = self._entries[key] = self._entry(name)
            return entry

    def _entry(self, name: str) -> Entry | None:
        kept = [pair for pair in self._postings(name) if self._usable(*pair, name)]
        if not kept:
            return None
        if len(kept) > 1:
            kept.sort(key=lambda pair: -self._rank(pair[0], pair[1], name))
        upper = [pair for pair in kept if pair[1] & _UPPER]
        if upper and len(upper) < len(kept):
            # WHO is an organisation, Who is not
            rest = self._cased([pair for pair in kept if pair not in upper], name)
            capitals = self._make(upper, name)
            return capitals if rest is None else rest._replace(in_capitals=capitals)
        return self._cased(kept, name)

    def _postings(self, name: str) -> list[tuple[int, int]]:
        postings: dict[int, int] = {}
        for lang in (self.lang, UNSTATED):
            key = self.kb.key(lang, name)
            if key is not None:
                entities, flags = self.kb.postings(key)
                for entity, flag in zip(entities.tolist(), flags.tolist(), strict=True):
                    before = postings.setdefault(entity, flag)
                    postings[entity] = before | (flag & _LABEL)
                    # What everybody knows is written small as well, if any form of it is: bitcoin
                    if before & _CASED and not flag & _CASED and self._is_famous(entity):
                        postings[entity] &= ~_CASED
        return list(postings.items())

    def _is_famous(self, entity: int) -> bool:
        named = self._categories[self.kb.category[entity]] in _NAMED
        return named and bool(self.kb.prior[entity] >= _FAMOUS)

    def _cased(self, kept: list[tuple[int, int]], name: str) -> Entry | None:
        plain = [pair for pair in kept if not pair[1] & _CASED]
        if plain and len(plain) < len(kept):
            # suomi is the language, Suomi the country
            cased = self._make([pair for pair in kept if pair not in plain] + plain, name)
            entry = self._make(plain, name)
            return cased if entry is None else entry._replace(with_capital=cased)
        return self._make(kept, name)

    def _rank(self, entity: int, flag: int, name: str) -> float:
        """Return how likely an entity is meant: its prior, less if the name is not its main one."""
        prior = float(self.kb.prior[entity])
        if flag & _LABEL:
            return prior
        if not flag & _UNSTATED:
            return prior - _ALIAS
        return prior - (_SPELLING if self._resembles(entity, name) else _ALTERNATE)

    def _resembles(self, entity: int, name: str) -> bool:
        """Tell whether a name spells the main name of an entity."""
        return resembles(name, fold(self.kb.label(entity, "en"), "en"))

    def _make(self, kept: list[tuple[int, int]], name: str) -> Entry | None:
        kb = self.kb
        first, flag = kept[0]
        category = self._categories[kb.category[first]]
        tier = TIERS[kb.tier[first]]
        stop = name in stop_words(self.lang)
        if (
            (category == "region" and self._is_idea(first))
            or (stop and (flag & _ABBREVIATION or tier == "concept"))
            or (len(name) < 2 and self.lang not in UNSPACED and not flag & _UPPER)
            or (len(name) < 2 and tier == "concept")
        ):
            return None
        kind = "demonym" if flag & _DEMONYM else category
        cased = bool(flag & _CASED) or (category in _NAMED and kb.prior[first] < _FAMOUS)
        small = kind in ("language", "demonym") and self.lang != "en"
        capital = not small and kind not in _LOWER_TOO
        case = 2 if flag & _UPPER else int(cased and capital)
        short = bool(flag & _ABBREVIATION) and category in ("month", "weekday")
        ids = tuple(dict.fromkeys(self.countries.get(e, e) for e, _ in kept[:_READINGS]))
        if ids[0] != first:
            category = self._categories[kb.category[ids[0]]]
        stated = not flag & _UNSTATED or bool(flag & _LABEL)
        return Entry(
            ids,
            category,
            tier,
            case,
            self._ordinary(first, category, name),
            after_number=short or category == "unit",
            stated=stated,
            doubtful=not flag & _UPPER and self._unsure(first, category, name, stated=stated),
            # A city needs to be told from people if it is small, or has a given name.
            unplaced=category in self._small
            and (bool(kb.prior[first] < _LARGE) or self._is_given(name)),
        )

    def _is_given(self, name: str) -> bool:
        kb = self.kb
        if " " in name or "person" not in self._categories:
            return False
        longer = islice(kb.starting(self.lang, name + " "), _READINGS)
        firsts = (int(kb.postings(key)[0][0]) for _, key in longer)
        return any(self._categories[kb.category[entity]] == "person" for entity in firsts)

    def _unsure(self, entity: int, category: str, name: str, *, stated: bool) -> bool:
        """Tell whether a name is doubtful: it is a word too, or hardly a name of this entity."""
        prior, words = self.kb.prior[entity], name.split()
        short = self.lang in UNSPACED and len(name) < _SHORTEST
        if category in _NAMED:
            small = len(words) == 1 or (category == "organisation" and prior < _FAMOUS)
            if small and category in _WORDLIKE and all(map(self._in_any, words)):
                return True
            return short or (category == "person" and self._is_given(name))
        if category == "language":
            return self._is_rare(entity) and self._in_any(name)
        if category not in PLACES or prior >= _SURE:
            return False
        if short or all(common(word, self.lang) for word in words):
            return True
        return not stated and not self._resembles(entity, name)

    def _ordinary(self, entity: int, category: str, name: str) -> bool:
        """Tell whether a name is an ordinary word too, so that its capital must be a name's."""
        if category in _CITIES:
            small = self.kb.prior[entity] < _SURE
            return bool(small) and all(
                ordinary(word, self.lang) or common(word, self.lang) for word in name.split()
            )
        if category in ("month", "weekday"):
            return self.lang == "en" and name in ("may", "march", "sun", "sat")
        return self.kb.tier[entity] == 0 and name in stop_words(self.lang)

    def _is_idea(self, entity: int) -> bool:
        """Tell whether a region is a word in English, such as the world; in all languages alike."""
        label = fold(self.kb.label(entity, "en"), "en")
        return all(common(word, "en") for word in label.split())

    def _national(self) -> dict[int, int]:
        ids = [(f"lang:{lang}", f"wd:Q{item}") for lang, item in national_languages()]
        return {
            language: country
            for code, other in ids
            if (language := self.kb.entity(code)) is not None
            and (country := self.kb.entity(other)) is not None
            and self._allowed[country]
        }

    def _usable(self, entity: int, flag: int, name: str) -> bool:  # noqa: PLR0911
        kb = self.kb
        category = self._categories[kb.category[entity]]
        if (
            not self._allowed[entity]
            or flag & _SYMBOL
            or category == "script"
            or (category in _CITIES and kb.prior[entity] < _SMALLEST)
        ):
            return False
        if category in _NAMED and not flag & _UPPER and " " not in name and self._in_any(name):
            return self._is_famous(entity)  # and doubtful: Apple, Shell
        abbreviation = flag & _UPPER and category in _ABBREVIATED
        if abbreviation and len(name) == 2 and self._is_code(entity, name):
            return False
        if abbreviation or not flag & _UNSTATED:
            return True
        # An alternate name that is an ordinary word is more often the word.
        if not flag & _LABEL and all(self._in_any(word) for word in name.split()):
            return False
        # Names of no stated language are many, and short ones are words of some language.
        if self.lang in UNSPACED and len(name) < 3 and kb.prior[entity] < _SURE:
            return False
        has_case = name[0].isascii() or name[0].lower() != name[0].upper()
        return len(name) >= (4 if has_case else 2) and not self._foreign(entity, name)

    def _in_any(self, word: str) -> bool:
        """Tell whether a word is an ordinary one: of English too, if it is in foreign letters."""
        lang = "en" if word.isascii() and not self._latin else self.lang
        return common(word, lang)

    def _is_code(self, entity: int, name: str) -> bool:
        """Tell whether a name of two letters is a country's code and no more."""
        return name not in _CODES_AS_NAMES and f"iso:{name.upper()}" in self.kb.same_as(entity)

    def _foreign(self, entity: int, name: str) -> bool:
        """Tell whether a name of no stated language is the other language's name of an entity."""
        if self._stated is None or not self._stated[entity]:
            return False
        key = self.kb.key(self.other, name)
        return key is not None and entity in self.kb.postings(key)[0]

    # -- inflected words

    def _form(self, word: str) -> Form | None:
        """Look up a word by its dictionary forms: its key and meaning, or None."""
        folded = fold(word, self.lang)
        if folded in stop_words(self.lang) or len(folded) < 3 or not folded[0].isalpha():
            return None
        for form in base_forms(word, self.lang):
            name = fold(form, self.lang)
            for lang in (self.lang, UNSTATED):
                key = self.kb.key(lang, name)
                entry = None if key is None else self.entry(key, name)
                if key is not None and entry is not None and self._inflects(entry, name, word):
                    if entry.category == "currency":  # lions are no levs
                        entry = entry._replace(after_number=True)
                    if self.lang == "de" and folded == name + "er":  # Hamburger, Radeberger
                        entry = entry._replace(doubtful=entry.category in PLACES)
                    return key, entry
        return None

    def _is_rare(self, entity: int) -> bool:
        return bool(self.kb.prior[entity] < _SPOKEN)

    def _inflects(self, entry: Entry, name: str, word: str) -> bool:
        """Tell whether a name may stand for itself with another ending."""
        if entry.after_number:
            return False
        if entry.category == "language" and word[0].islower() and self._is_rare(entry.ids[0]):
            return False
        # Names of other languages in our letters do not take our endings by chance.
        return entry.stated or not name[0].isascii()


# -- names of several words

_LONGEST = 6  # words of a name
_MANY = 5000  # names that begin with a stem
_END = ""  # the key of a node for the name that ends there
#: Languages that write compounds as one word.
COMPOUNDING = frozenset("de nl sv da nb nn fi et hu is lb gsw".split())
_SHORTEST_PART = 3
_Node = dict[str, Any]


class Phrases:
    """Names of several words in any form: Владимира Путина, des Weißen Hauses.

    Every word of such a name may change its ending, so words are compared by their stems. The names
    whose first word has a stem are read from the base when that stem is first met, so that a base
    of any size costs nothing at the start.
    """

    def __init__(self, lexicon: Lexicon) -> None:
        self.lexicon, self.lang = lexicon, lexicon.lang
        self.on = inflects(self.lang) and self.lang != "en"  # where names do not change
        self._nodes = _Memo(self._node)
        self._starts: dict[str, tuple[_Node, ...]] = {}
        self._stems: dict[str, tuple[str, ...]] = {}
        self.idle: set[str] = set()  # words as they are written that begin no such name

    def find(self, text: str, tokens: list[Token], at: int) -> tuple[int, Form] | None:
        """Find the longest name that begins with a word: the index of its last word, its form."""
        folded, start, end = tokens[at]
        word = text[start:end]
        nodes = self._starts.get(word)
        if nodes is None:
            nodes = self._starts[word] = self._first(word, folded)
            if not nodes:
                self.idle.add(word)
        names = [name for node in nodes if (name := self._longest(text, tokens, at, node))]
        return max(names, key=lambda name: name[0], default=None)

    def _first(self, word: str, folded: str) -> tuple[_Node, ...]:
        if len(folded) < _SHORTEST_PART or folded in stop_words(self.lang):
            return ()
        if word[0] == word[0].lower():
            return ()
        return tuple(node for stem in self._forms(word, folded) if (node := self._nodes[stem]))

    def _forms(self, word: str, folded: str) -> tuple[str, ...]:
        if word not in self._stems:
            stems, lang = self.lexicon.stems, self.lang
            more = [stems[fold(form, lang)] for form in base_forms(word, lang)[:3]]
            self._stems[word] = tuple(dict.fromkeys([stems[folded], *more]))
        return self._stems[word]

    def _node(self, stem: str) -> _Node:
        """Return the names whose first word has a stem, by the stems of their other words."""
        top: _Node = {}
        stems = self.lexicon.stems
        for name, key in islice(self.lexicon.kb.starting(self.lang, stem), _MANY):
            first, *words = name.split(" ")
            if 0 < len(words) < _LONGEST and stems[first] == stem:
                node = top
                for word in words:
                    node = node.setdefault(stems[word], {})
                node.setdefault(_END, (key, name))
        return top

    def _longest(
        self, text: str, tokens: list[Token], at: int, node: _Node
    ) -> tuple[int, Form] | None:
        best = None
        last, nodes = at, [node]
        while nodes and last + 1 < len(tokens):
            if text[tokens[last][2] : tokens[last + 1][1]] != " ":
                break
            last += 1
            folded, start, end = tokens[last]
            forms = self._forms(text[start:end], folded)
            nodes = [deeper[form] for deeper in nodes for form in forms if form in deeper]
            for deeper in nodes:
                if _END in deeper and (form := self._meant(text, tokens[at : last + 1], deeper)):
                    best = last, form
        return best

    def _meant(self, text: str, tokens: list[Token], node: _Node) -> Form | None:
        key, name = node[_END]
        entry = self.lexicon.entry(key, name)
        if entry is None or entry.after_number or entry.case == 2:
            return None
        if entry.category == "person" and any(text[t[1]].islower() for t in tokens):
            return None
        return key, entry

    def compound(self, folded: str) -> tuple[int, Form] | None:
        """Find the day of the week that a compound begins with: Montagabend."""
        for length, key in self.lexicon.names(folded) if self.lang in COMPOUNDING else ():
            entry = self.lexicon.entry(key, folded[:length])
            if entry is not None and entry.category == "weekday" and not entry.after_number:
                long = len(folded) - length >= _SHORTEST_PART
                is_day = long and not folded.startswith("montage")  # assembly
                return (length, (key, entry)) if is_day else None
        return None
