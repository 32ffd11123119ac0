"""A profile becomes a Dockerfile, a lock and an image that rebuilds to the same digest.

profile ─ recipe ─ emitted files ─ build ─ verify, with the lock beside the files. Emission depends on the profile and
the lock alone: not on this machine, the day or the network.
"""
