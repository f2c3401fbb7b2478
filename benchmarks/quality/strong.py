"""Parts of kobe_quality.py on alarms: strong systems of WMT, and questions with one entity."""

from __future__ import annotations

import csv
import sys
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from quality.measuring import (
    ALARMS,
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
from steelyard.kobe.explaining import Finding

# -- alarms on strong systems

#: Systems whose alarms were judged (tests/kobe/gold/shown.jsonl). No weight was fitted to them,
#: but rules, and two weights set by hand (copied_name, small_letter), were made by reading them.
STRONG = (
    ("wmt22", "cs-en", "Lan-Bridge"),
    ("wmt22", "de-en", "Online-W"),
    ("wmt22", "ru-en", "Online-G"),
    ("wmt23", "en-de", "GPT4-5shot"),
    ("wmt23", "en-de", "ONLINE-W"),
    ("wmt23", "zh-en", "GPT4-5shot"),
    ("wmt24", "en-hi", "Claude-3.5"),
    ("wmt24", "en-hi", "GPT-4"),
    ("wmt24", "en-hi", "Gemini-1.5-Pro"),
    ("wmt24", "en-hi", "Unbabel-Tower70B"),
    ("wmt24", "en-ja", "Claude-3.5"),
    ("wmt24", "en-ja", "GPT-4"),
    ("wmt24", "en-ja", "Gemini-1.5-Pro"),
    ("wmt24", "en-ja", "Unbabel-Tower70B"),
)
_FOLDERS = {"wmt22": "wmt22-text", "wmt23": "wmt23-metrics", "wmt24": "wmt24-esa"}
_KINDS = (*ALARMS, "added")
_MOST = 30  # alarms of a system, the surest first


def strong_alarms(context: Context) -> Table:
    judged = _verdicts(context.gold / "shown.jsonl")
    found: list[tuple[Any, ...]] = []
    totals: Counter[str] = Counter()
    for year, pair in dict.fromkeys((year, pair) for year, pair, _ in STRONG):
        rows = text_rows(context, _FOLDERS[year], pair)
        if rows is None:
            continue
        src, tgt = pair.split("-")
        sources, outputs = [row["src"] for row in rows], columns(rows, "out")
        report = scored(sources, outputs, (src, tgt), references=columns(rows, "refs"))
        assert report is not None
        mentions = report.explanation.linked.source_mentions
        wanted = sum(not m.doubtful for own in mentions for m in own)
        for system in (own for *where, own in STRONG if where == [year, pair]):
            alarms = sorted(shown(report, system, _KINDS), key=lambda one: -_sure(one[1]))
            verdicts: Counter[str] = Counter()
            for at, finding in alarms[:_MOST]:
                left = judged.get((year, pair, system, rows[at]["seg"], _form(told(finding))), [])
                verdict = left.pop(0) if left else "unjudged"
                verdicts[verdict] += 1
                context.details.append({
                    "part": "alarms", "set": year, "lp": pair, "system": system,
                    "segment": rows[at]["seg"], **told(finding), "verdict": verdict,
                    "confidence": finding.confidence,
                    "src": rows[at]["src"], "out": rows[at]["out"][system],
                })  # fmt: skip
            totals += verdicts
            alone = scored(sources, {system: outputs[system]}, (src, tgt))
            n_alone = sum(map(len, by_segment(alone, system, _KINDS).values()))
            found.append((f"{year} {pair} {system}", len(rows), wanted, len(alarms),
                          *_counts(verdicts), n_alone))  # fmt: skip
    found.append(("all", None, None, None, *_counts(totals), None))
    return table(
        "Alarms shown by default on strong systems",
        ("system", "segments", "entities", "alarms", "real", "false", "disputed", "unjudged",
         "precision", "alarms alone"),
        found,
        f"The {_MOST} surest alarms of a system, or as many as are shown; verdicts are those of "
        "tests/kobe/gold/shown.jsonl, and what is disputed counts as false.",
    )  # fmt: skip


def _sure(finding: Finding) -> float:
    return finding.confidence or 0.0


def _counts(verdicts: Counter[str]) -> tuple[Any, ...]:
    known = verdicts.total() - verdicts["unjudged"]
    kinds = ("real", "false", "disputed", "unjudged")
    return (*(verdicts[kind] for kind in kinds), percent(verdicts["real"], known))


def _form(row: Row) -> str:
    """Name an alarm by its form in the source, or in the output where something was added."""
    return f"s:{row['source']}" if row["source"] else f"o:{row['output']}"


def _verdicts(path: Path) -> dict[tuple[str, ...], list[str]]:
    """Read judged alarms; of forms that a segment has several times, in order."""
    found: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for row in lines(path) if path.exists() else ():
        key = (row["data"], row["lp"], row["system"], str(row["segment"]), _form(row))
        found[key].append(row["verdict"])
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
