from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.advice import set_to
from doctor.rules.lib.arguments import Knowledge, Profile

RULE = Rule(
    id="python-user-site-leak",
    severity=Severity.WARNING,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="Packages in ~/.local hide those of the environment.",
    needs=({"packages"}, {"torch.location", "container.engine"}),
    proven="synthetic",
    order=40,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A GPU package that is installed twice in different versions, once under ~/.local.

## Why it matters
Python takes the user's copy first: imports fail with undefined symbols, or another torch runs than the one installed.

Also torch in ~/.local in a container whose engine mounts the host's home, where torch is not known to work.

## Not raised when
Both copies have the same version, or only one exists.

## How to confirm
`python -m site` and `python -c 'import torch; print(torch.__file__)'`

## Fix
Set PYTHONNOUSERSITE=1, or uninstall the copy under ~/.local.

## Fix safety
Other programs of the user may need the copy under ~/.local.

## References
https://docs.python.org/3/using/cmdline.html#envvar-PYTHONNOUSERSITE
""",
)

_USER_SITE = "/.local/lib/python"
_MATTERS = (
    "torch",
    "torchvision",
    "torchaudio",
    "triton",
    "numpy",
    "vllm",
    "flash-attn",
    "transformers",
    "jax",
    "amdsmi",
)
_SHOWS_HOME = "apptainer"
"""Mounts the home folder by default (apptainer.org/docs: bind paths and mounts)."""
_OF_ANOTHER_TORCH = ("torch-built-for-other-vendor", "torch-companion-mismatch", "torch-cpu-only-build")


def advice(machine: Snapshot, kb: Knowledge | None = None) -> tuple[Remedy, ...]:
    return (set_to(machine, "Start Python without the packages of ~/.local.", PYTHONNOUSERSITE="1"),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """A package that is there twice, in other versions, once under ~/.local; torch of ~/.local in a container that
    shows the host's home."""
    location = machine.torch.location or ""
    home = machine.container.inside is not False and machine.container.engine == _SHOWS_HOME
    if home and _USER_SITE in location and machine.torch.available is not True:
        yield Finding(
            severity=RULE.severity,
            summary="torch in this container comes from the host's ~/.local, which the engine mounts.",
            subject=Subject(kind="package", id="torch"),
            explains=(*RULE.explains, *_OF_ANOTHER_TORCH),
            evidence=evidence(machine, ("torch.location", "container.engine")),
            remedies=advice(machine),
            verify=("python3", "-m", "site"),
        )
        return
    places: dict[str, list[Package]] = {}
    for package in machine.packages or ():
        if package.name in _MATTERS or package.name.startswith(("nvidia-", "pytorch-triton")):
            places.setdefault(package.name, []).append(package)
    for name, copies in places.items():
        own = next((p for p in copies if _USER_SITE in (p.location or "")), None)
        rest = next((p for p in copies if p.location and _USER_SITE not in p.location), None)
        if own and rest and own.version != rest.version:
            yield Finding(
                severity=RULE.severity,
                summary=f"{name} {own.version} in ~/.local hides {rest.version} of the environment.",
                subject=Subject(kind="package", id=name),
                evidence=tuple(
                    Evidence(text=f"{p.name} {p.version} in {p.location}", source=machine.source("packages"))
                    for p in (own, rest)
                ),
                remedies=advice(machine),
                verify=("python3", "-m", "site"),
            )
