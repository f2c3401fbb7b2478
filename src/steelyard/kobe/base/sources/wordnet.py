"""Wordnets, through the library ``wn``: common nouns, the concept tier."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from steelyard.core.errors import InputError, UsageError
from steelyard.core.provenance import sha256
from steelyard.kobe.base.records import CONCEPT, Entity, Name, senses_prior
from steelyard.kobe.languages import primary

_OFFSET = re.compile(r"-(\d{8}-[a-z])$")


class Wordnets:
    """The nouns of the wordnets that ``wn`` has, or of one file in the WN-LMF format.

    Concepts of different wordnets are one entity where they share an interlingual index or an
    offset of Princeton WordNet 3.0.
    """

    name = "omw"

    def __init__(self, path: str | Path | None = None) -> None:
        from steelyard.kobe.base.knowledge import need

        need("wn")
        self.path = None if path is None else Path(path)
        self.position = 0
        with self._database() as wn:
            lexicons = wn.lexicons()
            if not lexicons:
                what = (
                    "wn has no wordnets: run 'python -m wn download omw:1.4', or name a WN-LMF file"
                )
                raise UsageError(what)
            self.version = ", ".join(sorted(lexicon.specifier() for lexicon in lexicons))
            self.licence = ", ".join(sorted({str(lexicon.license) for lexicon in lexicons}))

    @contextmanager
    def _database(self) -> Iterator[Any]:
        """Give ``wn`` on its own database, or on a temporary one that holds the file."""
        import wn

        config: Any = vars(wn)["config"]
        if self.path is None:
            yield wn
            return
        if not self.path.exists():
            raise InputError("no such file", path=self.path)
        used = config.data_directory
        with tempfile.TemporaryDirectory(prefix="steelyard-wn-") as folder:
            config.data_directory = folder
            try:
                wn.add(self.path, progress_handler=None)
                yield wn
            except (wn.Error, wn.lmf.LMFError, ValueError, OSError) as error:
                what = f"can't be read as a wordnet ({' '.join(str(error).split())})"
                raise InputError(what, path=self.path) from error
            finally:
                config.data_directory = used

    def fingerprint(self) -> str:
        """Tell this input from all others."""
        files = [] if self.path is None else [self.path]
        if self.path is not None and self.path.is_dir():
            files = [path for path in self.path.rglob("*") if path.is_file()]
        return f"{self.name} {self.version} {sha256(files)}"

    def rows(self) -> Iterator[tuple[Entity, Sequence[Name]]]:
        """Yield each noun synset of each wordnet."""
        with self._database() as wn:
            for lexicon in sorted(wn.lexicons(), key=lambda one: one.specifier()):
                lang = primary(lexicon.language)
                if lang is None:
                    continue
                own = wn.Wordnet(lexicon=lexicon.specifier(), expand="")
                for synset in own.synsets(pos="n"):
                    yield _synset(synset, lang)


def _synset(synset: Any, lang: str) -> tuple[Entity, list[Name]]:
    offset = _OFFSET.search(synset.id)
    index = synset.ili if isinstance(synset.ili, str) else getattr(synset.ili, "id", None)
    ids = [f"wn:{offset[1]}"] if offset else []
    ids += [f"ili:{index}"] if index else []
    ids = ids or [f"synset:{synset.id}"]
    counts = (sum(_value(count) for count in sense.counts()) for sense in synset.senses())
    prior = senses_prior(sum(counts))
    category = synset.lexfile() or "noun"
    entity = Entity(ids[0], category, CONCEPT, prior, tuple(ids[1:]))
    return entity, [Name(lang, lemma.replace("_", " ")) for lemma in synset.lemmas()]


def _value(count: Any) -> float:
    return float(getattr(count, "value", count))
