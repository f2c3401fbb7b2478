"""A notebook with every public result: each cell shows words, a table and a figure."""

from __future__ import annotations

from typing import Any

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")
pytestmark = pytest.mark.thorough  # a kernel has to start

SETUP = """
import steelyard as sy
from steelyard.demo import embedded

es = sy.demo_set()
frame = es.select(systems=es.systems[:4]).to_frame("pandas")[["system", "segment", "learned-refA"]]
import pandas as pd
rows = [("A", "B", "left"), ("B", "C", "right"), ("A", "C", "tie")] * 8
battles = pd.DataFrame(rows, columns=["left", "right", "outcome"])
judged = dict(human=list(embedded.RATERS))
"""
#: What is shown, by the class of the result: some; test_public_results.py has all, in no notebook.
CELLS = {
    "Comparison of a frame": 'sy.compare(frame, "learned-refA", by="mean", n_bootstrap=100)',
    "Comparison of battles": "sy.compare_battles(battles, n_bootstrap=100)",
    "MetaEvaluation of paths": (
        'sy.meta_evaluate([embedded.SCORES, embedded.SYSTEM_SCORES], "mqm", by="pa",'
        ' metrics=["learned-refA", "kin-src"], n_bootstrap=100)'
    ),
    "JudgeReport": "sy.judge(embedded.VERDICTS, **judged)",
    "LabelPlan": 'sy.plan_labels(embedded.VERDICTS, **judged, judge="careful-judge")',
    "Study": "sy.studies.power_of_effect(0.3, sizes=[20, 50])",
}


@pytest.fixture(scope="module")
def shown() -> dict[str, dict[str, str]]:
    """What each cell shows, by kind, of one notebook that ran to its end."""
    cells = [nbformat.v4.new_code_cell(code) for code in (SETUP, *CELLS.values())]
    book = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(book, timeout=None, kernel_name="python3").execute()
    found: dict[str, dict[str, str]] = {}
    for name, cell in zip(CELLS, book.cells[1:], strict=True):
        outputs: list[Any] = [one for one in cell.outputs if one.output_type == "execute_result"]
        assert len(outputs) == 1, name
        found[name] = dict(outputs[0].data)
    return found


@pytest.mark.parametrize("name", CELLS)
def test_a_cell_shows_words_table_and_figure(name, shown):
    page = shown[name]["text/html"]
    assert page.count("<p>") >= 1
    assert "<table>" in page
    assert ("<svg" in page) == (name != "LabelPlan")
    assert "<script" not in page
    assert len(page) < 200_000


@pytest.mark.parametrize("name", CELLS)
def test_what_a_result_is_stands_in_a_line(name, shown):
    plain = shown[name]["text/plain"]
    assert len(plain) < 500
    assert plain.count("\n") < 5
