"""Bases of earlier versions leave the cache, and nothing else does."""

from __future__ import annotations

import shutil

import pytest

from steelyard.kobe.base import leftovers
from steelyard.kobe.base.leftovers import remove_leftovers


def test_leftovers_are_removed_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    assert remove_leftovers() == 0
    folder = tmp_path / "kb"
    for name in ("embedded-0123456789abcdef", "embedded-0123456789abcdee", "mine", "embedded-mine"):
        (folder / name).mkdir(parents=True)
        (folder / name / "manifest.json").write_text("12345")
    assert remove_leftovers() == 10
    told = capsys.readouterr().err
    assert told == f"removed 2 knowledge base(s) of earlier versions from {folder}: 0 MB\n"
    assert sorted(path.name for path in folder.iterdir()) == ["embedded-mine", "mine"]
    assert remove_leftovers() == 0
    assert capsys.readouterr().err == ""


def test_the_folder_goes_with_the_last(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    (tmp_path / "kb" / "embedded-0123456789abcdef").mkdir(parents=True)
    remove_leftovers()
    assert not (tmp_path / "kb").exists()


@pytest.fixture
def two(tmp_path, monkeypatch):
    """A folder with two bases of earlier versions."""
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    for name in ("embedded-0123456789abcdef", "embedded-0123456789abcdee"):
        (tmp_path / "kb" / name).mkdir(parents=True)
        (tmp_path / "kb" / name / "manifest.json").write_text("12345")
    return tmp_path / "kb"


def test_another_process_removes_all_of_them(two, monkeypatch, capsys):
    really = shutil.rmtree
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **given: really(two, **given))
    assert remove_leftovers() == 5  # the second had gone before anybody looked how large it was
    assert capsys.readouterr().err.startswith("removed 1 knowledge base(s)")


def test_another_process_removes_each_of_them_first(two, monkeypatch, capsys):
    measured = leftovers._size

    def too_late(path):
        shutil.rmtree(path)
        return measured(path)

    monkeypatch.setattr(leftovers, "_size", too_late)
    assert remove_leftovers() == 0
    assert capsys.readouterr().err == ""
    assert not two.exists()


def test_what_can_not_be_removed_is_not_said_to_be(two, monkeypatch, capsys):
    monkeypatch.setattr(shutil, "rmtree", lambda *_, **__: None)  # a read-only cache
    assert remove_leftovers() == 0
    assert capsys.readouterr().err == ""
    assert len([*two.iterdir()]) == 2
