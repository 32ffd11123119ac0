"""The package itself: the stand-in for NVML, the namespaces, and what a run sees of this machine."""

from __future__ import annotations

import ctypes
import json
import re
from pathlib import Path

import pytest

from doctor.system import nvml_child
from tests.fakenode import REQUIRE, Node, Support, stand_in
from tests.fakenode.conftest import refuse
from tests.fakenode.faults_nvidia import old_nvml
from tests.fakenode.machine import Command, Machine
from tests.fakenode.run import Job, Refused, run_as

pytestmark = pytest.mark.fakenode
_NAMES = ("nvmlClocksEventReason", "nvmlClocksThrottleReason")
"""Prefixes of constants, no functions."""


def test_the_stand_in_has_every_function_that_the_child_asks(live: Support) -> None:
    asked = set(re.findall(r'"(nvml[A-Z]\w+)"', Path(nvml_child.__file__).read_text())) - set(_NAMES)
    library = stand_in.nvml()
    lacking = {name for name in asked if re.search(rb"\0" + name.encode() + rb"(_v\d)?\0", library) is None}
    assert lacking == set()


def test_functions_can_be_taken_from_the_stand_in(live: Support, tmp_path: Path) -> None:
    library = tmp_path / "libnvidia-ml.so.1"
    library.write_bytes(stand_in.nvml(("nvmlDeviceGetName",)))
    loaded = ctypes.CDLL(str(library))
    assert (hasattr(loaded, "nvmlDeviceGetUUID"), hasattr(loaded, "nvmlDeviceGetName")) == (True, False)


def test_a_driver_before_510_still_tells_the_memory(live: Support) -> None:
    with Node("a100", driver="470.256.02", flavour="proprietary", faults=(old_nvml,)).laid_out() as node:
        done = node.run(["doctor", "check", "--format", "json"])
    assert json.loads(done.stdout)["snapshot"]["gpus"][0]["memory_bytes"] == 80 << 30


def test_nvml_answers_everything_for_an_h100(live: Support) -> None:
    with Node("h100", 8).laid_out() as node:
        done = node.run(["doctor", "check", "--format", "json"])
    gpu = json.loads(done.stdout)["snapshot"]["gpus"][0]
    unknown = [k for k in ("compute_mode", "persistence_mode", "mig_mode", "fabric_state", "lost") if gpu[k] is None]
    unknown += [k for k, v in gpu["sensors"].items() if v is None]
    assert unknown == []
    assert (gpu["errors"]["uncorrected"], len(gpu["links"])) == (0, 18)


def test_a_run_sees_the_described_machine_and_not_this_one(live: Support) -> None:
    script = "read a </etc/os-release; read b </proc/sys/kernel/hostname; echo $a $b; echo /dev/*; echo /sys/module/*"
    with Node("rtx4090", distribution="rocky-9").laid_out() as node:
        name, nodes, modules = node.run(["/bin/sh", "-c", script]).stdout.splitlines()
    assert name == 'PRETTY_NAME="Rocky Linux 9.6 (Blue Onyx)" node01'
    assert "/dev/nvidia0" in nodes.split()
    assert "/dev/sda" not in nodes
    assert modules.split()[-1] == "/sys/module/nvidia_uvm"


def test_a_program_that_does_not_end_is_ended(live: Support) -> None:
    with Node().laid_out() as node:
        assert node.run(["/bin/sh", "-c", "while :; do :; done"], timeout_s=0.5).code == -9


def test_a_command_answers_by_its_arguments(live: Support) -> None:
    def tool(machine: Machine) -> None:
        machine.commands["tool"] = Command({"-v": "1.2\n"}, 3, "what?")

    with Node(faults=(tool,)).laid_out() as node:
        known, other = node.run(["/usr/bin/tool", "-v"]), node.run(["/usr/bin/tool", "-x"])
    assert (known.code, known.stdout, other.code, other.stderr) == (0, "1.2\n", 3, "what?\n")


def test_a_user_namespace_shows_the_same_machine(live: Support) -> None:
    """The other way, where this kernel allows both; nodes are then this machine's /dev/null."""
    with Node("mi300x", 1, rocm=("6.4.1",)).laid_out() as node:
        job = node.job(["doctor", "check", "--format", "json"])
        try:
            (done,) = run_as(Support.USER, [job])
        except Refused as why:
            pytest.skip(f"no user namespace here: {why}")
    snapshot = json.loads(done.stdout)["snapshot"]
    assert [(g["arch"], g["driver"]) for g in snapshot["gpus"]] == [("gfx942", "amdgpu")]
    kfd = next(n for n in snapshot["nodes"] if n["key"] == "/dev/kfd")
    assert (kfd["is_device"], kfd["openable"], kfd["mode"]) == (True, True, 0o666)


def test_a_folder_that_the_kernel_can_not_enter_is_refused(live: Support, tmp_path: Path) -> None:
    with pytest.raises(Refused, match="No such file"):
        run_as(live, [Job(tmp_path / "missing" / "deeper", ("/bin/sh",), nodes=(("/dev/x", 0o666, 0, 0),))])


@pytest.mark.parametrize(("required", "ending"), [("1", pytest.fail.Exception), ("", pytest.skip.Exception)])
def test_a_skip_is_a_failure_where_live_runs_are_required(
    required: str, ending: type[BaseException], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(REQUIRE, required)
    with pytest.raises(ending, match="no namespace"):
        refuse("no namespace here")
