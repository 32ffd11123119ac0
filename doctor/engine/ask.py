"""The one thing to ask for next: the command that shows a fact which a rule needs and the text lacks."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.findings import Rule

_TRACEBACK = "the full error message and the command that was run"
_ENVIRONMENT = "`env | grep -E 'CUDA|NVIDIA|HIP|HSA|ROC|NCCL|TORCH|LD_'`"
_SHOWN_BY = (
    # The longest name of a fact that fits wins; AMD's command stands second where the vendors differ.
    ("gpus", "`nvidia-smi`", "`rocminfo`"),
    ("gpus[].link", "`nvidia-smi -q`", "`sudo lspci -vv -d 1002:`"),
    ("gpus[].links", "`nvidia-smi nvlink --status`", "`amd-smi topology`"),
    ("gpus[].memory", "`nvidia-smi`", "`amd-smi process`"),
    ("gpus[].errors", "`nvidia-smi -q -d ECC`", "`amd-smi metric --ecc`"),
    ("gpus[].sensors", "`nvidia-smi -q -d PERFORMANCE,POWER`", "`amd-smi metric`"),
    ("gpus[].driver", "`lspci -nnk -d 10de:`", "`lspci -nnk -d 1002:`"),
    ("nvidia_driver", "`nvidia-smi` and `cat /proc/driver/nvidia/version`", None),
    ("nvidia_driver.fabric_manager", "`systemctl status nvidia-fabricmanager`", None),
    ("amdgpu_driver", None, "`modinfo amdgpu | head -5` and `dkms status`"),
    ("rocm", None, "`cat /opt/rocm/.info/version` and `rocminfo`"),
    ("cuda", "`nvcc --version` and `ls -d /usr/local/cuda*`", None),
    ("torch", "`python -m torch.utils.collect_env`", "`python -m torch.utils.collect_env`"),
    ("packages", "`pip list`", "`pip list`"),
    (
        "libraries",
        "`ldd` of the program or module that fails to start",
        "`ldd` of the program or module that fails to start",
    ),
    ("interpreter", "`python -VV` and `which python`", "`python -VV` and `which python`"),
    ("environment", "`env | grep -E 'CUDA|NCCL|NVIDIA|TORCH|LD_'`", "`env | grep -E 'HIP|HSA|ROC|NCCL|TORCH|LD_'`"),
    ("service_environment", "`systemctl cat SERVICE`", "`systemctl cat SERVICE`"),
    ("container", "the `docker run` line or the compose file", "the `docker run` line or the compose file"),
    ("container.engine", "`docker info`", "`docker info`"),
    ("container.runtimes", "`docker info` and `cat /etc/docker/daemon.json`", "`docker info`"),
    ("container.toolkit", "`nvidia-ctk --version`", "`amd-ctk --version`"),
    ("container.cdi", "`nvidia-ctk cdi list`", "`amd-ctk cdi list`"),
    ("container.no_cgroups", "`cat /etc/nvidia-container-runtime/config.toml`", None),
    ("nodes", "`ls -l /dev/nvidia*` and `id`", "`ls -ln /dev/kfd /dev/dri` and `id`"),
    ("account", "`id`", "`id`"),
    ("kernel_log", "`sudo dmesg | grep -iE 'nvrm|xid|nvidia'`", "`sudo dmesg | grep -iE 'amdgpu|kfd'`"),
    ("kernel", "`uname -a`", "`uname -a`"),
    ("kernel.cmdline", "`cat /proc/cmdline`", "`cat /proc/cmdline`"),
    ("kernel.secure_boot", "`mokutil --sb-state`", "`mokutil --sb-state`"),
    ("kernel.dkms", "`dkms status`", "`dkms status`"),
    ("os", "`cat /etc/os-release`", "`cat /etc/os-release`"),
    ("pci", "`lspci -nnk`", "`lspci -nnk`"),
    ("host", "`uname -a` and `cat /proc/cmdline`", "`uname -a` and `cat /proc/cmdline`"),
    ("host.iommu", "`sudo dmesg | grep -iE 'iommu|dmar'`", "`sudo dmesg | grep -iE 'iommu|amd-vi'`"),
    ("host.wsl", "`wsl --version` (in Windows)", "`wsl --version` (in Windows)"),
    ("host.shm_bytes", "`df -h /dev/shm`", "`df -h /dev/shm`"),
    ("host.memlock_bytes", "`ulimit -l`", "`ulimit -l`"),
    ("host.nofile", "`ulimit -n`", "`ulimit -n`"),
    ("host.numa_balancing", "`cat /proc/sys/kernel/numa_balancing`", "`cat /proc/sys/kernel/numa_balancing`"),
    ("host.job_asks_gpus", "the batch script (`#SBATCH` lines)", "the batch script (`#SBATCH` lines)"),
    ("host.gcc_version", "`gcc --version`", "`gcc --version`"),
    ("rdma", "`ibv_devinfo` and `lsmod | grep peer`", "`ibv_devinfo` and `lsmod | grep peer`"),
    ("tools", "`nvidia-smi --version`", "`amd-smi version`"),
    ("process", "`cat /proc/PID/limits` of the program", "`cat /proc/PID/limits` of the program"),
    ("tuned", "the file that TunableOp wrote", "the file that TunableOp wrote"),
)


def missing_for(rule: Rule, machine: Snapshot) -> str | None:
    """What to send so that the rule can decide: what shows the first fact that is missing where fewest commands show
    them all. None where none is missing."""
    alternatives = [sorted(n for n in needs if n != "profile" and not n.startswith("symptom:")) for needs in rule.needs]
    missing = [[name for name in names if not machine.knows(name)] for names in alternatives if names]
    shown = [[_shown_by(name, machine, rule) for name in names] for names in missing if names]
    return next(filter(None, min(shown, key=lambda asked: len(set(asked)), default=[])), None)


def ask_for(rule: Rule, machine: Snapshot) -> str:
    """The same; where no fact is missing, the error itself."""
    return missing_for(rule, machine) or _TRACEBACK


def _shown_by(name: str, machine: Snapshot, rule: Rule) -> str | None:
    plain = name.replace("[*]", "[]")
    rows = [row for row in _SHOWN_BY if plain == row[0] or plain.startswith((f"{row[0]}.", f"{row[0]}[", f"{row[0]}_"))]
    if not rows:
        return None
    area, nvidia, amd = max(rows, key=lambda row: len(row[0]))
    if area == "nodes" and machine.host.wsl:
        return "`ls -l /dev/dxg /usr/lib/wsl/lib`"
    of_both = {"amd", "nvidia"}
    tagged = of_both & set(rule.tags)
    vendors = {gpu.vendor for gpu in machine.gpus or ()} & of_both or (
        tagged if len(tagged) == 1 else _in_texts(machine)
    )
    if vendors == {"amd"} or (not vendors and machine.torch.build == "rocm"):
        return amd
    if name.startswith("environment") and not vendors:
        return _ENVIRONMENT
    if (nvidia or "").startswith("`nvidia-smi`") and any(s.key.startswith("nvidia-smi-") for s in machine.symptoms):
        return "`lspci -nnk -d 10de:` and `dkms status`"  # it was run, and failed
    return nvidia or (None if vendors else amd)


_AMD_WORDS = ("rocm", "rocblas", "tensile", "hip error", "hip out of", "/dev/kfd", "amdgpu")
_NVIDIA_WORDS = ("nvidia", "cuda", "nvml")


def _in_texts(machine: Snapshot) -> set[str]:
    """The vendor whose words are in the error texts. AMD's decide: torch for ROCm says CUDA too."""
    text = " ".join(symptom.text.lower() for symptom in machine.symptoms)
    if any(word in text for word in _AMD_WORDS):
        return {"amd"}
    return {"nvidia"} if any(word in text for word in _NVIDIA_WORDS) else set()
