"""Bases of earlier versions leave the cache, and nothing else does."""

from __future__ import annotations

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
