"""The node of a GPU is there, on a host, and this account may not open it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules import run_line
from doctor.rules.hardware import named, needed_nodes, nodes_of, refused

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="device-node-permission",
    severity=Severity.ERROR,
    title="This account may not open the GPU's device nodes.",
    needs=({"nodes"}, {"account.member_of", "gpus"}, {"account.member_of", "container.inside"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    facts_decide=False,
    tags=("access", "amd", "nvidia"),
    doc="""## What it finds
A node that GPU work opens (/dev/kfd, /dev/dri/renderD*, /dev/nvidia*) stands there, and owner, group and mode keep this
account out, outside of a container. In a text that shows the account's groups and no node: neither render nor video is
among them, and a program finds no AMD GPU.

## Why it matters
ROCm and CUDA open these nodes. `rocminfo` says "Unable to open /dev/kfd", torch sees no GPU.

## Not raised when
Opening works although the mode looks strict (an access list), mode 0666, root, a render node that no AMD GPU has (CUDA
opens none), a node that is missing (driver rules), inside a container (container-render-group-mismatch).

## How to confirm
`ls -ln /dev/kfd /dev/dri/renderD*` and `id -G`: the number of the node's group must be among yours.

## Fix
Join the group that owns the node, then log in again. A node that root's group owns lacks its udev rule.

## Fix safety
No reboot. Members of the group may use every GPU of the machine. Running programs keep their old groups.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/install/prerequisites.html (render and video groups)
""",
)

_UDEV = (
    'Write /etc/udev/rules.d/70-amdgpu.rules with: KERNEL=="kfd", GROUP="render", MODE="0660" and '
    'SUBSYSTEM=="drm", KERNEL=="renderD*", GROUP="render", MODE="0660".'
)
_LOGIN = Fix(text="Log out and in again, or restart the service: a session takes its groups when it starts.")
FIXES = (
    Fix(
        text="Join the group that owns the nodes (see `ls -l /dev/kfd /dev/dri`).",
        command=("usermod", "-aG", "render,video", "YOUR_USER"),
        root=True,
    ),
    _LOGIN,
)


def unheard(machine: Snapshot) -> bool:
    """Where AMD's nodes are shown, and the account is in each group that owns one, or all may open it. Where what is
    refused is a setting of LACT's, whose daemon is root. Where it is told that a group has another number on the two
    sides of a container, or that it helps to leave a profile out."""
    if machine.symptom("lact-told", "render-gid-differs-said", "helped-by-security-option") is not None:
        return True
    mine, nodes = machine.account.member_of or (), nodes_of(machine, "kfd", "render")
    whole = {n.kind for n in nodes} == {"kfd", "render"}
    return whole and all(n.group in mine or ((n.mode or 0) & 0o006) == 0o006 for n in nodes)


def excludes(machine: Snapshot) -> bool:
    """Where AMD's nodes are shown and all may open them: a tool's list of groups is not asked then. Where it helps to
    leave a security profile out."""
    if machine.symptom("helped-by-security-option") is not None:
        return True
    nodes = nodes_of(machine, "kfd", "render")
    whole = {n.kind for n in nodes} == {"kfd", "render"}
    return whole and all(((n.mode or 0) & 0o006) == 0o006 for n in nodes)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each group that owns refused nodes."""
    if machine.symptom("helped-by-security-option") is not None:
        return  # mode and groups are asked first: who gets past a profile alone had them
    if (machine.container.inside and "nvidia" not in run_line.vendors_meant(machine)) or run_line.passes_amd(machine):
        yield from _inside(machine)
        return
    owners: dict[int | None, list[DeviceNode]] = {}
    for node in needed_nodes(machine):
        if refused(machine, node) or _said_of(machine, node):
            owners.setdefault(node.gid, []).append(node)
    for gid, nodes in owners.items():
        first = nodes[0]
        group = _group_name(machine, first)
        number = f"gid {gid}" if gid is not None else None
        owner = f"group {group}{f' ({number})' if number else ''}" if group else number or "another account"
        yield Finding(
            summary=f"This account may not open {named([n.key for n in nodes])}: {owner} owns it.",
            # CUDA says "unknown error" of a node that it may not open, too; a tool, that it does not reach the driver.
            explains=(*RULE.explains, "nvidia-uvm-stale-after-suspend", "nvidia-driver-not-loaded")
            if _all_of_nvidia(nodes)
            else RULE.explains,
            subject=Subject(kind="node", id=first.key),
            evidence=(*(_line(machine, n) for n in nodes[:8]), _account(machine)),
            fixes=_fixes(machine, gid, group),
            verify=("test", "-r", first.key, "-a", "-w", first.key),
        )
    if not owners:
        yield from _no_group_at_all(machine)


def _all_of_nvidia(nodes: Iterable[DeviceNode]) -> bool:
    return all(node.key.startswith("/dev/nvidia") for node in nodes)


def _inside(machine: Snapshot) -> Iterator[Finding]:
    """In a container: nodes that root's group owns, which no group lets an account reach; or an account that is shown
    to be in neither of the groups, where root reaches the GPU."""
    if not machine.account.member_of or machine.account.uid == 0:
        return
    said = machine.symptom(*_ROOT_REACHES)
    nodes = nodes_of(machine, "kfd", "render")
    yield from _not_joined(machine, nodes)
    if said is None:
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
        summary=f"This container's account may not open the GPU's nodes: {whose}.",
        subject=Subject(kind="node", id=roots[0].key if roots else "/dev/kfd"),
        evidence=(
            *(_line(machine, n) for n in roots[:8]),
            Evidence(
                text=f"groups: {', '.join(machine.account.member_of)[:200]}", source=machine.source("account.member_of")
            ),
            Evidence(text=said.text[:200], source=said.source),
        ),
        fixes=(Fix(text="Give the nodes in the container to a group, and the account that group's number."),),
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
        evidence=(*(_line(machine, n) for n in shut[:8]), _account(machine)),
        fixes=(Fix(text="Give the account that group where it is made (USER in the image), or with --group-add."),),
    )


def _shut(node: DeviceNode) -> bool:
    return node.mode is not None and node.mode & 0o006 != 0o006


_ROOT_REACHES = (
    *("amd-tool-needs-root-told", "gpu-tool-of-root-alone-told", "root-alone-reaches-gpu"),
    *("dri-open-permission", "kfd-open-permission"),
)


def _no_group_at_all(machine: Snapshot) -> Iterator[Finding]:
    """Of a text that shows the account's groups, and no node: neither of the groups that own an AMD GPU's nodes is
    among them, and a program finds no GPU."""
    groups = machine.account.member_of
    if not groups or machine.account.uid == 0 or machine.nodes or not machine.of_vendor("amd"):
        return
    unseen = machine.symptom(*_SEES_NONE)
    if unseen is None or {"render", "video", "root", "nogroup"} & set(groups):
        return
    yield Finding(
        severity=Severity.WARNING,
        summary="This account is in neither of the groups render and video, which own an AMD GPU's nodes.",
        subject=Subject(kind="node", id="/dev/kfd"),
        evidence=(
            Evidence(text=f"groups: {', '.join(groups)[:200]}", source=machine.source("account.member_of")),
            Evidence(text=unseen.text[:200], source=unseen.source),
        ),
        fixes=FIXES,
        verify=("test", "-r", "/dev/kfd", "-a", "-w", "/dev/kfd"),
    )


_SEES_NONE = (
    *("torch-cannot-use-gpu-webui", "torch-reports-no-gpu", "hip-no-device", "rocm-no-agent-told"),
    *("cpu-in-place-of-gpu-told", "hsa-init-out-of-resources", "kfd-open-permission"),
    "gpu-not-seen-said",
)


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
    *("nvidia-node-permission", "kfd-open-permission", "dri-open-permission", "cuda-unknown-999"),
    "root-alone-reaches-gpu",
)
_NOT_REACHED = (
    *("container-cli-driver-rpc", "insufficient-permissions-said", "cuda-no-device", "nvidia-smi-no-devices"),
    *("torch-reports-no-gpu", "gpu-not-seen-said", "nvml-unknown-error", "nvidia-smi-cannot-communicate"),
)


def _group_name(machine: Snapshot, node: DeviceNode) -> str | None:
    if node.group and not node.group.isdigit():
        return node.group
    groups = machine.account.groups or {}
    return next((name for name, gid in groups.items() if gid == node.gid), None)


def _line(machine: Snapshot, node: DeviceNode) -> Evidence:
    mode = f"{node.mode:04o}" if node.mode is not None else "?"
    ids = (("uid", node.uid), ("gid", node.gid))
    owners = ", ".join(f"{what} {number if number is not None else 'unknown'}" for what, number in ids)
    if node.gid is None and node.group:
        owners = f"{owners.partition(',')[0]}, group {node.group}"
    answer = f", opening it answers {node.open_error}" if node.open_error else ""
    return Evidence(
        text=f"{node.key}: mode {mode}, {owners}{answer}",
        source=machine.source(f"nodes[{node.key}].mode"),
    )


def _account(machine: Snapshot) -> Evidence:
    gids = machine.account.gids
    listed = ", ".join(map(str, gids)) if gids is not None else "unknown"
    return Evidence(text=f"this account's groups: {listed}", source=machine.source("account.gids"))


def _fixes(machine: Snapshot, gid: int | None, group: str | None) -> tuple[Fix, ...]:
    if gid == 0 or group == "root":
        reload = Fix(text="Apply it.", command=("udevadm", "trigger"), root=True)
        return (Fix(text=_UDEV, root=True), reload)
    if gid is None:
        return FIXES
    if group and group in (machine.account.member_of or ()):
        return (_LOGIN,)
    if not group:
        make = Fix(text=f"Give gid {gid} a name.", command=("groupadd", "--gid", str(gid), "gpu"), root=True)
        return (make, _join(machine, "gpu"), _LOGIN)
    return (_join(machine, group), _LOGIN)


def _join(machine: Snapshot, group: str) -> Fix:
    user = machine.account.user or "YOUR_USER"
    return Fix(
        text=f"Join the group {group} (usermod -aG {group} $USER).", command=("usermod", "-aG", group, user), root=True
    )
