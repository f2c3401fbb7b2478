"""Suites and the gate: values of the tools, error rates, exit codes, hostile texts, CI files."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import yaml  # type: ignore[import-untyped]
from hypothesis import given, settings
from hypothesis import strategies as st

import steelyard as sy
from steelyard.cli.main import run
from steelyard.comparison.suites import suite_of
from steelyard.core.errors import UsageError
from steelyard.data.evalset import EvalSet, ScoreTable
from steelyard.data.segments import Segments

ROOT = Path(__file__).parents[2]
SAMPLES = ROOT / "tests/formats/samples"


def suite(rng, sizes=(40, 30, 25), lead=(0.0, 0.0, 0.0), per=1) -> EvalSet:
    """Two systems on tasks of some sizes; ``per`` items of a document share an effect."""
    tasks = np.repeat(np.arange(len(sizes)), sizes)
    documents = np.arange(len(tasks)) // per
    shared = rng.normal(size=(2, documents.max() + 1))[:, documents] * (per > 1)
    values = rng.normal(size=(2, len(tasks))) + shared
    values[0] += np.array(lead)[tasks]
    segments = Segments(
        tuple(f"{k:04}" for k in range(len(tasks))),
        documents=tuple(f"d{k}" for k in documents),
        metadata={
            "task": tuple(f"t{k}" for k in tasks),
            "level": tuple(("easy", "hard")[k % 2] for k in range(len(tasks))),
        },
    )
    return EvalSet(("A", "B"), segments, {"s": ScoreTable(values)})


@settings(max_examples=15)
@given(st.integers(0, 10_000), st.sampled_from([1, 5]))
def test_the_macro_average_has_a_naive_twin(seed, per):
    es = suite(np.random.default_rng(seed), per=per)
    found = suite_of(es, "s", es.systems, "task", unit="auto").macro
    gap = np.subtract(*es["s"].values)
    documents = np.array(es.segments.documents)
    means, variances = [], []
    for task in ("t0", "t1", "t2"):
        inside = np.array(es.segments.metadata["task"]) == task
        own, where = gap[inside], documents[inside]
        means.append(own.mean())
        share = [(where == d).sum() / len(own) for d in np.unique(where)]
        sums = [(own[where == d] - own.mean()).sum() for d in np.unique(where)]
        variances.append(sum(x**2 / (1 - w) for x, w in zip(sums, share, strict=True))
                         / len(own) ** 2)  # fmt: skip
    assert found.lead == pytest.approx(np.mean(means))
    assert found.error == pytest.approx(np.sqrt(sum(variances)) / 3)
    assert (found.p < 0.05) == (found.low > 0 or found.high < 0)


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize("per", [1, 5])
def test_the_macro_interval_covers(per):
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(1000):
        lead = suite_of(suite(rng, (60, 50, 40), per=per), "s", ("A", "B"), "task", unit="auto")
        hits += lead.macro.low <= 0 <= lead.macro.high
    assert 0.93 <= hits / 1000 <= 0.97


def test_tasks_equal_the_tools_own_accuracies():
    folder = SAMPLES / "lm-eval/out"
    es = sy.load(folder)
    for score in ("acc", "exact_match,strict-match"):
        found = sy.compare(es, score, n_bootstrap=20).to_dict()
        for path in folder.glob("*/results_*.json"):
            tool = json.loads(path.read_text())
            rows = [r for r in tool["results"].values() if f"{score},none" in r or score in r]
            mean = found["aggregations"]["mean"]["scores"][tool["model_name"]]
            assert [r.get(f"{score},none", r.get(score)) for r in rows] == [pytest.approx(mean)]


def written(folder: Path, es: EvalSet, name: str = "suite.csv") -> Path:
    rows = ["system,item,task,level,acc"]
    for system, values in zip(es.systems, es["s"].values, strict=True):
        columns = zip(es.segments.ids, es.segments.metadata["task"], es.segments.metadata["level"],
                      values, strict=True)  # fmt: skip
        rows += [f"{system},{k},{task},{kind},{float(value)!r}" for k, task, kind, value in columns]
    (folder / name).write_text("\n".join(rows) + "\n")
    return folder / name


def test_the_headline_is_the_macro_average(tmp_path, capsys):
    es = suite(np.random.default_rng(0), (200, 20, 20), (-1.0, 3.0, 3.0))
    path = written(tmp_path, es)
    assert run(["compare", str(path), "--slice", "level", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    values = es["s"].values
    tasks = np.array(es.segments.metadata["task"])
    means = {t: values[:, tasks == t].mean(axis=1) for t in ("t0", "t1", "t2")}
    by_task = {row["task"]: row for row in found["tasks"]}
    for task, (a, b) in means.items():
        assert by_task[task]["scores"] == {"A": pytest.approx(a), "B": pytest.approx(b)}
        assert by_task[task]["difference"] == pytest.approx(a - b)
        assert by_task[task]["p"] <= by_task[task]["p_adjusted"]
    assert found["tasks"][0]["task"] == "t0"  # where the leader is behind
    macro = np.mean(list(means.values()), axis=0)
    assert found["macro"]["difference"] == pytest.approx(macro[0] - macro[1])
    low, high = found["macro"]["ci"]
    assert low < found["macro"]["difference"] < high
    assert found["summary"][0].startswith("A is better than B")
    assert any("Pooled" in text and "B is better" not in text for text in found["summary"])
    assert {row["slice"] for row in found["slices"]["level"]} == {"easy", "hard"}
    assert run(["compare", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "item" in printed
    assert "segment" not in printed.replace("unit:segment", "")  # of the signature


def test_a_slice_that_reverses_the_whole_is_warned_of():
    rng = np.random.default_rng(0)
    es = suite(rng, (90,), (0.0,))
    values = es["s"].values.copy()
    values[0] += np.where(np.array(es.segments.metadata["level"]) == "easy", 4.0, -2.0)
    es = es.with_scores("s", values)
    part = suite_of(es, "s", es.systems, "level", unit="segment")
    assert "A leads on the whole, but is behind where level is hard" in part.warnings()


def both(rng, loss=0.0, n=200, per=5, tasks=False) -> tuple[EvalSet, EvalSet]:
    """Return a baseline and a candidate with prompt effects of their own."""
    prompt = np.arange(n) // per
    values = rng.normal(0, 0.8, (2, n // per))[:, prompt] + rng.normal(size=(2, n))
    values[1] -= loss
    metadata = {"task": tuple(f"t{k % 4}" for k in prompt)} if tasks else {}
    segments = Segments(tuple(map(str, range(n))), documents=tuple(f"p{k}" for k in prompt),
                        metadata=metadata)  # fmt: skip
    old, new = (EvalSet((name,), segments, {"s": ScoreTable(row[None])})
                for name, row in zip(("old", "new"), values, strict=True))  # fmt: skip
    return old, new


@pytest.mark.thorough
@pytest.mark.slow
@pytest.mark.parametrize(("tasks", "most_fails"), [(False, 23), (True, 40)])
def test_error_rates(tasks, most_fails):
    """500 nulls with prompt effects, and 500 losses of the margin: 2.5% each, 5% fail by tasks."""
    rng = np.random.default_rng(3)
    null = [sy.gate(*both(rng, tasks=tasks)).passed for _ in range(500)]
    assert null.count(True) <= 23
    assert null.count(False) <= most_fails
    margin = [sy.gate(*both(rng, 0.3, tasks=tasks), max_loss=0.3).passed for _ in range(500)]
    assert margin.count(True) <= 23


def test_the_same_input_gives_the_same_verdict():
    sets = both(np.random.default_rng(0), 0.1)
    first = sy.gate(*sets, max_loss=0.2).to_dict()
    assert all(sy.gate(*sets, max_loss=0.2).to_dict() == first for _ in range(5))


def files(folder: Path, loss: float, n: int = 200) -> list[str]:
    names = []
    for name, es in zip(("old", "new"), both(np.random.default_rng(0), loss, n), strict=True):
        rows = [f"{k},{d},{float(x)!r}" for k, d, x in
                zip(es.segments.ids, es.segments.documents or (), es["s"].values[0],
                    strict=True)]  # fmt: skip
        (folder / f"{name}.csv").write_text("\n".join(["item,document,acc", *rows]) + "\n")
        names.append(str(folder / f"{name}.csv"))
    return names


@pytest.mark.parametrize(
    ("loss", "options", "code"),
    [
        (-1.0, [], 0),
        (-1.0, ["--min-delta", "0.3"], 0),
        (1.0, [], 3),
        (1.0, ["--max-loss", "0.2"], 3),
        (0.0, [], 4),
        (0.0, ["--max-loss", "0.9"], 0),
        (0.0, ["--undecided", "pass"], 0),
        (0.0, ["--undecided", "fail"], 3),
        (-1.0, ["--require", "difference.low>=0.1"], 0),
        (-1.0, ["--require", "difference.low>=9"], 3),
        (-1.0, ["--require", "difference.low>=1"], 4),
        (0.0, ["--require", "nothing.low>=1"], 2),
        (0.0, ["--max-loss", "0.1", "--min-delta", "0.1"], 2),
        (0.0, ["--max-loss", "-1"], 2),
        (0.0, ["--score", "other"], 2),
    ],
)
def test_exit_codes(tmp_path, capsys, loss, options, code):
    assert run(["gate", *files(tmp_path, loss), *options, "--json"]) == code
    out = capsys.readouterr().out
    if code != 2:
        found = json.loads(out)
        assert found["command"] == "gate"
        assert found["systems"] == ["new", "old"]
        assert found["passed"] is {0: True, 3: False, 4: None}[code] or "--undecided" in options
        assert (found["needed"] or 0) >= 0


def test_requirements_in_python(tmp_path):
    sets = both(np.random.default_rng(0), -1.0)
    for bound, passed in (("0.1", True), ("9", False), ("1", None)):
        gate = sy.gate(*sets, require=[f"difference.low>={bound}"])
        assert gate.passed is passed
        assert gate.to_dict()["requirements"][0]["requirement"] == f"difference.low>={bound}"
    with pytest.raises(UsageError, match="no 'nothing'"):
        sy.gate(*sets, require=["nothing.low>=1"])


def test_the_card_of_a_suite_holds_its_tasks_and_their_macro_average(tmp_path, capsys):
    """Also where the lead is so clear that p would round to 0."""
    path = written(tmp_path, suite(np.random.default_rng(0), (200, 20, 20), (-1.0, 3.0, 3.0)))
    cards = {}
    for pair in (["--pair", "A,B"], []):
        assert run(["compare", str(path), *pair, "--json"]) == 0
        cards[bool(pair)] = json.loads(capsys.readouterr().out)
    card, comparison = cards[True], cards[False]
    assert (card["tasks"], card["macro"]) == (comparison["tasks"], comparison["macro"])
    assert [card["difference"], card["ci"]] == [card["macro"]["difference"], card["macro"]["ci"]]
    assert card["p"]["macro"] == card["p_adjusted"] == card["macro"]["p"]
    assert card["verdict"].startswith("A is better than B")
    assert run(["compare", str(path), "--pair", "A,B", "--quiet"]) == 0
    printed = capsys.readouterr().out
    assert "<0.0001" in printed
    assert "0.0000" not in printed


def test_the_gate_says_what_the_card_says(tmp_path):
    old, new = files(tmp_path, 0.1)
    found = sy.gate(old, new).to_dict()
    card = sy.decide([old, new], ("new", "old")).to_dict()
    assert found["difference"] == pytest.approx(card["difference"], abs=1e-12)
    assert found["p"] == pytest.approx(card["p"]["permutation"], abs=1e-12)


def test_a_record_keeps_the_baseline_and_refuses_other_items(tmp_path, capsys):
    old, new = files(tmp_path, 0.0)
    kept = str(tmp_path / "base.parquet")
    for baseline in (old, old, kept):
        assert run(["gate", baseline, new, "--record", kept, "--json"]) == 4
        assert json.loads(capsys.readouterr().out)["baseline"] == "old"
    lines = Path(new).read_text().splitlines()
    Path(new).write_text("\n".join(lines[:-3]) + "\n")
    assert run(["gate", old, new, "--record", kept]) == 2
    assert f"{kept}: the test set differs from this record: 3 items gone" in capsys.readouterr().err
    assert run(["gate", old, new, "--record", str(tmp_path / "base.csv")]) == 2


def test_texts_in_a_summary_are_harmless(tmp_path, capsys):
    hostile = "<img src=x onerror=alert(1)> ![a](http://evil) @everyone | `x` \n# head"
    for name, x in (("old", 1.0), ("new", 0.0)):
        rows = [{"item": str(k), "output": hostile, "acc": x + k % 3} for k in range(30)]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(map(json.dumps, rows)) + "\n")
    target = tmp_path / "gate.md"
    names = [str(tmp_path / f"{name}.jsonl") for name in ("old", "new")]
    assert run(["gate", *names, "--summary", str(target)]) == 3
    capsys.readouterr()
    text = target.read_text()
    assert text.startswith("## Gate: fail")
    cells = [cell for cell in text.split("`")[1::2] if "img" in cell]
    assert cells
    assert "<img" not in "".join(text.split("`")[::2])
    assert "\n# head" not in text


def test_the_steps_of_the_action_run(tmp_path):
    """On a copy of the repository, as the runner does, without the network."""
    action = yaml.safe_load((ROOT / "action.yml").read_text())
    old, new = files(tmp_path, 0.0)
    *_, step = action["runs"]["steps"]
    assert [s["shell"] for s in action["runs"]["steps"]] == ["bash", "bash"]
    inputs = {"baseline": old, "candidate": new, "max-loss": "0.9"}
    clone = tmp_path / "clone"
    shutil.copytree(ROOT / "src", clone / "src", ignore=shutil.ignore_patterns("__pycache__"))
    values = {
        name: inputs.get(text.split("inputs.")[1].split()[0].rstrip("}"), "")
        for name, text in step["env"].items()
    }
    summary = tmp_path / "summary.md"
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    env = {**os.environ, **values, "PATH": path, "PYTHONPATH": str(clone / "src"),
           "GITHUB_STEP_SUMMARY": str(summary)}  # fmt: skip
    for loss, code in (("0.9", 0), ("", 4)):
        done = subprocess.run(["bash", "-e", "-c", step["run"]], cwd=tmp_path, check=False,
                              env=env | {"MAX_LOSS": loss}, capture_output=True)  # fmt: skip
        assert done.returncode == code, done.stderr
    assert summary.read_text().count("## Gate: ") == 2


def test_the_fixture_passes_fails_and_skips(tmp_path):
    for name, loss in (("good", -1.0), ("bad", 1.0), ("open", 0.0)):
        (tmp_path / name).mkdir()
        files(tmp_path / name, loss)
    (tmp_path / "test_ship.py").write_text(
        "import pytest\n"
        "@pytest.mark.parametrize('name', ['good', 'bad', 'open'])\n"
        "def test_ship(steelyard_gate, name):\n"
        f"    folder = {str(tmp_path)!r} + '/' + name\n"
        "    assert steelyard_gate(folder + '/old.csv', folder + '/new.csv').passed\n"
    )
    plugin = ["-p", "no:steelyard", "-p", "steelyard.pytest_plugin"]  # installed or not
    command = [sys.executable, "-m", "pytest", *plugin, "-q", "-p", "no:cacheprovider",
               str(tmp_path)]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert "1 failed, 1 passed, 1 skipped" in done.stdout, done.stdout


def test_the_hook_checks_data(tmp_path):
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text())
    old, _ = files(tmp_path, 0.0)
    words = hook["entry"].split()
    assert words[0] == "steelyard"
    assert run([*words[1:], old]) == 0


def test_a_candidate_that_lacks_items_or_a_task_does_not_pass(tmp_path, capsys):
    def results(name: str, value: float, tasks: str, *, blank: int = 0) -> str:
        path = tmp_path / f"{name}.csv"
        rows = [
            f"{task}{i},{task},{'' if i < blank else value + i % 3 / 10:}"
            for task in tasks
            for i in range(20)
        ]
        path.write_text("\n".join(["id,task,score", *rows]))
        return str(path)

    old = results("old", 0.2, "abc")
    assert run(["gate", old, results("new", 0.6, "abc")]) == 0
    assert run(["gate", old, results("blank", 0.6, "abc", blank=1)]) == 0
    assert run(["gate", old, results("many", 0.6, "abc", blank=2)]) == 4
    capsys.readouterr()
    assert run(["gate", old, results("gone", 0.6, "ab"), "--json"]) == 4
    answer = json.loads(capsys.readouterr().out)
    assert answer["verdict"] == "undecided"
    assert any("task c" in sentence for sentence in answer["summary"])
    worse = results("worse", 0.0, "ab")
    assert run(["gate", old, worse]) == 3
