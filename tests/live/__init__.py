"""The real command on the real machine: what it touches, and what it makes of trees laid over its own paths."""
