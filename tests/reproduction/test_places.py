"""Where data is looked for: under which names, in which folders, and what hostile folders do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.reproduction.places import Places, default_folder


def put(path: Path, text: str = "x\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_files_are_found_compressed_or_not(tmp_path):
    places = Places.of(tmp_path)
    assert places.file("bt-eval/tac.csv.gz") is None
    plain = put(tmp_path / "bt-eval" / "tac.csv")
    assert places.file("bt-eval/tac.csv.gz") == plain
    packed = put(tmp_path / "bt-eval" / "tac.csv.gz")
    assert places.file("bt-eval/tac.csv.gz") == packed
    assert places.file("bt-eval/tac.csv") == plain


def test_tables_of_any_kind_and_names_before_folders(tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    less = put(one / "bt-eval" / "tac.csv.gz")
    two.mkdir()
    places = Places.of([one, two])
    assert places.file("bt-eval-full/tac.csv.gz", "bt-eval/tac.csv.gz") == less
    full = put(two / "bt-eval-full" / "tac.parquet")
    assert places.file("bt-eval-full/tac.csv.gz", "bt-eval/tac.csv.gz") == full
    assert Places.of([two, one]).file("bt-eval/tac.csv.gz") == less


def test_a_folder_may_itself_be_what_is_looked_for(tmp_path, monkeypatch):
    path = put(tmp_path / "bt-eval" / "tac.csv.gz")
    assert Places.of(tmp_path / "bt-eval").file("bt-eval/tac.csv.gz") == path
    monkeypatch.chdir(path.parent)
    assert Places.of(".").file("bt-eval/tac.csv.gz") == Path("tac.csv.gz")


@pytest.mark.parametrize("above", ["", "mt-metrics-eval-v2"])
@pytest.mark.parametrize("inside", [False, True])
def test_sets_of_mt_metrics_eval(tmp_path, above, inside):
    folder = tmp_path / above / "wmt22"
    put(folder / "documents" / "en-ru.docs", "news d\n")
    root = folder if inside else tmp_path
    assert Places.of(root).test_set("wmt22", "en-ru") == folder
    assert Places.of(root).test_set("wmt22", "zh-en") is None
    assert Places.of(root).test_set("wmt23", "en-ru") is None
    package = Places.of(tmp_path / above).test_set("wmt22", "en-ru")
    assert package == folder


def test_hostile_folders(tmp_path):
    """Folders where files should be, links in circles, and what nobody may read."""
    (tmp_path / "bt-eval" / "tac.csv.gz").mkdir(parents=True)
    (tmp_path / "bt-eval" / "tac.csv").symlink_to(tmp_path / "bt-eval" / "tac.csv")
    (tmp_path / "bt-eval" / "tac.tsv").symlink_to(tmp_path / "gone")
    os.mkfifo(tmp_path / "bt-eval" / "tac.parquet")
    (tmp_path / "wmt23").symlink_to(tmp_path)
    put(tmp_path / "mt-metrics-eval-v2")
    places = Places.of(tmp_path)
    assert places.file("bt-eval/tac.csv.gz") is None
    assert places.test_set("wmt23", "en-de") is None
    assert places.folder("annotations") is None


def test_a_file_is_no_folder_of_data(tmp_path, capsys):
    path = put(tmp_path / "data.csv")
    with pytest.raises(UsageError, match=r'data=".*data\.csv": expected a folder'):
        Places.of(path)
    with pytest.raises(UsageError, match="at least one folder"):
        Places.of([])
    assert run(["reproduce", "spa", "--data", str(path)]) == 2
    assert capsys.readouterr().err == (
        f"error: --data {path}: expected a folder that holds data sets\n"
    )


def test_folders_that_are_named_have_to_be_there(tmp_path, capsys, monkeypatch):
    with pytest.raises(InputError, match="nope: no such folder"):
        Places.of([tmp_path, tmp_path / "nope"])
    assert run(["reproduce", "ties", "--data", "nope"]) == 2
    assert capsys.readouterr().err == "error: nope: no such folder\n"
    assert run(["reproduce", "ties", "--data", ""]) == 2
    assert capsys.readouterr().err == "error: --data: expected a folder that holds data sets\n"
    monkeypatch.setenv("STEELYARD_SHARED", str(tmp_path / "not yet"))
    assert Places.of().file("bt-eval/tac.csv.gz") is None


def test_the_default_is_on_the_machine_of_the_user(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("STEELYARD_SHARED", str(tmp_path / "shared"))
    assert default_folder() == tmp_path / "shared" / "data"
    monkeypatch.delenv("STEELYARD_SHARED")
    assert default_folder() == tmp_path / "cache"
    folder = tmp_path / "cache" / "mt-metrics-eval-v2" / "wmt23"  # where data get puts it
    put(folder / "documents" / "en-de.docs", "news d\n")
    assert Places.of().test_set("wmt23", "en-de") == folder
