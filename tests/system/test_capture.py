"""What a recorder keeps, a capture answers; what it did not keep is not-recorded; what is hostile is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.system.base import Reading, System
from doctor.system.capture import CaptureSystem
from doctor.system.live import LiveSystem
from doctor.system.recorder import Recorder
from tests.each import each

CREATED = "2026-11-21T12:00:00Z"

QUESTIONS: dict[str, Callable[[System, Path], Reading[Any]]] = {
    "text": lambda s, _: s.read_text("proc/version"),
    "long text": lambda s, d: s.read_text(f"{d}/long"),
    "absent": lambda s, _: s.read_text("proc/nonesuch"),
    "too large": lambda s, d: s.read_text(f"{d}/long", limit=100),
    "bytes": lambda s, d: s.read_bytes(f"{d}/binary", offset=1, length=3),
    "many bytes": lambda s, d: s.read_bytes(f"{d}/binary", length=5000),
    "list": lambda s, d: s.list_dir(str(d)),
    "stat": lambda s, _: s.stat("dev/null"),
    "link": lambda s, _: s.link("proc/self"),
    "real": lambda s, _: s.real("bin/sh"),
    "open": lambda s, _: s.try_open("dev/null"),
    "run": lambda s, _: s.run(["sh", "-c", "echo a; exit 2"]),
    "absent run": lambda s, _: s.run(["nonesuch"]),
    "which": lambda s, _: s.which("sh"),
    "environ": lambda s, _: s.environ(),
    "account": lambda s, _: s.account(),
    "limits": lambda s, _: s.limits(),
    "nvml": lambda s, _: s.nvml(),
    "derived": lambda s, d: s.derived("arch-list", f"{d}/binary", lambda: ["gfx942", s.which("sh").value]),
    "derived from a file": lambda s, d: s.derived_from("end", f"{d}/binary", lambda r: [r.size, r.at(4094, 9).hex()]),
    "derived from nothing": lambda s, d: s.derived_from("end", f"{d}/nonesuch", lambda r: r.size),
    "derived nothing": lambda s, d: s.derived("nothing", f"{d}/binary", lambda: None),
}


@pytest.fixture
def things(tmp_path: Path) -> Path:
    folder = tmp_path / "things"
    folder.mkdir()
    (folder / "long").write_bytes(b"line\r\n" * 1000)
    (folder / "binary").write_bytes(bytes(range(256)) * 16)
    return folder


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_capture_answers_as_the_machine_did(name: str, things: Path, tmp_path: Path) -> None:
    ask = QUESTIONS[name]
    recorder = Recorder(LiveSystem(library_folders=(), loader_cache="nonesuch"))
    told = ask(recorder, things)
    merged = Recorder(LiveSystem())
    merged.merge(json.loads(json.dumps(recorder.entries)))
    assert ask(CaptureSystem.of(merged.entries), things) == told
    merged.save(tmp_path / "capture", created=CREATED)
    assert ask(CaptureSystem(tmp_path / "capture"), things) == told


@each("name", QUESTIONS)
def test_what_was_not_recorded_is_never_absent(name: str, things: Path) -> None:
    assert QUESTIONS[name](CaptureSystem.of({}), things).state is State.NOT_RECORDED


def test_derived_keeps_the_value_and_not_the_bytes(things: Path) -> None:
    recorder = Recorder(LiveSystem())
    recorder.derived("size", f"{things}/binary", lambda: len(recorder.read_bytes(f"{things}/binary").value or b""))
    assert [(k.split(":")[:2], e["value"]) for k, e in recorder.entries.items()] == [(["derived", "size"], 4096)]


def test_what_was_derived_from_a_file_keeps_no_bytes_of_it(things: Path) -> None:
    recorder = Recorder(LiveSystem())
    recorder.derived_from("start", f"{things}/binary", lambda pieces: list(pieces.at(0, 3)))
    assert [(k.split(":")[:2], e["value"]) for k, e in recorder.entries.items()] == [(["derived", "start"], [0, 1, 2])]


def test_saved_captures_are_private_and_never_overwritten(tmp_path: Path, things: Path) -> None:
    recorder = Recorder(LiveSystem())
    recorder.read_text(f"{things}/long")
    recorder.save(tmp_path / "capture", created=CREATED)
    modes = {path.name[:4]: path.stat().st_mode & 0o777 for path in (tmp_path / "capture").iterdir()}
    assert modes == {"capt": 0o600, "0001": 0o600}
    assert (tmp_path / "capture").stat().st_mode & 0o777 == 0o700
    with pytest.raises(InputError, match="is there already"):
        recorder.save(tmp_path / "capture", created=CREATED)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["capture", "things"]


def written(folder: Path, entries: Any, schema: str = "doctor.capture/1") -> Path:
    (folder / "capture.json").write_text(json.dumps({"schema": schema, "entries": entries}))
    return folder


@pytest.mark.parametrize(
    "entry",
    [
        7,
        {},
        {"state": "fine"},
        {"state": "value", "file": "../../etc/passwd"},
        {"state": "value", "file": "/etc/passwd"},
        {"state": "value", "file": "a/../../b"},
        {"state": "value", "file": 7},
        {"state": "denied", "detail": []},
    ],
)
def test_a_wrong_entry_is_an_input_error_of_one_line(tmp_path: Path, entry: Any) -> None:
    with pytest.raises(InputError) as caught:
        CaptureSystem(written(tmp_path, {"text:proc/version\n": entry}))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("content", ["", "{", "[]", "7", '{"schema": "other/1"}', "[" * 100_000, '{"a": ' + "9" * 5000])
def test_a_wrong_index_is_an_input_error_of_one_line(tmp_path: Path, content: str) -> None:
    (tmp_path / "capture.json").write_text(content)
    with pytest.raises(InputError) as caught:
        CaptureSystem(tmp_path)
    assert "\n" not in str(caught.value)


def test_no_capture_at_all(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"a capture is a folder with capture\.json"):
        CaptureSystem(tmp_path / "nothing")


def test_a_link_out_of_the_capture_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "stolen").symlink_to("/etc/passwd")
    (tmp_path / "up").symlink_to("/etc")
    entries = {"text:a": {"state": "value", "file": "stolen"}, "text:b": {"state": "value", "file": "up/passwd"}}
    capture = CaptureSystem(written(tmp_path, entries))
    assert capture.read_text("a").state is State.UNREADABLE
    assert capture.read_text("b").state is State.UNREADABLE


@each(
    "key, value",
    [
        ("text:x", 7),
        ("list:x", ["a", 7]),
        ("stat:x", {"kind": "file", "mode": "rw"}),
        ('run:["x"]', {"code": True, "stdout": ""}),
        ("bytes:x:0:1048576", "no base64!"),
        ("environ", {"A": None}),
        ("account", {"uid": 0}),
        ("limits", {"nofile": "many"}),
        ("nvml", []),
    ],
)
def test_a_value_of_another_type_is_unreadable(key: str, value: Any) -> None:
    capture = CaptureSystem.of({key: {"state": "value", "value": value}})
    answers: list[Reading[Any]] = [
        capture.read_text("x"),
        capture.list_dir("x"),
        capture.stat("x"),
        capture.run(["x"]),
        capture.read_bytes("x"),
        capture.environ(),
        capture.account(),
        capture.limits(),
        capture.nvml(),
    ]
    assert sorted({answer.state.value for answer in answers}) == ["not-recorded", "unreadable"]
