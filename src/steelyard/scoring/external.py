"""Metrics that run elsewhere: a command that reads texts and prints scores, or files of scores.

COMET and LLM judges have environments of their own; here they are a command line. Nothing passes
through a shell.

Metrics that are slow or cost money can keep their scores, by signature and texts, in one SQLite
file in the cache folder, which several processes may use at once. Nothing is kept unless asked for:
nobody can tell from a command line whether the program behind it has changed. A cache that can't be
read or written is never a reason to fail: scores are computed again.
"""

from __future__ import annotations

import hashlib
import json
import re
import shlex
import shutil
import sqlite3
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.core.download import cache_dir
from steelyard.core.errors import InputError, UsageError, hint
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.formats import files, plaintext
from steelyard.formats.cells import parse_number
from steelyard.formats.load import load
from steelyard.scoring.metric import Scored, chosen_references, output_rows
from steelyard.stats.arrays import Floats

Item = tuple[str | None, str, tuple[str | None, ...]]  # source, output, references
SYSTEM = "{system}"
_FILE = "scores.sqlite"
_PLACE = re.compile(r"\{(src|out|ref|json|scores)\}")
_SUFFIXES = {"src": ".txt", "out": ".txt", "ref": ".txt", "json": ".jsonl", "scores": ""}
_CHUNK = 500  # keys in a query


def cache_key(signature: str, texts: Sequence[object]) -> bytes:
    """Hash a signature and texts so that no two lists of texts run into each other.

    Examples
    --------
    >>> cache_key("m", ["a b"]) == cache_key("m", ["a", "b"])
    False
    """
    return hashlib.sha256(json.dumps([signature, *texts]).encode()).digest()


@dataclass(frozen=True, slots=True)
class ScoreCache:
    """Scores by key, in a file.

    Examples
    --------
    >>> import tempfile
    >>> cache = ScoreCache(Path(tempfile.mkdtemp(), "scores.sqlite"))
    >>> cache.put({b"key": 0.5})
    >>> cache.get([b"key", b"other"])
    {b'key': 0.5}
    """

    path: Path

    @classmethod
    def default(cls) -> ScoreCache:
        """Give the cache in the user's cache folder (``STEELYARD_CACHE``)."""
        return cls(cache_dir() / _FILE)

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=30)
        connection.execute("CREATE TABLE IF NOT EXISTS scores (key BLOB PRIMARY KEY, score REAL)")
        return connection

    def get(self, keys: Iterable[bytes]) -> dict[bytes, float]:
        """Give the scores that are known."""
        wanted = list(keys)
        found: dict[bytes, object] = {}
        try:
            with closing(self._open()) as connection:
                for start in range(0, len(wanted), _CHUNK):
                    part = wanted[start : start + _CHUNK]
                    marks = ",".join("?" * len(part))
                    query = f"SELECT key, score FROM scores WHERE key IN ({marks})"
                    found.update(connection.execute(query, part).fetchall())
        except (sqlite3.Error, OSError):
            return {}
        return {key: float(score) for key, score in found.items() if isinstance(score, float)}

    def put(self, scores: Mapping[bytes, float]) -> None:
        """Keep scores."""
        try:
            with closing(self._open()) as connection, connection:
                rows = list(scores.items())
                connection.executemany("INSERT OR REPLACE INTO scores VALUES (?, ?)", rows)
        except (sqlite3.Error, OSError):
            return


@dataclass(frozen=True, slots=True)
class Command:
    """A program that reads texts and gives a number for each.

    It reads a JSON object per line with ``src``, ``out`` and ``refs`` (a list; empty if the set has
    no reference) and prints a number per line. Or its command line names files: ``{src}``,
    ``{out}`` and ``{ref}`` stand for texts, one per line, ``{json}`` for JSON lines with
    ``source``, ``hypothesis`` and ``reference``, and ``{scores}`` for the file that it writes,
    which may be of any format that holds one score of one system (COMET's JSON, MetricX' lines).

    Outputs that several systems share are sent once, and not at all if the cache knows their
    scores. A cached score holds for the same command line, the same contents of its program and of
    the files named in it, and the same texts; modules that the program imports and the environment
    are not looked at. ``cache`` None keeps nothing.

    Examples
    --------
    >>> from steelyard import Segments
    >>> es = EvalSet(("A", "B"), Segments(("1",)), outputs={"A": ("so",), "B": ("so it is",)})
    >>> count = "import sys, json; [print(len(json.loads(x)['out'])) for x in sys.stdin]"
    >>> import sys
    >>> Command("chars", (sys.executable, "-c", count)).score(es).table.values.tolist()
    [[2.0], [8.0]]
    """

    name: str
    argv: tuple[str, ...]
    higher_is_better: bool = True
    cache: ScoreCache | None = None
    direction_given: bool = False

    @classmethod
    def parse(
        cls,
        name: str,
        line: str,
        *,
        higher_is_better: bool = True,
        cache: ScoreCache | None = None,
        direction_given: bool = False,
    ) -> Command:
        """Split a command line as a shell would, without running one."""
        try:
            argv = tuple(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{name}: can't split '{line}' into words ({error})") from None
        if not argv:
            raise UsageError(f"{name}: no command")
        return cls(name, argv, higher_is_better, cache, direction_given)

    @property
    def signature(self) -> str:
        """The command line, with a hash of each file that it names."""
        words = [shlex.quote(w) + _fingerprint(w.rpartition("=")[2]) for w in self.argv]
        return f"command:{' '.join(words)}"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Send every different output with its source and references; read the scores."""
        uses = chosen_references(es, references) if es.references else ()
        items = _items(es, uses)
        signature = self.signature
        # The program is part of the key only: on another machine python is another file.
        program = signature + _fingerprint(shutil.which(self.argv[0]) or "")
        keys = {item: cache_key(program, item) for item in dict.fromkeys(items.values())}
        known = {} if self.cache is None else self.cache.get(keys.values())
        left = [item for item, key in keys.items() if key not in known]
        fresh = dict(zip((keys[item] for item in left), self._run(left), strict=True))
        if self.cache is not None and fresh:
            self.cache.put(fresh)
        known |= fresh
        values = np.full((es.n_systems, es.n_segments), np.nan)
        for cell, item in items.items():
            values[cell] = known[keys[item]]
        seen = (*(("src",) if es.segments.sources else ()), *uses)
        table = ScoreTable(
            values,
            higher_is_better=self.higher_is_better,
            uses=seen,
            direction_given=self.direction_given,
        )
        cached = len(keys) - len(left)
        notes = (f"{self.name}: {cached} of {len(keys)} scores from the cache",) if cached else ()
        return Scored(table, signature, notes)

    def _run(self, items: Sequence[Item]) -> list[float]:
        if not items:
            return []
        wanted = {found for word in self.argv for found in _PLACE.findall(word)}
        if not wanted:
            lines = (dumps({"src": s, "out": o, "refs": list(r)}, indent=None) for s, o, r in items)
            printed = self._printed(self.argv, "".join(f"{line}\n" for line in lines))
            place = Path(f"output of {self.name}")
            return plaintext.numbers(printed, place, len(items), "one score for each text")
        with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
            paths = {name: Path(folder, name + suffix) for name, suffix in _SUFFIXES.items()}
            for name in sorted(wanted - {"scores"}):
                self._write(name, paths[name], items)
            argv = [_PLACE.sub(lambda found: str(paths[found[1]]), word) for word in self.argv]
            printed = self._printed(argv, "")
            if "scores" not in wanted:
                paths["scores"].write_bytes(printed)
            return self._written(paths["scores"], len(items))

    def _write(self, name: str, path: Path, items: Sequence[Item]) -> None:
        """Write the texts that a placeholder stands for, one per line."""
        if name == "json":
            keys = ("source", "hypothesis", "reference")
            texts = [dumps(dict(zip(keys, self._one(item), strict=True)), indent=None)
                     for item in items]  # fmt: skip
        else:
            column = {"src": 0, "out": 1, "ref": 2}[name]
            found = [self._one(item)[column] for item in items]
            if None in found:
                raise UsageError(f"{self.name}: {{{name}}} in the command, but a text has none")
            texts = [text or "" for text in found]
            if any("\n" in text or "\r" in text for text in texts):
                raise UsageError(
                    f"{self.name}: a text holds a line end, which a file with a text per line "
                    "({src}, {out}, {ref}) can't: take {json}"
                )
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

    def _one(self, item: Item) -> tuple[str | None, str, str | None]:
        source, output, references = item
        if len(references) > 1:
            raise UsageError(
                f"{self.name}: {{ref}} and {{json}} hold one reference: references=..."
            )
        return source, output, references[0] if references else None

    def _written(self, path: Path, n: int) -> list[float]:
        """Read what the program wrote: a number per line, or a file that holds one score."""
        place = Path(f"output of {self.name}")
        if not path.exists():
            raise InputError("there is none: the command did not write {scores}", path=place)
        what = "one score for each text"
        if parse_number(files.first_line(path).strip()) is not None:
            return plaintext.numbers(path.read_bytes(), place, n, what)
        try:
            es = load(path)
        except InputError as error:
            raise InputError(error.message, path=place, line=error.line) from None
        if es.n_systems != 1 or len(es.scores) != 1 or es.n_segments != n:
            found = f"{len(es.scores)} scores of {es.n_systems} systems on {es.n_segments} texts"
            raise InputError(f"{found}, expected {what} ({n})", path=place)
        values: list[float] = next(iter(es.scores.values())).values[0].tolist()
        if not np.isfinite(values).all():
            raise InputError(f"a score is missing, expected {what}", path=place)
        return values

    def _printed(self, argv: Sequence[str], sent: str) -> bytes:
        """Run the program without a shell; give what it prints."""
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, no shell
                argv, input=sent.encode(), capture_output=True, check=False
            )
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"{self.name}: can't run '{self.argv[0]}' ({reason})") from None
        if done.returncode:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            last = f": {said[-1]}" if said else ""
            raise UsageError(f"{self.name}: the command ended with code {done.returncode}{last}")
        return done.stdout


def _fingerprint(word: str) -> str:
    """Hash what a word of a command line names, if that is a file: a new program, new scores."""
    try:
        path = Path(word)
        return f"@{hashlib.sha256(path.read_bytes()).hexdigest()[:12]}" if path.is_file() else ""
    except (OSError, ValueError):
        return ""


def _items(es: EvalSet, references: Sequence[str]) -> dict[tuple[int, int], Item]:
    """Give what is scored for each (system, segment) with an output."""
    sources = es.segments.sources or (None,) * es.n_segments
    columns = [es.segments.references[name] for name in references]
    return {
        (i, j): (sources[j], text, tuple(column[j] for column in columns))
        for i, texts in enumerate(output_rows(es))
        for j, text in enumerate(texts)
        if text is not None
    }


@dataclass(frozen=True, slots=True)
class ScoreFile:
    """Scores that were computed elsewhere.

    ``path`` is a table with a column of the metric's name or, if it has ``{system}`` in it, stands
    for a file per system with a number on each line, in the order of the segments.
    """

    name: str
    path: str
    higher_is_better: bool = True
    direction_given: bool = False

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:  # noqa: ARG002
        """Read the scores of the systems of a set."""
        values = self._lines(es) if SYSTEM in self.path else self._table(es)
        table = ScoreTable(
            values, higher_is_better=self.higher_is_better, direction_given=self.direction_given
        )
        return Scored(table, f"file:{self.path}{_fingerprint(self.path)}")

    def _lines(self, es: EvalSet) -> Floats:
        paths = [Path(self.path.replace(SYSTEM, system)) for system in es.systems]
        what = "one for each segment"
        return np.array([plaintext.read_numbers(path, es.n_segments, what) for path in paths])

    def _table(self, es: EvalSet) -> Floats:
        other = load(self.path)
        if self.name not in other.scores:
            found = hint(self.name, other.scores)
            raise InputError(f"no scores named '{self.name}'; {found}", path=self.path)
        systems = [other.systems.index(s) if s in other.systems else -1 for s in es.systems]
        place = {segment: k for k, segment in enumerate(other.segments.ids)}
        segments = [place.get(segment, -1) for segment in es.segments.ids]
        if not (set(systems) - {-1} and set(segments) - {-1}):
            raise InputError("no system and segment of the texts is in it", path=self.path)
        padded = np.pad(other.scores[self.name].values, ((0, 1), (0, 1)), constant_values=np.nan)
        return padded[np.ix_(systems, segments)]
