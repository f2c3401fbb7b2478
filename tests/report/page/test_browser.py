"""The report in a real browser: drawn, sorted, searched, read; silent, offline and safe.

Screenshots are written to STEELYARD_SCREENSHOTS, or to a temporary folder.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import run

METRICS = "COMET-refA,MetricX-23-refA,GEMBA-MQM-src,BLEU-refA,chrF-refA,Random-sysname-src"


@pytest.fixture(scope="session")
def wmt_page(shared, tmp_path_factory) -> Path:
    """The report of WMT23 en-de, with entity mistakes and the errors that raters marked."""
    pytest.importorskip("altair")
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


@contextmanager
def opened(browser: Any, path: Path, width: int = 1440, scheme: str = "light") -> Iterator[Any]:
    """Open a page; whatever it complains about or asks the network for fails the test."""
    page = browser.new_page(viewport={"width": width, "height": 900}, color_scheme=scheme)
    trouble: list[str] = []
    asked: list[str] = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("request", lambda request: asked.append(request.url))
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-ready=yes]", timeout=300_000)
    yield page
    page.close()
    assert trouble == []
    assert asked == [path.as_uri()]


def test_charts_are_drawn(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        marks = page.evaluate(
            "Object.fromEntries([...document.querySelectorAll('figure.chart')].map("
            "f => [f.id, [...f.querySelectorAll('[data-tip]')].filter("
            "m => m.getBBox().width + m.getBBox().height > 0).length]))"
        )
        assert set(marks) >= {"chart-forest", "chart-wins", "chart-density", "chart-metrics"}
        assert marks["chart-forest"] >= 3 * 13
        assert marks["chart-wins"] >= 3 * 13
        assert min(marks.values()) > 0
        mark = page.locator("#chart-wins [data-tip]").first
        mark.scroll_into_view_if_needed()
        mark.hover(position={"x": 3, "y": 3})  # the middle is covered by its number
        tip = page.locator("#tip")
        assert tip.is_visible()
        assert tip.inner_text()


def first_column(page: Any, region: str) -> list[str]:
    found: list[str] = page.eval_on_selector_all(
        f"[aria-label='{region}'] tbody tr", "rows => rows.map(r => r.cells[0].textContent)"
    )
    return found


def test_tables_are_sorted(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        region = "Leaderboard of metrics"
        before = first_column(page, region)
        heading = page.locator(f"[aria-label='{region}'] thead button").first
        heading.focus()
        page.keyboard.press("Enter")
        assert first_column(page, region) == sorted(before, key=str.lower)
        page.keyboard.press("Enter")
        assert first_column(page, region) == sorted(before, key=str.lower, reverse=True)
        cell = page.locator(f"[aria-label='{region}'] thead th").first
        assert cell.get_attribute("aria-sort") == "descending"


def test_the_explorer(browser, wmt_page):
    from playwright.sync_api import expect

    with opened(browser, wmt_page) as page:
        cards = page.locator("#x-list article")
        count = page.locator("#x-count")
        assert cards.count() == 10
        assert count.inner_text() == "1–10 of 557 segments"
        assert page.locator("#x-list mark.diff-a").count() > 0
        assert page.locator("#x-list mark.diff-b").count() > 0
        page.select_option("#x-sort", label="difference of A and B")
        gaps = page.eval_on_selector_all(
            "#x-list article",
            "all => all.map(a => [...a.querySelectorAll('tr')].at(-1).cells[3].textContent)"
            ".map(text => Math.abs(Number(text)))",
        )
        assert gaps == sorted(gaps, reverse=True)
        assert gaps[0] > 0
        page.click("#x-next")
        assert count.inner_text() == "11–20 of 557 segments"
        page.select_option("#x-domain", label="news")
        news = int(count.inner_text().split()[-2])
        assert 0 < news < 557
        assert "news" in cards.first.locator("h3").inner_text()
        page.select_option("#x-domain", label="all")
        page.fill("#x-search", "zzzz no such words")
        expect(count).to_have_text("No segment matches.")
        page.fill("#x-search", "")
        page.select_option("#x-sort", label="order of the set")
        page.select_option("#x-a", label="ONLINE-B")
        expect(count).to_have_text("1–10 of 557 segments")
        fourth = cards.nth(3)
        assert "missing number" in fourth.inner_text()
        assert fourth.locator("mark.wrong").count() > 0


def test_a_cell_of_the_matrix_opens_its_pair(browser, wmt_page):
    with opened(browser, wmt_page) as page:
        page.locator("#significance td[data-pair]").nth(2).click()
        chosen = page.evaluate(
            "['x-a', 'x-b'].map(id => document.getElementById(id).selectedOptions[0].textContent)"
        )
        row = page.locator("#significance .matrix tbody tr").first.locator("th").inner_text()
        assert chosen[0] == row
        assert chosen[1] != row


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (900, "dark"), (1440, "light")])
def test_readable_at_every_width(browser, wmt_page, pictures, width, scheme):
    with opened(browser, wmt_page, width, scheme) as page:
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
        assert paint < 2000
        page.screenshot(path=pictures / f"wmt23-en-de-{width}-{scheme}.png")
        for name in ("rankings", "metrics", "segments"):
            page.evaluate(
                "name => document.getElementById(name).scrollIntoView({behavior: 'instant'})", name
            )
            page.screenshot(path=pictures / f"wmt23-en-de-{width}-{scheme}-{name}.png")


def test_hostile_names_are_inert(browser, hostile_page, pictures):
    with opened(browser, hostile_page, 900) as page:
        assert page.evaluate("window.hacked") is None
        for select in ("#x-a", "#x-b", "#x-score", "#x-sort", "#x-domain", "#x-reference"):
            page.select_option(select, index=1)
        page.select_option("#x-domain", label="all")
        page.locator("#x-list details summary").first.click()
        assert page.locator("#x-list mark.wrong").count() > 0
        page.locator("#significance td[data-pair]").first.hover()
        page.locator("main th button").first.click()
        assert page.evaluate("window.hacked") is None
        assert page.locator("img, iframe, object, embed, link, base").count() == 0
        assert page.locator("script:not([type])").count() == 1
        page.screenshot(path=pictures / "hostile.png")


def test_nothing_runs_but_the_inlined_code(browser, hostile_page):
    """The policy is not a mere line in the file: it refuses code that is put into the page."""
    page = browser.new_page()
    page.goto(hostile_page.as_uri())
    page.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.hacked = 1';"
        " document.body.append(s); }"
    )
    assert page.evaluate("window.hacked") is None
    page.close()
