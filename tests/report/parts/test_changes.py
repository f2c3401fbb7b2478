"""An earlier report beside this one: what changed, what is noise, and files that are no report."""

from __future__ import annotations

import base64
import gzip
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report import sections
from steelyard.report.memory import read_memory, remember
from steelyard.report.page import Report, make_report
from steelyard.report.parts.changes import Changes, find_changes
from steelyard.stats.arrays import Floats


@pytest.fixture(autouse=True)
def no_charts(monkeypatch) -> None:
    """As if the plotting libraries were not installed, which saves their time."""
    monkeypatch.setattr(sections, "without_figures", lambda: ["the page has no figures"])


NAMES = ("A", "B", "C")


def made(
    values: Floats,
    systems: tuple[str, ...] = NAMES,
    *,
    prefix: str = "",
    source: str | None = None,
    higher: bool = True,
    score: str = "s",
) -> EvalSet:
    ids = tuple(f"{prefix}{k:03}" for k in range(values.shape[1]))
    texts = None if source is None else tuple(f"{source} {k}" for k in range(len(ids)))
    table = ScoreTable(values, higher_is_better=higher)
    return EvalSet(systems, Segments(ids, sources=texts), {score: table})


def start(seed: int = 0, n: int = 60) -> Floats:
    drawn: Floats = np.random.default_rng(seed).normal(size=(3, n))
    drawn += np.array([[0.0], [0.4], [0.8]])
    return drawn


def reported(es: EvalSet, **more: Any) -> Report:
    return make_report(es, n_bootstrap=100, **more)


def changes(old: EvalSet, new: EvalSet) -> Changes:
    found = reported(new, baseline=reported(old)).changes
    assert found is not None
    return found


def told(found: Changes) -> str:
    return " ".join(text for _, text in found.told())


def test_nothing_changed():
    es = made(start())
    found = changes(es, es)
    assert "No score of 3 systems changed (s)." in told(found)
    assert "C ranks first now as before." in told(found)
    assert found.overtakings == ()
    assert {row["verdict"] for row in found.system_table().records()} == {"the same"}


def test_a_change_that_is_more_than_noise():
    new = start()
    new[0] += 1.5 + 0.1 * np.random.default_rng(9).normal(size=60)
    found = changes(made(start()), made(new))
    assert "1 of 3 systems changed in s by more than noise: A +1." in told(found)
    assert "paired (t-tests, 60 segments taken as independent" in told(found)
    assert found.systems is not None
    gained = (new - start())[0]
    assert found.systems.change[0] == pytest.approx(gained.mean(), abs=1e-3)
    assert {(a, b) for a, b, p in found.overtakings if p < 0.05} == {("A", "C"), ("A", "B")}
    assert "A ranks first now; before it was C." in told(found)


def test_pairing_sees_what_two_intervals_do_not():
    shift = start() + np.array([[0.25], [0.0], [0.0]]) + 0.02
    old, new = made(start()), made(shift)
    assert "more than noise: " in told(changes(old, new))
    apart = changes(old, made(shift, prefix="other"))
    assert "a change may come from the test set as well as from the system" in told(apart)
    assert "Changes are weighed by the two 95 % intervals" in told(apart)
    assert "None of 3 systems changed in s by more than noise explains" in told(apart)


def test_chance_is_called_a_change_as_often_as_stated():
    """The same systems on other segments: independent, so the two intervals are the right noise."""
    alarms = 0
    for seed in range(100):
        old, new = (made(start(2 * seed + k), prefix=str(k)) for k in (0, 1))
        before, now = (sy.compare(es, "s", by="mean", n_bootstrap=100) for es in (old, new))
        memories = remember(old, before, None), remember(new, now, None)
        moves = find_changes(new, now, *memories).systems
        assert moves is not None
        alarms += bool(moves.beyond(0.05))
    assert alarms <= 12  # 5 are expected; more than 12 once in a thousand


def test_other_systems():
    new = np.vstack([start()[:2], start(1)[:1]])
    found = changes(made(start()), made(new, ("A", "B", "<b>new")))
    assert "2 of 3 systems were there, too; new: <b>new; gone: C." in told(found)
    rows = {row["system"]: row for row in found.system_table().records()}
    assert rows["C"]["verdict"] == "gone"
    assert rows["C"]["now"] is None
    assert rows["<b>new"]["verdict"] == "new"
    page = reported(made(new, ("A", "B", "<b>new")), baseline=reported(made(start()))).html
    assert "<b>new" not in page
    nobody = changes(made(start()), made(start(), ("X", "Y", "Z")))
    assert "0 of 3 systems were there, too" in told(nobody)


def test_another_score_is_not_compared():
    found = changes(made(start()), made(start(), score="t"))
    assert found.systems is None
    assert "compares by s, this one by t: ranks can be put side by side, scores can't" in told(
        found
    )
    assert {row["verdict"] for row in found.system_table().records()} == {"another score"}


def test_same_names_of_other_segments_are_not_paired():
    found = changes(made(start(), source="one"), made(start(1), source="two"))
    assert "Segments have the same names but other sources" in told(found)


def test_gaps_and_less_is_better():
    old, new = start(), start()
    old[1, :30] = np.nan
    new[0] -= 2
    found = changes(made(old, higher=False), made(new, higher=False))
    rows = {row["system"]: row for row in found.system_table().records()}
    assert rows["A"]["change"] == pytest.approx(-2, abs=1e-3)
    assert rows["B"]["change"] == 0
    assert rows["A"]["p"] == "< 0.001"
    assert found.to_dict()["systems"][0]["p"] < 1e-6
    assert found.common[0] == "A"


def test_overtaking_is_told_with_its_noise():
    rng = np.random.default_rng(0)
    old = rng.normal(size=(2, 40))
    old[1] += old[0].mean() - old[1].mean() - 0.01
    new = old + rng.normal(size=(2, 40)) * 0.2
    new[1] += new[0].mean() - new[1].mean() + 0.01
    found = changes(made(old, ("A", "B")), made(new, ("A", "B")))
    assert [(a, b) for a, b, _ in found.overtakings] == [("B", "A")]
    assert "1 pair of systems changed places since the earlier report; none by more" in told(found)


def test_agreement_of_metrics():
    rng = np.random.default_rng(0)
    human = rng.normal(size=(6, 100)) + 0.3 * np.arange(6)[:, None]

    def with_metric(noise: float, sign: float) -> EvalSet:
        metric = sign * human + noise * rng.normal(size=human.shape)
        segments = Segments(tuple(f"{k:03}" for k in range(100)))
        scores = {"h": ScoreTable(human, kind="human"), "m": ScoreTable(metric)}
        return EvalSet(tuple("ABCDEF"), segments, scores)

    good, bad = with_metric(0.2, 1.0), with_metric(0.2, -1.0)
    found = reported(bad, baseline=reported(good, n_resamples=20), n_resamples=20).changes
    assert found is not None
    assert "Agreement with h by spa changed by more than noise for 1 of 1 metric: m -" in told(
        found
    )
    assert found.metric_table().records()[0]["verdict"] == "more than noise"


def test_page_json_and_object_say_the_same(tmp_path, capsys):
    old = tmp_path / "old.csv"
    new = tmp_path / "new.csv"
    for path, shift in ((old, 0.0), (new, 2.0)):
        rows = ["segment,A,B"]
        rng = np.random.default_rng(1)
        rows += [f"s{k},{rng.normal() + shift:.3f},{rng.normal():.3f}" for k in range(40)]
        path.write_text("\n".join(rows), encoding="utf-8")
    page, printed = tmp_path / "old.html", tmp_path / "old.json"
    assert run(["report", str(old), "--out", str(page), "--json", "--quiet"]) == 0
    printed.write_text(capsys.readouterr().out, encoding="utf-8")
    found = []
    for path in (page, printed):
        out = tmp_path / "new.html"
        done = run(["report", str(new), "--out", str(out), "--baseline", str(path), "--json"])
        assert done == 0
        found.append(json.loads(capsys.readouterr().out)["changes"])
    assert found[0] == found[1]
    assert any("more than noise: A +2" in text for text in found[0]["told"])
    assert found[0]["earlier"]["title"] == "old"
    plain = json.loads(printed.read_text(encoding="utf-8"))
    plain.pop("memory")
    printed.write_text(json.dumps(plain), encoding="utf-8")
    memory = read_memory(printed)
    assert memory.kept is None
    assert memory.systems["A"].rank in (1, 2)
    assert run(["report", str(new), "--out", str(tmp_path / "n.html"), "--baseline",
                str(printed), "--quiet"]) == 0  # fmt: skip
    assert "holds no scores of segments" in capsys.readouterr().out
    assert run(["compare", str(old), "--json"]) == 0
    printed.write_text(capsys.readouterr().out, encoding="utf-8")
    assert set(read_memory(printed).systems) == {"A", "B"}


def test_names_of_any_kind_come_back(tmp_path):
    odd = ("</script><b>", "a\u2028b", "ä\ud800".encode("utf-8", "replace").decode())
    es = made(start(), tuple(sorted(odd)), prefix='"<!--')
    path = tmp_path / "r.html"
    report = reported(es)
    report.save(path)
    found = read_memory(path)
    assert set(found.systems) == set(odd)
    assert found.kept is not None
    assert found.kept.segments == es.segments.ids
    assert found.kept.values() == pytest.approx(es["s"].values, abs=1e-3)


def packed(data: bytes) -> str:
    return base64.b64encode(gzip.compress(data)).decode("ascii")


GOOD: dict[str, Any] = {
    "steelyard": "report", "schema": 1, "version": "1", "title": "t", "score": "s", "by": "mean",
    "higher_is_better": True, "systems": {"A": [1.0, 0.5, 1.5, 1]}, "human": None, "metas": {},
    "segments": {"systems": ["A"], "ids": packed(b'["1"]'), "codes": packed(b"\x00\x00"), "low": 0,
                 "digits": 1, "sources": None},
}  # fmt: skip


def test_the_good_one_is_read(tmp_path):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(GOOD), encoding="utf-8")
    assert read_memory(path).systems["A"].value == 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"schema": 2}, "schema 2, this version of Steelyard reads 1"),
        ({"title": 3}, "'title' is 3"),
        ({"score": ["x"]}, "'score' is"),
        ({"higher_is_better": 1}, "'higher_is_better' is 1"),
        ({"systems": [1]}, "'systems' is"),
        ({"systems": {"A": "abcd"}}, "'A' is no [value, low, high, rank]"),
        ({"systems": {"A": ["x", 0, 0, 1]}}, "is not a number"),
        ({"systems": {"A": [True, 0, 0, 1]}}, "is not a number"),
        ({"systems": {"A": [float("inf"), 0, 0, 1]}}, "not finite"),
        ({"systems": {"A": [10**400, 0, 0, 1]}}, "not finite"),
        ({"metas": {"spa": 3}}, "standings are 3"),
        ({"segments": 5}, "'segments' is 5"),
        ({"segments": {**GOOD["segments"], "ids": "###"}}, "packed scores are damaged"),
        ({"segments": {**GOOD["segments"], "ids": packed(b"[1]")}}, "no list of different texts"),
        ({"segments": {**GOOD["segments"], "ids": packed(b"[[")}}, "'ids' can't be read"),
        ({"segments": {**GOOD["segments"], "systems": ["A", "A"]}}, "no list of different texts"),
        ({"segments": {**GOOD["segments"], "codes": packed(b"\x00")}}, "1 bytes for 1 x 1 scores"),
        ({"segments": {**GOOD["segments"], "digits": 400}}, "out of range"),
    ],
)
def test_a_damaged_report_is_refused(tmp_path, change, message):
    path = tmp_path / "r.json"
    path.write_text(json.dumps(GOOD | change), encoding="utf-8")
    with pytest.raises(InputError) as caught:
        read_memory(path)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_bomb_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("steelyard.report.memory._LARGEST", 1000)
    bomb = {**GOOD["segments"], "codes": packed(b"\x00" * 100_000)}
    path = tmp_path / "r.json"
    path.write_text(json.dumps(GOOD | {"segments": bomb}), encoding="utf-8")
    with pytest.raises(InputError, match="larger than any report's"):
        read_memory(path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "JSON of a list"),
        ('{"a": 1, "b\\u001b[31m": 2}', "a JSON object with a, b"),
        ("{}", "a JSON object with no keys"),
        ('{"comparison": {"aggregations": {}}}', "'score' is None"),
        ('{"aggregations": {"mean": {"scores": {"A": 1}, "ci": {"A": 5}}}, "score": "s"}', "'ci'"),
        ('{"human": "h", "results": [5]}', "no list of objects"),
        ("hello\nthere", "neither a page nor JSON, begins with 'hello"),
        ("", "neither a page nor JSON"),
        ("<html><p>hi", "an HTML page that is no report"),
        ('<!doctype html><meta name="generator" content="Steelyard 0.1">', "of an older Steelyard"),
        ('<script type="application/json" id="report-memory">{"x"</script>', "not valid JSON"),
        ("[" * 100_000, "nested too deeply"),
    ],
)
def test_another_file_is_refused_in_one_line(tmp_path, capsys, text, message):
    path = tmp_path / "odd"
    path.write_text(text, encoding="utf-8")
    scores = tmp_path / "s.csv"
    scores.write_text("segment,A,B\n1,1,2\n2,2,3\n", encoding="utf-8")
    out = tmp_path / "o.html"
    assert run(["report", str(scores), "--out", str(out), "--baseline", str(path)]) == 2
    err = capsys.readouterr().err
    assert message in err
    assert len(err.strip().splitlines()) == 1
    assert "\x1b" not in err
    assert not out.exists()


@settings(max_examples=60, deadline=None)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
                    lambda inner: st.lists(inner, max_size=4)
                    | st.dictionaries(st.sampled_from([*GOOD, "comparison", "meta", "aggregations",
                                                       "results", "ci", "scores", "memory"]),
                                      inner, max_size=6),
                    max_leaves=20))  # fmt: skip
def test_whatever_json_is_given_is_read_or_refused(tmp_path_factory, value):
    path: Path = tmp_path_factory.mktemp("any") / "x.json"
    whole = GOOD | value if isinstance(value, dict) else value
    for one in (value, whole):
        path.write_text(json.dumps(one), encoding="utf-8")
        try:
            read_memory(path)
        except InputError as error:
            assert "\n" not in str(error)  # noqa: PT017


def test_a_baseline_is_a_path_or_a_report():
    with pytest.raises(UsageError, match="baseline"):
        reported(made(start()), baseline=3)
    with pytest.raises(InputError, match="no such file"):
        reported(made(start()), baseline="nowhere.html")


def test_a_page_without_a_comparison_has_a_memory():
    es = EvalSet(("A", "B"), Segments(()), {"x": ScoreTable(np.empty((2, 0)),
                 system_scores=np.array([1.0, 2.0]))})  # fmt: skip
    found = make_report(es)
    assert found.memory.systems == {}
    again = make_report(es, baseline=found)
    assert again.changes is not None
