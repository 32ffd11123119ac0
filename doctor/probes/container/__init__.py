"""Containers: whether this is one, and which engines are here."""
