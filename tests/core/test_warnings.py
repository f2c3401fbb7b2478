"""Warnings of a kind are one line, long lists are cut, and what is pickled keeps its kind."""

from __future__ import annotations

import json
import pickle

from steelyard.core.warnings import TypedWarning, brief, code_of, reworded


def test_warnings_of_a_kind_are_one_line():
    texts = [TypedWarning(f"{n} of 6,000 scores are missing", "missing") for n in (600, 1800)]
    assert brief([*texts, "other", "other"], "--json") == [
        "600 of 6,000 scores are missing (and 1 more like this: --json)",
        "other",
    ]
    assert code_of(brief(texts)[0]) == "missing"


def test_long_lists_are_cut_and_their_sentence_stays():
    names = [f"'metric-{k}'" for k in range(34)]
    text = TypedWarning(f"scores of {', '.join(names)} are not means (see --x)", names=names)
    kept = "'metric-0', 'metric-1', 'metric-2' and 31 more"
    assert brief([text]) == [f"scores of {kept} are not means (see --x)"]
    few = TypedWarning("left out: a, b, c, d, e", names="abcde")
    assert brief([few]) == [few]


def test_a_kind_outlives_rewording_and_pickling():
    text = TypedWarning("left out: a, b (keep=True)", "left-out", ["a", "b"])
    for other in (reworded(text, str.upper), pickle.loads(pickle.dumps(text))):
        assert isinstance(other, TypedWarning)
        assert (other.code, other.names) == ("left-out", ("a", "b"))
    assert json.loads(json.dumps([text])) == [text]
    assert code_of(reworded("plain", str.upper)) == ""
