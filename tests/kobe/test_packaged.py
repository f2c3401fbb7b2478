"""The embedded base: whole, cached, and safe when two processes want it at once."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from steelyard.kobe.base.knowledge import KnowledgeBase
from steelyard.kobe.base.packaged import embedded
from steelyard.kobe.linking.wordforms import fold

START = """
import sys
from steelyard.kobe.base.packaged import embedded
print(embedded(frozenset({"fi"}), min_people=5_000_000))
"""


def test_two_processes_at_once(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    command = [sys.executable, "-c", START]
    pipe = subprocess.PIPE
    started = [subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True) for _ in range(2)]
    told = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0], told
    assert told[0][0] == told[1][0]
    assert "building the embedded knowledge base (once): reading cldr ..." in told[0][1]
    folder = tmp_path / "kb"
    assert [path.name for path in folder.iterdir()] == [told[0][0].strip().rpartition("/")[2]]
    kb = KnowledgeBase.open(embedded(frozenset({"fi"}), min_people=5_000_000))  # the same one
    germany = kb.entity("wd:Q183")
    assert germany is not None
    assert kb.label(germany, "fi") == "Saksa"


@pytest.mark.thorough
@pytest.mark.slow
def test_the_whole_base(tmp_path, monkeypatch):
    monkeypatch.setenv("STEELYARD_CACHE", str(tmp_path))
    kb = KnowledgeBase.open(embedded(progress=lambda *_: None))
    assert isinstance(kb.prior.base, np.memmap)  # nothing is read before it is needed
    assert len(kb.languages) > 290
    assert len(kb) > 35_000
    names = {"de": "Tschechien", "ar": "التشيك", "ja": "チェコ", "sw": "Chechia", "th": "เช็ก"}
    for lang, name in names.items():
        key = kb.key(lang, fold(name, lang))
        assert key is not None
        entities, _ = kb.postings(key)
        assert "wd:Q213" in [kb.external_id(entity) for entity in entities]
