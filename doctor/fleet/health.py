"""One node's report -> the answer that a scheduler or monitor takes: an exit code and one short line.

| for | 0 | 1 | 2 | line |
|--|--|--|--|--|
| slurm-prolog, slurm-epilog | go on | Slurm drains the node, and a prolog's job is requeued | | stderr |
| slurm-health | good, or nothing is known to be wrong | the caller drains, with the line as its reason | | stdout |
| npd | good | the problem is there | not known | stdout, at most 80 bytes |
| nhc | good | the line is NHC's message | | stdout |

Only a known error of the node itself is one (doctor.findings.drains): a node keeps its jobs when an environment, a
container or a job is at fault, or when nothing could be checked; a monitor then gets `not known`. With a scope, what
counts is every error of that scope, for a monitor that has a condition for each.
"""

from __future__ import annotations

from typing import NamedTuple

from doctor.findings import Finding, Report, Scope, Severity, drains
from doctor.redaction.secrets import masked
from doctor.report.words import clean, plural

_WIDTH = {"npd": 80}
"""Bytes of a message: max_output_length of node-problem-detector's custom plugins, whose default this is."""
_USUAL_WIDTH = 200


class Health(NamedTuple):
    code: int
    line: str
    to_stderr: bool = False


def answer(
    report: Report, contract: str, *, fail_on: str = "error", gpus: int | None = None, scope: str | None = None
) -> Health:
    """`gpus`: how many GPUs the node should have; fewer are an error of the hardware, unknown ones are none."""
    limit = Severity(fail_on).rank
    wrong = [f for f in report.counted() if f.severity.rank <= limit and _counts(f, scope)]
    there = report.snapshot.gpus
    if gpus is not None and scope in (None, Scope.HARDWARE.value) and there is not None and len(there) < gpus:
        return _said(contract, 1, f"doctor: {len(there)} of {plural(gpus, 'GPU')} found")
    if wrong:
        more = f" (and {len(wrong) - 1} more)" if len(wrong) > 1 else ""
        return _said(contract, 1, f"doctor: {wrong[0].rule}: {wrong[0].summary}", more)
    if there is None or (gpus and report.status == "unknown"):
        return _said(contract, 2 if contract == "npd" else 0, "doctor: GPUs could not be checked")
    return _said(contract, 0, f"doctor: ok, {plural(len(there), 'GPU')}")


def _counts(finding: Finding, asked: str | None) -> bool:
    """A node is not drained for somebody's environment, container or job."""
    scope, action = finding.scope, finding.action
    if asked is not None:
        return scope is not None and scope.value == asked
    return drains("error", scope.value if scope else None, action.value if action else None)


def failed(contract: str, why: str) -> Health:
    """The doctor itself failed: that says nothing of the node."""
    return _said(contract, 2 if contract == "npd" else 0, f"doctor: could not check: {why}")


def _said(contract: str, code: int, text: str, more: str = "") -> Health:
    width = _WIDTH.get(contract, _USUAL_WIDTH)
    line = clean(masked(text)).encode("ascii", "replace").decode()
    room = width - len(more)
    line = line if len(line) <= room else line[: room - 3] + "..."
    return Health(code, line + more, contract in ("slurm-prolog", "slurm-epilog"))
