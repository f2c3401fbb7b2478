"""What an mt-metrics-eval folder has no place for, in ``LP.steelyard.json`` beside its parts.

A plain set needs no such file. Every key is there only if the folder alone would say otherwise:

``systems``
    All of them, where outputs and scores do not name all.
``segments``, ``documents``, ``domains``
    Ids other than 0, 1, ...; names with blanks, or none.
``outputs``
    The systems that have outputs, where not all do.
``null_texts``
    True if texts are missing only where JSON says null.
``scores``
    Per file stem: name, kind, orientation, what the scorer sees, levels without any value.
``ratings``
    Per file stem: which ratings it belongs to.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

from steelyard.core.errors import InputError
from steelyard.core.table import dumps
from steelyard.data.segments import Texts
from steelyard.formats import files

_SCORE_KEYS = {"name": str, "kind": str, "higher_is_better": bool, "uses": list, "levels": list}


def path_of(folder: Path, lp: str) -> Path:
    """Give the path of the file for one language pair."""
    return folder / f"{lp}.steelyard.json"


@dataclass
class Sidecar:
    """The content of the file, or nothing."""

    path: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def read(cls, path: Path) -> Sidecar:
        """Read and check the file; without one there is nothing to say."""
        if not path.is_file():
            return cls(path)
        facts = files.parse_json(files.read_text(path), path, 1)
        if not isinstance(facts, dict):
            raise InputError("expected a JSON object", path=path)
        sidecar = cls(path, facts)
        sidecar._check()
        return sidecar

    def write(self) -> None:
        """Write the file, if there is anything to write."""
        if self.facts:
            files.write_text(self.path, dumps(self.facts) + "\n")

    def _fail(self, key: str, expected: str) -> NoReturn:
        raise InputError(f"'{key}': expected {expected}", path=self.path)

    def _check(self) -> None:
        for key in ("systems", "outputs"):
            if key in self.facts:
                self._check_names(key, self.facts[key])
        for key in ("scores", "ratings"):
            if not isinstance(self.facts.get(key, {}), dict):
                self._fail(key, "an object")
        for stem, about in self.facts.get("scores", {}).items():
            if not isinstance(about, dict):
                self._fail(stem, "an object that describes a score")
            self._check_score(stem, about)
        for stem, owner in self.facts.get("ratings", {}).items():
            if not isinstance(owner, str):
                self._fail(stem, "the name of ratings")

    def _check_names(self, key: str, names: Any) -> None:
        if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
            self._fail(key, "a list of names")
        for name, count in Counter(names).items():
            if count > 1:
                self._fail(key, f"each name once, found '{name}' {count} times")

    def _check_score(self, stem: str, about: dict[str, Any]) -> None:
        for name, value in about.items():
            kind = _SCORE_KEYS.get(name)
            if kind is None:
                self._fail(name, f"no such key for the score '{stem}'")
            if not isinstance(value, kind):
                self._fail(name, f"a {kind.__name__} for the score '{stem}'")
            if isinstance(value, list):
                self._check_names(name, value)
        if about.get("kind", "human") not in ("human", "metric"):
            self._fail("kind", f"human or metric for the score '{stem}'")

    def names(self, key: str) -> list[str] | None:
        """Give a list of names, None if the file does not say."""
        return self.facts.get(key)

    def texts(self, key: str, n: int) -> Texts | None:
        """Give a text or nothing per segment; None if there is none at all."""
        texts = self.facts[key]
        if texts is None:
            return None
        if not isinstance(texts, list) or len(texts) != n:
            self._fail(key, f"a list of {n} texts")
        if not all(t is None or isinstance(t, str) for t in texts):
            self._fail(key, f"a list of {n} texts")
        return tuple(texts)

    def segment_ids(self, n: int) -> tuple[str, ...]:
        """Give the ids of the segments: those of the file, else 0, 1, ..."""
        if "segments" not in self.facts:
            return tuple(str(i) for i in range(n))
        ids = self.facts["segments"]
        self._check_names("segments", ids)
        if len(ids) != n:
            self._fail("segments", f"a list of {n} names")
        return tuple(ids)

    def score(self, stem: str) -> dict[str, Any]:
        """Give what the file says of one score."""
        about: dict[str, Any] = self.facts.get("scores", {}).get(stem, {})
        return about
