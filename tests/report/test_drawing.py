"""Figures on disk: one chart, three formats, no browser; charts of studies and papers."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import steelyard as sy
from steelyard.core.errors import MissingDependencyError, UsageError
from steelyard.report.figures import drawing, vega
from steelyard.report.figures.curves import draw_curves, draw_reproduction
from steelyard.reproduction.reproduction import Reproduction, Row
from steelyard.studies.study import Curve, Line

NAN = float("nan")
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


def curve(*x: int | str) -> Curve:
    y = np.linspace(0.5, 0.9, len(x))
    line = Line("bt", y, y - 0.1, np.full(len(x), NAN), (9,) * len(x))
    return Curve("a", "all data", "systems", "tau", x, (line,))


@pytest.mark.parametrize("x", [(2, 10, 50), ("news", "speech")])
def test_every_point_and_interval(x, tmp_path):
    pytest.importorskip("vl_convert")
    chart = draw_curves([curve(*x), curve()])
    (panel,) = chart["concat"]  # a curve without points has no panel
    values = panel["data"]["values"]
    assert [row["x"] for row in values] == list(x)
    assert values[0]["y"] == 0.5
    assert values[0]["low"] == pytest.approx(0.4)
    assert values[0]["high"] is None
    drawing.write(chart, tmp_path / "x.svg")
    assert "systems" in (tmp_path / "x.svg").read_text(encoding="utf-8")


def test_no_points_no_figure():
    with pytest.raises(UsageError, match="no curve to draw"):
        draw_curves([curve()])


def test_published_against_ours(tmp_path):
    pytest.importorskip("vl_convert")
    rows = (
        Row("Table 1, x", 0.5, 0.51, verdict="equal"),
        Row("Table 1, y", 0.5, 0.9, verdict="differs", note="other data"),
        Row("Table 2, n", 296, 65, verdict="differs", note="a count is no share"),
        Row("Table 3, z", 0.4, None, verdict="not at hand", note="no data"),
        Row("Figure 1, best", "A", "A", verdict="equal"),
    )
    chart = draw_reproduction(Reproduction("p", "A paper", rows))
    assert [panel["title"]["text"] for panel in chart["concat"]] == ["Table 1"]
    drawing.write(chart, tmp_path / "x.svg")
    text = (tmp_path / "x.svg").read_text(encoding="utf-8")
    for word in ("Table 1, x", "Table 1, y", "differ", "A paper"):
        assert word in text
    with pytest.raises(UsageError, match="nothing to draw"):
        draw_reproduction(Reproduction("p", "A paper", rows[2:]))


def test_names_that_would_steer_a_terminal_are_drawn_as_escapes():
    one = Line("a\x1b[31m", np.array([0.5]), np.array([0.4]), np.array([0.6]), (1,))
    curve = Curve("a", "of b\x1b", "system", "value", ("c\x1b",), (one,))
    assert b"<svg" in drawing.render(draw_curves([curve]), "svg")
    assert drawing.render(draw_curves([curve]), "png")[:4] == b"\x89PNG"
