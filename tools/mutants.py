"""Change one thing in a statistic, and see whether its tests notice.

    python tools/mutants.py [--count 100] [--seed 0] [--jobs 2] [src/steelyard/stats/strength ...]

A mutant is a module with one comparison, operation, number, truth value or condition changed,
drawn at random. It is imported in place of the original by a process of its own, which runs the
doctests of the module and then the tests that import it, up to the first failure. What survives is
printed: a test that is missing, or a change that changes nothing. Constants of modules (sizes of
chunks, mostly) are left alone. Tests must pass as they are.
"""

from __future__ import annotations

import os

os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")  # before NumPy: we fork

import argparse
import ast
import copy
import doctest
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import multiprocessing
import random
import re
import resource
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]
_COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is,
}  # fmt: skip
_OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult,
}  # fmt: skip
_SKIPPED = (ast.JoinedStr, ast.AnnAssign, ast.arg, ast.Raise, ast.Import, ast.ImportFrom)
_MOST_FILES = 3  # of tests for a mutant


@dataclass(frozen=True, slots=True)
class Mutant:
    """A module, the line that was changed, and its whole source with the change."""

    path: Path
    line: int
    change: str
    source: str

    @property
    def module(self) -> str:
        """The name under which it is imported."""
        return ".".join(self.path.relative_to(ROOT / "src").with_suffix("").parts)


def _inside(tree: ast.Module) -> Iterator[ast.AST]:
    """Go through the bodies of functions; annotations, messages and imports do not count."""
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        body = isinstance(node, ast.FunctionDef)
        for child in node.body if isinstance(node, ast.FunctionDef) else ast.iter_child_nodes(node):
            if isinstance(child, _SKIPPED):
                continue
            if body or not isinstance(node, (ast.Module, ast.ClassDef)):
                yield child
                todo.append(child)
            elif isinstance(child, (ast.FunctionDef, ast.ClassDef)):
                todo.append(child)


def _changed(node: ast.AST) -> ast.AST | None:
    """Give a changed copy of a node, None where there is nothing to change."""
    new = copy.deepcopy(node)
    if isinstance(new, ast.Compare) and type(new.ops[0]) in _COMPARISONS:
        new.ops[0] = _COMPARISONS[type(new.ops[0])]()
    elif isinstance(new, (ast.BinOp, ast.AugAssign)) and type(new.op) in _OPERATIONS:
        new.op = _OPERATIONS[type(new.op)]()
    elif isinstance(new, ast.BoolOp):
        new.op = ast.And() if isinstance(new.op, ast.Or) else ast.Or()
    elif isinstance(new, ast.UnaryOp) and isinstance(new.op, (ast.Not, ast.USub, ast.Invert)):
        return new.operand
    elif isinstance(new, ast.Constant) and isinstance(new.value, bool):
        new.value = not new.value
    elif isinstance(new, ast.Constant) and isinstance(new.value, (int, float)):
        new.value += 1
    elif isinstance(new, (ast.If, ast.IfExp)):
        new.test = ast.UnaryOp(ast.Not(), new.test)
    else:
        return None
    return new


class _Replace(ast.NodeTransformer):
    def __init__(self, at: int, by: Callable[[ast.AST], ast.AST | None]) -> None:
        self.at, self.by, self.seen = at, by, -1

    def generic_visit(self, node: ast.AST) -> ast.AST:
        self.seen += 1
        if self.seen == self.at:
            return self.by(node) or node
        return super().generic_visit(node)


def sites(path: Path) -> list[tuple[Path, int]]:
    """List what can be changed in a module: places in the order of a visit."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    inner = {id(node) for node in _inside(tree)}
    visited: list[ast.AST] = []

    class _List(ast.NodeVisitor):
        def generic_visit(self, node: ast.AST) -> None:
            visited.append(node)
            super().generic_visit(node)

    _List().visit(tree)
    return [
        (path, place)
        for place, node in enumerate(visited)
        if id(node) in inner and _changed(node) is not None
    ]


def mutant(path: Path, place: int) -> Mutant:
    r"""Make the mutant of a place.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "small.py")
    ...     _ = path.write_text("def least(a, b):\n    return a if a < b else b\n")
    ...     [mutant(*site).change for site in sites(path)]
    ['a if a < b else b -> a if not a < b else b', 'a < b -> a <= b']
    """
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: list[ast.AST] = []

    def change(node: ast.AST) -> ast.AST | None:
        found.append(node)
        return _changed(node)

    new = ast.fix_missing_locations(_Replace(place, change).visit(tree))
    (node,) = found
    before, after = (ast.unparse(x).split("\n")[0] for x in (node, _changed(node) or node))
    return Mutant(path, getattr(node, "lineno", 0), f"{before} -> {after}", ast.unparse(new))


def tests_of(path: Path) -> list[Path]:
    """Find the tests that import a module, those in its own folder and with its own name first."""
    *above, name = path.relative_to(ROOT / "src").with_suffix("").parts
    package = ".".join(above)
    whole = rf"{re.escape(package)}\.{name}\b"
    part = rf"from {re.escape(package)} import .*\b{name}\b"
    found = [
        test
        for test in sorted((ROOT / "tests" / "stats").rglob("test_*.py"))
        if re.search(f"{whole}|{part}", test.read_text(encoding="utf-8"))
    ]
    own = ROOT.joinpath("tests", *above[1:])
    found.sort(key=lambda test: (test.stem != f"test_{name}", own not in test.parents))
    return found[:_MOST_FILES]


class _Finder(importlib.abc.MetaPathFinder):
    def __init__(self, name: str, path: str) -> None:
        self.name, self.path = name, path

    def find_spec(
        self, name: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        return (
            importlib.util.spec_from_file_location(name, self.path) if name == self.name else None
        )


def _try(subject: Mutant, path: str, seconds: int) -> None:
    """Run the tests of a mutant, in a process of its own; it ends with 0 if they pass."""
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with open(os.devnull, "w", encoding="utf-8") as nowhere:  # noqa: PTH123
        os.dup2(nowhere.fileno(), 1)
        os.dup2(nowhere.fileno(), 2)
        sys.meta_path.insert(0, _Finder(subject.module, path))
        try:
            failed = bool(doctest.testmod(importlib.import_module(subject.module)).failed)
            tests = [str(test) for test in tests_of(subject.path)]
            if not failed and tests:
                # The plugin of the package makes pytest want to rewrite what is imported already.
                options = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
                options += ["-x", "-q", "-n", "0", "-p", "no:cacheprovider"]
                failed = pytest.main([*options, *tests]) != 0
        except BaseException:  # noqa: BLE001
            failed = True
        os._exit(int(failed))


def survives(subject: Mutant, seconds: int) -> bool:
    """Tell whether no test of a mutant fails; one that never ends has been noticed."""
    with tempfile.NamedTemporaryFile("w", suffix=".py", encoding="utf-8") as file:
        file.write(subject.source)
        file.flush()
        fork = multiprocessing.get_context("fork")
        process = fork.Process(target=_try, args=(subject, file.name, seconds))
        process.start()
        process.join()
        return process.exitcode == 0


def main() -> None:
    """Draw mutants and print those that nobody noticed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--count", type=int, default=100, help="mutants to draw")
    parser.add_argument("--seed", type=int, default=0, help="seed of the draw")
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time")
    parser.add_argument("--seconds", type=int, default=120, help="processor time of a mutant")
    parser.add_argument("under", type=Path, nargs="*", help="modules or folders, by default stats")
    given = parser.parse_args()
    under = [path.resolve() for path in given.under or [ROOT / "src" / "steelyard" / "stats"]]
    paths = [
        p for path in under for p in ([path] if path.is_file() else sorted(path.rglob("*.py")))
    ]
    places = [site for path in paths for site in sites(path)]
    drawn = random.Random(given.seed).sample(places, min(given.count, len(places)))  # noqa: S311
    for name in ("numpy", "scipy.special", "scipy.sparse.csgraph", "scipy.stats"):
        importlib.import_module(name)  # once for all
    os.chdir(ROOT)
    started, survivors = time.monotonic(), 0
    first = drawn[0][0]
    if not survives(Mutant(first, 0, "", first.read_text(encoding="utf-8")), given.seconds):
        sys.exit(f"the tests of {first.relative_to(ROOT)} fail as they are")

    def run(site: tuple[Path, int]) -> tuple[Mutant, bool]:
        subject = mutant(*site)
        return subject, survives(subject, given.seconds)

    with ThreadPoolExecutor(given.jobs) as pool:
        for subject, alive in pool.map(run, drawn):
            if alive:
                survivors += 1
                where = f"{subject.path.relative_to(ROOT)}:{subject.line}"
                print(f"{where}: {subject.change}", flush=True)
    killed = len(drawn) - survivors
    minutes = (time.monotonic() - started) / 60
    print(f"{killed} of {len(drawn)} mutants noticed, {len(places)} places, {minutes:.0f} minutes")


if __name__ == "__main__":
    main()
