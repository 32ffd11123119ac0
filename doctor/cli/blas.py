"""`doctor blas`: which BLAS library each matrix product of torch takes, and why; with --prove, what really ran."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Destination, Domain, Hide, Key, site_of

if TYPE_CHECKING:
    from doctor.blas.predict import Prediction
    from doctor.blas.prove import Proved
    from doctor.facts import Snapshot


def add(app: typer.Typer) -> None:
    app.command("blas")(blas)


def blas(
    prove: Annotated[
        bool, typer.Option("--prove", help="Run one small matrix product of each kind under your Python.")
    ] = False,
    level: Annotated[
        str, typer.Option(metavar="quick|full", help="With --prove: full adds 30 shapes in bf16 and fp8.")
    ] = "quick",
    python: Annotated[str | None, typer.Option(help="Python interpreter that has torch.")] = None,
    from_: Annotated[Path | None, typer.Option("--from", help="Predict for this capture or bundle.")] = None,
    device: Annotated[
        str | None, typer.Option(help="With --prove: cpu, cuda or cuda:N (default: what torch has).")
    ] = None,
    format_: TextOrJson = "text",
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Show which BLAS library each matrix product uses, and why. Exit 1 for findings of severity warning or error."""
    import re

    from doctor.blas.predict import predict
    from doctor.cli import measured
    from doctor.cli.check import _python, _system
    from doctor.cli.output import deliver
    from doctor.errors import ExitCode, InputError
    from doctor.report import blas as report

    to = Destination(output, site_of(hide, domain, key))
    if prove and from_ is not None:
        raise InputError("--prove runs on this machine and cannot be combined with --from")
    if device is not None and not re.fullmatch(r"cpu|cuda(?::\d{1,3})?", device):
        raise InputError(f"invalid --device '{device[:20]}' (cpu, cuda or cuda:N)")
    if level not in ("quick", "full"):
        raise InputError(f"invalid --level '{level[:20]}' (choose from quick, full)")
    system = _system(from_, None)
    machine = measured.facts(system, _python(python, live=from_ is None))
    predictions = predict(machine)
    if not predictions:
        raise InputError(
            "torch was not found, so nothing can be predicted; pass the interpreter that has it with --python"
        )
    findings: list[Any] = []
    proved: Proved | None = None
    withheld: tuple[str, ...] = ()
    if prove:
        from doctor.system.user_python import withheld as kept_back

        proved = _proved(machine, predictions, device, level)
        if proved.trouble and all(p.outcome == "not-run" for p in proved.proofs):
            raise InputError(f"cannot run a matrix product: {proved.trouble}")
        withheld = kept_back(dict(os.environ))
        judged = measured.report_of(machine, {"gemm_proofs": tuple(proved.proofs)})
        machine, findings = judged.snapshot, list(judged.counted())
    if format_ == "json":
        data = report.data(machine, predictions, findings, withheld, proved.torch if proved else None)
        deliver(report.render(data, redacted=getattr(system, "redacted", False), site=to.site), output)
    else:
        to.write(report.text(machine, predictions, findings, withheld, proved.trouble if proved else None), prose=True)
    bad = any(f.severity.rank < 2 for f in findings) or bool(proved and proved.trouble)
    return ExitCode.FINDINGS if bad else ExitCode.OK


def _proved(machine: Snapshot, predictions: tuple[Prediction, ...], device: str | None, level: str) -> Proved:
    from doctor.blas import prove
    from doctor.cli import measured, waiting
    from doctor.findings import Progress

    python = measured.interpreter(machine)
    last: Any = None
    more = prove.shaped(machine.torch.build == "cpu" or device == "cpu") if level == "full" else []
    for last in prove.prove(python, predictions, dict(os.environ), prove.BOUNDS, device, more=more):
        if isinstance(last, Progress):
            waiting.say(last.what)
    waiting.hush()
    assert isinstance(last, prove.Proved)
    return last
