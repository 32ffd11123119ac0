"""Status `unknown`: every format says of what nothing is known, and of nothing else."""

from __future__ import annotations

import pytest

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Report
from doctor.report import formats, plan, terminal
from doctor.report.words import unjudged


def machine(**vendors: bool | None) -> Snapshot:
    """A GPU of each vendor, and whether it is known that the vendor's driver is loaded."""
    sheet = FactSheet()
    for bus, (vendor, loaded) in enumerate(vendors.items()):
        sheet.put(f"gpus[0000:{bus:02x}:00.0].vendor", vendor, "file:/sys/bus/pci/devices")
        if loaded is not None:
            sheet.put(f"{vendor}{'gpu' if vendor == 'amd' else ''}_driver.loaded", loaded, "file:/proc/modules")
    return assemble([sheet])


def none_found() -> Snapshot:
    sheet = FactSheet()
    sheet.put("gpus", [], "file:/sys/bus/pci/devices")
    return assemble([sheet])


NO = "No problem found by 2 checks, but the state of "
CASES = [
    (Snapshot(), "It is not known whether a GPU is here, so nothing could be judged."),
    (none_found(), "No GPU was found here, so nothing could be judged."),
    (machine(other=None), "No GPU of AMD or NVIDIA was found here, so nothing could be judged."),
    (machine(amd=None), NO + "AMD's driver is not known."),
    (machine(amd=None, nvidia=True), NO + "AMD's driver is not known."),
    (machine(nvidia=None, amd=None), NO + "AMD's and NVIDIA's driver is not known."),
]  # fmt: skip


@pytest.mark.parametrize(("snapshot", "said"), CASES)
def test_the_sentence(snapshot: Snapshot, said: str) -> None:
    assert unjudged(Report(doctor="0", status="unknown", clear=("a", "b"), snapshot=snapshot)) == said


@pytest.mark.parametrize(("snapshot", "said"), CASES[1:])
@pytest.mark.parametrize("form", ["markdown", "junit", "github", "html", "plan", "text"])
def test_every_format_says_it(snapshot: Snapshot, said: str, form: str) -> None:
    report = Report(doctor="0", status="unknown", source="node", clear=("a", "b"), snapshot=snapshot)
    if form == "text":
        shown = terminal.render(report, terminal.Look(width=200))
    else:
        shown = plan.render(report) if form == "plan" else formats.render(form, report, (), unredacted=False)
    plain = shown.replace("&#x27;", "'").replace("\n# ", " ")
    assert said[1:] in plain
    assert ("nothing could be judged" in plain) == ("nothing could be judged" in said)
