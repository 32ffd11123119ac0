"""Archives from people we don't know: refused with one line, whatever is wrong with them."""

from __future__ import annotations

import gzip
import io
import json
import subprocess
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.bundle import open as opening
from doctor.bundle.pack import CAPTURE, Part, manifest, write
from doctor.engine.run import Options, examine
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


def tar_head(name: bytes, size: int, kind: bytes = b"0", size_field: bytes | None = None) -> bytes:
    """A ustar header made by hand, its checksum right."""
    head = bytearray(512)
    head[: len(name)] = name
    head[100:108], head[108:116], head[116:124] = b"0000600\0", b"0000000\0", b"0000000\0"
    head[124:136] = size_field or b"%011o\0" % size
    head[136:148], head[148:156], head[156:157] = b"00000000000\0", b"        ", kind
    head[257:265] = b"ustar\x0000"
    head[148:156] = b"%06o\0 " % sum(head)
    return bytes(head)


def packed(path: Path, raw: bytes) -> Path:
    path.write_bytes(gzip.compress(raw, 1))
    return path


def peak_of(path: Path) -> int:
    """MiB that opening takes at most, in a process of its own; the opening must fail."""
    code = (
        "import re, sys\nfrom pathlib import Path\nfrom doctor.bundle.open import open_bundle\n"
        "from doctor.errors import InputError\n"
        "try:\n    open_bundle(Path(sys.argv[1])).system()\n    print('opened')\n"
        "except InputError as error:\n    print(str(error).count(chr(10)))\n"
        # Not ru_maxrss: that keeps the size of the process which started this one.
        "print(int(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1]) // 1024)"
    )
    ran = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    lines, peak = ran.stdout.split()
    assert lines == "0"
    return int(peak)


def test_a_real_bomb_costs_no_more_than_the_limit(tmp_path: Path) -> None:
    packer = zlib.compressobj(9, wbits=31)
    first, again = (packer.compress(bytes(4 << 20)) + packer.flush(zlib.Z_FULL_FLUSH) for _ in range(2))
    (tmp_path / "bomb").write_bytes(first + 511 * again + packer.flush())  # 2 GiB; its checksum is never reached
    assert (tmp_path / "bomb").stat().st_size < 4 << 20
    assert peak_of(tmp_path / "bomb") < 2 * (opening.UNPACKED_LIMIT >> 20) + 64


def test_a_bomb_in_a_bomb_is_not_opened_further(tmp_path: Path) -> None:
    inner = gzip.compress(bytes(64 << 20), 9)
    path = packed(
        tmp_path / "a", tar_head(b"extra/more.gz", len(inner)) + inner + bytes(-len(inner) % 512) + bytes(1024)
    )
    assert peak_of(path) < 100


def test_a_million_entries_are_given_up_early(tmp_path: Path) -> None:
    raw = b"".join(tar_head(b"f%07d" % n, 0) for n in range(200_000))
    assert peak_of(packed(tmp_path / "a", raw + bytes(1024))) < 400


def test_members_of_many_streams(tmp_path: Path) -> None:
    """Gzip allows one stream behind another, each of which could be a bomb."""
    path = good(tmp_path / "a.tar.gz")
    path.write_bytes(path.read_bytes() + gzip.compress(bytes(1 << 20)))
    with pytest.raises(InputError, match="follows"):
        opening.open_bundle(path)


@pytest.mark.parametrize(
    "raw",
    [
        tar_head(b"capture.json", 1 << 40, size_field=b"77777777777\0"),
        tar_head(b"capture.json", 0, size_field=b"\x80" + b"\xff" * 11),
        tar_head(b"capture.json", 0, size_field=b"-0000000001\0"),
        tar_head(b"capture.json", 0, size_field=b"0x000000010\0"),
        tar_head(b"a\0../../b", 0) * 2,
        tar_head("b\u00fcndel".encode(), 0),
        tar_head(b"\xff\xfe", 0),
        tar_head(b"a", 0, b"5"),
        tar_head(b"a", 0, b"x"),
        tar_head(b"a", 0, b"S"),
        tar_head(b"a", 0, b"K"),
        tar_head(b"", 0),
        tar_head(b"x" * 100, 0),
        tar_head(b"manifest.json", 3) + b"[1]".ljust(512, b"\0"),
        tar_head(b"manifest.json", 4) + b"\xff\xfe{}".ljust(512, b"\0"),
    ],
    ids=range(15),
)
def test_headers_made_by_hand(tmp_path: Path, raw: bytes) -> None:
    with pytest.raises(InputError) as told:
        opening.open_bundle(packed(tmp_path / "a", raw + bytes(1024)))
    assert "\n" not in str(told.value)
    assert str(told.value).isprintable()


def test_a_manifest_that_lies(tmp_path: Path) -> None:
    part = Part(CAPTURE, "test", CONTENT)
    head = json.loads(manifest([part], [], {}, "x"))
    lies: list[dict[str, Any]] = [
        {"files": []},
        {"files": [{"name": "capture.json", "sha256": "0" * 64}]},
        {"files": [{"name": "capture.json"}]},
        {"files": [{"name": "capture.json", "sha256": None}, {"name": "more"}]},
        {"files": {"capture.json": 1}},
        {"files": ["capture.json"]},
        {"schema": "doctor.bundle/2"},
        {"schema": None},
    ]
    for lie in lies:
        write(tmp_path / "a.tar.gz", {"manifest.json": json.dumps({**head, **lie}).encode(), CAPTURE: CONTENT})
        with pytest.raises(InputError):
            opening.open_bundle(tmp_path / "a.tar.gz")


@pytest.mark.parametrize("value", [1, None, [], {"a": 1}, "x", True, 1e308, {"code": "0"}, [1], {"kind": "file"}])
def test_answers_of_the_wrong_type_are_unreadable_and_never_raise(tmp_path: Path, value: object) -> None:
    keys = [
        "environ",
        "account",
        "limits",
        "nvml",
        "kind",
        "text:proc/version",
        "text:proc/modules",
        "list:dev",
        "stat:dev",
    ]
    keys += ["bytes:x:0:9", 'run:["dmesg"]', 'run:["nvidia-smi","-q","-x"]', "list:sys/bus/pci/devices"]
    entries = {key: {"state": "value", "value": value} for key in keys}
    content = json.dumps({"schema": "doctor.capture/1", "entries": entries}).encode()
    report = examine(opening.open_bundle(good(tmp_path / "a.tar.gz", content)).system(), Options())
    assert [u.rule for u in report.unchecked if u.crashed] == []


def test_nothing_is_written_while_a_bundle_is_judged(tmp_path: Path) -> None:
    path = good(tmp_path / "a.tar.gz")
    examine(opening.open_bundle(path).system(), Options())
    assert [p.name for p in tmp_path.iterdir()] == ["a.tar.gz"]


def test_a_bundle_of_a_newer_doctor_says_what_to_do(tmp_path: Path) -> None:
    made = json.loads(manifest([Part(CAPTURE, "test", CONTENT)], [], {}, "2026-11-21T12:00:00Z"))
    for schema, said in (("doctor.bundle/2", "newer doctor"), ("doctor.bundle/x", "its schema"), (2, "its schema")):
        write(
            tmp_path / "a.tar.gz", {"manifest.json": json.dumps({**made, "schema": schema}).encode(), CAPTURE: CONTENT}
        )
        with pytest.raises(InputError, match=said):
            opening.open_bundle(tmp_path / "a.tar.gz")
