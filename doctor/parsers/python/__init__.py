"""Python packages, PyTorch and frameworks, and the reports that they print."""
