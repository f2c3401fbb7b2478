"""The results as one table: Markdown for people and the docs, JSON for the next run."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

HEAD = ("work", "peer", "peer", "ours", "ratio", "target", "reached", "what dominates")


def shown(value: float | None, unit: str = "s") -> str:
    """Show an amount with three digits.

    Examples
    --------
    >>> shown(0.01234), shown(84_312.0), shown(1.234, "x data"), shown(None)
    ('0.0123 s', '84,312 s', '1.23 x data', '')
    """
    if value is None:
        return ""
    digits = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
    return f"{digits} {unit}".rstrip()


def cells(row: Mapping[str, Any]) -> list[str]:
    """The cells of a row, as they stand in the table."""
    if "skipped" in row:
        return [
            row["work"],
            row["peer"],
            "",
            "",
            "",
            row["target"],
            f"skipped: {row['skipped']}",
            "",
        ]
    if "failed" in row:
        return [row["work"], row["peer"], "", "", "", row["target"], f"failed: {row['failed']}", ""]
    ratio = "" if row["ratio"] is None else f"{row['ratio']:,.{0 if row['ratio'] >= 10 else 2}f}x"
    star = "*" if row["extrapolated"] else ""
    verdict = {None: "", True: "yes", False: "**no**"}[row["reached"]]
    said = "; ".join(part for part in (row["dominant"], row["remark"]) if part)
    return [row["work"], row["peer"], shown(row["peer_amount"]) + star,
            shown(row["ours"], row["unit"]), ratio, row["target"], verdict, said]  # fmt: skip


def markdown(rows: Iterable[Mapping[str, Any]], about: Mapping[str, Any]) -> str:
    """Write the table, and below it what it was measured on."""
    body = [cells(row) for row in rows]
    lines = [_line(HEAD), _line(["---"] * len(HEAD)), *map(_line, body)]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    told = (
        f"Measured on {about['date']} at {about['revision']}: {about['machine']}, Python "
        f"{about['python']}, {versions}; the run took {about['minutes']:.1f} minutes. "
        "`*`: a part of the peer's work was timed and multiplied."
    )
    return "\n".join([*lines, "", told, ""])


def _line(texts: Sequence[str]) -> str:
    escaped = (text.replace("|", "\\|").replace("\n", " ") for text in texts)
    return f"| {' | '.join(escaped)} |"


def changes(
    before: Iterable[Mapping[str, Any]], after: Iterable[Mapping[str, Any]], name: str
) -> str:
    """Say what our amounts were at another revision, and how many times faster they are."""
    known = {row["key"]: row for row in before}
    lines = [_line(("work", name, "here", "change")), _line(["---"] * 4)]
    for row in after:
        old = known.get(row["key"], {})
        was, now = old.get("ours"), row.get("ours")
        if now is None:
            continue
        unit = row["unit"]
        change = "new" if not was else f"{was / now:.2f}x {'faster' if was >= now else 'slower'}"
        if was and was < now:
            change = f"{now / was:.2f}x slower"
        why = old.get("failed") or old.get("skipped") or ""
        lines.append(_line((row["work"], shown(was, unit) or why, shown(now, unit), change)))
    return "\n".join([*lines, ""])


def about(revision: str, begun: float, versions: Mapping[str, str]) -> dict[str, Any]:
    """What the numbers were measured on."""
    return {
        "date": time.strftime("%Y-%m-%d"),
        "revision": revision,
        "machine": f"{_processor()}, {os.cpu_count()} cores, one BLAS thread",
        "python": platform.python_version(),
        "versions": dict(versions),
        "minutes": (time.time() - begun) / 60,
    }


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text("utf-8").splitlines() if info.exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()
