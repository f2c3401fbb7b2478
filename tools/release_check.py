"""Check what would be released: ``make release-check`` (the last commit, not the working tree).

Wheel and sdist are built twice and are equal to the byte; they hold what they should. Then the
wheel is installed in clean environments: without extras, with each extra alone, with all at their
newest and at their lowest versions. In each, commands run, and what needs a missing extra is one
line.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parent.parent
MOST = {".whl": 20e6, ".gz": 40e6}  # bytes of a wheel and of an sdist
#: What a wheel holds beside modules; nothing else may be in it.
DATA = {".json", ".toml", ".gz", ".csv", ".tsv", ".jsonl", ".md", ".js", ".css", ".html", ".typed",
        ".npy", ".bin", ".trie", ".zst", ".txt", ".j2", ".svg", ".marisa"}  # fmt: skip

DE, EN = "--src-lang de", "--tgt-lang en"
COMMANDS = {
    "": (
        "--version",
        "demo --files . --no-report --quiet",
        "compare scores.csv.gz --score mqm",
        "compare scores.csv.gz --score mqm --pair Kaolin,Basalt --json",
        "meta scores.csv.gz --human mqm --bootstrap 20",
        "human errors.jsonl.gz --protocol mqm --out kept.parquet",
        "judge verdicts.csv.gz --human ann,bo,cy",
        "score Kaolin.en Basalt.en --ref reference.en --metrics bleu,chrf,ter",
        "data info scores.csv.gz",
        "study power --effect 0.2",
    ),
    "excel": ("data info sheet.xlsx",),
    "kobe": (
        f"check source.de Kaolin.en {DE} {EN}",
        f"score --src source.de Kaolin.en Basalt.en --metrics kobe {DE} {EN}",
        'kb link "Am 3. März in Wien" --lang de',
    ),
    "plots": ("compare scores.csv.gz --score mqm --out figure.svg",),
}


def run(*words: object, cwd: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command; Python's own variables do not reach it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run(  # noqa: S603 - commands of our own
        list(map(str, words)), cwd=cwd, env=kept | environment, capture_output=True, text=True,
        check=False,
    )  # fmt: skip


def need(done: subprocess.CompletedProcess[str]) -> str:
    """Return what a command printed; stop if it failed."""
    if done.returncode:
        raise SystemExit(f"{' '.join(done.args)}: exit {done.returncode}\n{done.stderr[-2000:]}")
    return done.stdout


def environment(folder: Path, *requirements: object) -> Path:
    """Make a clean environment; return its folder of programs."""
    need(run(sys.executable, "-m", "venv", folder, cwd=folder.parent))
    install = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", *requirements)
    need(run(folder / "bin/python", *install, cwd=folder.parent))
    return folder / "bin"


def build(work: Path) -> list[Path]:
    """Build the last commit twice, in different places; return the wheel and the sdist."""
    python = environment(work / "builder", "hatchling>=1.26") / "python"
    stamp = need(run("git", "log", "-1", "--format=%ct", cwd=ROOT)).strip()
    built: list[list[Path]] = []
    for name in ("first", "second-place"):
        source = work / name / "source"
        source.mkdir(parents=True)
        archive = work / name / "source.tar"
        need(run("git", "archive", "--output", archive, "HEAD", cwd=ROOT))
        with tarfile.open(archive) as tar:
            tar.extractall(source, filter="data")
        out = work / name / "dist"
        need(run(python, "-m", "hatchling", "build", "-d", out, cwd=source,
                 SOURCE_DATE_EPOCH=stamp))  # fmt: skip
        built.append(sorted(out.iterdir()))
    for first, second in zip(*built, strict=True):
        if first.name != second.name or first.read_bytes() != second.read_bytes():
            raise SystemExit(f"{first.name} is not the same when it is built twice")
    return built[0]


def look_into(wheel: Path, sdist: Path) -> None:
    """Stop at anything that is missing, or that should not be there."""
    with zipfile.ZipFile(wheel) as archive:
        files = set(archive.namelist())
    with tarfile.open(sdist) as archive_of_source:
        sources = {name.partition("/")[2] for name in archive_of_source.getnames()}
    tops = {name.partition("/")[0] for name in files}
    about = next(top for top in tops if top.endswith(".dist-info"))
    foreign = [
        name for name in files
        if not name.startswith(about) and Path(name).suffix not in {".py", *DATA}
    ]  # fmt: skip
    problems = [
        *(f"{wheel.name} lacks {name}" for name in (
            f"{about}/licenses/LICENSE", f"{about}/licenses/NOTICE", "steelyard/py.typed",
            "steelyard/schema-1.json", "steelyard/demo/scores.csv.gz") if name not in files),
        *(f"{sdist.name} lacks {name}" for name in (
            "LICENSE", "NOTICE", "CITATION.cff", "SECURITY.md", "README.md", "pyproject.toml",
            "tests/conftest.py") if name not in sources),
        *(f"{wheel.name} holds {name}" for name in foreign),
        *(f"{wheel.name} holds {top}" for top in tops - {"steelyard", about}),
        *(f"{path.name} is too large" for path in (wheel, sdist)
          if path.stat().st_size > MOST[path.suffix]),
    ]  # fmt: skip
    if problems:
        raise SystemExit("\n".join(problems))
    for path, n in ((wheel, len(files)), (sdist, len(sources))):
        print(f"{path.name}: {path.stat().st_size / 1e6:.1f} MB, {n} files, built twice alike")


def write_sheet(path: Path) -> None:
    """Write the smallest Excel file with scores."""
    rows = [("segment", "A", "B"), *((str(k), str(k % 3), str(k % 4)) for k in range(8))]
    cells = ""
    for row in rows:
        texts = (f'<c t="inlineStr"><is><t>{cell}</t></is></c>' for cell in row)
        cells += f"<row>{''.join(texts)}</row>"
    base = "http://schemas.openxmlformats.org"
    main, document = f"{base}/spreadsheetml/2006/main", f"{base}/officeDocument/2006/relationships"

    def link(kind: str, target: str) -> str:
        return (
            f'<Relationships xmlns="{base}/package/2006/relationships"><Relationship Id="rId1" '
            f'Type="{document}/{kind}" Target="{target}"/></Relationships>'
        )

    parts = {
        "[Content_Types].xml": f'<Types xmlns="{base}/package/2006/content-types"/>',
        "_rels/.rels": link("officeDocument", "xl/workbook.xml"),
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{document}"><sheets>'
        '<sheet name="s" sheetId="1" r:id="rId1"/></sheets></workbook>',
        "xl/_rels/workbook.xml.rels": link("worksheet", "worksheets/sheet1.xml"),
        "xl/worksheets/sheet1.xml": f'<worksheet xmlns="{main}"><sheetData>{cells}</sheetData>'
        "</worksheet>",
    }
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in parts.items():
            archive.writestr(name, text)


def try_out(programs: Path, extras: Sequence[str], name: str) -> None:
    """Run the commands of some extras, and see that those of others say what is missing."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        write_sheet(folder / "sheet.xlsx")
        for extra, commands in COMMANDS.items():
            for command in commands:
                done = run(programs / "steelyard", *shlex.split(command), cwd=folder)
                if not extra or extra in extras:
                    need(done)
                elif not done.returncode or not _is_helpful(done.stderr, extra):
                    raise SystemExit(f"{name}: {command}: {done.stderr or 'ran without its extra'}")
    print(f"{name}: commands run" + ("" if len(extras) == 3 else "; missing extras are one line"))


def _is_helpful(message: str, extra: str) -> bool:
    lines = message.strip().splitlines()
    return len(lines) == 1 and f"steelyard[{extra}]" in lines[0]


def main() -> None:
    """Check everything, and stop at the first problem."""
    extras = tuple(filter(None, COMMANDS))
    with tempfile.TemporaryDirectory() as temporary:
        work = Path(temporary)
        wheel, sdist = build(work)
        look_into(wheel, sdist)
        for extra in ("", *extras):
            name = extra or "no extra"
            wanted = f"{wheel}[{extra}]" if extra else wheel
            try_out(environment(work / f"with-{extra}", wanted), [extra] if extra else [], name)
        programs = environment(work / "newest", "--upgrade", f"{wheel}[all]")
        try_out(programs, extras, "all, newest")
        pins = work / "lowest.txt"
        pins.write_text(need(run(sys.executable, ROOT / "tools/lowest.py", "all", cwd=ROOT)))
        programs = environment(work / "lowest", "--requirement", pins, wheel)
        try_out(programs, extras, "all, lowest")


if __name__ == "__main__":
    main()
