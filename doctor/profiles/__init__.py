"""Profiles: one known-good stack each. Found, read, composed, validated, matched to a machine, and judged.

A profile is a board's file and a stack's (`h100+cuda13.2`), or a file of the user's (docs/profiles.md).
What a file says itself wins over what it extends. Every fault of a file is listed at once, with its line, its key and
what would be right.
"""

from doctor.profiles.compose import knows, load, names
from doctor.profiles.matching import Candidate, Ranking, match, rank
from doctor.profiles.model import Profile
from doctor.profiles.places import folder, user_folder

__all__ = ["Candidate", "Profile", "Ranking", "folder", "knows", "load", "match", "names", "rank", "user_folder"]
