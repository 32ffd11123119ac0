"""Faults of the machine around the GPUs, of containers and of the environment."""

from __future__ import annotations

import json
from collections.abc import Callable

from tests.fakenode.machine import NOW_S, Command, Machine

Fault = Callable[[Machine], None]


def environment(**variables: str) -> Fault:
    """Variables of the account that runs the program."""

    def fault(machine: Machine) -> None:
        machine.environment |= variables

    return fault


def kernel_words(*words: str) -> Fault:
    """Words on the kernel's command line."""

    def fault(machine: Machine) -> None:
        machine.cmdline += words

    return fault


def log_line(text: str) -> Fault:
    """A line in the kernel's log of today."""

    def fault(machine: Machine) -> None:
        machine.log(text, NOW_S)

    return fault


def iommu_translates(machine: Machine) -> None:
    machine.iommu = "DMA-FQ"


def numa_balancing(machine: Machine) -> None:
    machine.files["proc/sys/kernel/numa_balancing"] = "1\n"


def powersave(machine: Machine) -> None:
    machine.files["sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"] = "powersave\n"


def machine_check(machine: Machine) -> None:
    machine.log("mce: [Hardware Error]: CPU 3: Machine Check: 0 Bank 17: dc2040000000011b", NOW_S)
    machine.log("mce: [Hardware Error]: Uncorrected, software containable error.", NOW_S)
    machine.log("EDAC MC0: 1 UE memory read error on CPU_SrcID#0_MC#0_Chan#0_DIMM#0", NOW_S)


def out_of_memory(machine: Machine) -> None:
    machine.log("python3 invoked oom-killer: gfp_mask=0x140dca(GFP_HIGHUSER_MOVABLE), order=0", NOW_S)
    machine.log("Out of memory: Killed process 4242 (python3) total-vm:900000000kB, anon-rss:500000000kB", NOW_S)


def dxg_missing(machine: Machine) -> None:
    """WSL without its way to the GPU."""
    machine.nodes.pop("dxg")
    if machine.nvml:
        machine.nvml.init = 9


def docker(*, runtime: bool = True) -> Fault:
    """A container engine on the host, with or without NVIDIA's runtime. The toolkit is there either way."""

    def fault(machine: Machine) -> None:
        for name in ("dockerd", "docker", "nvidia-ctk", "nvidia-container-runtime"):
            machine.commands[name] = Command({})
        if runtime:
            table = {"runtimes": {"nvidia": {"path": "nvidia-container-runtime", "runtimeArgs": []}}}
            machine.files["etc/docker/daemon.json"] = json.dumps(table)

    return fault


def broken_daemon_json(machine: Machine) -> None:
    """A comma too many: dockerd does not start."""
    machine.files["etc/docker/daemon.json"] = '{\n  "runtimes": {},\n}\n'


def default_runtime(name: str, program: str | None = None) -> Fault:
    """Docker starts every container with it; `program` is what its entry names, None for no entry."""

    def fault(machine: Machine) -> None:
        runtimes = {name: {"path": program}} if program else {}
        machine.files["etc/docker/daemon.json"] = json.dumps({"default-runtime": name, "runtimes": runtimes})

    return fault


def cdi_spec_cut(machine: Machine) -> None:
    machine.files["etc/cdi/nvidia.yaml"] = "kind: nvidia.com/gpu\ndevices:\n- name: all\n  deviceNodes: [ {path: /dev\n"


def no_cgroups(machine: Machine) -> None:
    """As a guide for rootless engines says, under one that runs as root."""
    machine.files["etc/nvidia-container-runtime/config.toml"] = "[nvidia-container-cli]\nno-cgroups = true\n"


def cdi_spec_of(version: str) -> Fault:
    """A CDI spec that was made when this driver was installed."""

    def fault(machine: Machine) -> None:
        library = f"/usr/lib/x86_64-linux-gnu/libcuda.so.{version}"
        devices = [{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/nvidia0"}]}}]
        edits = {"mounts": [{"hostPath": library, "containerPath": library, "options": ["ro", "bind"]}]}
        spec = {"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": devices, "containerEdits": edits}
        machine.files["etc/cdi/nvidia.json"] = json.dumps(spec)

    return fault


def adapters(*names: str) -> Fault:
    """RDMA adapters with an active port."""

    def fault(machine: Machine) -> None:
        machine.modules["ib_core"] = ""
        for name in names:
            port = f"sys/class/infiniband/{name}/ports/1"
            machine.files |= {f"{port}/state": "4: ACTIVE\n", f"{port}/link_layer": "InfiniBand\n"}

    return fault


def small_shm(machine: Machine) -> None:
    """Docker's default for containers."""
    machine.shm = "size=65536k"


def python_needs(**packages: str) -> Fault:
    """A virtual environment at /opt/venv with these distributions (metadata alone) that the account has activated."""

    def fault(machine: Machine) -> None:
        folder = "opt/venv/lib/python3.12/site-packages"
        machine.files["opt/venv/pyvenv.cfg"] = "home = /usr/bin\nversion = 3.12.3\n"
        machine.files["opt/venv/bin/python3"] = "\x7fELF"
        for name, version in packages.items():
            if name == "torch":
                machine.files[f"{folder}/torch/version.py"] = _torch_version(version)
            metadata = f"Metadata-Version: 2.1\nName: {name.replace('_', '-')}\nVersion: {version}\n"
            machine.files[f"{folder}/{name}-{version}.dist-info/METADATA"] = metadata
        machine.environment |= {"VIRTUAL_ENV": "/opt/venv", "PATH": f"/opt/venv/bin:{_PATH}"}

    return fault


def _torch_version(version: str) -> str:
    """torch/version.py of a wheel: its local version names CUDA (cu128) or ROCm (rocm6.4)."""
    build = version.partition("+")[2]
    cuda = f"'{build[2:-1]}.{build[-1]}'" if build.startswith("cu") else None
    hip = f"'{build[4:]}.43482'" if build.startswith("rocm") else None
    return f"__version__ = '{version}'\ndebug = False\ncuda: str | None = {cuda}\nhip: str | None = {hip}\n"


_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
