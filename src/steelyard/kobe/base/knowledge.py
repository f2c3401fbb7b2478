"""A knowledge base: entities, their names in many languages, and what is known of them.

It is one folder, written once by :func:`~steelyard.kobe.base.build.build` and opened by memory map:

- ``manifest.json``: what it holds, where that is from, licences, and the hash of every file
- ``aliases*.marisa``: tries of ``language TAB folded name``; several if there are many names
- ``starts.npy``: for each name where its entities start in the next two
- ``entities.npy``: entity numbers, most probable first
- ``flags.npy``: what is known of the name for that entity (`records.Flag`)
- ``prior.npy``, ``category.npy``, ``tier.npy``: one value for each entity
- ``ids.bin``, ``ids.npy``: ids of entities, sorted, and where each starts
- ``speech.npy``: entity numbers that have a name in a language, languages one after the other
- ``meta.sqlite``: all records as they were read: opened only to explain, or to build upon
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import cache, cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint, need_extra
from steelyard.kobe.base.records import UNSTATED, Entity, Flag, Name
from steelyard.kobe.languages import primary
from steelyard.kobe.linking.wordforms import fold

FORMAT = 1
MANIFEST = "manifest.json"
META = "meta.sqlite"
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
    if manifest.get("folding") != folding_version():
        raise InputError("was built with other rules of folding: build it again", path=folder)
    return manifest


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
    starts, entities, flags : numpy.ndarray
        The entities of key ``k`` are ``entities[starts[k]:starts[k + 1]]``, most probable first.
    prior, category, tier : numpy.ndarray
        One value for each entity.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self.starts: NDArray[np.int64] = _array(path, "starts")
        self.entities: NDArray[np.uint32] = _array(path, "entities")
        self.flags: NDArray[np.uint8] = _array(path, "flags")
        self.prior: NDArray[np.float32] = _array(path, "prior")
        self.category: NDArray[np.uint8] = _array(path, "category")
        self.tier: NDArray[np.uint8] = _array(path, "tier")
        self._id_ends: NDArray[np.int64] = _array(path, "ids")
        self._speech: NDArray[np.uint32] = _array(path, "speech")
        self._tries = [_trie(path / trie_name(i)) for i in range(len(manifest["tries"]))]
        self._firsts = [trie["first"] for trie in manifest["tries"]]
        self._bases = [trie["base"] for trie in manifest["tries"]]
        self._spoken: dict[str, Bools] = {}

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open a base; nothing but the manifest is read."""
        folder = Path(path)
        return cls(folder, read_manifest(folder))

    def __len__(self) -> int:
        return len(self.prior)

    def __repr__(self) -> str:
        return f"KnowledgeBase({str(self.path)!r}, {len(self):,} entities)"

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

    def postings(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Give the entities of a key, most probable first, and the flags of the name for each."""
        part = slice(self.starts[key], self.starts[key + 1])
        return self.entities[part], self.flags[part]

    # -- entities

    def external_id(self, entity: int) -> str:
        """Give the id of an entity, such as ``wd:Q183``."""
        return self._id(entity).decode()

    def _id(self, entity: int) -> bytes:
        start = int(self._id_ends[entity - 1]) if entity else 0
        return self._id_bytes[start : int(self._id_ends[entity])].tobytes()

    def entity(self, external_id: str) -> int | None:
        """Give the number of the entity with this id, or None."""
        # Ids are sorted by their bytes.
        at = bisect_left(range(len(self)), external_id.encode(), key=self._id)
        return at if at < len(self) and self.external_id(at) == external_id else None

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
            start, end = self.manifest["speech"].get(part, (0, 0))
            has[self._speech[start:end]] = True
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
    def _id_bytes(self) -> NDArray[np.uint8]:
        return np.memmap(self.path / "ids.bin", np.uint8, "r")

    @cached_property
    def _meta(self) -> sqlite3.Connection:
        return _open_meta(self.path)

    def names(self, entity: int) -> list[Name]:
        """Give all names of an entity."""
        import orjson

        query = "SELECT names FROM records WHERE entity = ? ORDER BY rowid"
        rows = self._meta.execute(query, (int(entity),))
        found = [Name(*name) for (names,) in rows for name in orjson.loads(names)]
        return list(dict.fromkeys(found))

    def same_as(self, entity: int) -> list[str]:
        """Give all ids of an entity, its own first."""
        import orjson

        query = "SELECT id, same_as FROM records WHERE entity = ? ORDER BY rowid"
        found = [self.external_id(entity)]
        for id_, others in self._meta.execute(query, (int(entity),)):
            found += [id_, *orjson.loads(others)]
        return list(dict.fromkeys(found))

    def label(self, entity: int, lang: str = "en") -> str:
        """Give the main name of an entity in a language, else in English, else in any."""
        wanted = (lang, "en", UNSTATED)

        def order(name: Name) -> tuple[int, bool]:
            place = wanted.index(name.lang) if name.lang in wanted else len(wanted)
            return place, not name.flags & Flag.LABEL

        names = self.names(entity)
        return min(names, key=order).text if names else self.external_id(entity)


class Base:
    """A base as a source, to build another one upon it.

    It has all records but those of the sources named in `without`.
    """

    def __init__(self, path: str | Path, *, without: Sequence[str] = ()) -> None:
        self.path = Path(path)
        self.without = frozenset(without)
        manifest = read_manifest(self.path)
        #: The sources that the base was made of, for the manifest of the new one.
        self.parts: list[dict[str, Any]] = [
            part for part in manifest["sources"] if part["name"] not in self.without
        ]
        self.name = "base"
        self.version = self.signature = str(manifest["signature"])
        self.licence = ", ".join(dict.fromkeys(part["licence"] for part in self.parts))
        self.position = 0
        #: Which of the parts the last record was from.
        self.part = 0
        kept = [n for n, p in enumerate(manifest["sources"]) if p["name"] not in self.without]
        self._kept = {number: place for place, number in enumerate(kept)}

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"base {self.signature} {sorted(self.without)}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield the records as they were read once."""
        import orjson

        db = _open_meta(self.path)
        query = (
            "SELECT id, category, tier, prior, source, same_as, names FROM records ORDER BY rowid"
        )
        try:
            for id_, category, tier, prior, source, same_as, names in db.execute(query):
                if source in self._kept:
                    self.part = self._kept[source]
                    same = tuple(orjson.loads(same_as))
                    entity = Entity(id_, category, tier, prior, same)
                    yield entity, [Name(*name) for name in orjson.loads(names)]
        finally:
            db.close()


def _open_meta(folder: Path) -> sqlite3.Connection:
    uri = f"{(folder / META).resolve().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(uri, uri=True)


def _array(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npy"
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError("is missing: build the knowledge base again", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None


def _trie(path: Path) -> Any:
    need_extra("kobe", "a knowledge base", "marisa_trie")
    import marisa_trie

    try:
        return marisa_trie.Trie().mmap(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None
