"""Write sets as mt-metrics-eval folders: what tests and trials need, and no command does."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from steelyard.data.evalset import EvalSet


def write_mtme(es: EvalSet, folder: Path) -> Path:
    """Write texts and scores of a set, whose segments are 0, 1, ... there, beside other pairs."""
    lp, seg = es.language_pair, es.segments
    groups = [column or ("unknown",) * len(seg) for column in (seg.domains, seg.documents)]
    _write(folder / f"documents/{lp}.docs", map("\t".join, zip(*groups, strict=True)))
    texts = {f"references/{lp}.{name}": column for name, column in seg.references.items()}
    texts |= {f"system-outputs/{lp}/{name}": column for name, column in es.outputs.items()}
    texts |= {} if seg.sources is None else {f"sources/{lp}": seg.sources}
    for stem, column in texts.items():
        rows = ("[No translation supplied]" if text is None else text for text in column)
        _write(folder / f"{stem}.txt", rows)
    for name, table in es.scores.items():
        human = table.kind == "human"
        stem = f"human-scores/{lp}.{name}" if human else f"metric-scores/{lp}/{name}"
        levels = {"seg": table.values} if table.has_segments else {}
        levels |= {} if table.system_scores is None else {"sys": table.system_scores[:, None]}
        for level, values in levels.items():
            rows = (
                f"{system}\t{None if np.isnan(value) else value}"
                for system, row in zip(es.systems, values.tolist(), strict=True)
                for value in row
            )
            _write(folder / f"{stem}.{level}.score", rows)
    return folder


def _write(path: Path, lines: Iterable[str]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
