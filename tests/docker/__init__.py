"""Tests that need a real container engine: tier 2, `-m engine`."""
