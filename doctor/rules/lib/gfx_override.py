"""What the owner of an AMD GPU that a ROCm or torch does not support can do: a build with its code, AMD's wheels of its
own target, or the code of a relative (unofficial)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Expect, Remedy, Scope
from doctor.knowledge.gfx_support import support_of, wheel_of
from doctor.knowledge.overrides import override_of
from doctor.rules.lib.advice import looks, step, way
from doctor.rules.lib.pip import beside, delete, python_after, python_of
from doctor.rules.lib.torch_install import (
    REPLACES,
    TEST,
    install,
    install_torch,
    release_of,
    see_gpu,
    solved,
    undo_torch,
    wanted,
)

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.knowledge.overrides import Override

WSL_LIST = "https://rocm.docs.amd.com/projects/radeon-ryzen/en/latest/docs/compatibility/compatibilityrad/wsl/wsl_compatibility.html"
NAME = "HSA_OVERRIDE_GFX_VERSION"


def remedies(machine: Snapshot, kb: Knowledge, gfx: str) -> tuple[Remedy, ...]:
    """Best first; never empty, so that each card gets an answer."""
    if machine.os.id == "windows" and not machine.host.wsl:  # the override is one of Linux
        title = f"Use a build of the program for Windows with code for {gfx[:20]}, or its Vulkan backend."
        return (way(title, Scope.ENVIRONMENT, vendor="amd"),)
    if machine.host.wsl:
        title = "Compare the GPU with AMD's list for WSL; one that is not on it needs Linux itself, or Windows."
        return (way(title, Scope.DRIVER, step(f"Read AMD's list: {WSL_LIST}"), vendor="amd"),)
    native = tuple(_native(machine, kb, gfx))
    own, override = () if native else tuple(_of_amd(machine, kb, gfx)), tuple(_override(machine, kb, gfx))
    by_rank = (*own, *override) if support_of(kb, gfx).is_listed_now else (*override, *own)
    return (*native, *by_rank, *_without_rocm(kb, gfx))


def _native(machine: Snapshot, kb: Knowledge, gfx: str) -> Iterator[Remedy]:
    """A build on PyTorch's index that has code for the target."""
    if (found := solved(machine, "amd")) and found.build:
        same = machine.torch.version == f"{found.build.version}+{found.build.tag}"
        title = f"Test the torch that is installed: its build has code for {gfx[:20]}."
        yield looks(title, *see_gpu(machine), where="environment") if same else install(machine, "amd", found)
        return
    newest = wheel_of(kb, gfx, release_of(machine))
    if newest is None or gfx in (machine.torch.arch_list or ()):
        return
    version, tag = newest
    replace = install_torch(machine, tag, f"torch=={version}")
    title = f"Install torch {version} for ROCm ({tag}), which has code for {gfx[:20]}."
    yield way(title, Scope.ENVIRONMENT, *replace, risk=REPLACES, undo=undo_torch(machine), vendor="amd")


def _override(machine: Snapshot, kb: Knowledge, gfx: str) -> Iterator[Remedy]:
    row = override_of(gfx)
    archs = machine.torch.arch_list
    if row is None or not row.value or not row.target:
        return
    if row.target in (archs or (row.target,)) and machine.torch.installed is not False:
        yield override(machine, row)
    elif newest := wheel_of(kb, row.target, release_of(machine)):
        version, tag = newest
        first = install_torch(machine, tag, f"torch=={version}")
        known = override(machine, row, python_after(machine))
        undo = (*known.undo, *undo_torch(machine))
        whole = {"steps": (*first, *known.steps), "undo": undo, "scope": Scope.ENVIRONMENT, "effect": ()}
        title = f"Install torch {version} ({tag}) and set {NAME}={row.value} (unofficial, AMD does not test this)."
        yield known.model_copy(update={"title": title, **whole})


def override(machine: Snapshot, row: Override, python: str | None = None) -> Remedy:
    """Try the override, with that interpreter or the one that is here; then keep it where the program is started."""
    setting = f"{NAME}={row.value}"
    inside = bool(machine.container.inside)
    test = step("Test it.", "env", setting, python or python_of(machine), "-c", TEST, where="environment")
    where = "the container's settings (`-e`)" if inside else "the shell profile, service unit or job script"
    keep = step(f"If it prints 3.0, set {setting} in {where}.", where="environment")
    return way(
        f"Try {setting} (unofficial, AMD does not test this).",
        Scope.JOB,
        test,
        keep,
        risk=row.risk,
        vendor="amd",
        undo=(step("Unset it.", "env", "-u", NAME, "COMMAND", where="environment"),),
        effect=(Expect(fact=f"environment[{NAME}]", equals=row.value),),
    )


def _of_amd(machine: Snapshot, kb: Knowledge, gfx: str) -> Iterator[Remedy]:
    """AMD's wheels of torch by GPU, which bring their own ROCm, in a new environment."""
    from doctor.resolve import from_snapshot
    from doctor.resolve.device_wheels import stack
    from doctor.resolve.solve import wishes

    target = replace(from_snapshot(kb, machine), vendor="amd", arch=gfx)
    if found := stack(kb, target, wishes(wanted(machine)), "pip"):
        torch = found.picks[0]
        what = f"torch {torch.version}" if torch.version else "a nightly torch"
        title = f"Install {what} from AMD's wheels for {gfx[:20]} in a new environment."
        fill = beside(machine, *(pick.requirement for pick in found.picks), "--index-url", *torch.index)
        risk = None if torch.version else "nightly builds can be broken"
        yield way(title, Scope.ENVIRONMENT, *fill, risk=risk, vendor="amd", undo=delete())


def _without_rocm(kb: Knowledge, gfx: str) -> Iterator[Remedy]:
    if support_of(kb, gfx).tier in ("distribution", "dropped", "none"):
        text = "llama.cpp and some others have a Vulkan backend, which needs only the graphics driver."
        yield way("Use a program with a Vulkan backend, which needs no ROCm.", Scope.ENVIRONMENT, step(text))
