"""Inside a container: the node is there, a group owns it by number, and that number is not among this account's."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.rules.hardware import named, needed_nodes, refused

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="container-render-group-mismatch",
    severity=Severity.ERROR,
    title="The GPU's nodes belong to a group number that this container's account does not have.",
    needs=({"container.inside", "nodes"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=20,
    tags=("access", "container", "amd"),
    doc="""## What it finds
Inside a container, a GPU node whose owning gid is not among this account's groups. The kernel compares numbers: a group
named render in the image often has another number than on the host.

## Why it matters
`--group-add render` then adds the image's number, and `rocminfo` still says "Unable to open /dev/kfd".

## Not raised when
The account is root, the node is open to all, opening works, or the node was not passed at all
(container-missing-gpu-passthrough).

## How to confirm
In the container: `stat -c '%g %n' /dev/kfd /dev/dri/renderD*` and `id -G`.

## Fix
Start the container with `--group-add NUMBER`, the number as the node shows it.
Rootless podman: `--group-add keep-groups`.

## Fix safety
The container must be started again. Nothing on the host changes.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
https://github.com/odysseus-dev/odysseus/pull/515
""",
)

_UNMAPPED = 65534
FIXES = (
    Fix(text="On the host, read the number of the owning group.", command=("stat", "-c", "%g", "/dev/kfd")),
    Fix(
        text="Start the container with --group-add and that number (RENDER_GID), not with the group's name.",
        command=(
            *("docker", "run", "--device", "/dev/kfd", "--device", "/dev/dri"),
            *("--group-add", "RENDER_GID", "IMAGE"),
        ),
    ),
)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each owning gid that the account lacks."""
    if not machine.container.inside:
        return
    owners: dict[int, list[DeviceNode]] = {}
    for node in needed_nodes(machine):
        mine = machine.account.gids
        if refused(machine, node) and node.gid is not None and (mine is None or node.gid not in mine):
            owners.setdefault(node.gid, []).append(node)
    for gid, nodes in owners.items():
        yield Finding(
            summary=f"gid {gid} owns {named([n.key for n in nodes])}; this container's account is not in it.",
            subject=Subject(kind="node", id=nodes[0].key),
            evidence=tuple(_evidence(machine, gid, nodes)),
            fixes=(_fix(machine, gid),),
            verify=("id", "-G"),
        )


def _evidence(machine: Snapshot, gid: int, nodes: list[DeviceNode]) -> Iterator[Evidence]:
    for node in nodes[:8]:
        mode = f"{node.mode:04o}" if node.mode is not None else "?"
        yield Evidence(text=f"{node.key}: mode {mode}, gid {gid}", source=machine.source(f"nodes[{node.key}].mode"))
    gids = machine.account.gids
    if gids is not None:
        listed = ", ".join(map(str, gids))
        yield Evidence(text=f"this account's groups: {listed}", source=machine.source("account.gids"))
    for name, number in (machine.account.groups or {}).items():
        if name in ("render", "video") and number != gid:
            source = machine.source("account.groups")
            yield Evidence(text=f"the group named {name} has gid {number} in this container", source=source)


def _fix(machine: Snapshot, gid: int) -> Fix:
    engine = machine.container.engine
    if engine == "kubernetes":
        return Fix(text=f"Set spec.securityContext.supplementalGroups: [{gid}] in the pod.")
    podman = engine == "podman"
    group = "keep-groups" if podman or gid == _UNMAPPED else str(gid)
    program = "podman" if podman or gid == _UNMAPPED else "docker"
    return Fix(
        text=f"Start the container with --group-add {group}.",
        command=(program, "run", "--device", "/dev/kfd", "--device", "/dev/dri", "--group-add", group, "IMAGE"),
    )
