"""A knowledge base: entities, their names in many languages, and what is known of them.

It is one folder, written once by :func:`~steelyard.kobe.base.build.build` and opened by memory map:

- ``manifest.json``: what it holds, where that is from, licences, and the hash of every file
- ``aliases.marisa``: a trie of ``language TAB folded name``
- ``extra.npy``: for each name how many more entities than names stand before it in the next three
- ``entities.npy``: entity numbers, most probable first
- ``flags.npy``: what is known of the name for that entity (`codec.Flag`)
- ``cases.npy``, ``spellings.*``: how the name is spelt for that entity (`codec`): read only to
  explain, or to build upon
- ``prior.npy``, ``category.npy``, ``tier.npy``: one value for each entity
- ``ids.*``: ids of entities, sorted, and where each starts
- ``others.*``, ``owners.npy``: further ids, sorted, and the entities that have or claim them
- ``speech.npy``: entity numbers that have a name in a language, as steps from one to the next,
  languages one after the other
- ``terms.jsonl``: terms that were added, one line for each glossary. A folder may hold nothing but
  these and a manifest that names the base they are ``upon``.
"""

from __future__ import annotations

import hashlib
import json
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import cache, cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import InputError, UsageError, hint, need_extra
from steelyard.kobe.base.codec import (
    MAIN,
    NO_PLACE,
    STATED,
    UNSTATED,
    Entity,
    Flag,
    Ids,
    Name,
    Spellings,
    array,
    rank,
    spelt,
    trie,
)
from steelyard.kobe.languages import primary
from steelyard.kobe.linking.wordforms import fold
from steelyard.kobe.mention import Id

FORMAT = 2
MANIFEST = "manifest.json"
TRIE = "aliases.marisa"
#: Glossaries that were added, one in a line.
TERMS = "terms.jsonl"
EMBEDDED = "embedded"
_STATED = int(STATED)
_LABEL, _FORBIDDEN = int(Flag.LABEL), int(Flag.FORBIDDEN)
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
    """Return a short hash of how names are folded: a base must be folded as texts are."""
    folded = [fold(probe, lang) for probe in _PROBES for lang in ("en", "tr", "mul")]
    return hashlib.sha256(repr(folded).encode()).hexdigest()[:12]


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
    version = manifest.get("format") if isinstance(manifest, dict) else None
    if version != FORMAT:
        raise InputError(f"is of format {version}, expected {FORMAT}: build it again", path=folder)
    upon = manifest.get("upon", {"base": ""})
    if not (isinstance(upon, dict) and isinstance(upon.get("base"), str)):
        raise InputError(f"{MANIFEST} has a damaged 'upon': build it again", path=folder)
    if "upon" not in manifest and manifest.get("folding") != folding_version():
        raise InputError("was built with other rules of folding: build it again", path=folder)
    return manifest


Bools = NDArray[np.bool_]
Finder = Callable[[str], list[tuple[int, int]]]
Rows = list[tuple[Entity, list[Name]]]


class KnowledgeBase:
    """An open base.

    Entities are numbers from 0 on, in the order of their ids; names are keys, numbers too. All
    arrays are memory maps: what is not asked for is not read.

    Attributes
    ----------
    path : pathlib.Path
        The folder that was opened.
    manifest : dict
        What the base holds and where that is from.
    prior, category, tier : numpy.ndarray
        One value for each entity.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path = self._folder = path
        self.manifest = manifest
        self._extra: NDArray[np.uint32] = array(path, "extra", np.uint32)
        self._entities: NDArray[np.uint32] = array(path, "entities", np.uint32)
        self._flags: NDArray[np.uint8] = array(path, "flags", np.uint8)
        self.prior: NDArray[np.float32] = array(path, "prior", np.float32)
        self.category: NDArray[np.uint8] = array(path, "category", np.uint8)
        self.tier: NDArray[np.uint8] = array(path, "tier", np.uint8)
        self._ids = Ids(path, "ids")
        self._speech: NDArray[np.uint8] = array(path, "speech", np.uint8)
        self._trie = trie(path / TRIE)
        self._spoken: dict[str, Bools] = {}
        self.glossaries: list[Glossary] = []
        #: Category and names of the entities that terms were added to, or that are terms.
        self._terms: dict[Id, tuple[str, list[Name]]] = {}

    @classmethod
    def open(cls, path: str | Path) -> KnowledgeBase:
        """Open a base, with the terms that were added; of files without them nothing is read."""
        folder = Path(path)
        manifest, layers = read_manifest(folder), [folder]
        while "upon" in manifest:
            layers.append(below(layers[-1], manifest["upon"]))
            if layers[-1] in layers[:-1]:
                raise InputError("lies upon itself: build it again", path=folder)
            manifest = read_manifest(layers[-1])
        base = KnowledgeBase(layers[-1], manifest)
        base.path = folder
        if glossaries := [g for layer in reversed(layers) for g in read_terms(layer)]:
            base._add(glossaries)
        return base

    def _add(self, glossaries: list[Glossary]) -> None:
        """Put terms beside names; one that states an id of the base is that entity."""
        self.glossaries = glossaries
        claims: dict[str, Id] = {}
        size = len(self)
        new: set[Id] = set()
        languages = Counter(self.manifest["languages"])
        for entity, names in (row for glossary in glossaries for row in glossary.rows):
            ids = (entity.id, *entity.same_as)
            owners = (owner for id_ in ids if (owner := self.owner(id_)) is not None)
            claimed = next((claims[id_] for id_ in ids if id_ in claims), entity.id)
            term = next(owners, claimed)
            claims.update(dict.fromkeys(ids, term))
            self._terms.setdefault(term, (entity.category, []))[1].extend(names)
            new |= {term} if isinstance(term, str) else set()
            languages.update(name.lang for name in names if not name.flags & _FORBIDDEN)
        digest = hashlib.sha256(f"{self.signature} {glossaries}".encode()).hexdigest()
        n_names = sum(len(names) for glossary in glossaries for _, names in glossary.rows)
        sources = [
            {
                "name": glossary.name,
                "version": glossary.version,
                "licence": glossary.licence,
                "records": len(glossary.rows),
                "names": sum(len(names) for _, names in glossary.rows),
            }
            for glossary in glossaries
        ]
        self.manifest = {
            **self.manifest,
            "signature": digest[:12],
            "sources": [*self.manifest["sources"], *sources],
            "entities": size + len(new),
            "names": self.manifest["names"] + n_names,
            "languages": dict(sorted(languages.items())),
        }

    def terms(self, lang: str, other: str) -> Iterator[tuple[Id, str, str]]:
        """Yield entity, name and category of the added terms that have names in both languages."""
        for term, (category, _) in self._terms.items():
            known = isinstance(term, int) and bool(self.spoken(other)[term])
            if known or self._added(term, (other,)):
                for name in self._added(term, (lang,)):
                    yield term, name.text, category

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
        search = self._trie.iter_prefixes_with_ids

        def find(text: str) -> list[tuple[int, int]]:
            return sorted(
                (len(name) - len(prefix), key)
                for prefix in prefixes
                for name, key in search(prefix + text)
            )

        return find

    def continues(self, lang: str) -> Callable[[str], bool]:
        """Give a function that tells whether any name begins with a folded text; as `finder`."""
        prefixes = (f"{lang}\t", f"{UNSTATED}\t")
        search = self._trie.iterkeys

        def begins(text: str) -> bool:
            return any(next(search(prefix + text), None) is not None for prefix in prefixes)

        return begins

    def starting(self, lang: str, folded: str) -> Iterator[tuple[str, int]]:
        """Give the names that begin with a folded text, and their keys; as in `finder`."""
        for prefix in (f"{lang}\t", f"{UNSTATED}\t"):
            for name, key in self._trie.iteritems(prefix + folded):
                yield name[len(prefix) :], key

    def key(self, lang: str, folded: str) -> int | None:
        """Give the key of a folded name in a language (``mul``: not stated), or None."""
        key: int | None = self._trie.get(f"{lang}\t{folded}")
        return key

    def restored(self, key: int) -> tuple[str, str]:
        """Give the language and the folded name of a key."""
        lang, _, folded = self._trie.restore_key(key).partition("\t")
        return lang, folded

    def postings(self, key: int) -> tuple[NDArray[np.uint32], NDArray[np.uint8]]:
        """Give the entities of a key, most probable first, and the flags of the name for each."""
        part = slice(key + int(self._extra[key]), key + 1 + int(self._extra[key + 1]))
        return self._entities[part], self._flags[part]

    # -- entities

    def external_id(self, entity: int) -> str:
        """Give the id of an entity, such as ``wd:Q183``."""
        return self._ids[entity].decode()

    def entity(self, external_id: str) -> int | None:
        """Give the number of the entity with this id, or None."""
        return self._ids.find(external_id.encode())

    def owner(self, external_id: str) -> int | None:
        """Give the number of the entity that has this id, or claims it as another of its own."""
        number = self.entity(external_id)
        if number is None and (at := self._others.find(external_id.encode())) is not None:
            number = int(self._owners[at])
        return number

    def category_name(self, entity: Id) -> str:
        """Give the category of an entity."""
        if isinstance(entity, str):
            return self._terms[entity][0]
        return str(self.manifest["categories"][self.category[entity]])

    def spoken(self, lang: str) -> Bools:
        """Tell for each entity whether it has a name in a language.

        A name whose language is not stated counts for all languages that are written in its script.
        """
        if lang not in self._spoken:
            scripts = self.manifest["scripts"].get(lang, ())
            has = self.stated(lang, *(f"{UNSTATED}-{script}" for script in scripts))
            has[
                [
                    term
                    for term in self._terms
                    if isinstance(term, int) and self._added(term, (lang,))
                ]
            ] = True
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
        return Ids(self._folder, "others")

    @cached_property
    def _owners(self) -> NDArray[np.uint32]:
        if not len(self._others):
            return np.empty(0, np.uint32)
        owners: NDArray[np.uint32] = array(self._folder, "owners", np.uint32)
        return owners

    @cached_property
    def _owned(self) -> tuple[NDArray[np.int64], NDArray[np.uint32]]:
        order = np.argsort(self._owners, kind="stable")
        return order, self._owners[order]

    @cached_property
    def _spellings(self) -> Spellings:
        return Spellings(self._folder)

    @cached_property
    def _starts(self) -> NDArray[np.uint32]:
        """The number of each key's first pair of a name and an entity."""
        return np.arange(len(self._extra), dtype=np.uint32) + self._extra

    @cached_property
    def _sorted(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """All pairs in the order of their entities, and where those of each entity start."""
        order = np.argsort(self._entities, kind="stable")
        counts = np.bincount(self._entities, minlength=len(self))
        return order, np.concatenate(([0], np.cumsum(counts)))

    def _named(self, entity: int) -> Iterator[tuple[int, str, str]]:
        """Give the pair, language and folded form of each name of an entity."""
        order, starts = self._sorted
        pairs = order[starts[entity] : starts[entity + 1]]
        # Of another type, all would be copied.
        keys = np.searchsorted(self._starts, pairs.astype(np.uint32), "right") - 1
        for pair, key in zip(pairs.tolist(), keys.tolist(), strict=True):
            yield pair, *self.restored(key)

    def names(self, entity: Id, langs: Collection[str] | None = None) -> list[Name]:
        """Give all names of an entity: added ones, then those of the base by language.

        Of some languages alone, where ``langs`` are named: how others are spelt is not read.
        """
        rows = []
        for pair, lang, folded in self._named(entity) if isinstance(entity, int) else ():
            if langs is not None and lang not in langs:
                continue
            flags = int(self._flags[pair]) & _STATED
            rest = not self._spellings.cases[pair] & MAIN
            for number, how in enumerate(self._spellings[pair]):
                name = Name(lang, spelt(how, folded), flags)
                rows.append((lang, rest, not flags & _LABEL, number, name))
        return [*self._added(entity, langs), *(name for *_, name in sorted(rows))]

    def _added(self, entity: Id, langs: Collection[str] | None = None) -> list[Name]:
        """Give the names of an entity that were added and may be used."""
        return [
            name for name in self._terms.get(entity, ("", []))[1]
            if not name.flags & _FORBIDDEN and (langs is None or name.lang in langs)
        ]  # fmt: skip

    def same_as(self, entity: int) -> list[str]:
        """Give all ids of an entity, its main one first."""
        order, owners = self._owned
        # Of another type, all would be copied.
        part = slice(*np.searchsorted(owners, np.array([entity, entity + 1], owners.dtype)))
        others = [self._others[i].decode() for i in order[part].tolist()]
        return [self.external_id(entity), *sorted(others, key=lambda id_: (rank(id_), id_))]

    def label(self, entity: Id, lang: str = "en") -> str:
        """Give the main name of an entity in a language, else in English, else in any."""
        if isinstance(entity, str):
            names = self._added(entity, (lang,)) or self._added(entity)
            return names[0].text if names else entity
        if lang == "en":
            pair = int(self._labels[entity])
            if pair == NO_PLACE:
                return self.external_id(entity)
            key = bisect_right(range(len(self._extra) - 1), pair, key=self._start_of) - 1
            return spelt(self._spellings[pair][0], self.restored(key)[1])
        ranks = {UNSTATED: 2, "en": 1, lang: 0}
        names = self.names(entity)
        best = min(names, key=lambda n: (ranks.get(n.lang, 3), not n.flags & _LABEL), default=None)
        return self.external_id(entity) if best is None else best.text

    def _start_of(self, key: int) -> int:
        return key + int(self._extra[key])

    @cached_property
    def _labels(self) -> NDArray[np.uint32]:
        """The pair of each entity's main name in English, or else in any language."""
        labels: NDArray[np.uint32] = array(self._folder, "labels", np.uint32)
        return labels


# -- terms that were added


class Glossary(NamedTuple):
    """The terms of a file, in the order in which they were read."""

    name: str
    version: str
    licence: str
    rows: Rows


def read_terms(folder: Path) -> list[Glossary]:
    """Read the glossaries that were added to a base."""
    path = folder / TERMS
    try:
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        return [_glossary(json.loads(line)) for line in lines]
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InputError(f"is damaged ({error}): add all files again", path=path) from None


def _glossary(line: dict[str, Any]) -> Glossary:
    rows = [
        (
            Entity(str(id_), str(category), int(tier), float(prior), tuple(map(str, same_as))),
            [Name(str(lang), str(text), int(flags)) for lang, text, flags in names],
        )
        for (id_, category, tier, prior, same_as), names in line["rows"]
    ]
    return Glossary(str(line["name"]), str(line["version"]), str(line["licence"]), rows)


def below(folder: Path, upon: Mapping[str, Any]) -> Path:
    """Give the folder that terms lie upon: where it was, or is if both were moved together."""
    if upon["base"] == EMBEDDED:
        return embedded()
    for path in (Path(upon["base"]), folder / str(upon.get("relative", ""))):
        if (path / MANIFEST).exists():
            return path
    what = (
        f"lies upon the knowledge base {upon['base']}, which is not there: put it back, or make"
        " this one again ('steelyard kb add' of its files onto a base)"
    )
    raise InputError(what, path=folder)


# -- the embedded base, and a base as a source


@cache
def default() -> KnowledgeBase:
    """Open the embedded knowledge base, once.

    It is made by ``tools/make_base`` from CLDR, GeoNames, cuts of Wikidata and other open
    registers, which ``NOTICE`` names with their licences.
    """
    return KnowledgeBase.open(embedded())


def embedded() -> Path:
    """Give the folder of the embedded knowledge base."""
    need_extra("kobe", "the embedded knowledge base")
    folder = Path(str(files("steelyard.kobe.base"))) / EMBEDDED
    if not (folder / MANIFEST).exists():
        what = "the embedded knowledge base is missing: install the package, or run tools/make_base"
        raise InputError(what, path=folder)
    return folder


class Base:
    """A base as a source, to build another one upon it; its entities come as they were merged."""

    name = "base"

    def __init__(self, path: str | Path) -> None:
        self._base = KnowledgeBase.open(path)
        #: The sources that the base was made of, for the manifest of the new one.
        self.parts: list[dict[str, Any]] = list(self._base.manifest["sources"])
        self.version = self._base.signature
        self.licence = ", ".join(dict.fromkeys(part["licence"] for part in self.parts))

    def rows(self) -> Iterator[tuple[Entity, list[Name]]]:
        """Yield each entity once, with all its names."""
        base = self._base
        for number in range(len(base)):
            id_, *others = base.same_as(number)
            tier, prior = int(base.tier[number]), float(base.prior[number])
            entity = Entity(id_, base.category_name(number), tier, prior, tuple(others))
            yield entity, base.names(number)
        for glossary in base.glossaries:
            for entity, names in glossary.rows:
                yield entity, [name for name in names if not name.flags & _FORBIDDEN]
