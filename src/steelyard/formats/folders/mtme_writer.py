"""Writing mt-metrics-eval folders, and what they can't hold.

The same files that ``folders/mtme.py`` reads, and a :class:`Sidecar` where a set needs one.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.judgements import Floats, Ratings
from steelyard.data.segments import Texts
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.judged import errors

NO_TRANSLATION = "[No translation supplied]"
TEXT_FIELDS = {"sources": "source", "references": "target", "system-outputs": "hypothesis"}
_LEVELS = {
    "seg": "values",
    "sys": "system_scores",
    "doc": "document_scores",
    "domain": "domain_scores",
}


def owner_of(name: str, human: Iterable[str]) -> str:
    """Give the human score that ratings belong to: ``mqm.rater1`` to ``mqm``, else their own."""
    owners = [h for h in human if name == h or name.startswith(f"{h}.")]
    return max(owners, key=len, default=name)


_SCORE_KEYS = {"name": str, "kind": str, "higher_is_better": bool, "uses": list, "levels": list}


@dataclass
class Sidecar:
    """What a folder can't hold, in ``LP.steelyard.json``; each key only if it is needed.

    ``systems`` and ``outputs`` list names, ``segments``, ``documents`` and ``domains`` ids other
    than 0, 1, ... and names with blanks; ``null_texts`` is true if only null is a missing text;
    ``scores`` has per file stem the name, kind, direction, what the scorer sees and levels without
    a value, ``ratings`` per file stem which ratings it belongs to.
    """

    path: Path
    facts: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path, lp: str) -> Sidecar:
        """Return the empty one of a language pair."""
        return cls(folder / f"{lp}.steelyard.json")

    @classmethod
    def read(cls, folder: Path, lp: str) -> Sidecar:
        """Read and check the file; without one there is nothing to say."""
        sidecar = cls.of(folder, lp)
        if sidecar.path.is_file():
            facts = files.parse_json(files.read_text(sidecar.path), sidecar.path, 1)
            if not isinstance(facts, dict):
                raise InputError("expected a JSON object", path=sidecar.path)
            sidecar.facts = facts
            sidecar.check()
        return sidecar

    def write(self) -> None:
        """Write the file, if there is anything to write."""
        if self.facts:
            files.write_text(self.path, dumps(self.facts) + "\n")

    def _need(self, key: str, expected: str, *, holds: bool) -> None:
        if not holds:
            raise InputError(f"'{key}': expected {expected}", path=self.path)

    def check(self) -> None:
        """Refuse a file that says what it can't."""
        for key in ("systems", "outputs", "segments"):
            if key in self.facts:
                self._check_names(key, self.facts[key])
        for key in ("scores", "ratings"):
            self._need(key, "an object", holds=isinstance(self.facts.get(key, {}), dict))
        for stem, owner in self.facts.get("ratings", {}).items():
            self._need(stem, "the name of ratings", holds=isinstance(owner, str))
        for stem, about in self.facts.get("scores", {}).items():
            self._need(stem, "an object that describes a score", holds=isinstance(about, dict))
            for name, value in about.items():
                expected = f"one of {', '.join(_SCORE_KEYS)}, of its type, for the score '{stem}'"
                kind = _SCORE_KEYS.get(name, type(None))
                self._need(name, expected, holds=isinstance(value, kind))
                if isinstance(value, list):
                    self._check_names(name, value)
            good = about.get("kind", "human") in ("human", "metric")
            self._need("kind", f"human or metric for the score '{stem}'", holds=good)

    def _check_names(self, key: str, names: Any) -> None:
        good = isinstance(names, list) and all(isinstance(n, str) and n for n in names)
        self._need(key, "a list of names, each once", holds=good and len(set(names)) == len(names))

    def texts(self, key: str, n: int, default: Texts | None) -> Texts | None:
        """Return a text or nothing per segment: those of the file, else the default."""
        texts = self.facts.get(key, default)
        good = texts is None or (isinstance(texts, list | tuple) and len(texts) == n)
        good = good and all(isinstance(text, str | None) for text in texts or ())
        self._need(key, f"a list of {n} texts", holds=good)
        return None if texts is None else tuple(texts)

    def segment_ids(self, n: int) -> tuple[str, ...]:
        """Return the ids of the segments: those of the file, else 0, 1, ..."""
        ids = self.facts.get("segments", [str(i) for i in range(n)])
        self._need("segments", f"a list of {n} names", holds=len(ids) == n)
        return tuple(ids)

    def score(self, stem: str) -> dict[str, Any]:
        """Return what the file says of one score."""
        about: dict[str, Any] = self.facts.get("scores", {}).get(stem, {})
        return about


def write(es: EvalSet, folder: Path, lp: str | None = None, *, overwrite: bool = False) -> None:
    """Write a set into a folder, which may hold other language pairs already.

    All files are made in a temporary folder first: a failure leaves nothing behind.
    """
    lp = lp or es.language_pair
    if lp is None:
        raise UsageError("an mt-metrics-eval folder needs a language pair: say lp=SRC-TGT")
    _check_name(lp, "language pair", dots=False)
    there = _files_of(folder, lp)
    if there and not overwrite:
        raise UsageError(f"{there[0]} exists already; overwrite=True overwrites it")
    files.make_folder(folder.parent)
    with tempfile.TemporaryDirectory(prefix=".steelyard-", dir=folder.parent) as temporary:
        root = Path(temporary)
        _Writer(es, root, lp).write()
        made = sorted(path for path in root.rglob("*") if path.is_file())
        targets = [folder / path.relative_to(root) for path in made]
        for target in targets:
            files.make_folder(target.parent)
        for stale in there:
            stale.unlink()
        for path, target in zip(made, targets, strict=True):
            shutil.move(path, target)


def _files_of(folder: Path, lp: str) -> list[Path]:
    """List what a folder holds of one language pair."""
    paths = [folder / "documents" / f"{lp}.docs", Sidecar.of(folder, lp).path]
    for part in ("sources", "references", "human-scores"):
        parts = (folder / part).glob("*") if (folder / part).is_dir() else ()
        paths += [path for path in parts if path.name.startswith(f"{lp}.")]
    for part in ("system-outputs", "metric-scores"):
        inner = folder / part / lp
        paths += sorted(inner.iterdir()) if inner.is_dir() else []
    return sorted(path for path in paths if path.is_file())


def _check_name(name: str, what: str, *, dots: bool = True) -> None:
    """Refuse names that can't be file names, or that would leave the folder."""
    bad = not name or name.startswith(".") or len(name.encode("utf-8", "replace")) > 200
    if bad or re.search(r"[/\\\x00-\x1f]", name) or (not dots and "." in name):
        raise UsageError(f"{what} {name!r} can't be a file name of an mt-metrics-eval folder")


def _check_line(name: str, what: str) -> None:
    """Refuse names that would break a line or a field."""
    if not name or re.search(r"[\t\n]", name):
        raise UsageError(f"{what} {name!r} can't stand in a line of an mt-metrics-eval folder")


class _Writer:
    def __init__(self, es: EvalSet, root: Path, lp: str) -> None:
        self.es, self.root, self.lp = es, root, lp
        self.extra = Sidecar.of(root, lp)
        self.stems: set[str] = set()
        self.named: set[str] = set()  # systems that some file names

    def write(self) -> None:
        for system in self.es.systems:
            _check_line(system, "system")
        self._documents()
        seg = self.es.segments
        if seg.sources is not None:
            self._texts(self.root / "sources", self.lp, seg.sources, "sources")
        for name, texts in seg.references.items():
            _check_name(name, "reference", dots=False)
            if "-" in name or name in ("all", "src"):
                raise UsageError(f"reference '{name}': the name may not hold '-' or be all or src")
            self._texts(self.root / "references", f"{self.lp}.{name}", texts, "references")
        self._outputs()
        for name, table in self.es.scores.items():
            self._scores(name, table)
        for name, ratings in self.es.ratings.items():
            self._ratings(name, ratings)
        if self.named != set(self.es.systems):
            self.extra.facts["systems"] = list(self.es.systems)
        self.extra.write()

    def _outputs(self) -> None:
        if not self.es.outputs:
            return
        self.named = set(self.es.systems)
        blank: Texts = (None,) * self.es.n_segments
        for system in self.es.systems:
            _check_name(system, "system")
            target = self.root / "system-outputs" / self.lp
            self._texts(target, system, self.es.outputs.get(system, blank), "system-outputs")
        filled = [n for n, t in self.es.outputs.items() if any(text is not None for text in t)]
        if filled != list(self.es.outputs):
            self.extra.facts["outputs"] = list(self.es.outputs)

    def _documents(self) -> None:
        seg = self.es.segments
        if seg.ids != tuple(str(i) for i in range(len(seg))):
            self.extra.facts["segments"] = list(seg.ids)
        unknown: Texts = (None,) * len(seg)
        domains, documents = seg.domains or unknown, seg.documents or unknown
        named = {*domains, *documents, *((None,) if None in (seg.domains, seg.documents) else ())}
        if any(name is None or _word(name) != name for name in named):
            self.extra.facts |= {"domains": seg.domains, "documents": seg.documents}
        rows = (f"{_word(a)}\t{_word(b)}\n" for a, b in zip(domains, documents, strict=True))
        self._file(self.root / "documents" / f"{self.lp}.docs", rows)

    def _file(self, path: Path, rows: Iterable[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, "".join(rows))

    def _texts(self, folder: Path, stem: str, texts: Texts, part: str) -> None:
        """Write plain lines, or JSON where a text would not come back as it is."""
        if all(t is None or _survives(t) for t in texts):
            rows = (f"{NO_TRANSLATION if t is None else t}\n" for t in texts)
            self._file(folder / f"{stem}.txt", rows)
            return
        if NO_TRANSLATION in texts:
            self.extra.facts["null_texts"] = True
        objects = (dumps({TEXT_FIELDS[part]: t}, indent=None) + "\n" for t in texts)
        self._file(folder / f"{stem}.jsonl", objects)

    def _scores(self, name: str, table: ScoreTable) -> None:
        _check_name(name, "score")
        stem, about = self._stem(name, table)
        if table.kind == "human":
            base = self.root / "human-scores" / f"{self.lp}.{stem}"
        else:
            base = self.root / "metric-scores" / self.lp / stem
        empty = []
        for level, attribute in _LEVELS.items():
            values = getattr(table, attribute)
            if values is None:
                continue
            if np.isnan(values).all():
                # Without a file, a level is unknown; segments are so wherever another level is.
                if level != "seg" or table.system_scores is None:
                    empty.append(level)
                continue
            groups = self.es.domains if level == "domain" else None
            self._level(base, level, values[:, None] if level == "sys" else values, groups)
        if empty:
            about |= {"levels": empty, "kind": table.kind}
        if about:
            self.extra.facts.setdefault("scores", {})[stem] = about

    def _stem(self, name: str, table: ScoreTable) -> tuple[str, dict[str, Any]]:
        """Give the file's name, and what of the table it does not tell."""
        about: dict[str, Any] = {} if table.higher_is_better else {"higher_is_better": False}
        uses: tuple[str, ...] = ()
        stem, ending = name, ""
        if table.kind == "metric":
            uses = roles.uses(name, self.es.references)
            if not uses:
                ending = "-" + (".".join(u for u in table.uses if u != "src") or "src")
                uses = roles.uses(name + ending, self.es.references)
        while stem + ending in self.stems or (ending and stem + ending in self.es.scores):
            stem += "~"
        self.stems.add(stem + ending)
        if stem + ending != name:
            about["name"] = name
        if uses != table.uses:
            about["uses"] = list(table.uses)
        return stem + ending, about

    def _level(
        self, base: Path, level: str, values: Floats, groups: tuple[str, ...] | None = None
    ) -> None:
        rows = []
        for group in groups or ():
            _check_line(group, "domain")
        for system, row in zip(self.es.systems, values.tolist(), strict=True):
            if np.isnan(row).all():
                continue
            self.named.add(system)
            for i, value in enumerate(row):
                group = "" if groups is None else f"{groups[i]}\t"
                rows.append(f"{group}{system}\t{'None' if np.isnan(value) else repr(value)}\n")
        self._file(base.with_name(f"{base.name}.{level}.score"), rows)

    def _ratings(self, name: str, ratings: Ratings) -> None:
        """Write one file per layer: the n-th rating of a cell stands in the n-th file."""
        _check_name(name, "ratings")
        seen: Counter[tuple[str, str]] = Counter()
        layers: list[dict[tuple[str, str], int]] = [{}]
        for row in range(len(ratings)):
            system = ratings.systems[ratings.system[row]]
            cell = (system, ratings.segments[ratings.segment[row]])
            layer = seen[cell]
            seen[cell] += 1
            if layer == len(layers):
                layers.append({})
            layers[layer][cell] = row
        for number, places in enumerate(layers, 1):
            stem = name if number == 1 else f"{name}.{number:03d}"
            while number > 1 and stem in self.es.ratings:
                stem += "~"
            if owner_of(stem, self.es.human) != name or not places:
                self.extra.facts.setdefault("ratings", {})[stem] = name
            if places:
                rows = (
                    _rating_line(system, ratings, places.get((system, segment)))
                    for system in sorted({system for system, _ in places})
                    for segment in self.es.segments.ids
                )
                self._file(self.root / "human-scores" / f"{self.lp}.{stem}.seg.rating", rows)


def _rating_line(system: str, ratings: Ratings, row: int | None) -> str:
    if row is None:
        return f"{system}\tNone\n"
    rater = ratings.raters[ratings.rater[row]]
    value = errors.to_dict(ratings, row)
    if re.search(r"[\t\n\r]", rater):
        return f"{system}\t{dumps({**value, 'rater': rater}, indent=None)}\n"
    return f"{system}\t{dumps(value, indent=None)}\t{rater}\n"


def _word(text: str | None) -> str:
    return re.sub(r"\s+", "_", text) if text else "unknown"


def _survives(text: str) -> bool:
    """Tell whether a text comes back from a line as it is."""
    return "\n" not in text and text == text.rstrip() and text != NO_TRANSLATION
