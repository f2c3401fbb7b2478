"""The LaTeX of every table compiles, and marks the best cluster."""

from __future__ import annotations

import re
import shutil
import subprocess

import pytest

import steelyard as sy
from steelyard.comparison.card import decide
from steelyard.comparison.run import compare
from steelyard.core.table import Column, Table, escape_latex
from steelyard.demo import embedded
from steelyard.metaevaluation.run import meta_evaluate

HOSTILE = ("a_b & c", "50% #1 $x$", "<script>", "~^\\{}", '"quoted"', "x--y", "x---y", "--",
           "?`x!`y", "``q''", ",,low", "<<x>>", "zero\u200bwidth", "tab\tnewline\n",
           r"\input{/etc/passwd}", "|pipe|", "`tick'", "[o]", "*")  # fmt: skip


@pytest.fixture(scope="module")
def tables():
    es = sy.demo_set()
    compared = compare(es, "learned-refA", n_bootstrap=20)
    weighed = meta_evaluate(es, "mqm", n_bootstrap=20, significance=sy.metric_test(n_resamples=50))
    rated = sy.human_scores(embedded.RATINGS, protocol="da", n_bootstrap=10)
    hostile = Table("All of & % $ # _", (Column("name_1"), Column("x%", "lower")),
                    tuple((name, 1.0) for name in HOSTILE), ("a note: 5 % & more",))  # fmt: skip
    found = {"compare": compared.table(), "meta": weighed.table(), "human": rated.table()}
    found |= {f"pairs {by}": compared.pair_table(by) for by in compared.aggregations}
    found |= {f"human {name}": table for name, table in rated.parts.items()}
    found["card"] = decide(es, ("Amber", "Cobalt"), "learned-refA", n_bootstrap=50).table()
    return {**found, "hostile": hostile}


@pytest.mark.parametrize("name", ["compare", "human"])
def test_the_best_cluster_is_bold_and_clusters_are_ruled(tables, name):
    table = tables[name]
    text = table.latex()
    assert text.count(r"\midrule") == 1 + len(table.rules)
    assert table.rules
    first = text.split(r"\midrule")[1]
    assert first.count(r"\textbf") >= first.count(r"\\")
    assert r"$\uparrow$" in text
    assert r"\textbf" not in text.split(r"\midrule")[-1]


@pytest.mark.parametrize(
    ("name", "parted"),
    [("x--y", "x-{}-y"), ("---", "-{}-{}-"), ("?`x!`y", "?{}`x!{}`y"), ("``q''", "`{}`q'{}'"),
     (",,a,", ",{},a,"), ("<<>>", r"\textless{}\textless{}\textgreater{}\textgreater{}"),
     ("a?!'`", "a?!'`")],
)  # fmt: skip
def test_what_latex_would_put_together_stands_apart(name, parted):
    assert escape_latex(name) == parted


def test_every_table_compiles(tables, tmp_path):
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex (Debian: texlive-latex-base, texlive-latex-recommended)")
    body = "\n\\clearpage\n".join(table.latex() for table in tables.values())
    lines = [r"\documentclass{article}", r"\usepackage{booktabs}", r"\begin{document}", body,
             r"\end{document}"]  # fmt: skip
    (tmp_path / "t.tex").write_text("\n".join(lines), encoding="utf-8")
    command = [program, "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "t.tex"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False, timeout=600)
    log = done.stdout.decode("utf-8", "replace")
    assert done.returncode == 0, "\n".join(re.findall(r"^!.*(?:\n.*){3}", log, re.MULTILINE))
    assert (tmp_path / "t.pdf").stat().st_size > 10_000
