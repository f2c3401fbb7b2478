"""Parts of kobe_quality.py on alarms: strong systems of WMT, and questions with one entity."""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quality.measuring import (
    Context,
    Row,
    by_segment,
    columns,
    lines,
    percent,
    scored,
    shown,
    table,
    text_rows,
    told,
)
from steelyard.core.table import Table

# -- alarms on strong systems

STRONG = (
    ("wmt22-text", "de-en", "Lan-Bridge"),
    ("wmt22-text", "ru-en", "Lan-Bridge"),
    ("wmt22-text", "zh-en", "JDExploreAcademy"),
    ("wmt22-text", "cs-en", "Online-W"),
    ("wmt23-text", "de-en", "GPT4-5shot"),
    ("wmt23-text", "ru-en", "GPT4-5shot"),
    ("wmt24-esa", "en-cs", "ONLINE-W"),
    ("wmt24-esa", "en-ja", "Claude-3.5"),
    ("wmt24-esa", "en-hi", "Claude-3.5"),
)


def strong_alarms(context: Context) -> Table:
    judged = _verdicts(context.gold / "alarms.jsonl")
    found = []
    for folder, pair, system in STRONG:
        rows = text_rows(context, folder, pair)
        if rows is None:
            continue
        src, tgt = pair.split("-")
        report = scored([row["src"] for row in rows], columns(rows, "out"), (src, tgt),
                        references=columns(rows, "refs"))  # fmt: skip
        assert report is not None
        assert report.linked is not None
        wanted = sum(not m.doubtful for own in report.linked.source_mentions for m in own)
        verdicts: Counter[str] = Counter()
        kinds: Counter[str] = Counter()
        for at, finding in shown(report, system, context.kinds):
            kinds[finding.mention.group] += 1
            told_source = finding.mention.text
            key = (folder, pair, system, rows[at]["seg"], finding.kind, told_source)
            verdict = judged.get(key, "unjudged")
            verdicts[verdict] += 1
            context.details.append({
                "part": "alarms", "set": folder, "lp": pair, "system": system,
                "segment": rows[at]["seg"], **told(finding), "verdict": verdict,
                "confidence": getattr(finding, "confidence", None),
                "src": rows[at]["src"], "out": rows[at]["out"][system],
            })  # fmt: skip
        known = verdicts["real"] + verdicts["false"]
        alone = scored([row["src"] for row in rows], {system: columns(rows, "out")[system]},
                       (src, tgt))  # fmt: skip
        n_alone = sum(map(len, by_segment(alone, system, context.kinds).values()))
        found.append((
            f"{folder[:5]} {pair} {system}", len(rows), wanted, kinds.total(),
            percent(kinds.total(), wanted), verdicts["real"], verdicts["false"],
            verdicts["unjudged"], percent(verdicts["real"], known), n_alone,
            ", ".join(f"{kind} {n}" for kind, n in kinds.most_common()),
        ))  # fmt: skip
    return table(
        "Alarms shown by default on strong systems",
        ("system", "segments", "entities", "alarms", "per 100 entities", "real", "false",
         "unjudged", "precision", "alarms alone", "kinds"),
        found,
        "Verdicts are those of tests/kobe/gold/alarms.jsonl."
        if judged else "No alarm has been judged: tests/kobe/gold/alarms.jsonl is absent.",
    )  # fmt: skip


def _verdicts(path: Path) -> dict[tuple[str, ...], str]:
    """Read judged alarms; the set is told by the field `set`, or by the year in `lp` ("22 de-en").

    Whatever is no plain "real" (disputable ones too) counts as false.
    """
    if not path.exists():
        return {}
    found: dict[tuple[str, ...], str] = {}
    for row in lines(path):
        year, _, pair = row["lp"].rpartition(" ")
        folder = row.get("set") or next((f for f, *_ in STRONG if year and year[-2:] in f), year)
        source = row["source"] if isinstance(row["source"], str) else row["source"][-1]
        key = (folder, pair, row["system"], str(row["segment"]), row["kind"], source)
        found[key] = "real" if row["verdict"] == "real" else "false"
    return found


# -- entity-aware MT

_EA = ("de", "es", "fr", "ja", "ar")


def ea_mt(context: Context) -> Table:
    folder = context.data / "ea-mt"
    if context.absent(folder):
        return table("ea-mt", ("",), ())
    with (folder / "expected.csv").open() as stream:
        expected = {(r["lp"], r["system"]): float(r["m_eta"]) for r in csv.DictReader(stream)}
    found: list[tuple[Any, ...]] = []
    totals: dict[str, Counter[str]] = defaultdict(Counter)
    for tgt in _EA:
        rows = lines(folder / f"en-{tgt}.jsonl.gz")
        human = [row["refs"][0] for row in rows]
        systems = columns(rows, "out")
        sources = [row["src"] for row in rows]
        ways = {
            "no reference": (systems, None),
            "with the reference": (systems, {"ref": human}),
        }
        as_system = scored(sources, {"reference": human}, ("en", tgt))
        assert as_system is not None
        n_false = len(by_segment(as_system, "reference", context.kinds))
        found.append((f"en-{tgt}", "reference as a system", as_system.scores["reference"],
                      *(None,) * 6, n_false))  # fmt: skip
        for way, (outputs, references) in ways.items():
            report = scored(sources, outputs, ("en", tgt), references=references)
            assert report is not None
            ceiling = [s.score for s in report.systems if s.is_reference]
            if ceiling:
                found.append((f"en-{tgt}", "reference as reference", ceiling[0], *(None,) * 7))
            for system in outputs:
                alarmed = by_segment(report, system, context.kinds)
                wrong = {i for i, row in enumerate(rows) if not row["entity_right"][system]}
                right = sum(i in wrong for i in alarmed)
                for name, n in (("alarms", len(alarmed)), ("right", right), ("wrong", len(wrong)),
                                ("all", len(rows))):  # fmt: skip
                    totals[way][name] += n
                m_eta = _m_eta(rows, system)
                if round(m_eta, 2) != expected[f"en-{tgt}", system]:
                    print(f"M-ETA en-{tgt} {system}: {m_eta:.2f}, expected "
                          f"{expected[f'en-{tgt}', system]:.2f}", file=sys.stderr)  # fmt: skip
                found.append((f"en-{tgt}", f"{system.rpartition('-2024')[0]}, {way}",
                              report.scores[system], m_eta, expected[f"en-{tgt}", system],
                              percent(len(wrong), len(rows)), len(alarmed),
                              percent(right, len(alarmed)), percent(right, len(wrong)),
                              None))  # fmt: skip
                context.details += [
                    {"part": "ea-mt", "lp": f"en-{tgt}", "system": system, "way": way,
                     "id": rows[i]["id"], "right": i in wrong, **told(f),
                     "src": sources[i], "out": outputs[system][i]}
                    for i, own in alarmed.items() for f in own
                ]  # fmt: skip
    for way, own in totals.items():
        found.append(("all", f"both, {way}", None, None, None, percent(own["wrong"], own["all"]),
                      own["alarms"], percent(own["right"], own["alarms"]),
                      percent(own["right"], own["wrong"]), None))  # fmt: skip
    return table(
        "ea-mt: one entity per question",
        ("direction", "system", "KoBE", "M-ETA", "expected", "wrong %", "alarms",
         "alarms right %", "recall %", "alarms on the reference"),
        found,
        "An alarm is a segment with one or more of them; it is right where the entity is wrong.",
    )  # fmt: skip


def _m_eta(rows: Sequence[Row], system: str) -> float:
    """Give the share of outputs that hold an accepted name, in percent."""
    kept = sum(any(name.casefold() in row["out"][system].casefold() for name in row["mentions"])
               for row in rows)  # fmt: skip
    return 100 * kept / len(rows)
