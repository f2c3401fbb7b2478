"""Several inputs become one set by the names of systems and segments, and nothing is guessed."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard import EvalSet, load
from steelyard.cli.main import run

Refusal = Callable[..., str]


@pytest.fixture
def table(tmp_path: Path) -> Callable[..., Path]:
    def write(
        name: str,
        systems: Sequence[str],
        segments: Sequence[object],
        score: str = "x",
        plus: float = 0,
    ) -> Path:
        rows = [
            f"{system},{segment},{i * 10 + j + plus}"
            for i, system in enumerate(systems)
            for j, segment in enumerate(segments)
        ]
        path = tmp_path / f"{name}.csv"
        path.write_text("\n".join([f"system,segment,{score}", *rows]))
        return path

    return write


Write = Callable[..., Path]


def test_union_of_systems_and_segments(table: Write) -> None:
    es = load(table("a", ["A", "B"], ["s1", "s2"], "x"), table("b", ["C", "B"], ["s2", "s3"], "y"))
    assert es.systems == ("A", "B", "C")
    assert es.segments.ids == ("s1", "s2", "s3")
    nan = np.nan
    assert np.array_equal(es["x"].values, [[0, 1, nan], [10, 11, nan], [nan] * 3], equal_nan=True)
    assert np.array_equal(es["y"].values, [[nan] * 3, [nan, 10, 11], [nan, 0, 1]], equal_nan=True)
    assert any("'C'" in note for note in es.notes)


def test_a_file_for_each_model_that_names_it(table: Write) -> None:
    es = load(table("one", ["A"], [1, 2, 3]), table("two", ["B"], [1, 2, 3], plus=5))
    assert es.systems == ("A", "B")
    assert es["x"].values.tolist() == [[0, 1, 2], [5, 6, 7]]
    assert not es.notes
    with pytest.raises(sy.SteelyardError, match="shares no system"):
        load(table("one", ["A"], [1, 2]), table("two", ["B"], [1, 2], score="y"))


def test_order_of_inputs_does_not_matter(table: Write) -> None:
    one, two = table("a", ["B", "A"], [10, 9], "x"), table("b", ["A", "B"], [9, 10], "y")
    assert load(one, two).identical(load(two, one))


def test_zero_and_minus_zero_conflict_or_keep_the_first(tmp_path: Path) -> None:
    one, two = tmp_path / "a.csv", tmp_path / "b.csv"
    one.write_text("system,segment,x\nA,1,0.0\n")
    two.write_text("system,segment,x\nA,1,-0.0\n")
    assert load(one, one)["x"].values.tobytes() == np.zeros((1, 1)).tobytes()
    assert load(one, two)["x"].values.tolist() == [[0.0]]


def test_system_table_joins_by_system(table: Write, tmp_path: Path) -> None:
    system = tmp_path / "s.csv"
    system.write_text("system,x,y\nB,5,6\nA,7,8\n")
    es = load(table("a", ["A", "B"], [1]), system)
    assert es["x"].system_scores is not None
    assert es["x"].system_scores.tolist() == [7.0, 5.0]
    assert es["x"].values.tolist() == [[0.0], [10.0]]
    assert not es["y"].has_segments


def test_sets_and_frames_join_too(table: Write) -> None:
    es = load(table("a", ["A"], [1]))
    assert isinstance(es, EvalSet)
    both = load(es, table("b", ["A"], [1], "y"))
    assert list(both.scores) == ["x", "y"]
    assert [Path(i.path).name for i in both.inputs] == ["a.csv", "b.csv"]


def _two_tables(tmp_path):
    human, metrics = tmp_path / "human.csv", tmp_path / "metrics.csv"
    rows = [(system, segment) for system in "ABC" for segment in "12"]
    human.write_text(
        "system,segment,mqm,esa\n"
        + "".join(f"{s},{g},{i},{i % 4}\n" for i, (s, g) in enumerate(rows))
    )
    metrics.write_text(
        "system,segment,m1,m2\n" + "".join(f"{s},{g},{i},{-i}\n" for i, (s, g) in enumerate(rows))
    )
    return human, metrics


def test_neighbours_of_the_human_score_are_human_whenever_it_is_named(tmp_path, capsys):
    files = _two_tables(tmp_path)
    options: dict[str, Any] = {"by": "pa", "intervals": None}
    loaded = sy.load(*files)
    assert loaded.human == ()
    later = sy.meta_evaluate(loaded, "mqm", **options)
    at_once = sy.meta_evaluate(files, "mqm", **options)
    run(["meta", *map(str, files), "--human", "mqm", "--by", "pa", "--intervals", "none", "--json"])
    command = json.loads(capsys.readouterr().out)["results"]
    values = {result["metric"]: result["value"] for result in command}
    assert later.values("pa") == at_once.values("pa") == values
    assert set(values) == {"m1", "m2"}
    assert sy.load(*files, human="mqm").human == loaded.with_human("mqm").human == ("esa", "mqm")


def test_neighbours_stay_metrics_where_that_is_said_or_nothing_else_has_scores(tmp_path):
    human, metrics = _two_tables(tmp_path)
    loaded = sy.load(human, metrics, kind={"metric": ["esa"]})
    assert loaded.with_human("mqm").human == ("mqm",)
    assert sy.load(human).with_human("mqm").human == ()
    # A set that was loaded from two tables keeps what it knows when a third one joins it.
    third = tmp_path / "third.csv"
    third.write_text("system,segment,m3\nA,1,1\nB,1,2\n")
    assert sy.load(sy.load(human, metrics), third, human="mqm").human == ("esa", "mqm")
