"""Every dependency declares a minimum, by which ``make test-lowest`` can pin it."""

from __future__ import annotations

import tomllib

import lowest


def test_every_requirement_has_a_minimum():
    project = tomllib.loads(lowest.PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    wanted = [*project["dependencies"], *(f"steelyard[{name}]" for name in extras)]
    pins = list(lowest.lowest(wanted, extras))
    assert all("==" in pin for pin in pins)
    assert "steelyard" not in "".join(pins)


def test_the_tests_bring_what_they_test():
    project = tomllib.loads(lowest.PYPROJECT.read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    assert set(lowest.lowest(["steelyard[all]"], extras)) <= set(
        lowest.lowest(["steelyard[test]"], extras)
    )
