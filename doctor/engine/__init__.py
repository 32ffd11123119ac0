"""Runs probes and rules; ranks and folds findings; owns "could not tell" and "check crashed"."""
