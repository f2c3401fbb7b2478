"""Parts of kobe_quality.py."""
