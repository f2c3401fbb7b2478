"""Sets whose reports are looked at: one that tries to be code, one that has everything."""

from __future__ import annotations

import numpy as np

from steelyard.data.evalset import EvalSet, Kind, ScoreTable
from steelyard.data.segments import Segments
from steelyard.report.explorer import Mistake

HOSTILE = (
    "<script>window.hacked=1</script>",
    "javascript:window.hacked=1",
    "{{7*7}}{%raw%}${7*7}",
    '</script><img src="x" onerror="window.hacked=1">',
    "\"' onmouseover=window.hacked=1 x='",
    "a\u2028b\u2029c & <!-- --> =1+1 \u202e\x1b[31m",
)


def hostile_set() -> tuple[EvalSet, list[Mistake]]:
    """Give a set in which every name and every text tries to be code."""
    rng = np.random.default_rng(0)
    n, s = len(HOSTILE), 12
    ids = tuple(f"{HOSTILE[k % n]}{k}" for k in range(s))
    texts = tuple(HOSTILE[k % n] for k in range(s))
    values = rng.normal(size=(n, s)) + np.arange(n)[:, None]
    es = EvalSet(
        HOSTILE,
        Segments(ids, texts, texts, texts, {HOSTILE[0]: texts, HOSTILE[3]: texts}),
        {
            "human</script>": ScoreTable(values, kind="human"),
            **{f"{name}m": ScoreTable(values + rng.normal(size=(n, s))) for name in HOSTILE[:3]},
        },
        {system: tuple(reversed(texts)) for system in HOSTILE},
        name=HOSTILE[3],
        language_pair='"><b>-x',
        notes=HOSTILE,
    )
    marks = [
        Mistake(system, ids[k], HOSTILE[k % n], 1, 5, HOSTILE[0])
        for system in HOSTILE
        for k in (0, 3)
    ]
    return es, marks


def read_set() -> EvalSet:
    """Give a set with all that can be read: two human scores, domains, two references, texts."""
    rng = np.random.default_rng(3)
    systems, n = ("Alpha", "Beta", "Gamma", "=Delta()"), 36
    ids = tuple(f"s{k}" for k in range(n))
    quality = rng.normal(size=(4, n)) + np.array([[0.9], [0.5], [0.1], [-0.8]])

    def score(noise: float, kind: Kind = "metric") -> ScoreTable:
        return ScoreTable(quality + noise * rng.normal(size=(4, n)), kind=kind)

    texts = tuple(f"source number {k}, a fox" for k in range(n))
    domains = tuple("news" if k % 3 else "chat" for k in range(n))
    references = {"refA": texts, "refB": tuple(text.upper() for text in texts)}
    return EvalSet(
        systems,
        Segments(ids, tuple(f"d{k // 6}" for k in range(n)), domains, texts, references),
        {
            "mqm": score(0.1, "human"),
            "da": score(0.4, "human"),
            **{f"metric{k}": score(0.3 * k) for k in range(1, 5)},
        },
        {name: tuple(f"{name} says {k}" for k in range(n)) for name in systems},
        language_pair="en-de",
    )
