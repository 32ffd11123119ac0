"""Contracts that hold over the whole tree."""
