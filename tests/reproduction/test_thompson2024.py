"""The SPA paper reproduced, on the data that is at hand and on sets that are made up."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

import steelyard as sy
from mtme_folders import write_mtme
from steelyard.cli.main import run
from steelyard.core.errors import InputError
from steelyard.core.progress import listening
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.reproduction import thompson2024
from steelyard.reproduction.reproduction import Reproduction, Row
from steelyard.reproduction.thompson2024 import PAPER, SETS, reproduce_spa


def by_name(found: Reproduction) -> dict[str, Row]:
    rows = {row.what: row for row in found.rows}
    assert len(rows) == len(found.rows)
    return rows


def at_hand(found: Reproduction) -> dict[str, int]:
    """How many rows of Table 1 have figures of ours, set by set."""
    table = [row for row in found.rows if row.part == "Table 1"]
    return {name: sum(row.match is not None for row in table if f", {name}," in row.what)
            for name in SETS}  # fmt: skip


CELLS = 11


def test_sets_that_are_not_there_are_named(tmp_path):
    found = reproduce_spa(tmp_path)
    rows = by_name(found)
    assert rows["Table 1, wmt22 en-de, clusters by SPA"].published == 8
    note = str(rows["Table 1, wmt23 he-en, systems"].note)
    assert note.startswith("no wmt23/ (mt-metrics-eval) with he-en, nor wmt23-metrics/he-en.{human")
    assert note.endswith(f" in {tmp_path}")
    cells = PAPER.figures()["table1"]
    assert {len(row) for row in cells["rows"].values()} == {len(cells["columns"])}
    assert at_hand(found) == dict.fromkeys(SETS, 0)
    assert sum(row.part == "Table 1" for row in found.rows) == len(SETS) * CELLS
    assert [*SETS] == [*cells["rows"]]


@pytest.fixture
def quick(monkeypatch):
    for name, value in (("RESAMPLES", 60), ("TRIALS", 12), ("SEEDS", 3)):
        monkeypatch.setattr(thompson2024, name, value)


def make_set(lp: str, reference: str, seed: int = 0, segments: int = 30) -> EvalSet:
    """Seven machines, of which people did not score one, and the reference as a system."""
    rng = np.random.default_rng(seed)
    systems = (*(f"s{i}" for i in range(7)), reference)
    quality = np.linspace(0, 1, len(systems))[:, None]
    mqm = (quality + rng.normal(size=(len(systems), segments))).round(2)
    mqm[6] = np.nan
    mqm[:, 20:] = np.nan
    scores = {"mqm": ScoreTable(mqm, "human", system_scores=np.arange(8.0))}
    for k in range(5):
        names = ("MetricX-23", "XCOMET-Ensemble", "BLEU", "chrF", "TER")
        own = quality * (1 - k / 5) + rng.normal(size=mqm.shape)
        own[7] = np.nan  # a metric does not score its own reference
        official = rng.normal(size=len(systems))  # must not count: the paper takes means
        scores[f"{names[k]}-{reference}"] = ScoreTable(own, system_scores=official)
    scores["BLEU-refC"] = ScoreTable(rng.normal(size=mqm.shape))
    scores["QE-src"] = ScoreTable(rng.normal(size=mqm.shape))
    texts = tuple(f"text {s}" for s in range(segments))
    about = Segments(tuple(map(str, range(segments))), sources=texts, references={reference: texts})
    return EvalSet(systems, about, scores, dict.fromkeys(systems, texts), language_pair=lp)


def put(root: Path, name: str, segments: int = 30) -> Path:
    """Write a set of the paper as an mt-metrics-eval folder."""
    test, lp, reference = SETS[name]
    return write_mtme(make_set(lp, reference, len(lp), segments), root / test)


def test_all_six_sets_of_mt_metrics_eval(tmp_path, quick):
    for name in SETS:
        put(tmp_path / "mt-metrics-eval-v2", name)
    found = reproduce_spa(tmp_path)
    assert found.warnings == ()
    rows = by_name(found)
    assert at_hand(found) == dict.fromkeys(SETS, CELLS)
    for name in SETS:
        assert rows[f"Table 1, {name}, systems"].ours == 6
        assert rows[f"Table 1, {name}, metrics"].ours == 5
        assert rows[f"Table 1, {name}, most significant pairs"].ours == 10
        stable = [what for what in rows if what.startswith(f"Figure 2, {name}, values")]
        assert len(stable) == 4
        narrow = [what for what in rows if what.startswith(f"Figure 3, {name} ")]
        assert bool(narrow) is name.startswith("wmt23")
    for key in ("significant pairs", "clusters"):
        pairs = [[float(rows[f"Table 1, {name}, {key} by {meta}"].ours or 0)
                  for meta in ("PA", "SPA")] for name in SETS]  # fmt: skip
        row = rows[f"Section 4.4, {key}: mean increase over the sets at hand"]
        if all(pa for pa, _ in pairs):
            assert row.ours == pytest.approx(np.mean([spa / pa - 1 for pa, spa in pairs]))
            assert row.published == pytest.approx(
                PAPER.figures()["section44"]["rows"][key], abs=0.005
            )
        else:  # nothing is significant: no share of it
            assert row.ours is None
    values = {what: row.ours for what, row in rows.items() if what.startswith("Section 4.3, wmt22")}
    assert len(values) == 4
    es = make_set("en-de", "refA", 5).select(systems=[f"s{i}" for i in range(6)])
    ours = []
    for metric in (name for name in es.metrics if name.endswith("-refA")):
        means = [es[name].values[:, :20].mean(axis=1) for name in ("mqm", metric)]
        pairs = [[np.sign(m[i] - m[j]) for i in range(6) for j in range(i)] for m in means]
        ours.append(float(np.mean(np.array(pairs[0]) == np.array(pairs[1]))))
    assert values["Section 4.3, wmt22 en-de, PA of the best metric"] == pytest.approx(max(ours))
    assert values["Section 4.3, wmt22 en-de, PA of the worst metric"] == pytest.approx(min(ours))


def test_one_set_is_enough_and_others_move_nothing(tmp_path, quick):
    put(tmp_path, "wmt22 en-ru")
    alone = reproduce_spa(tmp_path)
    assert at_hand(alone) == {name: CELLS if name == "wmt22 en-ru" else 0 for name in SETS}
    assert len(alone.warnings) == 5
    put(tmp_path, "wmt23 he-en")
    both = by_name(reproduce_spa(tmp_path))
    for row in alone.rows:
        if row.match is not None and "sets at hand" not in row.what:
            assert both[row.what] == row


def test_tables_and_folders_give_the_same(tmp_path, quick):
    folder = put(tmp_path / "folders", "wmt23 he-en")
    es = sy.load(folder, lp="he-en")
    for part, names in (("human", ["mqm"]), ("metrics.seg", es.metrics)):
        table = tmp_path / "tables" / "wmt23-metrics" / f"he-en.{part}.csv"
        table.parent.mkdir(parents=True, exist_ok=True)
        bare = {name: ScoreTable(es[name].values) for name in names}
        sy.save(EvalSet(es.systems, Segments(es.segments.ids), bare), table)
    found = [reproduce_spa(tmp_path / name) for name in ("folders", "tables")]
    rows = [[row for row in one.rows if row.match is not None] for one in found]
    assert rows[0] == rows[1]
    assert [len(one.provenance.inputs) for one in found if one.provenance] == [1, 2]


def test_a_human_translation_is_a_system_unless_metrics_compare_with_it(tmp_path, quick):
    """Hebrew-English has 13 systems in the paper: 12 machines and refA; metrics use refB."""
    es = make_set("he-en", "refB")
    scores = {name: ScoreTable(np.vstack([t.values, t.values[0] + 1]), t.kind)
              for name, t in es.scores.items()}  # fmt: skip
    assert es.segments.sources is not None
    outputs = dict.fromkeys((*es.systems, "refA"), es.segments.sources)
    es = EvalSet((*es.systems, "refA"), es.segments, scores, outputs, language_pair="he-en")
    write_mtme(es, tmp_path / "wmt23")
    found = by_name(reproduce_spa(tmp_path))
    assert found["Table 1, wmt23 he-en, systems"].ours == 6 + 1  # and neither s6 nor refB


def test_folders_that_lack_something(tmp_path, quick):
    folder = put(tmp_path, "wmt23 he-en")
    put(tmp_path, "wmt22 en-de")
    for path in (folder / "human-scores").glob("he-en.mqm.*"):
        path.rename(path.with_name(path.name.replace("mqm", "esa")))
    for path in (tmp_path / "wmt22" / "metric-scores" / "en-de").glob("*-refA.*"):
        path.unlink()
    found = reproduce_spa(tmp_path)
    rows = by_name(found)
    assert at_hand(found) == dict.fromkeys(SETS, 0)
    assert rows["Table 1, wmt23 he-en, systems"].note == (
        f"no scores of segments by people called 'mqm' in {folder} (wmt23 he-en)"
    )
    assert rows["Table 1, wmt22 en-de, systems"].note == (
        f"fewer than two metrics called *-refA in {tmp_path / 'wmt22'} (wmt22 en-de)"
    )


def one_segment(root: Path, *mqm: int) -> None:
    """A segment of three systems with these scores by people, and metrics of one opinion."""
    metrics = ",".join(f"{name}-refA" for name in ("MetricX-23", "XCOMET-Ensemble", "BLEU"))
    rows = {"human": ["system,seg,mqm"], "metrics.seg": [f"system,seg,{metrics}"]}
    for k, (system, score) in enumerate(zip("ABC", mqm, strict=True)):
        rows["human"].append(f"{system},0,{score}")
        rows["metrics.seg"].append(f"{system},0,{k},{2 * k},{k + 7}")
    (root / "wmt23-metrics").mkdir(exist_ok=True)
    for part, lines in rows.items():
        path = root / "wmt23-metrics" / f"en-de.{part}.csv"
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def test_what_is_undefined_does_not_differ(tmp_path, quick):
    """Metrics of one value have no correlation, and the interval of one segment no width."""
    one_segment(tmp_path, -1, -5, -9)
    rows = by_name(reproduce_spa(tmp_path))
    for kind in ("values", "ranks"):
        row = rows[f"Figure 2, wmt23 en-de, {kind}: SPA is more stable with 2 systems"]
        assert (row.verdict, row.note) == ("not at hand", "undefined on the data at hand")
    row = rows["Figure 3, wmt23 en-de MetricX-23: SPA has the narrower interval with 1 segment"]
    assert row.explanation == "it is as wide or wider here; SPA 0.000, PA 0.000"
    assert not any("nan" in str(row.explanation) for row in rows.values())
    one_segment(tmp_path, -1, -1, -1)
    row = by_name(reproduce_spa(tmp_path))["Table 1, wmt23 en-de, systems"]
    assert str(row.note).startswith("all scores by people called 'mqm' are the same in ")


def test_what_is_there_and_broken_is_an_error(tmp_path, capsys, quick):
    folder = put(tmp_path, "wmt23 he-en")
    path = folder / "metric-scores" / "he-en" / "BLEU-refB.seg.score"
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join(["s0\tmany", *lines[1:]]) + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="'many' is not a number"):
        reproduce_spa(tmp_path)
    assert run(["reproduce", "spa", "--data", str(tmp_path), "--quiet"]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_english_german(shared, tmp_path, monkeypatch):
    """One of two sets in today's layout, one of its tables not compressed."""
    for name, value in (("RESAMPLES", 200), ("TRIALS", 100), ("SEEDS", 3)):
        monkeypatch.setattr(thompson2024, name, value)
    folder = tmp_path / "wmt23-metrics"
    folder.mkdir()
    (folder / "en-de.metrics.seg.csv.gz").symlink_to(
        shared / "wmt23-metrics" / "en-de.metrics.seg.csv.gz"
    )
    with gzip.open(shared / "wmt23-metrics" / "en-de.human.csv.gz") as packed:
        (folder / "en-de.human.csv").write_bytes(packed.read())
    steps: list[tuple[float, float | None]] = []
    with listening(lambda *done: steps.append(done)):
        found = reproduce_spa(tmp_path)
    assert steps[-1] == (3, 3)
    rows = by_name(found)
    cells = PAPER.figures()["table1"]
    exact = [c for c in cells["columns"] if not c.startswith(("significant", "clusters"))]
    assert len(exact) == 7
    for column in exact:
        row = rows[f"Table 1, wmt23 en-de, {column}"]
        assert row.verdict == "equal", row
    # By 10,000 resamples: 158 of 300 pairs by PA, 208 by SPA.
    for meta, count in (("PA", 158), ("SPA", 208)):
        row = rows[f"Table 1, wmt23 en-de, significant pairs by {meta}"]
        assert row.ours == pytest.approx(count, abs=8)
        assert row.error is not None
    increase = rows["Section 4.4, clusters: mean increase over the sets at hand"]
    assert (increase.verdict, increase.published) == ("not at hand", 0.40)
    assert increase.ours is not None
    assert increase.note == "1 of the paper's 6 sets are at hand"
    stable = [row for name, row in rows.items() if "en-de, values: SPA is more stable" in name]
    assert len(stable) == 10
    assert all(row.match for row in stable[2:])  # with 2 and 3, chance may decide
    narrow = [row for name, row in rows.items() if "narrower" in name and "wmt23 en-de" in name]
    assert len(narrow) == 2 * 6
    assert all(row.match for row in narrow)
    assert len(found.provenance.inputs) == 2 if found.provenance else False
    dumped = json.loads(json.dumps(found.to_dict()))
    assert sum(dumped["counts"].values()) == len(dumped["rows"])
