"""Knowledge bases: made, merged, indexed, opened."""
