"""A GPU that no driver names is named by its PCI id."""

from __future__ import annotations

from doctor.engine.identify import identify
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.knowledge import Knowledge


def machine(**facts: str) -> Snapshot:
    sheet = FactSheet()
    for name, value in facts.items():
        sheet.put(f"gpus[0000:c1:00.0].{name}", value, "file:/sys")
    return assemble([sheet])


def test_a_card_without_a_driver_gets_name_and_architecture() -> None:
    told = identify(machine(vendor="nvidia", pci_id="10de:2330", driver="none"), Knowledge())
    assert told.gpus is not None
    assert (told.gpus[0].arch, told.source("gpus[0000:c1:00.0].arch")) == ("sm_90", "catalogue:10de:2330")
    assert "H100" in (told.gpus[0].name or "")


def test_what_the_machine_said_stays() -> None:
    told = identify(machine(vendor="amd", pci_id="1002:74a1", name="Board of ours", arch="gfx942"), Knowledge())
    assert told.gpus is not None
    assert told.gpus[0].name == "Board of ours"
    assert told.source("gpus[0000:c1:00.0].name") == "file:/sys"


def test_an_id_that_no_table_lists_stays_unknown() -> None:
    told = identify(machine(vendor="nvidia", pci_id="10de:ffff"), Knowledge())
    assert told.gpus is not None
    assert told.gpus[0].name is None


def test_a_guest_s_share_of_an_mi300x_is_known_by_its_id() -> None:
    """In a guest no link leads to the physical function; the id alone tells."""
    told = identify(machine(vendor="amd", pci_id="1002:74b5"), Knowledge())
    assert told.gpus is not None
    assert (told.gpus[0].virtual_function, told.gpus[0].arch) == (True, "gfx942")
    whole = identify(machine(vendor="amd", pci_id="1002:74a1"), Knowledge())
    assert whole.gpus is not None
    assert whole.gpus[0].virtual_function is None
