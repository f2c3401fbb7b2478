"""How good KoBE's links and alarms are: precision and recall on sets made or marked for it.

    python benchmarks/kobe_quality.py DATA [PART ...] [--json] [--details FILE]

Parts: linking, pairs, planted, alarms, ea-mt, selflink, speed (all of them if none is named). DATA
is the folder with wmt22-text, wmt23-text, wmt24-esa and ea-mt; gold sets of the project are in
tests/kobe/gold. Each part prints one table of Markdown; with --json all rows are one object.
--details writes what was found, line by line (alarms, misses, wrong links), to look into.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from pathlib import Path

from quality.ablation import ablation
from quality.gold import linking, pairs
from quality.measuring import ALARMS, GOLD, Context
from quality.planting import planted
from quality.reach import selflink, speed
from quality.strong import ea_mt, strong_alarms
from steelyard.core.table import Table

PARTS: dict[str, Callable[[Context], Table | None]] = {
    "linking": linking,
    "pairs": pairs,
    "planted": planted,
    "alarms": strong_alarms,
    "ea-mt": ea_mt,
    "selflink": selflink,
    "speed": speed,
    "ablation": ablation,
}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("data", type=Path)
    parser.add_argument("parts", nargs="*", metavar="PART", help=", ".join(PARTS))
    parser.add_argument("--gold", type=Path, default=GOLD)
    parser.add_argument("--segments", type=int, default=300, help="planted errors per set at most")
    parser.add_argument("--added", action="store_true", help="count what is added as alarms, too")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--details", type=Path)
    given = parser.parse_args()
    for name in given.parts:
        if name not in PARTS:
            parser.error(f"no part '{name}'; known: {', '.join(PARTS)}")
    context = Context(
        given.data, given.gold, given.segments, (*ALARMS, *(["added"] if given.added else []))
    )
    result = {}
    for name in given.parts or PARTS:
        made = PARTS[name](context)
        if made is None:
            continue
        result[name] = [dict(zip([c.name for c in made.columns], row, strict=True))
                        for row in made.rows]  # fmt: skip
        if not given.json:
            print(f"## {name}\n\n{made.markdown()}\n", flush=True)
    if given.json:
        print(json.dumps(result, ensure_ascii=False, indent=1))
    if given.details:
        told_lines = (json.dumps(row, ensure_ascii=False, default=str) for row in context.details)
        given.details.write_text("".join(f"{line}\n" for line in told_lines))


if __name__ == "__main__":
    main()
