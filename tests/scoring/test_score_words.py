"""What scores of texts, and KoBE, say in words: who is first, and that nothing was tested."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

import steelyard as sy
from steelyard.core.display import Summary
from steelyard.kobe.alarms import Explanation
from steelyard.kobe.annotations import AnnotatedLinker
from steelyard.kobe.mention import LinkedTexts
from steelyard.kobe.report import KobeReport, SystemEntities

NAN = float("nan")


def scores(lower: tuple[str, ...] = (), **values: Any) -> sy.Scores:
    tables = {name: np.asarray(own, dtype=float) for name, own in values.items()}
    n, s = next(iter(tables.values())).shape
    es = sy.EvalSet(
        tuple("ABCD"[:n]),
        sy.Segments(tuple(map(str, range(s)))),
        {name: sy.ScoreTable(own, higher_is_better=name not in lower)
         for name, own in tables.items()},
    )  # fmt: skip
    return sy.Scores(es, tuple(tables), dict.fromkeys(tables, "v1"))


def checked(told: Summary) -> None:
    assert told.sentences()
    assert 1 <= len(told.brief()) <= 3
    for text in told.sentences():
        assert text.endswith(".")
        assert "nan" not in text
        assert " better" not in text.replace("lower is better", "")
        assert " best" not in text


@given(st.integers(1, 4).flatmap(lambda n: arrays(
    float, (2, n, 3), elements=st.sampled_from([-1.0, 0.0, 1.0, NAN]))))  # fmt: skip
def test_words_never_fail(values):
    found = scores(a=values[0], b=values[1], lower=("b",))
    checked(found.words())
    assert len(repr(found)) < 200


def entities(
    name: str, score: float, kept: int, *, reference: bool = False, recall: float = NAN
) -> SystemEntities:
    return SystemEntities(name, score, recall, 1.0, kept, 10, 12, 0, reference)


def kobe(*systems: SystemEntities, **more: Any) -> KobeReport:
    linked = LinkedTexts(ids=(), sources=(), source_mentions=(), outputs={}, output_mentions={},
                         foreign={})  # fmt: skip
    return KobeReport(
        src="de", tgt="en", against="src", signature="", systems=systems, categories=(),
        n_segments=8, n_without_entities=2, n_source_entities=10, n_missed=0,
        explanation=Explanation(linked, AnnotatedLinker([]), ("de", "en"), {}, ()), **more,
    )  # fmt: skip


@settings(max_examples=20)
@given(st.lists(st.sampled_from([NAN, 0.0, 50.0]), max_size=4))
def test_words_of_kobe_never_fail(values):
    systems = [entities("ABCD"[i], x, 5, reference=i == 3) for i, x in enumerate(values)]
    checked(kobe(*systems).words())
