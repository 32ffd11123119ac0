from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib import run_line, wheel_runtime
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.gfx_override import WSL_LIST
from doctor.rules.lib.hardware import has_no, vendors_there
from doctor.rules.lib.packages import family

RULE = Rule(
    id="wsl-gpu-misconfigured",
    severity=Severity.ERROR,
    scope=Scope.DRIVER,
    action=Action.RECONFIGURE,
    layer=Layer.DRIVER,
    title="GPU support in WSL is incomplete.",
    needs=({"host.wsl", "nodes"}, {"host.wsl"}),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-driver-not-loaded", "amdgpu-driver-not-loaded"),
        *("container-missing-gpu-passthrough", "device-node-permission", "container-runtime-not-configured"),
    ),
    order=11,
    facts_decide=False,
    tags=("access", "wsl"),
    doc="""## What it finds
WSL without /dev/dxg, which all GPU work in WSL uses. A Linux driver inside WSL whose libcuda comes before WSL's own
(/usr/lib/wsl/lib), or a libcuda that is missing or where no program looks.

## Why it matters
Under WSL, the driver is on the Windows side. Without /dev/dxg no library can reach it; a Linux driver does not help.

## Not raised when
/dev/dxg is there and nothing fails, or inside a container (it must be passed there).

## How to confirm
`ls -l /dev/dxg` and, on Windows, `wsl --version` and `wsl -l -v` (VERSION must be 2).

## Fix
On Windows: install the vendor's current GPU driver, then `wsl --update` and `wsl --shutdown`. Never install a Linux
kernel driver in WSL. A WSL 1 distribution has no GPU: `wsl --set-version NAME 2`.

## Fix safety
`wsl --shutdown` stops all distributions.

## References
https://docs.nvidia.com/cuda/wsl-user-guide/index.html
https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/install/installrad/wsl/install-radeon.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """On the Windows side, in order."""
    vendors = vendors_there(machine) or run_line.vendors_meant(machine)
    named = {"amd": "AMD's", "nvidia": "NVIDIA's"}.get(next(iter(vendors)) if len(vendors) == 1 else "", "the vendor's")
    listed = (step(f"Check that AMD lists this GPU for WSL: {WSL_LIST}"),) if vendors == {"amd"} else ()
    second = (
        step("GPUs need WSL 2, on Windows 11 or Windows 10 21H2: VERSION must be 2.", "wsl.exe", "-l", "-v"),
        step("Convert a distribution of VERSION 1 (NAME).", "wsl.exe", "--set-version", "NAME", "2"),
    )
    steps = (
        *(() if "wsl2" in (machine.kernel.release or "").lower() else second),
        *listed,
        step(f"On Windows, install {named} current GPU driver. Never install a Linux kernel driver in WSL."),
        step("On Windows, update WSL.", "wsl.exe", "--update"),
        step("On Windows, restart WSL.", "wsl.exe", "--shutdown"),
    )
    stops = "stops every running WSL distribution"
    back = step("On Windows, install the old driver again; WSL itself keeps no older version.")
    return (way("Update the Windows GPU driver and WSL.", Scope.DRIVER, *steps, risk=stops, undo=(back,)),)


_NO_DRIVER = (
    "nvidia-smi-cannot-communicate", "nvidia-smi-not-found", "torch-no-nvidia-driver", "libcuda-missing",
    "cuda-no-device", "cuda-no-device-code", "rocm-module-not-loaded", "hip-no-device", "hip-no-device-code",
    "kfd-missing-in-container", "kfd-node-missing", "nvml-library-not-found", "nvml-library-missing",
    "wsl-adapter-not-found", "docker-custom-device-missing",
)  # fmt: skip


_NEVER_THERE = frozenset({"rocm-module-not-loaded", "kfd-missing-in-container"})
"""Always true under WSL: no amdgpu is loaded there and no /dev/kfd made, the way to the GPU is /dev/dxg."""


_RUNTIME_FAILS = ("hsa-init-no-supported-gpu", "hsa-init-out-of-resources", "wsl-librocdxg", "wsl-thunk-asserts",
                  "wsl-hsa-kmt")  # fmt: skip
"""What ROCm itself says where it lists nothing: a list beside it is of another day, or of another system."""


def _lists_gpu(machine: Snapshot) -> bool:
    """Whether rocminfo lists a GPU: then WSL's way to it is whole. That amdgpu is not loaded is normal there. A
    list beside a runtime that does not come up is of another run, or of other settings."""
    listed = any(gpu.index.hip is not None for gpu in machine.of_vendor("amd"))
    return listed and machine.symptom(*_RUNTIME_FAILS) is None


def _said(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """A text from WSL that says that no driver is there: under WSL it is Windows' driver that is not reached."""
    symptom = machine.symptom(*(key for key in _NO_DRIVER if key not in _NEVER_THERE or not _lists_gpu(machine)))
    if (
        symptom is None
        or machine.torch.available is True
        or machine.torch.build == "cpu"
        or machine.container.inside
        or (machine.environment or {}).get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1")  # that hides them all
        or wheel_runtime.hides_gpu(machine)  # WSL's own way is whole: rocminfo took it
    ):
        return
    yield Finding(
        summary="WSL cannot reach the Windows GPU driver.",
        severity=Severity.WARNING,
        subject=Subject(kind="node", id="/dev/dxg"),
        evidence=(Evidence(text=symptom.text, source=symptom.source), *evidence(machine, ("host.wsl", "os.name"))),
        remedies=advice(machine, kb),
        verify=("ls", "-l", "/dev/dxg"),
    )


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Only the node decides; its absence must be known."""
    if machine.host.wsl and not machine.container.inside and has_no(machine, "dxg"):
        yield Finding(
            summary="WSL cannot reach the GPU: /dev/dxg is missing.",
            subject=Subject(kind="node", id="/dev/dxg"),
            evidence=evidence(machine, ("host.wsl", "kernel.release", "nodes")),
            remedies=advice(machine, kb),
            verify=("ls", "-l", "/dev/dxg"),
        )
    elif machine.host.wsl:
        yield from _shadowed(machine)
        yield from _without_libcuda(machine, kb)
        yield from _said(machine, kb)


def _without_libcuda(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """NVML lists GPUs, and no program finds the CUDA library that WSL puts into /usr/lib/wsl/lib."""
    driver = machine.nvidia_driver
    if driver.libcuda_found is not False or not machine.of_vendor("nvidia"):
        return
    look = step("See whether it is there.", "ls", "-l", "/usr/lib/wsl/lib/libcuda.so.1")
    cache = way(
        "If the file is there, rebuild the loader's cache.",
        Scope.HOST,
        look,
        step("Rebuild it.", "ldconfig"),
        root=True,
    )
    yield Finding(
        summary="No program finds WSL's CUDA library, libcuda.so.1 of /usr/lib/wsl/lib.",
        subject=Subject(kind="library", id="libcuda.so.1"),
        evidence=evidence(machine, ("host.wsl", "nvidia_driver.libcuda_found")),
        remedies=(cache, *advice(machine, kb)),
        verify=("ldconfig", "-p"),
    )


def _shadowed(machine: Snapshot) -> Iterator[Finding]:
    """A Linux driver's libcuda, which has its version in its name as WSL's own has not, and comes first."""
    taken = machine.nvidia_driver.libcuda
    if not taken.version or machine.container.inside:
        return
    find = {"apt": ("dpkg-query", "-S", "libcuda.so.1"), "dnf": ("rpm", "-qf", taken.path or "libcuda.so.1")}
    owner = step("Find the package that brought it (PACKAGE below).", *find.get(family(machine) or "", ()))
    argv = ("apt-get", "purge", "--yes", "PACKAGE") if family(machine) == "apt" else ()
    remove = step("Remove it, and the packages nvidia-driver-* beside it.", *argv)
    yield Finding(
        summary=f"A Linux driver's libcuda ({taken.version}) hides the one of WSL: {taken.path}."[:180],
        subject=Subject(kind="library", id="libcuda.so.1"),
        evidence=evidence(machine, ("host.wsl", "nvidia_driver.libcuda.path", "nvidia_driver.libcuda.version")),
        remedies=(way("Remove the Linux driver from the WSL distribution.", Scope.DRIVER, owner, remove, root=True),),
        verify=("nvidia-smi",),
    )
