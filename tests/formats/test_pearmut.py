"""Logs of pearmut: what counts of them, and where spans are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import EvalSet, load

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


def test_one_of_several_campaigns_is_chosen(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"one": [entry()], "two": [entry(), entry("u2")]}))
    assert 'choose one with where={"campaign": "one"}' in refusal(path)
    assert len(load(path, where={"campaign": "two"}).ratings["human"]) == 4
    assert "no campaign 'three'" in refusal(path, where={"campaign": "three"})
