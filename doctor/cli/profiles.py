"""`doctor profiles`: the known-good stacks: list, show, validate, match, capture, diff."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import Output, TextOrJson

if TYPE_CHECKING:
    from doctor.facts import Snapshot

_FROM = Annotated[Path | None, typer.Option("--from", help="Use this capture or bundle instead of this machine.")]
_ROOT = Annotated[Path | None, typer.Option(help="Use the tree under this folder; run no command.")]


def add(app: typer.Typer) -> None:
    group = typer.Typer(
        help="List, compare and capture known-good stacks.", no_args_is_help=True, rich_markup_mode=None
    )
    group.command("list")(list_)
    for command in (show, validate, match, capture, diff):
        group.command(command.__name__)(command)
    app.add_typer(group, name="profiles")


def list_(format_: TextOrJson = "text", output: Output = None) -> int:
    """List the profiles: boards with their stacks, and your own."""
    from doctor.cli.output import tell
    from doctor.errors import DoctorError, ExitCode
    from doctor.profiles import load
    from doctor.profiles.compose import is_shipped, named
    from doctor.profiles.pairs import Pair, faults
    from doctor.report.profiles import matrix

    rows, pairs, wrong = [], [], 0
    for file, fault in faults():
        tell(f"doctor: {file}: {fault}\n")
        wrong += 1
    for name, what in named().items():
        try:
            profile = load(name)
        except DoctorError as error:
            tell(f"doctor: {error}\n")
            wrong += 1
            continue
        whose = "shipped" if is_shipped(what) else "yours"
        parts = {"board": what.board, "stack": what.stack} if isinstance(what, Pair) else {}
        rows.append({"name": name, "status": profile.status, "whose": whose, "about": profile.about, **parts})
        pairs += [(what, profile)] if isinstance(what, Pair) else []
    own = [f"{r['name']:<26} {r['status']:<14} {r['about']}" for r in rows if "stack" not in r]
    lines = [*matrix(pairs), *(["", "Yours", *own] if own else [])]
    _deliver(rows, lines, format_, output)
    return ExitCode.USAGE if wrong else ExitCode.OK


def show(
    name: Annotated[str, typer.Argument(help="Name of a profile, or path of a .toml file.")],
    format_: TextOrJson = "text",
    output: Output = None,
) -> None:
    """Show a profile: each value with reason, source and status."""
    from doctor.profiles import load
    from doctor.report.profiles import shown

    profile = load(name)
    data = profile.model_dump(mode="json", by_alias=True, exclude_none=True)
    _deliver(data, shown(profile), format_, output)


def validate(
    name: Annotated[list[str], typer.Argument(help="Names of profiles, paths of .toml files, or folders of those.")],
) -> None:
    """Check profiles and list every fault with its line.

    In a folder, each .toml file at its top is checked."""
    from doctor.cli.output import deliver, tell
    from doctor.errors import DataFileError, InputError
    from doctor.profiles import load

    def faults_of(each: str) -> int:
        try:
            load(each)
        except DataFileError as error:
            for fault in error.faults:
                tell(f"{error.path}: {fault}\n")
            return 1
        except InputError as error:
            if asked == [each]:
                raise
            tell(f"doctor: {error}\n")
            return 1
        deliver(f"{each}: valid\n", None)
        return 0

    asked = [one for each in name for one in _of_folder(each)]
    wrong = sum(faults_of(each) for each in asked)
    if wrong:
        raise InputError(f"{wrong} of {len(asked)} profiles with faults")


def _of_folder(name: str) -> list[str]:
    """The profiles of a folder; anything else is itself. InputError for a folder without any."""
    from doctor.errors import InputError

    if not name.endswith("/") and not Path(name).is_dir():
        return [name]
    found = sorted(str(path) for path in Path(name).glob("*.toml"))
    if not found:
        raise InputError(f"{name}: no .toml file is in this folder")
    return found


def match(
    from_: _FROM = None,
    root: _ROOT = None,
    workload: Annotated[str | None, typer.Option(metavar="train|serve", help="Prefer this workload.")] = None,
    format_: TextOrJson = "text",
    output: Output = None,
) -> int:
    """Find the profile that fits this machine.

    Exit 1 when none fits, or several."""
    from dataclasses import asdict

    from doctor.errors import ExitCode
    from doctor.profiles import rank
    from doctor.report.profiles import matched

    ranking = rank(_machine(from_, root), workload=workload)
    chosen = ranking.chosen.name if ranking.chosen else None
    rows = [{k: v for k, v in asdict(c).items() if k != "place"} for c in ranking.candidates]
    data = {"chosen": chosen, "why": ranking.why, "tied": list(ranking.tied), "profiles": rows}
    _deliver(data, matched(ranking), format_, output)
    return ExitCode.OK if chosen else ExitCode.FINDINGS


def capture(
    name: Annotated[str, typer.Argument(help="Name of the new profile.")],
    about: Annotated[str | None, typer.Option(help="What it is for, in one line.")] = None,
    from_: _FROM = None,
    root: _ROOT = None,
    output: Output = None,
) -> None:
    """Write a profile of this node, to compare other nodes with."""
    import datetime

    from doctor.cli.output import deliver, tell
    from doctor.profiles.capture import capture as captured
    from doctor.profiles.text import checked_name

    found = captured(
        _machine(from_, root), checked_name(name), datetime.datetime.now(datetime.timezone.utc).date(), about
    )
    deliver(found.toml, output)
    if found.unknown:
        tell(f"doctor: not known here, so not in the profile: {', '.join(found.unknown)}\n")


def diff(
    before: Annotated[str, typer.Argument(metavar="A", help="Name of a profile, or path of a .toml file.")],
    after: Annotated[str | None, typer.Argument(metavar="B", help="The same; without it, this machine.")] = None,
    from_: _FROM = None,
    root: _ROOT = None,
    format_: TextOrJson = "text",
    output: Output = None,
) -> int:
    """Compare two profiles, or a profile and this node.

    Exit 1 when something differs, 4 when nothing is known."""
    from dataclasses import asdict

    from doctor.errors import ExitCode, InputError
    from doctor.profiles import load
    from doctor.profiles.difference import differences
    from doctor.report.profiles import judged_line

    first = load(before)
    if after is not None:
        if from_ or root:
            raise InputError("two profiles are compared with each other, or one with --from or --root")
        found = differences(first, load(after))
        lines = [f"{d.part} {d.name}: {d.before or '(nothing)'} -> {d.after or '(nothing)'}" for d in found]
        _deliver([asdict(d) for d in found], lines or ["No difference."], format_, output)
        return ExitCode.FINDINGS if found else ExitCode.OK
    verdict = first.verdict(_machine(from_, root), "named", "named")
    counts = f"{len(verdict.holds)} hold, {len(verdict.deviates)} do not, {len(verdict.unknown)} could not be checked."
    lines = [*(judged_line(j) for j in verdict.judged), counts]
    _deliver([j.model_dump(mode="json") for j in verdict.judged], lines, format_, output)
    if not verdict.holds and not verdict.deviates:  # nothing known is not "nothing differs"
        return ExitCode.UNJUDGED
    return ExitCode.FINDINGS if verdict.deviates else ExitCode.OK


def _machine(from_: Path | None, root: Path | None) -> Snapshot:
    """The facts of this machine, a capture or a tree."""
    from doctor.cli.check import _system
    from doctor.cli.measured import facts
    from doctor.errors import InputError

    if from_ and root:
        raise InputError("--from and --root exclude each other")
    return facts(_system(from_, root))


def _deliver(data: Any, lines: list[str], format_: str, output: Path | None) -> None:
    import json

    from doctor.cli.output import deliver

    text = "\n".join("".join(c if c.isprintable() else " " for c in line) for line in lines)
    prose = format_ == "text"
    deliver((text if prose else json.dumps(data, indent=2, ensure_ascii=False)) + "\n", output, prose=prose)
