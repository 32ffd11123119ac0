"""`doctor why GOOD BAD`: which difference between two machines explains that it fails on one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.choices import Output, TextOrJson
from doctor.cli.site_options import Domain, Hide, Key, redacted, site_of, without_names

if TYPE_CHECKING:
    from doctor.redaction.pseudonyms import Site
    from doctor.why.prove import Side
    from doctor.why.runs import Limits


def add(app: typer.Typer) -> None:
    app.command("why", context_settings={"allow_interspersed_args": True})(why)


def why(
    good: Annotated[
        str,
        typer.Argument(
            metavar="GOOD",
            help="Where it works: a bundle, capture, JSON report, Python, in:CONTAINER, image:NAME, pid:N, or `this`.",
        ),
    ],
    bad: Annotated[str, typer.Argument(metavar="BAD", help="Where it fails: the same kinds.")],
    command: Annotated[
        list[str] | None, typer.Argument(metavar="[-- COMMAND]", help="With --prove: what works there and fails here.")
    ] = None,
    symptom: Annotated[str | None, typer.Option(help="The error message, or a file that holds it.")] = None,
    prove: Annotated[
        bool, typer.Option("--prove", help="Find the smallest difference that changes the outcome of COMMAND.")
    ] = False,
    good_env: Annotated[Path | None, typer.Option(help="Variables of GOOD, as `env` prints them.")] = None,
    bad_env: Annotated[Path | None, typer.Option(help="Variables of BAD, as `env` prints them.")] = None,
    good_dir: Annotated[Path | None, typer.Option(help="Working directory of GOOD; COMMAND runs in a copy.")] = None,
    bad_dir: Annotated[Path | None, typer.Option(help="Working directory of BAD; COMMAND runs in a copy.")] = None,
    pattern: Annotated[
        str | None, typer.Option(help="COMMAND works when its output has this regular expression, too.")
    ] = None,
    timeout: Annotated[float, typer.Option(min=1, help="Seconds for each run of COMMAND.")] = 300,
    runs: Annotated[int, typer.Option(min=4, help="Runs of COMMAND at most.")] = 100,
    minutes: Annotated[float, typer.Option(min=0.1, help="Minutes at most.")] = 60,
    jobs: Annotated[
        int, typer.Option(min=1, max=8, help="Runs side by side; not for a COMMAND that uses a port or fills a GPU.")
    ] = 1,
    resume: Annotated[Path | None, typer.Option(help="Log of runs: written, and read where it is there.")] = None,
    format_: TextOrJson = "text",
    verbose: Annotated[bool, typer.Option("-v", help="List every difference.")] = False,
    output: Output = None,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Find out why it works there and fails here.

    Exit 1 when a difference explains it, 4 when nothing can be compared or none of what can be tried explains it.
    """
    from doctor.errors import InputError

    if prove != bool(command):
        raise InputError("--prove and COMMAND need each other: doctor why GOOD BAD --prove -- COMMAND")
    if not prove and (good_env or bad_env or good_dir or bad_dir or pattern or resume):
        raise InputError("--good-env, --bad-env, --good-dir, --bad-dir, --pattern and --resume need --prove")
    site = site_of(hide, domain, key)
    if command:
        from doctor.why.runs import Limits

        limits = Limits(runs=runs, minutes=minutes, jobs=jobs, timeout_s=timeout, pattern=pattern, log=resume)
        return _prove((good, bad), (good_env, bad_env), (good_dir, bad_dir), command, limits, format_, output, site)
    return _compare((good, bad), symptom, verbose, format_, output, site)


def _compare(
    names: tuple[str, str], symptom: str | None, verbose: bool, format_: str, output: Path | None, site: Site | None
) -> int:
    """Reads both sides, which are redacted then."""
    import json
    from dataclasses import replace

    from doctor.cli.output import deliver
    from doctor.cli.waiting import waiting
    from doctor.engine.registry import for_comparing
    from doctor.errors import ExitCode
    from doctor.knowledge import Knowledge
    from doctor.report.key import redactor_for
    from doctor.sides import is_live, key_mark, report
    from doctor.why import text
    from doctor.why.boxes import box_options, is_box
    from doctor.why.ranking import why as ask
    from doctor.why.symptom import read

    marks = [key_mark(name, site) for name in names]
    more = for_comparing(live=all(map(is_live, names)))
    with waiting("Reading both sides"):
        good, bad = (report(name, site, more) for name in names)
    said = read(symptom, is_here=is_live(names[1]) and not is_box(names[1]))
    same_names = marks[0] is not None and marks[0] == marks[1]
    redactor = redactor_for(site=site)
    if is_live(names[1]) or (site and site.key):  # what the message names is in the facts under a pseudonym
        said = replace(said, text=redactor.text(said.text))
    options = box_options(names, redactor.data) if all(map(is_box, names)) else ()
    found = ask(good, bad, Knowledge(), said, same_names=same_names, options=options)
    found = replace(found, keys_differ=None not in marks and marks[0] != marks[1])
    prose = format_ == "text"
    as_json = "" if prose else json.dumps(text.as_data(found, names), indent=2) + "\n"
    deliver(without_names(as_json or text.render(found, names, verbose=verbose), site), output, prose=prose)
    if not found.comparable:
        return ExitCode.UNJUDGED
    return ExitCode.FINDINGS if any(one.by for one in found.explained) else ExitCode.OK


def _prove(
    names: tuple[str, str],
    variables: tuple[Path | None, Path | None],
    folders: tuple[Path | None, Path | None],
    command: list[str],
    limits: Limits,
    format_: str,
    output: Path | None,
    site: Site | None,
) -> int:
    """Runs COMMAND; what it answers is written even after Ctrl-C."""
    import json

    from doctor.cli.output import deliver, tell
    from doctor.errors import ExitCode
    from doctor.report.key import redactor_for
    from doctor.why.prove import prove

    good, bad = (_side(*row) for row in zip(names, variables, folders, strict=True))
    proof = prove(good, bad, command, limits, tell)
    if format_ == "json":
        redactor = redactor_for(site=site)
        redactor.learn({"environment": {**bad.variables(), **good.variables()}})
        data = proof.as_data(names, redactor.data)
        deliver(json.dumps(data, indent=2) + "\n", output)
    else:
        deliver(redacted(proof.text(names), site), output, prose=True)
    if proof.interrupted:
        return ExitCode.INTERRUPTED
    return ExitCode.FINDINGS if proof.minimal else ExitCode.UNJUDGED


def _side(name: str, variables: Path | None, folder: Path | None) -> Side:
    from doctor.errors import InputError
    from doctor.why.boxes import box, is_box
    from doctor.why.local import local

    if not is_box(name):
        return local(name, variables, folder)
    if variables or folder:
        raise InputError(
            f"{name}: its variables and working directory are its own; --good-env and --good-dir are not for it"
        )
    return box(name)
