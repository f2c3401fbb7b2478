"""Is A better than B, and how sure are we? Answered here."""
