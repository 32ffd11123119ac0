"""`doctor fleet`: many nodes: gather reports with an engine that is there, and judge them as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import Verdict

_FORMATS = ("text", "json", "markdown", "html", "nodes")


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Many nodes.", no_args_is_help=True, rich_markup_mode=None)
    for command in (check, report, health):
        group.command(command.__name__)(command)
    app.add_typer(group, name="fleet")


def check(
    slurm: Annotated[bool, typer.Option("--slurm", help="Through srun, over the idle nodes.")] = False,
    ssh: Annotated[str | None, typer.Option(help="Through ssh: hosts as n[1-8],login, or @FILE.")] = None,
    ansible: Annotated[Path | None, typer.Option(help="Through ansible: an inventory.")] = None,
    emit: Annotated[
        str | None,
        typer.Option(help="Print for: sbatch, kubernetes-job, kubernetes-daemonset, ansible; nothing is run."),
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Only these nodes: n[001-128], or @FILE of names.")] = None,
    partition: Annotated[str | None, typer.Option(help="Slurm's partition.")] = None,
    hosts: Annotated[str, typer.Option(help="ansible's pattern of hosts.")] = "all",
    option: Annotated[list[str] | None, typer.Option(help="One more for srun or sbatch; may be repeated.")] = None,
    doctor: Annotated[str, typer.Option(help="The doctor on the nodes.")] = "doctor",
    image: Annotated[str, typer.Option(help="For Kubernetes: an image with the doctor.")] = "rocm-cuda-doctor:latest",
    node_label: Annotated[str | None, typer.Option(help="For Kubernetes: only nodes with NAME=VALUE.")] = None,
    timeout: Annotated[int, typer.Option(min=5, max=3600, help="Seconds that a node may take.")] = 60,
    at_once: Annotated[int, typer.Option(min=1, max=1000, help="Nodes at a time, for ssh and ansible.")] = 32,
    keep: Annotated[Path | None, typer.Option(help="Keep the reports in this new folder.")] = None,
    format_: Annotated[str, typer.Option("--format", help=", ".join(_FORMATS))] = "text",
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")] = "error",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """Ask all nodes through an engine that reaches them, and judge them as one."""
    _one_of("--format", format_, _FORMATS)
    _one_of("--fail-on", fail_on, ("error", "warning", "never"))
    from doctor.cli.output import deliver
    from doctor.errors import ExitCode, InputError, ToolError
    from doctor.fleet import emit as texts
    from doctor.fleet import gather
    from doctor.fleet.answers import of_folder
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import judged

    if sum(map(bool, (slurm, ssh, ansible, emit))) != 1:
        raise InputError("one of --slurm, --ssh, --ansible, --emit is wanted")
    chosen = ",".join(_expected(nodes)) or None
    if emit:
        _one_of("--emit", emit, texts.KINDS)
        made = texts.emit(emit, doctor=doctor, nodes=chosen, partition=partition, timeout_s=timeout, image=image,
                          gpu_label=node_label, options=option or ())  # fmt: skip
        deliver(made, output)
        return ExitCode.OK
    with _folder(keep) as folder:
        try:
            if slurm:
                done = gather.by_slurm(folder, doctor=doctor, nodes=chosen, partition=partition, timeout_s=timeout,
                                       options=option or ())  # fmt: skip
            elif ssh:
                done = gather.by_ssh(folder, doctor=doctor, hosts=_expected(ssh), timeout_s=timeout, at_once=at_once)
            else:
                assert ansible
                done = gather.by_ansible(folder, doctor=doctor, inventory=ansible, pattern=hosts, timeout_s=timeout,
                                         at_once=at_once)  # fmt: skip
        except ToolError as error:  # the engine knows no nodes: that is no fault of the doctor's
            raise InputError(str(error)) from error
        tally = Tally().add_all(of_folder(folder))
        tally.missing(done.expected, done.reasons)
    _heard(tally, "no node was there to be asked: none that is named, in the inventory or known to the scheduler")
    verdict = judged(tally)
    deliver(_rendered(verdict, format_), output)
    return _exit_code(verdict, fail_on)


def health(
    for_: Annotated[str, typer.Option("--for", help="slurm-prolog, slurm-epilog, slurm-health, npd or nhc.")],
    gpus: Annotated[int | None, typer.Option(min=0, help="GPUs that this node should have.")] = None,
    fail_on: Annotated[str, typer.Option(help="What counts: error or warning.")] = "error",
    from_: Annotated[Path | None, typer.Option("--from", help="Judge this capture or bundle.")] = None,
    root: Annotated[Path | None, typer.Option(help="Judge the tree under this folder; no command is run.")] = None,
) -> int:
    """Check this node, and answer as a scheduler or monitor wants it: one line and its exit code."""
    from doctor.cli.check import _allowed, _system
    from doctor.cli.output import notice, tell
    from doctor.diagnosis.run import Options, examine
    from doctor.errors import DoctorError
    from doctor.fleet import health as contract

    _one_of("--for", for_, contract.CONTRACTS)
    _one_of("--fail-on", fail_on, ("error", "warning"))
    system = _system(from_, root)
    try:
        said = contract.answer(examine(system, Options(allowed=_allowed(None))), for_, fail_on=fail_on, gpus=gpus)
    except DoctorError as error:
        said = contract.failed(for_, str(error))
    except Exception as error:  # noqa: BLE001 -- a fault of ours must not drain a node
        said = contract.failed(for_, type(error).__name__)
    (tell if said.to_stderr else notice)(said.line + "\n")
    return said.code


def report(
    source: Annotated[str, typer.Argument(metavar="DIR|-", help="Folder with a NODE.json each; - is a stream.")],
    format_: Annotated[str, typer.Option("--format", help=f"{', '.join(_FORMATS)} (those to exclude).")] = "text",
    nodes: Annotated[str | None, typer.Option(help="Who should have answered: n[001-128], or @FILE of names.")] = None,
    gres: Annotated[Path | None, typer.Option(help="Slurm's gres.conf, to compare.")] = None,
    slurm: Annotated[Path | None, typer.Option(help="Output of `scontrol show node -o`, to compare.")] = None,
    kube: Annotated[Path | None, typer.Option(help="Output of `kubectl get nodes -o json`, to compare.")] = None,
    fail_on: Annotated[str, typer.Option(help="Exit 1 from this severity up: error, warning or never.")] = "error",
    output: Annotated[Path | None, typer.Option("-o", help="Write to this file, mode 0600.")] = None,
) -> int:
    """One verdict of any number of `doctor check --format json` reports: who is odd, and what exactly differs."""
    _one_of("--format", format_, _FORMATS)
    _one_of("--fail-on", fail_on, ("error", "warning", "never"))
    from doctor.cli.output import deliver
    from doctor.fleet import kubernetes, views
    from doctor.fleet.verdict import judged

    tally = _tally(source)
    tally.missing(_expected(nodes))
    what = "the stream was empty" if source == "-" else f"{source}: no NODE.json, NODE.jsonl or NODE.out is in it"
    _heard(tally, f"{what}, and --nodes names nobody: nothing was read")
    cluster = _text(kube)
    told = [*views.of_gres(_text(gres)), *views.of_scontrol(_text(slurm)), *kubernetes.of_kubernetes(cluster)]
    verdict = judged(tally)
    verdict.disagreements += [*views.disagreements(tally, told), *kubernetes.operators(cluster)]
    deliver(_rendered(verdict, format_), output)
    return _exit_code(verdict, fail_on)


@contextmanager
def _folder(keep: Path | None) -> Iterator[Path]:
    """A new folder for reports, mode 0700, gone afterwards unless it is to be kept. An absolute path: engines change
    directories."""
    import tempfile

    from doctor.errors import InputError

    if keep is None:
        with tempfile.TemporaryDirectory(prefix="doctor-fleet-") as made:
            yield Path(made)
        return
    try:
        keep.mkdir(mode=0o700)
    except OSError as error:
        raise InputError(f"--keep {keep}: {error.strerror or error}; a new folder is wanted") from error
    yield keep.absolute()


def _one_of(option: str, value: str, known: tuple[str, ...]) -> None:
    from doctor.errors import InputError

    if value not in known:
        raise InputError(f"{option} {value}: one of {', '.join(known)} is wanted")


def _tally(source: str) -> Tally:

    from doctor.errors import InputError
    from doctor.fleet.answers import of_folder, of_stream
    from doctor.fleet.tally import Tally

    if source == "-":
        from doctor.cli.output import stdin

        return Tally().add_all(of_stream(stdin().buffer))
    if not Path(source).is_dir():
        raise InputError(f"{source}: no such folder; `-` reads a stream of reports")
    return Tally().add_all(of_folder(Path(source)))


def _heard(tally: Tally, why: str) -> None:
    """Raises InputError where nobody answered and nobody is missed: a fleet of no node is not a good one."""
    from doctor.errors import InputError

    if not tally.nodes and not tally.silent:
        raise InputError(why)


def _text(path: Path | None) -> str:
    """Of a file that was named; "" without one. InputError where it can't be read."""
    from doctor.errors import InputError

    if path is None:
        return ""
    try:
        if path.stat().st_size > 256 << 20:
            raise InputError(f"{path}: larger than 256 MiB")
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def _expected(nodes: str | None) -> list[str]:
    """The names that a list or a file of lists stands for."""
    from doctor.fleet.names import expanded

    if nodes is None:
        return []
    return expanded(_text(Path(nodes[1:])) if nodes.startswith("@") else nodes)


def _rendered(verdict: Verdict, format_: str) -> str:
    import json

    from doctor.fleet import text
    from doctor.fleet.names import folded

    if format_ == "html":
        from doctor.fleet.page import render

        return render(verdict)
    if format_ == "json":
        return json.dumps(text.as_data(verdict), indent=2) + "\n"
    if format_ == "nodes":
        return folded(verdict.bad()) + "\n"
    return text.markdown(verdict) if format_ == "markdown" else text.render(verdict)


def _exit_code(verdict: Verdict, fail_on: str) -> int:
    from doctor.errors import ExitCode

    if fail_on == "never":
        return ExitCode.OK
    warned = any(p.severity == "warning" for p in verdict.tally.problems) or verdict.divided()
    if verdict.bad() or verdict.disagreements or (fail_on == "warning" and warned):
        return ExitCode.FINDINGS
    return ExitCode.OK
