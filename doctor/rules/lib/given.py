"""What a check is given beside the machine, by name. These packages take long to import, and a rule only annotates with
them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile
else:
    Knowledge = Profile = Any

__all__ = ("Knowledge", "Profile")
