"""Studies of meta-evaluations: whether another look at the metrics says the same."""
