"""Charts of studies and papers hold every point."""

from __future__ import annotations

import numpy as np
import pytest

from steelyard.core.errors import UsageError
from steelyard.report.figures import drawing
from steelyard.report.figures.curves import draw_curves, draw_reproduction
from steelyard.reproduction.reproduction import Reproduction, Row
from steelyard.studies.study import Curve, Line

pytest.importorskip("vl_convert")
NAN = float("nan")


def curve(*x: int | str) -> Curve:
    y = np.linspace(0.5, 0.9, len(x))
    line = Line("bt", y, y - 0.1, np.full(len(x), NAN), (9,) * len(x))
    return Curve("a", "all data", "systems", "tau", x, (line,))


@pytest.mark.parametrize("x", [(2, 10, 50), ("news", "speech")])
def test_every_point_and_interval(x, tmp_path):
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
