"""A knowledge base: entities, their names in many languages, and what is known of them."""

from __future__ import annotations

import sqlite3
from bisect import bisect_right
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint, need_extra
from steelyard.kobe.base import store
from steelyard.kobe.base.records import UNSTATED, Flag, Name
from steelyard.kobe.languagecodes import primary

Bools = NDArray[np.bool_]
Finder = Callable[[str], list[tuple[int, int]]]


class KnowledgeBase:
    """A folder made by :func:`~steelyard.kobe.base.building.build`; files: ``kobe/base/store.py``.

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
        arrays = {name: _array(path, name) for name in store.ARRAYS}
        self.starts: NDArray[np.int64] = arrays["starts"]
        self.entities: NDArray[np.uint32] = arrays["entities"]
        self.flags: NDArray[np.uint8] = arrays["flags"]
        self.prior: NDArray[np.float32] = arrays["prior"]
        self.category: NDArray[np.uint8] = arrays["category"]
        self.tier: NDArray[np.uint8] = arrays["tier"]
        self._id_ends: NDArray[np.int64] = arrays["ids"]
        self._speech: NDArray[np.uint32] = arrays["speech"]
        self._tries = [_trie(path / store.trie_name(i)) for i in range(len(manifest["tries"]))]
        self._firsts = [trie["first"] for trie in manifest["tries"]]
        self._bases = [trie["base"] for trie in manifest["tries"]]
        self._has: dict[str, Bools] = {}
        self._shared: dict[tuple[str, str], Bools] = {}

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open a base; nothing but the manifest is read."""
        folder = Path(path)
        return cls(folder, store.read_manifest(folder))

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

    def finder(self, lang: str, *, unstated: bool = True) -> Finder:
        """Give a function that finds all names at the start of a folded text.

        It gives pairs of (length in characters, key), the shortest first, of names in the
        language and, with `unstated`, of names whose language is not known.
        """
        prefixes = [f"{lang}\t", f"{UNSTATED}\t"] if unstated else [f"{lang}\t"]
        if len(self._tries) == 1:
            search = self._tries[0].iter_prefixes_with_ids
            own, cut = prefixes[0], len(prefixes[0])
            if not unstated:
                return lambda text: [(len(k) - cut, i) for k, i in search(own + text)]
            other, cut_other = prefixes[1], len(prefixes[1])

            def find(text: str) -> list[tuple[int, int]]:
                found = [(len(k) - cut, i) for k, i in search(own + text)]
                more = [(len(k) - cut_other, i) for k, i in search(other + text)]
                return sorted(found + more) if found and more else found or more

            return find

        def find_in_shards(text: str) -> list[tuple[int, int]]:
            found = []
            for prefix in prefixes:
                shard = self._shard(prefix + text[:1])
                base, cut = self._bases[shard], len(prefix)
                pairs = self._tries[shard].iter_prefixes_with_ids(prefix + text)
                found += [(len(k) - cut, base + i) for k, i in pairs]
            return sorted(found)

        return find_in_shards

    def prefixes(self, lang: str, folded: str) -> list[tuple[int, int]]:
        """Find all names at the start of a folded text, as `finder` does."""
        return self.finder(lang)(folded)

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
        start = int(self._id_ends[entity - 1]) if entity else 0
        return self._id_bytes[start : int(self._id_ends[entity])].tobytes().decode()

    def entity(self, external_id: str) -> int | None:
        """Give the number of the entity with this id, or None."""
        wanted = external_id.encode()
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self.external_id(middle).encode() < wanted:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self) and self.external_id(low) == external_id else None

    def category_name(self, entity: int) -> str:
        """Give the category of an entity."""
        return str(self.manifest["categories"][self.category[entity]])

    def spoken(self, lang: str) -> Bools:
        """Tell for each entity whether it has a name in a language.

        A name whose language is not stated counts for all languages that are written in its script.
        """
        if lang not in self._has:
            has = np.zeros(len(self), bool)
            scripts = self.manifest["scripts"].get(lang, ())
            for part in (lang, *(f"{UNSTATED}-{script}" for script in scripts)):
                start, end = self.manifest["speech"].get(part, (0, 0))
                has[self._speech[start:end]] = True
            has.flags.writeable = False
            self._has[lang] = has
        return self._has[lang]

    def stated(self, lang: str) -> Bools:
        """Tell for each entity whether it has a name that is stated to be in a language."""
        has = np.zeros(len(self), bool)
        start, end = self.manifest["speech"].get(lang, (0, 0))
        has[self._speech[start:end]] = True
        return has

    def shared(self, src: str, tgt: str) -> Bools:
        """Tell for each entity whether it has names in both languages."""
        pair = (src, tgt) if src < tgt else (tgt, src)
        if pair not in self._shared:
            both = self.spoken(src) & self.spoken(tgt)
            both.flags.writeable = False
            self._shared[pair] = both
        return self._shared[pair]

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
        path = (self.path / store.META).resolve()
        return sqlite3.connect(f"{path.as_uri()}?mode=ro&immutable=1", uri=True)

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


def _array(folder: Path, name: str) -> Any:
    path = folder / f"{name}.npy"
    try:
        return np.load(path, mmap_mode="r", allow_pickle=False)
    except FileNotFoundError:
        raise InputError("is missing: build the knowledge base again", path=path) from None
    except (OSError, ValueError) as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None


def _trie(path: Path) -> Any:
    marisa_trie = need("marisa_trie")
    try:
        return marisa_trie.Trie().mmap(str(path))
    except (OSError, RuntimeError) as error:
        raise InputError(f"is damaged ({error}): build it again", path=path) from None


def need(module: str) -> Any:
    """Import an optional library, or say how to install it."""
    from importlib import import_module

    need_extra("kobe", "a knowledge base", module)
    return import_module(module)


def default() -> KnowledgeBase:
    """Open the knowledge base made of installed packages; it is built on first use."""
    from steelyard.kobe.base.embedded import embedded

    return KnowledgeBase.open(embedded())
