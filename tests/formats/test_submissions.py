"""Submissions to the metrics task: nine or seven columns, no header, segments counted from 1."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import load

Refusal = Callable[..., str]

LINES = [
    "chrF\ten-de\twmt23\tnews\td1\trefA\tA\t1\t0.5",
    "chrF\ten-de\twmt23\tnews\td1\trefA\tA\t2\t0.25",
    "chrF\ten-de\twmt23\ttalk\td2\trefA\tA\t3\t-0.0",
    "chrF\ten-de\twmt23\tnews\td1\trefA\tB\t2\t1e-300",
]


def submit(tmp_path: Path, *lines: str, name: str = "x.seg.score") -> Path:
    path = tmp_path / name
    path.write_bytes(("\n".join(lines) + "\n").encode())
    return path


@pytest.mark.parametrize("name", ["x.seg.score", "x.tsv", "x.txt", "x"])
def test_segments_are_counted_from_zero(tmp_path: Path, name: str) -> None:
    es = load(submit(tmp_path, *LINES, name=name))
    assert es.systems == ("A", "B")
    assert es.segments.ids == ("0", "1", "2")
    assert es.segments.documents == ("d1", "d1", "d2")
    assert es.segments.domains == ("news", "news", "talk")
    assert str(es["chrF-refA"].values.tolist()) == "[[0.5, 0.25, -0.0], [nan, 1e-300, nan]]"
    assert es["chrF-refA"].uses == ("refA",)
    assert (es.language_pair, es.name) == ("en-de", "wmt23")


def test_domains_of_system_scores_are_not_the_whole(tmp_path: Path, refusal: Refusal) -> None:
    lines = ["m\ten-de\tw\tall\tsrc\tA\t1", "m\ten-de\tw\tnews\tsrc\tA\t2"]
    scores = load(submit(tmp_path, *lines))["m-src"].system_scores
    assert scores is not None
    assert scores.tolist() == [1.0]
    assert "'all'" in refusal(submit(tmp_path, *lines[1:]))


def test_several_sets_need_narrowing(tmp_path: Path, refusal: Refusal) -> None:
    zh = [line.replace("en-de", "zh-en").replace("0.5", "7") for line in LINES]
    old = [line.replace("wmt23", "wmt22").replace("0.5", "8") for line in LINES]
    path = submit(tmp_path, *LINES, *zh, *old)
    message = refusal(path)
    assert "en-de, zh-en" in message
    assert "lp=..." in message
    assert load(path, lp="zh-en")["chrF-refA"].values[0, 0] == 7.0
    message = refusal(path, lp="en-de")
    assert "wmt22, wmt23" in message
    assert 'where={"testset": ...}' in message
    assert load(path, lp="en-de", where={"testset": "wmt22"})["chrF-refA"].values[0, 0] == 8.0
    assert "zh-en" in refusal(path, lp="zh-eng")
    assert "wmt23" in refusal(path, lp="en-de", where={"testset": "wmt2"})


@pytest.mark.parametrize(
    ("column", "value", "kept"),
    [("metric", "chrF", "chrF-refA"), ("ref", "src", "BLEU-src"), ("system", "A", None)],
)
def test_rows_are_selected_or_it_is_refused(
    tmp_path: Path, column: str, value: str, kept: str | None
) -> None:
    more = [line.replace("chrF", "BLEU").replace("refA", "src") for line in LINES]
    path = submit(tmp_path, *LINES, *more)
    es = load(path, where={column: value})
    if kept is None:
        assert es.systems == ("A",)
    else:
        assert list(es.scores) == [kept]


def test_submission_joins_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "wmt23"
    for name, text in {
        "documents/en-de.docs": "news d1\nnews d1\ntalk d2\n",
        "human-scores/en-de.mqm.seg.score": "A 1\nA 2\nA 3\nB 4\nB 5\nB 6\n",
    }.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text(text)
    es = load(folder, submit(tmp_path, *LINES), lp="en-de")
    assert es.human == ("mqm",)
    assert es.metrics == ("chrF-refA",)
    assert es.segments.ids == ("0", "1", "2")
    assert str(es["chrF-refA"].values[1].tolist()) == "[nan, 1e-300, nan]"


@pytest.mark.parametrize(
    ("line", "place", "words"),
    [
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t4", ":3: ", ["8 fields", "9"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t4\t1\t", ":3: ", ["10 fields", "9"]),
        ("", ":3: ", ["fields"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t0\t1", ":3: ", ["'0'", "1, 2"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t-1\t1", ":3: ", ["'-1'"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\tx\t1", ":3: ", ["'x'"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t²\t1", ":3: ", ["'²'"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t" + "9" * 5000 + "\t1", "", []),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t4\tx", ":3: ", ["'x'"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t4\tinf", ":3: ", []),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t4\t1e999", ":3: ", []),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\tA\t1\t1", ":3: ", ["line 1"]),
        ("chrF\ten-de\twmt23\tnews\td9\trefA\tC\t2\t1", ":3: ", ["'d9'", "'d1'"]),
        ("chrF\ten-de\twmt23\tnews\td1\trefA\t\t4\t1", ":3: ", ["'system'"]),
        ("\ten-de\twmt23\tnews\td1\trefA\tA\t4\t1", ":3: ", ["'metric'"]),
        ("chrF\t\twmt23\tnews\td1\trefA\tA\t4\t1", ":3: ", ["'lp'"]),
    ],
)
def test_bad_lines(
    tmp_path: Path, refusal: Refusal, line: str, place: str, words: list[str]
) -> None:
    path = submit(tmp_path, *LINES[:2], line, LINES[2])
    message = refusal(path)
    assert message.startswith(f"{path}{place}")
    for word in words:
        assert word in message
