"""Tests mirror doctor/."""
