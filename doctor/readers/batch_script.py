"""A batch script, or what Slurm shows of a job -> whether it asked for GPUs.

>>> read("#SBATCH --nodes=1\\n#SBATCH --gres=gpu:2").get("host.job_asks_gpus")
True
>>> read("   TRES=cpu=8,mem=32G,node=1,billing=8").get("host.job_asks_gpus")
False
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_DIRECTIVE = re.compile(r"\s{0,8}#(?:SBATCH|PBS|BSUB|\$)\s{1,8}(?P<rest>.{1,200})$")
_ASKS = re.compile(r"--g(?:res|pus)\b.{0,40}|(?:^|\s)-G\b|-gpu\b|ngpus=|gpus?=\d|--gpus-per-\w+", re.IGNORECASE)
_STEP = re.compile(r"\s{0,8}[\w.@:~\]\[ -]{0,60}[$#>%]\s{1,4}(?:srun|salloc|sbatch|qsub)\s(?P<rest>.{1,200})$")
_TRES = re.compile(r".{0,40}?\b(?:Alloc|Req)?TRES(?:PerNode)?=(?P<rest>\S{1,300})")


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError where nothing of a job is shown."""
    first, asks = "", False
    for where, line in source_lines(text, source):
        found = ("#" in line and _DIRECTIVE.match(line)) or ("TRES" in line and _TRES.match(line))
        found = found or _STEP.match(line) or None
        if found:
            first = first or where
            asks = (
                asks
                or bool(_ASKS.search(found["rest"]))
                or "gpu" in found["rest"].replace("partition=gpu", "").lower().split("--partition")[0]
            )
    if not first:
        raise ReaderError("no job of a scheduler in the text")
    sheet = FactSheet()
    sheet.put("host.job_asks_gpus", asks, first)
    return sheet
