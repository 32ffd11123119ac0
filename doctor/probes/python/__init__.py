"""The user's Python environment."""
