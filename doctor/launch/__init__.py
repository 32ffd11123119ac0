"""Run lines: what a container needs of this machine's GPUs, each part with its reason, for every engine.

`choose` says which GPUs, `engine` what the engine can do, `plan` what is passed and why, `formats` how each engine
reads it. Nothing here starts anything; `doctor run` does.
"""
