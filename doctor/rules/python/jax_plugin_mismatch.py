"""JAX's GPU plugin is missing or does not fit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Finding, Fix, Rule, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules import accusing, python_files, python_plugins, work_done
from doctor.rules.hardware import discrete
from doctor.rules.python_packages import below, package, pip_install, release, shown
from doctor.rules.torch_install import python_of
from doctor.versions import Dotted

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="jax-plugin-mismatch",
    severity=Severity.ERROR,
    title="JAX's GPU plugin is missing or does not fit.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A jaxlib without any GPU plugin on a machine with a GPU, plugins that are all for the other vendor's GPUs, or plugin
packages of another release than jaxlib: CUDA's plugin must be of the very same one, or jaxlib leaves it aside.

## Why it matters
JAX runs on the CPU, or stops at 'Unable to initialize backend'.

## Not raised when
Plugin and jaxlib are of one release, jaxlib carries CUDA or ROCm itself, or no GPU is known. A text that
shows JAX's own list of GPUs, or an error of XLA's on a GPU, of an incomplete list of packages.

## How to confirm
`python -c 'import jax; print(jax.devices())'`

## Fix
Install the plugin and its pjrt package in jaxlib's release.

## Fix safety
No reboot. Changes packages of this environment only.

## References
https://docs.jax.dev/en/latest/installation.html
""",
)

FIXES = (
    Fix(
        text="Install JAX with the plugin of this GPU, all of one release (jax[cuda12], jax[cuda13] or jax[rocm]).",
        command=("python3", "-m", "pip", "install", "--upgrade", "jax[cuda12]"),
        where="environment",
    ),
)

_PLUGIN = Lazy(r"jax-(?:cuda|rocm)\d+-(?:plugin|pjrt)$")
_CUDA_PLUGIN = Lazy(r"jax-cuda\d+-plugin$")
_SPLIT = "0.4.24"
"""From this release on the GPU code is in plugin packages."""


def excludes(machine: Snapshot) -> bool:
    """Where JAX lists its GPU, and no error text accuses anything."""
    return accusing.works_alone(machine, "jax-lists-gpu")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Plugins that differ, else no plugin at all."""
    yield from python_files.jax(machine)
    yield from python_plugins.mismatched(machine, "jax-")
    jaxlib = package(machine, "jaxlib")
    if jaxlib is None or not release(jaxlib.version):
        return
    plugins = [p for p in machine.packages or () if _PLUGIN.match(p.name.lower().replace("_", "-")[:60])]
    series = Dotted(jaxlib.version).series()
    other = [p for p in plugins if release(p.version) and Dotted(p.version).series() != series]
    aside = [] if other else [p for p in plugins if _unused(p, jaxlib.version)]
    there = [v for v in ("nvidia", "amd") if discrete(machine, v)]
    bare = not plugins and "+" not in jaxlib.version and not below(jaxlib.version, _SPLIT)
    alone = bare and there and machine.symptom("jax-lists-gpu", "xla-on-gpu-told") is None
    foreign = _of_other_vendor(machine, plugins)
    if not other and not alone and not foreign and not aside:
        return
    differs = [*other, *aside]
    what = f"{differs[0].name} {differs[0].version[:20]} is not of" if differs else "No GPU plugin is installed for"
    if foreign and not differs:
        what = f"{foreign[0].name[:40]} is for the other vendor's GPUs, and there is no other plugin for"
    extra = "jax[rocm]" if there == ["amd"] else "jax[cuda12]"
    yield Finding(
        summary=f"{what} jaxlib {jaxlib.version[:20]}.",
        severity=Severity.ERROR if other else Severity.WARNING,
        subject=Subject(kind="package", id="jaxlib"),
        explains=(
            *RULE.explains,
            *(("torch-built-for-other-vendor",) if foreign and not machine.torch.installed else ()),
        ),
        evidence=shown(machine, jaxlib, *(differs or foreign)),
        fixes=(pip_install(machine, "Install plugin and jaxlib of one release.", "--upgrade", extra),),
        verify=(python_of(machine), "-c", "import jax; print(jax.devices())"),
    )


def _unused(plugin: Package, jaxlib: str) -> bool:
    """A CUDA plugin that jaxlib does not load, being of another release (jaxlib/plugin_support.py); AMD's may be."""
    if not _CUDA_PLUGIN.match(plugin.name.lower().replace("_", "-")[:60]) or "+" in jaxlib:
        return False
    mine, theirs = release(plugin.version), release(jaxlib)
    return bool(mine and theirs) and Dotted(mine or "").compare(theirs or "") != 0


_LACKS_ITS_GPU = (
    *("jax-backend-not-initialized", "jax-backend-is-cpu-told", "jax-lists-cpu-only", "jax-cuda-jaxlib-not-installed"),
    *("framework-falls-back-to-cpu", "gpu-not-seen-said"),
)


def unheard(machine: Snapshot) -> bool:
    """Where jax lists a GPU, XLA is at work on one or kernels ran, its parts are of one release, or only other
    hardware's backends lack."""
    if machine.symptom("jax-lists-gpu", "xla-on-gpu-told") or work_done.ran(machine):
        return True
    if machine.symptom("jax-plugin-lacks-system-library"):  # the plugin is the right one, and cannot be opened
        return True
    if machine.symptom("jax-notes-other-backends") and machine.symptom(*_LACKS_ITS_GPU) is None:
        return True
    names = ("jax", "jaxlib", "plugin", "pjrt")
    held: dict[str, Package | None] = {"jax": package(machine, "jax"), "jaxlib": package(machine, "jaxlib")}
    for found in machine.packages or ():
        kind = _PART.fullmatch(found.name.lower().replace("_", "-")[:60])
        if kind is not None:
            held[kind[1]] = found
    versions = {release(part.version) for name in names if (part := held.get(name)) is not None}
    return sum(held.get(name) is not None for name in names[:3]) == 3 and len(versions) == 1 and None not in versions


_PART = Lazy(r"jax-(?:rocm|cuda)\d+-(plugin|pjrt)")


def _of_other_vendor(machine: Snapshot, plugins: Sequence[Package]) -> list[Package]:
    """The plugins, where all of them are for GPUs that this machine surely does not have."""
    amd, nvidia = machine.of_vendor("amd"), machine.of_vendor("nvidia")
    wrong = "jax-cuda" if amd and not nvidia else "jax-rocm" if nvidia and not amd else None
    names = [p.name.lower().replace("_", "-") for p in plugins]
    return list(plugins) if wrong and plugins and all(name.startswith(wrong) for name in names) else []
