"""KoBE in shards: the score of all texts at once, whatever they are split into and counted on."""

from __future__ import annotations

import gzip
import json
import os
import random
from pathlib import Path

import pytest

from steelyard.cli.main import run
from steelyard.core.errors import InputError, UsageError
from steelyard.core.parallel import Workers
from steelyard.core.table import dumps
from steelyard.formats import duck
from steelyard.formats.textshards import find_shards, read_rows
from steelyard.kobe.options import KobeOptions, LinkOptions
from steelyard.kobe.scale import score_shards

NAMES = {"Wien": "Vienna", "Paris": "Paris", "München": "Munich", "Köln": "Cologne"}
N = 60
#: Without lemmas and identification of languages, whose tables every worker would have to load.
QUICK = KobeOptions(language_filter="script", link=LinkOptions(lemmas=False))


def make_rows():
    """Sentences with two cities, a date and a number; A copies some sources, B errs."""
    draw = random.Random(0)
    rows = []
    for k in range(N):
        here, there, other = (draw.choice(list(NAMES)) for _ in range(3))
        day, people = draw.randrange(1, 28), draw.randrange(20, 900)
        src = f"Am {day}. März fuhren {people} Leute von {here} nach {there}."
        good = f"On {day} March {people} people went from {NAMES[here]} to {NAMES[there]}."
        bad = f"On {day} March {people} people went from {NAMES[here]} to {NAMES[other]}."
        outputs = {"A": good if k % 7 else src, "B": bad}
        if k == 5:
            del outputs["B"]
        rows.append({"seg": str(k), "src": src, "refs": {"human": good}, "out": outputs})
    return rows


@pytest.fixture(scope="module")
def kb(tmp_path_factory):
    """A knowledge base of four cities."""
    from steelyard.kobe.base.build import build
    from steelyard.kobe.base.own import AliasTable

    folder = tmp_path_factory.mktemp("kb")
    lines = ["id\tcategory\tlang\talias\tprior"]
    for german, english in NAMES.items():
        lines += [f"x:{english}\tcity\tde\t{german}\t1e6", f"x:{english}\tcity\ten\t{english}\t1e6"]
    (folder / "names.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    build([AliasTable(folder / "names.tsv")], folder / "base")
    return folder / "base"


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    path = tmp_path_factory.mktemp("texts") / "texts.jsonl"
    lines = [json.dumps(row, ensure_ascii=False) for row in make_rows()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


def command(path, kb, *more):
    return ["score", str(path), "--metric", "kobe", "--src-lang", "de", "--tgt-lang", "en",
            "--kb", str(kb), "--json", "--quiet", *more]  # fmt: skip


@pytest.fixture(scope="module")
def whole(texts, kb):
    """What one machine says of all texts at once."""
    from steelyard.formats.load import load
    from steelyard.kobe.run import kobe_metric

    return counted(kobe_metric(load(texts), "de", "en", kb, QUICK)[1])


def counted(report):
    """Leave out what shards do not have: what became of single entities."""
    single = {"lost", "added", "cut", "rests_on", "n_alarms", "n_below", "n_undecided", "alarms",
              "terms"}  # fmt: skip
    return {name: value for name, value in report.to_dict().items() if name not in single}


def sharded(path, kb, size=7, **workers):
    shards = find_shards([path], size)
    found = score_shards(shards, ("de", "en"), kb, QUICK, workers=Workers(**workers))
    assert found is not None
    return found


def report_of(found):
    report = found.report.to_dict()
    assert report.pop("lost") == report.pop("added") == []
    return report


@pytest.mark.parametrize("size", [1, 7, 59, 60, 61])
def test_shards_add_up_to_the_whole(texts, kb, whole, size):
    found = sharded(texts, kb, size)
    assert found.n_shards == -(-N // size)
    assert dumps(report_of(found)) == dumps(whole)


def test_on_a_cluster_that_loses_a_worker(texts, kb, whole, cluster):
    def lose(done, _total):
        if done == 2 and len(cluster.workers) == 2:
            cluster.kill_one()

    found = sharded(texts, kb, cluster=cluster.address, progress=lose)
    assert len(cluster.workers) == 1
    assert dumps(report_of(found)) == dumps(whole)


def test_relative_paths_on_a_cluster(texts, kb, whole, cluster, monkeypatch):
    """Workers were started elsewhere."""
    monkeypatch.chdir(texts.parent)
    base = os.path.relpath(kb)
    found = sharded(Path(texts.name), base, cluster=cluster.address)
    assert dumps(report_of(found)) == dumps(whole)


def test_interrupted_on_a_cluster_and_resumed(texts, kb, whole, cluster, tmp_path):
    def interrupt(done, _total):
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        sharded(texts, kb, cluster=cluster.address, resume=tmp_path, progress=interrupt)
    assert len(list(tmp_path.glob("kobe.*.npz"))) == 3
    told = []
    found = sharded(texts, kb, resume=tmp_path, progress=lambda *at: told.append(at))
    assert told[0] == (3, 9)
    assert dumps(report_of(found)) == dumps(whole)


def test_an_array_of_jobs(texts, kb, tmp_path, capsys):
    kept = ["--shards", str(tmp_path / "kept"), "--shard-size", "13"]
    for mine in (2, 3, 1):
        assert run(command(texts, kb, *kept, "--shard", f"{mine}/3")) == 0
        assert capsys.readouterr().out == ""
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 5
    assert run(command(texts, kb, *kept)) == 0
    added = json.loads(capsys.readouterr().out)
    assert run(command(texts, kb)) == 0
    whole = json.loads(capsys.readouterr().out)
    assert added["systems"] == whole["systems"]
    assert added["signatures"] == whole["signatures"]
    assert added["reports"]["kobe"]["categories"] == whole["reports"]["kobe"]["categories"]
    assert run(command(texts, kb, *kept, "--set", "kobe.language_filter=off")) == 2
    assert "another run (signature differ)" in capsys.readouterr().err


def test_counts_of_another_text_are_refused(texts, kb, tmp_path, capsys):
    """A text of the same name and size, as by sed s/Madrid/Berlin/."""
    path = tmp_path / "texts.jsonl"
    path.write_bytes(texts.read_bytes())
    kept = ["--shards", str(tmp_path / "kept"), "--shard-size", "30"]
    loud = [word for word in command(path, kb, *kept) if word != "--quiet"]
    assert run(loud) == 0
    assert "going on" not in capsys.readouterr().err
    assert run(loud) == 0
    said = f"going on from {tmp_path / 'kept'}: 2 of 2 results (kobe) are there\n"
    assert said in capsys.readouterr().err
    path.write_bytes(texts.read_bytes().replace(b"Vienna", b"Verona"))
    assert path.stat().st_size == texts.stat().st_size
    assert run(loud) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert "holds results of another run (inputs differ)" in found.err


@pytest.mark.parametrize("form", ["parquet", "long", "gz", "plain"])
def test_other_kinds_of_files(form, texts, kb, whole, tmp_path):
    rows = [row for k, row in enumerate(make_rows()) if k != 5 or form != "plain"]
    source = None
    humans: list[Path] = []
    if form == "gz":
        path = tmp_path / "texts.jsonl.gz"
        path.write_bytes(gzip.compress(texts.read_bytes()))
        paths = [path]
    elif form == "plain":
        source = tmp_path / "src.de"
        columns = {"src.de": [r["src"] for r in rows], "human.en": [r["refs"]["human"]
                   for r in rows]}  # fmt: skip
        columns |= {f"{s}.en": [r["out"][s] for r in rows] for s in "AB"}
        for name, lines in columns.items():
            (tmp_path / name).write_text("\n".join(lines), encoding="utf-8")
        paths = [tmp_path / "A.en", tmp_path / "B.en"]
        humans = [tmp_path / "human.en"]
    else:
        paths = [tmp_path / "texts.parquet"]
        chosen = "src, refs, out"
        if form == "long":
            chosen = "src AS source, unnest(['A', 'B']) AS system, unnest([out.A, out.B]) AS output"
        goal = duck.literal(str(paths[0]))
        with duck.connect() as connection:
            connection.execute(f"COPY (SELECT {chosen} FROM read_json({duck.literal(str(texts))})"
                               + (" WHERE out.B IS NOT NULL" if form == "long" else "")
                               + f") TO {goal} (FORMAT parquet)")  # fmt: skip
    shards = find_shards(paths, 9, source=source, references=humans)
    assert len(shards) == (7 if form == "plain" else 1)
    found = score_shards(shards, ("de", "en"), kb, QUICK)
    assert found is not None
    if form in ("gz", "parquet"):
        assert dumps(report_of(found)) == dumps(whole)
    else:  # without the segment that B lacks
        kept = {s["system"]: s["matched"] for s in whole["systems"]}
        assert {s.system: s.matched for s in found.report.systems}["B"] == kept["B"]


def test_segments_without_a_source_take_no_part(kb, tmp_path):
    from steelyard.formats.load import load
    from steelyard.kobe.run import kobe_metric

    rows = make_rows()
    for row in rows[7:21]:  # two shards of them have none
        del row["src"]
    path = tmp_path / "texts.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    whole = counted(kobe_metric(load(path), "de", "en", kb, QUICK)[1])
    assert whole["warnings"][0] == "14 segments without a source take no part"
    assert report_of(sharded(path, kb)) == whole
    path.write_text("".join(json.dumps(row) + "\n" for row in rows[7:21]))
    with pytest.raises(UsageError, match="no segment has a source to find entities in"):
        sharded(path, kb)


def test_lines_are_split_where_they_end(tmp_path):
    path = tmp_path / "a.jsonl"
    for text in ("", "{}", "{}\n", "{}\n{}", "{}\n" * 7):
        path.write_text(text)
        for size in (1, 2, 3, 10):
            shards = find_shards([path], size)
            lines = path.read_bytes().split(b"\n")
            starts = [sum(len(x) + 1 for x in lines[: k * size]) for k in range(len(shards))]
            assert [shard.starts[0] for shard in shards] == starts
            assert len(shards) == max(1, -(-len(text.splitlines()) // size))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('{"src": "a"}', "texts.jsonl:3: no output"),
        ('["a"]', "texts.jsonl:3: expected a JSON object"),
        ('{"src": "a", "out": "b"}', "texts.jsonl:3: 'out': expected an object"),
        ('{"src": 1, "out": {"A": "b"}}', "texts.jsonl:3: 'src' should be a text, found int"),
        ('{"src": ', "texts.jsonl:3: not valid JSON"),
        ("\udcff", "texts.jsonl:3: byte 0xff is not UTF-8"),
    ],
)
def test_bad_lines_are_named(tmp_path, line, message):
    path = tmp_path / "texts.jsonl"
    good = '{"src": "a", "out": {"A": "b"}}'
    path.write_bytes(f"{good}\n{good}\n{line}\n{good}".encode("utf-8", "surrogateescape"))
    with pytest.raises(InputError) as error:
        [list(read_rows(shard)) for shard in find_shards([path], 2)]
    assert message in str(error.value)


def test_what_can_not_be_split(tmp_path, texts, kb, capsys):
    (tmp_path / "a.en").write_text("x\ny\n")
    (tmp_path / "b.de").write_text("x\n")
    with pytest.raises(InputError, match="expected JSON lines or Parquet"):
        find_shards([tmp_path / "a.en"], 5)
    with pytest.raises(InputError, match=r"a\.en:2: 2 lines, but .*b\.de has 1"):
        find_shards([tmp_path / "a.en"], 5, source=tmp_path / "b.de")
    with pytest.raises(InputError, match="no such file"):
        find_shards([tmp_path / "none.jsonl"], 5)
    with pytest.raises(UsageError, match="consensus"):
        score_shards(find_shards([texts], 5), ("de", "en"), kb, KobeOptions(weights="consensus"))
    for more, message in (
        (["--shard", "1/2"], "--shard: expected --shards DIR"),
        (["--shards", "x", "--shard", "3/2"], "not of the form I/N"),
        (["--shards", "x", "--explain", "y"], "shards keep counts"),
        (["--shards", "x", "--systems", "A"], "--systems: shards are counted as they are"),
    ):
        assert run(command(texts, kb, *more)) == 2
        assert message in capsys.readouterr().err
