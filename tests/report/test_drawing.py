"""Figures on disk: one chart, three formats, no browser."""

from __future__ import annotations

import sys

import pytest

from steelyard.core.errors import MissingDependencyError, UsageError
from steelyard.report.figures import drawing, labelroom, style

MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<svg", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", drawing.SUFFIXES)
def test_every_format(tmp_path, kind):
    pytest.importorskip("altair")
    path = tmp_path / f"curve.{kind}"
    drawing.write(bars("de-en"), path)
    assert path.read_bytes().startswith(MAGIC[kind])
    if kind == "svg":
        text = path.read_text(encoding="utf-8")
        for word in ("de-en", "other", "value"):
            assert word in text


def test_other_suffixes_are_refused(tmp_path):
    pytest.importorskip("altair")
    with pytest.raises(UsageError, match=r"can't draw '\.gif'; .*png"):
        drawing.write(bars("de-en"), tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["short", "Wide Names, 20 signs", "l" * 31])
def test_limits_that_no_label_reaches_change_nothing(monkeypatch, name):
    pytest.importorskip("altair")

    def drawn():
        return drawing.draw(lambda: bars(name), "c").svg

    config = bars(name).to_dict()["config"]
    cut = labelroom.without_idle_limits(bars(name).to_dict())["config"]
    assert (config["axis"]["labelLimit"], cut["axis"]["labelLimit"]) == (340, 0)
    quick = drawn()
    monkeypatch.setattr(drawing, "without_idle_limits", lambda spec: spec)
    assert quick == drawn()


@pytest.mark.parametrize("name", ["W" * 60, "\N{ARABIC LIGATURE BISMILLAH AR-RAHMAN AR-RAHEEM}"])
def test_limits_that_a_label_may_reach_stay(name):
    pytest.importorskip("altair")
    spec = bars(name).to_dict()
    assert labelroom.without_idle_limits(spec) is spec


def test_limits_stay_where_labels_are_computed():
    pytest.importorskip("altair")
    spec = bars("A").to_dict()
    spec["encoding"]["y"]["axis"] = {"labelExpr": "datum.label + datum.label"}
    assert labelroom.without_idle_limits(spec) is spec


def bars(name):
    chart = style.plot([{"name": name, "value": 1}, {"name": "other", "value": 2}]).mark_bar()
    return style.finish(chart.encode(**style.typed(y="name:N", x="value:Q")))


def test_without_the_libraries_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "altair", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'steelyard\[plots\]'"):
        bars("de-en")
