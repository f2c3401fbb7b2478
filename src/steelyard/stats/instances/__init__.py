"""What segments are like: how hard, how well they tell systems apart, how scores spread."""
