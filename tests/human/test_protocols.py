"""The registry of protocols, and the options that help shows without it."""

from __future__ import annotations

from typing import Any

import pytest

from steelyard.core.errors import UsageError
from steelyard.human.options import PROTOCOLS, HumanOptions
from steelyard.human.rr import _COUNTED
from steelyard.human.run import REGISTRY, human_scores
from steelyard.stats.paired.corrections import CORRECTIONS


def test_names_that_help_shows_are_those_of_the_registries():
    declared = HumanOptions.declared()
    assert tuple(REGISTRY) == PROTOCOLS
    assert set(declared["correction"].choices) == set(CORRECTIONS)
    assert set(declared["by"].choices) == {"trueskill", *_COUNTED}


@pytest.mark.parametrize("name", PROTOCOLS)
def test_a_protocol_says_what_it_expects(name):
    with pytest.raises(UsageError, match=f"no input: protocol {name} expects ") as caught:
        human_scores(protocol=name)
    assert REGISTRY[name].expected in str(caught.value)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_options_that_a_protocol_does_not_take_are_refused(name):
    own = REGISTRY[name]
    refused: dict[str, Any] = {"each": True} if name != "darr" else {}
    refused |= {"quality_control": True} if name in ("mqm", "rr") else {}
    refused |= {"systems": ("A",), "drop_systems": ("A",)} if name == "rr" else {}
    for option, value in refused.items():
        with pytest.raises(UsageError, match=option.replace("_", "[ _]")):
            own.refuse(HumanOptions(protocol=name, **{option: value}))
    own.refuse(HumanOptions(protocol=name))


@pytest.mark.parametrize(
    ("protocol", "option"),
    [("da", {"threshold": 3}), ("da", {"keep_ties": True}), ("mqm", {"by": "bt"}),
     ("da", {"cap": 3}), ("rr", {"severity": {"x": 1}}), ("esa", {"thresholds": [1, 2]})],
)  # fmt: skip
def test_options_of_other_protocols_are_refused(protocol, option):
    with pytest.raises(UsageError, match=f"{next(iter(option))}=... applies to protocol"):
        human_scores("nothing.csv", protocol=protocol, **option)
