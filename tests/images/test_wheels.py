"""uv asked for a target, with two indexes on loopback."""

from __future__ import annotations

import hashlib
import io
import tarfile
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from doctor.errors import InputError, ToolError
from doctor.images import wheels
from doctor.images.fetch import _address
from doctor.images.lockfile import Wheel
from doctor.images.recipe import plain
from doctor.images.verify import wheel
from doctor.profiles.parts import Pip

PLATFORM = "linux/amd64"


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        """Says nothing."""


def index(folder: Path, *packages: tuple[str, str, str | None]) -> None:
    """A simple index: a page for each package, with its wheels."""
    for name, version, needs in packages:
        place = folder / "simple" / name
        place.mkdir(parents=True, exist_ok=True)
        wheel(place, name, version, needs)
        rows = [(p.name, hashlib.sha256(p.read_bytes()).hexdigest()) for p in sorted(place.glob("*.whl"))]
        links = "".join(f'<a href="{file}#sha256={digest}">{file}</a>' for file, digest in rows)
        (place / "index.html").write_text(f"<html><body>{links}</body></html>")


@pytest.fixture
def served(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The default index has a newer torch; the vendor's one has an older, and something that is none of its concern."""
    index(tmp_path / "default", ("torch", "2.15.0", None), ("trainer", "1.0", "torch"), ("filelock", "1.0", None))
    index(tmp_path / "vendor", ("torch", "2.13.0+rocm7.2", "filelock"), ("filelock", "9.0", None))
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(tmp_path)))
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    host = f"http://127.0.0.1:{server.server_port}"
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{host}/default/simple")
    monkeypatch.setenv("UV_NO_CACHE", "1")
    monkeypatch.delenv("UV_INDEX", raising=False)
    monkeypatch.delenv("UV_FIND_LINKS", raising=False)
    yield host
    server.shutdown()
    thread.join()
    server.server_close()


def package(name: str, version: str | None, **more: Any) -> Pip:
    return Pip.model_construct(name=name, version=version, **more)  # an index on loopback is not https


def test_torch_comes_from_its_own_index_and_nothing_else_does(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wheels, "Wheel", SimpleNamespace)  # a lock holds no index on loopback
    torch = package("torch", "2.13.0", local="rocm7.2", index=f"{served}/vendor/simple")
    packages = [torch, package("trainer", "1.0")]
    project = wheels._project(packages, [plain(p) for p in packages], "3.12")
    found = {w.name: (w.version, w.index) for w in wheels._resolve(project, "3.12", "2.39", PLATFORM, packages)}
    assert found == {
        "torch": ("2.13.0+rocm7.2", f"{served}/vendor/simple"),
        "trainer": ("1.0", None),
        "filelock": ("1.0", None),
    }


@pytest.mark.parametrize(
    ("version", "local", "name"),
    [
        ("2.13.0", "rocm7.2", "triton-rocm"),
        ("2.9.1", "rocm6.4", "pytorch-triton-rocm"),
        ("2.13.0", "rocm7.14", None),
        ("2.13.0", "cu130", None),
    ],
)
def test_torch_for_rocm_asks_for_a_triton_that_its_index_alone_has(version: str, local: str, name: str | None) -> None:
    torch = package("torch", version, local=local, index="https://download.pytorch.org/whl/x")
    assert [p.name for p in wheels.served_beside([torch])] == ([name] if name else [])
    assert list(wheels.served_beside([package("torch", version, local=local, index=None)])) == []


def test_triton_of_rocm_comes_from_torchs_index(served: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package of the same name and a higher version on the default index is not taken."""
    monkeypatch.setattr(wheels, "Wheel", SimpleNamespace)
    monkeypatch.setattr(wheels, "WheelLock", SimpleNamespace)
    index(tmp_path / "vendor", ("torch", "2.13.0+rocm7.1", "triton-rocm==3.7.1"), ("triton-rocm", "3.7.1", None))
    index(tmp_path / "default", ("triton-rocm", "99.0", None))
    torch = package("torch", "2.13.0", local="rocm7.1", index=f"{served}/vendor/simple")
    lock = wheels.lock([torch], [], "3.12", "2.39", PLATFORM)
    assert {w.name: (w.version, w.index) for w in lock.wheels} == {
        "torch": ("2.13.0+rocm7.1", f"{served}/vendor/simple"),
        "triton-rocm": ("3.7.1", f"{served}/vendor/simple"),
    }
    assert lock.asked == (f"torch==2.13.0+rocm7.1 @ {served}/vendor/simple",)


def test_a_package_that_would_replace_torch_can_t_be_locked_beside_it(served: str) -> None:
    torch = package("torch", "2.13.0", local="rocm7.2", index=f"{served}/vendor/simple")
    with pytest.raises(ToolError, match="can't be locked"):
        wheels.lock([torch], ["torch>=2.14"], "3.12", "2.39", PLATFORM)


def test_what_is_compiled_is_locked_without_being_built(served: str, tmp_path: Path) -> None:
    """flash-attn's setup.py imports torch, which is not there when it is locked."""
    place = tmp_path / "default/simple/flash-attn"
    place.mkdir(parents=True)
    with tarfile.open(place / "flash_attn-2.8.3.tar.gz", "w:gz") as archive:
        for name, text in (
            ("setup.py", "import torch"),
            ("PKG-INFO", "Metadata-Version: 2.1\nName: flash-attn\nVersion: 2.8.3\nDynamic: requires-dist"),
        ):
            entry = tarfile.TarInfo(f"flash_attn-2.8.3/{name}")
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text.encode()))
    digest = hashlib.sha256((place / "flash_attn-2.8.3.tar.gz").read_bytes()).hexdigest()
    (place / "index.html").write_text(f'<a href="flash_attn-2.8.3.tar.gz#sha256={digest}">flash_attn-2.8.3.tar.gz</a>')
    lock = wheels.lock([package("flash-attn", "2.8.3", compile=True)], ["filelock"], "3.12", "2.39", PLATFORM)
    assert [(w.name, w.file, w.sha256) for w in lock.wheels if w.name == "flash-attn"] == [
        ("flash-attn", "flash_attn-2.8.3.tar.gz", digest)
    ]
    assert {w.name for w in lock.wheels} == {"flash-attn", "filelock"}


def test_of_several_wheels_that_fit_it_is_the_one_that_pip_would_take() -> None:
    tags = wheels.ranked_tags("3.12", 39, "x86_64")
    files = [
        "aiohttp-3.14.5-cp312-cp312-manylinux2014_x86_64.manylinux_2_17_x86_64.whl",
        "aiohttp-3.14.5-cp312-cp312-manylinux_2_28_x86_64.whl",
        "aiohttp-3.14.5-cp312-cp312-manylinux_2_40_x86_64.whl",
        "aiohttp-3.14.5-cp312-cp312-musllinux_1_2_x86_64.whl",
        "aiohttp-3.14.5-cp311-cp311-manylinux_2_28_x86_64.whl",
        "aiohttp-3.14.5-py3-none-any.whl",
    ]
    best = wheels._best([{"url": f"https://example.org/{file}"} for file in files], tags)
    assert best == {"url": f"https://example.org/{files[1]}"}
    assert wheels._best([{"url": f"https://example.org/{files[4]}"}], tags) is None


def test_a_lock_without_addresses_finds_its_files_at_the_index(served: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With a login in the index's address, which no message repeats."""
    row = {"version": "1.0", "sha256": "a" * 64}
    there = Wheel(name="filelock", file="filelock-1.0-py3-none-any.whl", **row)
    monkeypatch.setenv("UV_DEFAULT_INDEX", f"{served}/default/simple/".replace("//127", "//me:s3cret@127"))
    assert _address(there).partition("#")[0].endswith("/default/simple/filelock/filelock-1.0-py3-none-any.whl")
    for name, message in (("filelock", "its index does not list it"), ("no-such", "its index answers 404$")):
        with pytest.raises(InputError, match=message) as caught:
            _address(Wheel(name=name, file="other-1.0-py3-none-any.whl", **row))
        assert "s3cret" not in str(caught.value)
