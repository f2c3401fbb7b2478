"""Explain the segments of judged alarms with the present code, and join the verdicts.

Links change, and with them places and features; what was judged is known by its data set, language
pair, system, segment, and form: that of the source, or of the output where something was added.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import steelyard as sy
from alarms_to_judge import rows
from steelyard.kobe.metric import kobe_metric

#: Where the texts of a data set are, below the folder of data.
FOLDERS = {"wmt22": "wmt22-text", "wmt23": "wmt23-text", "wmt24": "wmt24-esa"}
Row = dict[str, Any]


class Again(NamedTuple):
    """Alarms that were judged and are still raised, what is gone, and what nobody has judged."""

    judged: list[Row]
    gone: list[Row]
    new: list[Row]

    def told(self) -> str:
        """Say in a line what became of the verdicts."""
        gone = Counter(row["verdict"] for row in self.gone)
        fresh = sum(row["shown"] for row in self.new)
        return (
            f"{len(self.judged)} judged alarms are raised again; {gone['real']} real and "
            f"{gone['false']} false ones are not; {len(self.new)} alarms of the same segments are "
            f"new, {fresh} of them shown"
        )


def read_verdicts(paths: Sequence[Path]) -> list[Row]:
    """Read judged alarms of several files, each alarm once."""
    found: dict[tuple[object, ...], Row] = {}
    for path in paths:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            row = json.loads(line)
            if row["data"] not in FOLDERS:
                known = ", ".join(FOLDERS)
                message = f"{path}:{number}: data '{row['data']}', expected one of {known}"
                raise SystemExit(message)
            if row["verdict"] not in ("real", "false"):
                message = f"{path}:{number}: verdict '{row['verdict']}', expected real or false"
                raise SystemExit(message)
            found[(*_key(row), row.get("at"))] = row
    return list(found.values())


def _key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """Name an alarm without its kind, which changes with what stands in the output."""
    source, output = (_form(row[side]) for side in ("source", "output"))
    form = f"s:{source}" if row["kind"] != "added" else f"o:{output}"
    return (row["data"], row["lp"], row["system"], str(row["segment"]), form)


def _form(told: object) -> str:
    return str(told[2] if isinstance(told, list) else told)


def again(verdicts: Sequence[Row], data: Path) -> Again:
    """Raise the alarms of all judged segments anew, and give them their verdicts."""
    judged: list[Row] = []
    new: list[Row] = []
    left: dict[tuple[str, ...], list[Row]] = {}
    for row in verdicts:
        left.setdefault(_key(row), []).append(row)
    for told in _raised(verdicts, data):
        own = left.get(_key(told), [])
        same = [row for row in own if row["kind"] == told["kind"]] or own
        if same:
            row = same[0]
            own.remove(row)
            judged.append({**told, "verdict": row["verdict"]})
        else:
            new.append(told)
    return Again(judged, [row for own in left.values() for row in own], new)


def _raised(verdicts: Sequence[Row], data: Path) -> Iterator[Row]:
    for name, lp in sorted({(row["data"], row["lp"]) for row in verdicts}):
        own = [row for row in verdicts if (row["data"], row["lp"]) == (name, lp)]
        wanted = {(row["system"], str(row["segment"])) for row in own}
        es = sy.load(data / FOLDERS[name] / f"{lp}.text.jsonl.gz", lp=lp)
        es = es.select(segments=sorted({segment for _, segment in wanted}))
        _, report = kobe_metric(es, *lp.split("-"))
        systems = sorted({system for system, _ in wanted})
        for told in rows(report, systems, lp, name):
            if (told["system"], str(told["segment"])) in wanted:
                yield told
