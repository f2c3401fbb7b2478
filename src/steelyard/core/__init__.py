"""What everything rests on, and what knows nothing of evaluation."""
