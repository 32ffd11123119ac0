"""What a container gets, over machines of both vendors, engines and requests: every flag stands in the tables of
docs/run.md, and each chosen GPU is passed and no other."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import Path
from typing import Any

from doctor.facts.snapshot import Snapshot
from doctor.launch.asked import WISHES, Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.formats import emit
from doctor.launch.formats.docker import flags
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from tests.each import each
from tests.launch.cases import AMD_CDI, DOCKER, NVIDIA_CDI, PODMAN
from tests.launch.machines import both, cpx, h100, mi300x, mig, wsl

DOCS = Path(__file__).resolve().parents[2] / "docs/run.md"
MACHINES: dict[str, tuple[Snapshot, str]] = {
    "one MI300X": (mi300x(1), "amd"),
    "three MI300X": (mi300x(3), "amd"),
    "eight MI300X": (mi300x(8), "amd"),
    "two MI300X open to all": (mi300x(2, mode=0o666), "amd"),
    "two MI300X closed to the group": (mi300x(2, mode=0o600), "amd"),
    "an MI300X in CPX": (cpx(), "amd"),
    "one H100": (h100(1), "nvidia"),
    "two H100": (h100(2), "nvidia"),
    "eight H100": (h100(8), "nvidia"),
    "two H100, one in MIG": (mig(), "nvidia"),
    "both, AMD chosen": (both(), "amd"),
    "both, NVIDIA chosen": (both(), "nvidia"),
    "WSL with AMD": (wsl(), "amd"),
    "WSL with NVIDIA": (wsl(), "nvidia"),
}
ENGINES: dict[str, Engine | None] = {
    "docker": DOCKER,
    "docker with specs": replace(DOCKER, specs=(AMD_CDI, NVIDIA_CDI)),
    "docker with the toolkit": replace(DOCKER, toolkit=True, cdi=False),
    "docker with runtimes": replace(DOCKER, cdi=False, runtimes=frozenset({"nvidia", "amd"})),
    "docker with userns-remap": replace(DOCKER, userns_remap=True),
    "podman": PODMAN,
    "podman rootless": replace(PODMAN, rootless=True),
    "podman rootless with specs": replace(PODMAN, rootless=True, specs=(AMD_CDI, NVIDIA_CDI)),
    "none": None,
}
OWN: dict[str, dict[str, Any]] = {
    "nothing": {},
    "by nodes": {"way": "nodes"},
    "a variable": {"env": ("A=b",)},
    "a variable passed": {"env": ("TOKEN",)},
    "a file of variables": {"env_files": ("/a.env",)},
    "a folder": {"mounts": ("/data:/data:ro",)},
    "a volume": {"mounts": ("hf:/root/.cache",)},
    "a port": {"publish": ("8000:8000",)},
    "a network": {"network": "mine"},
    "no network": {"network": "none"},
    "a name": {"name": "mine"},
    "a folder to start in": {"workdir": "/w"},
    "in the background": {"detach": True},
    "a program": {"entrypoint": "/bin/sh"},
    "an account": {"user": "1000:1000"},
    "a size": {"shm_bytes": 1 << 30},
}
"""What nobody needs a right for: the flags are the user's own."""
REQUESTS = {**OWN, **{f"with {wish}": {"wishes": (wish,)} for wish in WISHES}}
RDMA = ("/dev/infiniband/uverbs0", "/dev/infiniband/rdma_cm")
RIGHTS = ("--privileged", "--cap-add", "--security-opt", "--ipc", "--pid", "--userns", "--ulimit")


def planned(machine: Snapshot, vendor: str, engine: Engine | None, gpus: str, **asked: Any) -> Spec:
    request = Request("a", ("b",), rdma_nodes=RDMA, **asked)
    return plan(machine, engine, choose(machine, gpus, vendor), request)


def some(machine: Snapshot) -> tuple[str, ...]:
    return ("all", "none") if machine.host.wsl else ("all", "0", "none")


def lines(spec: Spec) -> set[str]:
    return {" ".join(flag.words) for flag in flags(spec)}


@lru_cache(maxsize=1)
def tables() -> tuple[list[str], dict[str, list[str]]]:
    """The patterns of what is added by itself, and those of each --with."""
    text = DOCS.read_text().partition("## Least privilege")[2].partition("\n## ")[0]
    rows = [row.split("|")[1:-1] for row in text.splitlines() if row.startswith("| `")]
    spans = [[re.findall(r"`([^`]+)`", cell) for cell in row] for row in rows]
    wished: dict[str, list[str]] = {}
    for first, second, *_ in spans:
        if first[0].startswith("--with "):
            wished.setdefault(first[0].removeprefix("--with "), []).extend(second)
    return [p for first, *_ in spans for p in first if not p.startswith("--with ")], wished


def unlisted(found: set[str], patterns: list[str]) -> list[str]:
    return sorted(line for line in found if not any(fnmatchcase(line, pattern) for pattern in patterns))


def every() -> Iterator[tuple[str, str]]:
    for machine in MACHINES:
        for engine in ENGINES:
            yield machine, engine


def test_there_are_enough_of_them() -> None:
    assert (len(MACHINES) >= 10, len(REQUESTS) >= 20, set(tables()[1]) == set(WISHES)) == (True, True, True)


@each("machine, engine", every())
def test_what_is_added_by_itself_stands_in_the_docs(machine: str, engine: str) -> None:
    snapshot, vendor = MACHINES[machine]
    for way in ("auto", "nodes"):
        for gpus in some(snapshot):
            spec = planned(snapshot, vendor, ENGINES[engine], gpus, way=way)
            assert unlisted(lines(spec), tables()[0]) == []
            assert all(part.reason for part in spec.parts)
            if gpus == "none":
                assert spec.parts == ()


@each("machine, engine", every())
def test_no_request_brings_a_right_that_was_not_asked_for(machine: str, engine: str) -> None:
    snapshot, vendor = MACHINES[machine]
    for gpus in some(snapshot):
        bare = lines(planned(snapshot, vendor, ENGINES[engine], gpus))
        for asked in OWN.values():
            more = lines(planned(snapshot, vendor, ENGINES[engine], gpus, **asked)) - bare
            assert not [line for line in more if line.startswith(RIGHTS) or line == "--network host"]
            by_nodes = asked.get("way") == "nodes"
            assert by_nodes or not [line for line in more if line.startswith(("--device", "--group-add"))]


@each("machine, engine", every())
def test_a_wish_brings_its_own_row_and_nothing_else(machine: str, engine: str) -> None:
    snapshot, vendor = MACHINES[machine]
    for gpus in some(snapshot):
        bare = lines(planned(snapshot, vendor, ENGINES[engine], gpus))
        for wish in WISHES:
            more = lines(planned(snapshot, vendor, ENGINES[engine], gpus, wishes=(wish,))) - bare
            assert more
            assert unlisted(more, tables()[1][wish]) == []


@each("machine, engine", every())
def test_each_chosen_gpu_is_passed_and_no_other(machine: str, engine: str) -> None:
    snapshot, vendor = MACHINES[machine]
    held = ENGINES[engine]
    for gpus in some(snapshot):
        spec = planned(snapshot, vendor, held, gpus, way="nodes")
        own = {p.value for p in spec.of("device") if re.search(r"renderD\d|nvidia\d", p.value)}
        chosen = {node for node in spec.nodes if re.search(r"renderD\d|nvidia\d", node)}
        limited = "ROCR_VISIBLE_DEVICES" in spec.env
        if any(":" in name for name in spec.gpus) and vendor == "nvidia":
            assert any(t.fatal and "MIG" in t.text for t in spec.troubles)
        elif limited:  # ROCm would not start: docs/run.md, "A part of AMD's GPUs"
            assert held is not None
            assert (held.rootless, own > chosen) == (True, True)
        else:
            assert own == chosen


@each("machine", MACHINES)
def test_nor_does_a_cluster_s_file_say_more(machine: str) -> None:
    snapshot, vendor = MACHINES[machine]
    for asked in OWN.values():
        text = emit("kubernetes", planned(snapshot, vendor, None, "all", **asked)).text
        body = "\n".join(row for row in text.splitlines() if not row.startswith("#"))
        assert not re.search(r"privileged: true|hostIPC|hostNetwork|hostPID|Unconfined|capabilities", body)
        assert "allowPrivilegeEscalation: false" in body


def test_the_docs_say_no_flag_that_is_never_passed() -> None:
    """A row that no machine, engine or request brings is out of date."""
    found: set[str] = set()
    for machine, engine in every():
        snapshot, vendor = MACHINES[machine]
        for way in ("auto", "nodes", "runtime"):
            for gpus in some(snapshot):
                if way == "runtime" and machine in ("an MI300X in CPX",):
                    continue  # refused: how AMD's runtime counts partitions is not known
                wishes = tuple(WISHES) if way == "auto" else ()
                found |= lines(planned(snapshot, vendor, ENGINES[engine], gpus, way=way, wishes=wishes))
                found |= lines(planned(snapshot, vendor, ENGINES[engine], gpus, way=way))
    patterns = [*tables()[0], *(pattern for rows in tables()[1].values() for pattern in rows)]
    assert [p for p in patterns if not any(fnmatchcase(line, p) for line in found)] == []
