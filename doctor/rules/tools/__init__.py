"""The vendors' own tools."""
