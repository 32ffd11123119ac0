"""Names of facts as an engineer would say them, for lines of evidence.

>>> label("nvidia_driver.version"), label("gpus[0000:c1:00.0].arch"), label("environment[HIP_VISIBLE_DEVICES]")
('NVIDIA driver', 'GPU 0000:c1:00.0 architecture', 'HIP_VISIBLE_DEVICES')
"""

from __future__ import annotations

import re

_NAMES = {
    "account": "account",
    "account.gids": "this account's groups (numbers)",
    "account.member_of": "this account's groups",
    "account.uid": "this account's uid",
    "amdgpu_driver": "amdgpu driver",
    "amdgpu_driver.built_for": "amdgpu is built for kernel",
    "amdgpu_driver.loaded": "amdgpu is loaded",
    "amdgpu_driver.release": "amdgpu driver package",
    "amdgpu_driver.source": "amdgpu module",
    "amdgpu_driver.version": "amdgpu",
    "binaries": "GPU code in libraries",
    "cdi": "CDI specs",
    "container": "container",
    "container.engine": "container engine",
    "container.engine_text": "container engine",
    "container.image": "image",
    "container.inside": "inside a container",
    "container.run_args": "run line",
    "container.toolkit_installed": "NVIDIA container toolkit is installed",
    "container.toolkit_version": "NVIDIA container toolkit",
    "cuda": "CUDA toolkits",
    "engines": "container engines",
    "gpus": "GPUs",
    "host.as_bytes": "address-space limit",
    "host.gcc_version": "gcc",
    "host.iommu": "IOMMU mode",
    "host.job_asks_gpus": "the job asks for GPUs",
    "host.machine": "CPU architecture",
    "host.memlock_bytes": "locked-memory limit",
    "host.nofile": "open-files limit",
    "host.nproc": "process limit",
    "host.stack_bytes": "stack limit",
    "host.numa_balancing": "automatic NUMA balancing",
    "host.shm_bytes": "size of /dev/shm",
    "host.wsl": "WSL",
    "installed_faults": "damaged packages",
    "interpreter": "Python",
    "interpreter.version": "Python",
    "kernel": "kernel",
    "kernel.cmdline": "kernel command line",
    "kernel.release": "kernel",
    "kernel.secure_boot": "Secure Boot",
    "kfd.nodes": "KFD nodes",
    "kfd.present": "KFD is present",
    "libraries": "libraries that the loader finds",
    "nodes": "device nodes",
    "nvidia_driver": "NVIDIA driver",
    "nvidia_driver.built_for": "the NVIDIA module is built for kernel",
    "nvidia_driver.cuda_version": "newest CUDA that the driver supports",
    "nvidia_driver.fabric_manager.installed": "fabric manager is installed",
    "nvidia_driver.fabric_manager.running": "fabric manager is running",
    "nvidia_driver.fabric_manager.version": "fabric manager",
    "nvidia_driver.flavour": "flavour of the NVIDIA module",
    "nvidia_driver.libcuda.by": "libcuda.so.1 was found by",
    "nvidia_driver.libcuda.path": "libcuda.so.1",
    "nvidia_driver.libcuda.version": "version of libcuda.so.1",
    "nvidia_driver.libcuda_found": "the loader finds libcuda.so.1",
    "nvidia_driver.libraries": "copies of the driver libraries",
    "nvidia_driver.loaded": "the NVIDIA module is loaded",
    "nvidia_driver.module_on_disk": "NVIDIA module on disk",
    "nvidia_driver.nvml_error": "NVML error",
    "nvidia_driver.smi_error": "nvidia-smi error",
    "nvidia_driver.user_version": "NVIDIA driver libraries",
    "nvidia_driver.uvm_loaded": "nvidia-uvm is loaded",
    "nvidia_driver.version": "NVIDIA driver",
    "os.id": "distribution",
    "os.name": "system",
    "os.version": "release",
    "packages": "Python packages",
    "pci": "PCI devices",
    "rocm": "ROCm",
    "toolkits": "container toolkits",
    "tools": "compilers and tools",
    "torch.arch_list": "torch is built for",
    "torch.available": "torch.cuda.is_available()",
    "torch.build": "torch build",
    "torch.cuda": "CUDA of torch",
    "torch.hip": "HIP of torch",
    "torch.installed": "torch is installed",
    "torch.location": "location of torch",
    "torch.rocm": "ROCm of torch",
    "torch.version": "torch",
}
_OF_A_GPU = {
    "arch": "architecture",
    "driver": "driver",
    "mig_mode": "MIG mode",
    "mig_pending": "MIG mode after the next reset",
    "name": "name",
    "memory_bytes": "memory",
    "numa_node": "NUMA node",
}
_MEMBER = re.compile(r"(\w+)\[([^\]]*)\]\.?(.*)$")


def label(name: str) -> str:
    """What to call a fact; its own name where there is none better."""
    if known := _NAMES.get(name):
        return known
    if found := _MEMBER.match(name):
        kind, key, rest = found.groups()
        if kind == "environment":
            return key
        if kind == "gpus":
            which = "GPU" if key.startswith("#") or key == "*" else f"GPU {key}"
            words = rest.removeprefix("sensors.").replace(".", " ")
            plain = re.sub(r"_(bytes|w|c|mhz|percent|gt_s)$", "", words).replace("_", " ")
            return f"{which} {_OF_A_GPU.get(rest, plain)}".strip()
        if kind in ("rocm", "cuda") and rest == "version":
            what = {"rocm": "ROCm", "cuda": "CUDA"}[kind]
            return what if not key.startswith("/") else f"{what} in {key}"
        return f"{key} {rest.replace('_', ' ')}".strip()
    return name


_SIZES = ((2**30, "GiB"), (2**20, "MiB"), (2**10, "KiB"))
_UNITS = (("_w", "W"), ("_c", "°C"), ("_mhz", "MHz"), ("_percent", "%"), ("_gt_s", "GT/s"))


def measure(name: str, value: object) -> str | None:
    """A number with the unit that its fact's name ends with; None where there is none.

    >>> measure("gpus[#0].memory_bytes", 25769803776), measure("gpus[#0].sensors.power_limit_w", 450.0)
    ('24 GiB', '450 W')
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    if name.endswith("_bytes"):
        size, unit = next((row for row in _SIZES if value >= row[0]), (1, "bytes"))
        return f"{value / size:.4g} {unit}"
    return next((f"{value:g} {unit}" for end, unit in _UNITS if name.endswith(end)), None)
