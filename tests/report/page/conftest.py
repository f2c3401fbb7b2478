"""A browser for the tests: Debian's Chromium, or the one that STEELYARD_CHROMIUM names."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report.explorer import Mistake
from steelyard.report.page import make_report

HOSTILE = (
    "<script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "{{7*7}}{%raw%}${7*7}",
    '</script><img src="x" onerror="window.hacked=1">',
    "\"' onmouseover=window.hacked=1 x='",
    "a\u2028b\u2029c & <!-- --> =1+1 \u202e\x1b[31m",
)


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """A headless Chromium, or a skip that says what is missing."""
    sync = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    named = os.environ.get("STEELYARD_CHROMIUM")
    path = named or shutil.which("chromium") or shutil.which("chromium-browser")
    if path is None:
        pytest.skip("no Chromium (apt install chromium, or set STEELYARD_CHROMIUM)")
    with sync.sync_playwright() as playwright:
        # A container has no user namespaces for the sandbox; the pages are our own.
        found = playwright.chromium.launch(executable_path=path, args=["--no-sandbox"])
        yield found
        found.close()


def hostile_set() -> tuple[EvalSet, list[Mistake]]:
    """Give a set in which every name and every text tries to be code."""
    rng = np.random.default_rng(0)
    n, s = len(HOSTILE), 12
    ids = tuple(f"{HOSTILE[k % n]}{k}" for k in range(s))
    texts = tuple(HOSTILE[k % n] for k in range(s))
    values = rng.normal(size=(n, s)) + np.arange(n)[:, None]
    es = EvalSet(
        HOSTILE,
        Segments(ids, texts, texts, texts, {HOSTILE[0]: texts, HOSTILE[3]: texts}),
        {
            "human</script>": ScoreTable(values, kind="human"),
            **{f"{name}m": ScoreTable(values + rng.normal(size=(n, s))) for name in HOSTILE[:3]},
        },
        {system: tuple(reversed(texts)) for system in HOSTILE},
        name=HOSTILE[3],
        language_pair='"><b>-x',
        notes=HOSTILE,
    )
    marks = [
        Mistake(system, ids[k], HOSTILE[k % n], 1, 5, HOSTILE[0])
        for system in HOSTILE
        for k in (0, 3)
    ]
    return es, marks


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory) -> Path:
    """A report of the hostile set."""
    es, marks = hostile_set()
    path: Path = tmp_path_factory.mktemp("hostile") / "report.html"
    found = make_report(es, "human</script>", mistakes=marks, n_bootstrap=20, n_resamples=20)
    found.save(path)
    return path
