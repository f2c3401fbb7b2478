r"""Normals that an outcome cuts off: what TrueSkill makes of a win and of a tie.

A duel says that the difference of two performances is above a margin (a win), or within it (a tie).
Of a standard normal cut off like that, v is the shift of the mean and w the loss of variance. With
the density :math:`\varphi` and the tail :math:`\Phi`, a win at a lead x over the margin has

.. math:: v(x) = \varphi(x) / \Phi(x), \quad w = v (v + x),

and a tie at a lead t within the margin e, with :math:`h = e - |t|`, :math:`l = -e - |t|` and
:math:`r = \varphi(l) / \varphi(h) = e^{-2 e |t|}`, has the densities at both ends

.. math:: a_h = \frac{1}{1 / v(h) - r / v(l)}, \quad a_l = r a_h, \quad v = a_l - a_h, \quad
          w = v^2 + h a_h - l a_l.

So v(x) is all that is needed. It is a table of polynomials, each of which holds for 1/2048, right
to 1e-15, and beyond -20 a continued fraction. Arithmetic, and an exponential of the C library, in
the same order for one duel (:func:`shift`, :func:`tied`) and for many (:func:`won_all`,
:func:`tied_all`): the same bits.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np
from scipy.special import erfcx, expit

from steelyard.core.compiled import inner
from steelyard.stats.arrays import Floats

#: The largest number whose exponential is one, too.
LARGEST = 709.782712893384
_FAR, _NEAR = -20.0, 10.0  # where the table begins, and ends: v is nothing beyond
_PLACES = 2048.0  # of the table per unit
_TERMS = 4  # of a polynomial
_DEPTH = 12  # of the continued fraction: more makes no difference to a double
_NARROW = 1e-4  # margins up to this are taken as their limit: an error of 1e-14


@cache
def table() -> Floats:
    """Give the polynomials of v, one after the other, as the kernels take them.

    The first term is v itself, the others follow from v' = -v (v + x).
    """
    x = np.arange(_FAR * _PLACES, _NEAR * _PLACES + 1) / _PLACES
    terms = np.zeros((_TERMS, len(x)))
    terms[0] = math.sqrt(2 / math.pi) / erfcx(x * -math.sqrt(0.5))
    for k in range(_TERMS - 1):
        square = sum(terms[i] * terms[k - i] for i in range(k + 1))
        terms[k + 1] = -(square + x * terms[k] + (terms[k - 1] if k else 0)) / (k + 1)
    found = np.ascontiguousarray(terms.T).reshape(-1)
    found.flags.writeable = False
    return found


@inner
def shift(x: float, terms: Floats) -> float:
    """Give v of a win at a lead of x over the margin."""
    if _FAR < x < _NEAR:
        place = int((x - _FAR) * _PLACES + 0.5)
        d = x - (place / _PLACES + _FAR)
        at = _TERMS * place
        v = terms[at + 3] * d + terms[at + 2]
        v = v * d + terms[at + 1]
        return v * d + terms[at]  # type: ignore[no-any-return]
    if x <= _FAR:
        v = -x
        for k in range(_DEPTH, 0, -1):
            v = k / v - x
        return v
    return 0.0 if x >= _NEAR else x  # which is no number


def shift_all(x: Floats) -> Floats:
    """Give v of many wins: see :func:`shift`."""
    low, high = x.min(initial=0), x.max(initial=0)
    beyond = not (low > _FAR and high < _NEAR)  # or no numbers
    inside = np.clip(x, _FAR, _NEAR) if beyond else x
    d = inside - _FAR
    d *= _PLACES
    d += 0.5
    with np.errstate(invalid="ignore"):
        place = d.astype(np.intp)
    np.multiply(place, 1 / _PLACES, out=d)
    d += _FAR
    np.subtract(inside, d, out=d)
    terms = table().reshape(-1, _TERMS).take(place, axis=0, mode="clip")
    v = terms[..., 3] * d
    for k in (2, 1):
        v += terms[..., k]
        v *= d
    v += terms[..., 0]
    if beyond:
        far = x <= _FAR
        v[x >= _NEAR] = 0.0
        v[far] = _far(x[far])
    return v


def _far(x: Floats) -> Floats:
    v = -x
    for k in range(_DEPTH, 0, -1):
        v = k / v - x
    return v


@inner
def tied(t: float, e: float, terms: Floats) -> tuple[float, float]:
    """Give v and w of a tie at a lead of t within the margin e."""
    size = abs(t)
    if e <= _NARROW:
        limit = 1 - e * e / 3
        v = -size * limit
        w = limit
    else:
        low, high = -e - size, e - size
        y = 2 * e * size
        odds = 1 / (1 + math.exp(y)) if y < LARGEST else 0.0
        r = odds / (1 - odds)
        at_low, at_high = shift(low, terms), shift(high, terms)
        at_high = at_low * at_high / (at_low - at_high * r)
        at_low = at_high * r
        v = at_low - at_high
        w = v * v + high * at_high - low * at_low
    return (v if t >= 0 else -v), w


def won_all(x: Floats) -> tuple[Floats, Floats]:
    """Give v and w of many wins."""
    v = shift_all(x)
    w = v + x
    w *= v
    return v, np.minimum(w, 1, out=w)


def tied_all(t: Floats, e: Floats) -> tuple[Floats, Floats]:
    """Give v and w of many ties: see :func:`tied`."""
    size = np.abs(t)
    low, high = -e - size, e - size
    odds = expit(-(2 * e * size))
    r = odds / (1 - odds)
    at_low, at_high = shift_all(np.stack([low, high]))
    narrow = e <= _NARROW
    with np.errstate(divide="ignore", invalid="ignore"):  # of margins that are narrow
        at_high = at_low * at_high / (at_low - at_high * r)
        at_low = at_high * r
        v = at_low - at_high
        w = v * v + high * at_high - low * at_low
    if narrow.any():
        limit = 1 - e * e / 3
        v, w = np.where(narrow, -size * limit, v), np.where(narrow, limit, w)
    return np.where(t >= 0, v, -v), w
