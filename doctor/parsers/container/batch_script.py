"""A batch script, what Slurm shows of a job, or the resources of a Kubernetes pod -> whether it asked for GPUs.

>>> read("#SBATCH --nodes=1\\n#SBATCH --gres=gpu:2").get("host.job_asks_gpus")
True
>>> read("   TRES=cpu=8,mem=32G,node=1,billing=8").get("host.job_asks_gpus")
False
>>> read("resources:\\n  requests:\\n    cpu: 500m\\n    memory: 4Gi").get("host.job_asks_gpus")
False
>>> read("resources: {}").get("host.job_asks_gpus")
False
>>> read("pod: Limits: cpu 8, memory 64Gi").get("host.job_asks_gpus")
False
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 540,
        "words": (
            "#sbatch",
            "#pbs",
            "#bsub",
            "tres=",
            "trespernode",
            "srun ",
            "salloc ",
            "sbatch ",
            "requests:",
            "resources: {",
            "limits:",
        ),
    },
)

_DIRECTIVE = re.compile(r"\s{0,8}#(?:SBATCH|PBS|BSUB|\$)\s{1,8}(?P<rest>.{1,200})$")
_ASKS = re.compile(r"--g(?:res|pus)\b.{0,40}|(?:^|\s)-G\b|-gpu\b|ngpus=|gpus?=\d|--gpus-per-\w+", re.IGNORECASE)
_STEP = re.compile(r"\s{0,8}[\w.@:~\]\[ -]{0,60}[$#>%]\s{1,4}(?:srun|salloc|sbatch|qsub)\s(?P<rest>.{1,200})$")
_ASKED_STEP = re.compile(r"\s{0,8}(?:srun|salloc|sbatch)\s(?P<rest>.{0,200}?--g(?:res|pus)\b.{1,60})")
"""A line without a prompt may be part of what a person tells of: only what it asks for counts."""
_TRES = re.compile(r".{0,40}?\b(?:Alloc|Req)?TRES(?:PerNode)?=(?P<rest>\S{1,300})")
_POD = re.compile(r"\s{0,24}(?:resources:\s{0,4})?requests:\s{0,4}(?P<rest>.{0,200})$")
_POD_LIMITS = re.compile(
    r"^[ \t]{0,24}limits:[ \t]{0,4}\n[ \t\"']{0,26}(?:cpu[\"']?:|memory[\"']?:[ \t]{0,12}[\"']?\d{1,6}[KMG]i\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""Limits alone, as `kubectl describe pod` and a manifest without requests show them: compose writes `cpus` and `4G`."""
_POD_NONE = re.compile(r"\s{0,24}(?:- )?resources:\s{1,4}\{\s{0,4}\}\s{0,8}$")
_POD_LINE = re.compile(
    r"\s{0,8}(?:pod|container)s?:? {1,4}(?:resources:? )?limits?: {1,4}(?P<rest>(?:cpu|memory)\b[^\n]{0,200})$",
    re.IGNORECASE,
)
"""`pod: Limits: cpu 8, memory 64Gi`: all that it is limited to, on one line."""
_POD_PART = re.compile(r"[\s{\"']{0,26}(?:cpu|memory|ephemeral-storage)[\"']?:", re.IGNORECASE)
_POD_GPU = re.compile(
    r"(?:nvidia|amd)\.com/|^[\s\"']{0,26}(?:[\w.-]{2,60}/[\w.-]{0,40})?gpu[\w.-]{0,30}[\"']?:\s{0,4}[\"']?[1-9]",
    re.IGNORECASE | re.MULTILINE,
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where nothing of a job is shown."""
    first, asks = "", False
    for where, line in source_lines(text, source):
        found = ("#" in line and _DIRECTIVE.match(line)) or ("TRES" in line and _TRES.match(line))
        found = found or _STEP.match(line) or _ASKED_STEP.match(line) or None
        if found:
            first = first or where
            asks = (
                asks
                or bool(_ASKS.search(found["rest"]))
                or "gpu" in found["rest"].replace("partition=gpu", "").lower().split("--partition")[0]
            )
    if not first and (pod := _limits(text, source)):
        first, asks = pod
    if not first and (pod := _pod(text, source)):
        first, asks = pod
    if not first:
        raise ParserError("no job of a scheduler in the text")
    sheet = FactSheet()
    sheet.put("host.job_asks_gpus", asks, first)
    return sheet


def _limits(text: str, source: str) -> tuple[str, bool] | None:
    """Where a pod's limits are on a line, and whether a GPU is among them, or in any other part of a pod."""
    for where, line in source_lines(text, source):
        if found := _POD_LINE.match(line[:300]):
            return where, "gpu" in found["rest"].lower() or _POD_GPU.search(found["rest"]) is not None
    return None


def _pod(text: str, source: str) -> tuple[str, bool] | None:
    """Where a pod's `requests:` of processor or memory or its empty `resources:` stand, and whether any resource of the
    text is a GPU. A compose file knows neither."""
    if "requests:" not in text and "resources: {" not in text and not _POD_LIMITS.search(text):
        return None
    before, place = False, ""
    for where, line in source_lines(text, source):
        head = _POD.match(line[:240])
        if (
            _POD_NONE.match(line[:80])
            or (before and _POD_PART.match(line[:80]))
            or (head and _POD_PART.match(head["rest"]))
        ):
            place = place or where
        before = head is not None
    if not place and (limits := _POD_LIMITS.search(text)):
        place = f"{source}:{text.count(chr(10), 0, limits.start()) + 1}"
    return (place, bool(_POD_GPU.search(text))) if place else None
