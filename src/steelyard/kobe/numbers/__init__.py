"""Numbers in texts, and what they are worth."""
