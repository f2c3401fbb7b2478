"""The design of a battle log: +1 for the left system, -1 for the right one, then covariates.

Rows have two entries that are not zero, so that products with the design, and sums of weighted
outer products of its rows, are counts by system and by pair of systems.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from steelyard.stats.arrays import Floats, group_sums

Codes = NDArray[np.integer]


class PairDesign:
    """The matrix X of rows x (systems, covariates), without its zeros."""

    def __init__(
        self, left: Codes, right: Codes, n_systems: int, covariates: Floats | None = None
    ) -> None:
        self.left, self.right, self.n_systems = left, right, n_systems
        self.covariates = np.zeros((len(left), 0)) if covariates is None else covariates

    @property
    def width(self) -> int:
        """How many parameters there are."""
        return self.n_systems + int(self.covariates.shape[1])

    def times(self, theta: Floats) -> Floats:
        """X theta: how far each row's left side is ahead."""
        ahead = theta[self.left] - theta[self.right]
        found: Floats = ahead + self.covariates @ theta[self.n_systems :]
        return found

    def transposed(self, values: Floats) -> Floats:
        """X' values: what each parameter is pulled by."""
        k = self.n_systems
        own = group_sums(self.left, values, k) - group_sums(self.right, values, k)
        return np.concatenate([own, self.covariates.T @ values])

    def weighted(self, weight: Floats) -> Floats:
        """X' diag(weight) X."""
        k = self.n_systems
        result = np.zeros((self.width, self.width))
        met = group_sums(self.left * k + self.right, weight, k * k).reshape(k, k)
        met = met + met.T
        result[:k, :k] = np.diag(met.sum(axis=1)) - met
        for place, column in enumerate((weight[:, None] * self.covariates).T, k):
            side = group_sums(self.left, column, k) - group_sums(self.right, column, k)
            result[:k, place] = result[place, :k] = side
        result[k:, k:] = self.covariates.T @ (weight[:, None] * self.covariates)
        return result

    def by_unit(self, values: Floats, codes: Codes, n_units: int) -> Floats:
        """Give the sums of X' values of each unit: units x parameters."""
        k = self.n_systems
        found = np.zeros((n_units, self.width))
        np.add.at(found, (codes, self.left), values)
        np.subtract.at(found, (codes, self.right), values)
        for place, column in enumerate(self.covariates.T, k):
            found[:, place] = group_sums(codes, column * values, n_units)
        return found


def pinned(information: Floats, n_systems: int) -> Floats:
    """Add what pins the sum of the systems to zero, of the size that the matrix has itself."""
    result = information.copy()
    size = float(np.trace(information[:n_systems, :n_systems])) / n_systems or 1.0
    result[:n_systems, :n_systems] += size / n_systems
    return result


def centring(width: int, n_systems: int) -> Floats:
    """The matrix that takes the mean of the systems off."""
    centre = np.eye(width)
    centre[:n_systems, :n_systems] -= 1 / n_systems
    return centre
