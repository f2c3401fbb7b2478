"""Whatever is too small, the same everywhere or missing: a reason instead of a number."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard.core.errors import SteelyardError
from steelyard.core.table import dumps
from steelyard.data.verdicts import OF_PAIRS, POINTS_OF_LEFT, Opinion, Verdicts
from steelyard.judging.report import CLASSES, TOO_LITTLE, judge

LABELS = st.sampled_from([-2, -1, 0, 0, 1, 1, 2])


def _opinion(name: str, labels: list[int], values: Any = None) -> Opinion:
    own = np.array(labels, dtype=np.int32)
    numbers = np.array(POINTS_OF_LEFT) if values is None else values
    return Opinion(name, np.where(own < 0, np.nan, numbers[np.maximum(own, 0)]), own)


@st.composite
def small_verdicts(draw: Any) -> Verdicts:
    """Few rows, few systems, gaps everywhere: pairs, grades, labels or scores."""
    n = draw(st.integers(1, 40))
    kind = draw(st.sampled_from(["pairs", "grades", "labels", "scores"]))
    codes = st.lists(LABELS, min_size=n, max_size=n)
    values = {"pairs": None, "grades": np.arange(1.0, 4), "labels": np.full(3, np.nan),
              "scores": np.array([0.1, 0.4, 7.0])}[kind]  # fmt: skip

    def made(name: str, *, both: bool = False) -> Opinion:
        own = _opinion(name, draw(codes), values)
        if kind == "scores":
            own = Opinion(name, own.value)
        if both and kind == "pairs" and draw(st.booleans()):
            other = np.array(draw(codes), dtype=np.int32)
            own = Opinion(name, own.value, own.label, other)
        if both and kind == "grades" and draw(st.booleans()):
            own = Opinion(name, own.value, own.label, None, np.stack([own.value, own.value]))
        return own

    n_systems = draw(st.integers(0, min(6, n)))
    k = max(n_systems, 1)
    sides = [np.array(draw(st.lists(st.integers(0, k - 1), min_size=n, max_size=n)),
                      dtype=np.int32) for _ in range(2)]  # fmt: skip
    units = draw(st.integers(0, 3))
    unit = np.arange(n, dtype=np.int32) % max(units, 1)
    length = draw(st.sampled_from([None, 0.0, np.nan, 1.0]))
    return Verdicts(
        kind="pairs" if kind == "pairs" else "points",
        items=tuple(map(str, range(n))),
        item=np.arange(n, dtype=np.int32),
        judges=tuple(made(f"gpt-{j}", both=True) for j in range(draw(st.integers(1, 4)))),
        raters=tuple(made(f"r{j}") for j in range(draw(st.integers(1, 3)))),
        categories={"pairs": OF_PAIRS, "scores": ()}.get(kind, ("1", "2", "3")),
        ordered=kind != "labels",
        systems=tuple(f"gpt-s{j}" if j % 2 else f"s{j}" for j in range(n_systems)),
        left=sides[0] if n_systems else None,
        right=sides[1] if n_systems and kind == "pairs" else None,
        units=tuple(f"u{j}" for j in range(units)),
        unit=unit if units else None,
        covariates={} if length is None else {"length": np.where(np.arange(n) % 2, length, -1.0)},
    )


def reasons_of(found: Any, place: str = "") -> list[str]:
    """List the places whose value is undefined without a reason."""
    if isinstance(found, dict):
        own = [place] if {"value", "why"} <= found.keys() and found["value"] is None and (
            not found["why"]) else []  # fmt: skip
        return own + [p for key, one in found.items() for p in reasons_of(one, f"{place}.{key}")]
    if isinstance(found, list):
        return [p for n, one in enumerate(found) for p in reasons_of(one, f"{place}.{n}")]
    return []


def _intervals(found: Any) -> list[tuple[float, list[float]]]:
    if isinstance(found, dict):
        own = [(found["value"], found["ci"])] if found.get("ci") and "value" in found else []
        return own + [p for one in found.values() for p in _intervals(one)]
    return [p for one in found for p in _intervals(one)] if isinstance(found, list) else []


@given(small_verdicts())
def test_any_small_table_has_a_card(verdicts):
    report = judge(verdicts, require=["kappa.low>=0.4", "abs(position.bias)<=0.1", "gap.high<=1"])
    text = dumps(report.to_dict())
    found = json.loads(text, parse_constant=lambda word: pytest.fail(f"{word} in JSON"))
    assert reasons_of(found) == []
    for value, (low, high) in _intervals(found):
        assert low is None or value is None or low - 1e-9 <= value
        assert high is None or value is None or value <= high + 1e-9
    for own in found["judges"]:
        assert own["verdict"] in (*CLASSES, TOO_LITTLE)
        assert own["reasons"]
    assert report.summary()
    assert "nan" not in report.summary()
    assert report.table().text()
    assert report.exit_code in (0, 3, 4)
    assert dumps(judge(verdicts).to_dict()["judges"]) == dumps(report.to_dict()["judges"])


def test_a_judge_against_itself_in_both_orders():
    """Always the first: nothing is consistent, and all flips go to the first place."""
    n = 60
    human = _opinion("r", [0, 2] * 30)
    own = _opinion("gpt", [2] * n)
    other = np.zeros(n, dtype=np.int32)
    verdicts = Verdicts("pairs", tuple(map(str, range(n))), np.arange(n, dtype=np.int32),
                        (Opinion("gpt", np.full(n, 0.5), own.label, other),), (human,), OF_PAIRS,
                        ordered=True)  # fmt: skip
    found = judge(verdicts)
    place = found.cards[0].position
    assert (place.consistent.value, place.first, place.second) == (0, 60, 0)
    assert found.cards[0].accuracy.value == 0.5


WORDS = st.sampled_from(["left", "right", "tie", "A", "B", "", "1", "2", "0", "pass", "fail", "?"])
COLUMNS = st.sampled_from(
    ["item", "system", "left", "right", "human", "human2", "gpt", "claude", "run", "prompt",
     "gpt_12", "gpt_21", "chars_left", "chars_right", "rater", "judge"]
)  # fmt: skip


@given(st.lists(COLUMNS, min_size=2, max_size=8, unique=True), st.data())
def test_any_small_file_has_a_card_or_a_line(names, data):
    n = data.draw(st.integers(1, 12))
    columns = {name: data.draw(st.lists(WORDS, min_size=n, max_size=n)) for name in names}
    if data.draw(st.booleans()):
        columns["item"] = [str(row) for row in range(n)]
    human = [name for name in ("human", "human2") if name in columns]
    try:
        found = judge(pl.DataFrame(columns), human=human)
    except SteelyardError as error:
        assert len(str(error).splitlines()) == 1  # noqa: PT017
        return
    told = json.loads(dumps(found.to_dict()))
    assert reasons_of(told) == []
    assert "nan" not in found.summary()


@pytest.mark.parametrize(("factor", "warned"), [(1, False), (2, True), (0.5, True)])
def test_grades_on_another_scale_are_named(tmp_path: Path, factor: float, warned: bool):
    human = [1, 2, 3, 4, 5] * 12
    rows = [f"{i},{grade},{grade * factor:g}" for i, grade in enumerate(human)]
    path = tmp_path / "grades.csv"
    path.write_text("\n".join(["id,human,gpt", *rows]))
    result = sy.judge(path, human=["human"], judges=["gpt"])
    assert any("gpt grades up to" in warning for warning in result.warnings) == warned
