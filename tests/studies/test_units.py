"""What units share, from scores and from ratings: simulated truths, real data, edge cases."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

import steelyard as sy
from steelyard.cli.study.group import study as command
from steelyard.core.errors import UsageError
from steelyard.stats.components import nested_components
from steelyard.studies.planning.gains import Plan, Shape, errors_needed
from steelyard.studies.planning.units import study_units
from steelyard.studies.planning.unitsets import read_units


def made(values, documents, domains=None):
    values = np.asarray(values, dtype=float)
    ids = tuple(str(k) for k in range(values.shape[1]))
    segments = sy.Segments(ids, documents=documents, domains=domains)
    systems = tuple("ABCDEFGH"[: len(values)])
    return sy.EvalSet(systems, segments, {"x": sy.ScoreTable(values)})


def drawn(rng, n_systems=3, n_documents=40, document=2.0, segment=3.0):
    """Scores of systems whose documents and segments have known variances."""
    sizes = rng.integers(1, 7, n_documents)
    codes = np.repeat(np.arange(n_documents), sizes)
    own = rng.normal(size=(n_systems, n_documents))[:, codes] * np.sqrt(document)
    values = own + rng.normal(size=(n_systems, len(codes))) * np.sqrt(segment)
    return values, tuple(f"d{k:03d}" for k in codes)


def rows_of(study, name):
    return study.table(name).records()


def variances(study):
    return {row["component"]: row["variance"] for row in rows_of(study, "components")}


def test_components_of_scores_are_means_over_pairs():
    values, documents = drawn(np.random.default_rng(0))
    codes = np.unique(documents, return_inverse=True)[1]
    pairs = [values[1] - values[0], values[2] - values[0], values[2] - values[1]]
    whole = np.mean([nested_components(p[None], codes)[0, 0] for p in pairs], axis=0)
    found = variances(study_units(made(values, documents), "x"))
    assert found["document"] == pytest.approx(whole[1])
    assert found["segment"] == pytest.approx(whole[2])
    assert found["total"] == pytest.approx(whole[1] + whole[2])


def test_designs_follow_from_the_formula():
    values, documents = drawn(np.random.default_rng(1))
    study = study_units(made(values, documents), "x", delta=[0.5])
    own = variances(study)
    sizes = np.unique(documents, return_counts=True)[1]
    n, effective = sizes.sum(), (sizes**2).sum() / sizes.sum()

    def error(n, effective):
        return np.sqrt(own["document"] * effective / n + own["segment"] / n)

    found = {row["design"]: row["error"] for row in rows_of(study, "gains")}
    assert found["as now"] == pytest.approx(error(n, effective))
    assert found["twice as many documents"] == pytest.approx(error(2 * n, effective))
    assert found["documents twice as long"] == pytest.approx(error(2 * n, 2 * effective))
    half = found["as many segments, documents half as long"]
    assert half == pytest.approx(error(n, effective / 2))
    assert found["as many segments, each a document"] == pytest.approx(error(n, 1))
    (needed,) = rows_of(study, "needed")
    wanted = (2.8015852 / 0.5) ** 2 * (own["document"] * effective + own["segment"])
    assert needed["segments"] == np.ceil(wanted)
    effect = study.facts["design_effect"]
    share = own["document"] / own["total"]
    assert effect["value"] == pytest.approx(1 + (effective - 1) * share)
    assert effect["low"] <= effect["value"] <= effect["high"]


def test_single_segments_can_not_tell_documents_apart():
    rng = np.random.default_rng(2)
    study = study_units(made(rng.normal(size=(2, 30)), tuple(map(str, range(30)))), "x")
    assert any("every document is one segment" in text for text in study.warnings)
    found = {row["component"]: row["variance"] for row in rows_of(study, "components")}
    assert found["document"] is None or np.isnan(found["document"])
    assert found["total"] > 0
    errors = {row["design"]: row["error"] for row in rows_of(study, "gains")}
    assert errors["as now"] == pytest.approx(np.sqrt(found["total"] / 30))
    longer = errors["documents twice as long"]
    assert longer is None or np.isnan(longer)
    json.dumps(study.to_dict(), default=str)


def test_a_negative_estimate_is_shown_as_none_and_said():
    values = np.zeros((2, 40))
    values[0] = np.tile([1.0, -1.0], 20)  # every document has the same mean
    study = study_units(made(values, tuple(str(k // 2) for k in range(40))), "x")
    assert variances(study)["document"] == 0
    assert any("which no variance is: shown as 0" in text for text in study.warnings)
    assert study.facts["design_effect"]["value"] == 1


def test_few_documents_and_few_domains_are_said():
    values, documents = drawn(np.random.default_rng(3), n_documents=6)
    domains = tuple("news" if d < "d003" else "talks" for d in documents)
    study = study_units(made(values, documents, domains), "x")
    assert "6 documents: intervals are rough" in study.warnings
    assert any("2 domains: too few" in text for text in study.warnings)
    first = rows_of(study, "components")[0]
    assert first["component"] == "domain"
    assert first["low"] is None or np.isnan(first["low"])


def test_many_domains_have_an_interval():
    values, documents = drawn(np.random.default_rng(4), n_documents=60)
    domains = tuple(f"t{int(d[1:]) % 12}" for d in documents)
    first = rows_of(study_units(made(values, documents, domains), "x"), "components")[0]
    assert first["low"] <= first["variance"] <= first["high"]


def test_unknown_documents_are_refused_with_the_remedy():
    values = np.random.default_rng(5).normal(size=(2, 4))
    with pytest.raises(UsageError, match='documents are not known: a column "doc"'):
        study_units(made(values, None), "x")
    with pytest.raises(UsageError, match="of 1 segment are not known"):
        study_units(made(values, ("a", "a", "b", None)), "x")
    with pytest.raises(UsageError, match="1 system: expected two"):
        study_units(made(values[:1], ("a", "a", "b", "b")), "x")
    with pytest.raises(UsageError, match="no score named 'y'"):
        study_units(made(values, ("a", "a", "b", "b")), "y")


def test_missing_scores_and_constant_scores():
    values, documents = drawn(np.random.default_rng(6))
    values[0, ::7] = np.nan
    found = variances(study_units(made(values, documents), "x"))
    assert np.isfinite(list(found.values())).all()
    study = study_units(made(np.ones((2, 6)), tuple("aabbcc")), "x")
    assert variances(study)["total"] == 0
    assert rows_of(study, "gains")[0]["error"] == 0


def judged(rows: list[tuple[str, str, str, float, str]]) -> sy.Ratings:
    system, segment, rater, value, document = zip(*rows, strict=True)
    return sy.Ratings.from_labels(system, segment, rater, np.array(value), document=document)


def ratings_of(rng, *, n_documents=60, n_raters=12, twice=False, severity=3.0):
    """Ratings whose documents are judged by one rater for each system."""
    rows: list[tuple[str, str, str, float, str]] = []
    severe = rng.normal(size=n_raters) * np.sqrt(severity)
    k = 0
    for document in range(n_documents):
        size = rng.integers(1, 7)
        hard = rng.normal(size=size) * 2
        for system in "ABC":
            mood = rng.normal()
            good = rng.normal(size=size)
            for _ in range(1 + twice):
                rater = int(rng.integers(n_raters))
                for j in range(size):
                    value = 50 + hard[j] + mood + severe[rater] + good[j] + rng.normal()
                    rows.append((system, str(k + j), f"r{rater:02d}", value, f"d{document}"))
        k += size
    return judged(rows)


def test_ratings_tell_raters_from_documents():
    found = [variances(study_units(ratings_of(np.random.default_rng(k)))) for k in range(8)]
    mean = {name: np.mean([one[name] for one in found]) for name in found[0]}
    assert mean["document"] == pytest.approx(2, rel=0.3)
    assert mean["rater"] == pytest.approx(6, rel=0.4)
    assert mean["segment"] == pytest.approx(4, rel=0.05)


def test_a_second_rating_tells_noise():
    study = study_units(ratings_of(np.random.default_rng(7), twice=True))
    found = variances(study)
    assert found["segment"] == pytest.approx(2, rel=0.4)
    assert found["noise"] == pytest.approx(2, rel=0.2)
    assert not any("no output was rated twice" in note for note in study.table("gains").notes)


def test_raters_who_judge_all_systems_alike_cancel_out():
    rng = np.random.default_rng(8)
    rows = [(s, f"{d}-{k}", f"r{d % 5}", rng.normal() + d % 5, f"d{d}")
            for d in range(30) for s in "AB" for k in range(3)]  # fmt: skip
    own = judged(rows)
    designs = {row["design"]: row["error"] for row in rows_of(study_units(own), "gains")}
    assert designs["a document's systems by one rater"] == pytest.approx(designs["as now"])


def test_one_rater_has_no_component():
    own = ratings_of(np.random.default_rng(9), n_raters=1)
    study = study_units(own)
    assert any("raters can't be told" in text for text in study.warnings)
    assert np.isfinite(rows_of(study, "gains")[0]["error"])


def test_logins_of_one_person_are_one_rater():
    own = ratings_of(np.random.default_rng(10))
    study = study_units(own, raters={"Ann": ["r00", "r01"], "Bo": ["r02"]})
    assert any("12 logins are 11 raters" in text for text in study.warnings)


def test_ratings_need_documents():
    own = sy.Ratings.from_labels(["A", "B"], ["1", "1"], ["r", "r"], np.array([1.0, 2.0]))
    with pytest.raises(UsageError, match="documents of 1 segment are not known"):
        study_units(own)


def test_plans_know_what_a_segment_at_least_is():
    plan = Plan(2.0, 5.0, Shape(10, 15.0, 1.8))
    assert plan.variance(1.0, 0.01) == pytest.approx(plan.variance(1.0, 1 / 1.5))
    assert plan.design_effect == pytest.approx(1 + 0.8 * 2 / 5)
    assert errors_needed(0.05, 0.8) == pytest.approx(2.8015852)


def test_command_prints_tables_and_json(tmp_path):
    values, documents = drawn(np.random.default_rng(11))
    path = tmp_path / "scores.csv"
    sy.save(made(values, documents), path)
    run = CliRunner().invoke(command, ["units", str(path), "--delta", "0.5,1", "--json"])
    assert run.exit_code == 0, run.output
    found = json.loads(run.stdout)
    assert [row["difference"] for row in found["tables"]["needed"]] == [0.5, 1]
    assert found["summary"].startswith("two segments of a document share")
    out = tmp_path / "components.csv"
    run = CliRunner().invoke(command, ["units", str(path), "--out", str(out)])
    assert run.exit_code == 0, run.output
    assert out.read_text(encoding="utf-8").startswith("component,variance,low,high")


@pytest.mark.parametrize(
    ("pair", "effect", "deviation", "segments"),
    [("en-ja", 2.77, 17.4, 1651), ("en-hi", 2.89, 19.7, 2209), ("en-cs", 2.58, 22.5, 2565)],
)
def test_wmt24_has_the_design_effects_that_were_measured(shared, pair, effect, deviation, segments):
    # Those were medians over pairs of ratios; here components are means over pairs.
    folder = shared / "wmt24-esa"
    study = study_units(folder / f"{pair}.expected.segments.csv.gz", "esa", delta=[2])
    assert study.facts["design_effect"]["value"] == pytest.approx(effect, rel=0.15)
    total = rows_of(study, "components")[-1]
    assert total["deviation"] == pytest.approx(deviation, rel=0.12)
    assert rows_of(study, "needed")[0]["segments"] == pytest.approx(segments, rel=0.3)


def test_wmt24_raters_share_more_than_documents(shared):
    folder = shared / "wmt24-esa"
    files = [folder / "en-hi.esa.jsonl.gz", folder / "en-hi.text.jsonl.gz"]
    study = study_units(read_units(files))
    found = variances(study)
    scores = variances(study_units(folder / "en-hi.expected.segments.csv.gz"))
    # What documents share by the scores is what documents and raters share by the ratings.
    both = found["document"] + found["rater"]
    assert both == pytest.approx(scores["document"] + scores["domain"], rel=0.1)
    assert found["rater"] > 0.3 * both
