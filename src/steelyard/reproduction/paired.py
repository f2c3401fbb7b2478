"""The paired-evaluation paper (Peyrard et al. 2021): its tables and figures beside ours.

Of the paper's 296 setups, 65 are at hand: thirteen metrics on three TAC and two dialogue sets. On
these, the rankings of the authors' code (:mod:`steelyard.reproduction.pairedrule`) are compared
with its own output, and with the printed tables, most of which rest on all 296.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from steelyard.comparison.rankings import connection_warnings
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.reproduction import pairedexamples, pairedfull, pairedsamples
from steelyard.reproduction.pairedfull import SETS, SUBSET, Sets, load_setups
from steelyard.reproduction.reproduction import (
    COUNTED,
    DIFFERS,
    Reproduction,
    Row,
    input_files,
    judge,
    not_at_hand,
    read_figures,
)
from steelyard.stats.strength.bradleyterry import bradley_terry
from steelyard.stats.strength.wins import win_counts
from steelyard.studies.setups import Setup
from steelyard.studies.simulation import simulate
from steelyard.studies.study import Progress

TITLE = "Better than Average: Paired Evaluation of NLP Systems (2021)"
DRAWS = 300  # samples of each setup, for Table 3
TEST_DRAWS = 1000  # samples, for Figure 6


def published_figures() -> dict[str, Any]:
    """Read the figures of the paper.

    Examples
    --------
    >>> published_figures()["table1"]["mean, bt"]
    [0.09, 0.4, 0.49]
    """
    return read_figures("paired")


def reproduce_paired(data: Path, *, rng: Rng = 0, progress: Progress | None = None) -> Reproduction:
    """Compare the paper's figures with ours.

    Parameters
    ----------
    data
        The folder that holds ``bt-eval/``; where it does not, figures that need it have no partner.
    rng
        Seed of samples and simulations.
    """
    streams = generator(rng).spawn(4)
    folder = data / "bt-eval"
    paths = [folder / name for name in dict.fromkeys(file for file, _, _ in SETS.values())]
    missing = [path.name for path in paths if not path.is_file()]
    sets = None if missing else load_setups(folder)
    reason = f"no {', '.join(missing)} in {folder}" if missing else SUBSET
    rows: list[Row] = []
    parts = _parts(published_figures(), sets, streams, reason)
    for done, part in enumerate(parts):
        rows += part
        if progress is not None:
            progress(done + 1, _N_PARTS)
    inputs = input_files(paths)
    provenance = Provenance.of("reproduce paired", {"draws": DRAWS}, inputs, rng)
    warnings = (f"{reason}: figures that need it are not compared",) if missing else ()
    return Reproduction("paired", TITLE, tuple(rows), warnings, provenance)


_N_PARTS = 8


def _parts(
    published: Mapping[str, Any],
    sets: Sets | None,
    streams: Sequence[np.random.Generator],
    reason: str,
) -> Iterator[list[Row]]:
    """Compute part after part of the paper."""
    simulation, jitter, samples, tests = streams
    flat = None if sets is None else [setup for own in sets.values() for setup in own]
    yield [
        *pairedexamples.figure1_rows(published["figure1"]),
        *pairedexamples.appendix_f_rows(published["appendixF"]),
    ]
    yield list(pairedexamples.simulation_rows(published["simulation"], simulate(rng=simulation)))
    measured = None if sets is None else pairedfull.measure_as_published(sets)
    yield [
        *_count_rows(published["counts"], sets, reason),
        *pairedfull.table_rows(published, measured, reason),
    ]
    ranges = {}
    if sets is not None and measured is not None:
        ranges = pairedfull.digit_ranges(sets, measured, jitter)
    yield list(pairedfull.code_rows(published["code"], measured, ranges, reason))
    yield list(pairedfull.half_rows(published["half"], sets, reason))
    yield list(_table3_rows(published["table3"], flat, samples, reason))
    names = published["figure6"]["tests"]
    matrix = None if flat is None else pairedsamples.draw_matrix(flat, TEST_DRAWS, names, tests)
    why = f"{SUBSET}, most of them TAC: a fifth of it is 9 or 10 segments, so there is less power"
    yield [
        *pairedsamples.figure6_rows(published["figure6"], matrix, why if sets else reason),
        *pairedsamples.tac_test_rows(published["tac-tests"], flat, reason),
    ]
    yield [*_pairformance_rows(published["pairformance"], sets, reason), *_not_comparable()]


def _count_rows(published: Mapping[str, int], sets: Sets | None, reason: str) -> Iterator[Row]:
    words = {"setups": "setups", "pairs": "pairs of systems", "segments": "test instances"}
    ours: dict[str, int] = {}
    if sets is not None:
        sizes = [len(setup.systems) for own in sets.values() for setup in own]
        ours = {
            "setups": len(sizes),
            "pairs": sum(n * (n - 1) // 2 for n in sizes),
            "segments": sum(own[0].n_segments for own in sets.values()),
        }
    for key, value in published.items():
        found = ours.get(key)
        what = f"Section 5, {words[key]}"
        if found is None:
            yield not_at_hand(what, value, reason)
        else:
            yield judge(what, value, found, within=COUNTED, reason=reason)


def _table3_rows(
    cells: Mapping[str, Any], setups: Sequence[Setup] | None, rng: np.random.Generator, reason: str
) -> Iterator[Row]:
    sets = [name for name in cells if name not in ("columns", "rankings")]
    absent = {name: "the scores of this set are not at hand" for name in sets if name not in SETS}
    found = {}
    if setups is None:
        absent = dict.fromkeys(sets, reason) | absent
    else:
        wanted = {metric for own in pairedsamples.COLUMNS.values() for metric in own}
        chosen = [setup for setup in setups if setup.score in wanted]
        found = pairedsamples.sample_means(chosen, DRAWS, rng)
    yield from pairedsamples.table3_rows(cells, found, DRAWS, absent)


def _pairformance_rows(
    published: Mapping[str, Any], sets: Sets | None, reason: str
) -> Iterator[Row]:
    """Setups on which the paper's tool, which drops ties, divides 0 by 0 and never returns."""
    note = (
        "two systems that win nothing and always tie with each other are 0 / 0 in the iteration of "
        "Pairformance; here they are named, and the others ranked"
    )
    known = {} if sets is None else {setup.score: setup for setup in sets[published["set"]]}
    for metric in published["metrics"]:
        what = f"Pairformance, {published['set']} {metric}, ties dropped"
        if metric not in known:
            yield not_at_hand(what, published["outcome"], reason)
            continue
        counts = win_counts(known[metric].scores)
        fit = bradley_terry(counts.wins, counts.ties, ties_as="drop")
        ours = "; ".join(connection_warnings(fit, known[metric].systems)) or "all are ranked"
        yield Row(what, published["outcome"], ours, DIFFERS, note)


def _not_comparable() -> Iterator[Row]:
    drawn = "drawn only: no figures are printed"
    for what, note in (
        ("Figure 2, densities of pairings", drawn),
        ("Figure 4, disagreement by metric, task and size", f"{drawn}; see study disagreement"),
        ("Figure 5, a pairwise matrix on translations", "its scores are not at hand"),
        ("Table 2, an example of strengths by type", "an input: there is nothing to compute"),
    ):
        yield not_at_hand(what, None, note)
