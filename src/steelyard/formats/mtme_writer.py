"""Writing mt-metrics-eval folders: the same files that :mod:`steelyard.formats.mtme` reads."""

from __future__ import annotations

import re
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.errors import UsageError
from steelyard.evalset import EvalSet, ScoreTable
from steelyard.formats import files, layout, spans
from steelyard.formats.mtme import NO_TRANSLATION, TEXT_FIELDS, sidecar
from steelyard.judgements import Floats, Ratings
from steelyard.segments import Texts
from steelyard.table import dumps


def write(es: EvalSet, folder: Path, lp: str | None = None, *, overwrite: bool = False) -> None:
    """Write a set into a folder, which may hold other language pairs already.

    All files are made in a temporary folder first: a failure leaves nothing behind.
    """
    lp = lp or es.language_pair
    if lp is None:
        raise UsageError("an mt-metrics-eval folder needs a language pair: say --lp SRC-TGT")
    _check_name(lp, "language pair", allow_dot=False)
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".steelyard-", dir=folder.parent) as temporary:
        root = Path(temporary)
        _Writer(es, root, lp).write()
        made = sorted(path for path in root.rglob("*") if path.is_file())
        targets = [folder / path.relative_to(root) for path in made]
        there = [target for target in targets if target.exists()]
        if there and not overwrite:
            raise UsageError(f"{there[0]} exists already; --force overwrites it")
        for path, target in zip(made, targets, strict=True):
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.move(path, target)


def _check_name(name: str, what: str, *, allow_dot: bool = True) -> None:
    """Refuse names that can't be file names, or that would leave the folder."""
    bad = not name or name.startswith(".") or len(name.encode()) > 200
    if bad or re.search(r"[/\\\x00-\x1f]", name) or (not allow_dot and "." in name):
        raise UsageError(f"{what} {name!r} can't be a file name of an mt-metrics-eval folder")


class _Writer:
    def __init__(self, es: EvalSet, root: Path, lp: str) -> None:
        self.es, self.root, self.lp = es, root, lp
        self.extra: dict[str, Any] = {}

    def write(self) -> None:
        self._documents()
        seg = self.es.segments
        if seg.sources is not None:
            self._texts(self.root / "sources", self.lp, seg.sources, "sources")
        for name, texts in seg.references.items():
            _check_name(name, "reference", allow_dot=False)
            if "-" in name or name in ("all", "src"):
                raise UsageError(f"reference '{name}': the name may not hold '-' or be all or src")
            self._texts(self.root / "references", f"{self.lp}.{name}", texts, "references")
        if self.es.outputs:
            blank: Texts = (None,) * self.es.n_segments
            for system in self.es.systems:
                texts = self.es.outputs.get(system, blank)
                _check_name(system, "system")
                place = self.root / "system-outputs" / self.lp
                self._texts(place, system, texts, "system-outputs")
        for name, table in self.es.scores.items():
            self._scores(name, table)
        for name, ratings in self.es.ratings.items():
            self._ratings(name, ratings)
        if self.extra:
            files.write_text(sidecar(self.root, self.lp), dumps(self.extra) + "\n")

    def _documents(self) -> None:
        seg = self.es.segments
        if seg.ids != tuple(str(i) for i in range(len(seg))):
            self.extra["segments"] = list(seg.ids)
        domains, documents = seg.domains, seg.documents
        unknown: Texts = (None,) * len(seg)
        named = {*(domains or unknown), *(documents or unknown)}
        if any(name is None or _word(name) != name for name in named):
            self.extra |= {"domains": domains, "documents": documents}
        rows = (
            f"{_word(domain)}\t{_word(document)}\n"
            for domain, document in zip(domains or unknown, documents or unknown, strict=True)
        )
        self._file(self.root / "documents" / f"{self.lp}.docs", rows)

    def _file(self, path: Path, rows: Iterable[str]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        files.write_text(path, "".join(rows))

    def _texts(self, folder: Path, stem: str, texts: Texts, part: str) -> None:
        """Write plain lines, or JSON where a text would not come back as it is."""
        if all(t is None or _survives(t) for t in texts):
            rows = (f"{NO_TRANSLATION if t is None else t}\n" for t in texts)
            self._file(folder / f"{stem}.txt", rows)
        else:
            objects = (dumps({TEXT_FIELDS[part]: t}, indent=None) + "\n" for t in texts)
            self._file(folder / f"{stem}.jsonl", objects)

    def _scores(self, name: str, table: ScoreTable) -> None:
        stem, about = self._stem(name, table)
        if about:
            self.extra.setdefault("scores", {})[stem] = about
        if table.kind == "human":
            base = self.root / "human-scores" / f"{self.lp}.{stem}"
        else:
            base = self.root / "metric-scores" / self.lp / stem
        _check_name(base.name, "score")
        if table.has_segments or table.system_scores is None:
            self._level(base, "seg", table.values)
        if table.system_scores is not None:
            self._level(base, "sys", table.system_scores[:, None])
        if table.document_scores is not None:
            self._level(base, "doc", table.document_scores)
        if table.domain_scores is not None:
            self._level(base, "domain", table.domain_scores, self.es.domains)

    def _stem(self, name: str, table: ScoreTable) -> tuple[str, dict[str, Any]]:
        """Give the file's name, and what of the table it does not tell."""
        about: dict[str, Any] = {} if table.higher_is_better else {"higher_is_better": False}
        stem = name
        if table.kind == "metric":
            told = layout.uses(name, self.es.references)
            if not told:
                stem = f"{name}-{'.'.join(u for u in table.uses if u != 'src') or 'src'}"
                about["name"] = name
                told = layout.uses(stem, self.es.references)
            if told != table.uses:
                about["uses"] = list(table.uses)
        elif table.uses:
            about["uses"] = list(table.uses)
        return stem, about

    def _level(
        self, base: Path, level: str, values: Floats, groups: tuple[str, ...] | None = None
    ) -> None:
        rows = []
        for system, row in zip(self.es.systems, values.tolist(), strict=True):
            if "\t" in system or "\n" in system:
                raise UsageError(f"system {system!r}: a tab or line end can't stand in a name here")
            if np.isnan(row).all():
                continue
            for i, value in enumerate(row):
                group = "" if groups is None else f"{groups[i]}\t"
                rows.append(f"{group}{system}\t{'None' if np.isnan(value) else repr(value)}\n")
        self._file(base.with_name(f"{base.name}.{level}.score"), rows)

    def _ratings(self, name: str, ratings: Ratings) -> None:
        """Write one file per layer: the n-th rating of a cell stands in the n-th file."""
        cell = ratings.system.astype(np.int64) * len(ratings.segments) + ratings.segment
        seen: Counter[int] = Counter()
        layers: list[dict[tuple[str, str], int]] = []
        for row, code in enumerate(cell.tolist()):
            layer = seen[code]
            seen[code] += 1
            if layer == len(layers):
                layers.append({})
            system, segment = (
                ratings.systems[ratings.system[row]],
                ratings.segments[ratings.segment[row]],
            )
            layers[layer][system, segment] = row
        for number, places in enumerate(layers):
            stem = name if number == 0 else f"{name}.{number + 1}"
            rated = sorted({system for system, _ in places})
            rows = (
                _rating_line(system, ratings, places.get((system, segment)))
                for system in rated
                for segment in self.es.segments.ids
            )
            self._file(self.root / "human-scores" / f"{self.lp}.{stem}.seg.rating", rows)


def _rating_line(system: str, ratings: Ratings, row: int | None) -> str:
    if row is None:
        return f"{system}\tNone\n"
    rater = ratings.raters[ratings.rater[row]]
    if re.search(r"[\t\n]", rater):
        raise UsageError(f"rater {rater!r}: a tab or line end can't stand in a name here")
    return f"{system}\t{dumps(spans.to_dict(ratings, row), indent=None)}\t{rater}\n"


def _word(text: str | None) -> str:
    return re.sub(r"\s+", "_", text) if text else "unknown"


def _survives(text: str) -> bool:
    """Tell whether a text comes back from a line as it is."""
    marked = text.startswith("\ufeff")  # would be taken for a byte order mark on the first line
    return "\n" not in text and text == text.rstrip() and text != NO_TRANSLATION and not marked
