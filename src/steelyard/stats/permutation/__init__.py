"""Sign-flip permutation tests: p-values exactly, or with a stated error."""
