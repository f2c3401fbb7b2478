"""Sources of knowledge: each yields entities with their names."""
