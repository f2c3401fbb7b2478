"""mt-metrics-eval folders: one folder per test set, files of plain lines per language pair.

``documents/LP.docs``, ``sources/LP.txt``, ``references/LP.NAME.txt``,
``system-outputs/LP/SYS.txt``, ``human-scores/LP.NAME.LEVEL.score`` and ``.seg.rating``,
``metric-scores/LP/NAME-REF.LEVEL.score``; texts also as ``.jsonl``. Segments have no ids there:
they are numbered from 0.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple, get_args

import numpy as np

from steelyard.core import provenance
from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, Kind, ScoreTable
from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.data.segments import Segments, Texts
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import errors
from steelyard.formats.judged.builder import Rating, ratings
from steelyard.formats.judged.wmt import rating_lines
from steelyard.formats.rawtable import RawTable

Level = Literal["sys", "domain", "doc", "seg"]
LEVELS: tuple[Level, ...] = get_args(Level)
_NO_TRANSLATION = "[No translation supplied]"
_TEXT_FIELDS = {"sources": "source", "references": "target", "system-outputs": "hypothesis"}
_PARTS = ("documents", "sources", "system-outputs", "human-scores", "metric-scores")


def recognise(path: Path) -> bool:
    """Tell whether a folder is laid out like this."""
    return path.is_dir() and any((path / part).is_dir() for part in _PARTS)


def language_pairs(folder: Path) -> list[str]:
    """List the language pairs of which a folder holds anything."""
    names = {p.name.removesuffix(".docs") for p in folder.glob("documents/*.docs")}
    names |= {p.name.rpartition(".")[0] for p in folder.glob("sources/*.*")}
    for part in ("system-outputs", "metric-scores"):
        names |= {p.name for p in folder.glob(f"{part}/*") if p.is_dir()}
    return sorted(filter(None, names))


def read(folder: Path, lp: str | None = None) -> EvalSet:
    """Read one language pair of a folder, with all scores, ratings and texts."""
    pairs = language_pairs(folder)
    if lp is None and len(pairs) != 1:
        shown = ", ".join(pairs) or "none"
        raise UsageError(f"{folder}: choose a language pair with lp=...; found: {shown}")
    lp = lp or pairs[0]
    if lp not in pairs:
        raise UsageError(f"{folder}: no language pair '{lp}'; {hint(lp, pairs)}")
    return _Reader(folder, lp).read()


class _ScoreFile(NamedTuple):
    """Scores by system, in the order of the lines; of domains, by the names of these."""

    path: Path
    name: str
    level: Level
    kind: Kind
    scores: dict[str, Floats]
    domains: dict[str, list[str]]


class _Reader:
    def __init__(self, folder: Path, lp: str) -> None:
        self.folder, self.lp = folder, lp
        self.pattern = re.sub(r"([*?[])", r"[\1]", lp)  # matches itself alone in a glob
        self.used: list[Path] = []
        self.notes: list[str] = []

    def read(self) -> EvalSet:
        outputs = {
            name: self._texts(path, "system-outputs")
            for name, path in sorted(self._text_files(f"system-outputs/{self.pattern}/*").items())
        }
        score_files = self._score_files()
        self.segments = self._segments(outputs, score_files)
        in_files = outputs or {system for file in score_files for system in file.scores}
        self.systems = sorted(in_files)
        scores = self._scores(score_files)
        human = [name for name, table in scores.items() if table.kind == "human"]
        filled = {n: texts for n, texts in outputs.items() if any(t is not None for t in texts)}
        ratings_of = self._ratings(human)
        digest = provenance.sha256(self.used, self.folder)
        return EvalSet(
            tuple(self.systems),
            self.segments,
            scores,
            filled,
            ratings_of,
            name=self.folder.resolve().name,
            language_pair=self.lp,
            inputs=(InputFile(str(self.folder), "mt-metrics-eval", digest),),
            notes=tuple(self.notes),
        )

    def _text(self, path: Path) -> str:
        self.used.append(path)
        return files.read_text(path)

    def _texts(self, path: Path, part: str) -> Texts:
        """Read one file of texts: a line each, or a JSON object each."""
        rows = files.lines(self._text(path))
        if path.suffix == ".txt":
            return tuple(None if row == _NO_TRANSLATION else row.rstrip() for row in rows)
        field, texts = _TEXT_FIELDS[part], list[str | None]()
        for line, row in enumerate(rows, 1):
            value = files.parse_json(row, path, line)
            if not isinstance(value, dict) or not isinstance(value.get(field, 0), str | None):
                raise InputError(f"expected an object with a text '{field}'", path=path, line=line)
            texts.append(None if value[field] == _NO_TRANSLATION else value[field])
        return tuple(texts)

    def _text_files(self, pattern: str) -> dict[str, Path]:
        """Return text files by stem; where both kinds exist, the plain one counts."""
        return {
            path.name.removesuffix(suffix): path
            for suffix in (".jsonl", ".txt")
            for path in sorted(self.folder.glob(pattern + suffix))
        }

    def _score_files(self) -> list[_ScoreFile]:
        human = sorted((self.folder / "human-scores").glob(f"{self.pattern}.*.score"))
        metrics = sorted((self.folder / "metric-scores" / self.lp).glob("*.score"))
        kinds: list[tuple[Path, Kind]]
        kinds = [*((path, "human") for path in human), *((path, "metric") for path in metrics)]
        return [self._score_file(path, kind) for path, kind in kinds]

    def _score_file(self, path: Path, kind: Kind) -> _ScoreFile:
        of_pair = path.name.removeprefix(f"{self.lp}.") if kind == "human" else path.name
        name, _, ending = of_pair.removesuffix(".score").rpartition(".")
        level = next((level for level in LEVELS if level == ending), None)
        if level is None or not name:
            expected = f"expected a name that ends in .LEVEL.score, LEVEL one of {LEVELS}"
            raise InputError(expected, path=path)
        *domains, of_system, cells = _columns(self._text(path), 3 if level == "domain" else 2, path)
        values = RawTable(path, {"score": cells}, len(cells)).numbers("score", optional=False)
        systems, codes = encode(of_system)
        order = np.lexsort([*map(np.array, domains), codes])
        rows = np.split(order, np.cumsum(np.bincount(codes))[:-1])
        scores = {system: values[at] for system, at in zip(systems, rows, strict=True)}
        named = {
            system: [column[row] for row in at]
            for column in domains
            for system, at in zip(systems, rows, strict=True)
        }
        return _ScoreFile(path, name, level, kind, scores, named)

    def _segments(self, outputs: dict[str, Texts], score_files: list[_ScoreFile]) -> Segments:
        path = self.folder / "documents" / f"{self.lp}.docs"
        domains, documents = self._documents(path) if path.is_file() else (None, None)
        source_files = self._text_files(f"sources/{self.pattern}").values()
        sources = next((self._texts(file, "sources") for file in source_files), None)
        references = {
            stem.removeprefix(f"{self.lp}."): self._texts(file, "references")
            for stem, file in self._text_files(f"references/{self.pattern}.*").items()
        }
        texts = {"documents": documents, "source": sources}
        texts |= {f"reference {name}": column for name, column in references.items()}
        texts |= {f"output of {name}": column for name, column in outputs.items()}
        lengths = {what: len(column) for what, column in texts.items() if column is not None}
        for what, length in lengths.items():
            first, n = next(iter(lengths.items()))
            if length != n:
                message = f"{self.lp}: {length} lines in the {what}, {n} in the {first}"
                raise InputError(message, path=self.folder)
        scored = [len(values) for file in score_files if file.level == "seg"
                  for values in file.scores.values()]  # fmt: skip
        n = next(iter(lengths.values()), max(scored, default=0))
        return Segments(tuple(map(str, range(n))), documents, domains, sources, references)

    def _documents(self, path: Path) -> tuple[Texts, Texts]:
        rows = [_fields(row) for row in files.lines(self._text(path))]
        ended: set[str] = set()
        before = None
        for line, fields in enumerate(rows, 1):
            if len(fields) != 2:
                raise InputError("expected DOMAIN and DOCUMENT", path=path, line=line)
            if fields[1] != before:
                if fields[1] in ended:
                    message = f"document '{fields[1]}' is torn apart"
                    raise InputError(f"{message}: expected it in one piece", path=path, line=line)
                ended.add(before or "")
                before = fields[1]
        return tuple(domain for domain, _ in rows), tuple(document for _, document in rows)

    def _scores(self, score_files: list[_ScoreFile]) -> dict[str, ScoreTable]:
        n = len(self.systems)
        documents = {name for name in self.segments.documents or () if name is not None}
        domains = sorted({name for name in self.segments.domains or () if name is not None})
        widths: dict[str, int] = {"sys": 1, "domain": len(domains), "doc": len(documents),
                                  "seg": len(self.segments)}  # fmt: skip
        levels: defaultdict[tuple[str, Kind], dict[str, Floats]] = defaultdict(dict)
        index = {system: i for i, system in enumerate(self.systems)}
        for file in score_files:
            width = widths[file.level]
            array = levels[file.name, file.kind][file.level] = np.full((n, width), np.nan)
            for system, values in file.scores.items():
                message = ""
                if system not in index:
                    message = f"unknown system '{system}'; {hint(system, index)}"
                elif file.level == "domain" and file.domains[system] != domains:
                    shown, expected = ", ".join(file.domains[system]), ", ".join(domains)
                    message = f"system '{system}' has domains {shown}; expected {expected}"
                elif len(values) != width:
                    message = f"{len(values)} scores of system '{system}', expected {width}"
                if message:
                    raise InputError(message, path=file.path)
                array[index[system]] = values
        tables: dict[str, ScoreTable] = {}
        for (name, kind), arrays in levels.items():
            if name in tables:
                message = f"two scores are named '{name}' (a human score and a metric?)"
                raise InputError(message, path=self.folder)
            empty = np.full((n, len(self.segments)), np.nan)
            references = tuple(self.segments.references)
            tables[name] = ScoreTable(
                arrays.get("seg", empty),
                kind,
                uses=roles.uses(name, references) if kind == "metric" else (),
                system_scores=arrays["sys"][:, 0] if "sys" in arrays else None,
                domain_scores=arrays.get("domain"),
                document_scores=arrays.get("doc"),
            )
        return tables

    def _ratings(self, human: list[str]) -> dict[str, Ratings]:
        """Read the rating files; ``mqm.rater1`` belongs to the score ``mqm`` if there is one."""
        by_owner: defaultdict[str, dict[str, list[Rating]]] = defaultdict(dict)
        paths = (self.folder / "human-scores").glob(f"{self.pattern}.*.seg.rating")
        by_name = {p.name.removeprefix(f"{self.lp}.").removesuffix(".seg.rating"): p for p in paths}
        for name, path in sorted(by_name.items()):
            owners = [h for h in human if name == h or name.startswith(f"{h}.")]
            by_owner[max(owners, key=len, default=name)][name] = self._rating_rows(path, name)
        rows = {
            owner: [row for part in self._once(owner, parts).values() for row in part]
            for owner, parts in by_owner.items()
        }
        return {owner: ratings(held) for owner, held in rows.items() if held}

    def _once(self, owner: str, parts: dict[str, list[Rating]]) -> dict[str, list[Rating]]:
        """Leave out what stands twice: ratings of single raters, and the same put together."""
        merged = f"{owner}.merged"
        if merged not in parts or len(parts) == 1:
            return parts
        cells = {n: {(row.system, row.segment) for row in rows} for n, rows in parts.items()}
        single = set().union(*(pairs for name, pairs in cells.items() if name != merged))
        # Files of single raters name them, unless the file of all does so or has more.
        apart = cells[merged] <= single and any(row.rater == merged for row in parts[merged])
        kept = {name: rows for name, rows in parts.items() if (name == merged) != apart}
        left = ", ".join(name for name in parts if name not in kept)
        shown = f"{self.folder}: ratings '{owner}' are those of {', '.join(kept)}"
        self.notes.append(f"{shown}; {left} would count them twice")
        return kept

    def _rating_rows(self, path: Path, name: str) -> list[Rating]:
        n, systems, rows = len(self.segments), set(self.systems), list[Rating]()
        counts: Counter[str] = Counter()
        for line, system, number, value, rater in rating_lines(files.lines(self._text(path)), path):
            if system not in systems:
                message = f"unknown system '{system}'; {hint(system, systems)}"
                raise InputError(message, path=path, line=line)
            counts[system] += 1
            if number >= n:
                message = f"more than {n} ratings of system '{system}'"
                raise InputError(message, path=path, line=line)
            if value is not None:
                who = (system, self.segments.ids[number], name if rater is None else rater)
                rows.append(errors.parse(value, who, path, line))
        for system, count in counts.items():
            if count != n:
                raise InputError(f"{count} ratings of '{system}', expected {n}", path=path)
        return rows


def _fields(row: str) -> list[str]:
    """Split at tabs if there are any, so that names may hold blanks; else at any white space."""
    return row.split("\t") if "\t" in row else row.split()


def _columns(text: str, width: int, path: Path) -> list[Sequence[str]]:
    rows = files.lines(text)
    delimiter = "\t" if "\t" in text else " "
    if not rows:
        raise InputError("empty file", path=path)
    if all(row.count(delimiter) == width - 1 for row in rows) and "  " not in text:
        cells = delimiter.join(rows).split(delimiter)
        return [cells[i::width] for i in range(width)]
    table = [_fields(row) for row in rows]
    for line, fields in enumerate(table, 1):
        if len(fields) != width:
            shape = "DOMAIN SYSTEM SCORE" if width == 3 else "SYSTEM SCORE"
            raise InputError(f"{len(fields)} fields, expected {shape}", path=path, line=line)
    return list(zip(*table, strict=True))


FORMAT = SetFormat(
    name="mt-metrics-eval",
    gives=EvalSet,
    known_by="folder with documents/, sources/, human-scores/, ...",
    example="wmt23/documents/en-de.docs, wmt23/human-scores/en-de.mqm.seg.score, ...",
    rated=True,
    folder=True,
    recognise=lambda view: recognise(view.path),
    read=lambda view, lp, _where: read(view.path, lp),
)
