"""What campaigns need: severities without a weight, people with several logins, attention tests."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import steelyard as sy
from steelyard import human_scores
from steelyard.core.errors import InputError, SteelyardError, UsageError
from steelyard.data.judgements import ErrorSpan, Ratings
from steelyard.human import raters

NAN = float("nan")


def errors(path: Path, *severities: str | None, **more: Any) -> Path:
    """Write one rating per severity, of systems A and B by turns."""
    rows = [
        {"rater": f"r{k}", "system": "AB"[k % 2], "seg": k // 2, "value": 10.0 * k,
         "errors": [{"category": None, "severity": severity}], **more}
        for k, severity in enumerate(severities)
    ]  # fmt: skip
    path.write_text("".join(json.dumps(own) + "\n" for own in rows))
    return path


# Severities without a weight.


def test_mqm_names_and_counts_every_severity_without_a_weight(tmp_path):
    path = errors(tmp_path / "x.jsonl", "minor", "undecided", "odd", None, "undecided", "")
    said = (
        r"x\.jsonl:2: severities 'undecided' \(2 errors\), 'odd' \(1 error\), 'none' \(2 errors\) "
        r"have no weight; .*weights=FILE.toml sets one"
    )
    with pytest.raises(InputError, match=said):
        human_scores(path, protocol="mqm")
    ratings = Ratings.from_labels(
        ["A"] * 2, ["1", "2"], ["r"] * 2, np.full(2, NAN),
        errors=((ErrorSpan("x", "odd"), ErrorSpan("x", "odd")), (ErrorSpan("x", "minor"),)),
    )  # fmt: skip
    with pytest.raises(UsageError, match=r"^severity 'odd' \(2 errors\) has no weight"):
        human_scores(ratings, protocol="mqm")


def test_esa_ranks_without_weights(tmp_path):
    path = errors(tmp_path / "x.jsonl", "minor", "undecided", "odd", None)
    result = human_scores(path, protocol="esa", n_bootstrap=0)
    assert {s.system: s.score for s in result.systems} == {"A": 10, "B": 20}
    assert set(result.averages.values) == {"esa"}
    assert not any("weight" in warning for warning in result.warnings)


def test_severities_of_control_items_need_no_weight(tmp_path):
    path = tmp_path / "x.jsonl"
    marked = [{"category": "x", "severity": "odd"}]
    rows = [
        {"rater": "r", "system": "A", "seg": 1, "value": 50, "errors": []},
        {"rater": "r", "system": "A", "seg": 1, "value": 5, "errors": marked, "type": "bad-ref"},
    ]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    for protocol, score in (("mqm", 0), ("esa", 50)):
        result = human_scores(path, protocol=protocol, n_bootstrap=0)  # type: ignore[arg-type]
        assert result.systems[0].score == score
        assert not any("weight" in warning for warning in result.warnings)


def test_blank_categories_in_a_table_of_errors(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("system,seg,rater,category,severity\nA,1,r,,Major\nA,2,r,,\nB,1,r,x,Minor\n")
    result = human_scores(path, protocol="mqm", n_bootstrap=0)
    assert {s.system: s.score for s in result.systems} == {"A": -2.5, "B": -1}
    assert result.to_dict()["profile"][1]["(no category)"] == 2.5
    path.write_text("system,seg,rater,category,severity\nA,1,r,x,\n")
    with pytest.raises(InputError, match=r"x\.csv:2: severity 'none' \(1 error\) has no weight"):
        human_scores(path, protocol="mqm")


# People with several logins.


@pytest.fixture
def ratings(tmp_path: Path) -> Path:
    path = tmp_path / "ratings.csv"
    lines = [f"r{k},{'AB'[k % 2]},{s},{50 + k + s}" for k in range(4) for s in range(3)]
    path.write_text("rater,system,segment,raw\n" + "\n".join(lines) + "\n")
    return path


FILES = {
    "x.csv": "login,person\nr0,Ann\nr1,Ann\nr9,Ann\nr2,Bo\n",
    "x.tsv": "person\trater\nAnn\tr0\nAnn\tr1\nAnn\tr9\nBo\tr2\n",
    "y.csv": "login,annotator,note\nr0,Ann,\nr1,Ann,\nr9,Ann,x\nr2,Bo,\n",
    "x.jsonl": "".join(
        json.dumps({"login": login, "person": person}) + "\n"
        for login, person in (("r0", "Ann"), ("r1", "Ann"), ("r9", "Ann"), ("r2", "Bo"))
    ),
}


@pytest.mark.parametrize("name", FILES)
def test_raters_of_a_file(tmp_path, ratings, name):
    path = tmp_path / name
    path.write_text(FILES[name])
    result = human_scores(ratings, protocol="da", raters=path, n_bootstrap=0)
    found = {r["rater"]: r["n_ratings"] for r in result.to_dict()["raters"]}
    assert found == {"Ann": 6, "Bo": 3, "r3": 3}
    note = "raters: 4 logins are 3 raters; 1 not in the file, 1 of the file without a judgement"
    assert result.warnings[0] == note


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("x.json", "{", "JSON"),
        ("x.csv", "login,person\nr0,Ann\nr0,Bo\n", "x.csv:3: login 'r0' is of 'Ann' and 'Bo'"),
        ("x.csv", "login,name\nr0,Ann\n", "columns login, name, expected login and person"),
        ("x.csv", "login,person\n,Ann\n", "x.csv:2: column 'login' is empty"),
        ("x.csv", "", "empty file"),
    ],
)
def test_bad_files_of_raters(tmp_path, ratings, name, text, said):
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(SteelyardError) as caught:
        human_scores(ratings, protocol="da", raters=path)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("persons", [{"Ann": "r0"}, {"Ann": [3]}, {"Ann": ["r0"], "Bo": ["r0"]}])
def test_bad_raters_by_person(ratings, persons):
    with pytest.raises(SteelyardError, match=r"list of logins|is of 'Ann' and 'Bo'"):
        human_scores(ratings, protocol="da", raters=persons)


# Attention tests.

kinds = st.sampled_from(["system", "repeat", "bad-ref", "attention"])
judged = st.tuples(st.sampled_from("AB"), st.sampled_from("12"), st.sampled_from("rst"), kinds,
                   st.integers(0, 100))  # fmt: skip


@given(st.lists(judged, min_size=1, max_size=30))
def test_attention_tests_against_a_loop(rows):
    values = np.array([v % 2 if kind == "attention" else v for *_, kind, v in rows], dtype=float)
    every = Ratings.from_labels(
        [r[0] for r in rows], [r[1] for r in rows], [r[2] for r in rows], values,
        item=tuple(r[3] for r in rows),
    )  # fmt: skip
    tests: defaultdict[str, list[float]] = defaultdict(list)
    scores: defaultdict[str, list[float]] = defaultdict(list)
    for (_, _, rater, kind, _), value in zip(rows, values, strict=True):
        (tests if kind == "attention" else scores)[rater].append(float(value))
    scale = raters.rater_scale(every)
    rows_of = raters.rater_table(every, scale, every.value, None).records()
    assert ("attention_n" in rows_of[0]) == bool(tests)
    counts = {row["rater"]: (row.get("attention_found"), row.get("attention_n")) for row in rows_of}
    for code, name in enumerate(every.raters):
        if tests:
            assert counts[name] == (sum(tests[name]), len(tests[name]))
        assert scale.n[code] == len(scores[name])
        if scores[name]:
            assert scale.mean[code] == pytest.approx(np.mean(scores[name]))
            assert (scale.low[code], scale.high[code]) == (min(scores[name]), max(scores[name]))
        if len(scores[name]) > 1:
            assert scale.sd[code] == pytest.approx(np.std(scores[name], ddof=1), abs=1e-9)
    assert np.isnan(
        raters.standardise(every, raters.rater_scale(every))[every.is_item("attention")]
    ).all()


def test_attention_tests_are_on_no_scale(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text(
        "rater,system,segment,type,raw\nr,A,1,system,2\nr,A,2,TGT,4\nr,A,1,attention,0\n"
    )
    result = human_scores(path, protocol=sy.da(standardised=False, scale=(1, 5)), n_bootstrap=0)
    assert result.systems[0].score == 3


def test_logs_without_a_common_segment_are_read_together(tmp_path):
    for k in range(2):
        item = {"item_id": f"news_###_d{k}_###_0", "src": "Yes.", "tgt": {"A": "Ja.", "B": "Ja."}}
        marks = {s: {"score": 90 - 10 * k, "error_spans": []} for s in "AB"}
        entry = {"user_id": "u", "item_i": 0, "item": [item], "annotation": [marks]}
        (tmp_path / f"{k}.jsonl").write_text(json.dumps(entry) + "\n")
    logs = [tmp_path / f"{k}.jsonl" for k in range(2)]
    result = human_scores(*logs, protocol="esa", n_bootstrap=0)
    assert [(s.score, s.n_segments) for s in result.systems] == [(85, 2), (85, 2)]
    assert len(result.evalset.documents) == 2
