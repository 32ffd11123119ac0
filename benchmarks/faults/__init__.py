"""Broken and healthy environments, and what doctors say of each: `python -m benchmarks.faults` (docs/faults.md).

The cause stands in the case before anything is run. Environments of Python are made from real wheels: two bases are
installed once (a CUDA build of torch, 7 GB on the disk), each case is a copy of one by hard links in which one thing is
changed. Machines are those of tests/fakenode.
"""
