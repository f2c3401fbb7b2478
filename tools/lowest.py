"""Print the lowest version that pyproject declares of everything Steelyard needs.

``make test-lowest`` installs what this prints, so that a minimum that does not work is noticed.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

PYPROJECT = Path(__file__).parent.parent / "pyproject.toml"
_OWN_EXTRAS = re.compile(r"steelyard\[([^\]]+)\]$")
_MINIMUM = re.compile(r"([\w.-]+(?:\[[\w,-]+\])?)>=([\w.]+)((?:\s*;.*)?)$")


def lowest(requirements: Sequence[str], extras: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Pin every requirement to its minimum; Steelyard's own extras stand for what they list.

    Examples
    --------
    >>> list(lowest(["numpy>=2.1", "steelyard[plots]"], {"plots": ["excel>=5.4; os_name"]}))
    ['numpy==2.1', 'excel==5.4; os_name']
    """
    for requirement in requirements:
        if own := _OWN_EXTRAS.match(requirement):
            for extra in own[1].split(","):
                yield from lowest(extras[extra], extras)
        elif minimum := _MINIMUM.match(requirement):
            name, version, marker = minimum.groups()
            yield f"{name}=={version}{marker}"
        else:
            raise ValueError(f"{requirement!r} is not of the form NAME>=VERSION")


def main() -> None:
    """Print the pins of the package and of the extras that are named, a requirement per line."""
    project = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(f"steelyard[{name}]" for name in sys.argv[1:])]
    print("\n".join(dict.fromkeys(lowest(wanted, extras))))


if __name__ == "__main__":
    main()
