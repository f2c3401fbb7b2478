"""Tables with two readings: one question on the command line, whose answer gives the number."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest

from steelyard.cli.main import run

Asked = tuple[int, str, Any]


@pytest.fixture
def steelyard(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> Any:
    """Run a command on files of the folder: its exit code, its errors, its JSON."""
    monkeypatch.chdir(tmp_path)

    def call(*words: str) -> Asked:
        code = run([*words, "--json"])
        shown = capsys.readouterr()
        return code, shown.err, json.loads(shown.out) if shown.out.strip() else None

    return call


def write(name: str, header: str, rows: Any) -> None:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([header.split(","), *rows])
    Path(name).write_text(text.getvalue(), encoding="utf-8")


def order(result: Any) -> list[str]:
    return [system["system"] for system in result["systems"]]


ORDER = {"best": 1, "middle": 2, "worst": 3}


@pytest.mark.parametrize("name", ["rank", "Ranking", "place", "position"])
def test_ranks_in_a_column_put_the_first_first(steelyard: Any, name: str) -> None:
    rows: list[list[Any]] = [
        [r, s, i, place] for r in "ab" for i in range(6) for s, place in ORDER.items()
    ]
    write("x.csv", f"rater,system,segment,{name}", rows)
    code, error, result = steelyard("human", "x.csv")
    assert (code, order(result), result["protocol"]) == (0, list(ORDER), "rr")
    assert f"ranks of '{name}', of which 1 is the best" in error
    # Beside a score it is none, ties share a place, and what starts at 0 or ends high is asked.
    scored = [[*row[:3], 10 * row[3], row[3]] for row in rows]
    write("x.csv", f"rater,system,segment,score,{name}", scored)
    assert order(steelyard("human", "x.csv", "--raw")[2]) == list(ORDER)[::-1]
    tied = [[*row[:3], min(row[3], 2)] for row in rows]
    write("x.csv", f"rater,system,segment,{name}", tied)
    assert order(steelyard("human", "x.csv")[2])[0] == "best"
    write("x.csv", f"rater,system,segment,{name}", [[*row[:3], 2 * row[3] - 1] for row in rows])
    code, error, _ = steelyard("human", "x.csv")
    asked = f"column '{name}' could hold ranks or scores: --columns rank={name} if 1 is the best"
    assert code == 2
    assert asked in error
    assert order(steelyard("human", "x.csv", "--columns", f"rank={name}")[2]) == list(ORDER)
    assert order(steelyard("human", "x.csv", "--raw", "--score", name)[2]) == list(ORDER)[::-1]


def test_ranks_in_a_column_per_system_one_of_which_is_called_like_a_role(steelyard: Any) -> None:
    rows = [[r, i, 1 + (i > 4), 2 - (i > 4), 3] for r in "ab" for i in range(6)]
    write("x.csv", "rater,segment,NMT,LLM,SMT", rows)
    code, error, _ = steelyard("human", "x.csv")
    assert code == 2
    ranks, scores = "rank=NMT,rank=LLM,rank=SMT", "score=NMT,score=LLM,score=SMT"
    assert f"--columns {ranks} if 1 is the best, --columns {scores} if more is better" in error
    assert order(steelyard("human", "x.csv", "--columns", ranks)[2]) == ["NMT", "LLM", "SMT"]
    result = steelyard("human", "x.csv", "--raw", "--columns", scores)[2]
    assert order(result) == ["SMT", "LLM", "NMT"]
    assert result["systems"][0]["raw"] == 3
    # Systems called by numbers stay a column of systems beside a score.
    write(
        "x.csv", "rater,segment,llm,score", [[*row[:2], k, 9 * k] for row in rows for k in (1, 2)]
    )
    assert order(steelyard("human", "x.csv", "--raw")[2]) == ["2", "1"]


def test_outputs_that_a_list_of_errors_does_not_name(steelyard: Any) -> None:
    rows: list[list[Any]] = [["ann", "good", k, "accuracy", "major"] for k in range(3)]
    rows += [["ann", "bad", k, "fluency", "minor" if k < 10 else "major"] for k in range(20)]
    header = "rater,system,segment,category,severity"
    write("x.csv", header, rows)
    code, error, _ = steelyard("human", "x.csv")
    assert code == 2
    assert "17 outputs have no row that others of their segment have, such as segment" in error
    assert "--unlisted error-free if they have no errors, --unlisted unrated if nobody" in error
    for meaning, order_then, mean, n in (
        ("error-free", ["good", "bad"], -0.75, 20), ("unrated", ["bad", "good"], -5, 3),
    ):  # fmt: skip
        code, error, result = steelyard("human", "x.csv", "--unlisted", meaning)
        good = next(of for of in result["systems"] if of["system"] == "good")
        assert (code, order(result), good["raw"], good["n_segments"]) == (0, order_then, mean, n)
        assert ("17 outputs without a row" in error) == (meaning == "error-free")
    # A row without an error shows that outputs are listed, and equal segments leave nothing open.
    for none in (["No-error", ""], ["No error", "none"], ["None", "none"]):
        write("x.csv", header, [*rows, ["ann", "good", 9, *none]])
        code, _, result = steelyard("human", "x.csv")
        assert (code, result["systems"][-1]["raw"]) == (0, -3.75)
    write("x.csv", header, [row for row in rows if row[2] < 3])
    assert steelyard("human", "x.csv")[0] == 0
    # Two raters: who marked nothing of a segment did not judge it.
    others = [["bo", *row[1:]] for row in rows if row[1] == "bad" and row[2] > 15]
    write("x.csv", header, rows + others)
    result = steelyard("human", "x.csv", "--unlisted", "error-free")[2]
    assert {of["system"]: of["n_ratings"] for of in result["systems"]} == {"good": 24, "bad": 24}


def votes(name: str, cells: list[tuple[Any, ...]], more: str = "") -> None:
    rows = [(k, "x", "y", *cells[k % len(cells)]) for k in range(60)]
    write(name, f"question_id,model_a,model_b{more}", rows)


def test_votes_of_0_1_and_2(steelyard: Any) -> None:
    votes("x.csv", [(0,), (0,), (0,), (1,), (2,)], ",winner")
    code, error, _ = steelyard("compare", "--battles", "x.csv")
    assert code == 2
    assert "'winner' holds 0, 1 and 2: --words 0,1,2 if 0 says that the left one won" in error
    for words, strength in (("0,1,2", 0.7), ("1,2,0", 0.5)):
        code, _, result = steelyard("compare", "--battles", "x.csv", "--words", words)
        assert (code, round(result["ranking"][0]["score"], 6)) == (0, strength)
    votes("x.csv", [(0, 0), (1, 1), (2, 2), (2, 1)], ",human,gpt")
    assert "column 'human' holds 0, 1 and 2" in steelyard("judge", "x.csv", "--human", "human")[1]
    votes("x.csv", [(1,), (2,), (2,)], ",winner")  # where there is no 0, these are sides
    assert steelyard("compare", "--battles", "x.csv")[0] == 0


AGREE = [(0, 0), (1, 0), (2, 1)]  # what people and the judge say: left, right, tie


@pytest.mark.parametrize(
    ("words", "known"),
    [
        (("left", "right", "both"), True), (("A", "B", "neither"), True),
        (("left", "right", "both good"), True), (("1", "2", "equal"), True),
        (("left", "right", "unsure"), False), (("A besser", "B besser", "gleich"), False),
        (("1", "2", "3"), False), (("m", "M", "="), False),
    ],
)  # fmt: skip
def test_words_that_say_neither_side(
    steelyard: Any, words: tuple[str, str, str], known: bool
) -> None:
    votes("x.csv", [(words[a], words[b]) for a, b in AGREE], ",human,gpt")
    code, error, result = steelyard("judge", "x.csv", "--human", "human")
    assert code == (0 if known else 2)
    if not known:
        answer = ["--words", ",".join(words)]
        assert f"--words {answer[1]}" in error or "--words LEFT,RIGHT,TIE gives the words" in error
        code, _, result = steelyard("judge", "x.csv", "--human", "human", *answer)
        named = steelyard("judge", "x.csv", "--human", "human", "--judges", "gpt", *answer)[2]
        assert named["judges"] == result["judges"]
    assert code == 0
    assert result["judges"][0]["n"] == 60
    assert result["judges"][0]["accuracy"]["value"] == pytest.approx(1 / 3)


@pytest.mark.parametrize("cell", ["{}/5", "{} / 5"])
def test_grades_out_of_a_number_are_these_grades(steelyard: Any, cell: str) -> None:
    grades = [(k, 1 + k % 5, 1 + (k // 2) % 5) for k in range(60)]
    results = []
    for form in ("{}", cell):
        write("x.csv", "id,ann,gpt", [(k, form.format(a), form.format(b)) for k, a, b in grades])
        code, _, result = steelyard("judge", "x.csv", "--human", "ann")
        results.append((code, result["judges"]))
    assert results[0] == results[1]
    assert results[0][0] == 0


SCORES = {("a", "A"): 50, ("a", "B"): 60, ("b", "A"): 70, ("b", "B"): 90}
MEANS = {"A": 61.5, "B": 76.5}


def means(asked: Asked) -> dict[str, float]:
    code, error, result = asked
    assert code == 0, error
    return {of["system"]: of["raw"] for of in result["systems"]}


def test_ratings_in_objects(steelyard: Any) -> None:
    rows: list[Any] = [
        {"annotator": {"id": r, "model": "none"}, "item": {"system": s, "segment": f"s{k}"},
         "rating": {"value": x + k}}
        for (r, s), x in SCORES.items() for k in range(4)
    ]  # fmt: skip
    Path("x.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    assert means(steelyard("human", "x.jsonl", "--raw")) == MEANS
    plain = [{"item": row["item"], "judge": {"model": "j"}, "score": row["rating"]["value"]}
             for row in rows[:8]]  # fmt: skip
    Path("y.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in plain), encoding="utf-8")
    assert steelyard("compare", "y.jsonl")[2]["systems"] == ["A", "B"]


def test_a_file_per_rater(steelyard: Any) -> None:
    for rater in "ab":
        rows = [[s, k, x + k] for (r, s), x in SCORES.items() for k in range(4) if r == rater]
        write(f"{rater}.csv", "system,segment,score", rows)
        write(f"less-{rater}.csv", "system,segment,score", rows[rater == "b" :])
        write(f"wide-{rater}.csv", "segment,A,B", [[k, *(SCORES[rater, s] + k for s in "AB")]
                                                   for k in range(4)])  # fmt: skip
    code, error, result = steelyard("human", "a.csv", "b.csv", "--raw")
    assert means((code, error, result)) == MEANS
    assert error.count("each file is a rater: a, b") == 1
    named = ["--raw", "--columns", "rater=file"]
    assert means(steelyard("human", "a.csv", "b.csv", *named)) == MEANS
    assert means(steelyard("human", "wide-a.csv", "wide-b.csv", *named)) == MEANS
    Path("less-b.csv").write_text("system,segment,score\nA,0,70\nB,0,90\n", encoding="utf-8")
    code, error, _ = steelyard("human", "less-a.csv", "less-b.csv", "--raw")
    assert code == 2
    assert "--columns rater=file if each file is of one rater" in error
    less = means(steelyard("human", "less-a.csv", "less-b.csv", *named))
    assert less == {"A": 54, "B": 65.25}


@pytest.mark.parametrize("name", ["user", "username", "email", "login", "annotator_name"])
def test_users_are_raters_in_a_table_of_ratings(steelyard: Any, name: str) -> None:
    rows = [[r, s, k, x + k] for (r, s), x in SCORES.items() for k in range(4)]
    write("x.csv", f"{name},system,segment,score", rows)
    assert means(steelyard("human", "x.csv", "--raw")) == MEANS


def test_errors_under_other_names_and_their_counts(steelyard: Any) -> None:
    rows = [["ann", s, k, kind, level] for s, level in (("A", "Minor"), ("B", "Major"))
            for k in range(6) for kind in ("accuracy", "fluency")]  # fmt: skip
    rows += [["ann", s, 6, "No-error", "no-error"] for s in "AB"]
    write("x.csv", "rater,system,segment,Kategorie,Schweregrad", rows)
    code, error, _ = steelyard("human", "x.csv")
    assert code == 2
    answer = "severity=Schweregrad,category=Kategorie"
    assert f"--columns {answer} takes them so" in error
    assert means(steelyard("human", "x.csv", "--columns", answer)) == {
        "A": pytest.approx(-12 / 7), "B": pytest.approx(-60 / 7)
    }  # fmt: skip
    write(
        "x.csv", "rater,system,segment,minor,major", [["a", s, k, k, 1] for s in "AB" for k in "12"]
    )
    code, error, _ = steelyard("human", "x.csv")
    assert code == 2
    assert "'minor', 'major' read like counts of errors" in error
    assert "--score" not in error
