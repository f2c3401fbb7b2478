"""What tools/make_base takes into the embedded base, and what it leaves out."""

from __future__ import annotations

from pathlib import Path

import pytest

from make_base.names import Row, choose, read
from steelyard.kobe.base.codec import Flag, Name


def rows(*given):
    return [Row(lang, text, prior, ("xfactr",)) for lang, text, prior in given]


def chosen(**things):
    made = {id_: (category, rows(*own)) for id_, (category, *own) in things.items()}
    found = choose(made, places=(), nouns=())
    return {thing.entity.id: thing for thing in found}


@pytest.mark.thorough  # dictionaries of thirty languages are loaded
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
