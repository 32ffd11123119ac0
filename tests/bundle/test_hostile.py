"""Archives from people we don't know: refused with one line, whatever is wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from doctor.bundle import open as opening
from doctor.bundle.pack import CAPTURE, Part, manifest, write
from doctor.errors import InputError

CONTENT = json.dumps({"schema": "doctor.capture/1", "entries": {}}).encode()


def good(path: Path, content: bytes = CONTENT) -> Path:
    part = Part(CAPTURE, "test", content)
    write(path, {"manifest.json": manifest([part], [], {}, "2026-11-21T12:00:00Z"), CAPTURE: content})
    return path


def archive(path: Path, *infos: tarfile.TarInfo, form: int = tarfile.USTAR_FORMAT) -> Path:
    held = io.BytesIO()
    with tarfile.open(fileobj=held, mode="w", format=form) as made:
        for info in infos:
            made.addfile(info, io.BytesIO(b"x" * info.size))
    path.write_bytes(gzip.compress(held.getvalue()))
    return path


def member(name: str, kind: bytes = tarfile.REGTYPE, target: str = "", size: int = 1) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname, info.size = kind, target, size if kind == tarfile.REGTYPE else 0
    return info


def test_a_bundle_opens_and_is_private(tmp_path: Path) -> None:
    path = good(tmp_path / "a.tar.gz")
    assert path.stat().st_mode & 0o777 == 0o600
    assert opening.open_bundle(path).system().read_text("etc/x").state.value == "not-recorded"


@pytest.mark.parametrize(
    "info",
    [
        member("../../etc/cron.d/x"),
        member("/etc/passwd"),
        member("a/../b"),
        member("a//b"),
        member("extra/\x1b[2J"),
        member("link", tarfile.SYMTYPE, "/etc/passwd"),
        member("hard", tarfile.LNKTYPE, "capture.json"),
        member("dev", tarfile.CHRTYPE),
        member("fifo", tarfile.FIFOTYPE),
        member("folder", tarfile.DIRTYPE),
    ],
    ids=lambda info: info.name[:12],
)
def test_names_that_lead_out_and_things_that_are_no_files(tmp_path: Path, info: tarfile.TarInfo) -> None:
    with pytest.raises(InputError):
        opening.open_bundle(archive(tmp_path / "a.tar.gz", info))


def test_long_names_in_extension_headers(tmp_path: Path) -> None:
    for form in (tarfile.GNU_FORMAT, tarfile.PAX_FORMAT):
        with pytest.raises(InputError, match="plain files"):
            opening.open_bundle(archive(tmp_path / "a.tar.gz", member("x" * 200), form=form))


def test_bombs_are_bounded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "UNPACKED_LIMIT", 1 << 16)
    (tmp_path / "a").write_bytes(gzip.compress(bytes(1 << 20)))
    with pytest.raises(InputError, match="when unpacked"):
        opening.open_bundle(tmp_path / "a")


def test_millions_of_entries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "FILES_LIMIT", 10)
    with pytest.raises(InputError, match="more than 10 files"):
        opening.open_bundle(archive(tmp_path / "a", *(member(f"f{n}") for n in range(20))))


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"[" * 100_000, "not JSON"),
        (b'{"a": ' + b"[" * 3_000_001, "too large"),
        (b"\xff\xfe{", "not JSON"),
        (b"[]", "not a JSON object"),
        (b'{"schema": "other"}', "schema"),
        (b'{"schema": "doctor.capture/1", "entries": {"text:a": {"state": "best"}}}', "damaged"),
        (
            b'{"schema": "doctor.capture/1", "entries": {"text:a": {"state": "value", "file": "/etc/passwd"}}}',
            "damaged",
        ),
    ],
    ids=lambda v: str(v)[:20],
)
def test_a_recording_that_is_none(tmp_path: Path, content: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        opening.open_bundle(good(tmp_path / "a.tar.gz", content)).system()


def _cut(raw: bytes) -> bytes:
    return raw[: len(raw) // 2]


def _trailing(raw: bytes) -> bytes:
    return raw + raw


def _swapped(raw: bytes) -> bytes:
    return gzip.compress(gzip.decompress(raw).replace(b"doctor.capture/1", b"doctor.capture/2"))


def _broken_head(raw: bytes) -> bytes:
    return gzip.compress(b"x" * 600 + gzip.decompress(raw))


def _no_end(raw: bytes) -> bytes:
    return gzip.compress(gzip.decompress(raw).rstrip(b"\0"))


@pytest.mark.parametrize("harm", [_cut, _trailing, _swapped, _broken_head, _no_end])
def test_damage_is_told(tmp_path: Path, harm: Callable[[bytes], bytes]) -> None:
    path = good(tmp_path / "a.tar.gz")
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(InputError) as told:
        opening.open_bundle(path)
    assert "\n" not in str(told.value)


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none", Path("/dev/null")):
        with pytest.raises(InputError):
            opening.open_bundle(path)


def test_a_full_disk_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="none/a"):
        write(tmp_path / "none/a.tar.gz", {})
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError):
        write(tmp_path / "there", {})
    assert [p.name for p in tmp_path.iterdir()] == ["there"]
