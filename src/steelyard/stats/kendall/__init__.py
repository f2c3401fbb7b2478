"""Pairs in the same order: counted, calibrated for ties, resampled by weights."""
