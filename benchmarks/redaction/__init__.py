"""Planted secrets, identities and things that must survive: what redaction leaves, by kind."""
