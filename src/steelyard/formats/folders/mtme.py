"""mt-metrics-eval folders: one folder per test set, files of plain lines per language pair.

``documents/LP.docs``, ``sources/LP.txt``, ``references/LP.NAME.txt``,
``system-outputs/LP/SYS.txt``, ``human-scores/LP.NAME.LEVEL.score`` and ``.seg.rating``,
``metric-scores/LP/NAME-REF.LEVEL.score``; texts also as ``.jsonl``. Segments have no ids there:
they are numbered from 0. What the layout has no place for (other ids, scores that are better when
lower) stands in ``LP.steelyard.json``, if there is any.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from steelyard.core import provenance
from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet, Kind, ScoreTable
from steelyard.data.judgements import Floats, Ratings, encode
from steelyard.data.segments import Index, Segments, Texts
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.cells import fast_numbers, parse_number
from steelyard.formats.folders import mtme_writer
from steelyard.formats.folders.mtme_writer import NO_TRANSLATION, TEXT_FIELDS, Sidecar, owner_of
from steelyard.formats.format import SetFormat
from steelyard.formats.judged import builder, errors
from steelyard.formats.judged.wmt import rating_lines

Level = Literal["sys", "domain", "doc", "seg"]
LEVELS: tuple[Level, ...] = ("sys", "domain", "doc", "seg")
_PARTS = ("documents", "sources", "system-outputs", "human-scores", "metric-scores")


def recognise(path: Path) -> bool:
    """Tell whether a folder is laid out like this."""
    return path.is_dir() and any((path / part).is_dir() for part in _PARTS)


def language_pairs(folder: Path) -> list[str]:
    """List the language pairs of which a folder holds anything."""
    found = {p.name.removesuffix(".docs") for p in folder.glob("documents/*.docs")}
    found |= {p.name.rpartition(".")[0] for p in folder.glob("sources/*.*")}
    for part in ("system-outputs", "metric-scores"):
        found |= {p.name for p in folder.glob(f"{part}/*") if p.is_dir()}
    return sorted(name for name in found if name)


def read(folder: Path, lp: str | None = None) -> EvalSet:
    """Read one language pair of a folder, with all scores, ratings and texts."""
    pairs = language_pairs(folder)
    if lp is None:
        if len(pairs) != 1:
            shown = ", ".join(pairs) or "none"
            raise UsageError(f"{folder}: choose a language pair with lp=...; found: {shown}")
        lp = pairs[0]
    if lp not in pairs:
        raise UsageError(f"{folder}: no language pair '{lp}'; {hint(lp, pairs)}")
    return _Reader(folder, lp).read()


@dataclass(frozen=True)
class _ScoreFile:
    path: Path
    name: str
    level: Level
    kind: Kind


class _Reader:
    """The state of reading one language pair: what was found so far, and in which files."""

    def __init__(self, folder: Path, lp: str) -> None:
        self.folder, self.lp = folder, lp
        self.used: list[Path] = []
        self.notes: list[str] = []
        self.extra = Sidecar.read(folder, lp)
        if self.extra.facts:
            self.used.append(self.extra.path)

    def read(self) -> EvalSet:
        outputs = self._outputs()
        score_files = self._score_files()
        segments = self._segments(outputs, score_files)
        self.segments = segments
        self.documents = list(dict.fromkeys(d for d in segments.documents or () if d is not None))
        self.domains = sorted({d for d in segments.domains or () if d is not None})
        self.systems = self.extra.names("systems") or (
            sorted(outputs) if outputs else self._systems_of(score_files)
        )
        scores = self._scores(score_files)
        ratings = self._ratings([n for n, table in scores.items() if table.kind == "human"])
        named = self.extra.names("outputs")
        outputs = {
            name: texts
            for name, texts in outputs.items()
            if (any(t is not None for t in texts) if named is None else name in named)
        }
        digest = provenance.sha256(self.used, self.folder)
        return EvalSet(
            tuple(self.systems),
            segments,
            scores,
            outputs,
            ratings,
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
            return tuple(None if row == NO_TRANSLATION else row.rstrip() for row in rows)
        texts: list[str | None] = []
        for line, row in enumerate(rows, 1):
            value = files.parse_json(row, path, line)
            field = TEXT_FIELDS[part]
            text = value.get(field) if isinstance(value, dict) else value
            if not (isinstance(value, dict) and field in value) or not (
                text is None or isinstance(text, str)
            ):
                raise InputError(f"expected an object with a text '{field}'", path=path, line=line)
            literal = self.extra.facts.get("null_texts", False)
            texts.append(None if text == NO_TRANSLATION and not literal else text)
        return tuple(texts)

    def _text_files(self, pattern: str) -> dict[str, Path]:
        """Find text files by stem; where both kinds exist, the plain one counts."""
        found: dict[str, Path] = {}
        for suffix in (".jsonl", ".txt"):
            for path in sorted(self.folder.glob(pattern + suffix)):
                found[path.name.removesuffix(suffix)] = path
        return found

    def _outputs(self) -> dict[str, Texts]:
        found = self._text_files(f"system-outputs/{literal(self.lp)}/*")
        return {name: self._texts(path, "system-outputs") for name, path in sorted(found.items())}

    def _score_files(self) -> list[_ScoreFile]:
        found = []
        for path in sorted((self.folder / "human-scores").glob(f"{literal(self.lp)}.*.score")):
            name, _, level = path.name.removesuffix(".score").rpartition(".")
            found.append((path, name.removeprefix(f"{self.lp}."), level, "human"))
        for path in sorted((self.folder / "metric-scores" / self.lp).glob("*.score")):
            name, _, level = path.name.removesuffix(".score").rpartition(".")
            found.append((path, name, level, "metric"))
        for path, name, level, _ in found:
            if level not in LEVELS or not name:
                expected = f"expected a name that ends in .LEVEL.score, LEVEL one of {LEVELS}"
                raise InputError(expected, path=path)
        return [_ScoreFile(p, n, lv, k) for p, n, lv, k in found]  # type: ignore[arg-type]

    def _segments(self, outputs: dict[str, Texts], score_files: list[_ScoreFile]) -> Segments:
        path = self.folder / "documents" / f"{self.lp}.docs"
        domains, documents = self._documents(path) if path.is_file() else (None, None)
        found = self._text_files(f"sources/{literal(self.lp)}")
        sources = self._texts(next(iter(found.values())), "sources") if found else None
        references = {}
        for stem, file in self._text_files(f"references/{literal(self.lp)}.*").items():
            references[stem.removeprefix(f"{self.lp}.")] = self._texts(file, "references")
        counts = {"documents": documents, "source": sources}
        counts |= {f"reference {name}": texts for name, texts in references.items()}
        counts |= {f"output of {name}": texts for name, texts in outputs.items()}
        lengths = {what: len(texts) for what, texts in counts.items() if texts is not None}
        n = next(iter(lengths.values()), None)
        for what, length in lengths.items():
            if length != n:
                first = next(iter(lengths))
                raise InputError(
                    f"{self.lp}: {length} lines in the {what}, {n} in the {first}", path=self.folder
                )
        if n is None:
            n = self._count_segments(score_files)
        if "documents" in self.extra.facts:
            documents = self.extra.texts("documents", n)
        if "domains" in self.extra.facts:
            domains = self.extra.texts("domains", n)
        return Segments(self.extra.segment_ids(n), documents, domains, sources, references)

    def _documents(self, path: Path) -> tuple[Texts, Texts]:
        domains: list[str | None] = []
        documents: list[str | None] = []
        for line, row in enumerate(files.lines(self._text(path)), 1):
            fields = _fields(row)
            if len(fields) != 2:
                raise InputError("expected DOMAIN and DOCUMENT", path=path, line=line)
            domains.append(fields[0])
            documents.append(fields[1])
        ended: set[str | None] = set()
        for line, (name, before) in enumerate(zip(documents, [None, *documents], strict=False), 1):
            if name != before:
                if name in ended and "documents" not in self.extra.facts:
                    message = f"document '{name}' is torn apart; its segments must be consecutive"
                    raise InputError(message, path=path, line=line)
                ended.add(before)
        return tuple(domains), tuple(documents)

    def _count_segments(self, score_files: list[_ScoreFile]) -> int:
        for file in score_files:
            if file.level == "seg":
                blocks = self._blocks(file)
                return max((len(values) for values in blocks.values()), default=0)
        return 0

    def _systems_of(self, score_files: list[_ScoreFile]) -> list[str]:
        return sorted({system for file in score_files for system in self._blocks(file)})

    def _blocks(self, file: _ScoreFile) -> dict[str, Floats]:
        """Read a score file into the scores of each system, in the order of the lines."""
        width = 3 if file.level == "domain" else 2
        columns = _columns(self._text(file.path), width, file.path)
        values = fast_numbers(columns[-1])
        if values is None:
            values = self._careful(file.path, columns[-1])
        names, codes = encode(columns[-2])
        rows = np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])
        blocks = dict(zip(names, rows, strict=True))
        if file.level == "domain":
            blocks = self._in_domain_order(file, columns[0], blocks)
        return {system: values[at] for system, at in blocks.items()}

    def _careful(self, path: Path, cells: Sequence[str]) -> Floats:
        values = np.empty(len(cells))
        for row, cell in enumerate(cells):
            number = parse_number(cell)
            if number is None or np.isinf(number):
                message = f"'{cell[:40]}' is not a finite number or None"
                raise InputError(message, path=path, line=row + 1)
            values[row] = number
        return values

    def _in_domain_order(
        self, file: _ScoreFile, domains: Sequence[str], blocks: dict[str, Index]
    ) -> dict[str, Index]:
        for system, rows in blocks.items():
            named = sorted(domains[row] for row in rows)
            if named != self.domains:
                raise InputError(
                    f"system '{system}' has scores of domains {', '.join(named)}; "
                    f"expected {', '.join(self.domains)}",
                    path=file.path,
                    line=int(rows[0]) + 1,
                )
        return {n: np.array(sorted(r, key=domains.__getitem__)) for n, r in blocks.items()}

    def _scores(self, score_files: list[_ScoreFile]) -> dict[str, ScoreTable]:
        n, s = len(self.systems), len(self.segments)
        place = {system: i for i, system in enumerate(self.systems)}
        widths = {"sys": 1, "domain": len(self.domains), "doc": len(self.documents), "seg": s}
        found: dict[tuple[str, Kind], dict[Level, Floats]] = {}
        for file in score_files:
            width = widths[file.level]
            array = np.full((n, width), np.nan)
            for system, values in self._blocks(file).items():
                if system not in place:
                    message = f"unknown system '{system}'; {hint(system, place)}"
                    raise InputError(message, path=file.path)
                if len(values) != width:
                    message = f"{len(values)} scores of system '{system}', expected {width}"
                    raise InputError(message, path=file.path)
                array[place[system]] = values
            found.setdefault((file.name, file.kind), {})[file.level] = array
        self._add_empty_levels(found, n, widths)
        tables: dict[str, ScoreTable] = {}
        for key, levels in found.items():
            name, table = self._table(n, s, key, levels)
            if name in tables:
                message = f"two scores are named '{name}' (a human score and a metric?)"
                raise InputError(message, path=self.folder)
            tables[name] = table
        return tables

    def _add_empty_levels(
        self,
        found: dict[tuple[str, Kind], dict[Level, Floats]],
        n: int,
        widths: dict[str, int],
    ) -> None:
        """Add the levels that have no file because they have no value."""
        for stem, about in self.extra.facts.get("scores", {}).items():
            for level in about.get("levels", ()):
                if level not in LEVELS:
                    path = self.extra.path
                    raise InputError(f"unknown level '{level}' of '{stem}'", path=path)
                kind = about.get("kind", "metric")
                empty = np.full((n, widths[level]), np.nan)
                found.setdefault((stem, kind), {}).setdefault(level, empty)

    def _table(
        self, n: int, s: int, key: tuple[str, Kind], levels: dict[Level, Floats]
    ) -> tuple[str, ScoreTable]:
        stem, kind = key
        about = self.extra.score(stem)
        system_scores = levels.get("sys")
        table = ScoreTable(
            levels.get("seg", np.full((n, s), np.nan)),
            kind,
            higher_is_better=about.get("higher_is_better", True),
            uses=(
                tuple(about["uses"])
                if "uses" in about
                else roles.uses(stem, tuple(self.segments.references))
                if kind == "metric"
                else ()
            ),
            system_scores=None if system_scores is None else system_scores[:, 0],
            domain_scores=levels.get("domain"),
            document_scores=levels.get("doc"),
            direction_given="higher_is_better" in about,
        )
        return str(about.get("name", stem)), table

    def _ratings(self, human: list[str]) -> dict[str, Ratings]:
        """Read the rating files; ``mqm.rater1`` belongs to the score ``mqm`` if there is one."""
        rows: dict[str, list[builder.Rating]] = {}
        owners: dict[str, str] = self.extra.facts.get("ratings", {})
        pattern = f"{literal(self.lp)}.*.seg.rating"
        found = {
            path.name.removeprefix(f"{self.lp}.").removesuffix(".seg.rating"): path
            for path in (self.folder / "human-scores").glob(pattern)
        }
        by_owner: dict[str, dict[str, list[builder.Rating]]] = {}
        for name, path in sorted(found.items()):
            owner = owners.get(name) or owner_of(name, human)
            by_owner.setdefault(owner, {})[name] = list(self._rating_rows(path, name))
        for owner, parts in by_owner.items():
            own = parts if owners.keys() & parts.keys() else self._once(owner, parts)
            rows[owner] = [row for part in own.values() for row in part]
        for owner in owners.values():
            rows.setdefault(owner, [])
        told = set(owners.values())
        return {n: builder.ratings(own) for n, own in rows.items() if own or n in told}

    def _once(
        self, owner: str, parts: dict[str, list[builder.Rating]]
    ) -> dict[str, list[builder.Rating]]:
        """Leave out what stands twice: ratings of single raters, and the same put together."""
        merged = f"{owner}.merged"
        if merged not in parts or len(parts) == 1:
            return parts
        cells = {n: {(row.system, row.segment) for row in own} for n, own in parts.items()}
        single = set().union(*(own for n, own in cells.items() if n != merged))
        # Single raters are better known, unless the file of all names them or has more.
        apart = cells[merged] <= single and any(row.rater == merged for row in parts[merged])
        kept = {n: own for n, own in parts.items() if (n == merged) != apart}
        left = ", ".join(name for name in parts if name not in kept)
        self.notes.append(
            f"{self.folder}: ratings '{owner}' are those of {', '.join(kept)}; {left} would count "
            "them twice"
        )
        return kept

    def _rating_rows(self, path: Path, name: str) -> Iterable[builder.Rating]:
        seen: dict[str, int] = {}
        known = set(self.systems)
        for line, system, place, value, rater in rating_lines(files.lines(self._text(path)), path):
            if system not in known:
                message = f"unknown system '{system}'; {hint(system, known)}"
                raise InputError(message, path=path, line=line)
            seen[system] = place
            if place >= len(self.segments):
                message = f"more than {len(self.segments)} ratings of system '{system}'"
                raise InputError(message, path=path, line=line)
            if value is not None:
                names = (system, self.segments.ids[place], name if rater is None else rater)
                yield errors.parse(value, names, path, line)
        for system, last in seen.items():
            if last + 1 != len(self.segments):
                message = f"{last + 1} ratings of '{system}', expected {len(self.segments)}"
                raise InputError(message, path=path)


def _fields(row: str) -> list[str]:
    """Split at tabs if there are any, so that names may hold blanks; else at any white space."""
    return row.split("\t") if "\t" in row else row.split()


def _columns(text: str, width: int, path: Path) -> list[Sequence[str]]:
    """Split lines into columns; every line must have ``width`` fields."""
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


def literal(name: str) -> str:
    """Make a language pair safe inside a glob pattern."""
    return re.sub(r"([*?[])", r"[\1]", name)


FORMAT = SetFormat(
    name="mt-metrics-eval",
    gives=EvalSet,
    known_by="folder with documents/, sources/, human-scores/, ...",
    example="wmt23/documents/en-de.docs, wmt23/human-scores/en-de.mqm.seg.score, ...",
    rated=True,
    folder=True,
    recognise=lambda view: recognise(view.path),
    read=lambda view, lp, _where: read(view.path, lp),
    write=mtme_writer.write,
    to="mtme",
    suits=lambda _es, path: path.is_dir() or not files.suffix(path),
)
