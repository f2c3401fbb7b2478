"""Write alarms of KoBE for people to judge, the surest first.

    python tools/alarms_to_judge.py TEXTS --lp de-en --system Lan-Bridge --out alarms.jsonl

TEXTS are sources, references and outputs of several systems. A line of JSON is one alarm with all
that it rests on; whoever judges it fills in ``verdict``: ``real`` or ``false``. What is judged goes
to ``tests/kobe/gold/alarms.jsonl``, from which ``tools/fit_confidence.py`` fits the weights.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import steelyard as sy
from steelyard.kobe.metric import kobe_metric
from steelyard.kobe.report import KobeReport


def rows(
    report: KobeReport, systems: Sequence[str], lp: str, data: str
) -> Iterator[dict[str, Any]]:
    """Give the alarms of some systems, each with its features and texts."""
    explanation = report.explanation
    linked, linker = explanation.linked, explanation.linker
    for system, at, alarm in explanation.findings(systems):
        if alarm.is_alarm:
            told = alarm.to_dict(linker)
            yield {
                "data": data,
                "lp": lp,
                "system": system,
                "segment": linked.ids[at],
                **told,
                "shown": alarm.sureness >= report.cut,
                "verdict": None,
                "source_text": linked.sources[at],
                "output_text": linked.outputs[system][at],
                "references": {name: linked.outputs[name][at] for name in linked.references},
                "evidence": list(alarm.evidence or ()),
                "features": explanation.features(system, at, alarm),
            }


def main(arguments: Sequence[str] | None = None) -> None:
    """Link, explain, sort and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("texts", type=Path)
    parser.add_argument("--lp", required=True, help="language pair, as de-en")
    parser.add_argument("--system", action="append", help="a system to judge (repeatable); all")
    parser.add_argument("--least", type=float, default=0.0, help="smallest confidence")
    parser.add_argument("--most", type=int, help="alarms of a system at most")
    parser.add_argument("--out", type=Path, required=True)
    given = parser.parse_args(arguments)
    es = sy.load(given.texts, lp=given.lp)
    _, report = kobe_metric(es, *given.lp.split("-"))
    systems = given.system or list(es.systems)
    for name in systems:
        if name not in es.systems:
            parser.error(f"no system '{name}'; known: {', '.join(es.systems)}")
    found = [one for one in rows(report, systems, given.lp, given.texts.name)
             if (one["confidence"] or 0.0) >= given.least]  # fmt: skip
    found.sort(key=lambda one: -one["confidence"])
    kept, counts = [], dict.fromkeys(systems, 0)
    for one in found:
        counts[one["system"]] += 1
        if given.most is None or counts[one["system"]] <= given.most:
            kept.append(one)
    lines = (json.dumps(one, ensure_ascii=False) + "\n" for one in kept)
    given.out.write_text("".join(lines), encoding="utf-8")
    shown = sum(one["shown"] for one in kept)
    print(f"{len(kept)} alarms of {len(found)}, {shown} of them shown by default: {given.out}")


if __name__ == "__main__":
    main()
