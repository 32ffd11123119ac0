"""`doctor fleet`: many nodes: gather reports with an engine that is there, and judge them as one."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import FailOn, Output
from doctor.cli.fleet_diff import diff
from doctor.cli.fleet_health import health
from doctor.cli.fleet_inputs import Golden, Profile, expected_state, names_of, tally_of, text_of
from doctor.cli.fleet_watch import watch
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names

if TYPE_CHECKING:
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import Verdict

_Strict = Annotated[bool, typer.Option("--strict", help="Exit 4 when a layer was not checked on a node with GPUs.")]
_Format = Annotated[
    str,
    typer.Option(
        "--format", metavar="text|json|markdown|html|nodes", help="Output format; nodes: list those to drain."
    ),
]


def add(app: typer.Typer) -> None:
    group = typer.Typer(help="Check many nodes, and find those to drain.", no_args_is_help=True, rich_markup_mode=None)
    for command in (check, report, diff, watch, health):
        group.command(command.__name__)(command)
    app.add_typer(group, name="fleet")


def check(
    slurm: Annotated[bool, typer.Option("--slurm", help="Use srun on the idle nodes.")] = False,
    ssh: Annotated[str | None, typer.Option(metavar="HOSTS", help="Use ssh: n[1-8],login or @FILE.")] = None,
    ansible: Annotated[Path | None, typer.Option(help="Use ansible with this inventory.")] = None,
    emit: Annotated[
        str | None,
        typer.Option(
            metavar="sbatch|kubernetes-job|kubernetes-daemonset|ansible", help="Print a job for it; run nothing."
        ),
    ] = None,
    nodes: Annotated[str | None, typer.Option(help="Only these nodes: n[001-128], or @FILE of names.")] = None,
    partition: Annotated[str | None, typer.Option(help="Slurm partition.")] = None,
    hosts: Annotated[str, typer.Option(help="Ansible's host pattern.")] = "all",
    option: Annotated[
        list[str] | None, typer.Option(help="One more option for srun or sbatch; may be repeated.")
    ] = None,
    doctor: Annotated[str, typer.Option(metavar="COMMAND", help="How to start doctor on the nodes.")] = "doctor",
    image: Annotated[str, typer.Option(help="For Kubernetes: an image that holds doctor.")] = "rocm-cuda-doctor:latest",
    node_label: Annotated[str | None, typer.Option(help="For Kubernetes: only nodes with NAME=VALUE.")] = None,
    timeout: Annotated[int, typer.Option(min=5, max=3600, help="Seconds to wait for a node.")] = 60,
    at_once: Annotated[int, typer.Option(min=1, max=1000, help="Nodes at a time (ssh and ansible).")] = 32,
    keep: Annotated[Path | None, typer.Option(help="Keep the reports in this new folder.")] = None,
    golden: Golden = None,
    profile: Profile = None,
    strict: _Strict = False,
    format_: _Format = "text",
    fail_on: FailOn = "error",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Check all nodes over Slurm, ssh or Ansible, and compare them."""
    site = site_of(hide, domain, key)
    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.errors import ExitCode, InputError, ToolError
    from doctor.fleet import emit as texts
    from doctor.fleet import gather
    from doctor.fleet.answers import of_folder
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import judged

    if sum(map(bool, (slurm, ssh, ansible, emit))) != 1:
        raise InputError("expected one of --slurm, --ssh, --ansible, --emit")
    chosen = ",".join(names_of(nodes)) or None
    if emit:
        made = texts.emit(emit, doctor=doctor, nodes=chosen, partition=partition, timeout_s=timeout, image=image,
                          gpu_label=node_label, options=option or ())  # fmt: skip
        deliver(made, output)
        return ExitCode.OK
    goldens, expected = expected_state(golden, profile)
    with _folder(keep) as folder, waiting("Asking the nodes"):
        try:
            if slurm:
                done = gather.by_slurm(folder, doctor=doctor, nodes=chosen, partition=partition, timeout_s=timeout,
                                       options=option or ())  # fmt: skip
            elif ssh:
                done = gather.by_ssh(folder, doctor=doctor, hosts=names_of(ssh), timeout_s=timeout, at_once=at_once)
            else:
                assert ansible
                done = gather.by_ansible(folder, doctor=doctor, inventory=ansible, pattern=hosts, timeout_s=timeout,
                                         at_once=at_once)  # fmt: skip
        except ToolError as error:  # the engine knows no nodes: that is no fault of the doctor's
            raise InputError(str(error)) from error
        tally = Tally(expected=expected).add_all(of_folder(folder))
        tally.missing(done.expected, done.reasons)
    _require_answers(tally, "no node to ask: none is named, in the inventory or known to the scheduler")
    verdict = judged(tally, goldens)
    deliver(without_names(_rendered(verdict, format_), site), output, prose=format_ == "text")
    return _exit_code(verdict, fail_on, strict=strict)


def report(
    source: Annotated[str, typer.Argument(metavar="DIR|-", help="Folder of NODE.json files; - reads a stream.")],
    format_: _Format = "text",
    nodes: Annotated[
        str | None, typer.Option(help="Nodes that should have answered: n[001-128], or @FILE of names.")
    ] = None,
    golden: Golden = None,
    profile: Profile = None,
    strict: _Strict = False,
    gres: Annotated[Path | None, typer.Option(help="Slurm's gres.conf, to compare with.")] = None,
    slurm: Annotated[Path | None, typer.Option(help="Output of `scontrol show node -o`, to compare with.")] = None,
    kube: Annotated[Path | None, typer.Option(help="Output of `kubectl get nodes -o json`, to compare with.")] = None,
    fail_on: FailOn = "error",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Compare many reports: which node is odd, and what differs.

    Each is a `doctor check --format json` report."""
    site = site_of(hide, domain, key)
    from doctor.cli.output import deliver
    from doctor.fleet import kubernetes, views
    from doctor.fleet.verdict import judged

    goldens, expected = expected_state(golden, profile)
    tally = tally_of(source, expected)
    tally.missing(names_of(nodes))
    what = "the stream was empty" if source == "-" else f"{source}: no NODE.json, NODE.jsonl or NODE.out is in it"
    _require_answers(tally, f"{what}, and --nodes names nobody: nothing was read")
    cluster = text_of(kube)
    seen = [*views.of_gres(text_of(gres)), *views.of_scontrol(text_of(slurm)), *kubernetes.of_kubernetes(cluster)]
    verdict = judged(tally, goldens)
    verdict.folder = None if source == "-" else Path(source)
    verdict.disagreements += [*views.disagreements(tally, seen), *kubernetes.operators(cluster)]
    deliver(without_names(_rendered(verdict, format_), site), output, prose=format_ == "text")
    return _exit_code(verdict, fail_on, strict=strict)


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
        raise InputError(f"--keep {keep}: {error.strerror or error}; expected a new folder") from error
    yield keep.absolute()


def _require_answers(tally: Tally, why: str) -> None:
    """Raises InputError where nobody answered and nobody is missed: a fleet of no node is not a good one."""
    from doctor.errors import InputError

    if not tally.nodes and not tally.silent:
        raise InputError(why)


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
        return folded(node for nodes in verdict.to_drain().values() for node in nodes) + "\n"
    return text.markdown(verdict) if format_ == "markdown" else text.render(verdict)


def _exit_code(verdict: Verdict, fail_on: str, *, strict: bool) -> int:
    from doctor.errors import ExitCode

    if fail_on == "never":
        return ExitCode.OK
    warned = any(p.severity == "warning" for p in verdict.tally.problems) or verdict.divided()
    if verdict.bad() or verdict.disagreements or (fail_on == "warning" and warned):
        return ExitCode.FINDINGS
    return ExitCode.UNJUDGED if strict and not verdict.good() else ExitCode.OK
