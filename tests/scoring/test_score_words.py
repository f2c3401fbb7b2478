"""What scores of texts, and KoBE, say in words: who is first, and that nothing was tested."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
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


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (scores(chrf=[[60.0, 61.0], [40.0, 42.0]], ter=[[0.2, 0.3], [0.5, 0.5]], lower=("ter",)),
         "A ranks first of 2 systems on 2 segments by chrf (60.50) and ter."),
        (scores(ter=[[0.2], [0.1]], lower=("ter",)), "by ter (0.1000, lower is better)"),
        (scores(chrf=[[1.0], [1.0], [0.0]], bleu=[[0.0], [0.0], [5.0]]),
         "do not agree on the first place (chrf: A and B; bleu: C)"),
        (scores(chrf=[[50.0, 52.0]]), "A is the only system: there is nothing to compare."),
        (scores(chrf=[[NAN], [NAN]], bleu=[[1.0], [2.0]]), "No output has a score by chrf."),
    ],
)  # fmt: skip
def test_who_is_first_and_what_is_open(made, sentence):
    assert sentence in " ".join(made.words().sentences())


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


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (kobe(entities("A", 90.0, 9), entities("B", 70.0, 7),
              entities("refA", 95.0, 9, reference=True, recall=95.04)),
         "Of 10 mentions of the source, systems keep: A 9, B 7."),
        (kobe(entities("A", 90.0, 9), entities("B", 90.0, 9)), "A and B share first place of 2"),
        (kobe(entities("A", 90.0, 9)), "A is the only system: there is nothing to compare."),
        (kobe(entities("A", NAN, 0)), "no entity was found in the source."),
    ],
)  # fmt: skip
def test_kobe_says_what_is_kept(made, sentence):
    assert sentence in " ".join(made.words().sentences())


@settings(max_examples=20)
@given(st.lists(st.sampled_from([NAN, 0.0, 50.0]), max_size=4))
def test_words_of_kobe_never_fail(values):
    systems = [entities("ABCD"[i], x, 5, reference=i == 3) for i, x in enumerate(values)]
    checked(kobe(*systems).words())
