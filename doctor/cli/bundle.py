"""`doctor bundle`: one redacted archive for support; `doctor bundle scan`: look for what redaction missed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from doctor.cli.choices import TextOrJson
from doctor.cli.site_options import Domain, Hide, Key, site_of


def add(app: typer.Typer) -> None:
    group = typer.Typer(invoke_without_command=True, rich_markup_mode=None)
    group.callback()(bundle)
    group.command("scan")(scan)
    app.add_typer(group, name="bundle", help="Record this machine for support, redacted.")


def bundle(
    context: typer.Context,
    output: Annotated[Path | None, typer.Option("-o", help="The archive (.tar.gz), mode 0600.")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="List what would go in; write nothing.")] = False,
    since: Annotated[str | None, typer.Option(help="Kernel log from then on: 2h, 3d, 2026-11-20.")] = None,
    include: Annotated[list[Path] | None, typer.Option(help="Add this text file, redacted; repeatable.")] = None,
    pid: Annotated[int | None, typer.Option(help="Add what /proc shows of this process.")] = None,
    max_size: Annotated[int, typer.Option(min=1, help="MiB before compression; extras beyond are left out.")] = 40,
    for_why: Annotated[
        bool, typer.Option("--for-why", help="Add what `doctor why` compares: builds of packages and libraries.")
    ] = False,
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
    names: Annotated[Path | None, typer.Option("--map", help="Write the redaction map here; do not share it.")] = None,
) -> int:
    """Record this machine for support, redacted. Needs no root and no network."""
    if context.invoked_subcommand:
        return 0
    import json
    from datetime import datetime, timezone

    from doctor.bundle.pack import write
    from doctor.bundle.record import make
    from doctor.cli.output import deliver, print_prose, tell
    from doctor.cli.waiting import waiting
    from doctor.errors import InputError
    from doctor.system.live import LiveSystem

    if names is not None and names.exists() and not names.is_file():
        raise InputError(f"--map {names}: is not a regular file; name a new one")
    if for_why and key is None:
        text = "--for-why needs --key FILE, the same file on both machines: openssl rand -hex 32 > FILE makes one"
        raise InputError(text)
    site = site_of(hide, domain, key)
    now = datetime.now(timezone.utc)
    with waiting("Recording this machine"):
        made = make(
            LiveSystem(),
            created=now.strftime("%Y-%m-%dT%H:%M:%SZ"),
            since=_moment(since),
            include=_included(include or ()),
            pid=_running(pid),
            max_size=max_size << 20,
            site=site,
            for_why=for_why,
        )
    if dry_run:
        listed = [f"{len(p.content):>9}  {p.name}  ({' '.join(p.origin.split())})\n" for p in made.parts]
        print_prose("".join([*listed, *(f"  left out  {row.origin}: {row.why}\n" for row in made.left_out)]))
        return 0
    path = output or Path(f"doctor-bundle-{now:%Y%m%d-%H%M%S}.tar.gz")
    size = write(path, made.files)
    if names is not None:
        deliver(json.dumps(made.names, indent=1) + "\n", names)
    for row in made.left_out:
        if row.origin.removeprefix("file:") in {str(p.absolute()) for p in include or ()}:
            tell(f"doctor: --include {row.origin.removeprefix('file:')}: left out: {row.why}\n")
    replaced = sum(sum(kinds.values()) for kinds in made.removed.values())
    print_prose(f"{path}: {len(made.parts)} files, {size / 1024:.0f} KiB; {replaced} values replaced or masked\n")
    return 0


def _moment(since: str | None) -> str | None:
    """As journalctl and dmesg both read it. The words are those of `check --since`."""
    if since is None:
        return None
    from datetime import datetime, timedelta

    from doctor.probes.host.kernel_log import seconds

    now = datetime.now()
    return f"{now - timedelta(seconds=seconds(since, now.timestamp())):%Y-%m-%d %H:%M:%S}"


def _included(paths: Sequence[Path]) -> list[str]:
    """A named file that is not there is a slip of the pen, and not something to leave out in silence."""
    from doctor.errors import InputError

    for path in paths:
        if not path.exists():
            raise InputError(f"--include {path}: no such file or folder")
    return [str(path.absolute()) for path in paths]


def _running(pid: int | None) -> int | None:
    from doctor.errors import InputError

    if pid is not None and (pid <= 0 or not Path(f"/proc/{pid}").exists()):
        raise InputError(f"--pid {pid}: there is no such process")
    return pid


_SHOWN = 200


def scan(
    path: Annotated[Path, typer.Argument(metavar="FILE", help="A bundle.")],
    format_: TextOrJson = "text",
) -> int:
    """Search a bundle for secrets and names that redaction missed.

    Exit 1 when there is something to look at. The output shows the words themselves: do not share it."""
    import json
    import os

    from doctor.bundle.open import open_bundle
    from doctor.bundle.scan import by_detect_secrets
    from doctor.bundle.scan import scan as look
    from doctor.cli.output import deliver, print_prose
    from doctor.errors import ExitCode
    from doctor.report.key import own_names
    from doctor.system.live import LiveSystem

    names = [name for _, name in own_names(LiveSystem())]
    bundle = open_bundle(path)
    more = by_detect_secrets(bundle)
    seen = [*(more or ()), *look(bundle, [*names, os.uname().nodename])]
    if format_ == "json":
        data = {"schema": "doctor.scan/1", "detect_secrets": more is not None, "seen": [row._asdict() for row in seen]}
        deliver(json.dumps(data, indent=1) + "\n", None)
    else:
        rows = [f"{row.name}:{row.line}: {row.kind}: {_plain(row.word)}\n" for row in seen[:_SHOWN]]
        if len(seen) > _SHOWN:
            rows.append(f"and {len(seen) - _SHOWN} more; --format json lists all\n")
        ways = "entropy, hosts and names" + (
            ", detect-secrets" if more is not None else "; detect-secrets is not installed"
        )
        rows.append(
            f"{len(seen)} things to look at in {len(bundle.files)} files, by {ways}."
            " This is no proof: read what you send.\n"
        )
        print_prose("".join(rows))
    return ExitCode.FINDINGS if seen else ExitCode.OK


def _plain(word: str) -> str:
    shown = "".join(c if c.isprintable() else "?" for c in word)
    return shown if len(shown) <= 80 else shown[:77] + "..."
