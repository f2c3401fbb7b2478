"""Completion in the shell: commands, options, choices and names, without NumPy."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SHELLS = ("bash", "zsh", "fish")


def called(**environment: str) -> str:
    """Call the program as a shell that completes does, and say whether NumPy was loaded."""
    script = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('numpy' in sys.modules, file=sys.stderr))\n"
        "from steelyard.cli.main import main\n"
        "main([])\n"
    )
    found = subprocess.run(
        [sys.executable, "-c", script], env=os.environ | environment, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert found.stderr == "False\n"
    return found.stdout


def completed(line: str) -> list[str]:
    words = line.split(" ")
    found = called(
        _STEELYARD_COMPLETE="bash_complete",
        COMP_WORDS=" ".join(words),
        COMP_CWORD=str(len(words) - 1),
    )
    return found.splitlines()


@pytest.mark.parametrize("shell", SHELLS)
def test_there_is_a_script_for_the_shell_and_the_page_has_its_line(shell):
    assert "_steelyard_completion" in called(_STEELYARD_COMPLETE=f"{shell}_source")
    page = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    assert f"_STEELYARD_COMPLETE={shell}_source steelyard" in page


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("steelyard comp", ["plain,compare"]),
        ("steelyard help comp", ["plain,compare"]),
        ("steelyard study pow", ["plain,power"]),
        ("steelyard compare --tie", ["plain,--ties"]),
        ("steelyard compare --ties d", ["plain,drop", "plain,davidson"]),
        ("steelyard compare --by mean,b", ["plain,mean,bt"]),
        ("steelyard compare --tests mc", ["plain,mcnemar"]),
        ("steelyard compare --plot fo", ["plain,forest"]),
        ("steelyard meta --by sp", ["plain,spa", "plain,spearman"]),
        ("steelyard score --metrics bleu,chr", ["plain,bleu,chrf", "plain,bleu,chrf++"]),
        ("steelyard human --protocol m", ["plain,mqm"]),
        ("steelyard compare sco", ["file,sco"]),
        ("steelyard judge bi", ["file,bi"]),
        ("steelyard judge verdicts.csv bi", ["file,bi"]),
    ],
)
def test_completion(line, expected):
    assert completed(line) == expected


def test_names_that_complete_are_those_that_are_known():
    from steelyard.cli import meta, params
    from steelyard.scoring.metric import BUILT_IN
    from steelyard.stats.metametrics.registry import METAMETRICS

    assert tuple(BUILT_IN) == params.METRICS
    assert set(meta.COMPLETED) <= set(METAMETRICS)
