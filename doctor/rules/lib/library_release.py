"""Whether a library or framework at hand is a release with a known fault: shared by the rules on them."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts import Snapshot
from doctor.findings import Evidence, Finding, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import by_hand, sentence
from doctor.rules.lib.error_texts import failing, pointing_to

_OF_MEMORY = ("gpu-memory-exhausted",)
"""What follows where the fault itself takes the memory."""


def known_faults(machine: Snapshot, rule: str) -> Iterator[Finding]:
    """A finding for each known fault of that rule whose conditions all hold: a warning where it shows, a suspect where
    something of its kind goes wrong, information where nothing goes wrong. A remark is left out where the text
    itself tells of a release at fault: it would speak in that word's place."""
    if machine.gpus == ():
        return  # these faults are of libraries on GPUs
    from doctor.knowledge.library_faults import library_faults

    seen = {symptom.key for symptom in machine.symptoms}
    trouble = failing(machine)
    pointed = pointing_to(machine, rule) is not None
    installed = {package.name for package in machine.packages or ()}
    for fault in library_faults():
        facts = fault.facts(machine) if fault.rule == rule and fault.may_be_in(installed) else None
        if facts is None or (trouble and not seen & set(fault.felt)):
            continue
        shown = fault.shown(machine)
        rare = fault.only_shown and not shown
        if rare and (trouble or seen & set(fault.felt) or not fault.packages):
            continue  # every release of torch, ROCm and kernels has such faults: of itself it is no news
        felt = not fault.only_shown and bool(seen & set(fault.felt))
        if pointed and not shown and not felt:
            continue
        scope = Scope.HOST if facts and all(name.partition("[")[0] == "rocm" for name in facts) else Scope.ENVIRONMENT
        host = fault.kernel or fault.nvidia or fault.amdgpu
        takes = bool(shown) and "memory" in fault.what and "cuda-out-of-memory" in fault.felt
        finding = Finding(
            severity=Severity.WARNING if shown else Severity.INFO,
            suspect=2 if felt and not shown else 0,
            summary=sentence(fault.what),
            subject=Subject(kind="library", id=fault.id),
            evidence=(
                *evidence(machine, facts),
                *(Evidence(text=held, source=machine.source("packages")) for held in fault.held(machine)),
                *(Evidence(text=s.text, source=s.source) for s in shown[:2]),
            ),
            remedies=(
                by_hand(fault.fix, Scope.DRIVER, undo="Install the old release again.", root=True, reboot=True)
                if host
                else by_hand(fault.fix, scope, undo="Install the old release again.", root=scope is Scope.HOST),
            ),
            source=f"{fault.source} ({fault.as_of})",
        )
        yield finding.model_copy(update={"explains": _OF_MEMORY}) if takes else finding
