"""Metrics that run elsewhere: a command that reads texts and prints scores.

COMET and LLM judges have environments of their own; here they are a command line. Nothing passes
through a shell, and nothing is kept.
"""

from __future__ import annotations

import re
import shlex
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.formats import files, plaintext
from steelyard.formats.cells import parse_number
from steelyard.formats.load import load
from steelyard.scoring.metric import Scored, chosen_references, output_rows

Item = tuple[str | None, str, tuple[str | None, ...]]  # source, output, references
_PLACE = re.compile(r"\{(src|out|ref|json|scores)\}")
_SUFFIXES = {"src": ".txt", "out": ".txt", "ref": ".txt", "json": ".jsonl", "scores": ""}


@dataclass(frozen=True, slots=True)
class Command:
    """A program that reads texts and gives a number for each.

    It reads a JSON object per line with ``src``, ``out`` and ``refs`` (a list; empty if the set has
    no reference) and prints a number per line. Or its command line names files: ``{src}``,
    ``{out}`` and ``{ref}`` stand for texts, one per line, ``{json}`` for JSON lines with
    ``source``, ``hypothesis`` and ``reference``, and ``{scores}`` for the file that it writes,
    which may be of any format that holds one score of one system (COMET's JSON, MetricX' lines).
    Outputs that several systems share are sent once.

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
    direction_given: bool = False

    @classmethod
    def parse(
        cls,
        name: str,
        line: str,
        *,
        higher_is_better: bool = True,
        direction_given: bool = False,
    ) -> Command:
        """Split a command line as a shell would, without running one."""
        try:
            argv = tuple(shlex.split(line))
        except ValueError as error:
            raise UsageError(f"{name}: can't split '{line}' into words ({error})") from None
        if not argv:
            raise UsageError(f"{name}: no command")
        return cls(name, argv, higher_is_better, direction_given)

    @property
    def signature(self) -> str:
        """The command line."""
        return f"command:{shlex.join(self.argv)}"

    def score(self, es: EvalSet, references: Sequence[str] | None = None) -> Scored:
        """Send every different output with its source and references; read the scores."""
        uses = chosen_references(es, references) if es.references else ()
        cells = _items(es, uses)
        items = list(dict.fromkeys(cells.values()))
        scores = dict(zip(items, self._run(items), strict=True))
        values = np.full((es.n_systems, es.n_segments), np.nan)
        for cell, item in cells.items():
            values[cell] = scores[item]
        table = ScoreTable(
            values,
            higher_is_better=self.higher_is_better,
            uses=(*(("src",) if es.segments.sources else ()), *uses),
            direction_given=self.direction_given,
        )
        return Scored(table, self.signature)

    def _run(self, items: Sequence[Item]) -> list[float]:
        if not items:
            return []
        wanted = {place for word in self.argv for place in _PLACE.findall(word)}
        if not wanted:
            lines = (dumps({"src": s, "out": o, "refs": list(r)}, indent=None) for s, o, r in items)
            printed = self._printed(self.argv, "".join(f"{line}\n" for line in lines))
            place = Path(f"output of {self.name}")
            return plaintext.numbers(printed, place, len(items), "one score for each text")
        with tempfile.TemporaryDirectory(prefix="steelyard-") as folder:
            paths = {name: Path(folder, name + suffix) for name, suffix in _SUFFIXES.items()}
            for name in sorted(wanted - {"scores"}):
                self._write(name, paths[name], items)
            argv = [_PLACE.sub(lambda match: str(paths[match[1]]), word) for word in self.argv]
            printed = self._printed(argv, "")
            if "scores" not in wanted:
                paths["scores"].write_bytes(printed)
            return self._written(paths["scores"], len(items))

    def _write(self, name: str, path: Path, items: Sequence[Item]) -> None:
        """Write the texts that a placeholder stands for, one per line."""
        triples = []
        for source, output, references in items:
            if name in ("ref", "json") and len(references) > 1:
                what = "{ref} and {json} hold one reference: references=..."
                raise UsageError(f"{self.name}: {what}")
            triples.append((source, output, references[0] if references else None))
        if name == "json":
            keys = ("source", "hypothesis", "reference")
            texts = [dumps(dict(zip(keys, row, strict=True)), indent=None) for row in triples]
        else:
            column = [row[("src", "out", "ref").index(name)] for row in triples]
            if None in column:
                raise UsageError(f"{self.name}: {{{name}}} in the command, but a text has none")
            texts = [text or "" for text in column]
            if any("\n" in text or "\r" in text for text in texts):
                raise UsageError(
                    f"{self.name}: a text holds a line end, which a file with a text per line "
                    "({src}, {out}, {ref}) can't: take {json}"
                )
        path.write_text("".join(f"{text}\n" for text in texts), encoding="utf-8")

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
            scores = f"{len(es.scores)} scores of {es.n_systems} systems on {es.n_segments} texts"
            raise InputError(f"{scores}, expected {what} ({n})", path=place)
        values: list[float] = next(iter(es.scores.values())).values[0].tolist()
        if not np.isfinite(values).all():
            raise InputError(f"a score is missing, expected {what}", path=place)
        return values

    def _printed(self, argv: Sequence[str], sent: str) -> bytes:
        """Run the program without a shell; return what it prints."""
        try:
            done = subprocess.run(  # noqa: S603 - the user's own command, no shell
                argv, input=sent.encode(), capture_output=True, check=False
            )
        except OSError as error:
            reason = error.strerror or error
            raise UsageError(f"{self.name}: can't run '{self.argv[0]}' ({reason})") from None
        if done.returncode:
            lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
            last = f": {lines[-1]}" if lines else ""
            raise UsageError(f"{self.name}: the command ended with code {done.returncode}{last}")
        return done.stdout


def _items(es: EvalSet, references: Sequence[str]) -> dict[tuple[int, int], Item]:
    """Return what is scored for each (system, segment) with an output."""
    sources = es.segments.sources or (None,) * es.n_segments
    columns = [es.segments.references[name] for name in references]
    return {
        (i, j): (sources[j], text, tuple(column[j] for column in columns))
        for i, texts in enumerate(output_rows(es))
        for j, text in enumerate(texts)
        if text is not None
    }
