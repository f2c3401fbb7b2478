"""What a start may cost: modules, public names, CPU time of --help."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

import steelyard

HEAVY = ("scipy", "pandas", "polars", "pyarrow", "matplotlib", "altair", "duckdb", "narwhals",
         "sacrebleu", "jinja2", "joblib", "rich", "urllib.request", "http.client")  # fmt: skip


def modules_after(code: str) -> set[str]:
    shown = f"{code}\nimport sys, json; print(json.dumps(sorted(sys.modules)))"
    run = subprocess.run([sys.executable, "-c", shown], capture_output=True, text=True, check=True)
    return set(json.loads(run.stdout.splitlines()[-1]))


@pytest.mark.parametrize(
    "code",
    [
        "import steelyard",
        "from steelyard.cli.main import run; run(['--help'])",
        "from steelyard.cli.main import run; run(['data', 'info', '--help'])",
        "from steelyard.cli.main import run; run(['kb', 'info', '--help'])",
    ],
)
def test_a_light_start(code):
    assert not modules_after(code) & set(HEAVY)


def test_importing_the_package_does_not_even_load_numpy():
    assert "numpy" not in modules_after("import steelyard")


def test_help_costs_less_than_a_third_of_a_second():
    code = (
        "import resource, subprocess, sys\n"
        "subprocess.run([sys.executable, '-m', 'steelyard', '--help'], check=True,"
        " stdout=subprocess.DEVNULL)\n"
        "used = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "print(used.ru_utime + used.ru_stime)"
    )
    times = [
        float(
            subprocess.run(
                [sys.executable, "-c", code], capture_output=True, text=True, check=True
            ).stdout
        )
        for _ in range(3)
    ]
    assert min(times) < 0.3


def test_every_public_name_can_be_had():
    for name in steelyard.__all__:
        assert getattr(steelyard, name) is not None
    assert sorted(steelyard.__all__) == dir(steelyard)


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'nope'"):
        steelyard.nope  # noqa: B018


def test_no_public_function_shares_its_name_with_a_module():
    from importlib.util import find_spec
    from types import ModuleType

    for name in steelyard.__all__:
        public = not name.startswith("_") and not isinstance(getattr(steelyard, name), ModuleType)
        if public:
            assert find_spec(f"steelyard.{name}") is None, name
