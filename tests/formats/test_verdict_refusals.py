"""Tables of verdicts that can't be read: one line that names the file and what is wrong."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard.core.errors import SteelyardError
from steelyard.formats.verdicts.read import VerdictReading, read_verdicts

Refusal = Callable[..., str]


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def refused(refusal: Refusal, *sources: Any, **how: Any) -> str:
    return refusal(lambda: read_verdicts(sources, VerdictReading(**how)))


def test_nothing_to_read(refusal: Refusal):
    assert "nothing to read" in refused(refusal)
    assert "expected a file or a frame, got a int" in refused(refusal, 7)
    assert "no such file" in refused(refusal, "/nowhere/x.csv").casefold()


@pytest.mark.parametrize(
    ("text", "how", "said"),
    [
        ("item,gpt\n1,2\n", {}, "human: which columns are labels of people?"),
        ("item,human\n1,2\n", {"human": ["human"]}, "no column holds verdicts beside those"),
        ("human\n2\n", {"human": ["human"]}, "no column holds verdicts beside those"),
        ("item,human,gpt\n1,2,2\n", {"human": ["humna"]}, "no column 'humna'; did you mean 'human"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "judges": ["gtp"]}, "did you mean 'gpt'"),
        ("item,human,gpt\n1,2,2\n", {"human": ["gpt"], "judges": ["gpt"]}, "which is it?"),
        ("item,left,human,gpt\n1,A,left,left\n", {"human": ["human"]}, "'left' without its other"),
        ("item,human,gpt\n1,2,2\n,1,1\n", {"human": ["human"]}, ":3: column 'item' is empty"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "where": (("sett", "x"),)},
         "no input has a column 'sett'"),
        ("set,item,human,gpt\nx,1,2,2\n", {"human": ["human"], "where": (("set", "y"),)},
         "no row has set=y"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "columns": (("itm", "item"),)},
         "columns: no role 'itm'"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "columns": (("task", "st"),)},
         "no input has a column 'st'"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "ignore": ("x",)}, "no input has a"),
        ("item,human,gpt\n1,2,2\n", {"human": ["human"], "covariates": ["chars"]},
         "no covariate 'chars'"),
        ("item,judge,a,b\n1,g,2,2\n", {"human": ["a"], "judges": ["g"]}, "human"),
        ("item,rater,foo,bar\n1,r,2,2\n", {}, "which column holds the verdicts of the raters?"),
    ],
)  # fmt: skip
def test_what_is_missing_is_named(tmp_path, refusal: Refusal, text, how, said):
    path = written(tmp_path / "v.csv", text)
    if "judge,a,b" in text:  # labels beside a long table of judges: b holds the verdicts
        found = read_verdicts([path], VerdictReading(**how))
        assert [own.name for own in found.judges] == ["g"]
        return
    assert said in refused(refusal, path, **how)


def test_tables_that_do_not_belong_together(tmp_path, refusal: Refusal):
    judged = written(tmp_path / "j.csv", "item,gpt\na1,1\na2,2\n")
    labelled = written(tmp_path / "h.csv", "item,human\nb1,1\n")
    said = refused(refusal, judged, labelled, human=["human"])
    assert said.startswith(f"{labelled}: no label is of a row that a judge judged: there is item ")
    of_systems = written(tmp_path / "s.csv", "item,system,gpt\na1,X,1\na2,X,2\n")
    said = refused(refusal, of_systems, labelled, human=["human"])
    assert said.startswith(f"{labelled}:2: item 'b1', as all others here, is in no table")


def test_a_label_that_could_be_of_several(tmp_path, refusal: Refusal):
    judged = written(tmp_path / "j.csv", "item,system,gpt\n1,X,1\n1,Y,2\n")
    labelled = written(tmp_path / "h.csv", "item,human\n1,1\n")
    said = refused(refusal, judged, labelled, human=["human"])
    assert said.startswith(f"{labelled}:2: item '1' has 2 rows of several systems")


def test_tables_without_items_can_not_be_joined(tmp_path, refusal: Refusal):
    one, other = (written(tmp_path / n, f"{n[0]}\n1\n2\n") for n in ("gpt.csv", "human.csv"))
    assert "no column names the items" in refused(refusal, one, other, human=["h"], judges=["g"])


def test_a_document_and_an_empty_file(tmp_path, refusal: Refusal):
    assert "JSON document" in refused(refusal, written(tmp_path / "x.json", '{"a": {"b": 1}}'))
    refused(refusal, written(tmp_path / "x.csv", ""))
    refused(refusal, written(tmp_path / "y.csv", "item,human,gpt\n"), human=["human"])


def test_a_folder_of_nothing(tmp_path, refusal: Refusal):
    assert "log" in refused(refusal, tmp_path)


def test_odd_cells_and_names(tmp_path):
    """Huge cells, odd names, infinities, objects: counted, never an accident."""
    odd = "gpt – 4*\n(neu)"
    frame = pl.DataFrame({
        "item": ["a", "ä\tß", "漢", "d", "e"], "human": [1.0, 2, 2, float("nan"), 1],
        odd: [1.0, 2, 1, float("nan"), 2], "inf": [1.0, 2, float("inf"), 1, 1],
    })  # fmt: skip
    found = read_verdicts([frame], VerdictReading(human=["human"]))
    assert {own.name for own in found.judges} == {odd, "inf"}
    assert found.judge("inf").unparsed.sum() == 1
    assert found.judge(odd).answered.sum() == 4
    named = read_verdicts([frame], VerdictReading(human=["human"], judges=[odd]))
    assert [own.name for own in named.judges] == [odd]
    path = written(tmp_path / "v.csv", f'item,human,gpt\n1,2,"{"x" * 300_000}"\n2,1,1\n3,2,2\n')
    assert read_verdicts([path], VerdictReading(human=["human"])).judges[0].unparsed.sum() == 1
    lines = '{"item": 1, "human": 1, "gpt": [1, 2]}\n{"item": 2, "human": 2, "gpt": 2}\n'
    path = written(tmp_path / "v.jsonl", lines)
    assert read_verdicts([path], VerdictReading(human=["human"])).judges[0].unparsed.sum() == 1


CELLS = st.sampled_from(
    ["", "left", "right", "tie", "A", "B", "1", "2", "0", "0.5", "-1", "nan", "pass", "fail", "x",
     "1e400", "é", "left ", '"', "yes", "no"]
)  # fmt: skip
NAMES = st.sampled_from(
    ["item", "system", "left", "right", "human", "gpt", "rater", "judge", "run", "order", "prompt",
     "label", "gpt_12", "gpt_21", "chars_left", "chars_right", "task", "score"]
)  # fmt: skip


@given(st.lists(NAMES, min_size=1, max_size=7, unique=True), st.data())
def test_any_small_table_is_read_or_refused(names, data):
    n = data.draw(st.integers(1, 6))
    columns = {name: data.draw(st.lists(CELLS, min_size=n, max_size=n)) for name in names}
    human = data.draw(st.sampled_from([(), ("human",), ("label",)]))
    try:
        found = read_verdicts([pl.DataFrame(columns)], VerdictReading(human=human))
    except SteelyardError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    assert len(found) <= n
    for own in (*found.judges, *found.raters):
        assert len(own) == len(found)
