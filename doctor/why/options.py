"""What two containers of this machine were started with, as differences: run options, devices, mounts."""

from __future__ import annotations

from doctor.findings import Layer
from doctor.redaction.site import Site
from doctor.report.key import redactor_for
from doctor.why.boxes import box
from doctor.why.differences import Difference

_BOTH = ("option", "device")


def box_options(names: tuple[str, str], site: Site | None) -> tuple[Difference, ...]:
    """Redacted. Variables are the environment's; layers say nothing without a run."""
    good, bad = (box(name).items for name in names)
    redacted = redactor_for(site=site).data
    found = [change for change in sorted({*good, *bad}) if change[0] in _BOTH and good.get(change) != bad.get(change)]
    return tuple(
        Difference(
            f"{kind}[{redacted(name)}]",
            Layer.CONTAINER,
            *(redacted(side[kind, name].shown) if (kind, name) in side else None for side in (good, bad)),
        )
        for kind, name in found
    )
