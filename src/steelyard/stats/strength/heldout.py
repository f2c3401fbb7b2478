r"""How well models predict battles that they have not seen, and whether two of them differ.

A battle gives its first system a score s: 1, 0, or 1/2 for a tie. A model gives it an expected
score e: its chance to win, plus half the chance of a tie where the model knows ties. Per battle,

* ``log-loss``: :math:`-s \log e - (1 - s) \log (1 - e)`, so that a tie is half a win and half a
  loss, to models with and without ties alike;
* ``brier``: :math:`(s - e)^2`;
* ``accuracy``: of battles that somebody won, whether the winner is who was expected to score more;
  a half where nobody was. Ties do not count;
* ``outcomes``: minus the logarithm of the chance that the model gave to what happened, a win, a
  loss or a tie; of models that know ties alone.

Parts of a win (an outcome of 0.7) count as so many wins and losses. Each loss is a mean over
battles; its error, and that of a difference of two models on the same battles, is by unit
(:func:`steelyard.stats.paired.clustered.sums_error`).

Folds learn from one another's battles. Part of what a battle adds to a difference of two models is
what these happened to learn from others, :math:`\sum_j c_{ij}`, and what battle i has from j, j has
from i: both count, so that the variance of this part is twice what independent battles would have.
Where two models differ surely it is small; where both are right it is all there is. How much it is
shows in how losses change from the models of one fold to those of another, a jackknife: the squares
of these changes, summed over folds and units, are added to the variance. What is predicted from the
past alone needs none of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, product

import numpy as np
from scipy.special import stdtrit

from steelyard.stats.arrays import Counts, Floats, ratio
from steelyard.stats.paired.clustered import MeanError, sums_error
from steelyard.stats.strength.battlelog import UnitCounts
from steelyard.stats.strength.predictors import Chances, Family, Parameters, Predict
from steelyard.stats.strength.splits import Split

LOSSES = ("log-loss", "brier", "accuracy", "outcomes")
_EVEN = 1e-12  # a lead in expected scores that is none


def losses(chances: Chances) -> Floats:
    """Loss of each pair if i wins, if j wins, if they tie: losses x variants x 3 x pairs.

    That of ``accuracy`` is the chance to be wrong, 0 for ties; that of ``outcomes`` is NaN where a
    model knows no ties.

    Examples
    --------
    >>> own = losses(Chances(np.array([[0.5]]), np.array([[0.25]]), np.array([[0.25]])))
    >>> own[:, 0, :, 0].round(3).tolist()[:2]
    [[0.47, 0.981, 0.725], [0.141, 0.391, 0.016]]
    """
    first, second = chances.first, chances.second
    with np.errstate(divide="ignore"):
        one, two = -np.log(first), -np.log(second)
        knows = np.where(np.isnan(chances.tie), np.nan, 0.0)
        told = [knows - np.log(own) for own in (chances.win, chances.lose)]
        told.append(-np.log(chances.tie))
    lead = first - second
    right = np.where(np.abs(lead) <= _EVEN, 0.5, (lead > 0).astype(np.float64))
    right = np.where(np.isnan(lead), np.nan, right)
    return np.stack(
        [
            np.stack([one, two, (one + two) / 2], axis=1),
            np.stack([second**2, first**2, (lead / 2) ** 2], axis=1),
            np.stack([1 - right, right, 0 * right], axis=1),
            np.stack(told, axis=1),
        ]
    )


@dataclass(frozen=True, slots=True, eq=False)
class FoldLosses:
    """Losses of one fold: sums by unit, losses x models x units, and how many battles they are of.

    ``sizes`` is losses x units; ``units`` are the codes of the units.
    """

    units: Counts
    sums: Floats
    sizes: Floats


@dataclass(frozen=True, slots=True, eq=False)
class Validated:
    """Losses of models on battles that they have not seen.

    ``places`` are the models of each family (its variants), ``fitted`` what predicts by each family
    and fold.
    """

    split: Split
    families: tuple[Family, ...]
    fitted: tuple[tuple[Predict, ...], ...]
    places: tuple[tuple[int, ...], ...]
    folds: tuple[FoldLosses, ...]

    @property
    def parameters(self) -> list[Parameters]:
        """Parameters of every model."""
        return [own for family in self.families for own in family.parameters]

    def means(self, loss: str) -> Floats:
        """Mean loss of every model; NaN where it is undefined."""
        total, size = self._by_fold(loss)
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(total.sum(axis=1) / size.sum())

    def _by_fold(self, loss: str) -> tuple[Floats, Floats]:
        k = LOSSES.index(loss)
        total = np.stack([own.sums[k].sum(axis=1) for own in self.folds], axis=1)
        return total, np.array([own.sizes[k].sum() for own in self.folds])

    def best(self, loss: str, models: Sequence[int]) -> int | None:
        """Give the best of some models, the first of equals; None where none is defined."""
        return _least(self.means(loss)[list(models)], models)

    def chosen(self, loss: str, models: Sequence[int]) -> list[int | None]:
        """Choose a model for every fold by the other folds, so that no choice sees what it meets.

        With one fold it is chosen by that.
        """
        total, size = self._by_fold(loss)
        found = []
        for f in range(len(size)):
            others = np.arange(len(size)) != f if len(size) > 1 else np.array([True])
            with np.errstate(invalid="ignore", divide="ignore"):
                mean = total[list(models)][:, others].sum(axis=1) / size[others].sum()
            found.append(_least(mean, models))
        return found

    def sums(self, loss: str, chosen: Sequence[int | None]) -> tuple[Floats, Floats]:
        """Add up by unit the losses of the model that is chosen for each fold; and their sizes."""
        k = LOSSES.index(loss)
        total, size = np.zeros((2, self.split.n_units))
        for own, model in zip(self.folds, chosen, strict=True):
            total[own.units] += np.nan if model is None else own.sums[k, model]
            size[own.units] += own.sizes[k]
        return total, size

    def mean_error(self, loss: str, rows: Sequence[Sequence[int | None]]) -> MeanError:
        """Give mean losses with their errors, of models that are chosen for each fold."""
        found = [self.sums(loss, chosen) for chosen in rows]
        return sums_error(np.stack([total for total, _ in found]), found[0][1])

    def differences(
        self, loss: str, rows: Sequence[Sequence[int | None]], best: int, level: float = 0.95
    ) -> tuple[MeanError, Floats, Floats]:
        """Compare with the row that is best, on the same battles: differences, and intervals."""
        found = [self.sums(loss, chosen) for chosen in rows]
        size = found[0][1]
        with np.errstate(invalid="ignore"):
            gaps = np.stack([total - found[best][0] for total, _ in found])
        own = sums_error(gaps, size)
        if not self.split.folds.in_time:
            learned = ratio(self._learned(loss, rows, best), size.sum() ** 2)
            own = own._replace(error=np.sqrt(own.error**2 + learned))
        half = own.error * stdtrit(own.freedom, (1 + level) / 2)
        return own, own.mean - half, own.mean + half

    def _learned(self, loss: str, rows: Sequence[Sequence[int | None]], best: int) -> Floats:
        """Sum over units the variance of differences that comes from what folds learned.

        A unit is weighed by the models of all folds but its own, which have all seen it; the
        squares of what changes among them are, in sum, the variance of what a model learns from one
        fold less than all, as far as the fold of the unit is not concerned.
        """
        n_folds = len(self.folds)
        total = np.zeros(len(rows))
        for f in range(n_folds):
            others = [g for g in range(n_folds) if g != f] if n_folds > 2 else [0, 1]
            scale = (n_folds - 1) / (len(others) - 1)
            under = np.zeros((len(others), len(rows), self.split.n_units))
            for counts, units in self.split.held(f):
                for (at, g), r in product(enumerate(others), range(len(rows))):
                    under[at, r, units] += self._one(loss, rows[r][g], g, counts)
            with np.errstate(invalid="ignore"):
                gaps = under - under[:, [best]]
                total += scale * ((gaps - gaps.mean(axis=0)) ** 2).sum(axis=(0, 2))
        return total

    def _one(self, loss: str, model: int | None, g: int, counts: UnitCounts) -> Floats:
        """Sum by unit what one model, as fitted for fold g, loses."""
        if model is None:
            return np.full(counts.n_units, np.nan)
        family = next(k for k, own in enumerate(self.places) if model in own)
        place = model - self.places[family][0]
        found = self.fitted[family][g](counts.i, counts.j)
        own = losses(Chances(*(kind[[place]] for kind in found)))[LOSSES.index(loss)]
        return np.asarray(counts.cells.T @ own.ravel())


def _least(values: Floats, models: Sequence[int]) -> int | None:
    known = np.where(np.isnan(values), np.inf, values)
    place = int(known.argmin())
    return models[place] if np.isfinite(known[place]) else None


def _weigh(counts: UnitCounts, models: Sequence[Predict]) -> tuple[Floats, Floats]:
    """Sum the losses of all models by unit: losses x models x units; and how many battles count."""
    chances = [predict(counts.i, counts.j) for predict in models]
    own = losses(Chances(*(np.concatenate(kind) for kind in zip(*chances, strict=True))))
    kinds, n_models = own.shape[:2]
    sums = counts.cells.T @ own.reshape(kinds * n_models, -1).T
    decided = counts.cells[: 2 * len(counts.i)].sum(axis=0, dtype=np.float64)
    sizes = np.tile(counts.sizes(), (kinds, 1))
    sizes[LOSSES.index("accuracy")] = np.asarray(decided).ravel()
    return np.asarray(sums).T.reshape(kinds, n_models, -1), sizes


def _joined(parts: Sequence[tuple[Counts, Floats, Floats]], n_models: int) -> FoldLosses:
    """Put the parts of a fold together; a unit may be in several of them."""
    if len(parts) == 1:
        return FoldLosses(*parts[0])
    every = np.concatenate([units for units, _, _ in parts]) if parts else np.empty(0, np.int64)
    units = np.unique(every)
    sums = np.zeros((len(LOSSES), n_models, len(units)))
    sizes = np.zeros((len(LOSSES), len(units)))
    for own, some, size in parts:  # within a part, units differ
        place = np.searchsorted(units, own)
        sums[..., place] += some
        sizes[..., place] += size
    return FoldLosses(units, sums, sizes)


def validate(split: Split, families: Sequence[Family], rng: np.random.Generator) -> Validated:
    """Fit families to what each fold learns from, and weigh them by what it holds out.

    Examples
    --------
    >>> from steelyard.stats.strength.predictors import Half, Strength
    >>> from steelyard.stats.strength.splits import SplitScores, random_folds
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.normal(size=(4, 200)) + np.arange(4)[:, None]
    >>> folds, units = random_folds(np.arange(200), 5, rng)
    >>> found = validate(SplitScores(scores, units, folds), [Half(), Strength("bt", (0.1,))], rng)
    >>> found.means("log-loss").round(2).tolist(), found.means("accuracy").round(2).tolist()
    ([0.69, 0.38], [0.5, 0.15])
    """
    streams = rng.spawn(len(families))
    fitted = tuple(
        tuple(own.fit(split, stream)) for own, stream in zip(families, streams, strict=True)
    )
    ends = np.cumsum([0, *(len(own.parameters) for own in families)]).tolist()
    folds = []
    for f in range(split.folds.n):
        models = [own[f] for own in fitted]
        parts = [(units, *_weigh(counts, models)) for counts, units in split.held(f)]
        folds.append(_joined(parts, ends[-1]))
    places = tuple(tuple(range(a, b)) for a, b in pairwise(ends))
    return Validated(split, tuple(families), fitted, places, tuple(folds))
