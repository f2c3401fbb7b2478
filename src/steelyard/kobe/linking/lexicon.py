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
from steelyard.kobe.languages import CASELESS
from steelyard.kobe.linking.phrases import Phrases
from steelyard.kobe.linking.tokens import in_word
from steelyard.kobe.linking.wordforms import (
    base_forms,
    common,
    fold,
    ordinary,
    resembles,
    stem,
    stop_words,
)
from steelyard.kobe.options import TIERS, LinkOptions

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
#: What a name that is not the main one is worth less (tens of people): an alias in the language, a
#: spelling of the main name, any other alternate name.
_SPOKEN = 7.0  # a language of ten million is known by its name, whatever else that means
_FAMOUS = 6.5  # what newspapers don't explain is a name, though it may be a word as well
_LARGE = 5.5  # a city of 300,000 is meant by its name alone
_SHORTEST = 3  # characters of a Chinese name that is hardly anything else
_ALIAS, _SPELLING, _ALTERNATE = 0.4, 0.6, 2.5
_NEED_NUMBER = frozenset({"unit"})
_SHORTEST_STEM = 3  # characters of a term's stem
_KEPT = 200_000  # of words, pairs of words and entities each that were looked up
#: Languages that have the name of a country: "Chinese" stands for China more often than for the
#: language, and which of the two it is can't be told from the word.
_NATIONAL = dict(
    pair.split(":")
    for pair in (
        "zh:148 ja:17 ko:884 de:183 fr:142 it:38 es:29 pt:45 ru:159 uk:212 pl:36 cs:213 sk:214"
        " hu:28 ro:218 bg:219 el:41 tr:43 sv:34 nb:20 no:20 da:35 fi:33 nl:55 vi:881 th:869 id:252"
        " sr:403 hr:224 sl:215 lt:37 lv:211 et:191 ka:230 hy:399 az:227 kk:232 uz:265 mn:711 is:189"
        " ga:27 sq:222 mk:221 be:184 ne:837 lo:819 my:836"
    ).split()
)
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
    own: bool = True  # the main name, or one that is stated in the language
    doubtful: bool = False  # a word as well, or hardly a name of its own
    unplaced: bool = False  # too small a place to be meant where nothing tells that it is one


#: The key of a name that a word is a form of, and its meaning.
Form = tuple[int, Entry]


class _Memo(dict[str, _V]):
    """What a function gives, worked out when it is first asked for."""

    def __init__(self, find: Callable[[str], _V]) -> None:
        self.find = find

    def __missing__(self, key: str) -> _V:
        found = self[key] = self.find(key)
        return found


class Lexicon:
    """The names of a base in a language, restricted to what a language pair shares.

    Attributes
    ----------
    starts
        What begins with a word: nothing (False), longer names too (True), or just these names.
    begins
        Whether any name begins with a folded text.
    exact
        The names at the start of a word, as `names` gives them.
    alone
        Those that mean anything where nothing else belongs to the name.
    stems
        Folded words without their endings.
    values
        The numbers of entities that values stand for, or None.
    idle
        Words as they are written that are neither forms of a name nor compounds with one.
    """

    def __init__(self, kb: KnowledgeBase, lang: str, other: str, options: LinkOptions) -> None:
        self.kb, self.lang, self.other = kb, lang, other
        self._find = kb.finder(lang)
        self._allowed = kb.shared(lang, other) if options.inventory == "shared" else None
        self._stated = kb.stated(lang) if lang != other else None
        self._categories = kb.manifest["categories"]
        self._tiers = [TIERS.index(tier) for tier in options.tiers]
        self._min = math.log10(max(options.min_population, 1))
        self._sure = math.log10(max(options.sure_population, 1))
        # Where capitals tell no names, states need to be told from words as cities do.
        self._small = _CITIES | {"state"} if lang in CASELESS else _CITIES
        self._latin = "LATIN" in kb.manifest["scripts"].get(lang, ())
        self.countries = self._national() if options.national_languages else {}
        self._entries: dict[int, Entry | None] = {}
        self.known_forms: dict[str, Form | None] = {}
        self.starts = _Memo(self._start)
        self.begins = _Memo(kb.continues(lang))
        self.exact = _Memo(self.names)
        self.alone = _Memo(self._alone)
        self.stems = _Memo(lambda folded: stem(folded, lang))
        self.values = _Memo(kb.entity)
        self.idle: set[str] = set()
        self.phrases = Phrases(self)
        self._memos: tuple[dict[Any, Any] | set[str], ...] = (
            self._entries, self.known_forms, self.starts, self.begins, self.exact, self.stems,
            self.values, self.alone, self.idle,
        )  # fmt: skip

    def trim(self) -> None:
        """Forget what was looked up where it is much: new words never end."""
        for memo in self._memos:
            if len(memo) > _KEPT:
                memo.clear()
        self.phrases.trim()

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
        found = self._find(text)
        if len(found) < 2:
            return found
        found.reverse()
        for i in range(len(found) - 1):
            (length, key), (shorter, _) = found[i : i + 2]
            if length == shorter and not self.kb.is_stated(key):
                found[i], found[i + 1] = found[i + 1], found[i]
        return found

    # -- what names mean

    def entry(self, key: int, name: str) -> Entry | None:
        """Give what a key means; ``name`` is its folded name."""
        try:
            return self._entries[key]
        except KeyError:
            found = self._entries[key] = self._entry(name)
            return found

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
        """Give entities and flags of a name: stated in the language, or in none."""
        found: dict[int, int] = {}
        for lang in (self.lang, UNSTATED):
            own = self.kb.key(lang, name)
            if own is not None:
                entities, flags = self.kb.postings(own)
                for entity, flag in zip(entities.tolist(), flags.tolist(), strict=True):
                    known = found.setdefault(entity, flag)
                    found[entity] = known | (flag & _LABEL)
                    # What everybody knows is written small as well, if any form of it is: bitcoin
                    if known & _CASED and not flag & _CASED and self._is_famous(entity):
                        found[entity] &= ~_CASED
        return list(found.items())

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
        """Give how likely an entity is meant: its prior, less where the name is not its own.

        What a small place is called goes before what a larger one is called at times, unless that
        is so much larger that nobody would think of the small one.
        """
        prior = float(self.kb.prior[entity])
        if flag & _LABEL:
            return prior
        if not flag & _UNSTATED:
            return prior - _ALIAS
        return prior - (_SPELLING if self._resembles(entity, name) else _ALTERNATE)

    def _resembles(self, entity: int, name: str) -> bool:
        """Whether a name is a spelling of an entity's main name, as far as letters can tell."""
        return resembles(name, fold(self.kb.label(entity, "en"), "en"))

    def _make(self, kept: list[tuple[int, int]], name: str) -> Entry | None:
        """Make the entry of entities with flags, the best first."""
        kb = self.kb
        first, flag = kept[0]
        category = self._categories[kb.category[first]]
        tier = TIERS[kb.tier[first]]
        if category == "region" and self._is_idea(first):
            return None
        if flag & _ABBREVIATION and name in stop_words(self.lang):
            return None
        if len(name) < 2 and self.lang not in UNSPACED and not flag & _UPPER:
            return None
        if tier == "concept" and (len(name) < 2 or name in stop_words(self.lang)):
            return None
        kind = "demonym" if flag & _DEMONYM else category
        cased = bool(flag & _CASED) or (category in _NAMED and kb.prior[first] < _FAMOUS)
        case = 2 if flag & _UPPER else int(cased and self._needs_capital(kind))
        beside = category in _NEED_NUMBER or bool(
            flag & _ABBREVIATION and category in ("month", "weekday")
        )
        ids = tuple(dict.fromkeys(self.countries.get(e, e) for e, _ in kept[:_READINGS]))
        if ids[0] != first:
            category = self._categories[kb.category[ids[0]]]
        own = not flag & _UNSTATED or bool(flag & _LABEL)
        return Entry(
            ids,
            category,
            tier,
            case,
            self._ordinary(first, category, name),
            beside,
            own=own,
            doubtful=not flag & _UPPER and self._unsure(first, category, name, own=own),
            unplaced=category in self._small and self._unplaced(first, name),
        )

    def _unplaced(self, entity: int, name: str) -> bool:
        """Whether a city needs to be told from people: it is small, or has a given name."""
        return bool(self.kb.prior[entity] < _LARGE) or self._is_given(name)

    def _is_given(self, name: str) -> bool:
        """Whether people's names begin with a name."""
        kb = self.kb
        if " " in name or "person" not in self._categories:
            return False
        longer = islice(kb.starting(self.lang, name + " "), _READINGS)
        firsts = (int(kb.postings(key)[0][0]) for _, key in longer)
        return any(self._categories[kb.category[entity]] == "person" for entity in firsts)

    def _unsure(self, entity: int, category: str, name: str, *, own: bool) -> bool:  # noqa: PLR0911
        """Whether a name is better left undecided: it is a word, or hardly its own."""
        if category in _NAMED:
            short = self.lang in UNSPACED and len(name) < _SHORTEST
            one = " " not in name
            told = self.kb.prior[entity] < _FAMOUS if category == "organisation" else False
            if (one or told) and category in _WORDLIKE and all(map(self._in_any, name.split())):
                return True
            return short or (category == "person" and self._is_given(name))
        if category == "language":
            return self._is_rare(entity) and self._in_any(name)
        if category not in PLACES or self.kb.prior[entity] >= self._sure:
            return False
        if self.lang in UNSPACED and len(name) < _SHORTEST:
            return True
        if all(common(word, self.lang) for word in name.split()):
            return True
        return not own and not self._resembles(entity, name)

    def _ordinary(self, entity: int, category: str, name: str) -> bool:
        """Whether a name is an ordinary word too, so that its capital must be a name's."""
        if category in _CITIES:
            small = self.kb.prior[entity] < self._sure
            return bool(small) and all(self._is_word(word) for word in name.split())
        if category in ("month", "weekday"):
            return self.lang == "en" and name in ("may", "march", "sun", "sat")
        return self.kb.tier[entity] == 0 and name in stop_words(self.lang)

    def _is_idea(self, entity: int) -> bool:
        """Whether a region is no name but a word, such as the world; in all languages alike."""
        label = fold(self.kb.label(entity, "en"), "en")
        return all(common(word, "en") for word in label.split())

    def _is_word(self, word: str) -> bool:
        return ordinary(word, self.lang) or common(word, self.lang)

    def _national(self) -> dict[int, int]:
        """Give the countries of languages that bear their names, where the base has both."""
        ids = [(f"lang:{lang}", f"wd:Q{item}") for lang, item in _NATIONAL.items()]
        return {
            language: country
            for one, other in ids
            if (language := self.kb.entity(one)) is not None
            and (country := self.kb.entity(other)) is not None
            and (self._allowed is None or self._allowed[country])
        }

    def _needs_capital(self, category: str) -> bool:
        small = category in ("language", "demonym") and self.lang != "en"
        return not small and category not in _LOWER_TOO

    def _usable(self, entity: int, flag: int, name: str) -> bool:  # noqa: PLR0911
        """Whether a name may stand for an entity at all."""
        kb = self.kb
        category = self._categories[kb.category[entity]]
        if (
            (self._allowed is not None and not self._allowed[entity])
            or kb.tier[entity] not in self._tiers
            or flag & _SYMBOL
            or category == "script"
            or (category in _CITIES and kb.prior[entity] < self._min)
        ):
            return False
        if category in _NAMED and not flag & _UPPER and " " not in name and self._in_any(name):
            return self._is_famous(entity)  # and doubtful: Apple, Shell
        abbreviation = flag & _UPPER and category in _ABBREVIATED
        if abbreviation and len(name) == 2 and self._is_code(entity, name):
            return False
        if not flag & _UNSTATED:
            return True
        if abbreviation:
            return True
        # An alternate name that is an ordinary word is more often the word.
        if not flag & _LABEL and all(self._in_any(word) for word in name.split()):
            return False
        # Names of no stated language are many, and short ones are words of some language.
        if self.lang in UNSPACED and len(name) < 3 and kb.prior[entity] < self._sure:
            return False
        has_case = name[0].isascii() or name[0].lower() != name[0].upper()
        return len(name) >= (4 if has_case else 2) and not self._foreign(entity, name)

    def _in_any(self, word: str) -> bool:
        """Whether a word is an ordinary one: of English too, if it is in foreign letters."""
        lang = "en" if word.isascii() and not self._latin else self.lang
        return common(word, lang)

    def _is_code(self, entity: int, name: str) -> bool:
        """Whether a name of two letters is a country's code and no more."""
        return name not in _CODES_AS_NAMES and f"iso:{name.upper()}" in self.kb.same_as(entity)

    def _foreign(self, entity: int, name: str) -> bool:
        """Whether a name of no stated language is the other language's, and ours is another."""
        if self._stated is None or not self._stated[entity]:
            return False
        key = self.kb.key(self.other, name)
        return key is not None and entity in self.kb.postings(key)[0]

    def abbreviation(self, letters: str) -> Form | None:
        """Give what letters mean that are written with dots here, in capitals in the base."""
        name = fold(letters, self.lang)
        for lang in (self.lang, UNSTATED):
            key = self.kb.key(lang, name)
            entry = None if key is None else self.entry(key, name)
            entry = entry and (entry.in_capitals or entry)
            if key is not None and entry is not None and entry.case == 2:
                return key, entry
        return None

    # -- inflected words

    def inflected(self, word: str, folded: str) -> Form | None:
        """Look up a word by its dictionary forms, once."""
        try:
            return self.known_forms[word]
        except KeyError:
            found = self.known_forms[word] = self.form(word, folded)
            return found

    def form(self, word: str, folded: str) -> Form | None:
        """Look up a single word by its dictionary forms: its key and meaning, or None."""
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
        return self._term(folded) if self.phrases.terms else None

    def _term(self, folded: str) -> Form | None:
        """Find a term of one word with the same stem, for forms that no dictionary has."""
        stem = self.stems[folded]
        if len(stem) < _SHORTEST_STEM:
            return None
        for name, key in islice(self.kb.starting(self.lang, stem), _READINGS):
            entry = self.entry(key, name) if self.stems[name] == stem else None
            if entry is not None and entry.category == "term":
                return key, entry
        return None

    def _is_rare(self, entity: int) -> bool:
        return bool(self.kb.prior[entity] < _SPOKEN)

    def _inflects(self, entry: Entry, name: str, word: str) -> bool:
        """Whether a name may stand for itself with another ending."""
        if entry.after_number:
            return False
        if entry.category == "language" and word[0].islower() and self._is_rare(entry.ids[0]):
            return False
        # Names of other languages in our letters do not take our endings by chance.
        return entry.own or not name[0].isascii()
