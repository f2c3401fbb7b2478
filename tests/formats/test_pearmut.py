"""Logs of pearmut: what counts of them, and where spans are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import EvalSet, load
from steelyard.data.judgements import ErrorSpan

LOG = Path(__file__).parent / "samples" / "pearmut" / "data" / "annotations" / "made_up_esa.jsonl"
Refusal = Callable[..., str]


def entry(person: str = "u1", item_i: Any = 0, **more: Any) -> dict[str, Any]:
    item = {"src": "Hi.", "tgt": {"A": "Ja 😀 so.", "B": "Nein."}}
    judged = {"A": {"score": 50, "error_spans": []}, "B": {"score": 60, "error_spans": []}}
    return {"user_id": person, "item_i": item_i, "item": [item], "annotation": [judged]} | more


def written(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(e) + "\n" for e in entries), encoding="utf-8")
    return path


@pytest.fixture
def read(tmp_path: Path) -> Callable[..., EvalSet]:
    return lambda *entries: load(written(tmp_path / "x.jsonl", *entries))


def test_a_span_behind_the_end_is_an_omission(read: Any) -> None:
    spans = [{"start_i": 9, "end_i": 9, "severity": "minor"},
             {"start_i": 10, "end_i": 10, "severity": "minor"},
             {"start_i": 3, "end_i": 4, "severity": "major", "category": "style"}]  # fmt: skip
    es = read(entry(annotation=[{"A": {"score": 50, "error_spans": spans}}]))
    assert es.ratings["human"].errors == (
        (
            ErrorSpan("", "minor", None, None),
            ErrorSpan("instructions fault", "minor", None, None),
            ErrorSpan("style", "major", 3, 4),
        ),
    )
    assert any("1 span behind the end of the output" in note for note in es.notes)


def test_documents_without_ids_are_told_by_their_texts(read: Any) -> None:
    other = {"src": "Bye.", "tgt": {"A": "Tja.", "B": "Na."}}
    es = read(entry("u1"), entry("u2"), entry("u3", item=[other]))
    assert set(es.segments.ids) == {"doc0.2/0", "doc0/0"}
    assert sorted(es.segments.sources) == ["Bye.", "Hi."]
    assert len(es.ratings["human"]) == 6


def test_a_person_may_meet_a_document_again_with_other_systems(read: Any) -> None:
    """A dynamic campaign: three systems on a screen, and every rating counts."""
    rng = np.random.default_rng(5)
    expected: list[tuple[str, str, str, float]] = []
    screens = []
    for screen in range(60):
        document, person = int(rng.integers(4)), f"u{rng.integers(2)}"
        systems = [f"S{k}" for k in rng.choice(6, 3, replace=False)]
        names = [f"news_###_doc{document}_###_{k}" for k in range(2)]
        items = [{"item_id": name, "src": name, "tgt": dict.fromkeys(systems, name)}
                 for name in names]  # fmt: skip
        scores = rng.integers(0, 101, (2, 3)).tolist()
        judged = [
            {s: {"score": v, "error_spans": []} for s, v in zip(systems, row, strict=True)}
            for row in scores
        ]
        actions = [{"time": 0, "action": "load"}, {"time": 60, "action": "submit"}]
        more = {"item": items, "annotation": judged, "actions": actions}
        screens.append(entry(person, f"{document}.{screen}", **more))  # screens are counted anew
        for name, row in zip(names, judged, strict=True):
            expected += [(person, name, s, own["score"]) for s, own in row.items()]
    items = [{"item_id": "attention_check_1"}, {"item_id": "x_#_tutorial_#_1"}, {}]
    checks = [entry("u1", f"{k}", item=[entry()["item"][0] | item]) for k, item in enumerate(items)]
    es = read(*screens, *checks)
    ratings = es.ratings["human"]
    rows = zip(ratings.rater, ratings.segment, ratings.system, ratings.value, strict=True)
    found = [(ratings.raters[r], ratings.segments[g], ratings.systems[s], v) for r, g, s, v in rows]
    assert sorted(found) == sorted(expected)
    assert set(ratings.seconds) == {10.0}  # a minute for six outputs
    assert set(es.segments.documents) == {f"doc{k}" for k in range(4)}
    assert set(es.segments.domains) == {"news"}


@pytest.mark.parametrize(
    ("entries", "values"),
    [
        ([entry(), entry("u2"), entry(annotation=[None])], [50, 60]),  # u1 takes it back
        ([entry(), {"user_id": "u1", "annotation": "__RESET__"}, entry("u2")], [50, 60]),
        ([entry(), entry("u1", "tutorial_0"), entry("u1", "welcome_0")], [50, 60]),
        (
            [entry() | {"item": entry()["item"][0], "annotation": entry()["annotation"][0]}],
            [50, 60],
        ),
        ([entry(annotation=[{"A": {"sliders": {"x": 40, "y": 80, "z": None}}}])], [60]),
    ],
    ids=["taken back", "reset", "no data", "older", "sliders"],
)
def test_what_counts(read: Any, entries: list[Any], values: list[float]) -> None:
    assert read(*entries).ratings["human"].value.tolist() == values


def test_a_log_without_any_score_is_mqm(read: Any) -> None:
    empty: dict[str, Any] = {"score": None, "error_spans": []}
    es = read(entry(annotation=[{"A": empty, "B": empty}]))
    assert not es.scores
    assert es.ratings["human"].errors == ((), ())


def test_forms_gaps_and_attention_checks_are_counted(read: Any) -> None:
    items = [{"item_id": n, "src": n, "tgt": {"A": n}} for n in "abcd"]
    judged = [None, "yes", {"A": None}, {"A": {"score": 5, "error_spans": []}}]
    es = read(entry(item=items, annotation=judged), entry("u1", item_i="random_0"))
    assert (len(es.ratings["human"]), es.n_segments) == (1, 2)
    notes = "\n".join(es.notes)
    for what in ("item without an answer", "item with the answer of a form", "output without an"):
        assert f"1 {what}" in notes


def test_one_of_several_campaigns_is_chosen(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"one": [entry()], "two": [entry(), entry("u2")]}))
    assert 'choose one with where={"campaign": "one"}' in refusal(path)
    assert len(load(path, where={"campaign": "two"}).ratings["human"]) == 4
    assert "no campaign 'three'" in refusal(path, where={"campaign": "three"})
