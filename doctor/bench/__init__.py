"""Measurements under the user's Python: each GPU in a child of its own, each number with its method and spread.

`plan` says what is measured at a level, `run` runs it and returns facts, `statistics` makes medians with intervals,
`history` keeps results, `compare` holds two of them side by side, `tunableop` judges and makes TunableOp's results.
"""
