"""Sets that are folders or files of their own kind."""
