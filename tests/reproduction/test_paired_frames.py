"""Frames of the paired-evaluation paper: what is found, in which order, and what is refused."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from steelyard.core.errors import InputError
from steelyard.reproduction.paired_frames import find_frames
from steelyard.reproduction.places import Places

PAGE = Path(__file__).parents[2] / "docs" / "questions" / "reproduce.md"


def put(path: Path, rows: list[str], head: str = "dataset,item,system,BLEU,pyramid") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def grid(value: str, systems: int = 11, items: int = 3) -> list[str]:
    """Scores that say where they belong, systems and items in another order than theirs."""
    return [f"{value},{i},M{m},{m}.{i},{i}" for m in reversed(range(systems)) for i in range(items)]


def test_sets_are_found_by_any_name_and_keep_the_authors_order(tmp_path):
    put(tmp_path / "bt-eval" / "tac.csv", [*grid("TAC-11"), *grid("08")])
    put(tmp_path / "bt-eval" / "wmt18.csv", [*grid("zh-en"), *grid("de-en")])
    put(tmp_path / "bt-eval" / "mscoco.csv", grid("anything"))
    frames = find_frames(Places.of(tmp_path))
    assert [*frames.sets] == ["TAC08", "TAC11", "WMT18 de-en", "WMT18 zh-en", "MSCOCO"]
    setup = frames.sets["TAC08"][0]
    assert setup.systems == tuple(f"M{m}" for m in range(11))
    assert setup.scores[10].tolist() == [10.0, 10.1, 10.2]
    assert {s.score for s in frames.setups} == {"BLEU"}  # people are no metric
    assert [s.set for s in frames.of(["WMT18", "MSCOCO"])] == [
        "WMT18 de-en", "WMT18 zh-en", "MSCOCO"]  # fmt: skip
    assert frames.subset == "5 of the paper's 296 setups are at hand"
    assert frames.missing["TAC09"] == f"no set TAC09 in {', '.join(map(str, frames.files))}"
    assert frames.missing["PC"].startswith("no bt-eval-full/dialogue.csv.gz, nor bt-eval/dialogue")
    assert frames.absent(["TAC08", "WMT18"]) == ""


def test_full_digits_come_first_frame_by_frame(tmp_path):
    for folder in ("bt-eval", "bt-eval-full"):
        put(tmp_path / folder / "dialogue.csv", [*grid("tc"), *grid("pc")])
    cut = put(tmp_path / "bt-eval" / "cnndm.csv", grid("x"))
    frames = find_frames(Places.of(tmp_path))
    assert frames.files == [tmp_path / "bt-eval-full" / "dialogue.csv", cut]


@pytest.mark.parametrize(
    ("file", "rows", "head", "message"),
    [
        ("tac", grid("2008x"), None, "column dataset: '2008x' is none of the sets TAC08, TAC09"),
        ("tac", ["0,M0,1", "0,M1,2"], "item,system,BLEU", "expected a column that names the set"),
        ("wmt17", grid("lv-en")[:-1], None, "WMT17 lv-en BLEU: expected a score of every system"),
        ("wmt17", [*grid("lv-en")[:-1], "lv-en,0,M99,many,0"], None, "many"),
    ],
)
def test_frames_that_are_broken(tmp_path, file, rows, head, message):
    path = put(tmp_path / "bt-eval" / f"{file}.csv", rows, *([head] if head else []))
    with pytest.raises(InputError, match=re.escape(message)) as error:
        find_frames(Places.of(tmp_path))
    assert path.name in str(error.value)


def test_pickles_are_not_opened(tmp_path):
    (tmp_path / "bt-eval").mkdir()
    for name in ("tac.pickle", "TAC_dataframe.pickle"):
        (tmp_path / "bt-eval" / name).write_bytes(b"cos\nsystem\n(S'exit 1'\ntR.")
    assert find_frames(Places.of(tmp_path)).files == []


def test_the_snippet_of_the_documentation_writes_what_is_read(tmp_path, monkeypatch):
    """What the page tells users to run, on frames like those that the authors pickled."""
    pandas = pytest.importorskip("pandas")
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    rng = np.random.default_rng(0)

    def frame(systems: int, items: int = 4):
        names = [f"sys.{chr(120 - k)}" for k in range(systems)]  # not in the order of their names
        return pandas.DataFrame(rng.normal(size=(items, systems)), columns=names)

    metrics = ("BLEU", "ROUGE_L")
    frames = {
        ("TAC", "TAC"): {year: {m: frame(12) for m in metrics} for year in ("08", "09", "11")},
        ("Dialogue", "Dialogue"): {name: {m: frame(4) for m in metrics} for name in ("tc", "pc")},
        ("SUMM", "SUMM"): {m: frame(5) for m in metrics},
        ("MT", "MT"): {lp: {m: frame(3) for m in metrics} for lp in ("lv-en", "de-en")},
        ("MT-18", "MT"): {lp: {m: frame(3) for m in metrics} for lp in ("de-en",)},
        ("MT-19", "MT"): {lp: {m: frame(3) for m in metrics} for lp in ("gu-en",)},
        ("Captioning", "Captioning"): {"Bleu_1": frame(3)},
    }
    (tmp_path / "Data").mkdir()
    for (file, task), own in frames.items():
        pandas.to_pickle({task: own}, tmp_path / "Data" / f"{file}_dataframe.pickle")
    monkeypatch.chdir(tmp_path)
    exec(compile(code, str(PAGE), "exec"), {})
    found = find_frames(Places.of(tmp_path))
    assert not found.missing
    assert len(found.setups) == 2 * 3 + 2 * 2 + 2 + 2 * 2 + 2 + 2 + 1
    one = frames["TAC", "TAC"]["09"]["ROUGE_L"]
    setup = next(s for s in found.sets["TAC09"] if s.score == "ROUGE_L")
    assert setup.scores.tolist() == one.to_numpy().T.tolist()  # to the last digit, in that order
