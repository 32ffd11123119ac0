"""Ratios measured in one run on one machine; never asserted by the tests."""
