"""Secrets planted in whatever a bundle reads, through the archive as it is written: none is in it; the facts are."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar

from doctor.bundle import extras
from doctor.bundle.open import open_bundle
from doctor.bundle.pack import write
from doctor.bundle.record import make, recorded
from doctor.bundle.scan import scan
from doctor.engine.run import Options
from doctor.facts.origin import State
from doctor.system.base import READ_LIMIT, RUN_LIMIT, Output, Reading, Stat
from doctor.system.live import LiveSystem
from tests.redaction.planted import ALL, HARMLESS, PEMS, PLACES, WRITTEN, forms, some

T = TypeVar("T")
NOW = "2026-11-21T12:00:00Z"
_BLOCKS = {**ALL, **{f"pem {kind}": key for kind, key in PEMS.items()}}
_NAMES = list(_BLOCKS)
_LINES = {row: some(16) for row in WRITTEN if "{S}" in row and "\0" not in row}
SECRETS = {**_BLOCKS, **_LINES}
INCLUDED = ["/root/.bash_history", "/root/.netrc", "/srv/ways", "/srv/look-alikes"]
_WAYS = [way for name, way in PLACES.items() if name != "nul"]
_EACH = 5
"""Secrets in one place; which ones, and how they are written, its name decides."""
_TOOLS = {
    "dmesg": "[    1.0] Linux version 6.8.0\n",
    "docker": '[{"Config": {"Env": []}}]\n',
    "nvidia-smi": "Timestamp : Fri Nov 21\nProcesses\n  Process ID : 1\n",
    "lspci": "00:00.0 Host bridge [0600]: Intel [8086:0d57]\n",
    "journalctl": "2026-11-21T12:00:00+0000 secrethost77 kernel: Linux version 6.8.0\n",
    "systemctl": "[Service]\nExecStart=/usr/bin/dockerd\n",
}


def block(place: str) -> str:
    """What is planted in one place: a few secrets as somebody wrote them, and a few lines that are none."""
    if place == "/srv/ways":
        return "\n".join(row.replace("{S}", value) for row, value in _LINES.items())
    if place == "/srv/look-alikes":
        return "\n".join(HARMLESS) + "\n"
    start = zlib.crc32(place.encode())
    lines = []
    for number in range(start, start + _EACH):
        name = _NAMES[number % len(_NAMES)]
        way = (lambda _, value: value) if name.startswith("pem ") else _WAYS[number % len(_WAYS)]
        lines.append(way(name.replace(" ", "_"), _BLOCKS[name]))
    lines += [HARMLESS[n % len(HARMLESS)] for n in range(start, start + _EACH)]
    return "\n".join(lines) + "\n"


class Planted(LiveSystem):
    """This machine, with a block of secrets behind each text that is read, and variables that hold them."""

    def __init__(self) -> None:
        variables = {name.upper().replace(" ", "_").replace("-", "_"): value for name, value in ALL.items()}
        ways = {f"SETTING_{n}": way("DB_PASSWORD", ALL["DB_PASSWORD"]) for n, way in enumerate(_WAYS)}
        look_alikes = dict(row.split("=", 1) for row in HARMLESS if re.fullmatch(r"[A-Z_]+=[^=]+", row))
        super().__init__({"HOME": "/root", "PATH": "/usr/bin", "USER": "carla99", **variables, **ways, **look_alikes})

    def which(self, name: str) -> Reading[str]:
        return Reading(State.VALUE, f"command:{name}", f"/usr/bin/{name}")

    def stat(self, path: str) -> Reading[Stat]:
        """Docker's socket is here, whether or not this machine has an engine: nothing connects to it."""
        if path.endswith("var/run/docker.sock"):
            return Reading(State.VALUE, f"file:{path}", Stat("socket", 0o660, 0, 0, 0))
        return super().stat(path)

    def run(self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT) -> Reading[Output]:
        text = "0123456789ab\n" if "-aq" in argv else _TOOLS.get(argv[0], "") + block("run" + "".join(argv))
        return Reading(State.VALUE, "command:" + " ".join(argv), Output(0, text, block("err" + argv[0]), 0.0))

    def read_text(self, path: str, *, limit: int = READ_LIMIT, deadline_s: float | None = None) -> Reading[str]:
        reading = super().read_text(path, limit=limit, deadline_s=deadline_s)
        if path.endswith("cmdline") and "/" in path.strip("/")[5:]:
            return replace(reading, state=State.VALUE, value=f"serve\0--password\0{ALL['DB_PASSWORD']}\0-x\0")
        if path.startswith(("sys/", "/sys/")) or reading.state not in (State.VALUE, State.ABSENT):
            return reading
        return replace(reading, state=State.VALUE, value=(reading.value or "") + "\n" + block("/" + path.strip("/")))


@lru_cache(maxsize=1)
def files() -> Mapping[str, bytes]:
    return make(Planted(), created=NOW, pid=1, include=INCLUDED).files


@lru_cache(maxsize=1)
def before() -> dict[str, dict[str, Any]]:
    """The same recording before anything was taken out."""
    system = Planted()
    found = extras.scout(system, since=None, include=INCLUDED, pid=1)
    return recorded(system, Options(), extras.errands(found.asks))


def test_enough_is_planted_in_enough_places() -> None:
    """Else the tests below could not fail."""
    texts = {key: str(entry) for key, entry in before().items()}
    there = {name for name, value in SECRETS.items() if any(value[:40] in text for text in texts.values())}
    places = [key for key, text in texts.items() if any(value[:40] in text for value in SECRETS.values())]
    assert len(there) >= 300
    assert len(places) >= 60
    kinds = {key.partition(":")[0] for key in places}
    assert {"environ", "text", "run", "extra"} <= kinds
    for part in ("docker-inspect", "pip.conf", "unit-files", "nvidia-smi-q", "bash_history", "daemon.json", "process/"):
        assert any(part in key for key in places), part


def test_no_secret_is_in_the_archive(tmp_path: Path) -> None:
    write(tmp_path / "b.tar.gz", files())
    packed = (tmp_path / "b.tar.gz").read_bytes()
    whole = packed + gzip.decompress(packed)
    left = [name for name, value in SECRETS.items() for form in forms(value) if form in whole]
    lines = [line for key in PEMS.values() for line in key.splitlines()[1:-1] if line.encode() in whole]
    assert not left
    assert not lines


def test_names_are_not_in_the_archive() -> None:
    whole = b"".join(files().values())
    assert b"carla99" not in whole
    assert b"secrethost77" not in whole


def test_look_alikes_are_readable() -> None:
    whole = b"".join(files().values()).decode().replace("\\t", "\t")
    gone = [row for row in HARMLESS if row not in whole and row.replace('"', '\\"') not in whole]
    assert not gone


def test_a_scan_sees_none_of_what_was_planted(tmp_path: Path) -> None:
    write(tmp_path / "b.tar.gz", files())
    seen = scan(open_bundle(tmp_path / "b.tar.gz"), ["carla99", "secrethost77"])
    assert not [row for row in seen if row.kind == "known name"]
    assert not [row for row in seen for value in SECRETS.values() if value[:20] in row.word]


def test_what_was_taken_out_is_counted_and_never_told() -> None:
    manifest = files()["manifest.json"].decode()
    assert '"removed"' in manifest
    assert not [name for name, value in SECRETS.items() if value in manifest]


def test_a_secret_that_was_met_once_goes_without_its_name_too() -> None:
    """`DB_PASSWORD` stands in the environment; a log shows the bare value, alone and in a sentence."""
    value = "tr0ub4dor&3-horse"

    class Logs(LiveSystem):
        def run(
            self, argv: Sequence[str], *, deadline_s: float | None = None, limit: int = RUN_LIMIT
        ) -> Reading[Output]:
            return Reading(State.VALUE, "command:x", Output(0, f"{value}\nconnecting with {value} now", value, 0.0))

    made = make(Logs({"PATH": "/usr/bin", "DB_PASSWORD": value}), created=NOW)
    assert not [name for name, content in made.files.items() for form in forms(value) if form in content]
