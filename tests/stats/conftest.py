"""Fixtures of statistics on real data."""

from __future__ import annotations

import numpy as np
import pytest
from tests.stats.judged.realdata import rows


@pytest.fixture(scope="session")
def esa(shared):
    """Scores of people of WMT24: a function from a language pair to scores and documents."""

    def read(pair):
        table = rows(shared / "wmt24-esa" / f"{pair}.expected.segments.csv.gz")
        systems = sorted({row["system"] for row in table})
        documents = {int(row["segment"]): row["doc"] for row in table}
        segments = sorted(documents)
        scores = np.full((len(systems), len(segments)), np.nan)
        for row in table:
            place = systems.index(row["system"]), segments.index(int(row["segment"]))
            scores[place] = float(row["esa"])
        return scores, np.unique([documents[k] for k in segments], return_inverse=True)[1]

    return read
