"""What support asks for beside what a check reads: commands, files, the processes' and the containers' state. Each row
says under which name it goes into the bundle. No tool that wakes a sleeping GPU is among them when one sleeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from doctor.engine import local_engines

if TYPE_CHECKING:
    from doctor.system.base import System

_GPU_TOOLS = {
    "nvidia-smi": ("nvidia-smi",),
    "nvidia-smi-q": ("nvidia-smi", "-q"),
    "nvidia-smi-topo": ("nvidia-smi", "topo", "-m"),
    "nvidia-smi-nvlink": ("nvidia-smi", "nvlink", "-s"),
    "nvidia-container-cli": ("nvidia-container-cli", "info"),
    "amd-smi-static": ("amd-smi", "static"),
    "amd-smi-metric": ("amd-smi", "metric"),
    "amd-smi-topology": ("amd-smi", "topology"),
    "rocm-smi": ("rocm-smi", "-a"),
    "rocm-smi-topology": ("rocm-smi", "--showtopo"),
    "rocminfo": ("rocminfo",),
}
_TOOLS = {
    "lspci": ("lspci", "-nnk"),
    "lspci-tree": ("lspci", "-tvnn"),
    "lscpu": ("lscpu",),
    "numactl": ("numactl", "-H"),
    "packages-deb": ("dpkg-query", "-W", "-f", "${Package}\t${Version}\t${db:Status-Abbrev}\n"),
    "packages-rpm": ("rpm", "-qa"),
    "packages-pacman": ("pacman", "-Q"),
    "dkms": ("dkms", "status"),
    "modinfo-amdgpu": ("modinfo", "amdgpu"),
    "modinfo-nvidia": ("modinfo", "nvidia"),
    "units": (
        "systemctl", "--no-pager", "--full", "status",
        "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex", "docker", "containerd", "slurmd",
    ),
    "unit-files": (
        "systemctl", "--no-pager", "cat",
        "nvidia-fabricmanager", "nvidia-persistenced", "nvidia-imex", "docker", "containerd", "slurmd",
    ),
    "rdma-devices": ("ibv_devinfo",),
    "nvidia-ctk": ("nvidia-ctk", "--version"),
    "apptainer": ("apptainer", "--version"),
    "enroot": ("enroot", "version"),
}  # fmt: skip
_FILES = (
    "etc/docker/daemon.json",
    "etc/containers/containers.conf",
    "etc/containers/storage.conf",
    "etc/containers/registries.conf",
    "etc/containerd/config.toml",
    "etc/nvidia-container-runtime/config.toml",
    "etc/cdi/nvidia.yaml",
    "etc/cdi/amd.json",
    "var/run/cdi/nvidia.yaml",
    "etc/enroot/enroot.conf",
    "etc/apptainer/apptainer.conf",
    "etc/pip.conf",
    "etc/xdg/pip/pip.conf",
    "etc/conda/.condarc",
    "opt/conda/.condarc",
    "etc/default/grub",
    "etc/ld.so.conf",
    "etc/environment",
    "etc/slurm/gres.conf",
    "etc/slurm/cgroup.conf",
    "proc/driver/nvidia/params",
    "var/log/nvidia-installer.log",
    "var/log/fabricmanager.log",
    "sys/class/kfd/kfd/topology/system_properties",
)
_FOLDERS = {"etc/modprobe.d": ".conf", "etc/ld.so.conf.d": ".conf", "etc/pip": ".conf", "etc/udev/rules.d": ".rules"}
_OF_HOME = (".config/pip/pip.conf", ".pip/pip.conf", ".condarc", ".config/conda/condarc", ".config/uv/uv.toml")
_NAMED_BY = ("PIP_CONFIG_FILE", "CONDARC", "UV_CONFIG_FILE")
_PREFIXES = {"VIRTUAL_ENV": "pip.conf", "CONDA_PREFIX": ".condarc"}
_TUNING = (
    "PYTORCH_TUNABLEOP_FILENAME",
    "PYTORCH_TUNABLEOP_UNTUNED_FILENAME",
    "HIPBLASLT_TUNING_FILE",
    "HIPBLASLT_TUNING_OVERRIDE_FILE",
    "HIPBLASLT_LOG_FILE",
    "ROCBLAS_TENSILE_GEMM_OVERRIDE_PATH",
)
_TUNING_NAMES = ("tunableop_", "tunableop-", "hipblaslt_tuning", "afo_tune_device")
_MOST_FILES = 16
_OF_PROCESS = ("environ", "cmdline", "limits", "cgroup", "status", "maps", "stack", "wchan", "mountinfo")


class Ask(NamedTuple):
    """One thing to ask. `must` ones are listed as left out also where there simply is no such file."""

    name: str
    """File in the bundle, below `extra/`."""
    kind: str
    """`command`, `file`, `engine`."""
    words: tuple[str, ...]
    must: bool = False

    @property
    def origin(self) -> str:
        return f"file:/{self.words[0]}" if self.kind == "file" else "command:" + " ".join(self.words)


def wanted(system: System, *, since: str | None, include: Sequence[str], pid: int | None) -> list[Ask]:
    """What to ask this machine. `include` are paths of files, or of folders whose files are meant."""
    asks = [Ask(f"{name}.txt", "command", argv) for name, argv in _TOOLS.items()]
    if not any(_asleep(system)):
        asks += [Ask(f"{name}.txt", "command", argv) for name, argv in _GPU_TOOLS.items()]
    asks += _kernel_log(since)
    asks += _engines(system)
    asks += [_file(path, "config") for path in dict.fromkeys(_configs(system))]
    asks += [_file(path, "tuning") for path in dict.fromkeys(_tuning(system))]
    asks += [_file(path, "included", must=True) for given in include for path in _inside(system, given)]
    if pid is not None:
        asks += [Ask(f"process/{name}.txt", "file", (f"proc/{pid}/{name}",), must=True) for name in _OF_PROCESS]
    return _with_names(asks)


def _with_names(asks: list[Ask]) -> list[Ask]:
    seen: dict[str, int] = {}
    out = []
    for ask in asks:
        number = seen[ask.name] = seen.get(ask.name, 0) + 1
        stem, dot, end = ask.name.rpartition(".")
        out.append(ask if number == 1 else ask._replace(name=f"{stem}-{number}{dot}{end}"))
    return out


def _file(path: str, folder: str, *, must: bool = False) -> Ask:
    """Named after its last parts, with what no archive's name may hold replaced."""
    path = path.strip("/")
    plain = "_".join("".join(c if c.isascii() and (c.isalnum() or c in "._-") else "_" for c in path).split("/"))
    return Ask(f"{folder}/{plain[-60:].lstrip('._-') or 'file'}.txt", "file", (path,), must)


def _kernel_log(since: str | None) -> list[Ask]:
    when = f"--since={since}" if since else "-b"
    journal = ("journalctl", "-k", when, "--no-pager", "-o", "short-iso")
    return [
        Ask("kernel.txt", "command", journal),
        Ask("dmesg.txt", "command", ("dmesg", f"--since={since}") if since else ("dmesg",)),
    ]


def _engines(system: System) -> list[Ask]:
    """What the container engines say over their local sockets. DOCKER_HOST, contexts, podman's remote connections and
    curl's own configuration are not followed."""
    socket = next(local_engines.sockets(system, "docker"), None)
    asks = []
    if socket and system.which("docker").known:
        asks.append(Ask("docker", "engine", ("docker", "-H", f"unix:///{socket}")))
    elif socket:
        curl = ("curl", "-q", "-sS", "--noproxy", "*", "--max-time", "5", "--unix-socket", f"/{socket}")
        asks += [
            Ask(f"docker-{name}.txt", "command", (*curl, f"http://localhost/{path}"))
            for name, path in (("version", "version"), ("info", "info"), ("ps", "containers/json?all=1"))
        ]
    podman = local_engines.podman(system)
    return [*asks, Ask("podman", "engine", podman)] if podman else asks


def _configs(system: System) -> Iterator[str]:
    environment = system.environ().value or {}
    yield from _FILES
    for folder, end in _FOLDERS.items():
        names = system.list_dir(folder).value or ()
        yield from (f"{folder}/{name}" for name in names[:64] if name.endswith(end))
    home = environment.get("HOME", "")
    if home.startswith("/"):
        yield from (f"{home}/{name}" for name in _OF_HOME)
    yield from (environment[name] for name in _NAMED_BY if environment.get(name, "").startswith("/"))
    yield from (f"{environment[n]}/{f}" for n, f in _PREFIXES.items() if environment.get(n, "").startswith("/"))


def _tuning(system: System) -> list[str]:
    """Files of TunableOp and its like: those that the environment names (`%d` is a GPU's number), relative ones in the
    working folder, and those of the default names there."""
    environment = system.environ().value or {}
    here = "/" + (system.real("proc/self/cwd").value or "") if system.kind == "live" else "/"
    found: list[str] = []
    for named in (environment[name] for name in _TUNING if environment.get(name)):
        path = named if named.startswith("/") else f"{here}/{named}"
        folder, _, last = path.rpartition("/")
        stem, dot, end = last.replace("%d", "").rpartition(".")
        names = system.list_dir(folder).value or ()
        found += [f"{folder}/{n}" for n in names if n == last or (dot and n.startswith(stem) and n.endswith(f".{end}"))]
    if system.kind == "live":
        found += [f"{here}/{n}" for n in system.list_dir(here).value or () if n.startswith(_TUNING_NAMES)]
    return [path for path in found if not path.startswith("/proc/")][:_MOST_FILES]


def _inside(system: System, given: str) -> list[str]:
    found = system.stat(given).value
    if found is None or found.kind != "dir":
        return [given]
    return [f"{given.rstrip('/')}/{name}" for name in (system.list_dir(given).value or ())[: 4 * _MOST_FILES]]


def _asleep(system: System) -> Iterator[bool]:
    for driver in ("amdgpu", "nvidia"):
        for name in (system.list_dir(f"sys/bus/pci/drivers/{driver}").value or ())[:256]:
            if ":" in name:
                status = system.read_text(f"sys/bus/pci/devices/{name}/power/runtime_status").value
                yield bool(status and status.startswith("suspend"))
