"""The host's hardware and settings."""
