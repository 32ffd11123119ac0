"""A check in a notebook: the last value of a cell is the report's page.

from doctor.notebook import check
check()
"""

from __future__ import annotations

from pathlib import Path

from doctor.report.notebook import Shown


def check(source: str | Path | None = None) -> Shown:
    """This machine; or a bundle or capture. Redacted. Raises DoctorError where `source` can't be read."""
    from doctor.engine.run import Options, examine
    from doctor.system.base import System

    system: System
    if source is None:
        from doctor.system.live import LiveSystem

        system = LiveSystem()
    elif Path(source).is_dir():
        from doctor.system.capture import CaptureSystem

        system = CaptureSystem(Path(source))
    else:
        from doctor.bundle.open import open_bundle

        system = open_bundle(Path(source)).system()
    return Shown(examine(system, Options(source=None if source is None else str(source))))
