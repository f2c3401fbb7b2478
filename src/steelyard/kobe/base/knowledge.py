"""A knowledge base: entities, their names in many languages, and what is known of them.

It is one folder, written once by :func:`~steelyard.kobe.base.build.build` and opened by memory map:

- ``manifest.json``: what it holds, where that is from, licences, and the hash of every file
- ``aliases*.marisa``: tries of ``language TAB folded name``; several if there are many names
- ``extra.npy``: for each name how many more entities than names stand before it in the next three
- ``entities.npy``: entity numbers, most probable first
- ``flags.npy``: what is known of the name for that entity (`records.Flag`)
- ``cases.npy``, ``spellings.*``: how the name is spelt for that entity (`spelling`): read only to
  explain, or to build upon
- ``prior.npy``, ``category.npy``, ``tier.npy``: one value for each entity
- ``ids.*``: ids of entities, sorted, and where each starts
- ``others.*``, ``owners.npy``: further ids, sorted, and the entities that have or claim them
- ``speech.npy``: entity numbers that have a name in a language, as steps from one to the next,
  languages one after the other

What lies upon another base (`layers`) is a base too, and its manifest names the other.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Collection, Iterator
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint
from steelyard.kobe.base.mapped import Ids, array, trie
from steelyard.kobe.base.records import STATED, UNSTATED, Entity, Flag, Name, rank
from steelyard.kobe.base.spelling import MAIN, NO_PLACE, Spellings, spelt
from steelyard.kobe.languages import primary
from steelyard.kobe.linking.wordforms import fold

FORMAT = 2
MANIFEST = "manifest.json"
_HASHED = 1 << 18  # bytes up to which a file is hashed when a base is opened
#: The folder inside a base where what was added to it in place lies.
ADDED = "added"
#: What was added, file by file (`layers`).
RECORDS = "added.jsonl"
_STATED = int(STATED)
_UNSTATED, _LABEL = int(Flag.UNSTATED), int(Flag.LABEL)
_FEW = 20  # entities that are looked for one by one; for more of them all names are sorted
_PROBES = (
    "Stra\u00dfe \u0401\u043b\u043a\u0430 \u0130stanbul \uff29\uff22\uff2d C\u00f4te d\u2019Ivoire",
    "\u0623\u0625\u0622 \u0671 \u067e\u0698",
    "\u30ac\u30fb\uff76\uff9e 12\u5104 ",
    "A\u0301 \ufb01 \u2163 \u0663\u096a \u00bd \u01c5 \u017f \u2126",
    "\u2010\u2011\u2012\u2013\u2212 \u02bc\u2032\u00b4\u0060 \u05f3\u05f4\u05b7",
    "\u0640\u064b \u00ad\u200b",
)


@cache
def folding_version() -> str:
    """Give a short hash of how names are folded: bases folded otherwise would not be found in."""
    folded = [fold(probe, lang) for probe in _PROBES for lang in ("en", "tr", "mul")]
    return hashlib.sha256(repr(folded).encode()).hexdigest()[:12]


def trie_name(number: int) -> str:
    """Give the file name of a trie."""
    return f"aliases-{number}.marisa" if number else "aliases.marisa"


def read_manifest(folder: Path) -> dict[str, Any]:
    """Read and check the manifest of a knowledge base."""
    path = folder / MANIFEST
    try:
        manifest: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        what = "is not a knowledge base: it has no manifest.json" if folder.is_dir() else ""
        raise InputError(what or "no such knowledge base", path=folder) from None
    except NotADirectoryError:
        what = "is a file, expected the folder of a knowledge base"
        raise InputError(what, path=folder) from None
    except (OSError, ValueError) as error:
        raise InputError(f"can't be read ({error})", path=path) from None
    found = manifest.get("format") if isinstance(manifest, dict) else None
    if found != FORMAT:
        raise InputError(f"is of format {found}, expected {FORMAT}: build it again", path=folder)
    upon = manifest.get("upon", {"base": ""})
    if not (isinstance(upon, dict) and isinstance(upon.get("base"), str)):
        raise InputError(f"{MANIFEST} has a damaged 'upon': build it again", path=folder)
    if manifest.get("folding") != folding_version():
        raise InputError("was built with other rules of folding: build it again", path=folder)
    return manifest


def check_files(folder: Path, manifest: dict[str, Any]) -> None:
    """Refuse files of another size than the manifest states, and small ones of another hash.

    To hash the large ones would take longer than most commands do.
    """
    try:
        facts = [(n, int(own["bytes"]), str(own["sha256"])) for n, own in manifest["files"].items()]
    except (AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{MANIFEST} has damaged 'files': build it again", path=folder) from None
    for name, size, digest in facts:
        path = folder / name
        try:
            same = path.stat().st_size == size
            if same and size <= _HASHED:
                same = hashlib.sha256(path.read_bytes()).hexdigest() == digest
        except OSError:
            continue  # whoever needs the file says that it is missing
        if not same:
            raise InputError(f"is damaged (not what {MANIFEST} states): build it again", path=path)


Bools = NDArray[np.bool_]
Finder = Callable[[str], list[tuple[int, int]]]


class KnowledgeBase:
    """An open base.

    Entities are numbers from 0 on, in the order of their ids; names are keys, numbers too. All
    arrays are memory maps: what is not asked for is not read.

    Attributes
    ----------
    manifest : dict
        What the base holds and where that is from.
    prior, category, tier : numpy.ndarray
        One value for each entity.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        check_files(path, manifest)
        self._extra: NDArray[np.uint32] = array(path, "extra", np.uint32)
        self._entities: NDArray[np.uint32] = array(path, "entities", np.uint32)
        self._flags: NDArray[np.uint8] = array(path, "flags", np.uint8)
        self.prior: NDArray[np.float32] = array(path, "prior", np.float32)
        self.category: NDArray[np.uint8] = array(path, "category", np.uint8)
        self.tier: NDArray[np.uint8] = array(path, "tier", np.uint8)
        self._ids = Ids(path, "ids")
        self._speech: NDArray[np.uint8] = array(path, "speech", np.uint8)
        self._tries = [trie(path / trie_name(i)) for i in range(len(manifest["tries"]))]
        self._firsts = [trie["first"] for trie in manifest["tries"]]
        self._bases = [trie["base"] for trie in manifest["tries"]]
        self._spoken: dict[str, Bools] = {}
        self._asked = 0  # entities whose names were asked for

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open a base, with what it lies upon; of a whole one nothing but the manifest is read."""
        folder = Path(path)
        manifest = read_manifest(folder)
        added = folder / ADDED
        if "upon" not in manifest and not (added / MANIFEST).exists():
            return cls(folder, manifest)
        from steelyard.kobe.base.layers import open_layers

        return open_layers(folder, manifest)

    def __len__(self) -> int:
        return len(self.prior)

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.path)!r}, {len(self):,} entities)"

    @property
    def n_keys(self) -> int:
        """How many keys there are."""
        return len(self._extra) - 1

    @property
    def signature(self) -> str:
        """A short hash of what the base holds, for signatures of scores."""
        return str(self.manifest["signature"])

    @property
    def languages(self) -> tuple[str, ...]:
        """The languages that names are stated in."""
        return tuple(lang for lang in self.manifest["languages"] if lang != UNSTATED)

    # -- names to entities

    def finder(self, lang: str) -> Finder:
        """Give a function that finds all names at the start of a folded text.

        It gives pairs of (length in characters, key), the shortest first, of names in the
        language and of names whose language is not known.
        """
        prefixes = (f"{lang}\t", f"{UNSTATED}\t")

        def find(text: str) -> list[tuple[int, int]]:
            found = []
            for prefix in prefixes:
                shard = self._shard(prefix + text[:1])
                base, cut = self._bases[shard], len(prefix)
                pairs = self._tries[shard].iter_prefixes_with_ids(prefix + text)
                found += [(len(k) - cut, base + i) for k, i in pairs]
            return sorted(found)

        return find

    def continues(self, lang: str) -> Callable[[str], bool]:
        """Give a function that tells whether any name begins with a folded text.

        As in `finder`, names in the language and those whose language is not known.
        """
        prefixes = (f"{lang}\t", f"{UNSTATED}\t")

        def begins(text: str) -> bool:
            for prefix in prefixes:
                last = self._shard(prefix + text[:1])
                if next(self._tries[last].iterkeys(prefix + text), None) is not None:
                    return True
            return False

        return begins

    def starting(self, lang: str, folded: str) -> Iterator[tuple[str, int]]:
        """Give the names that begin with a folded text, and their keys; as in `finder`."""
        for prefix in (f"{lang}\t", f"{UNSTATED}\t"):
            shard = self._shard(prefix + folded[:1])
            base, cut = self._bases[shard], len(prefix)
            for key, number in self._tries[shard].iteritems(prefix + folded):
                yield key[cut:], base + number

    def key(self, lang: str, folded: str) -> int | None:
        """Give the key of a folded name in a language (``mul``: not stated), or None."""
        text = f"{lang}\t{folded}"
        shard = self._shard(f"{lang}\t{folded[:1]}")
        found = self._tries[shard].get(text)
        return None if found is None else self._bases[shard] + found

    def _shard(self, start: str) -> int:
        return max(0, bisect_right(self._firsts, start) - 1)

    def names_in(self, lang: str) -> Iterator[tuple[str, int]]:
        """Give all names that are stated to be in a language, folded, each with its key."""
        prefix = f"{lang}\t"
        after = bisect_left(self._firsts, f"{lang}\n")  # a line's end follows a tab
        for shard in range(self._shard(prefix), max(after, 1)):
            base = self._bases[shard]
            for text, key in self._tries[shard].iteritems(prefix):
                yield text[len(prefix) :], base + key

    def postings(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Give the entities of a key, most probable first, and the flags of the name for each."""
        part = slice(key + int(self._extra[key]), key + 1 + int(self._extra[key + 1]))
        return self._entities[part], self._flags[part]

    def is_stated(self, key: int) -> bool:
        """Tell whether the language of a key's name is stated."""
        return not self.postings(key)[1][0] & _UNSTATED

    # -- entities

    def external_id(self, entity: int) -> str:
        """Give the id of an entity, such as ``wd:Q183``."""
        return self._ids[entity].decode()

    def entity(self, external_id: str) -> int | None:
        """Give the number of the entity with this id, or None."""
        return self._ids.find(external_id.encode())

    def owner(self, external_id: str) -> int | None:
        """Give the number of the entity that has this id, or claims it as another of its own."""
        found = self.entity(external_id)
        if found is None and (at := self._others.find(external_id.encode())) is not None:
            found = int(self._owners[at])
        return found

    def category_name(self, entity: int) -> str:
        """Give the category of an entity."""
        return str(self.manifest["categories"][self.category[entity]])

    def spoken(self, lang: str) -> Bools:
        """Tell for each entity whether it has a name in a language.

        A name whose language is not stated counts for all languages that are written in its script.
        """
        if lang not in self._spoken:
            scripts = self.manifest["scripts"].get(lang, ())
            has = self.stated(lang, *(f"{UNSTATED}-{script}" for script in scripts))
            has.flags.writeable = False
            self._spoken[lang] = has
        return self._spoken[lang]

    def stated(self, *parts: str) -> Bools:
        """Tell for each entity whether it has a name that is stated to be in a language."""
        has = np.zeros(len(self), bool)
        for part in parts:
            steps = self._speech[slice(*self.manifest["speech"].get(part, (0, 0)))]
            has[np.cumsum(steps, dtype=np.int64)[steps != 255]] = True
        return has

    def shared(self, src: str, tgt: str) -> Bools:
        """Tell for each entity whether it has names in both languages."""
        return self.spoken(src) & self.spoken(tgt)

    def check_language(self, code: str) -> str:
        """Give the code under which a language is kept here, or say that there is none."""
        lang = primary(code)
        if lang is None or (lang not in self.manifest["languages"]):
            raise UsageError(f"no names in language '{code}'; {hint(code, self.languages)}")
        return lang

    # -- explanations

    @cached_property
    def _others(self) -> Ids:
        return Ids(self.path, "others")

    @cached_property
    def _owners(self) -> NDArray[np.uint32]:
        return (
            array(self.path, "owners", np.uint32) if len(self._others) else np.empty(0, np.uint32)
        )

    @cached_property
    def _owned(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        order = np.argsort(self._owners, kind="stable")
        return order, self._owners[order]

    @cached_property
    def _spellings(self) -> Spellings:
        cases, spellings = (
            array(self.path, "cases", np.uint8),
            array(self.path, "spellings", np.uint32),
        )
        return Spellings(self.path, cases, spellings)

    @cached_property
    def _starts(self) -> NDArray[np.uint32]:
        """The place of each key's first entity."""
        return np.arange(len(self._extra), dtype=np.uint32) + self._extra

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Places of all entities in their order, and where those of each start."""
        order = np.argsort(self._entities, kind="stable")
        counts = np.bincount(self._entities, minlength=len(self))
        return order, np.concatenate(([0], np.cumsum(counts)))

    def _named(self, entity: int) -> Iterator[tuple[int, str, str]]:
        """Give the place, language and folded form of each name of an entity."""
        self._asked += 1
        if self._asked <= _FEW:
            places = np.flatnonzero(self._entities == entity)
        else:
            order, starts = self._sorted
            places = order[starts[entity] : starts[entity + 1]]
        # Of another type, all would be copied.
        keys = np.searchsorted(self._starts, places.astype(np.uint32), "right") - 1
        for place, key in zip(places.tolist(), keys.tolist(), strict=True):
            yield place, *self.restored(key)

    def names(self, entity: int, langs: Collection[str] | None = None) -> list[Name]:
        """Give all names of an entity by language, the one that was read first before others.

        Of some languages alone, where ``langs`` are named: how others are spelt is not read.
        """
        found = []
        for place, lang, folded in self._named(entity):
            if langs is not None and lang not in langs:
                continue
            flags = int(self._flags[place]) & _STATED
            rest = not self._spellings.cases[place] & MAIN
            for number, how in enumerate(self._spellings[place]):
                name = Name(lang, spelt(how, folded), flags)
                found.append((lang, rest, not flags & _LABEL, number, name))
        return [name for *_, name in sorted(found)]

    def restored(self, key: int) -> tuple[str, str]:
        """Give the language and the folded name of a key."""
        shard = bisect_right(self._bases, key) - 1
        lang, _, folded = self._tries[shard].restore_key(key - self._bases[shard]).partition("\t")
        return lang, folded

    def same_as(self, entity: int) -> list[str]:
        """Give all ids of an entity, its own first."""
        order, owners = self._owned
        # Of another type, all would be copied.
        own = slice(*np.searchsorted(owners, np.array([entity, entity + 1], owners.dtype)))
        others = [self._others[i].decode() for i in order[own].tolist()]
        return [self.external_id(entity), *sorted(others, key=lambda id_: (rank(id_), id_))]

    def label(self, entity: int, lang: str = "en") -> str:
        """Give the main name of an entity in a language, else in English, else in any."""
        if lang == "en":
            place = int(self._labels[entity])
            if place == NO_PLACE:
                return self.external_id(entity)
            key = bisect_right(range(self.n_keys), place, key=self._start_of) - 1
            return spelt(self._spellings[place][0], self.restored(key)[1])
        wanted = {UNSTATED: 2, "en": 1, lang: 0}
        rows = [(wanted.get(own, 3), place, name) for place, own, name in self._named(entity)]

        def order(row: tuple[int, int, str]) -> tuple[int, bool, bool, str]:
            rank, place, name = row
            rest = not self._spellings.cases[place] & MAIN
            return rank, not self._flags[place] & _LABEL, rest, name

        if not rows:
            return self.external_id(entity)
        _, place, name = min(rows, key=order)
        return spelt(self._spellings[place][0], name)

    def _start_of(self, key: int) -> int:
        return key + int(self._extra[key])

    @cached_property
    def _labels(self) -> NDArray[np.uint32]:
        """The place of each entity's main name in English, or else in any language."""
        found: NDArray[np.uint32] = array(self.path, "labels", np.uint32)
        return found


class Base:
    """A base as a source, to build another one upon it; its entities come as they were merged."""

    def __init__(self, path: str | Path) -> None:
        self._base = KnowledgeBase.open(path)
        manifest = self._base.manifest
        #: The sources that the base was made of, for the manifest of the new one.
        self.parts: list[dict[str, Any]] = list(manifest["sources"])
        self.name = "base"
        self.version = self._base.signature
        self.licence = ", ".join(dict.fromkeys(part["licence"] for part in self.parts))
        self.position = 0

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"base {self.version}"

    def rows(self) -> Iterator[tuple[Entity, list[Name]]]:
        """Yield each entity once, with all its names."""
        base = self._base
        for number in range(len(base)):
            id_, *others = base.same_as(number)
            tier, prior = int(base.tier[number]), float(base.prior[number])
            entity = Entity(id_, base.category_name(number), tier, prior, tuple(others))
            yield entity, base.names(number)
