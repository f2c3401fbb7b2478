"""What models predict, in words, tables and curves: which is best, and which is not told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import stdtrit

from steelyard.core.table import Cell, Column, Table
from steelyard.core.words import plural
from steelyard.data.independence import UnitEffect
from steelyard.stats.arrays import Floats
from steelyard.stats.strength.heldout import LOSSES, Validated
from steelyard.stats.strength.predictors import Parameters
from steelyard.studies.results import Curve, Line

_NAMES = {"prior": "prior", "k": "K", "beta": "beta", "tau": "tau", "draw": "draw"}
_LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Facts:
    """What was predicted."""

    n_systems: int
    n_battles: int
    n_ties: float
    n_folds: int
    in_time: bool
    unit: UnitEffect

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        return {
            "n_systems": self.n_systems,
            "n_battles": self.n_battles,
            "n_ties": self.n_ties,
            "n_folds": self.n_folds,
            "unit": self.unit.to_dict(),
        }


@dataclass(frozen=True, slots=True)
class Row:
    """One family: what it lost, and by how much more than the best."""

    name: str
    parameters: Parameters | None
    values: tuple[float, ...]  # by LOSSES; accuracy as such
    behind: float
    error: float
    low: float
    high: float
    note: str = ""

    @property
    def told_apart(self) -> bool | None:
        """Whether it is surely worse than the best; None where that is not known."""
        return None if np.isnan(self.low) else bool(self.low > 0)


@dataclass(frozen=True, slots=True, eq=False)
class Weighed:
    """Families from best to worst by one loss, and what all models lost."""

    rows: tuple[Row, ...]
    found: Validated
    loss: str

    @property
    def best(self) -> Row | None:
        """The best, if any could be weighed."""
        return self.rows[0] if self.rows and not np.isnan(self._value(self.rows[0])) else None

    def _value(self, row: Row) -> float:
        return row.values[LOSSES.index(self.loss)]

    def _named(self, *, apart: bool | None) -> list[str]:
        return [row.name for row in self.rows[1:] if row.told_apart is apart and row.behind >= 0]

    @property
    def close(self) -> list[str]:
        """Those within one standard error of the best."""
        return [row.name for row in self.rows[1:] if row.behind <= row.error]

    def verdict(self) -> str:
        """Say it in words."""
        best = self.best
        if best is None:
            return "No model could be weighed."
        given = f" with {shown(best.parameters)}" if best.parameters else ""
        text = f"{best.name}{given} predicts best ({self.loss} {self._value(best):.4f})"
        alike, worse, open_ = (self._named(apart=x) for x in (False, True, None))
        if alike:
            text += f"; not told apart from it: {', '.join(alike)}"
        if worse:
            text += f"; worse: {', '.join(worse)}"
        if open_:
            text += f"; no interval: {', '.join(open_)}"
        if "half" in alike or best.name == "half":
            text += ". These data do not tell anything from a coin"
        return f"{text}."

    def to_dict(self) -> dict[str, Any]:
        """Give what ``--json`` prints."""
        best = self.best
        return {
            "loss": self.loss,
            "best": None if best is None else best.name,
            "not_told_apart": self._named(apart=False),
            "worse": self._named(apart=True),
            "within_one_error": self.close,
            "verdict": self.verdict(),
            "parameters": {
                row.name: None if row.parameters is None else plain(row.parameters)
                for row in self.rows
            },
        }


def plain(parameters: Parameters) -> dict[str, float | str]:
    """Give parameters for a machine: a draw probability that follows ties is a word."""
    return {key: "share of ties" if np.isnan(x) else x for key, x in parameters.items()}


def shown(parameters: Parameters | None) -> str:
    """Give parameters as people read them."""
    own = plain(parameters or {})
    texts = (x if isinstance(x, str) else f"{x:.3g}" for x in own.values())
    return ", ".join(f"{_NAMES[key]} {text}" for key, text in zip(own, texts, strict=True))


def _as_values(means: Floats) -> tuple[float, ...]:
    """Give losses as they are shown: shares of right predictions, not of wrong ones."""
    own = [1 - x if name == "accuracy" else x for name, x in zip(LOSSES, means, strict=True)]
    return tuple(float(x) if np.isfinite(x) else float("nan") for x in own)


def weighed(found: Validated, loss: str) -> Weighed:
    """Weigh families, each with the parameters that are best on the other folds."""
    chosen = [found.chosen(loss, models) for models in found.places]
    means = np.stack([found.mean_error(name, chosen).mean for name in LOSSES], axis=1)
    own = np.where(np.isfinite(means), means, np.inf)[:, LOSSES.index(loss)]
    order = np.argsort(own, kind="stable")
    gaps, low, high = found.differences(loss, chosen, int(order[0]), _LEVEL)
    rows = []
    for k in order.tolist():
        family, known = found.families[k], bool(np.isfinite(own[k]))
        place = found.best(loss, found.places[k])
        behind = [float(x[k]) if known else float("nan") for x in (*gaps[:2], low, high)]
        rows.append(
            Row(
                name=family.name,
                parameters=None if place is None else found.parameters[place],
                values=_as_values(means[k]),
                behind=behind[0],
                error=behind[1],
                low=behind[2],
                high=behind[3],
                note="" if known else _why(found, loss, k, float(means[k, LOSSES.index(loss)])),
            )
        )
    return Weighed(tuple(rows), found, loss)


def _why(found: Validated, loss: str, k: int, value: float) -> str:
    """Say why a family has no loss."""
    if np.isposinf(value):
        return "gave no chance to what happened"
    if not sum(own.sizes[LOSSES.index(loss)].sum() for own in found.folds):
        return "nobody won a battle"
    if np.isfinite(found.means("log-loss")[list(found.places[k])]).any():
        return "does not know ties"
    return found.families[k].undefined


def _value_columns() -> list[Column]:
    return [Column(name, "higher" if name == "accuracy" else "lower", digits=4) for name in LOSSES]


def model_tables(found: Weighed, facts: Facts) -> dict[str, Table]:
    """Show a row per family, best first, and a row per set of parameters."""
    columns = [Column("model"), Column("parameters"), *_value_columns()]
    columns += [Column(name, digits=5) for name in ("behind", "low", "high")]
    columns += [Column("worse"), Column("note")]
    rows: list[tuple[Cell, ...]] = [
        (row.name, shown(row.parameters), *row.values, row.behind, row.low, row.high,
         row.told_apart, row.note)
        for row in found.rows
    ]  # fmt: skip
    return {
        "models": Table(_title(facts), tuple(columns), tuple(rows), _notes(found, facts)),
        "parameters": _parameter_table(found),
    }


def _title(facts: Facts) -> str:
    what = "later battles" if facts.in_time else "held-out battles"
    return f"Predictions of {what}"


def _notes(found: Weighed, facts: Facts) -> tuple[str, ...]:
    ties = f", {facts.n_ties:,.0f} of them ties" if facts.n_ties else ", no ties"
    size = f"{plural(facts.n_systems, 'system')}, {facts.n_battles:,} battles{ties}"
    how = "each from what came before" if facts.in_time else "each from the others"
    notes = (
        f"{size}; {plural(facts.n_folds, 'fold')}, {how}; parameters are chosen on other folds",
        "log-loss, brier: a tie is half a win; accuracy: of battles that somebody won",
        "outcomes: log-loss of win, loss and tie, of models that know ties",
        f"behind: {found.loss} more than the best, 95 % interval by unit; worse: above 0",
        facts.unit.sentence(),
        found.verdict(),
    )
    ends = _at_the_end(found)
    return (*notes, ends) if ends else notes


def _at_the_end(found: Weighed) -> str:
    """Name parameters that are best at the end of what was tried: there may be better ones."""
    told = []
    for models in found.found.places:
        best = found.found.best(found.loss, models)
        if best is None:
            continue
        own = found.found.parameters[best]
        for key in ("prior", "k", "beta", "tau"):
            tried = sorted({found.found.parameters[m].get(key, 0.0) for m in models})
            value = own.get(key, 0.0)
            if len(tried) > 1 and value > 0 and value in (tried[0], tried[-1]):
                end = "smallest" if value == tried[0] else "largest"
                told.append(f"{_NAMES[key]} {value:.3g} is the {end} tried")
    return "; ".join(dict.fromkeys(told))


def _parameter_table(found: Weighed) -> Table:
    validated = found.found
    keys = [key for key in _NAMES if any(key in own for own in validated.parameters)]
    columns = [Column("model"), *(Column(_NAMES[key], mixed=True) for key in keys)]
    columns += [*_value_columns(), Column("best")]
    means = np.stack([validated.means(name) for name in LOSSES], axis=1)
    rows: list[tuple[Cell, ...]] = []
    for family, models in zip(validated.families, validated.places, strict=True):
        best = validated.best(found.loss, models)
        for model in models:
            own = plain(validated.parameters[model])
            cells = tuple(own.get(key) for key in keys)
            rows.append((family.name, *cells, *_as_values(means[model]), model == best))
    note = f"best: of each model, by {found.loss}"
    return Table("All parameters", tuple(columns), tuple(rows), (note,))


def model_curves(found: Weighed) -> tuple[Curve, ...]:
    """Draw how far models are behind the best, and the loss by the parameter of each."""
    rows = [row for row in found.rows if not np.isnan(row.behind)]
    behind = Line(
        "behind the best",
        np.array([row.behind for row in rows]),
        np.array([row.low for row in rows]),
        np.array([row.high for row in rows]),
        (1,) * len(rows),
    )
    label = f"{found.loss} above the best"
    curves = [Curve("models", "models", "model", label, tuple(row.name for row in rows), (behind,))]
    axes = {"elo": "k", "trueskill": "beta"}
    for family, models in zip(found.found.families, found.found.places, strict=True):
        axis = axes.get(family.name, "prior")
        own = [found.found.parameters[model] for model in models]
        x = sorted({parameters[axis] for parameters in own if axis in parameters})
        if len(x) > 1:
            lines = _lines(found, models, axis, x)
            curves.append(
                Curve(family.name, family.name, _NAMES[axis], found.loss, tuple(x), lines)
            )
    return tuple(curves)


def _lines(
    found: Weighed, models: Sequence[int], axis: str, x: Sequence[float]
) -> tuple[Line, ...]:
    """Make a line for every choice of the other parameters."""
    groups: dict[str, dict[float, int]] = {}
    for model in models:
        own = found.found.parameters[model]
        rest = shown({key: value for key, value in own.items() if key != axis}) or found.loss
        groups.setdefault(rest, {})[own[axis]] = model
    n_folds = len(found.found.folds)
    lines = []
    for name, places in groups.items():
        rows = [[places[value]] * n_folds for value in x]
        mean, error, freedom, _ = found.found.mean_error(found.loss, rows)
        half = error * stdtrit(freedom, (1 + _LEVEL) / 2)
        if found.loss == "accuracy":
            mean = 1 - mean
        lines.append(Line(name, mean, mean - half, mean + half, (1,) * len(x)))
    return tuple(lines)
