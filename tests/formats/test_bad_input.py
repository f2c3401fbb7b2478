"""What can't be right is refused in one line that names the place, what was found and expected."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path

import pytest

from steelyard import load, save
from steelyard.formats import tables

Refusal = Callable[..., str]


def write(path: Path, text: str | bytes) -> Path:
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return path


BAD_NUMBERS = [
    "inf", "-inf", "+inf", "Infinity", "1e999", "-1e999", "word", "1_000", "１２", "٣", "NAN",
    "Nan", "0x10", "1;5", "1 2", "+-1", "true", "1e", "--", "#DIV/0!",
    "1%",
]  # fmt: skip


@pytest.mark.parametrize("size", ["small", "large"])
@pytest.mark.parametrize("cell", BAD_NUMBERS)
def test_bad_number_in_csv(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, cell: str, size: str
) -> None:
    if size == "large":
        monkeypatch.setattr(tables, "_FAST_FROM", 0)
    path = write(tmp_path / "scores.csv", f"system,segment,chrF\nA,1,0.5\n\nA,2,{cell}\n")
    message = refusal(path)
    assert message.startswith(f"{path}:4: column 'chrF': ")
    if "1e999" in cell:
        assert "finite" in message
    else:
        assert f"'{cell}' is not a number" in message
        assert 'ignore=["chrF"]' in message


@pytest.mark.parametrize("fast_from", [0, 1 << 60])
def test_repeated_row_names_both_lines(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, fast_from: int
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", fast_from)
    path = write(tmp_path / "x.csv", "system,segment,x\nA,1,1\nB,7,2\n\nA,2,3\nB,7,2\n")
    message = refusal(path)
    assert message.startswith(f"{path}:6: ")
    assert "'B'" in message
    assert "'7'" in message
    assert "line 3" in message
    assert "where={COL: VALUE}" in message


@pytest.mark.parametrize(
    ("name", "text", "line"),
    [
        ("x.csv", "segment,A,B\n1,2,3\n1,4,5\n", 3),
        ("x.csv", "system,x\nA,1\nB,2\nA,3\n", 4),
        ("x.jsonl", '{"seg":1,"out":{"A":"a"}}\n\n{"seg":1,"out":{"A":"a"}}\n', 3),
    ],
)
def test_repeats_in_other_layouts(
    tmp_path: Path, refusal: Refusal, name: str, text: str, line: int
) -> None:
    path = write(tmp_path / name, text)
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: ")
    assert "already" in message


@pytest.mark.parametrize("fast_from", [0, 1 << 60])
@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("system,segment,x\nA,1,1\nA,2\n", ":3: ", ["2 cells", "3"]),
        ("system,segment,x\nA,1,1\nA,2,3,4\n", ":3: ", ["4 cells", "3"]),
        ("system,segment,x\nA,1\n", ":2: ", ["2 cells", "3"]),
        ("system,segment,x\n", ": ", ["no rows"]),
        ("system,segment,x", ": ", ["no rows"]),
        ("", ": ", ["empty"]),
        (" \n\n  \n", ": ", ["empty"]),
        ("\ufeff", ": ", ["empty"]),
        ("system,segment,x,x\nA,1,1,2\n", ":1: ", ["'x'", "twice"]),
        ("system,segment,,x\nA,1,1,2\n", ":1: ", ["column 3", "no name"]),
        (",system,segment,x\nq,A,1,2\n", ":1: ", ["column 1", "no name"]),
        ("system,segment,  \nA,1,1\n", ":1: ", ["column 3", "no name"]),
        (",\n1,2\n", ":1: ", ["no name"]),
        ("system,segment,x\n,1,1\n", ":2: ", ["'system'", "empty"]),
        ("system,segment,x\nA,,1\n", ":2: ", ["'segment'", "empty"]),
        ("system,segment,seg,x\nA,1,1,1\n", ": ", ["segment and seg", 'ignore=["seg"]']),
        ("system,segment,doc,x\nA,1,d,1\nB,1,e,2\n", ":3: ", ["'doc'", "'e'", "'d'"]),
    ],
)
def test_bad_table(
    tmp_path: Path,
    refusal: Refusal,
    monkeypatch: pytest.MonkeyPatch,
    text: str,
    place: str,
    words: list[str],
    fast_from: int,
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", fast_from)
    path = write(tmp_path / "x.csv", text)
    message = refusal(path)
    assert message.startswith(f"{path}{place}")
    for word in words:
        assert word in message


@pytest.mark.parametrize("suffix", ["jsonl", "tsv", "csv", "txt", "parquet"])
def test_empty_file(tmp_path: Path, refusal: Refusal, suffix: str) -> None:
    path = write(tmp_path / f"x.{suffix}", "")
    assert refusal(path).startswith(f"{path}: ")


def test_missing_file_and_folder(tmp_path: Path, refusal: Refusal) -> None:
    for name in ("x.csv", "x.parquet", "x.jsonl.gz", "folder"):
        assert refusal(tmp_path / name) == f"{tmp_path / name}: no such file"
    (tmp_path / "folder").mkdir()
    assert "mt-metrics-eval" in refusal(tmp_path / "folder")
    (tmp_path / "x.csv").mkdir()
    assert refusal(tmp_path / "x.csv").startswith(f"{tmp_path / 'x.csv'}: ")


@pytest.mark.parametrize("name", ["x" * 300 + ".csv", "x/" * 3000, "a\0b.csv", "a\0b.parquet"])
def test_impossible_file_names(refusal: Refusal, name: str) -> None:
    refusal(name)


ROWS = "system,segment,x\n" + "".join(f"A,{i},0.{i}\n" for i in range(50))


@pytest.mark.parametrize("cut", [1, 2, 5, 9, 10, 11, 40, -1, -4, -8, -9, -20])
def test_truncated_gzip(tmp_path: Path, refusal: Refusal, cut: int) -> None:
    path = write(tmp_path / "x.csv.gz", gzip.compress(ROWS.encode())[:cut])
    assert refusal(path).startswith(f"{path}")


@pytest.mark.parametrize("place", [-8, -5, -4, -1])
def test_gzip_with_a_broken_checksum(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, place: int
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", 0)
    data = bytearray(gzip.compress(ROWS.encode()))
    data[place] ^= 0x10
    path = write(tmp_path / "x.csv.gz", bytes(data))
    assert "gzip" in refusal(path)


@pytest.mark.parametrize("tail", [b"garbage", b"\x1f\x8b", b"\x1f\x8b\x08"])
def test_garbage_after_gzip(tmp_path: Path, refusal: Refusal, tail: bytes) -> None:
    path = write(tmp_path / "x.csv.gz", gzip.compress(ROWS.encode()) + tail)
    assert "gzip" in refusal(path)


def test_what_is_not_utf_8_is_latin_1_unless_it_is_damaged(
    tmp_path: Path, refusal: Refusal
) -> None:
    table = "system,segment,x\nA,1,1\nÄ,1,1\n"
    es = load(write(tmp_path / "x.csv", table.encode("latin-1")))
    assert es.systems == ("A", "Ä")
    assert "Windows-1252" in es.notes[0]
    path = write(tmp_path / "x.csv", table.encode() + b"\xc4,1,1\n")
    message = refusal(path)
    assert message.startswith(f"{path}:4: ")
    assert "0xc4 is not UTF-8" in message


@pytest.mark.parametrize("fast_from", [0, 1 << 60])
@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("final", ["", "\n"])
def test_line_ends_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, end: str, final: str, fast_from: int
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", fast_from)
    text = end.join(["system,segment,x", "A,1,0.5", "B,1,0.25"]) + (end if final else "")
    es = load(write(tmp_path / "x.csv", text))
    assert es.systems == ("A", "B")
    assert es["x"].values.tolist() == [[0.5], [0.25]]


@pytest.mark.parametrize("end", ["\r\n", "\n"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_bare_carriage_return_does_not_split(
    tmp_path: Path, end: str, quote: str, suffix: str
) -> None:
    cell = f"{quote}one\rtwo{quote}"
    text = end.join(["system,segment,output,x", f"A,1,{cell},0.5", "A,2,three,0.25", ""])
    path = write(tmp_path / f"x.{suffix}", text.replace("," if suffix == "tsv" else "\0", "\t"))
    es = load(path)
    assert es.outputs["A"] == ("one\rtwo", "three")
    assert es["x"].values.tolist() == [[0.5, 0.25]]


def test_line_ends_inside_quotes_stay(tmp_path: Path) -> None:
    text = 'system,segment,output\r\nA,1,"a\r\nb"\r\nA,2,"c\nd"\r\nA,3,"e\rf"\r\n'
    es = load(write(tmp_path / "x.csv", text))
    assert es.outputs["A"] == ("a\r\nb", "c\nd", "e\rf")


@pytest.mark.parametrize("fast_from", [0, 1 << 60])
def test_nul_bytes(
    tmp_path: Path, refusal: Refusal, monkeypatch: pytest.MonkeyPatch, fast_from: int
) -> None:
    monkeypatch.setattr(tables, "_FAST_FROM", fast_from)
    path = write(tmp_path / "x.csv", "system,segment,x\nA,1,0.5\nA,2,0.\0005\n")
    assert refusal(path).startswith(f"{path}:3: ")
    path = write(tmp_path / "y.csv", "system,segment,x\nA,1,0.5\n" + "\0" * 4096)
    assert refusal(path).startswith(f"{path}:3: ")


@pytest.mark.parametrize(
    ("row", "line"),
    [('A,1,"open', 3), ('A,1,"a"b', 3), ('A,1,"a" ,', 3), ('"A,1,0.5', 3), ('A,1,"a\n\nb', 3)],
)
def test_broken_quotes_name_the_line(tmp_path: Path, refusal: Refusal, row: str, line: int) -> None:
    path = write(tmp_path / "x.csv", f"system,segment,output\nA,0,fine\n{row}\nA,2,b\n")
    message = refusal(path)
    assert message.startswith(f"{path}:{line}: ")
    assert "CSV" in message


def test_quotes_in_tab_separated_texts_are_characters(tmp_path: Path) -> None:
    path = write(tmp_path / "x.tsv", 'system\tsegment\toutput\nA\t1\t"open\nA\t2\tin "the" mid\n')
    assert load(path).outputs["A"] == ('"open', 'in "the" mid')


@pytest.mark.parametrize("data", [b"PAR1", b"PAR1" * 10, b"not parquet at all", b"\0" * 100])
def test_parquet_that_is_none(tmp_path: Path, refusal: Refusal, data: bytes) -> None:
    path = write(tmp_path / "x.parquet", data)
    message = refusal(path)
    assert message.startswith(f"{path}: ")
    assert "Parquet" in message


def test_parquet_under_another_name(tmp_path: Path, refusal: Refusal) -> None:
    es = load(write(tmp_path / "x.csv", ROWS))
    save(es, tmp_path / "x.parquet")
    path = write(tmp_path / "y.csv", (tmp_path / "x.parquet").read_bytes())
    assert "name it .parquet" in refusal(path)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"system": "A", "segment": 2, "x": 1, "x": 2}', ["'x'", "twice"]),
        ('{"system": "A", "segment": 2, "x": 1', ["JSON"]),
        ('{"system": "A", "segment": 2, "x": 01}', ["JSON"]),
        ("[" * 100_000, ["JSON", "deep"]),
        ('{"a":' * 100_000, ["JSON", "deep"]),
        ("[" * 100_000 + "]" * 100_000, ["JSON", "deep"]),
        ('["A", 2, 0.5]', ["JSON object", "list"]),
        ("3", ["JSON object", "int"]),
        ("null", ["JSON object"]),
        ('"text"', ["JSON object", "str"]),
        ("A,2,0.5", ["JSON"]),
        ('{"system": "A", "segment": 2, "x": ' + "1" * 5000 + "}", ["JSON"]),
        ('{"system": "A", "segment": 2, "x": 1} {}', ["JSON"]),
        ('{"system": "A", "segment": 2, "a\\nb": 1, "a\\nb": 2}', ["twice"]),
        ('{"system": "A", "segment": 2, "x": "a\tb"}', ["JSON"]),
        ('{"system": "A", "segment": true, "x": 1}', ["'segment'"]),
        ('{"system": null, "segment": 2, "x": 1}', ["'system'"]),
        ('{"system": NaN, "segment": 2, "x": 1}', ["'system'"]),
        ('{"system": "A", "segment": -Infinity, "x": 1}', ["'segment'"]),
        ('{"system": "A", "segment": 2, "source": Infinity}', ["'source'"]),
        ('{"system": ["A"], "segment": 2, "x": 1}', ["'system'"]),
        ('{"system": "A", "x": 1}', ["'segment'"]),
        ('{"system": "A", "segment": 2, "source": {"a": 1}}', ["'source'"]),
        ('{"system": "A", "segment": 2, "output": [1]}', ["'output'"]),
    ],
)
def test_bad_json_line(tmp_path: Path, refusal: Refusal, line: str, words: list[str]) -> None:
    good = '{"system": "A", "segment": 1, "x": 0.5, "source": "s", "output": "o"}\n\n'
    path = write(tmp_path / "x.jsonl", f"{good}{line}\n")
    message = refusal(path)
    assert message.startswith(f"{path}:3: ")
    for word in words:
        assert word in message


@pytest.mark.parametrize("key", ["", "  "])
def test_json_key_without_a_name(tmp_path: Path, refusal: Refusal, key: str) -> None:
    path = write(tmp_path / "x.jsonl", f'{{"system": "A", "segment": 2, "{key}": 1}}\n')
    message = refusal(path)
    assert message.startswith(str(path))
    assert "no name" in message


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('{"seg": 2, "out": {"A": 1}}', ["'out'", "'A'"]),
        ('{"seg": 2, "out": {"": "a"}}', ["'out'"]),
        ('{"seg": 2, "out": ["a"]}', ["'out'", "object"]),
        ('{"seg": 2, "refs": {"refA": ["a"]}}', ["'refs'", "'refA'"]),
        ('{"seg": 2, "src": 5.5, "out": "x"}', ["'out'"]),
        ('{"out": {"A": "a"}}', ["'seg'", "empty"]),
        ('{"seg": 2, "out": {"A": "a", "A": "b"}}', ["'A'", "twice"]),
    ],
)
def test_bad_line_of_texts(tmp_path: Path, refusal: Refusal, line: str, words: list[str]) -> None:
    good = '{"seg": 1, "src": "s", "refs": {"refA": "r"}, "out": {"A": "a"}}\n'
    path = write(tmp_path / "x.jsonl", f"{good}{line}\n")
    message = refusal(path)
    assert message.startswith(f"{path}:2: ")
    for word in words:
        assert word in message


def test_texts_without_segments(tmp_path: Path, refusal: Refusal) -> None:
    path = write(tmp_path / "x.jsonl", '{"src": "s", "out": {"A": "a"}}\n')
    assert "segment" in refusal(path)


@pytest.mark.parametrize("column", ["lp", "langpair", "language_pair"])
def test_mixed_language_pairs_name_the_way_out(
    tmp_path: Path, refusal: Refusal, column: str
) -> None:
    text = f"{column},system,segment,x\nen-de,A,1,1\nzh-en,A,1,2\nzh-en,B,1,2\n"
    path = write(tmp_path / "x.csv", text)
    message = refusal(path)
    assert message.startswith(f"{path}: ")
    assert f"'{column}'" in message
    assert "en-de, zh-en" in message
    assert f'where={{"{column}": "en-de"}}' in message
    assert load(path, where={column: "zh-en"})["x"].values.tolist() == [[2.0], [2.0]]


@pytest.mark.parametrize("option", ["where", "ignore"])
def test_unknown_column(tmp_path: Path, refusal: Refusal, option: str) -> None:
    path = write(tmp_path / "x.csv", "system,segment,domain,chrF\nA,1,news,1\n")
    value = {"domian": "news"} if option == "where" else ["domian"]
    message = refusal(path, **{option: value})
    assert "'domian'" in message
    assert "did you mean 'domain'?" in message


def test_unknown_value_of_where(tmp_path: Path, refusal: Refusal) -> None:
    path = write(tmp_path / "x.csv", "system,segment,domain,chrF\nA,1,news,1\n")
    message = refusal(path, where={"domain": "new"})
    assert str(path) in message
    assert "did you mean 'news'?" in message


@pytest.mark.parametrize("source", [3, None, object(), [1, 2], b"x.csv"])
def test_sources_that_are_none(refusal: Refusal, source: object) -> None:
    assert type(source).__name__ in refusal(load, source)


@pytest.mark.parametrize(
    "text",
    [
        'system,segment,"a\nb","a\nb"\nA,1,1,2\n',
        'system,segment,x\n"A\nB",1,1\n"A\nB",1,2\n',
        'system,segment,x\nA,"1\r\n2",1\nA,"1\r\n2",2\n',
        'lp,system,segment,x\n"en\nde",A,1,1\n"de\nen",A,1,2\n',
        'system,segment,doc,x\nA,1,"d\ne",1\nB,1,f,2\n',
        "system,segment,x\nA\x1b[31m,1,1\nA\x1b[31m,1,1\n",
    ],
)
def test_odd_names_do_not_break_the_message(tmp_path: Path, refusal: Refusal, text: str) -> None:
    message = refusal(write(tmp_path / "x.csv", text))
    assert "\x1b" not in message
