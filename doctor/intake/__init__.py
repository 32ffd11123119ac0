"""Pasted text -> facts and symptoms: finds formats, calls readers, merges fragments."""
