"""Meta-evaluation against the WMT toolkit: values, tests, intervals, thresholds."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import mtme
import steelyard as sy
from beds import FULL, GOLD, SMALL, Bed, judged, make_bed, wmt, wmt_files
from exactness import how_exact, same_as_sampled, stated
from harness.row import Row
from harness.setting import Setting
from harness.work import Call, Script

PAIR = "zh-en"
#: 1e6 segments of ten systems, by people and two metrics; prints what SPA takes beyond them. The
#: peak is set back first: what was made on the way to the data would hide it.
MEMORY = """
import numpy as np, steelyard as sy
def kilobytes(what):
    with open("/proc/self/status") as lines:
        return next(int(line.split()[1]) for line in lines if line.startswith(what))
rng = np.random.default_rng(0)
n = {segments}
values = {{name: rng.normal(size=(10, n)) for name in ("mqm", "a", "b")}}
size = sum(v.nbytes for v in values.values())
kinds = {{"mqm": "human"}}
scores = {{k: sy.ScoreTable(v, kind=kinds.get(k, "metric")) for k, v in values.items()}}
names = tuple(str(i) for i in range(10))
es = sy.EvalSet(names, sy.Segments(tuple(map(str, range(n)))), scores)
# The first call loads packages.
sy.meta_evaluate(sy.demo_set(), "mqm", by="spa", level="sys", intervals=None)
with open("/proc/self/clear_refs", "w") as file:
    file.write("5")
before = kilobytes("VmRSS")
sy.meta_evaluate(es, "mqm", by="spa", level="sys", intervals=None)
print((kilobytes("VmHWM") - before) * 1024 / size)
"""


def weigh(bed: Bed, by: str, **options: Any) -> sy.MetaEvaluation:
    """What a user calls: values of all metrics, no intervals unless asked for."""
    return sy.meta_evaluate(bed.evalset, GOLD, by=by, **{"intervals": None, **options})


def rows(setting: Setting) -> Iterator[Row]:
    """All rows of meta-evaluation."""
    bed = make_bed(*(SMALL if setting.small else FULL))
    metrics, systems, segments = bed.shape
    size = f"{systems} x {segments:,}"
    name, peer = mtme.peer(setting.mtme, bed)
    for method, target in (("exact", 40.0), ("mtme", 12.0)):
        said = "" if method == "exact" else f", method {method}"
        check = same_as_sampled if method == "mtme" else partial(how_exact, method=method)
        yield Row(
            key="spa" if method == "exact" else f"spa-{method}",
            work=f"SPA of {metrics} metrics, {size}{said}",
            ours=Call(partial(weigh, bed, "spa", level="sys", rules=sy.meta_rules(method=method))),
            peer=name,
            theirs=Call(peer["spa"][0]),
            least=target,
            rounds=5,
            check=lambda *_, check=check: check(bed),
        )
    yield real(setting)
    for scheme, most in (("inputs", 0.35), ("cells", 1.5)):
        test, draws = peer["test-spa"]
        yield Row(
            key=f"test-spa-{scheme}",
            work=f"SPA significance, {bed.n_pairs} pairs, k = 1,000, {scheme}",
            ours=Call(partial(tested, bed, scheme)),
            peer=name,
            theirs=Call(test),
            times=bed.n_pairs * mtme.DRAWS / draws,
            most=most,
        )
    many = make_bed(*((4, 50, 6) if setting.small else (14, 1315, 300)))
    yield Row(
        key="test-spa-300",
        work=f"SPA significance of {len(many.metrics)} metrics, k = 1,000",
        ours=Call(partial(tested, many, "inputs")),
        most=15,
        rounds=1,
    )
    alone = {"metrics": ["m001"]}
    # Among equally good thresholds the toolkit's rounding decides; replaying it costs more than
    # all the rest.
    for key, which, said, target in (
        ("calibration", mtme.ONE_BEST, "one best threshold", 200.0),
        ("calibration-several", 1, "several: the toolkit's choice", None),
    ):
        yield Row(
            key=key,
            work=f"acc-eq with its threshold, one metric by item, {size}, {said}",
            ours=Call(partial(weigh, bed, "acc-eq", metrics=[f"m{which:03d}"])),
            peer=name,
            theirs=Call(peer[key][0]),
            least=target,
            rounds=5,
            check=same_value,
        )
    yield Row(
        key="calibration-none",
        work=f"acc-eq with its threshold, {math.comb(bed.human.size, 2) / 1e6:,.0f} M pairs",
        ours=Call(partial(weigh, bed, "acc-eq", group_by="none", **alone)),
        most=3,
    )
    yield Row(
        key="tau",
        work=f"Kendall's tau-b by item, one metric, {size}",
        ours=Call(partial(weigh, bed, "kendall-b", level="seg", group_by="item", **alone)),
        peer=name,
        theirs=Call(peer["tau"][0]),
        least=200,
        rounds=5,
        check=same_value,
    )
    yield Row(
        key="bootstrap",
        work=f"SPA of {metrics} metrics with intervals, 1,000 resamples",
        ours=Call(partial(weigh, bed, "spa", level="sys", intervals="unit", n_bootstrap=1000)),
        peer=name,
        theirs=Call(peer["bootstrap"][0]),
        times=1000,
        least=500,
    )
    segments = 1000 if setting.small else 1_000_000
    linux = Path("/proc/self/clear_refs").exists()
    yield Row(
        key="spa-memory",
        work=f"SPA of 2 metrics, 10 x {segments:,}: memory beyond the scores",
        ours=Script(MEMORY.format(segments=segments), prints=True),
        most=1.5,
        unit="x data",
        rounds=1,
        watched=False,
        skip="" if linux else "no /proc to see the peak of memory by",
    )


def real(setting: Setting) -> Row:
    """The default SPA on real scores, many of which are whole numbers."""
    row = {"key": "spa-wmt", "least": 10, "rounds": 2}
    lacking = setting.lacks(*wmt_files(PAIR)[:2])
    if lacking:
        return Row(work=f"SPA of WMT23 {PAIR}", peer="MTME", skip=lacking, **row)
    es = wmt(setting, PAIR)
    bed = judged(es)
    metrics, systems, segments = bed.shape
    name, peer = mtme.peer(setting.mtme, bed)
    return Row(
        work=f"SPA of {metrics} metrics, WMT23 {PAIR}, {systems} x {segments:,}",
        ours=Call(partial(sy.meta_evaluate, es, GOLD, by="spa", level="sys", intervals=None)),
        peer=name,
        theirs=Call(peer["spa"][0]),
        check=lambda *_: stated(bed),
        **row,
    )


def tested(bed: Bed, scheme: str) -> sy.MetaEvaluation:
    """All pairs of metrics, as ``steelyard meta --significance`` tests them."""
    test = sy.metric_test(scheme=scheme, n_resamples=mtme.DRAWS)
    return weigh(bed, "spa", level="sys", significance=test)


def same_value(ours: sy.MetaEvaluation, theirs: object) -> str | None:
    """Compare with the plain algorithm; the toolkit gives an object of its own."""
    value = ours.results[0].value
    if isinstance(theirs, float) and not math.isclose(value, theirs, abs_tol=1e-9):
        raise ValueError(f"ours gives {value}, the peer {theirs}")
    return None
