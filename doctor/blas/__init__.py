"""Which BLAS library a matrix product takes: predicted from facts, and proved in a child.

`predict` (facts and the catalogue alone) is used by rules and by `doctor blas`; `prove` runs products in the user's own
Python and reads what really ran from the libraries' logs, the profiler's kernel names and the process's memory map.
"""
