"""Fixtures of statistics on real data."""

from __future__ import annotations

import csv
import gzip

import numpy as np
import pytest


@pytest.fixture(scope="session")
def esa(shared):
    """Scores of people of WMT24: a function from a language pair to scores and documents."""

    def read(pair):
        path = shared / "wmt24-esa" / f"{pair}.expected.segments.csv.gz"
        with gzip.open(path, "rt", encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines))
        systems = sorted({row["system"] for row in rows})
        documents = {int(row["segment"]): row["doc"] for row in rows}
        segments = sorted(documents)
        scores = np.full((len(systems), len(segments)), np.nan)
        for row in rows:
            place = systems.index(row["system"]), segments.index(int(row["segment"]))
            scores[place] = float(row["esa"])
        return scores, np.unique([documents[k] for k in segments], return_inverse=True)[1]

    return read
