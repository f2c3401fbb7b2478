"""What all benchmarks share: a row, its measurement, what dominates it, the table."""
