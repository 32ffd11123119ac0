"""GPUs by a CDI spec: the device whose nodes are exactly those of a chosen GPU, whatever the spec calls it.

The numbers of a spec are its generator's; a spec that was made before a card was moved, or on another order, would
hand out another GPU under the same name.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from doctor.facts.snapshot import Snapshot
from doctor.launch.choose import Choice, Chosen
from doctor.launch.engine import CDI_SINCE, Engine, Spec
from doctor.launch.nodes import Access, called, groups
from doctor.launch.spec import Part, Trouble
from doctor.parsers.container.cdi_spec import Edits

KINDS = {"amd": "amd.com/gpu", "nvidia": "nvidia.com/gpu"}
MAKE = {
    "amd": "sudo amd-ctk cdi generate --output=/etc/cdi/amd.json",
    "nvidia": "sudo nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml",
}
_LINKED = ("/etc/", "/run/", "/var/run/")
"""Folders that rootlesskit fills with links (its --copy-up=/etc and /run). Docker's CDI library walks a folder and does
not follow a link to it (pkg/cdi/spec-dirs.go, filepath.Walk; Docker 26.1.5 answers "unresolvable CDI devices")."""
_OWN_NODES = {"amd": re.compile(r"/dev/dri/renderD\d+"), "nvidia": re.compile(r"/dev/nvidia\d+|/dev/nvidia-caps/.+")}
"""Nodes that belong to one GPU (or MIG instance) alone."""


@dataclass(frozen=True)
class Entry:
    """A device of a spec."""

    name: str
    spec: Spec
    edits: Edits

    def own(self, vendor: str) -> frozenset[str]:
        return frozenset(node for node in self.edits.nodes if _OWN_NODES[vendor].fullmatch(node))


def by_cdi(machine: Snapshot, engine: Engine, choice: Choice) -> Access:
    """With troubles where there is no spec of the vendor, or one that can't be used."""
    vendor = choice.vendor or "amd"
    kind, make = KINDS[vendor], MAKE[vendor]
    specs = [spec for spec in engine.specs if spec.read.kind == kind]
    if not specs:
        where = " or ".join(engine.cdi_folders)
        return Access((), (Trouble(f"there is no CDI spec for {kind} in {where}", make),))
    if not engine.cdi:
        return Access((), (_no_cdi(engine),))
    if engine.name == "docker" and engine.rootless and all(f.startswith(_LINKED) for f in engine.cdi_folders):
        text = f"rootless Docker does not find the specs in {' and '.join(engine.cdi_folders)}: it sees links there"
        return Access((), (Trouble(text, f"use --by {'nodes' if vendor == 'amd' else 'runtime'}"),))
    there = {name: Entry(name, spec, edits) for spec in specs for name, edits in spec.read.devices.items()}
    found = _chosen(there, choice, vendor)
    missing = [chosen for chosen, entry in found if entry is None and chosen is not None]
    entries = {entry.name: (entry, chosen) for chosen, entry in found if entry is not None}
    troubles = [_no_entry(chosen, specs, make) for chosen in missing]
    troubles += _faults(engine, {e.spec.path: e.spec for e, _ in entries.values()}, make)
    troubles += _twice(specs, entries, make)
    troubles += _stale([entry for entry, _ in entries.values()], make)
    parts = []
    for name, (entry, chosen) in entries.items():
        what = f"all GPUs of {vendor}" if chosen is None else called(chosen)
        parts.append(Part("cdi", f"{kind}={name}", f"{what}, as {entry.spec.path} describes it"))
    if vendor == "amd":
        edits = [e for entry, _ in entries.values() for e in (entry.spec.read.common, entry.edits)]
        gids = dict(pair for one in edits for pair in one.owners)
        owned = groups(machine, engine, choice.nodes, gids)
        return Access((*parts, *owned.parts), (*troubles, *owned.troubles))
    return Access(tuple(parts), tuple(troubles))


def _no_cdi(engine: Engine) -> Trouble:
    if engine.name == "docker" and engine.version.numbers >= CDI_SINCE["docker"]:
        return Trouble(
            f"Docker {engine.version} is not configured to read CDI specs",
            'add {"features": {"cdi": true}} to /etc/docker/daemon.json and restart docker',
        )
    return Trouble(f"{engine.name} {engine.version} can't read CDI specs", "Docker 25 or podman 4.1 and later can")


def _chosen(there: Mapping[str, Entry], choice: Choice, vendor: str) -> list[tuple[Chosen | None, Entry | None]]:
    """Each chosen GPU with its entry; one entry for all where there is one that holds exactly the chosen."""
    wanted = [chosen.own_nodes for chosen in choice.gpus]
    every = there.get("all")
    if choice.every and every is not None and (not all(wanted) or every.own(vendor) == frozenset().union(*wanted)):
        return [(None, every)]
    return [(chosen, _entry(there, chosen, vendor)) for chosen in choice.gpus]


def _entry(there: Mapping[str, Entry], chosen: Chosen, vendor: str) -> Entry | None:
    """Where the nodes are not known, a spec's word is taken."""
    named = there.get(chosen.name)
    if not chosen.own_nodes:
        return named
    same = [entry for entry in there.values() if entry.own(vendor) == chosen.own_nodes and entry.name != "all"]
    return named if named in same else next(iter(same), None)


def _no_entry(chosen: Chosen, specs: list[Spec], make: str) -> Trouble:
    known = ", ".join(sorted(name for spec in specs for name in spec.read.devices)[:12]) or "none"
    return Trouble(f"{specs[-1].path} has no device that is {called(chosen)}; it has {known}", make)


def _faults(engine: Engine, specs: Mapping[str, Spec], make: str) -> Iterator[Trouble]:
    for path, spec in specs.items():
        if not engine.reads(spec.read):
            yield Trouble(
                f"{path} is of CDI {spec.read.version}; "
                f"{engine.name} {engine.version} reads up to {engine.newest_spec}",
                f"generate it for the older version, or pass nodes: --by nodes ({make})",
            )


def _twice(specs: list[Spec], entries: Mapping[str, object], make: str) -> Iterator[Trouble]:
    """Of one folder neither wins: engines refuse the device (SPEC.md of CDI; a later folder wins over an earlier)."""
    seen: dict[tuple[str, str], str] = {}
    for spec in specs:
        folder = spec.path.rpartition("/")[0]
        for name in spec.read.devices:
            first = seen.setdefault((folder, name), spec.path)
            if name in entries and first != spec.path:
                yield Trouble(
                    f"{first} and {spec.path} both name device {name}: engines take neither", f"remove one; {make}"
                )


def _stale(entries: list[Entry], make: str) -> Iterator[Trouble]:
    """Fatal where what was chosen names a path that is not there; a remark where another device does."""
    for path, spec in {entry.spec.path: entry.spec for entry in entries}.items():
        if not spec.missing:
            continue
        own = [entry.edits for entry in entries if entry.spec.path == path]
        needed = {p for edits in (spec.read.common, *own) for p in (*edits.nodes, *edits.mounts)}
        gone = next((p for p in spec.missing if p in needed), None)
        yield Trouble(
            f"{path} is stale: it names {gone or spec.missing[0]}, which is not there", make, gone is not None
        )
