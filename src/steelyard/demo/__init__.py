"""Small embedded data sets, all of them invented, for examples and tests."""
