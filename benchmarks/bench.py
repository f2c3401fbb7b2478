"""All rows of the table of speeds, in one run of a few minutes, and what changed since a revision.

    python benchmarks/bench.py [--only KEY,...] [--mtme CHECKOUT] [--out FOLDER] [--quick]
    python benchmarks/bench.py --against REV [--only KEY,...]

CPU seconds (user and system, all threads, one BLAS thread), the best of several; what a peer takes
is measured in the same process, in turns. Every group of rows is a process of its own. Commands are
measured as processes. ``--mtme`` is a checkout of google-research/mt-metrics-eval; without it,
plain implementations of its algorithms stand in. Rows on WMT data need STEELYARD_SHARED.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
ROOT = HERE.parent
RESULTS = HERE / "results"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
VERSIONS = ("numpy", "scipy", "duckdb", "evalica", "choix", "trueskill", "pairformance",
            "sacrebleu", "spacy", "ppi-python", "statsmodels")  # fmt: skip
sys.path[:0] = [str(HERE)] if str(HERE) not in sys.path else []


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--only", default="", help="comma-separated beginnings of rows' keys")
    parser.add_argument("--mtme", type=Path, help="a checkout of google-research/mt-metrics-eval")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of table.md, table.json")
    parser.add_argument("--against", metavar="REV", help="compare with another commit instead")
    parser.add_argument("--quick", action="store_true", help="one round each, and no profile")
    parser.add_argument("--small", action="store_true", help="tiny data: whether all rows run")
    parser.add_argument("--group", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    if given.mtme is not None and not (given.mtme / "mt_metrics_eval").is_dir():
        parser.error(f"{given.mtme}: no checkout of mt-metrics-eval")
    if given.group:
        measure_group(given)
    elif given.against:
        print(against(given))
    else:
        table(given)


# ----------------------------------------------------------------------- in a process of its own


def measure_group(given: argparse.Namespace) -> None:
    """Measure the rows of one group, and print each as a line of JSON."""
    from harness.row import measure
    from harness.setting import Setting
    from rows import rows_of

    setting = Setting.here(mtme=given.mtme, small=given.small)
    wanted = tuple(given.only.split(","))
    rounds = 1 if given.quick or given.small else None
    for row in rows_of(given.group, setting):
        if not row.key.startswith(wanted):
            continue
        try:
            found = measure(row, rounds=rounds, peers=not given.against, watch=not given.quick)
        except Exception as error:  # noqa: BLE001 - a row that fails is told, and the others run
            found = {"key": row.key, "work": row.work, "peer": row.peer, "target": row.target,
                     "failed": f"{type(error).__name__}: {error}"}  # fmt: skip
        print(json.dumps(found), flush=True)


# ------------------------------------------------------------------------- the run of all groups


def measured(given: argparse.Namespace, group: str, source: Path) -> Iterator[dict[str, Any]]:
    """Run a group with the package at ``source``, and give its rows as they come in."""
    environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    environment |= dict.fromkeys(THREADS, "1") | {"PYTHONPATH": str(source)}
    command = [sys.executable, str(HERE / "bench.py"), "--group", group, "--only", given.only]
    command += ["--mtme", str(given.mtme.resolve())] if given.mtme else []
    command += ["--against", given.against] if given.against else []
    command += [f"--{name}" for name in ("quick", "small") if getattr(given, name)]
    with subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        for line in process.stdout:
            yield json.loads(line)
    if process.returncode:
        yield {"key": group, "work": f"group {group}", "peer": "", "target": "",
               "failed": f"exit {process.returncode}"}  # fmt: skip


def table(given: argparse.Namespace) -> None:
    """Measure all rows, print them as they come in, and write both files."""
    from harness.table import about, cells, markdown
    from rows import GROUPS

    begun = time.time()
    rows = []
    for group in GROUPS:
        for row in measured(given, group, ROOT / "src"):
            rows.append(row)
            print(" | ".join(cell for cell in cells(row) if cell), flush=True)
    facts = about(revision(), begun, versions())
    written = {
        "table.json": json.dumps({"about": facts, "rows": rows}, indent=1, ensure_ascii=False),
        "table.md": markdown(rows, facts),
    }
    given.out.mkdir(parents=True, exist_ok=True)
    for name, text in written.items():
        (given.out / name).write_text(f"{text.rstrip()}\n", "utf-8")
    goals = [row["reached"] for row in rows if row.get("reached") is not None]
    print(f"{sum(goals)} of {len(goals)} targets reached; {facts['minutes']:.1f} minutes; "
          f"{given.out}/table.md")  # fmt: skip


def against(given: argparse.Namespace) -> str:
    """Measure all rows here and at another revision, group by group in turns."""
    from harness.table import changes
    from rows import GROUPS

    here: list[dict[str, Any]] = []
    there: list[dict[str, Any]] = []
    with worktree(given.against) as source:
        for group in GROUPS:
            there += measured(given, group, source)
            here += measured(given, group, ROOT / "src")
    return changes(there, here, given.against)


@contextlib.contextmanager
def worktree(name: str) -> Iterator[Path]:
    """Check another commit out into a temporary folder, and compile it, as an installed one is."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) / "tree"
        git("worktree", "add", "--detach", "--quiet", str(place), name)
        try:
            compiled = [sys.executable, "-m", "compileall", "-q", str(place / "src")]
            subprocess.run(compiled, check=True, stdout=subprocess.DEVNULL)
            yield place / "src"
        finally:
            git("worktree", "remove", "--force", str(place))


def git(*words: str) -> str:
    command = ["git", "-C", str(ROOT), *words]
    done = subprocess.run(command, check=False, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"error: git {words[0]}: {done.stderr.strip()}")
    return done.stdout.strip()


def revision() -> str:
    """The commit, with a + if files have changed since."""
    try:
        return git("rev-parse", "--short", "HEAD") + (
            "+" if git("status", "--porcelain", "src") else ""
        )
    except (SystemExit, OSError):
        return "an unknown revision"


def versions() -> dict[str, str]:
    from importlib.metadata import PackageNotFoundError, version

    found = {}
    for name in VERSIONS:
        with contextlib.suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


if __name__ == "__main__":
    main()
