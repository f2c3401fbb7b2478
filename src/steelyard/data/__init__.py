"""One test set and its judgements: built and checked once, immutable after."""
