"""Which rules and which probes there are. Both are found by walking their packages: a new one is a new file.

Names are found without importing anything; modules are imported when asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from doctor.findings import Finding, Fix, Rule

ORDER = (
    "pci",
    "amd",
    "nvidia",
    "device_nodes",
    "account",
    "host",
    "host_firmware",
    "container",
    "environment",
    "python_env",
    "kernel_log",
    "amd_tools",
)
"""Probes in the order of trust: where two differ on a fact, the earlier one is believed."""

PARTS = frozenset({
    "amd_drm", "clock", "host_runtime", "install_versions", "installs_selected", "loader_files", "numbering",
    "nvidia_tools", "process", "process_loader", "python_binaries", "python_choice", "python_companions",
    "python_libraries", "python_loader", "python_metadata", "python_plugins", "rdma", "wheels",
})  # fmt: skip
"""Modules beside the probes that a probe calls, or that work on the whole Snapshot."""


@dataclass(frozen=True)
class Check:
    """A rule with its code."""

    rule: Rule
    run: Callable[..., Iterator[Finding]]
    on_symptom: Callable[..., Iterator[Finding]] | None = None
    fixes: tuple[Fix, ...] = ()
    decides: Callable[..., bool] | None = None
    """Called with (machine, kb): whether what is known was enough to clear the machine, where `needs` can not say."""
    excludes: Callable[..., bool] | None = None
    """Called with (machine): whether the cause can not be there, whatever error texts say."""
    unheard: Callable[..., bool] | None = None
    """Called with (machine): whether what is known leaves nothing of a suspicion that mere words raise."""


@dataclass(frozen=True)
class Probe:
    """A probe. `gives` are the facts (or prefixes) that it alone can tell."""

    name: str
    run: Callable[..., None]
    """Called with (system, sheet)."""
    gives: tuple[str, ...] = ()


def check_of(module: Any) -> Check:
    """The check that a rule's module defines."""
    fixes = tuple(getattr(module, "FIXES", ()))
    hooks = (getattr(module, name, None) for name in ("on_symptom", "decides", "excludes", "unheard"))
    on_symptom, decides, excludes, unheard = hooks
    return Check(module.RULE, module.check, on_symptom, fixes, decides, excludes, unheard)


def _modules(package: str) -> Iterator[str]:
    spec = importlib.import_module(package)
    for found in sorted(pkgutil.walk_packages(spec.__path__, f"{package}."), key=lambda m: m.name):
        yield found.name


@lru_cache(maxsize=1)
def checks() -> tuple[Check, ...]:
    """Every rule of `doctor.rules`, by id."""
    from doctor.findings import Rule

    found: dict[str, Check] = {}
    for name in _modules("doctor.rules"):
        module: ModuleType = importlib.import_module(name)
        if isinstance(getattr(module, "RULE", None), Rule):
            check = check_of(module)
            if check.rule.id in found:
                raise ValueError(f"two rules are called {check.rule.id}")
            found[check.rule.id] = check
    return tuple(found[rule_id] for rule_id in sorted(found))


def probe_names() -> tuple[str, ...]:
    """The probes in the order of trust; one that ORDER does not name comes last. Nothing is imported."""
    import doctor.probes

    folders = [Path(p) for p in doctor.probes.__path__]
    there = {m.name for m in pkgutil.iter_modules([str(f) for f in folders]) if not m.name.startswith("_")}
    return (*(n for n in ORDER if n in there), *sorted(there - PARTS - set(ORDER)))


def probes(names: Sequence[str] | None = None) -> tuple[Probe, ...]:
    """The probes of those names, or all. A probe's module is imported where it runs: in its own child."""
    return tuple(Probe(name, _importing(name)) for name in (names if names is not None else probe_names()))


def _importing(name: str) -> Callable[..., None]:
    def run(*args: Any, **how: Any) -> None:
        importlib.import_module(f"doctor.probes.{name}").probe(*args, **how)

    return run
