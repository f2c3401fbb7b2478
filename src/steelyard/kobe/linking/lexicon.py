"""The names of a knowledge base as one language sees them, for one language pair.

What can be said of a name without its sentence is worked out once and kept: which entities it may
mean, how it must be written, whether it is an ordinary word as well.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.records import TIERS, UNSTATED, Flag
from steelyard.kobe.linking.folding import fold
from steelyard.kobe.linking.wordforms import base_forms, inflects, ordinary, stem, stop_words
from steelyard.kobe.options import LinkOptions

_CASED, _UPPER = int(Flag.CASED), int(Flag.UPPER)
_UNSTATED, _ABBREVIATION, _SYMBOL = int(Flag.UNSTATED), int(Flag.ABBREVIATION), int(Flag.SYMBOL)
_READINGS = 8  # further readings of a name are as good as none
_JOINTS = " -'.·/,&("  # what may stand between the words of a name
_PLACES = frozenset({"city", "place", "airport", "region", "subdivision", "geo"})
_CITIES = frozenset({"city", "airport"})
_LOWER_TOO = frozenset({"currency", "unit"})
_NEED_NUMBER = frozenset({"unit"})
_FORMULAIC = frozenset({"country", "region", "currency", "language", "organisation"})
_MANY = 5000
_KEPT = 200_000  # of words, pairs of words and entities each that were looked up
PHRASE = -1  # a word that may begin a longer name in another form
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
UNSPACED = frozenset({"zh", "yue", "ja", "th", "lo", "km", "my", "bo"})
#: Particles are written on the end of words.
OPEN_ENDED = frozenset({"ko"})


class Entry(NamedTuple):
    """What a name may mean, and how it must be written to mean it."""

    ids: tuple[int, ...]
    category: str
    tier: str
    case: int  # 0: any, 1: a capital first, 2: capitals only
    ordinary: bool  # an ordinary word as well: a capital must be one of a name
    after_number: bool  # means it only beside a number: 5 m, Sat. 3
    with_capital: Entry | None = None  # what it means instead if written with a capital


class Lexicon:
    """The names of a base in a language, restricted to what a language pair shares."""

    def __init__(self, kb: KnowledgeBase, lang: str, other: str, options: LinkOptions) -> None:
        import math

        self.kb, self.lang, self.other, self.options = kb, lang, other, options
        self._find = kb.finder(lang)
        self._begins = kb.continues(lang)
        self._allowed = kb.shared(lang, other) if options.inventory == "shared" else None
        self._stated = kb.stated(lang) if lang != other else None
        self._categories = kb.manifest["categories"]
        self._tiers = [TIERS.index(tier) for tier in options.tiers if tier in TIERS]
        self._min = math.log10(max(options.min_population, 1))
        self._sure = math.log10(max(options.sure_population, 1))
        self._entries: dict[int, Entry | None] = {}
        self.known_starts: dict[str, tuple[tuple[int, int], ...] | bool] = {}
        self._pairs: dict[str, bool] = {}
        self.known_pairs: dict[str, bool] = {}
        self._exact: dict[str, list[tuple[int, int]]] = {}
        self.known_forms: dict[str, int | None] = {}
        self._stems: dict[str, str] = {}
        self._values: dict[str, int | None] = {}
        self._memos: tuple[dict[Any, Any], ...] = (
            self._entries, self.known_starts, self._pairs, self.known_pairs, self._exact,
            self.known_forms, self._stems, self._values,
        )  # fmt: skip
        self._countries = self._national() if options.national_languages else {}
        self._phrases: dict[str, int] | None = None
        self._phrase_starts: frozenset[str] = frozenset()

    # -- where names begin

    def start(self, token: str) -> tuple[tuple[int, int], ...] | bool:
        """Tell what begins with a word: nothing (False), longer names too (True), or just these."""
        found = self.known_starts.get(token)
        if found is None:
            found = self.known_starts[token] = self._start(token)
        return found

    def _start(self, token: str) -> tuple[tuple[int, int], ...] | bool:
        if self.lang in OPEN_ENDED:
            return self._begins(token[:2])
        if not self._begins(token):
            return False
        if any(self._begins(token + joint) for joint in _JOINTS):
            return True
        exact = [(n, key) for n, key in self.names(token) if n == len(token)]
        return tuple((n, key) for n, key in exact if self.entry(key, token)) or False

    def names(self, text: str) -> list[tuple[int, int]]:
        """Find the names at the start of a folded text: (length, key), the longest first.

        Of two of the same length the one that is stated to be in the language goes first.
        """
        found = self._find(text)
        if len(found) < 2:
            return found
        found.reverse()
        for i in range(len(found) - 1):
            if found[i][0] == found[i + 1][0] and self._unstated(found[i][1]):
                found[i], found[i + 1] = found[i + 1], found[i]
        return found

    def _unstated(self, key: int) -> bool:
        return bool(self.kb.flags[self.kb.starts[key]] & _UNSTATED)

    def exact(self, text: str) -> list[tuple[int, int]]:
        """Find the names at the start of a word, as `names` does, and keep them."""
        found = self._exact.get(text)
        if found is None:
            found = self._exact[text] = self.names(text)
        return found

    def goes_on(self, words: str) -> bool:
        """Tell whether any name begins with two words."""
        found = self.known_pairs.get(words)
        if found is None:
            found = self.known_pairs[words] = self._begins(words)
        return found

    def begins(self, pair: str) -> bool:
        """Tell whether any name begins with two characters (for writing without blanks)."""
        found = self._pairs.get(pair)
        if found is None:
            found = self._pairs[pair] = self._begins(pair)
        return found

    # -- what names mean

    def entry(self, key: int, name: str) -> Entry | None:
        """Give what a key means; ``name`` is its folded name."""
        try:
            return self._entries[key]
        except KeyError:
            found = self._entries[key] = self._entry(key, name)
            return found

    def _entry(self, key: int, name: str) -> Entry | None:
        kb = self.kb
        entities, flags = kb.postings(key)
        kept = [
            (int(e), int(f))
            for e, f in zip(entities.tolist(), flags.tolist(), strict=True)
            if self._usable(int(e), int(f), name)
        ]
        if not kept:
            return None
        plain = [pair for pair in kept if not pair[1] & _CASED]
        if not kept[0][1] & _CASED and len(plain) < len(kept):
            # suomi is the language, Suomi the country
            cased = self._make([pair for pair in kept if pair not in plain] + plain, name)
            entry = self._make(plain, name)
            return cased if entry is None else entry._replace(with_capital=cased)
        return self._make(kept, name)

    def _make(self, kept: list[tuple[int, int]], name: str) -> Entry | None:
        """Make the entry of entities with flags, the best first."""
        kb = self.kb
        first, flag = kept[0]
        category = self._categories[kb.category[first]]
        tier = TIERS[kb.tier[first]]
        if len(name) < 2 and self.lang not in UNSPACED and not flag & _UPPER:
            return None
        if tier == "concept" and (len(name) < 2 or name in stop_words(self.lang)):
            return None
        case = 0
        if flag & _UPPER:
            case = 2
        elif flag & _CASED and self._needs_capital(category):
            case = 1
        beside = category in _NEED_NUMBER or bool(
            flag & _ABBREVIATION and category in ("month", "weekday")
        )
        ids = tuple(dict.fromkeys(self._countries.get(e, e) for e, _ in kept[:_READINGS]))
        if ids[0] != first:
            category = self._categories[kb.category[ids[0]]]
        return Entry(ids, category, tier, case, self._ordinary(first, category, name), beside)

    def _ordinary(self, entity: int, category: str, name: str) -> bool:
        """Whether a name is an ordinary word too, so that its capital must be a name's."""
        if category in _CITIES:
            small = self.kb.prior[entity] < self._sure
            return bool(small) and all(ordinary(word, self.lang) for word in name.split())
        if category in ("month", "weekday"):
            return self.lang == "en" and name in ("may", "march", "sun", "sat")
        return self.kb.tier[entity] == 0 and name in stop_words(self.lang)

    def _national(self) -> dict[int, int]:
        """Give the countries of languages that bear their names, where the base has both."""
        found = {}
        for lang, item in _NATIONAL.items():
            language, country = self.kb.entity(f"lang:{lang}"), self.kb.entity(f"wd:Q{item}")
            if language is None or country is None:
                continue
            if self._allowed is None or self._allowed[country]:
                found[language] = country
        return found

    def _needs_capital(self, category: str) -> bool:
        if category in _LOWER_TOO:
            return False
        return not (category in ("language", "demonym") and self.lang != "en")

    def _usable(self, entity: int, flag: int, name: str) -> bool:
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
        if not flag & _UNSTATED:
            return True
        # Names of no stated language are many, and short ones are words of some language.
        if self.lang in UNSPACED and len(name) < 3 and kb.prior[entity] < self._sure:
            return False
        has_case = name[0].isascii() or name[0].lower() != name[0].upper()
        return len(name) >= (4 if has_case else 2) and not self._foreign(entity, name)

    def _foreign(self, entity: int, name: str) -> bool:
        """Whether a name of no stated language is the other language's, and ours is another."""
        if self._stated is None or not self._stated[entity]:
            return False
        key = self.kb.key(self.other, name)
        return key is not None and entity in self.kb.postings(key)[0]

    def known_entity(self, external_id: str) -> int | None:
        """Give the number of an entity that a value stands for, or None."""
        if external_id not in self._values:
            self._values[external_id] = self.kb.entity(external_id)
        return self._values[external_id]

    # -- inflected words

    def inflected(self, word: str, folded: str) -> int | None:
        """Look up a word by its dictionary forms: its key, PHRASE or None."""
        try:
            return self.known_forms[word]
        except KeyError:
            found = PHRASE if self.starts_phrase(folded) else self.form(word, folded)
            self.known_forms[word] = found
            return found

    def form(self, word: str, folded: str) -> int | None:
        """Look up a single word by its dictionary forms, and give the key or None."""
        if folded in stop_words(self.lang) or len(folded) < 3 or not folded[0].isalpha():
            return None
        for form in base_forms(word, self.lang):
            name = fold(form, self.lang)
            for lang in (self.lang, UNSTATED):
                key = self.kb.key(lang, name)
                entry = None if key is None else self.entry(key, name)
                if key is not None and entry is not None and not entry.after_number:
                    return key
        return None

    def stem(self, folded: str) -> str:
        """Give a folded word without its ending."""
        found = self._stems.get(folded)
        if found is None:
            found = self._stems[folded] = stem(folded, self.lang)
        return found

    def trim(self) -> None:
        """Forget what was looked up where it is much: new words never end."""
        for memo in self._memos:
            if len(memo) > _KEPT:
                memo.clear()

    def phrase(self, stems: str) -> int | None:
        """Give the key of a name of several words by the stems of its words."""
        return self._read_phrases().get(stems)

    def starts_phrase(self, folded: str) -> bool:
        """Whether a word, in whatever form, begins a name of several words."""
        if self._phrases is None:
            self._read_phrases()
        return self.stem(folded) in self._phrase_starts

    def _read_phrases(self) -> dict[str, int]:
        """Read names of several words of countries and the like: few, but mentioned everywhere."""
        if self._phrases is None:
            self._phrases = {}
            if inflects(self.lang):
                self._fill_phrases(self._phrases)
            self._phrase_starts = frozenset(p.partition(" ")[0] for p in self._phrases)
        return self._phrases

    def _fill_phrases(self, phrases: dict[str, int]) -> None:
        import numpy as np

        kb = self.kb
        wanted = [i for i, name in enumerate(self._categories) if name in _FORMULAIC]
        usable = np.isin(kb.category, wanted) & kb.stated(self.lang)
        if self._allowed is not None:
            usable &= self._allowed
        entities = np.flatnonzero(usable)
        best = entities[np.argsort(-kb.prior[entities], kind="stable")][:_MANY]
        for entity in best.tolist():
            for lang, text, _ in kb.names(entity):
                name = fold(text, lang)
                words = name.split()
                if lang != self.lang or not 2 <= len(words) <= 4:
                    continue
                key = kb.key(lang, name)
                if key is not None and self.entry(key, name):
                    phrases.setdefault(" ".join(map(self.stem, words)), key)
