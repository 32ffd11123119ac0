"""`doctor why` on pairs of a good and a bad side with a planted cause, written down before they were first run."""
