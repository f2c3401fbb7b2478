"""Fixtures shared by all tests."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

# No deadline, because two busy cores make any of them a lie. Few examples, always the same ones,
# keep the suite within minutes; STEELYARD_EXAMPLES=100 looks further, and STEELYARD_RANDOM=1
# elsewhere each time: make test-all does both.
settings.register_profile(
    "steelyard",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize=not os.environ.get("STEELYARD_RANDOM"),
    max_examples=int(os.environ.get("STEELYARD_EXAMPLES", "15")),
)
settings.load_profile("steelyard")

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder of real evaluation data, or a skip that says how to have it."""
    folder = Path(os.environ.get("STEELYARD_SHARED", ROOT.parent / "shared"))
    if not (folder / "data").is_dir():
        pytest.skip(f"no evaluation data in {folder / 'data'} (set STEELYARD_SHARED)")
    return folder / "data"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say in one line what was missing, and how many tests that skipped."""
    reports = terminalreporter.stats.get("skipped", [])
    reasons = Counter(str(report.longrepr[2]).removeprefix("Skipped: ") for report in reports)
    if reasons:
        parts = (f"{count} {reason}" for reason, count in reasons.most_common())
        terminalreporter.write_line(f"skipped: {'; '.join(parts)}")
