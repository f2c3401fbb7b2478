"""Moved."""

from steelyard.cli.output import *  # noqa: F403
