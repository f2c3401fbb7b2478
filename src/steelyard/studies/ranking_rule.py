"""How often WMT26's rule separates equal systems, in campaigns like the one at hand."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from steelyard.core.errors import UsageError
from steelyard.core.options import keywords
from steelyard.core.provenance import Provenance
from steelyard.core.rng import Rng, generator
from steelyard.core.table import Column, Table
from steelyard.human import official
from steelyard.human.options import PRESETS
from steelyard.human.run import human_scores
from steelyard.stats.estimate import wilson
from steelyard.studies.options import RankingRuleOptions
from steelyard.studies.study import Row, Study

_RULE = PRESETS["wmt26"]


@keywords(RankingRuleOptions)
def study_ranking_rule(
    data: Any, *, options: RankingRuleOptions, rng: Rng = 0, **keep: Any
) -> Study:
    """Simulate how often the official rule and ours separate two equal systems.

    Parameters
    ----------
    data
        A log of contrastive ESA (or a list of files), as ``human --preset wmt26`` takes it.
    draws
        Simulated campaigns: all systems get the same mean, and are exchanged at random within every
        document.
    **keep
        ``where``, ``lp`` and the like, as in :func:`steelyard.human_scores`.

    Returns
    -------
    Study
        Tables ``rates`` (how often two equal systems are separated) and ``again`` (how many
        verdicts the official rule changes when it is run again on the same log).

    Examples
    --------
    >>> import numpy as np
    >>> from steelyard.data.judgements import Ratings
    >>> cells = [(s, str(k)) for s in "ABC" for k in range(40)]
    >>> value = 60 + np.random.default_rng(0).normal(0, 9, 120).clip(-40, 40)
    >>> log = Ratings.from_labels([s for s, _ in cells], [k for _, k in cells], ["r"] * 120, value,
    ...                           document=tuple(f"d{int(k) // 4}" for _, k in cells))
    >>> study_ranking_rule(log, draws=20).facts["rates"]["n"]
    20
    """
    sources = data if isinstance(data, (list, tuple)) else [data]
    result = human_scores(*sources, protocol="esa", preset="wmt26", n_bootstrap=0, rng=rng, **keep)
    averages = result.averages
    assert averages is not None
    documents = averages.segments.documents
    if documents is None or None in documents or len(averages.systems) < 2:
        raise UsageError("expected two systems or more, and the documents of all segments")
    blocks = np.unique(np.array(documents), return_inverse=True)[1]
    scores = averages.matrix(result.score)
    simulated, first, second = generator(rng).spawn(3)
    rates = official.false_separations(scores, blocks, options.draws, simulated)
    order = [averages.systems.index(system.system) for system in result.systems]
    runs = [official.verdicts(scores[order], _RULE.resamples, x) for x in (first, second)]
    pairs = len(order) * (len(order) - 1) // 2
    changed = int((runs[0] != runs[1]).sum())
    rows: list[Row] = []
    for name, label in (("official", _RULE.name), ("ours", "ours")):
        share = wilson(rates[name] * options.draws, options.draws)
        rows.append((label, share.value, share.low, share.high, rates["nominal"]))
    texts = [f"{row[0]} {row[1]:.0%} ({row[2]:.0%} to {row[3]:.0%})" for row in rows]
    nominal = f"{rates['nominal']:.0%} is meant"
    return Study(
        "ranking-rule",
        {"rates": _rates(rows, options.draws), "again": _again(changed, pairs, runs)},
        sentences=(
            ("settled", f"Of two equal systems, {' and '.join(texts)} are separated; {nominal}."),
            ("undecided", f"Run again, {_RULE.name} changes {changed} of {pairs:,} verdicts."),
        ),
        facts={"rates": rates, "changed": changed, "n_pairs": pairs},
        warnings=result.warnings,
        provenance=Provenance.of(
            "study ranking-rule", {"draws": options.draws},
            () if result.provenance is None else result.provenance.inputs, rng, options,
        ),
    )  # fmt: skip


def _rates(rows: Sequence[Row], n: int) -> Table:
    columns = (Column("rule"), *(Column(name, digits=3) for name in ("separated", "low", "high")),
               Column("nominal", digits=2))  # fmt: skip
    notes = (f"separated: of {n:,} pairs of equal systems, with 95% intervals",)
    return Table("Equal systems that are separated", columns, tuple(rows), notes)


def _again(changed: int, pairs: int, runs: Sequence[Any]) -> Table:
    names = ("pairs", "first run", "second run", "changed")
    row = (pairs, *(int(run.sum()) for run in runs), changed)
    title = f"Verdicts of {_RULE.name} on this log, with other seeds"
    return Table(title, tuple(Column(name) for name in names), (row,))
