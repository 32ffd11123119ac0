"""`doctor env`: what the variables of the GPU stack say to the components that read them, and which to set."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import FailOn, Output
from doctor.cli.site_options import Domain, Hide, Key, redacted, site_of

if TYPE_CHECKING:
    from doctor.facts.snapshot import Snapshot
    from doctor.findings import Finding
    from doctor.flags.situation import Situation
    from doctor.redaction.pseudonyms import Site
    from doctor.system.base import System


def add(app: typer.Typer) -> None:
    app.command("env")(env)


def env(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            help=".env, shell or batch script, Dockerfile, compose file, manifest, unit, Python script; - for stdin; "
            "default: the environment of this process."
        ),
    ] = None,
    pid: Annotated[str | None, typer.Option(help="Lint the environment of this running process.")] = None,
    recommend: Annotated[
        bool, typer.Option("--recommend", help="Print the smallest set of variables that a vendor guide recommends.")
    ] = False,
    workload: Annotated[str | None, typer.Option(metavar="train|serve|desktop", help="Purpose of the program.")] = None,
    context: Annotated[
        str | None,
        typer.Option(help="Properties of the job, comma-separated: fsdp, multi_node, !moe; - lists them."),
    ] = None,
    gpu: Annotated[str | None, typer.Option(help="Check for this GPU: MI300X, 8xH100, gfx1100.")] = None,
    rocm: Annotated[str | None, typer.Option(help="Check for this ROCm version.")] = None,
    torch: Annotated[str | None, typer.Option(help="Check for this torch version.")] = None,
    python: Annotated[str | None, typer.Option(help="Check against the packages of this Python.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            metavar="env|shell|dockerfile|yaml|unit|cron|python",
            help="Kind of the files (default: by name and content).",
        ),
    ] = None,
    here: Annotated[
        bool, typer.Option("--here", help="Check the files against the GPUs, versions and packages of this machine.")
    ] = False,
    trace: Annotated[
        str | None, typer.Option(help="Show how this variable reaches each program that the files start; all: a table.")
    ] = None,
    diff: Annotated[
        bool, typer.Option("--diff", help="Print the fixes that can be made automatically as a patch.")
    ] = False,
    format_: Annotated[str, typer.Option("--format", metavar="text|json|sarif|github", help="Output format.")] = "text",
    fail_on: FailOn = "error",
    verbose: Annotated[bool, typer.Option("-v", help="Describe each variable.")] = False,
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Check environment variables, or recommend those to set."""
    from doctor.cli import env_files, env_output
    from doctor.cli.output import deliver
    from doctor.errors import ExitCode, InputError

    site = site_of(hide, domain, key)
    if context == "-":
        return _listed(output)
    stated = _stated(workload, context)
    if trace is not None:
        return _traced(files, trace, kind, pid, format_, output, site)
    if pid and files:
        raise InputError("use either --pid or files, not both")
    if recommend and (files or pid):
        raise InputError("--recommend takes no files and no --pid")
    if python and not pid:
        from doctor.cli.check import _python

        python = _python(python, live=True)
    if diff and not files:
        raise InputError("--diff needs a file")
    elsewhere = not python and ((bool(gpu) and recommend) or (bool(files) and not here))
    machine = _machine(pid, python, here=not elsewhere)
    machine = _described(machine, gpu, rocm, torch)
    counted = not gpu or _counted(gpu)[0] is not None
    if recommend:
        advice = _advice(machine, workload or "serve", counted=counted)
        deliver(env_output.advised(advice, workload or "serve", format_), output)
        return 0
    looked = list(env_files.looked(files, kind, machine, stated, counted)) if files else [_here(machine, pid, stated)]
    if diff:
        deliver(redacted("".join(env_files.patches(looked)), site), output)
    elif looked:
        deliver(redacted(env_output.rendered(looked, format_, verbose=verbose), site), output, prose=format_ == "text")
    if len(looked) < len(files or ()):
        return ExitCode.USAGE
    return _exit_code([f for one in looked for f in one.findings], fail_on)


def _traced(
    files: list[Path] | None,
    name: str,
    kind: str | None,
    pid: str | None,
    format_: str,
    output: Path | None,
    site: Site | None,
) -> int:
    import re

    from doctor.cli import env_trace
    from doctor.cli.output import deliver
    from doctor.errors import InputError, ParserError

    if not files:
        raise InputError("--trace needs a file")
    if not re.fullmatch(r"[A-Za-z_][A-Za-z0-9_]{0,127}", name):
        raise InputError(f"invalid --trace {name[:40]!r} (pass the name of a variable, or all)")
    if format_ not in ("text", "json"):
        raise InputError("--trace supports --format text and json only")
    try:
        every = env_trace.traced(files, name, kind)
    except ParserError as error:
        raise InputError(f"{files[0]}: {error}") from error
    process = env_trace.live(pid, _process(pid)) if pid else None
    deliver(redacted(env_trace.rendered(every, name, format_, process), site), output, prose=format_ == "text")
    return 0


def _machine(pid: str | None, python: str | None, *, here: bool) -> Snapshot:
    """GPUs, versions and packages here; of the process where one is named. Nothing is asked of a machine elsewhere."""
    from doctor.facts.snapshot import Snapshot

    if not here:
        return Snapshot()
    from doctor.cli.measured import facts
    from doctor.system.live import LiveSystem

    if not pid:
        return facts(LiveSystem(), python)
    from doctor.engine import inside

    process = _process(pid)
    probes = inside.probes(process, int(pid), None, python or inside.interpreter(process))
    return facts(LiveSystem(), probes=probes)


def _process(pid: str) -> Any:
    from doctor.errors import InputError
    from doctor.system.process import ProcessSystem

    if not (pid.isdecimal() and 0 < int(pid) < 1 << 31):
        raise InputError(f"invalid --pid {pid[:20]!r} (pass a number)")
    return ProcessSystem(int(pid))


def _described(machine: Snapshot, gpu: str | None, rocm: str | None, torch: str | None) -> Snapshot:
    """The machine with what the user says of it."""
    from doctor.errors import InputError
    from doctor.facts.gpu import Gpu
    from doctor.knowledge.names import gpu_by_name

    changes: dict[str, Any] = {}
    if gpu:
        count, model = _counted(gpu)
        known = gpu_by_name(model)
        if known is None:
            raise InputError(f"unknown --gpu {gpu[:40]!r} (pass a product such as MI300X or RTX 4090, or a gfx target)")
        if count == 0:
            raise InputError(f"invalid --gpu {gpu[:40]!r} (the count must be at least 1)")
        name = None if model.lower().startswith(("gfx", "sm_")) else model  # products of several names have one target
        one = Gpu(key="#0", vendor=known.vendor, name=name, arch=known.arch)
        changes["gpus"] = tuple(one.model_copy(update={"key": f"#{n}"}) for n in range(count or 1))
    for option, version in (("--rocm", rocm), ("--torch", torch)):
        if version is not None and not version[:1].isdigit():
            raise InputError(f"invalid {option} {version[:40]!r} (pass a version such as 7.2)")
    update = {k: v for k, v in (("rocm", rocm), ("version", torch)) if v}
    if update:
        changes["torch"] = machine.torch.model_copy(update=update)
    return machine.model_copy(update=changes) if changes else machine


def _counted(gpu: str) -> tuple[int | None, str]:
    """8xH100 is (8, H100); without a count it is not known."""
    count, sign, model = gpu.partition("x")
    return (min(int(count), 64), model) if sign and count.isdecimal() and len(count) < 4 else (None, gpu)


def _advice(machine: Snapshot, workload: str, *, counted: bool) -> Any:
    from doctor.flags.recommend import advice
    from doctor.flags.situation import Situation

    return advice(Situation({}, machine, counted=counted), workload)


def _listed(output: Path | None) -> int:
    from doctor.cli.output import deliver
    from doctor.flags.interactions import contexts

    deliver("".join(f"{word}\n" for word in sorted(contexts())), output)
    return 0


def _stated(workload: str | None, context: str | None) -> dict[str, bool]:
    """What the user says of the job; a word with ! before it says that it is not so."""
    from doctor.errors import InputError
    from doctor.flags.interactions import contexts
    from doctor.flags.recommend import stated_of

    words = [word.strip() for word in (context or "").split(",") if word.strip()]
    unknown = {word.lstrip("!") for word in words} - contexts()
    if unknown:
        raise InputError(f"unknown --context {sorted(unknown)[0][:40]!r} (`--context -` lists the words)")
    both = {word for word in words if f"!{word}" in words}
    if both:
        raise InputError(f"--context contains both {sorted(both)[0]} and !{sorted(both)[0]}")
    return {**(stated_of(workload) if workload else {}), **{w.lstrip("!"): not w.startswith("!") for w in words}}


def _here(machine: Snapshot, pid: str | None, stated: dict[str, bool]) -> Any:
    from doctor.flags import beside, launch, lint, tunable
    from doctor.flags.files import Looked
    from doctor.flags.situation import Situation
    from doctor.system.live import LiveSystem

    system: System = _process(pid) if pid else LiveSystem()
    command = system.read_text("proc/self/cmdline").value if pid else None
    seen = launch.contexts((command or "").replace("\0", " "))
    env = dict(machine.environment or {})
    vendors = sorted(Situation({}, machine).vendors or ("amd", "nvidia"))
    more = beside.look(system, env, vendors)
    situation = Situation({**more.env, **env}, machine, stated={**seen, **stated})
    found = [*lint.findings(situation, more.places), *more.findings]
    if tunable.is_on(situation.env):
        found += tunable.look(situation, tuple(_results(system, situation, pid)))
    found.sort(key=lambda f: f.severity.rank)
    return Looked(f"process {pid}" if pid else "this process", tuple(found), situation, more.places)


def _results(system: System, situation: Situation, pid: str | None) -> Iterator[Any]:
    """TunableOp's results where torch looks for them: the working directory of the process."""
    from doctor.flags import tunable

    count = len(situation.machine.of_vendor("amd")) or 1
    for name in tunable.names(situation.env, min(count, 64)):
        if name.startswith("/"):
            path = name
        elif pid:
            where = system.link("proc/self/cwd")
            path = f"{where.value or ''}/{name}"
        else:
            path = str(Path.cwd() / name)
        yield tunable.File(path, system.read_text(path).value)


def _exit_code(findings: list[Finding], fail_on: str) -> int:
    from doctor.errors import ExitCode
    from doctor.findings import Severity

    if fail_on == "never":
        return ExitCode.OK
    limit = Severity(fail_on).rank
    return ExitCode.FINDINGS if any(f.severity.rank <= limit for f in findings) else ExitCode.OK
