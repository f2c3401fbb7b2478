"""Names in texts, linked to entities."""
