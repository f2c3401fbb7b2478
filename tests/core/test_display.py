"""What every result has from its base, and tables of declared columns."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass

import numpy as np

from steelyard.core.display import Field, Result, Summary, table_of
from steelyard.core.table import Table, dumps


@dataclass(frozen=True)
class Row:
    system: str
    score: float
    ci: tuple[float, float] | None


COLUMNS = (
    Field("system"),
    Field("score", "chrF", "higher", interval="ci"),
)
ROWS = (Row("A", 51.234567, (50.1, 52.3)), Row("B", math.nan, None))


@dataclass(frozen=True, repr=False)
class Scores(Result):
    rows: tuple[Row, ...]
    scores: np.ndarray
    warnings: tuple[str, ...] = ()

    def words(self) -> Summary:
        return Summary.of([("settled", "A is best.")])

    def table(self) -> Table:
        return table_of(self.rows, COLUMNS, "Scores", ["one note"])


def test_columns_follow_the_fields_and_digits_the_interval():
    table = table_of(ROWS, COLUMNS)
    assert [column.heading for column in table.columns] == ["system", "chrF ↑", "low", "high"]
    assert table.keys() == ["system", "chrF", "chrF low", "chrF high"]
    assert table.shown() == [["A", "51.23", "50.10", "52.30"], ["B", "--", "--", "--"]]
    assert table_of((), COLUMNS).rows == ()


def test_a_dictionary_is_made_of_the_fields():
    result = Scores((), np.array([[0.5, math.nan]]), ("too few",))
    assert result.to_dict() == {"rows": [], "scores": [[0.5, None]], "warnings": ["too few"]}
    assert json.loads(dumps({"result": result}))["result"] == result.to_dict()


def test_a_result_is_printed_as_words_a_table_and_warnings():
    result = Scores(ROWS, np.zeros(1), ("few systems",))
    lines = result.text().splitlines()
    assert lines[0] == "A is best."
    assert lines[2] == "Scores"
    assert lines[-1] == "warning: few systems"
    assert list(result.to_frame("polars").columns) == ["system", "chrF", "chrF low", "chrF high"]
