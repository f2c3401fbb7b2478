"""What a difference is worth, as a study: sets, campaigns, p-values, and real campaigns."""

from __future__ import annotations

import csv
import gzip
import json
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import steelyard as sy
from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.core.table import dumps
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments
from steelyard.formats.load import systems_by
from steelyard.metaevaluation.data import judged_scores, system_pairs
from steelyard.stats.curves import (
    Cells,
    SystemPairs,
    agreements,
    calibration,
    fit_smooth,
)
from steelyard.stats.paired.tests import permutation_test
from steelyard.studies.worth import difference_worth, read_pair_pvalues

NAN = float("nan")


def make(seed=0, n=10, s=30, prefix="s") -> EvalSet:
    rng = np.random.default_rng(seed)
    quality = rng.normal(size=(n, 1))
    human = np.round(quality + rng.normal(size=(n, s)), 1)
    tables = {
        "people": ScoreTable(human, kind="human"),
        "good": ScoreTable(quality + rng.normal(0, 2, (n, s))),
        "cost": ScoreTable(-quality + rng.normal(0, 6, (n, s)), higher_is_better=False),
    }
    names = tuple(f"{prefix}{i}" for i in range(n))
    return EvalSet(names, Segments(tuple(f"{i:03d}" for i in range(s))), tables)


def as_system_table(es: EvalSet) -> EvalSet:
    tables = {
        name: replace(table, values=np.empty((es.n_systems, 0)), system_scores=table.system_means())
        for name, table in es.scores.items()
    }
    return EvalSet(es.systems, Segments(()), tables)


def test_pairs_against_two_loops():
    es = make()
    pairs = system_pairs(es, "people", ["good", "cost"])
    means = {name: es[name].values.mean(axis=1) for name in es.scores}
    p = permutation_test(es["people"].values).p
    rows = [
        (means["people"][i] - means["people"][j], p[i, j], means["good"][i] - means["good"][j],
         means["cost"][j] - means["cost"][i])
        for i in range(10) for j in range(i + 1, 10)
    ]  # fmt: skip
    found = np.stack([pairs.human, pairs.p, pairs.metrics["good"], pairs.metrics["cost"]], axis=1)
    np.testing.assert_allclose(found, rows, atol=1e-12)


def test_systems_are_compared_by_what_people_scored():
    es = make()
    values = es["people"].values.copy()
    values[0, :20] = NAN
    es = es.with_scores("people", values, kind="human")
    own = judged_scores(es, "people", "good")
    assert own[0] == pytest.approx(es["good"].values[0, 20:].mean())
    uses = replace(es.scores["good"], uses=("s1",))
    assert np.isnan(
        judged_scores(replace(es, scores={**es.scores, "good": uses}), "people", "good")[1]
    )


def test_campaigns_in_one_table_are_as_sets_of_their_own():
    sets = [make(k, n=4, prefix=f"c{k}-") for k in range(6)]
    whole = [as_system_table(es) for es in sets]
    tables = {
        name: replace(
            whole[0].scores[name],
            values=np.empty((24, 0)),
            system_scores=np.concatenate([es[name].system_means() for es in whole]),
        )
        for name in whole[0].scores
    }
    names = tuple(name for es in whole for name in es.systems)
    one = EvalSet(names, Segments(()), tables)
    groups = {name: name.partition("-")[0] for name in names}
    a = difference_worth(whole, "people", draws=50)
    b = difference_worth(one, "people", groups=groups, draws=50)
    assert dumps(a.facts["worth"]) == dumps(b.facts["worth"])
    assert a.facts["n_sets"] == 6
    assert a.facts["n_pairs"] == 36
    # Segments of a campaign give its p-values, whichever way it comes.
    together = SystemPairs.joined([system_pairs(es, "people", ["good"]) for es in sets])
    assert not np.isnan(together.p).any()


def test_neither_order_nor_other_metrics_matter():
    es = make()
    turned = es.select(systems=es.systems[::-1])
    a = difference_worth(es, "people", draws=50).facts["worth"]
    assert dumps(a) == dumps(difference_worth(turned, "people", draws=50).facts["worth"])
    alone = difference_worth(es, "people", metrics=["good"], draws=50).facts["worth"]
    assert dumps(alone) == dumps([one for one in a if one["metric"] == "good"])


def test_ties_of_people_count_half():
    es = make()
    two = np.ones((10, 30))
    two[0] = 0  # all others tie
    some = es.with_scores("people", two, kind="human")
    study = difference_worth(some, "people", metrics=["good"], draws=20)
    (one,) = study.facts["worth"]
    means = es["good"].system_means()
    agreed = float((means[1:] > means[0]).sum())
    assert one["accuracy"] == pytest.approx((agreed + 0.5 * 36) / 45)
    assert any("36 pairs" in w for w in study.warnings)


def test_too_few():
    with pytest.raises(UsageError, match=r"15 pairs of 6 systems: it takes 8 systems and 20 pairs"):
        difference_worth(make(n=6), "people")
    with pytest.raises(UsageError, match="there is no set"):
        difference_worth([], "people")
    study = difference_worth(make(n=8), "people", metrics=["good"], draws=20)
    assert any("calibration is not checked" in text for text in study.warnings)
    assert "calibration" not in study.parts


def test_bad_tables_of_pvalues(tmp_path):
    def read(text):
        path = tmp_path / "p.csv"
        path.write_text(text)
        return read_pair_pvalues(path)

    assert read("a,b,p\nx,y,0.5\nz,1,0.01\n") == {("x", "y"): 0.5, ("z", "1"): 0.01}
    assert read("a,b,n,wilcoxon_p\nx,y,9,0.5\n") == {("x", "y"): 0.5}
    for text, why in [
        ("a,p\nx,0.5\n", "expected columns a, b and p"),
        ("a,b,x_p,y_p\nx,y,0.5,0.5\n", "found: a, b, x_p, y_p"),
        ("a,b,p\nx,y,1.5\n", "p is 1.5, expected a number from 0 to 1"),
        ("a,b,p\nx,y,0.5\ny,x,0.5\n", "stand in an earlier row already"),
    ]:
        with pytest.raises(InputError, match=why):
            read(text)


def test_the_command_with_campaigns(tmp_path, capsys):
    lines = ["campaign,system,people,good"]
    for k in range(30):
        es = as_system_table(make(k, n=3, prefix=f"c{k}-"))
        rows = zip(es.systems, es["people"].system_means(), es["good"].system_means(), strict=True)
        lines += [f"c{k},{name},{h},{m}" for name, h, m in rows]
    file = tmp_path / "systems.csv"
    file.write_text("\n".join(lines) + "\n")
    asked = ["study", "worth", str(file), "--human", "people", "--each", "campaign"]
    asked += ["--draws", "50"]
    assert run([*asked, "--json", "--at", "0.5,1"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["n_sets"], found["n_pairs"]) == (30, 90)
    assert found["worth"][0]["x"] == [0, 0.5, 1]
    # The same names in every campaign: sets are read one by one.
    again = tmp_path / "again.csv"
    again.write_text("\n".join(line.replace(f"{line.split(',')[0]}-", "") for line in lines) + "\n")
    asked[2] = str(again)
    assert run([*asked, "--json", "--at", "0.5,1"]) == 0
    assert json.loads(capsys.readouterr().out)["worth"] == found["worth"]


def test_toship(shared, capsys):
    """All campaigns at once; the published accuracies of the pairs that all metrics scored."""
    folder = shared / "toship21"
    with gzip.open(folder / "expected-pairs.csv.gz", "rt") as lines:
        listed = [(row["a"], row["b"], float(row["human_diff"])) for row in csv.DictReader(lines)]
    skipped = "src,tgt,domain,n_test,n_human,n_valid"
    asked = ["study", "worth", str(folder / "systems.csv.gz"), "--human", "human_mean"]
    asked += ["--each", "campaign", "--ignore", skipped, "--metrics", "SacreBLEU_bleu,COMET"]
    asked += ["--p-values", str(folder / "expected-pairs.csv.gz"), "--at", "0.5,1,2", "--json"]
    assert run(asked) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    bleu, comet = sorted(found["worth"], key=lambda one: one["metric"] != "SacreBLEU_bleu")
    assert (bleu["n_pairs"], bleu["n_sets"]) == (4004, 1722)
    at = dict(zip(bleu["x"], bleu["agree"], strict=True))
    # Shares of the 286, 388 and 529 pairs whose difference is 0.8 to 1.25 times as large.
    for size, share in ((0.5, 0.633), (1.0, 0.678), (2.0, 0.788)):
        assert at[size] == pytest.approx(share, abs=0.03)
    assert comet["accuracy"] > bleu["accuracy"] + 0.05
    for name in ("SacreBLEU_bleu", "COMET"):
        for kind in ("smooth", "monotone"):
            assert found["calibration"][name][kind]["error"] < 0.06, (name, kind)
    es = sy.load(
        folder / "systems.csv.gz", human="human_mean", ignore=["campaign", *skipped.split(",")]
    )
    place = {name: i for i, name in enumerate(es.systems)}
    human = np.array([h for _, _, h in listed])
    for name, share in (("COMET", 83.4), ("SacreBLEU_bleu", 74.6)):
        scores = es[name].system_means()
        metric = np.array([scores[place[a]] - scores[place[b]] for a, b, _ in listed])
        decided = agreements(metric, human)[human != 0]
        assert len(decided) == 3344
        assert 100 * (decided == 1).mean() == pytest.approx(share, abs=0.05)


def test_toship_on_campaigns_left_out(shared):
    """Chances of chrF and BLEU fit campaigns that the curve was not fitted to within 3 points."""
    file = shared / "toship21" / "systems.csv.gz"
    skipped = ("campaign", "src", "tgt", "domain", "n_test", "n_human", "n_valid")
    metrics = ["SacreBLEU_chrf", "SacreBLEU_bleu"]
    es = sy.load(file, human="human_mean", ignore=skipped, higher_is_better=metrics)
    pairs = system_pairs(es, "human_mean", metrics, groups=systems_by(file, column="campaign"))
    for name in metrics:
        sizes, agreed = np.abs(pairs.metrics[name]), agreements(pairs.metrics[name], pairs.human)
        cells = Cells.of(sizes)
        errors = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            fold = (rng.permutation(pairs.sets.max() + 1) % 10)[pairs.sets]
            kept = (fold != np.arange(10)[:, None]).astype(float)
            chances = fit_smooth(cells.x, *cells.sums(kept, agreed)).at(sizes)
            errors.append(calibration(chances[fold, np.arange(len(fold))], agreed, rng).error)
        assert np.mean(errors) < 0.027, name
