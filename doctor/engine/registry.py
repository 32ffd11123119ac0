"""Which rules and which probes there are. Both are found by walking their packages: a new one is a new file.

Names are found without importing anything; modules are imported when asked for.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from doctor import areas

if TYPE_CHECKING:
    from doctor.findings import Finding, Remedy, Rule

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

LIB = "lib"
"""The folder among the probes' areas that holds no probe, but what probes call."""


def for_comparing(*, live: bool = False) -> tuple[Probe, ...]:
    """What only comparing two machines needs, beside the probes of a check. `live`: variables that belong to no GPU
    stack too, which leave this machine in no bundle."""
    from doctor.probes.host import environment
    from doctor.probes.lib import builds

    if not live:
        return (Probe("builds", builds.probe, ("builds",)),)
    variables = Probe("variables", environment.probe_rest, ("environment",))
    return Probe("builds", builds.probe_live, ("builds",)), variables


_MEASURED = ("bench", "gemm_proofs", "tuned")
"""Facts that measurements make, and no check."""


@dataclass(frozen=True, eq=False)
class Check:
    """A rule with its code."""

    rule: Rule
    run: Callable[..., Iterator[Finding]]
    on_symptom: Callable[..., Iterator[Finding]] | None = None
    remedies: tuple[Remedy, ...] = ()
    """Of a finding that an error text alone raises, where `advice` does not look at the machine."""
    advice: Callable[..., tuple[Remedy, ...]] | None = None
    """Called with (machine, kb): the remedies of a finding that an error text alone raises."""
    decides: Callable[..., bool] | None = None
    """Called with (machine, kb): whether what is known was enough to outweigh an error text, where `needs` can not
    say."""

    @cached_property
    def needs(self) -> tuple[frozenset[str], ...]:
        return tuple(map(frozenset, self.rule.needs))

    @cached_property
    def names(self) -> frozenset[str]:
        return frozenset().union(*self.needs)

    @lru_cache(maxsize=2048)  # noqa: B019 -- checks live as long as the process
    def standing(self, known: frozenset[str]) -> tuple[tuple[frozenset[str], ...], tuple[str, ...]]:
        """With those of its names known: the alternatives that are wholly known, and what misses in the nearest."""
        of_facts = [needs for needs in self.needs if not all(name.startswith("symptom:") for name in needs - known)]
        missing = (needs - known for needs in of_facts or self.needs)
        return tuple(n for n in self.needs if n <= known), tuple(sorted(min(missing, key=len, default=())))

    @cached_property
    def by_facts_alone(self) -> bool:
        """Whether one of its alternatives asks for no error text."""
        return not all(any(name.startswith("symptom:") for name in needs) for needs in self.needs)

    @cached_property
    def vendors(self) -> frozenset[str]:
        """The vendors whose GPUs it is about; empty: any."""
        return frozenset({"amd", "nvidia"} & set(self.rule.tags))

    @cached_property
    def measures(self) -> bool:
        """Whether it needs what `doctor bench` or `doctor blas --prove` measured."""
        return any(name in _MEASURED for name in self.names)

    @cached_property
    def needs_more_than_text(self) -> bool:
        """Whether facts can decide it, not only an error text or a measurement."""
        return any(name not in _MEASURED and not name.startswith("symptom:") for name in self.names)


@dataclass(frozen=True)
class Probe:
    """A probe. `gives` are the facts (or prefixes) that it alone can tell."""

    name: str
    run: Callable[..., None]
    """Called with (system, sheet)."""
    gives: tuple[str, ...] = ()


def check_of(module: Any) -> Check:
    remedies = tuple(getattr(module, "REMEDIES", ()))
    on_symptom, advice, decides = (getattr(module, name, None) for name in ("on_symptom", "advice", "decides"))
    return Check(module.RULE, module.check, on_symptom, remedies, advice, decides)


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


def rules() -> tuple[Rule, ...]:
    """What every rule says of itself, by id."""
    return tuple(check.rule for check in checks())


@lru_cache(maxsize=1)
def _probe_places() -> dict[str, str]:
    """Name of each file of the probes' areas → its module. Nothing is imported."""
    import doctor.probes

    return areas.modules("doctor.probes", doctor.probes.__path__)


def probe_names() -> tuple[str, ...]:
    """The probes in the order of trust; one that ORDER does not name comes last. Nothing is imported."""
    there = {name for name, module in _probe_places().items() if module.split(".")[2] != LIB}
    return (*(n for n in ORDER if n in there), *sorted(there - set(ORDER)))


def probe_function(name: str) -> Callable[..., None]:
    """The function `probe` of the file of that name, in whatever area it lies."""
    module = importlib.import_module(_probe_places()[name])
    run: Callable[..., None] = module.probe
    return run


def probes(names: Sequence[str] | None = None) -> tuple[Probe, ...]:
    """The probes of those names, or all. A probe's module is imported where it runs: in its own child."""
    return tuple(Probe(name, _importing(name)) for name in (names if names is not None else probe_names()))


def _importing(name: str) -> Callable[..., None]:
    def run(*args: Any, **how: Any) -> None:
        probe_function(name)(*args, **how)

    return run
