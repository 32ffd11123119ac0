"""What triage makes of texts as people write them: `python -m benchmarks.triage`."""
