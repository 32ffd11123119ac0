"""The kernel log of this boot or of a time, with the age of each event."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.facts.origin import State
from doctor.probes.host import kernel_log
from doctor.system.base import Output, Reading
from tests.probes.pretend import Pretend

CLOCK = {"proc/uptime": "100000.00 1.00\n", "proc/stat": "btime 1700000000\n"}
DMESG = """[    1.000000] Linux version 6.8.0
[ 1000.000000] NVRM: Xid (PCI:0000:1b:00): 79, pid=1, GPU has fallen off the bus.
[99900.000000] NVRM: Xid (PCI:0000:29:00): 79, pid=1, GPU has fallen off the bus.
"""
JOURNAL = "2023-11-15T22:13:20+00:00 node kernel: NVRM: Xid (PCI:0000:45:00): 79, pid=1, GPU has fallen off the bus.\n"


class Logging(Pretend):
    """With what dmesg and journalctl print."""

    def __init__(self, root: Path, **printed: str) -> None:
        super().__init__(root, CLOCK)
        self.printed, self.asked = printed, list[tuple[str, ...]]()

    def run(self, argv: Sequence[str], **_how: object) -> Reading[Output]:
        self.asked.append(tuple(argv))
        text = self.printed.get(argv[0])
        if text is None:
            return Reading(State.ABSENT, f"command:{argv[0]}")
        return Reading(State.VALUE, f"command:{argv[0]}", Output(0, text, "", 0.0))


def look(system: Logging, since: str | None = None) -> Snapshot:
    sheet = FactSheet()
    kernel_log.probe(system, sheet, since)
    return assemble([sheet])


def ages(machine: Snapshot) -> dict[str | None, int | None]:
    return {e.device: e.age_s for e in machine.kernel_log.events or ()}


def test_each_event_tells_how_long_ago_it_was(tmp_path: Path) -> None:
    assert ages(look(Logging(tmp_path, dmesg=DMESG))) == {"0000:1b:00.0": 99000, "0000:29:00.0": 100}


def test_since_leaves_out_what_is_older_and_says_so(tmp_path: Path) -> None:
    machine = look(Logging(tmp_path, dmesg=DMESG), "1h")
    assert ages(machine) == {"0000:29:00.0": 100}
    assert machine.kernel_log.since == "1h"


def test_since_asks_the_journal_over_all_boots_first(tmp_path: Path) -> None:
    system = Logging(tmp_path, dmesg=DMESG, journalctl=JOURNAL)
    assert ages(look(system, "3d")) == {"0000:45:00.0": 100_000 - 86_400}
    assert system.asked == [
        ("journalctl", "--no-pager", "-o", "short-iso", "_TRANSPORT=kernel", "--since", f"@{1_700_100_000 - 3 * 86400}")
    ]


@pytest.mark.parametrize("since", ["yesterday", "2 fortnights", "", "-1h", "1h; reboot", "9999999h"])
def test_what_is_no_time_is_refused(since: str) -> None:
    with pytest.raises(InputError):
        kernel_log.seconds(since, 1.0)
