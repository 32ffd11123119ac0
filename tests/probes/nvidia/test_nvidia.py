"""The NVIDIA probes and the kernel log, on machines that answer by what is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, cast

from doctor.facts import FactSheet, Snapshot, State, assemble
from doctor.probes.host import kernel_log
from doctor.probes.nvidia import nvidia
from doctor.system.base import Output, Reading, Stat, System

OPEN = "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build  (x)\n"
FILES = {
    "proc/driver/nvidia/version": OPEN,
    "proc/driver/nvidia/params": "ModifyDeviceFiles: 1\n",
    "proc/driver/nvidia/gpus/0000:c1:00.0/information": (
        "Model: NVIDIA L4\nBus Location: 0000:c1:00.0\nDevice Minor: 0\n"
    ),
    "sys/module/nvidia/version": "575.57.08\n",
    "sys/module/nvidia_uvm/version": "575.57.08\n",
    "sys/module/ext4/version": "1\n",
    "proc/2/comm": "kthreadd\n",
    "proc/sys/kernel/osrelease": "6.8.0-51-generic\n",
    "var/lib/dkms/nvidia/575.57.08/6.8.0-51-generic/x86_64/log": "",
    "usr/lib/x86_64-linux-gnu/libcuda.so.575.57.08": "",
    "usr/lib/x86_64-linux-gnu/libcuda.so.1": "-> libcuda.so.575.57.08",
}
NVML: dict[str, Any] = {
    "error": None,
    "driver_version": "575.57.08",
    "cuda_driver_version": "12.9",
    "count": 1,
    "gpus": [
        {
            "index": 0,
            "pci_address": "0000:c1:00.0",
            "compute_capability": "8.9",
            "memory_total": 24 << 30,
            "minor": 0,
            "lost": False,
            "mig_mode": False,
            "pcie": {"gen": 4, "width": 8},
            "remapped_rows": {"correctable": 0, "uncorrectable": 0, "pending": True, "failure": False},
        }
    ],
}


class Machine:
    """Files by path, commands by their first word. Everything else is absent."""

    kind = "live"

    def __init__(
        self, files: Mapping[str, str], commands: Mapping[str, Output] | None = None, nvml: Any = None
    ) -> None:
        self.files, self.commands, self.inventory = files, commands or {}, nvml
        self.asked: list[str] = []

    def _absent(self, path: str) -> Reading[Any]:
        return Reading(State.ABSENT, f"file:/{path}")

    def read_text(self, path: str, **_: Any) -> Reading[str]:
        return Reading(State.VALUE, f"file:/{path}", self.files[path]) if path in self.files else self._absent(path)

    def list_dir(self, path: str, **_: Any) -> Reading[tuple[str, ...]]:
        names = {f[len(path) + 1 :].split("/")[0] for f in self.files if f.startswith(f"{path}/")}
        return Reading(State.VALUE, f"file:/{path}", tuple(sorted(names))) if names else self._absent(path)

    def stat(self, path: str) -> Reading[Stat]:
        there = path in self.files or self.list_dir(path).known
        return Reading(State.VALUE, f"file:/{path}", Stat("file", 0o644, 0, 0, 0)) if there else self._absent(path)

    def environ(self) -> Reading[Mapping[str, str]]:
        return Reading(State.NOT_ASKED, "environment")

    def link(self, path: str) -> Reading[str]:
        text = self.files.get(path, "")
        return Reading(State.VALUE, path, text[3:]) if text.startswith("-> ") else self._absent(path)

    def real(self, path: str) -> Reading[str]:
        return Reading(State.VALUE, path, path)

    def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
        self.asked.append(argv[0])
        output = self.commands.get(argv[0])
        return Reading(State.VALUE if output else State.ABSENT, f"command:{argv[0]}", output)

    def nvml(self, **_: Any) -> Reading[Mapping[str, Any]]:
        self.asked.append("nvml")
        return Reading(State.VALUE if self.inventory else State.ABSENT, "nvml", self.inventory)


def probed(machine: Machine, probe: Any = nvidia) -> Snapshot:
    sheet = FactSheet()
    probe.probe(cast(System, machine), sheet)
    return assemble([sheet])


def test_a_healthy_machine() -> None:
    told = probed(Machine(FILES, nvml=NVML))
    driver = told.nvidia_driver
    assert (driver.loaded, driver.version, driver.flavour, driver.cuda_version) == (True, "575.57.08", "open", "12.9")
    assert (driver.user_version, driver.module_on_disk) == ("575.57.08", "575.57.08")
    assert (driver.uvm_loaded, driver.peermem_loaded) == (True, False)
    assert (driver.fabric_manager.installed, driver.fabric_manager.running) == (False, False)
    (gpu,) = told.gpus or ()
    assert (gpu.key, gpu.name, gpu.arch, gpu.device_node) == ("0000:c1:00.0", "NVIDIA L4", "sm_89", "nvidia0")
    assert (gpu.link.speed_gt_s, gpu.link.width, gpu.mig_mode) == (16.0, 8, "disabled")
    assert gpu.errors.remap_pending is True


def test_no_module_is_known_where_the_modules_can_be_listed() -> None:
    machine = Machine({"sys/module/ext4/version": "1"}, nvml=NVML)
    assert probed(machine).nvidia_driver.loaded is False
    assert machine.asked == []


def test_no_module_is_unknown_where_they_cannot() -> None:
    assert probed(Machine({})).nvidia_driver.loaded is None
    assert probed(Machine({"sys/module/ext4/version": "1", "dev/dxg": ""})).nvidia_driver.loaded is None


def test_a_suspended_gpu_is_not_woken() -> None:
    asleep = {
        **FILES,
        "sys/bus/pci/drivers/nvidia/0000:c1:00.0/x": "",
        "sys/bus/pci/devices/0000:c1:00.0/power/runtime_status": "suspended\n",
    }
    machine = Machine(asleep, nvml=NVML)
    told = probed(machine)
    assert told.origins["nvidia_driver.cuda_version"].state is State.NOT_ASKED
    assert not {"nvml", "nvidia-smi"} & set(machine.asked)


def test_nvml_names_its_error_and_nvidia_smi_its_message() -> None:
    error = {"error": {"code": 18, "name": "NVML_ERROR_LIB_RM_VERSION_MISMATCH"}, "gpus": []}
    said = Output(18, "Failed to initialize NVML: Driver/library version mismatch\n", "", 0.25)
    machine = Machine(FILES, {"nvidia-smi": said}, error)
    driver = probed(machine).nvidia_driver
    assert driver.nvml_error == "NVML_ERROR_LIB_RM_VERSION_MISMATCH"
    assert machine.asked.count("nvml") == 1
    assert driver.smi_error == "Failed to initialize NVML: Driver/library version mismatch"
    assert driver.smi_seconds == 0.25


def test_nvidia_smi_is_not_run_where_nvml_answered() -> None:
    machine = Machine(FILES, nvml=NVML)
    probed(machine)
    assert "nvidia-smi" not in machine.asked


def test_the_kernel_log_by_dmesg_then_by_the_journal() -> None:
    denied = Output(1, "", "dmesg: read kernel buffer failed: Operation not permitted\n", 0.0)
    journal = Output(0, "2025-02-23T16:24:18+0000 host kernel: NVRM: Xid (PCI:0000:9b:00): 79, lost\n", "", 0.0)
    told = probed(Machine({}, {"dmesg": denied, "journalctl": journal}), kernel_log).kernel_log
    assert told.readable is True
    assert [e.key for e in told.events or ()] == ["xid-79@0000:9b:00.0"]
    refused = probed(Machine({}, {"dmesg": denied}), kernel_log)
    assert (refused.kernel_log.readable, refused.kernel_log.events) == (False, None)
    assert refused.origins["kernel_log.events"].state is State.DENIED


def test_a_quiet_kernel_log_is_a_known_empty_list() -> None:
    quiet = Output(0, "[    0.000000] Linux version 6.8.0\n", "", 0.0)
    assert probed(Machine({}, {"dmesg": quiet}), kernel_log).kernel_log.events == ()


def test_nvidia_smi_that_hangs_is_timed() -> None:
    class Hangs(Machine):
        def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
            return Reading(State.TIMED_OUT, "command:nvidia-smi -q -x", None, "no answer within 8 s")

    driver = probed(Hangs(FILES)).nvidia_driver
    assert (driver.smi_seconds, driver.smi_error) == (8.0, "no answer within 8 s")


def test_imex_and_its_channels_on_a_rack_of_one_fabric() -> None:
    rack = {
        **FILES,
        "usr/bin/nvidia-imex": "",
        "dev/nvidia-caps-imex-channels/channel0": "",
        "proc/2/comm": "kthreadd\n",
        "proc/77/comm": "nvidia-imex\n",
    }
    imex = probed(Machine(rack, nvml=NVML)).nvidia_driver.imex
    assert (imex.installed, imex.running, imex.channels) == (True, True, 1)
    stopped = {k: v for k, v in rack.items() if "77" not in k}
    assert probed(Machine(stopped, nvml=NVML)).nvidia_driver.imex.running is False
    assert probed(Machine(FILES, nvml=NVML)).nvidia_driver.imex.running is None


def test_a_vgpu_is_told_from_a_gpu_that_is_passed_through() -> None:
    def told(mode: str) -> bool | None:
        inventory = {**NVML, "gpus": [{**NVML["gpus"][0], "virtualization": mode}]}
        (gpu,) = probed(Machine(FILES, nvml=inventory)).gpus or ()
        return gpu.vgpu

    assert (told("vgpu"), told("passthrough")) == (True, False)
