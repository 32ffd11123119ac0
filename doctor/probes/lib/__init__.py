"""What probes call, and what works on the whole Snapshot. No file here is a probe of its own."""
