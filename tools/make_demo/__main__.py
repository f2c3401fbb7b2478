"""Write all files of the demo anew: ``PYTHONPATH=tools python -m make_demo [FOLDER]``.

One story: scores are drawn, sentences written whose errors fit them, experts mark these errors,
crowds rate, judges and readers compare the same outputs. Same seeds, same bytes.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from make_demo import judges, raters, simulator, texts
from steelyard.core.table import dumps
from steelyard.demo import embedded
from steelyard.formats import files


def write(folder: Path) -> list[Path]:
    """Write the files to a folder that exists; give their paths."""
    simulated = simulator.simulate(np.random.default_rng(simulator.SEED))
    said = list(judges.verdicts(simulated, np.random.default_rng(judges.SEED)))
    wishes = judges.wishes(said, simulated)
    written = texts.write_texts(simulated, wishes, np.random.default_rng(texts.SEED))
    lines = (dumps(line, indent=None) + "\n" for line in texts.lines(simulated, written))
    files.write_text(folder / texts.TEXTS_FILE, "".join(lines))
    return [
        *simulator.write(folder),
        folder / texts.TEXTS_FILE,
        *raters.write(folder, simulated, written),
        judges.write(folder, said, simulated, written),
        judges.write_battles(folder, simulated),
    ]


if __name__ == "__main__":
    for made in write(Path(sys.argv[1]) if len(sys.argv) > 1 else embedded.FOLDER):
        sys.stdout.write(f"{made}: {made.stat().st_size} bytes\n")
