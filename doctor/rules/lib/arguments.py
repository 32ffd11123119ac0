"""What a rule's `check` is called with, as names for its annotations: nothing is loaded for their sake."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge as Knowledge
    from doctor.profiles import Profile as Profile
else:
    Knowledge = Profile = object
