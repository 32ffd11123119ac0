"""Profiles: the shipped ones, composition, faults, matching, capture."""
