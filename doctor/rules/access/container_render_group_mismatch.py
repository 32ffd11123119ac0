from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.host import DeviceNode
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import container_advice, run_line
from doctor.rules.lib.advice import step, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.container_advice import UNMAPPED
from doctor.rules.lib.hardware import named, needed_nodes, nodes_of, refused

RULE = Rule(
    id="container-render-group-mismatch",
    severity=Severity.ERROR,
    scope=Scope.CONTAINER,
    action=Action.REBUILD,
    layer=Layer.DEVICES,
    title="The container's account is not in the group that owns the GPU's device nodes.",
    needs=({"nodes"}, {"container.run_args"}, {"container.engine_text"}),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu", "blas-kernels-missing", "amd-gpu-unsupported-by-rocm"),
    order=20,
    facts_decide=False,
    tags=("access", "container", "amd"),
    doc="""## What it finds
Inside a container, a GPU node whose owning gid is not among this account's groups. The kernel compares numbers: a
group named render in the image often has another number than on the host. In a pasted text also: a run line that
passes AMD's nodes without a group number, or with numbers that may be another host's where no GPU is seen (a
suspicion). Nodes that cannot be opened and belong to nobody's group (65534): a user namespace (rootless engines,
unprivileged LXC) has no number for the host's group. Nodes whose group has no name in the image, where the text says
that the account is not root.

## Why it matters
Programs in the container cannot open /dev/kfd. `--group-add render` does not help: it adds the image's number of the
group, not the host's.

## Not raised when
The account is root, the node is open to all, opening works, or the node was not passed at all
(container-missing-gpu-passthrough). A run line without a group number is information unless the text says that no GPU
is seen: root in the container needs none. An image that is known to run as root, such as AMD's own and Ollama's.

## How to confirm
In the container: `stat -c '%g %n' /dev/kfd /dev/dri/renderD*` and `id -G`.

## Fix
Start the container with `--group-add NUMBER` (the node's group number). Rootless podman: `--group-add keep-groups`.

## References
https://rocm.docs.amd.com/projects/install-on-linux/en/latest/how-to/docker.html
https://github.com/odysseus-dev/odysseus/pull/515
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    return (container_advice.with_group(machine, None),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding for each owning gid that the account lacks; else what the run line lacks."""
    found = list(_of_nodes(machine)) or list(_unmapped(machine))
    yield from found or _of_run_line(machine, kb)


def _unmapped(machine: Snapshot) -> Iterator[Finding]:
    """Owned by nobody's group and refused: the container's user namespace maps the host's group to no number."""
    denied = machine.symptom("kfd-open-permission", "kfd-denied", "dri-open-permission") is not None
    nodes = [n for n in nodes_of(machine, "kfd", "render") if n.gid == UNMAPPED or n.group in ("nogroup", "nobody")]
    shut = [n for n in nodes if (denied or refused(machine, n)) and (n.mode or 0) & 0o006 != 0o006]
    if not shut or run_line.options(machine, "--group-add") == ("keep-groups",):
        return
    yield Finding(
        summary=f"The group that owns {named([n.key for n in shut])} on the host is not mapped into this container.",
        subject=Subject(kind="node", id=shut[0].key),
        evidence=tuple(_evidence(machine, UNMAPPED, shut)),
        explains=(*RULE.explains, "device-node-permission", "container-device-cgroup-denied"),
        remedies=(_map_fix(machine),),
        verify=("id", "-G"),
    )


def _map_fix(machine: Snapshot) -> Remedy:
    if machine.container.engine in ("podman", "docker"):
        return container_advice.with_group(machine, None, mapped=False)
    texts = (
        "Proxmox: pass the nodes as `dev0`, `dev1`, each with the group's number in the container as its gid option.",
        "LXD and Incus: set the gid option of the container's gpu device.",
        "Plain LXC: map the host's group with lxc.idmap.",
    )
    title = "Map the group that owns the GPU's nodes into the container."
    return way(title, Scope.CONTAINER, *map(step, texts), root=True, risk="restarts the container")


_BY_NUMBER = ("keep-groups", "$(")


def _of_run_line(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """The nodes are passed, and no group by its number."""
    groups = run_line.options(machine, "--group-add")
    if run_line.vendors_meant(machine) == {"nvidia"}:
        return  # /dev/dri is what its display and video need
    if (
        not run_line.passes_amd(machine)
        or any(group.strip("\"'").isdigit() or group.startswith(_BY_NUMBER) or "{" in group for group in groups)
        or _privileged(machine)
    ):
        return
    if machine.container.engine == "apptainer" and not run_line.options(machine, "--fakeroot", "-f"):
        return  # it keeps the account and its groups
    if machine.symptom("docker-custom-device-missing") is not None or run_line.apart(machine):
        return  # it was not started, or runs in a VM: the engine's host has no such node
    if machine.symptom("selinux-record", "selinux-denies") is not None:
        return  # owner and mode agreed: SELinux is asked after them
    if machine.symptom("torch-no-nvidia-driver") is not None:
        return  # its nodes may be opened, or torch asks for another vendor's
    seen = machine.symptom("kfd-open-permission", "kfd-denied", "dri-open-permission") is not None
    if not seen and (_image_of_root(machine) or run_line.lacking(machine, "amd")):
        return  # root opens them; a node that was not passed misses first; ROCm's own listing opens the nodes
    sure = seen or _in_neither(machine) or run_line.sees_none(machine)
    lacks = f"only {', '.join(groups)} by name" if groups else "no group"
    yield Finding(
        summary=f"The container gets AMD's device nodes and {lacks}, so only root can open them.",
        severity=Severity.WARNING if sure else Severity.INFO,
        suspect=0 if sure or machine.torch.available else 1,
        subject=Subject(kind="container", id="groups"),
        evidence=evidence(machine, ("container.run_args",)),
        remedies=advice(machine, kb),
        ask="`id -G` in the container, and `stat -c '%g %n' /dev/kfd /dev/dri/renderD*`",
        verify=("id", "-G"),
    )


def _in_neither(machine: Snapshot) -> bool:
    """The account is shown, and nodes that the group render or video owns, in which it is not."""
    owners = {node.group for node in nodes_of(machine, "kfd", "render")} & {"render", "video"}
    return machine.account.uid not in (None, 0) and bool(owners) and not owners & set(machine.account.member_of or ())


_ROOT_IMAGE = Lazy(
    r"^(?:\S{1,60}/)?(?:rocm/(?:pytorch|vllm|tensorflow|jax|sglang|sgl-dev|megatron-lm|dev-)"
    r"|ollama/ollama\b|lmsysorg/sglang|vllm/vllm-openai-rocm)"
)
"""AMD's images for frameworks, Ollama's, SGLang's and vLLM's, whose account is root: the run lines that their projects
publish mount caches under /root (docs.vllm.ai, docs.sglang.ai, hub.docker.com/r/ollama/ollama, rocm.docs.amd.com)."""


def _image_of_root(machine: Snapshot) -> bool:
    """Whether the image is known to run as root, and the run line names no other account."""
    words = (machine.container.image or "", *(machine.container.run_args or ()))
    return not run_line.options(machine, "--user", "-u") and any(_ROOT_IMAGE.search(word) for word in words)


def _privileged(machine: Snapshot) -> bool:
    """Root, --privileged, or WSL's one node, which belongs to no group."""
    users = run_line.options(machine, "--user", "-u")
    root = machine.account.uid == 0 or any(user.split(":")[0] in ("root", "0") for user in users)
    dxg = any("/dev/dxg" in device for device in run_line.options(machine, "--device"))
    return root or dxg or bool(machine.host.wsl) or bool(run_line.options(machine, "--privileged"))


def _of_nodes(machine: Snapshot) -> Iterator[Finding]:
    if not machine.container.inside and not run_line.passes_amd(machine):
        return
    owners: dict[int | str, list[DeviceNode]] = {}
    mine = machine.account.gids
    for node in needed_nodes(machine):
        owner = node.gid if node.gid is not None else node.group
        if owner is not None and refused(machine, node) and (mine is None or owner not in mine):
            owners.setdefault(owner, []).append(node)
    for gid, nodes in owners.items():
        group = f"gid {gid}" if isinstance(gid, int) else f"Group {gid}"
        yield Finding(
            summary=f"{group} owns {named([n.key for n in nodes])}, but this container's account is not in that group.",
            subject=Subject(kind="node", id=nodes[0].key),
            evidence=tuple(_evidence(machine, gid, nodes)),
            remedies=(container_advice.with_group(machine, gid if isinstance(gid, int) else None, gid != UNMAPPED),),
            verify=("id", "-G"),
        )


def _evidence(machine: Snapshot, gid: int | str, nodes: list[DeviceNode]) -> Iterator[Evidence]:
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
