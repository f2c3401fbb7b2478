"""Studies of rankings: whether another look at the systems says the same."""
