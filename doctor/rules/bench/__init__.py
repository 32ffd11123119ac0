"""What was measured or seen to run, by `doctor bench` and `doctor blas --prove`."""
