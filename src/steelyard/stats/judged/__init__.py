"""Judges against people, as arrays: agreement, ceilings, position, bias, gaps that count."""
