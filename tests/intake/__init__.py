"""Pasted text, from bytes to a Snapshot."""
