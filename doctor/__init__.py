"""Finds out why an AMD or NVIDIA GPU does not work with your software, and prints the command that fixes it."""

__version__ = "0.1.0"
