"""Verdicts that were made up, with a truth that is known."""

from __future__ import annotations

import numpy as np

from steelyard.data.verdicts import Opinion, Verdicts


def points(rng: np.random.Generator, n_systems: int = 4, n_items: int = 400):
    """Truth and judge, systems x items: items differ, and the judge sees what people do not."""
    item = rng.normal(size=n_items)
    step = 0.1 * np.arange(n_systems)[:, None]
    truth = step + 0.7 * item + 0.7 * rng.normal(size=(n_systems, n_items))
    judge = 0.3 + 0.8 * truth + 0.3 * item + 0.5 * rng.normal(size=(n_systems, n_items))
    return truth, judge


def verdicts(truth: np.ndarray, judge: np.ndarray, labelled: np.ndarray, **more) -> Verdicts:
    """Give them as points, people silent where nothing is labelled."""
    k, n = truth.shape
    codes = np.tile(np.arange(n), k).astype(np.int32)
    names = tuple(map(str, range(n)))
    return Verdicts(
        kind="points",
        items=names,
        item=codes,
        judges=(Opinion("judge", judge.ravel()),),
        raters=(Opinion("people", np.where(labelled, truth, np.nan).ravel()),),
        systems=tuple(f"s{place}" for place in range(k)),
        left=np.repeat(np.arange(k), n).astype(np.int32),
        units=names,
        unit=codes,
        unit_name="item",
        **more,
    )


def chosen(rng: np.random.Generator, shape: tuple[int, int], labels: int, *, alike: bool):
    """Choose rows at random: the same items of all systems, or others of each."""
    found = np.zeros(shape, dtype=bool)
    same = rng.choice(shape[1], labels, replace=False)
    for system in range(shape[0]):
        found[system, same if alike else rng.choice(shape[1], labels, replace=False)] = True
    return found
