"""Battles and verdicts as arenas, and benchmarks with a judge, write them."""
