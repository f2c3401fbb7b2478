"""Tables that could be read in two ways: the right numbers, or a question; never the wrong ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import SteelyardError


def file(folder: Path, name: str, header: str, *rows: Any, sep: str = ",") -> Path:
    path = folder / name
    lines = [header, *(row if isinstance(row, str) else sep.join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def means(*sources: Path, score: str | None = None, **options: Any) -> dict[str, float]:
    es = sy.load(*sources, **options)
    table = es[score] if score else next(iter(es.scores.values()))
    return dict(zip(es.systems, table.system_means().tolist(), strict=True))


# Per cent.


def test_percent_in_one_file_is_not_compared_with_plain_numbers(tmp_path: Path) -> None:
    old = file(tmp_path, "old.csv", "id,score", *((k, 0.6) for k in range(9)))
    new = file(tmp_path, "new.csv", "id,score", *((k, "40%") for k in range(9)))
    high = file(tmp_path, "high.csv", "id,score", *((k, 60 + k) for k in range(9)))
    with pytest.raises(SteelyardError, match=r"% in .*new.csv and without in .*old.csv"):
        sy.gate(old, new)
    with pytest.raises(SteelyardError, match=r"written with %"):
        sy.load(high, new)
    assert run(["gate", str(old), str(new)]) == 2
    assert means(old, new) == pytest.approx({"old": 0.6, "new": 0.4})
    assert means(new) == {"new": 40}
    assert sy.gate(new, new).passed is None


def test_percent_in_some_columns_and_in_some_cells(tmp_path: Path) -> None:
    wide = file(tmp_path, "x.csv", "id,base,tuned", "a,40%,0.5", "b,50%,0.75")
    assert means(wide) == pytest.approx({"base": 0.45, "tuned": 0.625})
    with pytest.raises(SteelyardError, match=r"'base' is written with %"):
        sy.load(file(tmp_path, "y.csv", "id,base,tuned", "a,40%,5", "b,50%,7"))
    with pytest.raises(SteelyardError, match=r"40%.*other cells without"):
        sy.load(file(tmp_path, "z.csv", "model,id,acc,f1", "a,1,40%,1", "a,2,0.4,1", "b,1,1,1"))


# Several scores in one column.


@pytest.mark.parametrize("names", ["metric", "criterion", "Dimension", "score_name"])
@pytest.mark.parametrize("value", ["score", "value"])
def test_a_column_that_names_scores(names: str, value: str, tmp_path: Path) -> None:
    rows = [(s, k, f"s{i}", 10 * i + j + k / 4) for i in (0, 1) for j, s in enumerate("AB")
            for k in range(6)]  # fmt: skip
    path = file(tmp_path, "x.csv", f"system,segment,{names},{value}", *rows)
    es = sy.load(path)
    assert list(es.scores) == ["s0", "s1"]
    assert means(path, score="s1") == {"A": 10.625, "B": 11.625}
    assert run(["compare", str(path), "--score", "s1"]) == 0
    whole = file(tmp_path, "y.csv", f"model,{names},{value}", "a,f,1", "a,g,2", "b,f,3", "b,g,4")
    assert means(whole, score="g") == {"a": 2, "b": 4}
    files = [file(tmp_path, f"{s}.csv", f"id,{names},{value}", *(r[1:] for r in rows if r[0] == s))
             for s in "AB"]  # fmt: skip
    assert means(*files, score="s0") == {"A": 0.625, "B": 1.625}
    assert run(["compare", str(files[0])]) == 2


# Columns and rows that sum up others.


def test_errors_and_counts_are_no_scores(tmp_path: Path) -> None:
    board = file(tmp_path, "b.csv", "model,MMLU,MMLU_std,GSM8K,GSM8K (n)", "a,80,0.1,60,9",
                 "b,70,9,62,9")  # fmt: skip
    es = sy.load(board)
    assert list(es.scores) == ["GSM8K", "MMLU"]
    assert any("MMLU_std" in note for note in es.notes)
    assert run(["compare", str(board), "--score", "MMLU"]) == 0
    assert sy.load(board, lower_is_better=["MMLU_std"]).scores.keys() >= {"MMLU_std"}
    items = file(tmp_path, "l.csv", "system,segment,x,x_stderr,n", "a,1,2,3,4", "b,1,5,6,7")
    assert list(sy.load(items).scores) == ["x"]
    wide = file(tmp_path, "w.csv", "id,m,n,o", "a,1,2,3", "b,3,2,1")
    assert sy.load(wide).systems == ("m", "n", "o")
    described = file(tmp_path, "d.csv", "model,count,mean,std,min,50%,max", "a,9,5,1,1,5,7",
                     "b,9,6,1,1,5,8")  # fmt: skip
    assert list(sy.load(described).scores) == ["mean"]


@pytest.mark.parametrize("words", [("mean", "std"), ("Median",), ("MIN", "max", "count"), ("all",)])
def test_rows_of_summaries_below(words: tuple[str, ...], tmp_path: Path) -> None:
    rows = [(f"q{k}", k, 2 * k) for k in range(6)]
    wide = file(tmp_path, "w.csv", "id,base,tuned", *rows, *((word, 99, 9) for word in words))
    assert means(wide) == {"base": 2.5, "tuned": 5}
    named = file(tmp_path, "n.csv", "id,base,tuned", "red,1,2", "blue,3,4",
                 *((word, 99, 9) for word in words))  # fmt: skip
    assert means(named) == {"base": 2, "tuned": 3}
    long = file(
        tmp_path, "l.csv", "model,id,x", *((s, k, 2) for s in "ab" for k in (*range(6), *words))
    )
    es = sy.load(long)
    assert es.n_segments == 6
    assert any("left out" in note for note in es.notes)


def test_columns_beside_systems_that_describe_items(tmp_path: Path) -> None:
    for name in ("prompt_length", "difficulty", "base_conf", "diff", "n_tokens", "Latency"):
        wide = file(tmp_path, "w.csv", f"id,{name},base,tuned",
                    *((f"q{k}", 90 + k % 4, k, 2 * k) for k in range(6)))  # fmt: skip
        assert means(wide) == {"base": 2.5, "tuned": 5}
        assert any(name in note for note in sy.load(wide).notes)
        kept = means(wide, systems=["base", "tuned", name])
        assert kept == {"base": 2.5, "tuned": 5, name: pytest.approx(547 / 6)}
        assert means(wide, ignore=[name]) == {"base": 2.5, "tuned": 5}
    one = file(tmp_path, "o.csv", "id,prompt_length,base", "a,100,1", "b,200,2")
    with pytest.raises(SteelyardError, match=r"'prompt_length' beside 'base'.*decides"):
        sy.load(one)


def test_systems_with_a_measure_behind_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = str(file(tmp_path, "x.csv", "id,base_acc,base_latency,tuned_acc,tuned_latency",
                    *((k, k % 2, 9, 1, 8) for k in range(6))))  # fmt: skip
    assert run(["compare", path]) == 2
    assert "--systems base_acc,tuned_acc" in capsys.readouterr().err
    assert run(["compare", path, "--systems", "base_acc,tuned_acc"]) == 0


# Points and commas.


@pytest.mark.parametrize("sep", [";", "\t"])
@pytest.mark.parametrize("n", [24, 9000])
def test_points_before_three_digits(sep: str, n: int, tmp_path: Path) -> None:
    def read(*cells: str, beside: str = "1") -> dict[str, float]:
        rows = [(s, k, cells[k % len(cells)], beside) for s in ("gpt-4.1", "b") for k in range(n)]
        path = file(tmp_path, "x.csv", sep.join(("model", "item", "tokens", "y")), *rows, sep=sep)
        return means(path, score="tokens")

    for beside in ("1", "2.5k"):
        with pytest.raises(SteelyardError, match=r"'1\.250' may be 1250 or 1\.250"):
            read("990", "1.250", beside=beside)
    assert read("990", "1.250", beside="0.5")["b"] == pytest.approx(495.625)
    assert read("990", "1.250", beside="0,5")["b"] == 1120
    assert read("1.250", "2.500")["b"] == pytest.approx(1.875)
    assert read("990", "1.250", "1.5")["b"] == pytest.approx((990 + 2.75) / 3)


def test_a_comma_before_three_digits_in_quotes(tmp_path: Path) -> None:
    rows = [(s, k, f'"1,{k}50"') for s in "ab" for k in range(1, 6)]
    with pytest.raises(SteelyardError, match=r"'1,150' may be 1150 or 1\.150"):
        sy.load(file(tmp_path, "x.csv", "model,id,score", *rows))
    decided = [(*row, 0.5) for row in rows]
    path = file(tmp_path, "y.csv", "model,id,score,f1", *decided)
    assert means(path, score="score") == {"a": 1350, "b": 1350}


def test_signs_and_blanks_of_typesetters(tmp_path: Path) -> None:
    rows = [(s, k, "\u22121.5", "12\u202f345", "40\u00a0%") for s in "ab" for k in range(4)]
    path = file(tmp_path, "x.csv", "model,id,x,tokens,acc", *rows)
    assert [means(path, score=s)["a"] for s in ("x", "tokens", "acc")] == [-1.5, 12345, 40]


# Words, ids, repeats and rows that stand twice.


@pytest.mark.parametrize(("right", "wrong"), [("Y", "N"), ("T", "F"), ("ja", "nein"),
                         ("oui", "non"),
                         ("s\u00ed", "no"), ("\u2713", "\u2717"), ("\u2714", "\u2718"),
                         ("success", "failure"), ("succeeded", "failed")])  # fmt: skip
@pytest.mark.parametrize("gap", ["n.a.", "?", "--", "\u2013", ".", "none", " ", "#N/A"])
def test_words_for_right_wrong_and_nothing(
    right: str, wrong: str, gap: str, tmp_path: Path
) -> None:
    rows = [("a", 1, right, 1), ("a", 2, wrong, gap), ("b", 1, wrong, 2), ("b", 2, gap, 4)]
    path = file(tmp_path, "x.csv", "model,id,ok,x", *rows)
    assert means(path, score="ok") == {"a": 0.5, "b": 0}
    assert means(path, score="x") == {"a": 1, "b": 3}


def test_one_letter_alone_is_no_score(tmp_path: Path) -> None:
    path = file(tmp_path, "x.csv", "model,id,x,text", "a,1,1,t", "b,1,2,t")
    assert list(sy.load(path).scores) == ["x"]


def test_whole_ids_are_the_same_with_a_point(tmp_path: Path) -> None:
    one = file(tmp_path, "a.csv", "id,score", *((k, k) for k in range(5)))
    two = file(tmp_path, "b.csv", "id,score", *((float(k), 2 * k) for k in (4, 3, 2, 1, 0)))
    es = sy.load(one, two)
    assert es.segments.ids == tuple("01234")
    assert means(one, two) == {"a": 2, "b": 4}


@pytest.mark.parametrize("name", ["attempt", "iteration", "run_id", "repeat", "rollout", "sample",
                                  "try"])  # fmt: skip
def test_names_of_repeats(name: str, tmp_path: Path) -> None:
    rows = [(s, k, e, k + e) for s in "ab" for k in range(3) for e in (1, 2)]
    es = sy.load(file(tmp_path, "x.csv", f"model,id,{name},score", *rows))
    assert (es.n_segments, es["score"].values[0].tolist()) == (3, [1.5, 2.5, 3.5])


def test_words_beside_ids_are_tasks_and_no_epochs(tmp_path: Path) -> None:
    rows = [(s, t, k, k) for s in "ab" for t in ("law", "art") for k in range(3)]
    path = file(tmp_path, "x.csv", "model,subject,question_id,correct", *rows)
    with pytest.raises(SteelyardError, match="line 2") as caught:
        sy.load(path)
    assert 'columns={"task": "subject"}' in str(caught.value)
    assert "epoch" not in str(caught.value)
    assert sy.load(path, columns={"task": "subject"}).n_segments == 6


def test_rows_that_stand_twice_count_once(tmp_path: Path) -> None:
    rows = ["a,1,0.5,x", "a,2,1,y", "b,1,1,x", "b,2,0,y"]
    es = sy.load(file(tmp_path, "x.csv", "model,id,score,note", *rows, rows[1], rows[2]))
    assert es["score"].values.tolist() == [[0.5, 1], [1, 0]]
    assert any("2 rows left out" in note for note in es.notes)
    with pytest.raises(SteelyardError, match="repeats system 'a', segment '2' of line 3"):
        sy.load(file(tmp_path, "y.csv", "model,id,score,note", *rows, "a,2,0,y"))


@pytest.mark.parametrize(("head", "name"), [(b"\xfd7zXZ\0", "xz"), (b"PK\x03\x04", "zip"),
                                        (b"ARROW1", "Feather"), (b"BZh9", "bzip2")])  # fmt: skip
def test_what_is_no_table_is_named(head: bytes, name: str, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(head + b"\0\1\2" * 20)
    with pytest.raises(SteelyardError, match=name):
        sy.load(path)
