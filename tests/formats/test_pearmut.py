"""Logs of pearmut: what counts of them, and where spans are."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from steelyard import load
from steelyard.cli.main import run
from steelyard.data.judgements import ErrorSpan

SAMPLES = Path(__file__).parent / "samples" / "pearmut"
LOG = SAMPLES / "data" / "annotations" / "made_up_esa.jsonl"
Refusal = Callable[..., str]


def entry(person: str = "u1", item_i: Any = 0, **more: Any) -> dict[str, Any]:
    item = {"src": "Hi.", "tgt": {"A": "Ja 😀 so.", "B": "Nein."}}
    judged = {"A": {"score": 50, "error_spans": []}, "B": {"score": 60, "error_spans": []}}
    return {"user_id": person, "item_i": item_i, "item": [item], "annotation": [judged]} | more


def written(path: Path, *entries: Any) -> Path:
    path.write_text("".join(json.dumps(e) + "\n" for e in entries), encoding="utf-8")
    return path


@pytest.mark.parametrize("path", [LOG, SAMPLES / "annotations.json"], ids=["log", "download"])
def test_a_log_is_a_set_with_texts_and_ratings(path: Path) -> None:
    es = load(path)
    assert es.systems == ("sysA", "sysB")
    assert es.segments.ids == ("d1_#_0", "d1_#_1", "d2_#_0", "d2_#_1", "d3_#_0")
    assert es.segments.documents == ("d1", "d1", "d2", "d2", "d3")
    assert es.segments.references["ref"][:2] == ("Die Katze schläft.", None)
    assert es.outputs["sysB"][2] == "Wir ließen früh 😀 los."
    # The second entry of the one, what the other said after the reset; nobody scored d2_#_1.
    means = [(97 + 90) / 2, (99 + 92) / 2, 88.0, np.nan, 100.0]
    assert str(es["human"].values[0].tolist()) == str(means)
    assert es["human"].values[1, :2].tolist() == [(55 + 65) / 2, (70 + 75) / 2]
    ratings = es.ratings["human"]
    assert len(ratings) == 12
    assert ratings.raters == ("grandiose-colt-404", "round-backyard-074")
    assert ratings.item is None
    said = "\n".join(es.notes)
    assert "attention checks passed: " in said
    assert "2 outputs without a score or a span left out" in said
    assert "shared equally" in said


def test_spans_count_characters_and_exclude_their_end() -> None:
    ratings = load(LOG).ratings["human"]
    assert ratings.errors is not None
    segment, system = ratings.segments.index("d2_#_0"), ratings.systems.index("sysB")
    (row,) = np.flatnonzero((ratings.segment == segment) & (ratings.system == system))
    assert ratings.errors[row] == (ErrorSpan("", "major", 4, 9), ErrorSpan("", "minor", 19, 20))


def test_a_span_behind_the_end_is_an_omission(tmp_path: Path) -> None:
    spans = [{"start_i": 9, "end_i": 9, "severity": "minor"},
             {"start_i": 3, "end_i": 4, "severity": "major", "category": "style"}]  # fmt: skip
    judged = {"A": {"score": 50, "error_spans": spans}}
    es = load(written(tmp_path / "x.jsonl", entry(annotation=[judged])))
    assert es.ratings["human"].errors == (
        (ErrorSpan("", "minor", None, None), ErrorSpan("style", "major", 3, 4)),
    )
    assert any("1 span behind the end of the output" in note for note in es.notes)


def test_documents_without_ids_are_told_by_their_texts(tmp_path: Path) -> None:
    other = {"src": "Bye.", "tgt": {"A": "Tja.", "B": "Na."}}
    entries = [entry("u1"), entry("u2"), entry("u3", item=[other])]
    es = load(written(tmp_path / "x.jsonl", *entries))
    assert es.segments.ids == ("doc0.2/0", "doc0/0") or es.segments.ids == ("doc0/0", "doc0.2/0")
    assert es.segments.sources is not None
    assert sorted(filter(None, es.segments.sources)) == ["Bye.", "Hi."]
    assert len(es.ratings["human"]) == 6


def test_a_person_may_meet_a_document_again_with_other_systems(tmp_path: Path) -> None:
    """A dynamic campaign: three systems on a screen; the last rating of an output counts."""
    rng = np.random.default_rng(5)
    expected: dict[tuple[str, str, str], float] = {}
    screens, n_shown = [], 0
    for _ in range(60):
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
        screens.append(entry(person, document, item=items, annotation=judged, actions=actions))
        n_shown += 6
        for name, row in zip(names, judged, strict=True):
            expected |= {(person, name, s): own["score"] for s, own in row.items()}
    es = load(written(tmp_path / "x.jsonl", *screens))
    ratings = es.ratings["human"]
    read = {
        (ratings.raters[r], ratings.segments[g], ratings.systems[s]): value
        for r, g, s, value in zip(
            ratings.rater, ratings.segment, ratings.system, ratings.value, strict=True
        )
    }
    assert len(ratings) == len(expected)
    assert read == expected
    assert ratings.seconds is not None
    assert set(ratings.seconds.tolist()) == {10.0}  # a minute for six outputs
    assert any(f" {n_shown - len(expected)} ratings of an output" in note for note in es.notes)


def test_a_later_screen_without_an_answer_counts(tmp_path: Path) -> None:
    """Who submits a document again without an answer takes the first answer back."""
    entries = [entry(), entry("u2"), entry(annotation=[None])]
    es = load(written(tmp_path / "x.jsonl", *entries))
    assert es.ratings["human"].raters == ("u2",)


def test_sliders_stand_for_a_score(tmp_path: Path) -> None:
    judged: dict[str, Any] = {
        "A": {"score": None, "error_spans": [], "sliders": {"x": 40, "y": 80, "z": None}}
    }
    es = load(written(tmp_path / "x.jsonl", entry(annotation=[judged])))
    assert es.ratings["human"].value.tolist() == [60]


def test_a_log_without_any_score_is_mqm(tmp_path: Path) -> None:
    judged: dict[str, Any] = {
        "A": {"score": None, "error_spans": []},
        "B": {"score": None, "error_spans": []},
    }
    es = load(written(tmp_path / "x.jsonl", entry(annotation=[judged])))
    assert not es.scores
    assert es.ratings["human"].errors == ((), ())


def test_older_logs_have_no_lists(tmp_path: Path) -> None:
    one = entry()
    one |= {"item": one["item"][0], "annotation": one["annotation"][0]}
    assert load(written(tmp_path / "x.jsonl", one))["human"].values.tolist() == [[50], [60]]


def test_forms_and_gaps_are_counted(tmp_path: Path) -> None:
    items = [{"item_id": n, "src": n, "tgt": {"A": n}} for n in "abcd"]
    judged = [None, "yes", {"A": None}, {"A": {"score": 5, "error_spans": []}}]
    es = load(written(tmp_path / "x.jsonl", entry(item=items, annotation=judged)))
    assert len(es.ratings["human"]) == 1
    said = "\n".join(es.notes)
    for what in ("item without an answer", "item with the answer of a form", "output without an"):
        assert f"1 {what}" in said


def test_attention_checks_are_counted_by_rater(tmp_path: Path) -> None:
    checks = [
        entry("u1", item_i="random_0", validations=[True]),
        entry("u1", item_i="random_1", validations=[False]),
        entry("u2", item_i="random_0", validations=[None]),
    ]
    es = load(written(tmp_path / "x.jsonl", entry("u1"), *checks))
    assert any(note.endswith("attention checks passed: u1 1 of 2, u2 0 of 0") for note in es.notes)
    assert es.n_segments == 1


def test_one_of_several_campaigns_is_chosen(tmp_path: Path, refusal: Refusal) -> None:
    path = tmp_path / "annotations.json"
    path.write_text(json.dumps({"one": [entry()], "two": [entry(), entry("u2")]}))
    assert 'choose one with where={"campaign": "one"}' in refusal(path)
    assert len(load(path, where={"campaign": "two"}).ratings["human"]) == 4
    assert "no campaign 'three'" in refusal(path, where={"campaign": "three"})


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"user_id": None}, "'user_id' is None, expected a name"),
        ({"item_i": []}, "'item_i' is [], expected a name"),
        ({"item": 5}, "'item' is 5, expected a list"),
        ({"annotation": []}, "expected a list of 1, as many as items"),
        ({"annotation": 5}, "'annotation' is 5, expected a list"),
        ({"annotation": [{"A": 5}]}, "'annotation[0].A' is 5, expected an object"),
        ({"annotation": [{"A": {"score": "x"}}]}, "'annotation[0].A.score' is 'x'"),
        ({"annotation": [{"A": {"error_spans": 1}}]}, "expected a list"),
        ({"annotation": [{"A": {"error_spans": [{"start_i": "a"}]}}]}, "expected a whole number"),
        ({"actions": [{"time": "x"}]}, "'actions[0].time' is 'x'"),
        ({"item": [{"src": 5, "tgt": {}}]}, "'item[0].src' is 5"),
        ({"item": [{"src": "a", "tgt": "b"}]}, "'item[0].tgt' is 'b', expected an object"),
        ({"item_i": "random_0", "validations": [5]}, "expected a list of true, false or null"),
    ],
)
def test_bad_logs_are_refused(
    tmp_path: Path, refusal: Refusal, change: dict[str, Any], words: str
) -> None:
    path = written(tmp_path / "x.jsonl", entry("u0"), entry() | change)
    message = refusal(path)
    assert f"{path}:2" in message
    assert words in message


def test_nothing_left_is_refused(tmp_path: Path, refusal: Refusal) -> None:
    reset = {"user_id": "u1", "annotation": "__RESET__"}
    path = written(tmp_path / "x.jsonl", entry(), reset)
    assert "holds no judgement" in refusal(path)


def test_human_evaluation_from_the_command_line(capsys: Any, tmp_path: Path) -> None:
    assert run(["human", str(LOG), "--protocol", "esa", "--json"]) == 0
    result = json.loads(capsys.readouterr().out)
    assert [system["system"] for system in result["systems"]] == ["sysA", "sysB"]
    assert any("attention" in warning for warning in result["warnings"])
    out = tmp_path / "out.jsonl"
    command = ["data", "convert", str(LOG), str(out), "--to", "unified", "--lp", "en-de"]
    assert run([*command, "--anonymise-raters"]) == 0
    again = load(out)
    assert again.ratings["human"].raters == ("rater1", "rater2")
    assert again["human"].values[0, 0] == (97 + 90) / 2
    assert again.segments.documents == ("d1", "d1", "d2", "d2", "d3")
    assert "references, segment ids that begin with their document" in capsys.readouterr().err


def test_labels_join_a_log(tmp_path: Path) -> None:
    table = tmp_path / "labels.csv"
    table.write_text("system,segment,label\nsysA,d1_#_0,1\nsysB,d1_#_0,0\n")
    es = load(LOG, table, human="label")
    assert set(es.human) == {"human", "label"}
