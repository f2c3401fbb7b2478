"""Studies of people: what they call equal, and how many of them it takes."""
