"""Statistics: arrays in, arrays out."""
