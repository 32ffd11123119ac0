"""Profiles: one known-good stack each. Found, read, composed, validated, matched to a machine, and judged.

A profile is TOML (docs/profiles.md). `extends` names parts (hardware, stack, workload); what a file says itself wins
over what it extends. Every fault of a file is listed at once, with its line, its key and what would be right.
"""

from doctor.profiles.compose import load
from doctor.profiles.matching import Candidate, Ranking, match, rank
from doctor.profiles.model import Profile
from doctor.profiles.places import folder, names, user_folder

__all__ = ["Candidate", "Profile", "Ranking", "folder", "load", "match", "names", "rank", "user_folder"]
