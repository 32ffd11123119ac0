"""The commands: parse, call one function, render, exit code."""

from doctor.cli.own_modules import prefer

prefer()
