"""A browser for the tests: Debian's Chromium, or the one that STEELYARD_CHROMIUM names."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.report.page.sets import hostile_set, read_set

from steelyard.cli.main import run
from steelyard.report.options import ReportOptions
from steelyard.report.page import make_report


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


@pytest.fixture
def no_charts(monkeypatch) -> None:
    """As if the plotting library was not installed, which also saves its time."""
    monkeypatch.setitem(sys.modules, "vl_convert", None)


@pytest.fixture(scope="session")
def hostile_page(tmp_path_factory) -> Path:
    """A report of the hostile set."""
    es, marks = hostile_set()
    path: Path = tmp_path_factory.mktemp("hostile") / "report.html"
    found = make_report(
        es, "human</script>", mistakes=marks, options=ReportOptions(n_bootstrap=20, n_resamples=20)
    )
    found.save(path)
    return path


METRICS = "COMET-refA,MetricX-23-refA,GEMBA-MQM-src,BLEU-refA,chrF-refA,Random-sysname-src"


@pytest.fixture(scope="session")
def wmt_page(shared, tmp_path_factory) -> Path:
    """The report of WMT23 en-de, with entity mistakes and the errors that raters marked."""
    pytest.importorskip("vl_convert")
    folder = shared / "wmt23-metrics"
    out: Path = tmp_path_factory.mktemp("wmt") / "report.html"
    mistakes = out.with_name("mistakes.jsonl")
    mistakes.write_text(
        '{"system": "ONLINE-B", "segment": "3", "kind": "missing number", "start": 0, "end": 4}\n',
        encoding="utf-8",
    )
    names = ("human.csv.gz", "metrics.seg.csv.gz", "metrics.sys.csv", "text.jsonl.gz")
    inputs = [str(folder / f"en-de.{name}") for name in names]
    options = ["--human", "mqm", "--lp", "en-de", "--metrics", METRICS, "--bootstrap", "50",
               "--resamples", "50", "--entities", str(mistakes), "--quiet",
               "--ratings", str(folder / "en-de.mqm_errors.jsonl.gz")]  # fmt: skip
    assert run(["report", *inputs, *options, "--out", str(out)]) == 0
    return out


@pytest.fixture(scope="session")
def pictures(tmp_path_factory) -> Path:
    """Where screenshots go."""
    named = os.environ.get("STEELYARD_SCREENSHOTS")
    folder: Path = Path(named) if named else tmp_path_factory.mktemp("screenshots")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def read_page(tmp_path_factory) -> Path:
    """A report of a small set that has everything, made once."""
    pytest.importorskip("vl_convert")
    path: Path = tmp_path_factory.mktemp("read") / "report.html"
    make_report(read_set(), "mqm", options=ReportOptions(n_bootstrap=50, n_resamples=50)).save(path)
    return path
