"""An extension was built against another torch, CUDA or C++ ABI."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject, evidence
from doctor.rules.python_packages import pip_install, release, shown
from doctor.rules.torch_install import python_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="extension-abi-mismatch",
    severity=Severity.ERROR,
    title="An extension was built against another torch, CUDA or C++ ABI.",
    needs=({"packages", "torch.version"},),
    proven="synthetic",
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A compiled extension (flash-attn, xformers, sgl-kernel, TransformerEngine …) made for another release of torch. From
facts: a wheel whose version names the torch it was built for.

## Why it matters
Its import ends in an undefined symbol or a DLL that can't be loaded.

## Not raised when
The version of the wheel names no torch and no error text was seen, or torch is the named one.

## How to confirm
`python -c 'import torch, flash_attn'`: the symbol that the error names demangles to one of c10, at or torch.

## Fix
Install the wheel built for this torch, or build the extension in this environment.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://github.com/Dao-AILab/flash-attention#installation-and-features
""",
)

FIXES = (
    Fix(
        text="Reinstall the named extension for the installed torch: its own wheel, or built here.",
        where="environment",
    ),
)

_BUILT_FOR = re.compile(r"\+cu\d+torch(\d+\.\d+)(?:cxx11abi|$)")
"""`2.7.4+cu12torch2.6cxx11abiFALSE`, as release assets of flash-attn and its kin are named."""


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Only wheels that name their torch."""
    torch = release(machine.torch.version)
    for held in machine.packages or ():
        named = _BUILT_FOR.search(held.version[:100])
        if not torch or not named or Dotted(torch).series() == named[1]:
            continue
        wanted = f"{held.name}=={held.version.partition('+')[0]}"
        yield Finding(
            summary=f"{held.name} was built for torch {named[1]}; torch {torch} is installed.",
            subject=Subject(kind="package", id=held.name),
            evidence=(*evidence(machine, ("torch.version",)), *shown(machine, held)),
            fixes=(
                pip_install(
                    machine, "Build it against this torch.", "--no-build-isolation", "--no-cache-dir",
                    "--force-reinstall", "--no-deps", wanted,
                ),
            ),
            verify=(python_of(machine), "-c", "import torch; print(torch.__version__)"),
        )  # fmt: skip
