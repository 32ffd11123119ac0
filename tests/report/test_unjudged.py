"""What could not be checked: every format says so, and none calls it fine."""

from __future__ import annotations

import pytest

from doctor.engine.verdict import layers
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Report
from doctor.report import formats, plan, terminal
from doctor.report.words import headline


def none_found() -> Snapshot:
    sheet = FactSheet()
    sheet.put("gpus", [], "file:/sys/bus/pci/devices")
    return assemble([sheet])


CASES = [
    (Snapshot(), "Could not tell whether a GPU is here."),
    (none_found(), "No GPU was found here."),
]


def report(snapshot: Snapshot) -> Report:
    return Report(
        doctor="0", status="unknown", layers=layers(snapshot, (), (), {}), clear=("a", "b"), snapshot=snapshot
    )


@pytest.mark.parametrize(("snapshot", "said"), CASES)
def test_every_format_says_it(snapshot: Snapshot, said: str) -> None:
    shown = {
        form: formats.render(form, report(snapshot), tuple, unredacted=False) for form in ("junit", "github", "html")
    }
    shown["plan"] = plan.render(report(snapshot))
    shown["text"] = terminal.render(report(snapshot), terminal.Look(width=200))
    shown["markdown"] = formats.render("markdown", report(snapshot), tuple, unredacted=False)
    assert [form for form, text in shown.items() if said not in text.replace("\n# ", " ")] == []
    assert [form for form, text in shown.items() if "No problems found" in text] == []


def test_a_gpu_whose_driver_is_unknown_is_partly_checked() -> None:
    sheet = FactSheet()
    sheet.put("gpus[0000:01:00.0].vendor", "amd", "file:/sys/bus/pci/devices")
    machine = assemble([sheet])
    states = layers(machine, (), (), {})
    assert (states["gpu"], states["driver"]) == ("partial", "unknown")
    partial = Report(doctor="0", status="partial", layers=states, clear=("a",), snapshot=machine)
    assert headline(partial).startswith("No problem found, but not everything could be checked (gpu, driver")
