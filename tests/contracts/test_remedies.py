"""Remedies of all rules, on machines with one fault each and for error texts alone: none names the other vendor's tool
or proposes what already holds, and commands are argv."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Any

from doctor.engine import registry
from doctor.engine.remedies import holds, offered
from doctor.facts import Snapshot
from doctor.findings import Remedy
from doctor.knowledge import Knowledge
from tests.rules import machines
from tests.rules.remedies import writes_a_file

SHELL = re.compile(r"[|`<>\n]|&&|\$\(|^(?:export|source|cd|sudo)$")
OTHERS = {
    "amd": re.compile(r"\bnvidia-(?:smi|ctk|modprobe|bug-report)|\bdcgmi\b|\bwhl/cu\d|cuda\d?\d?\]|nvidia\.com/gpu"),
    "nvidia": re.compile(r"\brocm-smi\b|\bamd-smi\b|\brocminfo\b|/dev/kfd\b|\bwhl/rocm|HSA_OVERRIDE|amd\.com/gpu"),
}
"""What an owner of that vendor's GPUs alone has no use for, in a command."""
VERBLESS = re.compile(r"^(?:Or|And|For|If|Under|The|A|In|No|On)\b(?! an? (?:AMD|NVIDIA) GPU:)")
OLD_WORDS = re.compile(r"\bmend|\bis wanted\b|\bTurn it\b|\banew\b|window of the other|\bat need\b", re.IGNORECASE)
HOSTS = {
    "nvidia": (machines.h100_host, machines.h100_container, machines.rtx4090_desktop),
    "amd": (machines.mi300x_host, machines.mi300x_container, machines.rx7900_desktop, machines.rx7900_container),
}
NVIDIA_FAULTS: tuple[dict[str, Any], ...] = (
    {"nvidia_driver.version": "470.256.02", "nvidia_driver.cuda_version": "11.4"},
    {"nvidia_driver.loaded": False, "nvidia_driver.version": None},
    {"nvidia_driver.user_version": "580.95.05"},
    {"nvidia_driver.uvm_loaded": False},
    {"environment": {"CUDA_VISIBLE_DEVICES": ""}},
    {"environment": {"NVIDIA_VISIBLE_DEVICES": "void"}, "nodes": []},
    {"torch.build": "rocm", "torch.version": "2.7.0+rocm6.3", "torch.cuda": None},
    machines.event("xid-79", machines.H100[0]),
    machines.event("xid-48", machines.H100[1]),
)
AMD_FAULTS: tuple[dict[str, Any], ...] = (
    {"amdgpu_driver.loaded": False, "kfd.present": False, "kfd.nodes": []},
    {"account.gids": [1000], "account.member_of": [], "nodes[/dev/kfd].openable": False,
     "nodes[/dev/kfd].open_error": "EACCES"},
    {"environment": {"HSA_OVERRIDE_GFX_VERSION": "9.0.0"}},
    {"environment": {"HIP_VISIBLE_DEVICES": "-1"}},
    {"torch.build": "cuda", "torch.version": "2.7.0+cu128"},
    {f"gpus[{machines.RX7900}].arch": "gfx1031"},
    {"host.numa_balancing": 1},
)  # fmt: skip
BOTH: tuple[dict[str, Any], ...] = (
    {},
    {"nodes": []},
    {"torch.available": False},
    {"torch.build": "cpu", "torch.version": "2.13.0+cpu"},
    {"host.iommu": "translated", "kernel.secure_boot": True},
    {"host.memlock_bytes": 65536, "host.numa_balancing": 1},
)


@cache
def _offers() -> tuple[tuple[str, str, Snapshot, Remedy], ...]:
    """(rule, vendor, machine, remedy) of each finding, and of each rule as if an error text alone had raised it."""
    return tuple(_found())


def _found() -> Iterator[tuple[str, str, Snapshot, Remedy]]:
    kb = Knowledge()
    for vendor, faults in (("nvidia", NVIDIA_FAULTS), ("amd", AMD_FAULTS)):
        for build in HOSTS[vendor]:
            healthy = build()
            edits = [f for f in (*BOTH, *faults) if "gpus[" not in str(f) or machines.RX7900 in str(healthy.gpus)]
            for machine in (build(edit) for edit in edits):
                for check in registry.checks():
                    for finding in check.run(machine, kb, None):
                        yield from ((check.rule.id, vendor, machine, r) for r in offered(finding.remedies, machine))
            for check in registry.checks():
                if check.vendors <= {vendor}:
                    remedies = check.advice(healthy, kb) if check.advice else check.remedies
                    yield from ((check.rule.id, vendor, healthy, r) for r in offered(remedies, healthy))


def _commands(remedy: Remedy) -> list[tuple[str, ...]]:
    return [step.command for step in (*remedy.steps, *remedy.undo) if step.command]


def test_there_is_something_to_look_at() -> None:
    assert len({rule for rule, *_ in _offers()}) > 60


def test_no_remedy_names_the_other_vendors_tool() -> None:
    wrong = {
        (rule, vendor, " ".join(argv))
        for rule, vendor, _, remedy in _offers()
        for argv in (step.command or () for step in remedy.steps)  # an undo may bring back the wrong build
        if OTHERS[vendor].search(" ".join(argv))
    }
    assert wrong == set()


def test_none_proposes_what_already_holds() -> None:
    done = {
        (rule, remedy.title)
        for rule, _, machine, remedy in _offers()
        if remedy.effect and all(holds(one, machine) for one in remedy.effect)
    }
    assert done == set()


def test_commands_are_argv_without_shell_syntax() -> None:
    words = {
        (rule, word)
        for rule, _, _, r in _offers()
        for argv in _commands(r)
        for word in argv
        if SHELL.search(word) and not writes_a_file(argv)
    }
    assert words == set()


def test_titles_start_with_a_verb_and_are_plain() -> None:
    titles = {(rule, remedy.title) for rule, _, _, remedy in _offers()}
    assert {t for t in titles if VERBLESS.search(t[1]) or OLD_WORDS.search(t[1]) or not t[1][:1].isupper()} == set()


def test_a_remedy_that_reboots_says_so_and_one_that_says_so_needs_root_or_hands() -> None:
    silent = {
        (rule, remedy.title)
        for rule, _, _, remedy in _offers()
        if ("systemctl", "reboot") in _commands(remedy) and not remedy.reboot
    }
    assert silent == set()


def test_a_container_is_never_told_to_change_the_host_s_accounts() -> None:
    wrong = {
        (rule, remedy.title)
        for rule, _, machine, remedy in _offers()
        if machine.container.inside and any(argv[0] == "usermod" for argv in _commands(remedy))
    }
    assert wrong == set()
