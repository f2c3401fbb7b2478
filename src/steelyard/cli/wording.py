"""Moved."""

from steelyard.cli.flags import *  # noqa: F403
