"""Tells what is wrong with an AMD or NVIDIA machine's stack, proves it and names the command that mends it."""

__version__ = "0.1.0"
