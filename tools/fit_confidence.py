"""Fit the weights of KoBE's confidence to alarms that people judged.

    python tools/fit_confidence.py --judged tests/kobe/gold/alarms.jsonl --data DATA [--write]

With ``--judged``, the segments of judged alarms are explained anew with the present code (their
texts are below DATA), and verdicts are joined to the alarms that it raises; without it, alarms are
taken as ``tools/alarms_to_judge.py`` dumped them. A segment counts once however many alarms it has,
since a clause that was left out is one error.

Every judged alarm counts in four situations: as it is, without the reference, without the other
systems, and without both; weights are fitted to the first three, and drawn towards those for texts
with nothing to compare with, the more the fewer alarms were judged (a ridge). Cuts are chosen by
confidences of each data set from weights that were fitted on the others. Without ``--write`` it
only says what it would change.
"""

from __future__ import annotations

import argparse
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from judged_again import again, read_verdicts
from steelyard.kobe import alarms as confidence
from steelyard.kobe.alarms import SITUATIONS, Model, situation
from steelyard.kobe.explaining import Evidence

TARGET = Path(confidence.__file__).parent / confidence.FILE
VERDICTS = {"real": 1.0, "false": 0.0}
_OF_EVIDENCE = tuple(confidence.of_evidence(Evidence(), "number"))
Floats = NDArray[np.float64]


class Judged(NamedTuple):
    """An alarm in one situation: its features, what it was found to be, and where it is from.

    ``weight`` is its share of the segment's one voice.
    """

    features: Mapping[str, float]
    real: float
    situation: str
    capped: bool
    data: str
    weight: float = 1.0
    system: str = ""


def read(path: Path) -> list[dict[str, Any]]:
    """Read judged alarms; those without a verdict are passed over."""
    rows = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        row = json.loads(line)
        verdict = row.get("verdict")
        if verdict is None:
            continue
        if verdict not in VERDICTS:
            message = f"{path}:{number}: verdict '{verdict}', expected real or false"
            raise SystemExit(message)
        rows.append(row)
    return rows


def weighted(rows: Sequence[Mapping[str, Any]]) -> list[Judged]:
    """Show all alarms in all situations; those of one output and verdict share one voice."""
    keys = [
        (_set(row), row.get("system"), row.get("segment", i), row["verdict"], row.get("kind"))
        for i, row in enumerate(rows)
    ]
    counts = Counter(keys)
    return [
        one._replace(weight=1 / counts[key], system=str(row.get("system", "")))
        for key, row in zip(keys, rows, strict=True)
        for one in situations(row)
    ]


def situations(row: Mapping[str, Any]) -> Iterable[Judged]:
    """Show an alarm as it would be with less to compare it with."""
    kept, others, kept_references, references, rivals = row["evidence"]
    seen = set()
    for with_others in (True, False):
        for with_reference in (True, False):
            own = Evidence(
                kept * with_others,
                others * with_others,
                kept_references * with_reference,
                references * with_reference,
                rivals * (with_others and with_reference),
            )
            if own in seen:
                continue
            seen.add(own)
            told = {k: v for k, v in row["features"].items() if k not in _OF_EVIDENCE}
            told |= confidence.of_evidence(own, row["group"])
            where = situation(own.references, own.others)
            capped = confidence.is_disputed(own, row["group"])
            yield Judged(told, VERDICTS[row["verdict"]], where, capped, _set(row))


def _set(row: Mapping[str, Any]) -> str:
    return f"{row.get('data', '')} {row.get('lp', '')}".strip()


def fit(judged: Sequence[Judged], start: Mapping[str, float], ridge: float) -> dict[str, float]:
    """Fit weights by Newton's method, drawn towards those that it starts from.

    Examples
    --------
    >>> judged = [Judged({"bias": 1.0}, real, "alone", False, "") for real in (1, 0, 0, 0)] * 100
    >>> round(fit(judged, {"bias": 0.0}, 0.01)["bias"], 2)  # log(1 / 3)
    -1.1
    """
    names = list(start)
    weights = prior = np.array([start[name] for name in names])
    x = np.array([[one.features.get(name, 0.0) for name in names] for one in judged])
    y = np.array([one.real for one in judged])
    w = np.array([one.weight for one in judged])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ weights))
        gradient = x.T @ (w * (p - y)) + ridge * (weights - prior)
        hessian = (x * (w * p * (1 - p))[:, None]).T @ x + ridge * np.eye(len(names))
        step = np.linalg.solve(hessian, gradient)
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    return dict(zip(names, weights.round(2).tolist(), strict=True))


def confidences(judged: Sequence[Judged], weights: Mapping[str, float]) -> Floats:
    """Give the confidence in each alarm."""
    model = Model(weights, {})
    return np.array([model.weigh(one.features, capped=one.capped) for one in judged])


def choose_cut(
    judged: Sequence[Judged], sure: Floats, where: str, precision: float
) -> float | None:
    """Give the lowest cut from which on the precision is at least this; None without any."""
    own = [i for i, one in enumerate(judged) if one.situation == where]
    order = sorted(own, key=lambda i: -sure[i])
    real = np.cumsum([judged[i].real * judged[i].weight for i in order])
    shown = np.cumsum([judged[i].weight for i in order])
    good = [n for n in range(len(order)) if real[n] / shown[n] >= precision]
    return float(np.floor(100 * sure[order[good[-1]]]) / 100) if good else None


def told(judged: Sequence[Judged], sure: Floats, cuts: Mapping[str, float]) -> str:
    """Say per situation how many alarms are above the cut, and how many of them are real."""
    lines = []
    for where in SITUATIONS:
        own = [(one, s) for one, s in zip(judged, sure, strict=True) if one.situation == where]
        above = [one for one, s in own if s >= cuts[where]]
        shown, real = sum(one.weight for one in above), sum(one.real * one.weight for one in above)
        every = sum(one.real * one.weight for one, _ in own)
        lines.append(
            f"{where}: {len(own)} judged, {sum(one.real for one, _ in own):.0f} real; "
            f"from {cuts[where]} on {len(above)} shown, {sum(one.real for one in above):.0f} real; "
            f"by segments precision {100 * real / max(shown, 1e-9):.0f} %, "
            f"recall {100 * real / max(every, 1e-9):.0f} %"
        )
    return "\n".join(lines)


def across_sets(judged: Sequence[Judged], start: Mapping[str, float], ridge: float) -> Floats:
    """Give confidences by weights that were fitted on all other data sets."""
    sure = np.zeros(len(judged))
    for name in sorted({one.data for one in judged}):
        held = [i for i, one in enumerate(judged) if one.data == name]
        rest = [one for one in judged if one.data != name and _counts(one)]
        weights = fit(rest, start, ridge) if rest else dict(start)
        sure[held] = confidences([judged[i] for i in held], weights)
    return sure


def _counts(one: Judged) -> bool:
    return not one.capped and one.situation != "alone"


def rewritten(text: str, weights: Mapping[str, float], cuts: Mapping[str, float]) -> str:
    """Put new numbers into the file, and leave its comments as they are."""
    start, at = text.index("[compared]\n"), text.index("[cut]")  # sections name the same things
    return text[:start] + _with(text[start:at], weights) + _with(text[at:], cuts)


def _with(section: str, values: Mapping[str, float]) -> str:
    def put(found: re.Match[str]) -> str:
        return _padded(found, values[found["name"]]) if found["name"] in values else found[0]

    line = r"(?m)^((?P<name>\w+) = )(?P<number>-?[\d.]+)(?P<blanks> *)"
    return re.sub(line, put, section)


def _padded(found: re.Match[str], value: float) -> str:
    """Keep comments in their column."""
    number = repr(value)
    blanks = len(found["number"]) + len(found["blanks"]) - len(number)
    return found[1] + number + (" " * max(1, blanks) if found["blanks"] else "")


def main(arguments: Sequence[str] | None = None) -> None:
    """Fit, say what that gives, and write."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("dumped", type=Path, nargs="?", help="alarms with features and verdicts")
    parser.add_argument("--judged", type=Path, nargs="+", help="verdicts, to be joined anew")
    parser.add_argument("--data", type=Path, default=Path("/work/shared/data"))
    parser.add_argument("--ridge", type=float, default=4.0, help="how much the start counts")
    parser.add_argument("--precision", type=float, default=0.7, help="of what is shown")
    parser.add_argument("--weak", action="append", default=[],
                        help="a system too weak to choose cuts by (repeatable)")  # fmt: skip
    parser.add_argument("--write", action="store_true", help=f"write {TARGET.name}")
    given = parser.parse_args(arguments)
    model = confidence.model()
    if (given.judged is None) == (given.dumped is None):
        parser.error("give dumped alarms, or verdicts with --judged")
    judged = weighted(_joined(given.judged, given.data) if given.judged else read(given.dumped))
    if not judged:
        parser.error(f"{given.dumped or given.judged[0]}: no alarm has a verdict")
    weights = fit([one for one in judged if _counts(one)], model.weights, given.ridge)
    sure = confidences(judged, weights)
    across = across_sets(judged, model.weights, given.ridge)
    own = [i for i, one in enumerate(judged) if one.system not in given.weak]
    strong, by_others = [judged[i] for i in own], across[own]
    cuts = dict(model.cut)
    for where in SITUATIONS:
        cut = choose_cut(strong, by_others, where, given.precision)
        cuts[where] = cuts[where] if cut is None or where == "alone" else cut
    for name, value in weights.items():
        print(f"{name:16} {model.weights[name]:6.2f} -> {value:6.2f}")
    print("\nfitted and counted on the same alarms")
    print(told(judged, sure, cuts))
    print("\neach data set by weights that were fitted on the others")
    print(told(judged, across, cuts))
    if given.weak:
        print(f"\nthe same without {', '.join(given.weak)}")
        print(told(strong, by_others, cuts))
    if given.write:
        text = TARGET.read_text(encoding="utf-8")
        text = rewritten(text, weights, cuts)
        TARGET.write_text(text, encoding="utf-8")
        print(f"wrote {TARGET}")


def _joined(paths: Sequence[Path], data: Path) -> list[dict[str, Any]]:
    found = again(read_verdicts(paths), data)
    print(found.told())
    return found.judged


if __name__ == "__main__":
    main()
