from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from doctor.facts.python import Package
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import python_files, python_plugins, run_line
from doctor.rules.lib.advice import by_hand
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.hardware import discrete
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_packages import below, package, pip_install, release, shown
from doctor.versions import Dotted

RULE = Rule(
    id="jax-plugin-mismatch",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="JAX's GPU plugin is missing or does not match.",
    needs=({"packages"},),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=41,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
A jaxlib without any GPU plugin on a machine with a GPU, plugins that are all for the other vendor's GPUs, or plugin
packages of another release than jaxlib: CUDA's plugin must have exactly the same release, or jaxlib ignores it.

## Why it matters
JAX runs on the CPU, or stops with 'Unable to initialize backend'.

## Not raised when
Plugin and jaxlib have the same release, jaxlib contains CUDA or ROCm itself, or no GPU is known. The package list is
incomplete, because the text shows JAX's own list of GPUs or an XLA error on a GPU.

## How to confirm
`python -c 'import jax; print(jax.devices())'`

## Fix
Install the plugin and its pjrt package in jaxlib's release.

## References
https://docs.jax.dev/en/latest/installation.html
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """JAX with the plugin of the vendor that is there or that the error names; of both if neither is known."""
    there = {v for v in ("nvidia", "amd") if machine.of_vendor(v)} or set(run_line.vendors_meant(machine))
    if not there:
        texts = _words(machine)
        there = (
            {"amd"} if re.search(r"rocm|amdgpu|\bhip", texts) else {"nvidia"} if "cuda" in texts else {"amd", "nvidia"}
        )
    plugins = {p.name.lower().replace("_", "-") for p in machine.packages or ()}
    cuda = "13" if any(name.startswith("jax-cuda13") for name in plugins) else "12"
    ways: list[Remedy] = []
    other = tuple(sorted(name for name in plugins if _PLUGIN.match(name[:60]) and _foreign(machine) in name))
    if "nvidia" in there:
        title = "Install JAX with its CUDA plugin, all of one release."
        fix = pip_install(machine, title, "--upgrade", f"jax[cuda{cuda}]", remove=other)
        ways.append(fix.model_copy(update={"vendor": "nvidia"}))
    if "amd" in there:
        title = "Install JAX with its ROCm plugin, all of one release."
        old = any(name.startswith("jax-rocm60") for name in plugins) or "xla_rocm60" in _words(machine)
        here = {Dotted(one.version).series(1) for one in machine.rocm or () if one.version}
        ways.append(
            by_hand(f"Install JAX for ROCm 6 by AMD's guide: {_AMD_GUIDE}", Scope.ENVIRONMENT, vendor="amd")
            if old or (here and "7" not in here)
            else pip_install(machine, title, "--upgrade", _ROCM_7, remove=other).model_copy(update={"vendor": "amd"})
        )
    return tuple(ways)


_ROCM_7 = "jax[rocm7-local]"
"""The one extra for ROCm that releases from 0.9 on have (PyPI METADATA jax 0.10.0); pip ignores an unknown one."""
_AMD_GUIDE = "https://github.com/jax-ml/jax/blob/main/build/rocm/README.md"


def _words(machine: Snapshot) -> str:
    return " ".join(f"{s.key} {s.text}" for s in machine.symptoms).lower()


_PLUGIN = Lazy(r"jax-(?:cuda|rocm)\d+-(?:plugin|pjrt)$")
_CUDA_PLUGIN = Lazy(r"jax-cuda\d+-plugin$")
_SPLIT = "0.4.24"
"""From this release on the GPU code is in plugin packages."""


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
    alone = bare and there and machine.symptom("jax-lists-gpu") is None
    foreign = _of_other_vendor(machine, plugins)
    if not other and not alone and not foreign and not aside:
        return
    differs = [*other, *aside]
    what = (
        f"{differs[0].name} {differs[0].version[:20]} does not match" if differs else "No GPU plugin is installed for"
    )
    if foreign and not differs:
        what = f"{foreign[0].name[:40]} is for the other vendor's GPUs, and there is no other plugin for"
    yield Finding(
        summary=f"{what} jaxlib {jaxlib.version[:20]}.",
        severity=Severity.ERROR if other else Severity.WARNING,
        subject=Subject(kind="package", id="jaxlib"),
        explains=(
            *RULE.explains,
            *(("torch-built-for-other-vendor",) if foreign and not machine.torch.installed else ()),
        ),
        evidence=shown(machine, jaxlib, *(differs or foreign)),
        remedies=advice(machine, kb),
        verify=(python_after(machine), "-c", "import jax; print(jax.devices())"),
    )


def _unused(plugin: Package, jaxlib: str) -> bool:
    """A CUDA plugin that jaxlib does not load, being of another release (jaxlib/plugin_support.py); AMD's may be."""
    if not _CUDA_PLUGIN.match(plugin.name.lower().replace("_", "-")[:60]) or "+" in jaxlib:
        return False
    mine, theirs = release(plugin.version), release(jaxlib)
    return bool(mine and theirs) and Dotted(mine or "").compare(theirs or "") != 0


def _of_other_vendor(machine: Snapshot, plugins: Sequence[Package]) -> list[Package]:
    """The plugins, where all of them are for GPUs that this machine surely does not have."""
    names = [p.name.lower().replace("_", "-") for p in plugins]
    return list(plugins) if plugins and all(name.startswith(_foreign(machine)) for name in names) else []


def _foreign(machine: Snapshot) -> str:
    """How the plugins' names begin that are for no GPU of this machine."""
    amd, nvidia = machine.of_vendor("amd"), machine.of_vendor("nvidia")
    return "jax-cuda" if amd and not nvidia else "jax-rocm" if nvidia and not amd else "jax-none"
