"""Moved."""

from steelyard.cli.params import *  # noqa: F403
