"""Tests of two systems on the same segments, corrections, effects and power."""
