"""`doctor fleet watch DIR`: a line for each change in a folder of reports, until Ctrl-C."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from doctor.cli.fleet_inputs import Golden, Profile, expected_state
from doctor.cli.site_options import Domain, Hide, Key, site_of, without_names

if TYPE_CHECKING:
    from doctor.fleet.watch import Change

_HOUR = 3600


def watch(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder of NODE.json files that others update.")],
    every: Annotated[int, typer.Option(min=1, max=86400, help="Seconds between looks.")] = 60,
    late: Annotated[
        float, typer.Option(min=0.01, max=8760, help="Hours after which a node should have reported again.")
    ] = 24,
    golden: Golden = None,
    profile: Profile = None,
    format_: Annotated[str, typer.Option("--format", metavar="text|jsonl", help="Output format.")] = "text",
    hide: Hide = None,
    domain: Domain = None,
    key: Key = None,
) -> int:
    """Print a line for each change in a folder of reports.

    A change is an error, an odd node, or one that is late or does not report. Ctrl-C ends it."""
    import time

    from doctor.cli.output import deliver, tell
    from doctor.errors import InputError
    from doctor.fleet.answers import of_folder, signature
    from doctor.fleet.tally import Tally
    from doctor.fleet.verdict import judged
    from doctor.fleet.watch import Watch

    site = site_of(hide, domain, key)
    goldens, expected = expected_state(golden, profile)
    seen, verdict, failed = 0, None, False
    watched = Watch()
    while True:
        try:
            there = signature(folder)
            if verdict is None or there != seen:
                verdict = judged(Tally(expected=expected).add_all(of_folder(folder)), goldens)
                if not verdict.tally.nodes and not verdict.tally.silent:
                    tell(f"doctor: no NODE.json, NODE.jsonl or NODE.out is in {folder}\n")
            seen, failed = there, False
        except InputError:  # whoever renews the folder may be exchanging it
            if failed or verdict is None:
                raise
            failed = True
        now = time.time()
        lines = [_line(change, now, format_) for change in watched.changes(verdict, now, late * _HOUR)]
        if lines:
            deliver(without_names("".join(lines), site), None, prose=format_ == "text")
        time.sleep(every)


def _line(change: Change, now: float, format_: str) -> str:
    import datetime
    import json

    when = datetime.datetime.fromtimestamp(now, datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ")
    if format_ == "jsonl":
        return json.dumps({"schema": "doctor.fleet-change/1", "time": when, **change._asdict()}) + "\n"
    return f"{when} {change.line()}\n"
