"""Figures on disk: one chart, three formats, no browser."""

from __future__ import annotations

import sys

import pytest

import steelyard as sy
from steelyard.core.errors import MissingDependencyError, UsageError
from steelyard.report.figures import drawing, vega

MAGIC = {"png": b"\x89PNG\r\n", "svg": b"<svg", "pdf": b"%PDF"}


@pytest.mark.parametrize("kind", drawing.SUFFIXES)
def test_every_format(tmp_path, kind):
    pytest.importorskip("vl_convert")
    path = tmp_path / f"curve.{kind}"
    drawing.write(bars("de-en"), path)
    assert path.read_bytes().startswith(MAGIC[kind])
    if kind == "svg":
        text = path.read_text(encoding="utf-8")
        for word in ("de-en", "other", "value"):
            assert word in text


def test_other_suffixes_are_refused(tmp_path):
    pytest.importorskip("vl_convert")
    with pytest.raises(UsageError, match=r"can't draw '\.gif'; .*png"):
        drawing.write(bars("de-en"), tmp_path / "x.gif")
    assert list(tmp_path.iterdir()) == []


def bars(name):
    rows = [{"name": name, "value": 1}, {"name": "other", "value": 2}]
    drawn = vega.mark("bar", rows, y=vega.category("name"), x=vega.amount("value", "value"))
    return vega.finish(drawn)


def test_a_figure_is_saved_and_shown_in_a_notebook(tmp_path):
    pytest.importorskip("vl_convert")
    figure = sy.compare(sy.demo_set(), "mqm", by="mean", n_bootstrap=10).plot("forest")
    figure.save(tmp_path / "f.svg")
    assert (tmp_path / "f.svg").read_text(encoding="utf-8") == figure._repr_svg_()
    assert figure["$schema"].startswith("https://vega.github.io/schema/vega-lite/")


def test_without_the_library_the_command_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(MissingDependencyError, match=r"pip install 'steelyard\[plots\]'"):
        drawing.render(bars("de-en"), "svg")
