"""Every Xid and SXid of the catalogue: the fatal ones are named from a line of the kernel log, the others are not."""

from __future__ import annotations

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.knowledge.catalogue import table
from doctor.triage.read import read_text
from tests.each import each

KB = Knowledge()
OF_MEMORY = {"48", "63", "64", "94", "95", "140", "171", "172"}
ALSO_SAID = {"119", "120"}
"""Named for the firmware's silence, whatever the number's row says."""


def loud(line: str) -> set[str]:
    findings = judge(read_text([line.encode()]), KB).findings
    return {f.rule for f in findings if f.severity.value != "info" and not f.explained_by}


@each("code", sorted(table("xids"), key=lambda code: int(str(code))))
def test_an_xid_is_named_when_it_is_fatal(code: str) -> None:
    named = loud(f"NVRM: Xid (PCI:0000:41:00): {code}, pid=4711, name=python")
    if code in OF_MEMORY:
        assert named == {"gpu-ecc-errors"}
    else:
        assert ("nvidia-xid-fatal" in named) == (table("xids")[code].get("severity") == "error" or code in ALSO_SAID)


@each("code", sorted(table("sxids"), key=lambda code: int(str(code))))
def test_an_sxid_is_named_when_it_is_always_fatal(code: str) -> None:
    named = loud(f"nvidia-nvswitch0: SXid (PCI:0000:c1:00.0): {code}, Fatal, Link 30")
    assert ("nvidia-xid-fatal" in named) == (table("sxids")[code]["fatal"] == "always")


def test_a_recovery_that_is_required_is_fatal() -> None:
    line = "NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x0 (None) to 0x2 (Node Reboot Required)"
    assert loud(line) == {"nvidia-xid-fatal"}
    assert loud("NVRM: Xid (PCI:0000:18:00): 154, GPU recovery action changed from 0x2 to 0x0 (None)") == set()


def test_a_number_cut_out_of_its_line_is_read() -> None:
    assert loud("Xid 79") == {"nvidia-xid-fatal"}
    assert loud("Xid 13") == set()
