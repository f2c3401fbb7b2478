"""A base that lies upon another: a few thousand terms are added without copying a million names.

The upper base is an ordinary small one, whose manifest says under ``upon`` which base it lies upon
and with what signature. It lies in a folder of its own, or, if terms were added to a base in place,
in the folder ``added`` inside of it. Opened together they are one: entities of the lower base keep
their numbers and keys, and the upper one's own follow. What the upper base calls by an id of the
lower one is the same entity.

``added.jsonl`` holds what was added, one line for each file, so that a file can be replaced.
"""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError
from steelyard.kobe.base.index import script, written_in
from steelyard.kobe.base.knowledge import (
    ADDED,
    MANIFEST,
    RECORDS,
    Bools,
    Finder,
    KnowledgeBase,
    read_manifest,
)
from steelyard.kobe.base.records import KEPT_IF_ANY, TIERS, Entity, Name, Source, rank
from steelyard.kobe.linking.wordforms import fold

EMBEDDED = "embedded"
_KEPT_IF_ANY = int(KEPT_IF_ANY)


class Layers(KnowledgeBase):
    """Two bases as one."""

    def __init__(self, path: Path, lower: KnowledgeBase, upper: KnowledgeBase) -> None:
        self.path, self.lower, self.upper = path, lower, upper
        self._spoken: dict[str, Bools] = {}
        self._entities_below, self._keys_below = len(lower), lower.n_keys
        #: Per entity of the upper base its number here, and the other way round for the new ones.
        self._number, self._new = self._numbered()
        #: Names of both: the key of the lower base, and that of the upper one.
        self._both = dict(self._shared_keys())
        self._hidden = frozenset(self._both.values())
        names = list(lower.manifest["categories"])
        names += [c for c in upper.manifest["categories"] if c not in names]
        self.manifest = self._told(names)
        places = np.array([names.index(c) for c in upper.manifest["categories"]], np.uint8)
        self.category = np.concatenate((lower.category, places[upper.category][self._new]))
        self.prior = np.concatenate((lower.prior, upper.prior[self._new]))
        self.tier = np.concatenate((lower.tier, upper.tier[self._new]))
        np.maximum.at(self.prior, self._number, upper.prior)
        np.minimum.at(self.tier, self._number, upper.tier)
        tiers = np.bincount(self.tier, minlength=len(TIERS))
        self.manifest["tiers"] = {name: int(tiers[i]) for i, name in enumerate(TIERS)}
        #: Entities of the lower base that are better known than there: where names are shared,
        #: they may come first now.
        below = slice(self._entities_below)
        self._risen = frozenset(np.flatnonzero(self.prior[below] != lower.prior).tolist())

    def _numbered(self) -> tuple[NDArray[np.uint32], NDArray[np.int64]]:
        found = [self._below(number) for number in range(len(self.upper))]
        new = np.array([number for number, n in enumerate(found) if n is None], np.int64)
        numbers = np.array([n or 0 for n in found], np.uint32)
        numbers[new] = self._entities_below + np.arange(len(new))
        return numbers, new

    def _below(self, number: int) -> int | None:
        """Give the entity of the lower base that one of the upper base is, as a merge would."""
        lower = self.lower
        own, *others = self.upper.same_as(number)
        if (found := lower.owner(own)) is not None:
            return found
        space = own.partition(":")[0]
        owners = {e for other in others if (e := lower.owner(other)) is not None}
        named = [(lower.external_id(e), e) for e in owners]
        # Two ids of the same source are never one thing.
        apart = [(id_, e) for id_, e in named if id_.partition(":")[0] != space]
        best = sorted(apart, key=lambda pair: (rank(pair[0]), -lower.prior[pair[1]], pair[0]))
        return best[0][1] if best else None

    def _shared_keys(self) -> Iterator[tuple[int, int]]:
        for key in range(self.upper.n_keys):
            below = self.lower.key(*self.upper.restored(key))
            if below is not None:
                yield below, key

    def _told(self, categories: list[str]) -> dict[str, Any]:
        """Make the manifest of both."""
        below, above = self.lower.manifest, self.upper.manifest
        both = [self.upper.restored(key) for key in self._hidden]
        letters = {lang: Counter(counts) for lang, counts in below["letters"].items()}
        for lang, counts in above["letters"].items():
            letters.setdefault(lang, Counter()).update(counts)
        for lang, name in both:
            letters[lang].subtract([script(name[:1])])
        joined = f"{self.lower.signature} {self.upper.signature}".encode()
        return {
            **below,
            "signature": hashlib.sha256(joined).hexdigest()[:12],
            "sources": below["sources"] + above["sources"],
            "warnings": below["warnings"] + above["warnings"],
            "entities": self._entities_below + len(self._new),
            "merged": below["merged"] + above["merged"] + len(self.upper) - len(self._new),
            "names": below["names"] + above["names"] - len(both),
            "categories": categories,
            "languages": {lang: counts.total() for lang, counts in sorted(letters.items())},
            "letters": letters,
            "scripts": {lang: written_in(counts) for lang, counts in letters.items()},
            "tiers": {},
            "files": {**below["files"], **{f"{ADDED}/{n}": f for n, f in above["files"].items()}},
            "layers": [*below.get("layers", [_layer(self.lower)]), _layer(self.upper)],
        }

    @property
    def n_keys(self) -> int:
        """How many keys there are."""
        return self._keys_below + self.upper.n_keys

    # -- names to entities

    def finder(self, lang: str) -> Finder:
        """Give a function that finds all names at the start of a folded text."""
        below, above = self.lower.finder(lang), self.upper.finder(lang)
        hidden, first = self._hidden, self._keys_below

        def find(text: str) -> list[tuple[int, int]]:
            found = below(text)
            if more := [(n, first + key) for n, key in above(text) if key not in hidden]:
                found = sorted(found + more)
            return found

        return find

    def continues(self, lang: str) -> Callable[[str], bool]:
        """Give a function that tells whether any name begins with a folded text."""
        below, above = self.lower.continues(lang), self.upper.continues(lang)
        return lambda text: below(text) or above(text)

    def starting(self, lang: str, folded: str) -> Iterator[tuple[str, int]]:
        """Give the names that begin with a folded text, and their keys; as in `finder`."""
        # What was added goes first: who takes only some must not miss it.
        yield from self._shown(self.upper.starting(lang, folded))
        yield from self.lower.starting(lang, folded)

    def _shown(self, names: Iterator[tuple[str, int]]) -> Iterator[tuple[str, int]]:
        """Give the names of the upper base that the lower one does not have, with their keys."""
        for name, key in names:
            if key not in self._hidden:
                yield name, self._keys_below + key

    def key(self, lang: str, folded: str) -> int | None:
        """Give the key of a folded name in a language (``mul``: not stated), or None."""
        found = self.lower.key(lang, folded)
        if found is None and (above := self.upper.key(lang, folded)) is not None:
            found = self._keys_below + above
        return found

    def names_in(self, lang: str) -> Iterator[tuple[str, int]]:
        """Give all names that are stated to be in a language, folded, each with its key."""
        yield from self.lower.names_in(lang)
        yield from self._shown(self.upper.names_in(lang))

    def postings(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Give the entities of a key, most probable first, and the flags of the name for each."""
        if key >= self._keys_below:
            found: dict[int, int] = {}
            above: int | None = key - self._keys_below
        else:
            entities, flags = self.lower.postings(key)
            above = self._both.get(key)
            if above is None and (not self._risen or self._risen.isdisjoint(entities.tolist())):
                return entities, flags
            found = dict(zip(entities.tolist(), flags.tolist(), strict=True))
        if above is not None:
            more, flags = self.upper.postings(above)
            for number, flag in zip(self._number[more].tolist(), flags.tolist(), strict=True):
                found[number] = joined(found[number], flag) if number in found else flag
        order = sorted(found, key=lambda e: (-self.prior[e], self.external_id(e)))
        return np.array(order, np.uint32), np.array([found[e] for e in order], np.uint8)

    def restored(self, key: int) -> tuple[str, str]:
        """Give the language and the folded name of a key."""
        first = self._keys_below
        return self.upper.restored(key - first) if key >= first else self.lower.restored(key)

    # -- entities

    def external_id(self, entity: int) -> str:
        """Give the id of an entity, such as ``wd:Q183``."""
        if entity < self._entities_below:
            return self.lower.external_id(entity)
        return self.upper.external_id(int(self._new[entity - self._entities_below]))

    def entity(self, external_id: str) -> int | None:
        """Give the number of the entity with this id, or None."""
        found = self.lower.entity(external_id)
        if found is None and (above := self.upper.entity(external_id)) is not None:
            number = int(self._number[above])
            found = number if number >= self._entities_below else None
        return found

    def owner(self, external_id: str) -> int | None:
        """Give the number of the entity that has this id, or claims it as another of its own."""
        found = self.lower.owner(external_id)
        if found is None and (above := self.upper.owner(external_id)) is not None:
            found = int(self._number[above])
        return found

    def stated(self, *parts: str) -> Bools:
        """Tell for each entity whether it has a name that is stated to be in a language."""
        has = np.zeros(len(self), bool)
        has[: self._entities_below] = self.lower.stated(*parts)
        has[self._number[self.upper.stated(*parts)]] = True
        return has

    # -- explanations

    @cached_property
    def _above(self) -> dict[int, list[int]]:
        """Entities of the upper base by their number here."""
        found: dict[int, list[int]] = {}
        for above, number in enumerate(self._number.tolist()):
            found.setdefault(number, []).append(above)
        return found

    def names(self, entity: int, langs: Collection[str] | None = None) -> list[Name]:
        """Give all names of an entity by language, the one that was read first before others."""
        found = self.lower.names(entity, langs) if entity < self._entities_below else []
        for above in self._above.get(entity, ()):
            found += self.upper.names(above, langs)
        flags: dict[tuple[str, str], int] = {}
        for lang, text, flag in found:  # spellings that fold alike are one name
            name = lang, fold(text, lang)
            flags[name] = joined(flags.get(name, flag), flag)
        merged = [Name(lang, text, flags[lang, fold(text, lang)]) for lang, text, _ in found]
        return sorted(dict.fromkeys(merged), key=lambda name: name.lang)

    def label(self, entity: int, lang: str = "en") -> str:
        """Give the main name of an entity in a language, else in English, else in any."""
        if entity >= self._entities_below:
            return self.upper.label(int(self._new[entity - self._entities_below]), lang)
        for above in self._above.get(entity, ()):
            if not self.lower.stated(lang)[entity] and self.upper.stated(lang)[above]:
                return self.upper.label(above, lang)
        return self.lower.label(entity, lang)

    def same_as(self, entity: int) -> list[str]:
        """Give all ids of an entity, its own first."""
        found = [self.external_id(entity)]
        if entity < self._entities_below:
            found = self.lower.same_as(entity)
        for above in self._above.get(entity, ()):
            found += self.upper.same_as(above)
        return list(dict.fromkeys(found))


def joined(one: int, other: int) -> int:
    """Give the flags of a name that two bases give to an entity."""
    return (one & other) | ((one | other) & _KEPT_IF_ANY)


def _layer(base: KnowledgeBase) -> dict[str, Any]:
    manifest = base.manifest
    return {
        "path": str(base.path),
        "signature": base.signature,
        "entities": manifest["entities"],
        "names": manifest["names"],
        "sources": [source["name"] for source in manifest["sources"]],
    }


# -- opening


def open_layers(folder: Path, manifest: dict[str, Any]) -> Layers:
    """Open a base that lies upon another, or to which something was added in place."""
    if "upon" in manifest:
        upper, lower = KnowledgeBase(folder, manifest), _lower(folder, manifest)
    else:
        upper = KnowledgeBase(folder / ADDED, read_manifest(folder / ADDED))
        lower = KnowledgeBase(folder, manifest)
    upon = upper.manifest["upon"]
    if lower.signature != upon["signature"]:
        what = (
            f"lies upon {upon['base']} as it was before ({upon['signature']}, now"
            f" {lower.signature}): 'steelyard kb add' of one of its files to it lays it upon what"
            " is there now"
        )
        raise InputError(what, path=folder)
    return Layers(folder, lower, upper)


def _lower(folder: Path, manifest: dict[str, Any]) -> KnowledgeBase:
    """Open the lower base: where it was, or where it is if both were moved together."""
    upon = manifest["upon"]
    if upon["base"] == EMBEDDED:
        from steelyard.kobe.base.packaged import default

        return default()
    for path in (Path(upon["base"]), folder / upon["relative"]):
        if (path / MANIFEST).exists():
            return KnowledgeBase.open(path)
    what = (
        f"lies upon the knowledge base {upon['base']}, which is not there: put it back, or make"
        " this one again ('steelyard kb add' of its files onto a base)"
    )
    raise InputError(what, path=folder)


# -- adding


class _Added:
    """A file of terms, as it was added once."""

    position = 0

    def __init__(self, told: dict[str, Any]) -> None:
        self.told = told
        self.name, self.version = str(told["name"]), str(told["version"])
        self.licence = str(told["licence"])

    @classmethod
    def of(cls, source: Source) -> _Added:
        rows = [(tuple(one), [tuple(name) for name in names]) for one, names in source.rows()]
        facts = {"name": source.name, "version": source.version, "licence": source.licence}
        return cls({**facts, "rows": rows})

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        return f"{self.name} {hashlib.sha256(_line(self.told)).hexdigest()}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield one thing after the other."""
        for (id_, category, tier, prior, same_as), names in self.told["rows"]:
            entity = Entity(id_, category, tier, prior, tuple(same_as))
            yield entity, [Name(*name) for name in names]


def _line(told: dict[str, Any]) -> bytes:
    import orjson

    return orjson.dumps(told) + b"\n"


def add(source: Source, folder: Path, *, upon: str | None = None, force: bool = False) -> None:
    """Add terms to a base.

    Parameters
    ----------
    source
        The terms. What a source of the same name said before is replaced.
    folder
        The base.
    upon
        Make a new base that lies upon this one (``embedded`` or a folder), instead of adding to
        the one that is there.
    force
        With `upon`: replace the base that is there.
    """
    from steelyard.kobe.base.build import build

    target, kept = folder, list[_Added]()
    if upon is not None:
        facts = {"base": upon}
        if upon != EMBEDDED:
            whole = Path(upon).resolve()
            if whole == folder.resolve():
                raise UsageError(f"{folder} can't lie upon itself: to=... adds to it in place")
            facts = {"base": str(whole), "relative": os.path.relpath(whole, folder.resolve())}
        lower = _lower(folder, {"upon": facts})
    else:
        manifest = read_manifest(folder)
        if "upon" in manifest:
            facts, lower = manifest["upon"], _lower(folder, manifest)
        else:
            facts, lower, target = {"base": ".."}, KnowledgeBase(folder, manifest), folder / ADDED
        kept = _kept(target, without=source.name)
    sources = [*kept, _Added.of(source)]

    def finish(fresh: Path) -> dict[str, Any]:
        (fresh / RECORDS).write_bytes(b"".join(_line(one.told) for one in sources))
        return {"upon": {**facts, "signature": lower.signature}}

    build(sources, target, force=force or upon is None, finish=finish)


def _kept(folder: Path, *, without: str) -> list[_Added]:
    """Read what was added before."""
    import orjson

    path = folder / RECORDS
    try:
        lines = path.read_bytes().splitlines() if path.exists() else []
        return [one for one in map(_Added, map(orjson.loads, lines)) if one.name != without]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(f"is damaged ({error}): add all files again", path=path) from None
