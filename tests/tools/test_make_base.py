"""What tools/make_base takes into the embedded base, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from make_base.choice import Candidate, is_taken
from make_base.names import Row, choose, read
from steelyard.kobe.base.codec import Flag, Name

# Dictionaries of thirty languages are loaded for the first of them.
pytestmark = pytest.mark.thorough

# -- names of people, organisations, products and works


@pytest.mark.parametrize(
    ("category", "lang", "text", "languages", "taken"),
    [
        ("person", "en", "Angela Merkel", 3, True),
        ("person", "en", "A. Merkel", 22, False),
        ("person", "en", "Donald J. Trump", 22, False),
        ("person", "en", "President Trump", 22, False),
        ("person", "en", 'Joseph "Joe" Biden', 22, False),
        ("person", "en", "Putin", 22, True),
        ("person", "en", "Putin", 19, False),
        ("person", "ru", "владимир путин", 22, False),
        ("person", "zh", "习近平", 3, True),
        ("person", "zh", "马云", 3, False),
        ("person", "ja", "アンゲラ・メルケル", 3, True),
        ("organisation", "mul", "Deutsche Bahn", 2, True),
        ("organisation", "mul", "Post", 20, False),
        ("organisation", "mul", "Gazprom", 12, True),
        ("organisation", "mul", "Gazprom", 3, False),
        ("organisation", "en", "NASA", 15, True),
        ("organisation", "en", "ABC", 3, False),
        ("organisation", "zh", "公司", 9, False),
        ("organisation", "zh", "世界卫生组织", 9, True),
        ("organisation", "en", "metal products", 9, False),
        ("work", "de", "Gold", 22, False),
        ("work", "en", "Home Alone", 5, False),
        ("work", "en", "Star Wars", 20, True),
        ("work", "en", "The Third Policeman of Ireland", 2, True),
        ("work", "de", "Der Spiegel", 14, False),
        ("product", "mul", "Boeing 747", 14, False),
    ],
)
def test_which_names_are_taken(category, lang, text, languages, taken):
    assert is_taken(Candidate(category, lang, text, languages)) is taken


def rows(*given):
    return [Row(lang, text, prior, ("xfactr",)) for lang, text, prior in given]


def chosen(**things):
    made = {id_: (category, rows(*own)) for id_, (category, *own) in things.items()}
    found = choose(made, places=(), nouns=())
    return {thing.entity.id: thing for thing in found}


def test_the_label_is_the_usual_name():
    given = [("en", "Angela Dorothea Merkel", 21), ("en", "Angela Merkel", 21),
             ("en", "Angela Kasner", 21), ("fr", "Angela Merkel", 21), ("mul", "Angela Merkel", 21),
             ("ru", "Ангела Меркель", 21)]  # fmt: skip
    (thing,) = chosen(Q567=("person", *given)).values()
    found = thing.names["xfactr"]
    labelled = {(n.lang, n.text) for n in found if n.flags & Flag.LABEL}
    assert labelled == {
        ("en", "Angela Merkel"), ("mul", "Angela Merkel"), ("ru", "Ангела Меркель"),
    }  # fmt: skip
    assert Name("fr", "Angela Merkel", int(Flag.LABEL)) not in found  # the unstated one serves


def test_share_alike_rows_are_never_read(tmp_path: Path):
    import gzip

    path = tmp_path / "names.tsv.gz"
    with gzip.open(path, "wt", encoding="utf-8") as file:
        file.write("id\tcategory\tlang\tname\tprior\tsource\n")
        for source in ("xfactr", "enamdict", "dbp15k", "ea-mt", "mledoze", "netrans"):
            file.write(f"Q-{source}\tperson\ten\tAda Byron\t5\t{source}\n")
    assert list(read(path)) == ["Q-xfactr"]


# -- demonyms
