"""What every remedy says of itself: who may run it, how it is undone, and what its placeholders mean."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

from doctor.engine import registry
from doctor.engine.remedies import lasting, offered
from doctor.facts import Snapshot
from doctor.findings import Remedy, Scope
from doctor.knowledge import Knowledge
from doctor.rules.lib.command_effects import changes
from tests.contracts.test_remedies import _offers
from tests.rules import machines

PLACEHOLDER = re.compile(r"(?:^|[=:/])([A-Z][A-Z_]{3,})(?:\.yaml|==VERSION)?$")
NEEDS_ROOT = ("modprobe", "apt-get", "dnf", "zypper", "pacman", "sysctl", "usermod", "grubby", "udevadm", "mokutil",
              "setsebool", "cpupower", "dkms", "update-grub", "dpkg")  # fmt: skip
EDITS: tuple[dict[str, Any], ...] = (
    {}, {"environment": {"HIP_VISIBLE_DEVICES": "-1", "CUDA_VISIBLE_DEVICES": ""}}, {"nodes": []},
)  # fmt: skip
SYSTEMS = (
    {"os.id": "debian", "os.version": "12", "os.id_like": None},
    {"os.id": "rhel", "os.version": "9.6", "os.id_like": "fedora"},
    {"os.id": "sles", "os.version": "15.7", "os.id_like": "suse"},
    {"os.id": "arch", "os.version": None, "os.id_like": None},
    {"os.id": "nixos", "os.version": "25.05", "os.id_like": None},
    {"container.inside": True, "container.engine": "kubernetes"},
    {"container.inside": True, "container.engine": "podman"},
)


@cache
def _all() -> tuple[tuple[str, Snapshot, Remedy], ...]:
    """(rule, machine, remedy): those of findings, and those of error texts on each kind of system."""
    found = [(rule, machine, remedy) for rule, _, machine, remedy in _offers()]
    kb = Knowledge()
    for vendor, build in (("nvidia", machines.h100_host), ("amd", machines.mi300x_host)):
        for system in SYSTEMS:
            machine = build(system)
            for check in registry.checks():
                if check.vendors <= {vendor}:
                    remedies = check.advice(machine, kb) if check.advice else check.remedies
                    found += [(check.rule.id, machine, remedy) for remedy in offered(remedies, machine)]
    return tuple(found)


def _changing(remedy: Remedy) -> list[tuple[str, ...]]:
    return [step.command for step in remedy.steps if step.command and changes(step.command)]


def test_what_changes_something_says_how_it_is_undone() -> None:
    silent = {(rule, remedy.title) for rule, _, remedy in _all() if lasting(remedy) and not remedy.undo}
    assert silent == set()


def test_what_needs_root_says_so() -> None:
    silent = {
        (rule, " ".join(argv))
        for rule, _, remedy in _all()
        for argv in _changing(remedy)
        if argv[0] in NEEDS_ROOT and not remedy.root
    }
    assert silent == set()


def test_the_scope_is_that_of_the_place() -> None:
    """Packages of Python are the environment's; kernel modules and system packages are not the job's."""
    wrong = {
        (rule, remedy.scope.value, " ".join(argv))
        for rule, _, remedy in _all()
        for argv in _changing(remedy)
        if ("pip" in argv[:4] and remedy.scope not in (Scope.ENVIRONMENT, Scope.CONTAINER))
        or (argv[0] in ("modprobe", "systemctl") and remedy.scope in (Scope.ENVIRONMENT, Scope.JOB))
    }
    assert wrong == set()


def test_a_placeholder_is_explained() -> None:
    """A word in capitals that whoever runs the command must replace."""
    unexplained = set()
    for rule, _, remedy in _all():
        texts = " ".join([remedy.title, *(step.text for step in remedy.steps)])
        for argv in (step.command for step in remedy.steps if step.command):
            after = argv[argv.index("env") + 1 :] if argv[0] == "env" else argv
            names = {argv[i + 1] for i, word in enumerate(argv[:-1]) if word == "-u"}
            for word in after:
                held = PLACEHOLDER.search(word)
                if held and word not in names and held[1] not in texts and held[1] != "INFO":
                    unexplained.add((rule, word))
    assert unexplained == set()


def test_no_finding_is_left_without_any_of_its_remedies() -> None:
    """Where all of them were dropped, the rule advises what is already so."""
    kb = Knowledge()
    lost = set()
    for build in (machines.h100_host, machines.mi300x_host, machines.rx7900_desktop, machines.h100_container):
        for edits in EDITS:
            machine = build(edits)
            for check in registry.checks():
                for finding in check.run(machine, kb, None):
                    if finding.remedies and not list(offered(finding.remedies, machine)):
                        lost.add((check.rule.id, finding.summary))
    assert lost == set()
