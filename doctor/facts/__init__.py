"""What is known of a machine, as frozen models. `Snapshot` is the root; `FactSheet` is how facts come in."""

from doctor.facts.origin import Origin, State
from doctor.facts.sheet import FactSheet, assemble
from doctor.facts.snapshot import Snapshot

__all__ = ["FactSheet", "Origin", "Snapshot", "State", "assemble"]
