from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.engines import CdiFile
from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.gpu_identity import strangers
from doctor.versions import Dotted

RULE = Rule(
    id="cdi-spec-missing-or-stale",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.RECONFIGURE,
    layer=Layer.CONTAINER,
    title="The CDI spec is missing, or was generated for another driver.",
    needs=(
        {"container.cdi_driver", "nvidia_driver.version"},
        {"cdi"},
        {"nvidia_driver.version", "symptom:cdi-stale-file"},
    ),
    proven="synthetic",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "nvidia-driver-library-mismatch", "container-toolkit-too-old"),
        "container-missing-gpu-passthrough",
        "nvidia-uvm-missing",  # a node of a number that nothing answers is as good as none
    ),
    order=19,
    facts_decide=False,
    tags=("access", "container"),
    doc="""## What it finds
No spec for nvidia.com/gpu (or amd.com/gpu) under /etc/cdi or /var/run/cdi. Or a spec that lists files of another
driver, or an old number for a device node. In a text: an engine that does not find a library of another release than
the driver's.

## Why it matters
Containers do not start: 'unresolvable CDI devices nvidia.com/gpu=all', or a mount of a library that a driver update
removed.

## Not raised when
The spec lists files of the loaded driver, all of them exist, and its nodes have the host's numbers. There is no spec,
and nothing asked for one.

## How to confirm
`nvidia-ctk cdi list` on the host; the driver version in the file names of /etc/cdi/nvidia.yaml.

## Fix
`nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml` (AMD: `amd-ctk cdi generate --output=/etc/cdi/amd.json`) on the
host, with root, after every driver update.

## Fix safety
Writes one file; running containers keep theirs.

## References
https://docs.nvidia.com/datacenter/cloud-native/container-toolkit/latest/cdi-support.html
""",
)


def _generate(program: str, file: str, vendor: str) -> Remedy:
    name = "NVIDIA's" if vendor == "nvidia" else "AMD's"
    write = step("Generate it; repeat this after each driver update.", program, "cdi", "generate", f"--output={file}")
    again = step("Recreate the containers that use it.")
    return way(f"Regenerate {name} CDI spec.", Scope.HOST, write, again, root=True, vendor=vendor)


_NVIDIA = _generate("nvidia-ctk", "/etc/cdi/nvidia.yaml", "nvidia")
_MAKE = {"nvidia.com/gpu": _NVIDIA, "amd.com/gpu": _generate("amd-ctk", "/etc/cdi/amd.json", "amd")}
_IN_DOCKER = way(
    "Enable CDI in Docker.",
    Scope.HOST,
    step('Add `"features": {"cdi": true}` to /etc/docker/daemon.json (Docker 25 or newer).'),
    step("Restart Docker.", "systemctl", "restart", "docker"),
    root=True,
    restarts=("docker",),
    risk="stops running containers unless live-restore is on",
    undo=(step("Remove it from the file and restart Docker."),),
)
_PLACE = Lazy(r"/(?:etc|var/run|run)/cdi/[\w.-]{1,80}\.(?:ya?ml|json)")


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Docker names the driver that it lacks where CDI is off; without a spec it starts and names the device."""
    return (_IN_DOCKER,) if machine.symptom("docker-no-cdi-driver") else tuple(_MAKE.values())


def _again(file: CdiFile, kind: str) -> Remedy:
    """In the place of the stale one: two specs of one device are a conflict."""
    vendor = kind.partition(".")[0]
    return _generate(f"{vendor}-ctk", file.key, vendor) if _PLACE.fullmatch(file.key) else _MAKE[kind]


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """The driver whose files a spec names against the one that is loaded, and files that are not there."""
    spec, loaded = machine.container.cdi_driver, machine.nvidia_driver.version
    if spec and loaded and spec != loaded and not Dotted(loaded).is_branch_of(spec):
        yield Finding(
            summary=f"The CDI spec is for driver {spec[:20]}, but {loaded[:20]} is loaded.",
            subject=Subject(kind="file", id="/etc/cdi/nvidia.yaml"),
            evidence=evidence(machine, ("container.cdi_driver", "nvidia_driver.version")),
            remedies=(_NVIDIA,),
            verify=("nvidia-ctk", "cdi", "list"),
        )
    for file in machine.cdi or ():
        yield from _stale(machine, file)
    yield from _of_text(machine)


_FILE = Lazy(r"(lib[\w-]{1,40})\.so\.(\d{3}\.\d{2,3}(?:\.\d{2})?)(?![\w.]*\d)")


def _of_text(machine: Snapshot) -> Iterator[Finding]:
    """A library of the driver that an engine misses, of another release than the loaded one: a list of files that
    was made before the driver changed."""
    stale, loaded = machine.symptom("cdi-stale-file"), machine.nvidia_driver.version
    found = _FILE.search(stale.text) if stale else None
    engine = machine.container.engine_text or machine.container.engine or machine.container.run_args
    if stale is None or found is None or not loaded or found[2] == loaded or not (engine or machine.container.inside):
        return
    yield Finding(
        summary=f"The engine looks for {found[1]} of driver {found[2]}, but {loaded[:20]} is installed.",
        severity=Severity.WARNING,
        basis="both",
        subject=Subject(kind="file", id="/etc/cdi/nvidia.yaml"),
        evidence=(Evidence(text=stale.text, source=stale.source), *evidence(machine, ("nvidia_driver.version",))),
        remedies=(_NVIDIA,),
        verify=("nvidia-ctk", "cdi", "list"),
    )


def _moved(machine: Snapshot, file: CdiFile) -> DeviceNode | None:
    """A node that the spec numbers otherwise than the host: a module that was loaded again may get another number."""
    given = file.majors or {}
    of_kind = [other.key for other in machine.cdi or () if other.kind == file.kind]
    if file.key.startswith("/etc/") and any(key.startswith("/var/") for key in of_kind):
        return None  # the engine takes the spec of /var/run/cdi
    return next((n for n in machine.nodes or () if n.major is not None and given.get(n.key, n.major) != n.major), None)


def _stale(machine: Snapshot, file: CdiFile) -> Iterator[Finding]:
    """A warning: only containers that ask for its devices fail."""
    kind = file.kind or next((kind for kind in _MAKE if kind.partition(".")[0] in file.key), "")
    if kind not in _MAKE:
        return
    loaded = machine.nvidia_driver.version
    names: tuple[str, ...] = (f"cdi[{file.key}].driver", "nvidia_driver.version", f"cdi[{file.key}].missing")
    if file.fault is not None:
        why, names = f"cannot be read: {file.fault[:60]}", (f"cdi[{file.key}].fault",)
    elif file.driver and loaded and file.driver != loaded:
        why = f"is for driver {file.driver[:20]}, but {loaded[:20]} is loaded"
    elif file.missing:
        why = f"lists {file.missing[0][:60]}, which does not exist"
    elif moved := _moved(machine, file):
        why = f"lists major number {(file.majors or {})[moved.key]} for {moved.key[:60]}; it is {moved.major}"
        names = (*names, f"cdi[{file.key}].majors", f"nodes[{moved.key}].major")
    elif gone := strangers(machine, kind.partition(".")[0], ",".join(file.devices or ())):
        why = f"offers {gone[0][:44]}, but this machine has no such GPU"
        names = (*names, f"cdi[{file.key}].devices")
    else:
        return
    yield Finding(
        summary=f"The CDI spec {file.key[:60]} {why}.",
        severity=Severity.WARNING,
        subject=Subject(kind="file", id=file.key),
        evidence=evidence(machine, names),
        remedies=(_again(file, kind),),
        verify=("nvidia-ctk" if kind.startswith("nvidia") else "amd-ctk", "cdi", "list"),
    )
