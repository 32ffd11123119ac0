"""Measurements under the user's Python: each GPU in its own child, each number with its method and spread.

`plan` says what is measured at a level, `run` runs it and returns facts, `statistics` makes medians with intervals,
`saved` reads and writes results, `compare` compares them, `ceilings` has caches and peaks, `tunableop` checks and makes
TunableOp's results.
"""
