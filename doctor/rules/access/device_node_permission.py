from __future__ import annotations

from collections.abc import Iterable, Iterator

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Step, Subject, evidence
from doctor.rules.lib import container_advice, run_line
from doctor.rules.lib.advice import STOPS_NODE, step, way, writes
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.commands import REBOOT
from doctor.rules.lib.hardware import has_no, named, needed_nodes, nodes_of, refused

RULE = Rule(
    id="device-node-permission",
    severity=Severity.ERROR,
    scope=Scope.HOST,
    action=Action.RECONFIGURE,
    layer=Layer.DEVICES,
    title="This account cannot open the GPU's device nodes.",
    needs=({"nodes"}, {"account.member_of", "gpus"}, {"account.member_of", "container.inside"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    facts_decide=False,
    tags=("access", "amd", "nvidia"),
    doc="""## What it finds
A node that GPU work opens (/dev/kfd, /dev/dri/renderD*, /dev/nvidia*) exists, but owner, group and mode do not let
this account open it, outside of a container. Or the kernel's KFD drives a GPU and ROCm is installed, but /dev/kfd is
missing.

## Why it matters
No GPU program can start without these nodes, and torch sees no GPU.

## Not raised when
Opening works despite a strict mode (an access list), mode 0666, root, a render node that no AMD GPU has (CUDA opens
none), any other node that is missing (driver rules), inside a container (container-render-group-mismatch).

## How to confirm
`ls -ln /dev/kfd /dev/dri/renderD*` and `id -G`: the number of the node's group must be among yours.

## Fix
- On a host: `usermod -aG render,video USER` (the group that `ls -l /dev/kfd` shows), then log in again.
- In a container: `--group-add GID` with the number of that group on the host; Podman `--group-add keep-groups`.
- In a pod: `spec.securityContext.supplementalGroups: [GID]`.
- The group root owns the node: its udev rule is missing. Write one to /etc/udev/rules.d and run `udevadm trigger`.

## Fix safety
Root, no reboot. Members of the group may use every GPU of the machine. Running programs keep their old groups. Undo:
`gpasswd -d USER render`.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html (render and video groups)
""",
)

_RULES = (
    'KERNEL=="kfd", GROUP="render", MODE="0660"',
    'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660"',
)
_LOGIN = step("Log out and in again, or restart the service: a session gets its groups when it starts.")


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where the owner is not known: the groups that distributions give an AMD GPU's nodes to."""
    if machine.of_vendor("nvidia") and not machine.of_vendor("amd"):
        return (_nvidia_modes(machine),)
    return _remedies(machine, None, None)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    if (machine.container.inside and "nvidia" not in run_line.vendors_meant(machine)) or run_line.passes_amd(machine):
        yield from _inside(machine)
        return
    owners: dict[int | None, list[DeviceNode]] = {}
    for node in needed_nodes(machine):
        if refused(machine, node) or _said_of(machine, node):
            owners.setdefault(node.gid, []).append(node)
    yield from _without_kfd(machine)
    for gid, nodes in owners.items():
        first = nodes[0]
        group = _group_name(machine, first)
        number = f"gid {gid}" if gid is not None else None
        owner = f"group {group}{f' ({number})' if number else ''}" if group else number
        owned = f": {owner} owns {'them' if nodes[1:] else 'it'}" if owner else ""
        yield Finding(
            summary=f"This account cannot open {named([n.key for n in nodes])}{owned}.",
            # CUDA says "unknown error" of a node that it may not open, too; a tool, that it does not reach the driver.
            explains=(*RULE.explains, "nvidia-uvm-stale-after-suspend", "nvidia-driver-not-loaded")
            if _all_of_nvidia(nodes)
            else RULE.explains,
            subject=Subject(kind="node", id=first.key),
            evidence=(*(_line(machine, n) for n in nodes[:8]), *_account(machine)),
            remedies=_remedies(machine, gid, group),
            verify=("test", "-r", first.key, "-a", "-w", first.key),
        )


_AGAIN = "Reboot: the kernel creates the node when it starts."


def _without_kfd(machine: Snapshot) -> Iterator[Finding]:
    """On a host: the kernel offers KFD and nobody made its node, so that ROCm has nothing to open."""
    if not machine.kfd.present or machine.container.inside is not False or not has_no(machine, "kfd"):
        return
    drives = any(n.gfx for n in machine.kfd.nodes or ())
    if not drives or not (machine.rocm or machine.torch.build == "rocm"):
        return
    yield Finding(
        summary="/dev/kfd, which ROCm needs, is missing, although the kernel has set up the GPUs for compute.",
        subject=Subject(kind="node", id="/dev/kfd"),
        evidence=evidence(machine, ("kfd.nodes", "nodes", "rocm", "torch.build")),
        remedies=(way(_AGAIN, Scope.HOST, REBOOT, root=True, reboot=True, risk=STOPS_NODE),),
        verify=("ls", "-l", "/dev/kfd"),
    )


def _all_of_nvidia(nodes: Iterable[DeviceNode]) -> bool:
    return all(node.key.startswith("/dev/nvidia") for node in nodes)


def _inside(machine: Snapshot) -> Iterator[Finding]:
    """In a container: nodes that root's group owns, which no group lets an account reach; or an account that is shown
    to be in neither of the groups, where root reaches the GPU."""
    if not machine.account.member_of or machine.account.uid == 0:
        return
    as_root = machine.symptom(*_ROOT_REACHES)
    nodes = nodes_of(machine, "kfd", "render")
    yield from _not_joined(machine, nodes)
    if as_root is None:
        return
    roots = [n for n in nodes if n.uid == 0 and (n.gid == 0 or n.group == "root") and _shut(n)]
    outside = not {"render", "video", "root", "nogroup"} & set(machine.account.member_of)
    if not roots and not (outside and not machine.nodes):
        return
    whose = f"the group root owns {named([n.key for n in roots])}" if roots else "it is in neither render nor video"
    yield Finding(
        severity=Severity.WARNING,
        basis="both",
        explains=(),
        summary=f"This container's account cannot open the GPU's device nodes: {whose}.",
        subject=Subject(kind="node", id=roots[0].key if roots else "/dev/kfd"),
        evidence=(
            *(_line(machine, n) for n in roots[:8]),
            Evidence(
                text=f"groups: {', '.join(machine.account.member_of)[:200]}", source=machine.source("account.member_of")
            ),
            Evidence(text=as_root.text[:200], source=as_root.source),
        ),
        remedies=(
            way(
                "Set a group for the nodes in the container, and add the account to it.",
                Scope.CONTAINER,
                step("Set the nodes' group in the container's settings (LXD, Incus: the gid of its gpu device)."),
                step("Add the account to that group in the container."),
                risk="restarts the container",
            ),
        ),
    )


def _not_joined(machine: Snapshot, nodes: Iterable[DeviceNode]) -> Iterator[Finding]:
    """The container knows the owning group by a name, and its account is shown not to be in it. To join it helps there,
    as the group's number on the run line does. A node that opens is open, whatever its mode says: by an access list or
    a capability."""
    mine = machine.account.member_of or ()
    owned = (n for n in nodes if n.uid == 0 and n.group in ("render", "video") and n.group not in mine)
    shut = [n for n in owned if _shut(n) and not n.openable]
    if not shut or machine.account.uid is None or any((n.gid or -1) in (machine.account.gids or ()) for n in shut):
        return
    yield Finding(
        severity=Severity.WARNING,
        explains=(),
        summary=f"This container's account is not in the group {shut[0].group}, which owns"
        f" {named([n.key for n in shut])}.",
        subject=Subject(kind="node", id=shut[0].key),
        evidence=(*(_line(machine, n) for n in shut[:8]), *_account(machine)),
        remedies=(container_advice.with_group(machine, shut[0].gid),),
    )


def _shut(node: DeviceNode) -> bool:
    return node.mode is not None and node.mode & 0o006 != 0o006


_ROOT_REACHES = ("dri-open-permission", "kfd-open-permission", "kfd-denied")


def _said_of(machine: Snapshot, node: DeviceNode) -> bool:
    """Not open to all, and a text that does not show the account says that it is refused, or root alone owns it."""
    if node.mode is None or node.mode & 0o006 == 0o006 or machine.account.uid is not None or machine.account.member_of:
        return False
    if machine.symptom(*_REFUSED) is not None:
        return True
    # The driver makes NVIDIA's nodes open to all: closed ones are somebody's setting.
    if _all_of_nvidia([node]) and machine.symptom(*_NOT_REACHED) is not None:
        return True
    if node.uid != 0 or node.kind not in ("kfd", "render") or machine.torch.available:
        return False
    # Open to the group root: so does a container show them in which root works, and all is well there.
    return node.mode & 0o060 != 0o060 or (node.group == "root" and machine.torch.available is False)


_REFUSED = (
    *("nvidia-node-permission", "kfd-open-permission", "kfd-denied", "dri-open-permission", "cuda-unknown-999"),
)
_NOT_REACHED = (
    *("container-cli-driver-error", "cuda-no-device", "cuda-no-device-code", "nvidia-smi-no-devices"),
    *("torch-reports-no-gpu", "torch-reports-no-hip-gpu", "nvml-unknown-error", "nvidia-smi-cannot-communicate"),
)


def _group_name(machine: Snapshot, node: DeviceNode) -> str | None:
    if node.group and not node.group.isdigit():
        return node.group
    groups = machine.account.groups or {}
    return next((name for name, gid in groups.items() if gid == node.gid), None)


def _line(machine: Snapshot, node: DeviceNode) -> Evidence:
    known = (
        f"mode {node.mode:04o}" if node.mode is not None else "",
        f"uid {node.uid}" if node.uid is not None else "",
        f"gid {node.gid}" if node.gid is not None else f"group {node.group}" if node.group else "",
        f"opening it fails with {node.open_error}" if node.open_error else "",
    )
    return Evidence(text=f"{node.key}: {', '.join(filter(None, known))}", source=machine.source(f"nodes[{node.key}]"))


def _account(machine: Snapshot) -> tuple[Evidence, ...]:
    gids = machine.account.gids
    listed = ", ".join(map(str, gids or ()))
    return (Evidence(text=f"this account's groups: {listed}", source=machine.source("account.gids")),) if gids else ()


def _remedies(machine: Snapshot, gid: int | None, group: str | None) -> tuple[Remedy, ...]:
    """In a container by its options, never on the host; on a host by the account's groups or the node's udev rule."""
    if machine.container.inside or machine.container.engine == "kubernetes":
        return (container_advice.with_group(machine, gid),)
    if gid == container_advice.UNMAPPED or group in ("nogroup", "nobody"):  # seen from a user namespace
        return (container_advice.with_group(machine, None, mapped=False),)
    if gid == 0 or group == "root":
        return (_udev(),)
    if (group and group in (machine.account.member_of or ())) or "groups" in (machine.host.tried or ()):
        again = "Log in again, so that the session gets the account's groups."
        return (way(again, Scope.HOST, _LOGIN, risk="stops the programs of the session"),)
    if gid is None:
        find = step("Read which group owns the nodes.", "ls", "-l", "/dev/kfd", "/dev/dri")
        return (_join(machine, "render,video", find),)
    if not group:
        make = step(f"Create a group for gid {gid}.", "groupadd", "--gid", str(gid), "gpu")
        return (_join(machine, "gpu", make),)
    return (_join(machine, group),)


def _udev() -> Remedy:
    write = writes("/etc/udev/rules.d/70-amdgpu.rules", *_RULES)
    apply = step("Apply it.", "udevadm", "trigger")
    undo = (step("Remove the file.", "rm", "/etc/udev/rules.d/70-amdgpu.rules"),)
    title = "Add the udev rule that assigns the nodes to the group render."
    return way(title, Scope.HOST, write, apply, root=True, vendor="amd", undo=undo)


def _join(machine: Snapshot, group: str, before: Step | None = None) -> Remedy:
    user = machine.account.user or "YOUR_USER"
    which = "" if machine.account.user else " (YOUR_USER: the account that runs the program)"
    join = step(f"Add the account to the group{which}.", "usermod", "-aG", group, user)
    undo = tuple(step(f"Leave {one}.", "gpasswd", "-d", user, one) for one in group.split(","))
    steps = (*((before,) if before else ()), join, _LOGIN)
    title = f"Add this account to the group{'s' * (',' in group)} {group.replace(',', ' and ')}."
    return way(title, Scope.HOST, *steps, root=True, undo=undo)


def _nvidia_modes(machine: Snapshot) -> Remedy:
    """The driver makes its nodes open to all: closed ones are a setting."""
    find = step(
        "Find the setting (NVreg_DeviceFileMode, _GID, _UID).", "grep", "-rn", "NVreg_Device", "/etc/modprobe.d"
    )
    text = step("Join that group, or remove the setting and reload the driver.")
    return way("Check who may open NVIDIA's device nodes.", Scope.DRIVER, find, text, root=True, vendor="nvidia")
