from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.facts.origin import State
from doctor.probes.amd import amd_tools
from doctor.system.base import Output, Reading
from doctor.system.tree import TreeSystem
from tests.probes.amd_trees import mi300x, write


class WithCommands(TreeSystem):
    """A tree whose commands answer by their name and first argument."""

    def __init__(self, root: Path, **answers: Output) -> None:
        super().__init__(root)
        self.answers = answers

    def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
        answer = self.answers.get(f"{argv[0]}_{argv[1].strip('-')}".replace("-", "_"))
        source = f"command:{' '.join(argv)}"
        return Reading(State.VALUE, source, answer) if answer else Reading(State.ABSENT, source)


def look(system: TreeSystem) -> Snapshot:
    sheet = FactSheet()
    amd_tools.probe(system, sheet)
    return assemble([sheet])


def test_rocm_smi_is_asked_where_amd_smi_fails_and_its_error_is_kept(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05)
    cards = '{"card0": {"PCI Bus": "0000:05:00.0", "Device ID": "0x74a1"}, "system": {"Driver version": "6.14.0"}}'
    broken = Output(255, "", "Traceback\nModuleNotFoundError: No module named 'amdsmi'\n", 0.5)
    machine = look(WithCommands(tmp_path, amd_smi_static=broken, rocm_smi_showid=Output(0, cards, "", 0.2)))
    assert machine.amdgpu_driver.smi_error == "ModuleNotFoundError: No module named 'amdsmi'"
    assert machine.get("gpus[0000:05:00.0].pci_id") == "1002:74a1"
    assert machine.amdgpu_driver.version is None


def test_no_tool_is_run_while_a_gpu_sleeps(tmp_path: Path) -> None:
    mi300x(tmp_path, 0x05)
    write(tmp_path, {"sys/bus/pci/drivers/amdgpu/0000:05:00.0": ""})
    write(tmp_path, {"sys/bus/pci/devices/0000:05:00.0/power/runtime_status": "suspended\n"})
    machine = look(WithCommands(tmp_path, amd_smi_static=Output(0, '[{"gpu": 0}]', "", 0.1)))
    assert machine.origins["amdgpu_driver.smi_error"].state is State.NOT_ASKED
    assert machine.gpus is None


def test_without_the_driver_nothing_is_asked(tmp_path: Path) -> None:
    assert not look(WithCommands(tmp_path, amd_smi_static=Output(0, '[{"gpu": 0}]', "", 0.1))).origins


def test_a_tool_that_hangs_is_timed_and_its_sibling_is_not_asked(tmp_path: Path) -> None:
    class Hangs(WithCommands):
        def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
            assert argv[0] == "amd-smi"
            return Reading(State.TIMED_OUT, "command:amd-smi static --json", None, "no answer within 6 s")

    mi300x(tmp_path, 0x05)
    driver = look(Hangs(tmp_path)).amdgpu_driver
    assert (driver.smi_seconds, driver.smi_error) == (6.0, "no answer within 6 s")
