from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.python import InstalledFault
from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.knowledge.requirements import Unmet, unmet
from doctor.probes.lib.python_metadata import OTHERS_SAY
from doctor.rules.lib.advice import by_hand, command, step, unset, way
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.pip import pip, python_after, python_of
from doctor.rules.lib.python_files import KERNEL_LIBRARIES
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.lib.python_pins import of_pin

RULE = Rule(
    id="python-install-damaged",
    severity=Severity.ERROR,
    scope=Scope.ENVIRONMENT,
    action=Action.INFORM,
    layer=Layer.LIBRARIES,
    title="Installed packages of the GPU stack are damaged.",
    needs=({"installed_faults"}, {"interpreter.broken"}),
    proven="live",
    explains=(
        *("torch-sees-no-gpu", "framework-sees-no-gpu", "gpu-libs-not-found", "system-library-missing"),
        *("torch-companion-mismatch", "extension-abi-mismatch", "blas-kernels-missing"),
    ),
    order=39,
    facts_decide=False,
    tags=("python",),
    doc="""## What it finds
Files of torch, its companions and their libraries that the package's own list (RECORD, conda-meta) names but that are
missing, cut short, not executable, of another release or for another CPU; compiled modules for another release of
Python; a folder that this account may not read; packages that they require and that are not installed, too old, or
refused by transformers at import; two packages that install the same files; a torch without metadata; a folder or
script that Python imports instead of such a package, or of a module of the standard library (on PYTHONPATH, in
~/.local, in the working directory); a virtual environment without `pyvenv.cfg` or a Python that this account can start,
or on a file system that is mounted with noexec.

## Why it matters
The import fails, or a library fails to load later.

## Not raised when
Every file exists with its size. A whole library of another size is information: it may be stripped, patched or of
another build. Tests, headers and similar files may be deleted. A folder that comes first but has the package's compiled
modules or metadata too.

## How to confirm
`python -m pip check` does not look at files; `pip install --force-reinstall --no-deps PACKAGE` repairs them.

## Fix
Install the package again, in the same version.

## References
https://packaging.python.org/en/latest/specifications/recording-installed-packages/
""",
)


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """Where only an error text says it: PACKAGE is the one that it names."""
    again = ("--force-reinstall", "--no-deps", "PACKAGE")
    return (pip_install(machine, "Install the damaged package (PACKAGE) again in the same version.", *again),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """One finding a package and kind, but for modules of another Python: a whole environment's are one fault."""
    if machine.interpreter.broken:
        variable = "PYTHONHOME" if machine.interpreter.broken.startswith("PYTHONHOME") else "VIRTUAL_ENV"
        named = machine.interpreter.chosen_by == "--python" and variable == "VIRTUAL_ENV"
        yield Finding(
            summary=f"Python does not work here: {machine.interpreter.broken}."[:200],
            subject=Subject(kind="path", id="interpreter") if named else Subject(kind="variable", id=variable),
            evidence=evidence(machine, ("interpreter.broken", *(() if named else (f"environment[{variable}]",)))),
            remedies=(
                by_hand(_MOUNT, Scope.HOST, root=True)
                if _NOEXEC in machine.interpreter.broken
                else _new_environment(machine)
                if variable == "VIRTUAL_ENV"
                else unset(machine, variable),
            ),
        )
    faults = [f for f in machine.installed_faults or () if f.kind != "no-binary"]
    others = [f for f in faults if f.kind == "other-python"]
    absent: dict[tuple[str, bool], list[InstalledFault]] = {}
    for fault in faults:
        if fault.kind == "not-installed":
            absent.setdefault((fault.package, bool(fault.files)), []).append(fault)
        elif fault.kind != "other-python":
            yield _finding(machine, fault)
    yield from (_not_installed(machine, found) for found in absent.values())
    if others:
        yield _of_other_python(machine, others)
    yield from _refused_versions(machine)
    yield from _without_metadata(machine)


_NOEXEC = "mounted with noexec"
_MOUNT = "Move the environment to another file system, or mount this one again with exec."


def _refused_versions(machine: Snapshot) -> Iterator[Finding]:
    """A release older than a package of the stack (or one that it needs) requires; what transformers and diffusers
    compare at import (dependency_versions_check.py) ends it whichever way it differs."""
    refused: dict[str, list[Unmet]] = {}
    for each in unmet(machine):
        if each.held is None or each.wants in ("numpy", *KERNEL_LIBRARIES) or OTHERS_SAY.match(each.wants):
            continue
        if each.too_old or _compares(each):
            refused.setdefault(each.wants, []).append(each)
    for wants, asking in refused.items():
        asking.sort(key=lambda each: (not _compares(each), each.package.name != "torch"))
        first = of_pin(machine, asking[0], Severity.ERROR if _compares(asking[0]) else Severity.WARNING, "wants")
        others = [line for each in asking[1:6] for line in of_pin(machine, each, Severity.WARNING).evidence[:1]]
        fits = f"{wants}{','.join(dict.fromkeys(each.specifier for each in asking))}"
        fix = pip_install(machine, f"Install a release of {wants} that all of them accept.", fits)
        yield first.model_copy(update={"evidence": (*first.evidence, *others), "remedies": (fix,)} if others else {})


def _compares(each: Unmet) -> bool:
    return each.package.name in ("transformers", "diffusers") and each.wants in _COMPARED


_COMPARED = ("tqdm", "regex", "requests", "packaging", "filelock", "tokenizers", "huggingface-hub", "safetensors",
             "accelerate", "pyyaml")  # fmt: skip
_ASK_METADATA = frozenset({"accelerate", "transformers", "diffusers", "peft"})


def _without_metadata(machine: Snapshot) -> Iterator[Finding]:
    """torch is there and nothing says its version: what asks for its metadata takes it for missing."""
    names = {p.name for p in machine.packages or ()}
    asking = sorted(names & _ASK_METADATA)
    if not machine.torch.installed or not machine.torch.location or names & {"torch", "pytorch"} or not asking:
        return
    version = (machine.torch.version or "").partition("+")[0]
    yield Finding(
        severity=Severity.WARNING,
        summary=f"torch has no metadata (torch-*.dist-info): {asking[0]} does not find it.",
        subject=Subject(kind="package", id="torch metadata"),
        evidence=evidence(machine, ("torch.location", "torch.version")),
        remedies=(pip_install(machine, "Install torch again.", "--force-reinstall", "--no-deps", f"torch=={version}"),),
        verify=(python_after(machine), "-c", "import importlib.metadata as m; print(m.version('torch'))"),
    )


def _finding(machine: Snapshot, fault: InstalledFault) -> Finding:
    name = f"{fault.package} {(fault.version or '')[:30]}"
    first = fault.files[0] if fault.files else ""
    short = first.rpartition("/")[2]
    if fault.kind == "hidden":
        in_cwd = fault.detail == "the working directory"
        summary = f"{first[:80]} hides {fault.package}: it comes first {'in' if in_cwd else 'on'} {fault.detail}."
        severity = Severity.WARNING if in_cwd else Severity.ERROR
        other = "start Python in another folder" if in_cwd else "remove its folder from PYTHONPATH"
        undo = "Restore the old name."
        fixes: tuple[Remedy, ...] = (by_hand(f"Rename {first}, or {other}.", Scope.ENVIRONMENT, undo=undo),)
    elif fault.kind == "mixed":
        summary = f"{name}: its version file says {(fault.detail or '')[:30]}, so files of two releases are mixed."
        severity = Severity.ERROR
        fixes = (pip_install(machine, "Install it again, without the other release.", *_again(fault)),)
    elif fault.kind == "denied":
        summary = f"This account may not read {first[:120]}: {fault.package} cannot be imported."
        severity = Severity.ERROR
        readable = ("chmod", "-R", "a+rX", first)
        fixes = (command("Let all accounts read the package.", Scope.ENVIRONMENT, *readable, root=True),)
    elif fault.kind == "not-executable":
        summary = f"{name}: {short[:50]} is not executable, so {fault.package} cannot start it."
        severity = Severity.ERROR
        fixes = (command("Make its programs executable.", Scope.ENVIRONMENT, "chmod", "a+x", *fault.files),)
    elif fault.kind == "shared":
        summary = f"{fault.detail} and {fault.package} install the same files ({short[:50]}); keep one of them."
        severity = Severity.WARNING
        both = ("-m", "pip", "uninstall", "--yes", fault.package, fault.detail or "")
        remove = step("Remove both.", python_of(machine), *both, where="environment")
        install = pip(machine, "Install one.", f"{fault.package}=={fault.version}")
        title = f"Remove both, then install the one you need ({fault.package} here)."
        back = (step("Install the other one again."),)
        fixes = (way(title, Scope.ENVIRONMENT, remove, *install, undo=back),)
    elif fault.detail == "editable install":
        summary = f"{name}: its folder of sources is missing (editable install of {first[:80]})."
        severity = Severity.ERROR
        fixes = (pip_install(machine, "Install the released version instead.", *_again(fault)),)
    elif fault.kind == "changed":
        return _changed(machine, fault)
    else:
        what = "missing" if fault.kind == "missing" else "cut short"
        count = "1 file is" if fault.number == 1 else f"{fault.number} files are"
        summary = f"{name}: {count} {what} ({short[:50]}{' …' if fault.number > 1 else ''})."
        severity = Severity.ERROR
        fixes = (pip_install(machine, "Install the same version again.", *_again(fault)),)
    return Finding(
        severity=severity,
        summary=summary,
        subject=Subject(kind="package", id=f"{fault.package} {fault.kind}"),
        evidence=_shown(machine, fault),
        remedies=fixes,
        verify=(python_after(machine), "-c", f"import {_module(fault.package)}"),
    )


def _changed(machine: Snapshot, fault: InstalledFault) -> Finding:
    """Stripped, patched, or of another build: which one its size does not say."""
    name = (fault.files[0] if fault.files else "").rpartition("/")[2]
    more = f" and {fault.number - 1} more" if fault.number > 1 else ""
    verb = "are not the files" if more else "is not the file"
    lacking = any(b.package == fault.package and b.missing_symbols for b in machine.binaries or ())
    return Finding(
        severity=Severity.ERROR if lacking else Severity.INFO,
        explains=(*RULE.explains, "torch-companion-mismatch", "extension-abi-mismatch") if lacking else (),
        summary=f"{name[:50]}{more} {verb} that {fault.package} {(fault.version or '')[:30]} installed.",
        subject=Subject(kind="package", id=f"{fault.package} changed"),
        evidence=_shown(machine, fault),
        remedies=(pip_install(machine, "Install the same version again.", *_again(fault)),),
        verify=(python_after(machine), "-c", f"import {_module(fault.package)}"),
    )


def _again(fault: InstalledFault) -> tuple[str, ...]:
    return "--force-reinstall", "--no-deps", f"{fault.package}=={fault.version}"


def _not_installed(machine: Snapshot, faults: list[InstalledFault]) -> Finding:
    """An error where the package imports it at once; without others a part of the package may not work."""
    first = faults[0]
    wanted = [(fault.detail or "").partition(";")[0].strip() for fault in faults]
    more = f" and {len(faults) - 1} more, which are" if len(faults) > 1 else ", which is"
    source = machine.source("installed_faults")
    fatal = tuple(Evidence(text=f"{path} imports it"[:380], source=source) for path in first.files[:1])
    required = (f"{fault.package} {fault.version} requires {fault.detail}"[:380] for fault in faults[:8])
    return Finding(
        severity=Severity.ERROR if fatal else Severity.WARNING,
        summary=f"{first.package} {(first.version or '')[:30]} requires {wanted[0][:60]}{more} not installed.",
        subject=Subject(kind="package", id=first.key),
        evidence=(
            *(Evidence(text=text, source=source) for text in required),
            *fatal,
            *evidence(machine, ("interpreter.site_packages",)),
        ),
        remedies=(pip_install(machine, "Install what is missing.", *wanted),),
        verify=(python_after(machine), "-m", "pip", "check"),
    )


def _of_other_python(machine: Snapshot, faults: list[InstalledFault]) -> Finding:
    names = ", ".join(f.package for f in faults[:4])
    return Finding(
        summary=f"{names[:100]}: compiled for another Python or CPU than {faults[0].detail or 'this one'}.",
        subject=Subject(kind="package", id=f"{faults[0].package} other-python"),
        evidence=(
            *(row for f in faults[:4] for row in _shown(machine, f)),
            *evidence(machine, ("interpreter.version", "interpreter.site_packages")),
        ),
        remedies=(
            pip_install(
                machine,
                "Install the packages again with this environment's own pip.",
                *("--force-reinstall", "--no-deps", *(f"{f.package}=={f.version}" for f in faults[:8] if f.version)),
            ),
        ),
        verify=(python_after(machine), "-c", f"import {_module(faults[0].package)}"),
    )


def _new_environment(machine: Snapshot) -> Remedy:
    path = (machine.environment or {}).get("VIRTUAL_ENV", "") or "ENVIRONMENT"
    again = ("python3", "-m", "venv", "--clear", path)
    what = "" if path != "ENVIRONMENT" else " (ENVIRONMENT: its folder)"
    return way(
        f"Create the virtual environment again with a Python that is installed{what}.",
        Scope.ENVIRONMENT,
        step("Create it; this empties the folder.", *again, where="environment"),
        step("Install its packages again, from your requirements file.", where="environment"),
        risk="empties the environment",
        undo=(step("None: keep a copy of the folder.", where="environment"),),
    )


def _shown(machine: Snapshot, fault: InstalledFault) -> tuple[Evidence, ...]:
    source = machine.source("installed_faults")
    return tuple(Evidence(text=f"{fault.kind}: {path}"[:380], source=source) for path in fault.files[:4])


def _module(package: str) -> str:
    return package.replace("-", "_") if not package.startswith("nvidia-") else "torch"
