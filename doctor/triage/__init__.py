"""Pasted text: what it shows as facts, which error texts it holds, and what it may be about."""
