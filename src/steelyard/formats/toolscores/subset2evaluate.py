"""Items of subset2evaluate: a line per segment with its texts, and the scores of every system."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet
from steelyard.formats import columns as roles
from steelyard.formats import files
from steelyard.formats.format import ForeignFormat
from steelyard.formats.rawtable import RawTable, Stated, from_rows
from steelyard.formats.record import Record, records
from steelyard.formats.scoretables import LONG
from steelyard.formats.view import FileView

HUMAN = "human"
ID = "segment_id"  # of ours: i is the place
_KNOWN = frozenset(("i", ID, "src", "ref", "tgt", "doc", "domain", "scores"))


def _unfold(view: FileView) -> RawTable:
    rows: list[dict[str, Any]] = []
    lines: list[int] = []
    unread: dict[str, None] = {}
    for place, record in enumerate(records(view)):
        found = _rows(record, place)
        rows += found
        lines += [record.line] * len(found)
        unread |= dict.fromkeys(name for name in record.values if name not in _KNOWN)
    if not rows:
        view.fail("no item has a system: 'tgt' and 'scores' are empty")
    notes = (view.note(f"not read: {', '.join(unread)}"),) if unread else ()
    given = {"segment": "i", "source": "src", "reference": "ref", "output": "tgt"}
    facts = {HUMAN: Stated("human", higher_is_better=True)}
    table = from_rows(view.path, rows, lines.__getitem__, given=given, facts=facts, notes=notes)
    texts = ("source", "reference", "doc", "domain", "output")
    return table.without([t for t in texts if all(cell is None for cell in table.columns[t])])


def _rows(record: Record, place: int) -> list[dict[str, Any]]:
    """Give a row for every system of an item."""
    key = ID if record.get(ID) is not None else "i"
    item: dict[str, Any] = {"segment": record.name(key, str(place))}
    item |= {"source": record.text("src"), "reference": record.text("ref")}
    for name in ("doc", "domain"):
        item[name] = None if record.get(name) is None else record.name(name)
    texts, scores = record.object("tgt"), record.object("scores")
    rows = []
    for system in dict.fromkeys((*texts.values, *scores.values)):
        row = item | {"system": system, "output": texts.text(system)}
        if scores.get(system) is not None:
            given = scores.object(system)
            for score in given.values:
                if roles.is_text(score) or not score.strip():
                    record.fail(f"'scores.{system}' has '{score}', expected a metric's name")
                row[score] = given.number(score)
        rows.append(row)
    return rows


def write(es: EvalSet, path: Path) -> None:
    """Write texts and scores; the only human score is called ``human``, as the tool wants it.

    A reference is written if there is one; ids that are no places go into a key of their own.
    """
    seg = es.segments
    alone = len(es.human) == 1 and HUMAN not in es.scores
    called = {name: HUMAN if alone and name in es.human else name for name in es.scores}
    reference = next(iter(seg.references.values())) if seg.references else None
    singles = {"src": seg.sources, "ref": reference, "domain": seg.domains, "doc": seg.documents}
    lines = []
    for i, segment in enumerate(seg.ids):
        row: dict[str, Any] = {"i": i}
        if segment != str(i):
            row[ID] = segment
        row |= {name: None if own is None else own[i] for name, own in singles.items()}
        row["tgt"] = {
            system: texts[i] for system, texts in es.outputs.items() if texts[i] is not None
        }
        row["scores"] = {
            system: {
                called[name]: None if math.isnan(table.values[k, i]) else float(table.values[k, i])
                for name, table in es.scores.items()
                if table.has_segments
            }
            for k, system in enumerate(es.systems)
        }
        lines.append(dumps(row, indent=None) + "\n")
    files.write_text(path, "".join(lines))


FORMAT = ForeignFormat(
    name="subset2evaluate items",
    gives=EvalSet,
    known_by="JSON lines with src, tgt {system} and scores {system {metric}}",
    example='{"i": 0, "src": "Ja.", "tgt": {"A": "Yes."}, "scores": {"A": {"human": 90.0}}}\n',
    example_name="items.jsonl",
    keys=("tgt", "scores"),
    recognise=lambda view: all(isinstance((view.record or {})[k], dict) for k in ("tgt", "scores")),
    files=("*.jsonl",),
    unfold=_unfold,
    becomes=LONG,
    write=write,
    to="subset2evaluate",
    drops=("official system scores", "stored domain and document scores", "ratings",
           "which scores are better when lower", "scores without any value"),
)  # fmt: skip
