"""How often ``steelyard check`` is right: errors planted in human translations, by kind and pair.

    python benchmarks/check_quality.py DATA [--write] [--segments N]

DATA is the folder with wmt22-text, wmt23-text, wmt24-esa and ea-mt. Prints found errors and false
alarms beside "digits compared as strings", and the precision of findings where one in ten segments
with such an item is wrong. Rules were made on WMT22: what is stated is the precision on the odd
segments of the other sets, and it is measured again on their even segments. --write puts the stated
precision into ``kobe/checks.toml``. Terms are words that are mined from the texts; a false alarm is
one where a word of the same stem is there.
"""

# ruff: noqa: ANN001, ANN003, ANN201, ANN202, C901, PLR0912, PLR0915, SIM115, PLW2901

from __future__ import annotations

import argparse
import gzip
import json
import random
import re
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

from quality.planting import SETS, Planter, _reference
from steelyard import EvalSet, Segments
from steelyard.formats.bitext import GlossaryTerm
from steelyard.kobe import checks
from steelyard.kobe.linking.terms import TermPair

PREVALENCE = 0.1  # of segments with an item of a kind that are wrong
BANDS = {"alone": (0.5, 0.25), "compared": (0.9,)}  # of the model's confidence
MODEL = ("number", "date", "name")
KIND = {"unit": "number", "money": "number", "place": "name"}
ALSO = {"date": ("date", "number")}  # a year is a number
LOW = 0.25  # findings of a low confidence have one precision for all kinds
MADE_ON = "wmt22"  # rules were made while looking at these sets
MARKS = ("{name}", "%s", "<b>", "%(count)d")
OTHERS = 3


def run(rows, outputs, pair, glossary=None):
    """Return candidates by system and segment."""
    ids = tuple(f"{n:06}" for n in range(len(rows)))
    es = EvalSet(tuple(outputs), Segments(ids, sources=tuple(rows)),
                 outputs={name: tuple(row) for name, row in outputs.items()})  # fmt: skip
    found: dict[str, dict[int, list[Any]]] = defaultdict(lambda: defaultdict(list))
    for c in checks.candidates(es, *pair, glossary=glossary):
        found[c.system][c.at].append(c)
    return found


def band(candidate, way):
    if candidate.kind not in MODEL:
        return 0.0
    return next((least for least in BANDS[way] if candidate.sure >= least), None)


def digits(text):
    return Counter(re.findall(r"\d+", text))


def is_rendered(term, text):
    """Tell whether a text has a word that begins like a term: a finding of it would be false."""
    return any(word.startswith(term[: max(5, len(term) - 3)]) for word in text.lower().split())


def mined(sources, references, pair):
    """Return words that are translations of each other nearly always: (source, target)."""
    if {"zh", "ja", "hi"} & set(pair):
        return []
    one, two, both = Counter(), Counter(), Counter()
    for source, reference in zip(sources, references, strict=True):
        left, right = (set(re.findall(r"[^\W\d_]{6,}", t.lower())) for t in (source, reference))
        one.update(left)
        two.update(right)
        both.update((a, b) for a in left for b in right)
    return [(a, b) for (a, b), n in both.items() if n >= 4 and 2 * n / (one[a] + two[b]) >= 0.8]


def measure(data: Path, most: int):
    counts: dict[tuple, Counter] = defaultdict(Counter)
    for folder, lp in SETS:
        path = data / folder / f"{lp}.text.jsonl.gz"
        if not path.exists():
            continue
        rows = [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")]
        rng = random.Random(f"check {folder} {lp}")
        rng.shuffle(rows)
        rows = [row for row in rows if row["src"].strip() and _reference(row).strip()]
        if folder.startswith(MADE_ON):
            rows = rows[:most]
        pair = tuple(lp.split("-"))
        sources, references = [r["src"] for r in rows], [_reference(r) for r in rows]
        systems = [s for s in rows[0]["out"] if not s.startswith(("ref", "HUMAN", "synthetic"))]
        others = {f"~{s}": [r["out"].get(s) or "" for r in rows] for s in systems[:OTHERS]}
        pairs = mined(sources, references, pair)
        glossary = TermPair([GlossaryTerm(a, b) for a, b in pairs], *pair)
        texts: dict[str, tuple[list[str], list[str | None]]] = {}
        planter = Planter(*pair, rng)
        for learn in (planter.meet, planter.collect):
            for source, reference in zip(sources, references, strict=True):
                learn(source, reference)
        planted: dict[str, list[str | None]] = {k: [None] * len(rows) for k in MODEL}
        items: dict[str, set[int]] = defaultdict(set)
        for at, (source, reference) in enumerate(zip(sources, references, strict=True)):
            for kind, plants in planter.plants(source, reference).items():
                p, kind = rng.choice(plants), KIND.get(kind, kind)
                items[kind].add(at)
                planted[kind][at] = reference[: p.start] + p.new + reference[p.end :]
        for kind, row in planted.items():
            texts[kind] = sources, row
        texts["empty"] = sources, ["" for _ in rows]
        texts["untranslated"] = sources, list(sources)
        spoilt: list[str | None] = [None] * len(rows)
        for at, reference in enumerate(references):
            for a, b in pairs:
                m = re.search(rf"\b{b}\b", reference, re.IGNORECASE)
                if m and a in sources[at].lower():
                    other = rng.choice(pairs)[1]
                    spoilt[at] = reference[: m.start()] + other + reference[m.end() :]
        texts["term"] = sources, spoilt
        marked, dropped = [], []
        for at, source in enumerate(sources):
            mark = MARKS[at % len(MARKS)]
            marked.append(f"{source} {mark}")
            dropped.append(references[at] if at % 2 else f"{references[at]} {mark[:-1]}")
        texts["placeholder"] = marked, dropped
        for way in ("alone", "compared"):
            more = others if way == "compared" else {}
            clean = run(sources, {"plain": references, **more}, pair, glossary)["plain"]
            for kind, (left, row) in texts.items():
                if way == "compared" and kind not in MODEL:
                    continue
                found = run(
                    left, {"plain": row, **more}, pair, glossary if kind == "term" else None
                )
                for at, text in enumerate(row):
                    if text is None or (kind == "untranslated" and text == references[at]):
                        continue
                    hits = [c for c in found["plain"][at] if c.kind in ALSO.get(kind, (kind,))
                            and not any(c[2:5] == d[2:5] for d in clean[at])]  # fmt: skip
                    best = max((b for c in hits if (b := band(c, way)) is not None), default=None)
                    count = counts[way, kind, folder, lp, at % 2]
                    count["planted"] += 1
                    count["found"] += best is not None
                    count[f"hit {best}"] += 1
                    count["digits"] += digits(text) != digits(left[at])
            for at in range(len(rows)):
                for kind in texts:
                    count = counts[way, kind, folder, lp, at % 2]
                    count["segments"] += 1
                    count["digits false"] += digits(references[at]) != digits(sources[at])
                    bands = [
                        b
                        for c in clean[at]
                        if c.kind == kind
                        and (b := band(c, way)) is not None
                        and (kind != "term" or is_rendered(c.expected, references[at]))
                    ]
                    count["false"] += bool(bands)
                    for b in set(bands):
                        count[f"false {b}"] += 1
    for path in sorted((data / "ea-mt").glob("*.jsonl.gz")):
        rows = [json.loads(line) for line in gzip.open(path, "rt", encoding="utf-8")][:most]
        lp = path.name.partition(".")[0]
        clean = run([r["src"] for r in rows], {"plain": [r["refs"][0] for r in rows]},
                    tuple(lp.split("-")))["plain"]  # fmt: skip
        for at in range(len(rows)):
            for kind in (*MODEL, "untranslated"):
                count = counts["ea-mt", kind, "ea-mt", lp, at % 2]
                count["segments"] += 1
                count["false"] += any(c.kind == kind and band(c, "alone") is not None
                                      for c in clean[at])  # fmt: skip
    return counts


def total(counts, **wanted):
    names = ("way", "kind", "folder", "lp", "half")
    added: Counter = Counter()
    for key, count in counts.items():
        if all(dict(zip(names, key, strict=True))[n] == v for n, v in wanted.items()):
            added.update(count)
    return added


def precision(count, least):
    """Precision of findings in a band, where one in ten segments with an item is wrong."""
    true = PREVALENCE * count[f"hit {least}"] / max(1, count["planted"])
    # Human translations with an item are as many as planted ones.
    false = (1 - PREVALENCE) * count[f"false {least}"] / max(1, count["planted"])
    return (true + 1e-9) / (true + false + 1e-9), count[f"hit {least}"] + count[f"false {least}"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument(
        "--segments", type=int, default=450, help="of a set of WMT22 and ea-mt, at most"
    )
    parser.add_argument("--write", action="store_true")
    given = parser.parse_args()
    counts = measure(given.data, given.segments)
    print("| pair | kind | planted | found % | digits found % | false per 1,000 | digits false |")
    print("|---|---|---|---|---|---|---|")
    kinds = ("number", "date", "name", "term", "placeholder", "empty", "untranslated")
    groups = [({"folder": f, "lp": lp}, f"{f[:5]} {lp}") for f, lp in SETS] + [({}, "all")]
    for half in ("made on", "held out"):
        chosen = {k: v for k, v in counts.items()
                  if k[2].startswith(MADE_ON) == (half == "made on")}  # fmt: skip
        for kind in kinds:
            print(line(half, kind, total(chosen, way="alone", kind=kind)))
    for wanted, name in groups:
        for kind in kinds:
            count = total(counts, way="alone", kind=kind, **wanted)
            if count["planted"]:
                print(line(name, kind, count))
    for kind in (*MODEL, "untranslated"):
        print(line("ea-mt", kind, total(counts, way="ea-mt", kind=kind)))
    print("\n| way | kind | at least | stated | measured | WMT22 | WMT23 | WMT24 | findings |")
    print("|---|---|---|---|---|---|---|---|---|")
    tables: dict[str, dict[str, list]] = {"alone": {}, "compared": {}}
    held_out = {k: v for k, v in counts.items() if not k[2].startswith(MADE_ON)}
    for way, table in tables.items():
        for kind in kinds:
            used = way if kind in MODEL else "alone"
            for least in BANDS[way] if kind in MODEL else (0.0,):
                odd = total(held_out, way=used, kind=kind, half=1)
                if least == LOW:  # too few of one kind
                    odd = Counter()
                    for each_kind in MODEL:
                        odd.update(total(held_out, way=used, kind=each_kind, half=1))
                stated, _ = precision(odd, least)
                measured, n = precision(total(held_out, way=used, kind=kind, half=0), least)
                shares = []
                for year in ("wmt22", "wmt23", "wmt24"):
                    of_year = {k: v for k, v in counts.items() if k[2].startswith(year)}
                    shares.append(precision(total(of_year, way=used, kind=kind), least)[0])
                each = " | ".join(f"{share:.2f}" for share in (stated, measured, *shares))
                print(f"| {way} | {kind} | {least} | {each} | {n} |")
                table.setdefault(kind, []).append([least, round(stated, 2)])
    if given.write:
        write(tables)


def line(name, kind, count):
    def share(part, whole, scale=100):
        return f"{scale * part / whole:.1f}" if whole else "-"

    valued = kind in ("number", "date")
    return (
        f"| {name} | {kind} | {count['planted']} | {share(count['found'], count['planted'])} "
        f"| {share(count['digits'], count['planted']) if valued else '-'} "
        f"| {share(count['false'], count['segments'], 1000)} "
        f"| {share(count['digits false'], count['segments'], 1000) if valued else '-'} |"
    )


def write(tables) -> None:
    lines = ["# Share of findings that are errors, by kind: [least confidence, share].",
             "# Written by benchmarks/check_quality.py --write."]  # fmt: skip
    for way, table in tables.items():
        # Found literally: what a glossary says of them is true by definition.
        table["forbidden"] = table["untranslatable"] = [[0.0, 0.99]]
        lines += ["", f"[{way}]", *(f"{kind} = {rows}" for kind, rows in table.items())]
    path = Path(__file__).parents[1] / "src" / "steelyard" / "kobe" / "checks.toml"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
