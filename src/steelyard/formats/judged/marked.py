"""What any source says of outputs: errors by rating, scores, lengths of texts, documents."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from steelyard.core.errors import UsageError
from steelyard.core.provenance import InputFile
from steelyard.data.evalset import EvalSet
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.formats.load import Source, read
from steelyard.formats.options import LoadOptions

Output = tuple[str, str]  #: system and segment
#: Severities that count, and whether they are major; others (undecided, neutral) are no errors.
SEVERE = {"minor": False, "": False, "major": True, "critical": True}


@dataclass(frozen=True)
class Marked:
    """What one source says of outputs: their errors by rating, scores, texts and documents."""

    name: str
    errors: dict[Output, list[tuple[ErrorSpan, ...]]] = field(default_factory=dict)
    values: dict[Output, list[float]] = field(default_factory=dict)  # of ratings
    scores: dict[str, dict[Output, float]] = field(default_factory=dict)  # tables, higher is better
    lengths: dict[Output, int] = field(default_factory=dict)
    documents: dict[str, str] = field(default_factory=dict)
    files: list[InputFile] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    reading: LoadOptions = field(default_factory=LoadOptions)

    @classmethod
    def of(cls, source: Source, options: LoadOptions) -> Marked:
        """Read a source: a path, a set, or ratings."""
        name = Path(source).name.split(".jsonl")[0] if isinstance(source, (str, Path)) else "spans"
        name = name.removesuffix(".gz").removesuffix(".csv").removesuffix(".json")
        marked = cls(name, reading=options)
        parts = () if isinstance(source, Ratings) else read([source], options).parts
        for part in parts:
            marked.files.extend(part.files or getattr(part.value, "inputs", ()))
            marked.notes.extend((*part.notes, *getattr(part.value, "notes", ())))
        for value in [part.value for part in parts] or [source]:
            if isinstance(value, Ratings):
                marked.add_ratings(value)
            elif isinstance(value, EvalSet):
                marked.add_set(value)
            else:
                raise UsageError(f"{source}: expected error spans, scores or texts")
        return marked

    def add_ratings(self, ratings: Ratings) -> None:
        """Add errors and values; what people were not asked for is missing."""
        for row in np.flatnonzero(ratings.is_item("system", "repeat")).tolist():
            system = ratings.systems[ratings.system[row]]
            segment = ratings.segments[ratings.segment[row]]
            if not self._kept(system):
                continue
            errors = None if ratings.errors is None else ratings.errors[row]
            if errors is not None:
                self.errors.setdefault((system, segment), []).append(errors)
            if not np.isnan(ratings.value[row]):
                value = float(ratings.value[row])
                self.values.setdefault((system, segment), []).append(value)
            if ratings.document is not None and ratings.document[row]:
                self.documents[segment] = ratings.document[row]

    def add_set(self, es: EvalSet) -> None:
        """Add what a set holds; of several ratings, those of the human score that is named."""
        options = self.reading
        es = es.drop(systems=[name for name in es.systems if not self._kept(name)])
        if len(es.ratings) > 1 and options.human not in es.ratings:
            raise UsageError(f"name the ratings (human=NAME): {', '.join(es.ratings)}")
        for name, ratings in es.ratings.items():
            if len(es.ratings) == 1 or name == options.human:
                self.add_ratings(ratings)
        for segment, document in zip(es.segments.ids, es.segments.documents or (), strict=False):
            if document is not None:
                self.documents[segment] = document
        for system, texts in es.outputs.items():
            for segment, text in zip(es.segments.ids, texts, strict=True):
                if text is not None:
                    self.lengths[system, segment] = len(text)
        for name, table in es.scores.items():
            sign = -1 if name in options.lower_is_better or not table.higher_is_better else 1
            i, k = np.nonzero(~np.isnan(table.values))
            rows = zip(i.tolist(), k.tolist(), (sign * table.values[i, k]).tolist(), strict=True)
            self.scores[name] = {(es.systems[a], es.segments.ids[b]): x for a, b, x in rows}

    def _kept(self, system: str) -> bool:
        wanted = self.reading.systems
        return system not in self.reading.drop_systems and (wanted is None or system in wanted)

    def spans(self, output: Output) -> list[NDArray[np.int64]]:
        """Return the spans of each rating that have a place in the output, and a severity."""
        placed = [
            [(e.start, e.end, is_major) for e, is_major in _severe(errors)
             if e.start is not None and e.end is not None and e.end > e.start]
            for errors in self.errors[output]
        ]  # fmt: skip
        return [np.array(spans, dtype=np.int64).reshape(-1, 3) for spans in placed]

    def majors(self, output: Output) -> list[bool]:
        """Return whether each error of an output is major, also of those without a place."""
        ratings = self.errors.get(output, ())
        return [is_major for errors in ratings for _, is_major in _severe(errors)]


def _severe(errors: Iterable[ErrorSpan]) -> Iterator[tuple[ErrorSpan, bool]]:
    """Yield the errors in the output that count, and whether they are major."""
    for error in errors:
        severity = error.severity.strip().lower()
        if severity in SEVERE and not error.in_source:
            yield error, SEVERE[severity]
