"""mt-metrics-eval folders as others write them: what is read, and what is refused and where."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pytest

from steelyard import EvalSet, load
from steelyard.data.judgements import ErrorSpan

Refusal = Callable[..., str]
Make = Callable[[Mapping[str, str]], Path]

DOCS = "news d1\nnews d1\ntalk d2\n"
FILES = {
    "documents/en-de.docs": DOCS,
    "sources/en-de.txt": "s0\ns1\ns2\n",
    "references/en-de.refA.txt": "r0\nr1\nr2\n",
    "system-outputs/en-de/A.txt": "a0\na1\na2\n",
    "system-outputs/en-de/B.v1.txt": "b0\nb1\nb2\n",
    "human-scores/en-de.mqm.seg.score": "A\t1\nA\t2\nA\t3\nB.v1\t4\nB.v1\tNone\nB.v1\t6\n",
    "metric-scores/en-de/BLEU-refA.seg.score": "A .1\nA .2\nA .3\nB.v1 .4\nB.v1 .5\nB.v1 .6\n",
}


@pytest.fixture
def make(tmp_path: Path) -> Make:
    def write(files: Mapping[str, str]) -> Path:
        for name, text in files.items():
            path = tmp_path / "wmt" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(text.encode())
        return tmp_path / "wmt"

    return write


def test_a_folder(make: Make) -> None:
    es = load(make(FILES))
    assert es.systems == ("A", "B.v1")
    assert es.segments.ids == ("0", "1", "2")
    assert es.segments.documents == ("d1", "d1", "d2")
    assert es.segments.domains == ("news", "news", "talk")
    assert es.segments.sources == ("s0", "s1", "s2")
    assert es.segments.references == {"refA": ("r0", "r1", "r2")}
    assert es.outputs == {"A": ("a0", "a1", "a2"), "B.v1": ("b0", "b1", "b2")}
    assert es.human == ("mqm",)
    assert es.metrics == ("BLEU-refA",)
    assert es["BLEU-refA"].uses == ("refA",)
    assert str(es["mqm"].values.tolist()) == "[[1.0, 2.0, 3.0], [4.0, nan, 6.0]]"
    assert es["BLEU-refA"].values.tolist() == [[0.1, 0.2, 0.3], [0.4, 0.5, 0.6]]
    assert (es.name, es.language_pair) == ("wmt", "en-de")
    assert es.inputs[0].format == "mt-metrics-eval"


@pytest.mark.parametrize(
    "text",
    [
        "A 1\nA 2\nA 3\nB.v1 4\nB.v1 None\nB.v1 6\n",
        "A\t1\nA\t2\nA\t3\nB.v1\t4\nB.v1\tNone\nB.v1\t6",
        "B.v1 4\nA 1\nA 2\nB.v1 None\nB.v1 6\nA 3\n",
        "A   1\nA  2\nA\t3\nB.v1 4\nB.v1\tNone\nB.v1 6\n",
        "A 1\r\nA 2\r\nA 3\r\nB.v1 4\r\nB.v1 None\r\nB.v1 6\r\n",
        "A 1e0\nA 2.\nA +3\nB.v1 4.0\nB.v1 nan\nB.v1 6\n",
        "\ufeffA 1\nA 2\nA 3\nB.v1 4\nB.v1 NaN\nB.v1 6\n",
    ],
)
def test_ways_to_write_scores(make: Make, text: str) -> None:
    es = load(make({**FILES, "human-scores/en-de.mqm.seg.score": text}))
    assert str(es["mqm"].values.tolist()) == "[[1.0, 2.0, 3.0], [4.0, nan, 6.0]]"


def test_names_with_blanks_in_tab_separated_scores(make: Make) -> None:
    files = {
        "documents/en-de.docs": "n d\n",
        "human-scores/en-de.x.seg.score": " a  b \t1\nc d\t2\n",
    }
    es = load(make(files))
    assert es.systems == (" a  b ", "c d")
    assert es["x"].values.tolist() == [[1.0], [2.0]]


def test_a_system_without_scores_is_missing(make: Make) -> None:
    es = load(make({**FILES, "human-scores/en-de.mqm.seg.score": "A 1\nA 2\nA 3\n"}))
    assert np.isnan(es["mqm"].values[1]).all()


def test_levels(make: Make) -> None:
    domains = "talk A 7\nnews B.v1 5\nnews A 6\ntalk B.v1 8\n"
    es = load(
        make(
            {
                **FILES,
                "human-scores/en-de.mqm.sys.score": "B.v1 5\nA 4\n",
                "human-scores/en-de.mqm.doc.score": "A 1\nA 2\nB.v1 3\nB.v1 None\n",
                "human-scores/en-de.mqm.domain.score": domains,
                "metric-scores/en-de/COMET-refA.sys.score": "A 0.5\n",
            }
        )
    )
    table = es["mqm"]
    assert table.system_scores is not None
    assert table.document_scores is not None
    assert table.domain_scores is not None
    assert table.system_scores.tolist() == [4.0, 5.0]
    assert str(table.document_scores.tolist()) == "[[1.0, 2.0], [3.0, nan]]"
    assert table.domain_scores.tolist() == [[6.0, 7.0], [5.0, 8.0]]
    assert not es["COMET-refA"].has_segments


def test_texts(make: Make) -> None:
    texts = "a0 \n[No translation supplied]\n\n"
    es = load(make({**FILES, "system-outputs/en-de/A.txt": texts}))
    assert es.outputs["A"] == ("a0", None, "")


def test_texts_as_json_lines(make: Make) -> None:
    files = dict(FILES)
    for name, key, folder in (
        ("en-de", "source", "sources"),
        ("en-de.refA", "target", "references"),
        ("A", "hypothesis", "system-outputs/en-de"),
    ):
        del files[f"{folder}/{name}.txt"]
        texts = ["x ", "a\nb", None]
        files[f"{folder}/{name}.jsonl"] = "".join(
            json.dumps({key: text, "more": 1}) + "\n" for text in texts
        )
    es = load(make(files))
    expected = ("x ", "a\nb", None)
    assert es.segments.sources == expected
    assert es.segments.references["refA"] == expected
    assert es.outputs["A"] == expected


def test_plain_texts_go_before_json(make: Make) -> None:
    more = "".join('{"source": "json"}\n' for _ in range(3))
    assert load(make({**FILES, "sources/en-de.jsonl": more})).segments.sources == ("s0", "s1", "s2")


def test_scores_alone_are_a_folder(make: Make) -> None:
    es = load(make({"metric-scores/en-de/x-src.seg.score": "B 1\nB 2\nA 3\nA 4\n"}))
    assert es.systems == ("A", "B")
    assert es.segments.ids == ("0", "1")
    assert es["x-src"].values.tolist() == [[3.0, 4.0], [1.0, 2.0]]


# Ratings.

ERROR = {"start": 0, "end": 2, "category": "c", "severity": "major", "score": 5}


def rating_lines(system: str, *cells: object, rater: str = "") -> str:
    tail = f"\t{rater}" if rater else ""
    return "".join(f"{system}\t{'None' if c is None else json.dumps(c)}{tail}\n" for c in cells)


def rows(es: EvalSet, name: str) -> list[tuple[str, str, str, object]]:
    r = es.ratings[name]
    assert r.errors is not None
    codes = zip(r.system, r.segment, r.rater, r.errors, strict=True)
    return [(r.systems[i], r.segments[j], r.raters[k], errors) for i, j, k, errors in codes]


def test_ratings_of_several_raters(make: Make) -> None:
    one = rating_lines("A", {"errors": [ERROR]}, None, {"errors": []})
    two = rating_lines("A", {"errors": []}, None, None)
    two += rating_lines("B.v1", None, None, {"errors": [ERROR]})
    named = rating_lines("A", None, {"errors": []}, None, rater="Eve")
    es = load(
        make(
            {
                **FILES,
                "human-scores/en-de.mqm.rater1.seg.rating": one,
                "human-scores/en-de.mqm.rater2.seg.rating": two,
                "human-scores/en-de.mqm.seg.rating": named,
            }
        )
    )
    span = ErrorSpan("c", "major", 0, 2, 5.0, in_source=False)
    assert list(es.ratings) == ["mqm"]
    assert rows(es, "mqm") == [
        ("A", "0", "mqm.rater1", (span,)),
        ("A", "0", "mqm.rater2", ()),
        ("A", "1", "Eve", ()),
        ("A", "2", "mqm.rater1", ()),
        ("B.v1", "2", "mqm.rater2", (span,)),
    ]


def test_ratings_belong_to_the_longest_name(make: Make) -> None:
    scores = FILES["human-scores/en-de.mqm.seg.score"]
    files = {
        **FILES,
        "human-scores/en-de.mqm.v2.seg.score": scores,
        "human-scores/en-de.mqm.v2.r1.seg.rating": rating_lines("A", {"errors": []}, None, None),
        "human-scores/en-de.mqm.v3.seg.rating": rating_lines("A", {"errors": []}, None, None),
        "human-scores/en-de.esa.r1.seg.rating": rating_lines("A", {"errors": []}, None, None),
    }
    assert list(load(make(files)).ratings) == ["esa.r1", "mqm", "mqm.v2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A\tNone\nA\tNone\n", ["2 ratings", "'A'", "3"]),
        ("A\tNone\n" * 4, [":4: ", "more than 3", "'A'"]),
        ("C\tNone\n" * 3, [":1: ", "unknown system 'C'"]),
        ("A None\n" * 3, [":1: ", "SYSTEM"]),
        ("A\tnull\n" * 3, [":1: ", "object"]),
        ("A\t{}\n" * 3, [":1: ", "errors"]),
        ("A\t{'errors'}\n" * 3, [":1: ", "JSON"]),
        ('A\t{"errors": 5}\n' * 3, [":1: ", "list"]),
        ('A\t{"errors": [5]}\n' * 3, [":1: ", "object"]),
        ('A\t{"errors": [{"category": "c"}]}\n' * 3, [":1: ", "severity'"]),
        ('A\t{"value": "x"}\n' * 3, [":1: ", "'value'"]),
        ('A\t{"value": Infinity}\n' * 3, [":1: ", "'value'"]),
        ('A\t{"value": 1, "value": 2}\n' * 3, [":1: ", "twice"]),
        (rating_lines("A", {"errors": [{**ERROR, "start": 1.5}]}), [":1: ", "start'"]),
        (rating_lines("A", {"errors": [{**ERROR, "end": True}]}), [":1: ", "end'"]),
        (rating_lines("A", {"errors": [{**ERROR, "score": "inf"}]}), [":1: ", "score'"]),
    ],
)
def test_bad_ratings(make: Make, refusal: Refusal, text: str, words: list[str]) -> None:
    folder = make({**FILES, "human-scores/en-de.mqm.r1.seg.rating": text})
    message = refusal(folder)
    assert "en-de.mqm.r1.seg.rating" in message
    for word in words:
        assert word in message


# What is refused.


MQM = "human-scores/en-de.mqm.seg.score"


@pytest.mark.parametrize(
    ("name", "text", "words"),
    [
        (MQM, "A 1\nA 2\nB.v1 1\n", ["2 scores", "'A'", "expected 3"]),
        (MQM, "A 1\nA 2\nA 3\nA 4\n", ["4 scores", "'A'", "expected 3"]),
        (MQM, "A 1\nA x\nA 3\n", [":2: ", "'x'"]),
        (MQM, "A 1\nA inf\nA 3\n", [":2: ", "'inf'"]),
        (MQM, "A 1\nA 1e999\nA 3\n", [":2: ", "infinite"]),
        (MQM, "A 1\nA 1_0\nA 3\n", [":2: ", "'1_0'"]),
        (MQM, "A 1\n\nA 3\n", [":2: ", "SYSTEM SCORE"]),
        (MQM, "A 1\nA\nA 3\n", [":2: ", "1 fields"]),
        (MQM, "A 1\nA 1 2\nA 3\n", [":2: ", "3 fields"]),
        (MQM, "", ["empty"]),
        (MQM, "A 1\nA 2\nA 3\nC 1\nC 2\nC 3\n", ["unknown system 'C'"]),
        ("human-scores/en-de.mqm.sys.score", "A 1\nA 2\n", ["2 scores", "expected 1"]),
        ("human-scores/en-de.mqm.doc.score", "A 1\n", ["1 scores", "expected 2"]),
        ("human-scores/en-de.mqm.domain.score", "news A 1\n", ["'A'", "news", "talk"]),
        ("human-scores/en-de.mqm.domain.score", "news A 1\nnews A 2\n", ["'A'", "news", "talk"]),
        ("human-scores/en-de.mqm.domain.score", "news A 1\nx A 2\n", ["'A'", "x", "talk"]),
        ("human-scores/en-de.mqm.domain.score", "A 1\nA 2\n", [":1: ", "DOMAIN SYSTEM SCORE"]),
        ("human-scores/en-de.mqm.para.score", "A 1\n", ["LEVEL"]),
        ("metric-scores/en-de/BLEU-refA.score", "A 1\n", ["LEVEL"]),
        ("metric-scores/en-de/mqm.seg.score", "A 1\nA 2\nA 3\n", ["'mqm'"]),
        ("documents/en-de.docs", "news d1\nnews d1\n", ["3 lines", "2 in the documents"]),
        ("documents/en-de.docs", "news d1\ntalk d2\nnews d1\n", [":3: ", "'d1'", "torn"]),
        ("documents/en-de.docs", "news\nnews d1\ntalk d2\n", [":1: ", "DOMAIN and DOCUMENT"]),
        ("documents/en-de.docs", "a b c\nnews d1\ntalk d2\n", [":1: ", "DOMAIN and DOCUMENT"]),
        ("sources/en-de.txt", "s0\ns1\n", ["2 lines in the source", "3"]),
        ("references/en-de.refA.txt", "s0\ns1\n", ["2 lines in the reference refA", "3"]),
        ("system-outputs/en-de/A.txt", "s0\ns1\n\n\n", ["4 lines in the output of A", "3"]),
        ("system-outputs/en-de/A.txt", "a\xff", ["lines in the output of A"]),
        ("system-outputs/en-de/C.jsonl", '{"source": "x"}\n', [":1: ", "'hypothesis'"]),
        ("system-outputs/en-de/C.jsonl", '{"hypothesis": 5}\n', [":1: ", "'hypothesis'"]),
        ("system-outputs/en-de/C.jsonl", '"text"\n', [":1: ", "'hypothesis'"]),
        ("system-outputs/en-de/C.jsonl", "text\n", [":1: ", "JSON"]),
        ("system-outputs/en-de/C.jsonl", "[" * 100_000, [":1: ", "JSON"]),
    ],
)  # fmt: skip
def test_bad_folder(make: Make, refusal: Refusal, name: str, text: str, words: list[str]) -> None:
    folder = make({**FILES, name: text})
    message = refusal(folder)
    assert message.startswith(str(folder))
    for word in words:
        assert word in message


def test_bytes_that_are_no_text(make: Make, refusal: Refusal) -> None:
    folder = make(FILES)
    path = folder / "system-outputs/en-de/A.txt"
    path.write_bytes(b"a0\na\xff\na2\n")
    assert refusal(folder).startswith(f"{path}:2: ")


def test_several_language_pairs(make: Make, refusal: Refusal) -> None:
    more = {name.replace("en-de", "zh-en"): text for name, text in FILES.items()}
    folder = make({**FILES, **more, "sources/cs-uk.txt": "x\n"})
    message = refusal(folder)
    assert "lp=..." in message
    assert "cs-uk, en-de, zh-en" in message
    assert "did you mean 'zh-en'?" in refusal(folder, lp="zh-eng")
    assert load(folder, lp="zh-en").language_pair == "zh-en"
    assert load(folder, lp="zh-en").systems == ("A", "B.v1")


@pytest.mark.parametrize("lp", ["en-d[ae]", "en-*", "??-de"])
def test_language_pairs_are_no_patterns(make: Make, lp: str) -> None:
    more = {name.replace("en-de", lp): text.replace("s0", "t0") for name, text in FILES.items()}
    del more[f"human-scores/{lp}.mqm.seg.score"]
    folder = make({**FILES, **more})
    assert load(folder, lp="en-de").segments.sources == ("s0", "s1", "s2")
    assert load(folder, lp=lp).segments.sources == ("t0", "s1", "s2")
    assert list(load(folder, lp=lp).scores) == ["BLEU-refA"]


def test_folder_without_anything(make: Make, refusal: Refusal) -> None:
    folder = make({"sources/readme": "x"})
    assert "none" in refusal(folder)


def test_time_grows_with_the_number_of_documents_only(make: Make) -> None:
    def seconds(n: int) -> float:
        docs = "".join(f"news d{i}\n" for i in range(n))
        folder = make({"documents/en-de.docs": docs, "sources/en-de.txt": "s\n" * n})
        start = time.process_time()
        assert len(load(folder).documents) == n
        return time.process_time() - start

    few = min(seconds(2_000) for _ in range(3))
    # Eight times as many; comparing every document with every other takes 64 times as long.
    assert min(seconds(16_000) / few for _ in range(2)) < 24
