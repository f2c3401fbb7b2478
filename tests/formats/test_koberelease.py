"""Folders of the KoBE release: found at any level, read, written and read again."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from steelyard import load, save
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.formats.entityfiles import EntityAnnotations, EntityMention, Sentence
from steelyard.formats.folders import koberelease
from steelyard.formats.reading import Reading, read_any

pytestmark = pytest.mark.usefixtures("one_database")
Refusal = Callable[..., str]
Fresh = Callable[[], Path]


def released(
    folder: Path, pair: str, systems: Sequence[str] = ("A", "online-B.0"), n: int = 2
) -> None:
    """Write a folder as the authors did: no texts of mentions, one file per system."""
    own = folder / pair
    own.mkdir(parents=True)
    source, _, target = pair.partition("-")
    names = [f"newstest2019.{system}.{pair}" for system in systems]
    names += [
        f"newstest2019-{source}{target}-src.{source}",
        f"newstest2019-{source}{target}-ref.{target}",
    ]
    for name in names:
        mention = {"begin": 0, "end": 1, "id": "/m/1"}
        sentences = [{"sentence": f"x{i}", "entities": [mention]} for i in range(n)]
        (own / name).write_text(json.dumps({"annotated_sentence": sentences}))


@pytest.fixture
def release(tmp_path: Path) -> Path:
    folder = tmp_path / "data" / "annotations" / "wmt19-submitted-data" / "newstest2019"
    released(folder, "ru-en")
    released(folder, "de-en", n=3)
    return tmp_path / "data"


@pytest.mark.parametrize(
    "level", [".", "annotations", "annotations/wmt19-submitted-data/newstest2019"]
)
def test_found_at_any_level_above(release: Path, level: str) -> None:
    form, found, _ = read_any(release / level, Reading(lp="ru-en"))
    assert form == "KoBE release"
    assert set(found.systems) == {"A", "online-B.0", "src", "ref"}
    assert (found.n_segments, found.language_pair) == (2, "ru-en")
    assert found.inputs[0].path.endswith("ru-en")


def test_one_pair_needs_no_choice(release: Path) -> None:
    leaf = release / "annotations" / "wmt19-submitted-data" / "newstest2019" / "de-en"
    assert koberelease.read_folder(leaf).language_pair == "de-en"
    assert koberelease.read_folder(leaf, "de-en").n_segments == 3
    with pytest.raises(UsageError, match=r"no language pair 'ru-en'; .*Known: de-en"):
        koberelease.read_folder(leaf, "ru-en")


def test_several_pairs_are_named(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["score", str(release), "--metric", "kobe"]) == 2
    error = capsys.readouterr().err
    assert "annotations of 2 language pairs: de-en, ru-en; choose one with --lp" in error
    assert run(["score", str(release), "--metric", "kobe", "--lp", "fi-en"]) == 2
    assert "no language pair 'fi-en'" in capsys.readouterr().err


def test_annotations_are_no_scores(release: Path) -> None:
    with pytest.raises(InputError, match=r"raw judgements \(KoBE release\), not scores"):
        load(release, lp="ru-en")


def test_two_folders_of_one_pair(release: Path, refusal: Refusal) -> None:
    released(release / "more", "ru-en")
    assert "two folders of ru-en" in refusal(koberelease.read_folder, release)


def test_nothing_there(tmp_path: Path, refusal: Refusal) -> None:
    assert "newstest2019.SYSTEM.LP" in refusal(koberelease.read_folder, tmp_path)
    (tmp_path / "x.json").write_text("{}")
    assert not koberelease.annotated_folders(tmp_path)


def test_other_files_are_passed_over_wherever_they_stand(release: Path) -> None:
    folder = release / "annotations" / "wmt19-submitted-data" / "newstest2019" / "de-en"
    before = koberelease.read_folder(folder)
    for name in ("0README.md", "LICENSE", "mine.txt", "zz.json"):
        (folder / name).write_text('{"a": 1}\n')
    found = koberelease.read_folder(folder)
    assert found == before
    assert found.inputs == before.inputs
    others = "0README.md, LICENSE, mine.txt, zz.json"
    assert found.notes == (f"{folder}: passed over {others}: not of the KoBE release",)
    assert koberelease.annotated_folders(release).keys() == {"de-en", "ru-en"}


def test_files_of_systems_must_be_there_and_whole(release: Path, refusal: Refusal) -> None:
    folder = release / "annotations" / "wmt19-submitted-data" / "newstest2019" / "de-en"
    path = folder / "newstest2019.C.de-en"
    path.symlink_to("nowhere")
    message = refusal(koberelease.read_folder, folder)
    assert message == f"{path}: is a link to a file that is not there"
    path.unlink()
    path.write_text("[]")
    assert str(path) in refusal(koberelease.read_folder, folder)
    path.write_text('{"sentences": []}')
    assert "no 'annotated_sentence'" in refusal(koberelease.read_folder, folder)
    entity = {"begin": 5, "end": 1, "id": "x"}
    rows = [{"sentence": "x"}, {"sentence": "yy", "entities": [entity]}]
    path.write_text(json.dumps({"annotated_sentence": rows}))
    message = refusal(koberelease.read_folder, folder)
    assert message.startswith(f"{path}:1: sentence 2: 'entities': [5, 1] is no part")


def test_a_name_that_is_no_text(release: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = release / "annotations" / "wmt19-submitted-data" / "newstest2019" / "de-en"
    try:
        (folder / "newstest2019.A.de-en").rename(folder / "newstest2019.\udcff.de-en")
    except OSError:
        pytest.skip("this file system has such names for no file")
    assert run(["score", str(folder), "--metric", "kobe"]) == 2
    assert "the name holds '\\udcff'" in capsys.readouterr().err


def test_mentions_without_an_id_are_told_once(release: Path) -> None:
    folder = release / "annotations" / "wmt19-submitted-data" / "newstest2019" / "ru-en"
    for path in folder.iterdir():
        path.write_text(path.read_text().replace("/m/1", "", 1))
    found = koberelease.read_folder(folder)
    assert found.notes == (f"{folder}: 4 mentions without an id left out",)


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@st.composite
def annotated(draw: st.DrawFn) -> Sentence:
    text = draw(texts)
    place = st.integers(0, len(text.encode()))
    spans = [sorted((draw(place), draw(place))) for _ in range(draw(st.integers(0, 3)))]
    found = [
        EntityMention(
            draw(texts.filter(str.strip)),
            begin,
            end,
            draw(st.none() | texts),
            draw(st.none() | texts),
            tuple(draw(st.lists(texts, max_size=2))),
        )
        for begin, end in spans
    ]
    return Sentence(text, tuple(found))


sentences = annotated()


@given(data=st.data())
def test_written_and_read_again(fresh: Fresh, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 4))
    names = data.draw(
        st.sets(st.sampled_from(["src", "ref", "A", "online-B.0", "ü x"]), min_size=1)
    )
    made = EntityAnnotations(
        {name: tuple(data.draw(st.lists(sentences, min_size=n, max_size=n))) for name in names},
        language_pair="de-en",
    )
    folder = fresh() / "release"
    save(made, folder, to="kobe-release")
    assert koberelease.read_folder(folder) == made


def test_writing_minds_what_is_there(tmp_path: Path) -> None:
    one = EntityAnnotations({"A": (Sentence("x", ()),)}, language_pair="de-en")
    other = EntityAnnotations({"B": (Sentence("y", ()),)}, language_pair="de-en")
    save(one, tmp_path, to="kobe-release")
    with pytest.raises(UsageError, match="exists already"):
        save(other, tmp_path, to="kobe-release")
    (tmp_path / "de-en" / "notes.txt").write_text("mine")
    save(other, tmp_path, to="kobe-release", overwrite=True)
    assert sorted(p.name for p in (tmp_path / "de-en").iterdir()) == [
        "newstest2019.B.de-en",
        "notes.txt",
    ]


def test_what_fails_leaves_everything_as_it_was(tmp_path: Path) -> None:
    def made(name: str, text: str = "x") -> EntityAnnotations:
        rows = {"A": (Sentence("x", ()),), name: (Sentence(text, ()),)}
        return EntityAnnotations(rows, language_pair="de-en")

    for bad in (made("B" * 300), made("B\ud800"), made("B", "x\ud800")):
        with pytest.raises((UsageError, InputError)):
            save(bad, tmp_path / "new", to="kobe-release")
        assert not (tmp_path / "new").exists()
    save(made("B"), tmp_path, to="kobe-release")
    (tmp_path / "de-en" / "newstest2019.C.de-en").mkdir()
    before = sorted(path.name for path in tmp_path.rglob("*"))
    for bad in (made("C"), made("D", "x\ud800")):
        with pytest.raises(
            (UsageError, InputError), match=r"is a folder|sentence 1 holds '\\ud800'"
        ):
            save(bad, tmp_path, to="kobe-release", overwrite=True)
        assert sorted(path.name for path in tmp_path.rglob("*")) == before


@pytest.mark.parametrize("name", ["a/b", "my-ref.1", "x-src.y"])
def test_names_that_would_not_come_back(tmp_path: Path, name: str) -> None:
    made = EntityAnnotations({name: (Sentence("x", ()),)}, language_pair="de-en")
    with pytest.raises(UsageError, match="can't be the name of a file"):
        save(made, tmp_path / "out", to="kobe-release")


def test_a_pair_is_needed(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="needs a language pair"):
        save(EntityAnnotations({"A": (Sentence("x", ()),)}), tmp_path / "out", to="kobe-release")


def test_json_lines_become_a_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = tmp_path / "x.jsonl"
    made = EntityAnnotations(
        {n: (Sentence("x", (EntityMention("Q1", 0, 1),)),) for n in ("src", "A")}
    )
    save(made, lines)
    call = ["data", "convert", str(lines), str(tmp_path / "out"), "--to", "kobe-release"]
    assert run(call) == 2
    assert "needs a language pair such as de-en" in capsys.readouterr().err
    assert run([*call, "--lp", "de-en"]) == 0
    assert koberelease.read_folder(tmp_path / "out").systems == made.systems
    assert run(["data", "convert", str(tmp_path / "out"), str(tmp_path / "y.jsonl")]) == 0
    assert read_any(tmp_path / "y.jsonl")[1] == made
