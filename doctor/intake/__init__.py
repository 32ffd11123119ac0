"""Pasted text -> facts and symptoms: finds formats, calls readers, merges fragments."""

from doctor.intake.read import read_text

__all__ = ["read_text"]
