"""The commands: parse, call one function, render, exit code."""

from doctor.cli.own_modules import prefer

prefer()

import gc  # noqa: E402

from doctor.cli.no_plugins import turn_off  # noqa: E402

turn_off()
# Most of a check's time is imports, which make no garbage.
gc.set_threshold(50_000, 20, 20)
