"""The tool that fits weights of confidence to judged alarms."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

import fit_confidence


def judged(path: Path, n: int = 60) -> Path:
    """Write alarms that are real exactly where the reference keeps the entity."""
    rng = np.random.default_rng(0)
    lines = []
    for i in range(n):
        kept = int(rng.integers(0, 2))
        row = {
            "data": f"set{i % 3}", "lp": "de-en", "group": "number",
            "verdict": "real" if kept else "false",
            "evidence": [4, 8, kept, 1, 0],
            "features": {"bias": 1.0, "reference": 2.0 * kept - 1},
        }  # fmt: skip
        lines.append(json.dumps(row))
    lines.append(json.dumps({"verdict": None}))
    path.write_text("\n".join(lines) + "\n")
    return path


def test_situations_have_less_and_less_to_compare_with(tmp_path):
    rows = fit_confidence.read(judged(tmp_path / "alarms.jsonl"))
    assert len(rows) == 60
    for row in rows:
        found = list(fit_confidence.situations(row))
        assert [one.situation for one in found] == ["both", "others", "reference", "alone"]
        assert found[0].capped == (row["verdict"] == "false")  # people lose it, too
        assert not found[3].capped
        assert not {"others", "reference"} & {k for k, v in found[3].features.items() if v}
