from __future__ import annotations

import hashlib
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError, writing
from doctor.images import oci
from doctor.images.sbom import scanned
from doctor.images.scan import Findings, _look, _settings
from doctor.images.verify import Check, _files, saved
from doctor.system.engine_api import EngineError, NotThere


def entry(path: str, mode: int = 0o644, size: int = 100) -> oci.Entry:
    return oci.Entry(path, "0", mode, 0, 0, size, 0, "", "c")


def outcome(entries: list[tuple[oci.Entry, bytes]]) -> dict[str, Check]:
    found = Findings()
    for each, head in entries:
        _look(found, each, head)
    return {check.name: check for check in _files(found)}


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("root/.netrc", b"machine x login y password z"),
        ("etc/pip.conf", b"[global]"),
        ("app/settings.env", b"INDEX=https://user:s3cret-word@packages.example.org/simple"),
        ("etc/ssl/key.txt", b"-----BEGIN PRIVATE KEY-----\n" + b"A" * 220),
        ("srv/run.sh", b"export HF_TOKEN=hf_" + b"a" * 34),
    ],
)
def test_a_secret_in_any_layer_fails(path: str, content: bytes) -> None:
    checks = outcome([(entry(path), content)])
    assert checks["secrets"].outcome == "failed"
    assert checks["secrets"].text.startswith(f"/{path}: ")


def test_samples_in_programs_and_templates_are_no_secrets() -> None:
    url = b"postgresql://user:password@host.example.org/db"
    rows = [
        ("opt/venv/lib/python3.12/site-packages/x/docs.txt", url),
        ("etc/x.conf", b"https://${USER}:${PASS}@host.org"),
    ]
    assert outcome([(entry(path), content) for path, content in rows])["secrets"].outcome == "ok"


def test_set_id_programs_beside_the_distribution_s_own() -> None:
    assert outcome([(entry("usr/bin/su", 0o4755), b"")])["set-id programs"].outcome == "ok"
    found = outcome([(entry("opt/tool/helper", 0o4755), b""), (entry("usr/local/bin/group", 0o2755), b"")])
    assert found["set-id programs"] == Check("set-id programs", "failed", "/opt/tool/helper, /usr/local/bin/group")


def test_a_driver_or_a_compat_path_in_the_image() -> None:
    found = outcome([
        (entry("usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"), b"\x7fELF"),
        (entry("etc/ld.so.conf.d/cuda.conf"), b"/usr/local/cuda/compat\n"),
    ])  # fmt: skip
    assert found["driver"].text == "/usr/lib/x86_64-linux-gnu/libcuda.so.580.65.06"
    assert found["compatibility libraries"].outcome == "failed"
    plain = outcome([(entry("etc/ld.so.conf.d/x.conf"), b"/usr/local/lib\n"), (entry("usr/lib/libcuda.so.1"), b"")])
    assert {check.outcome for check in plain.values()} == {"ok"}


def test_settings_with_a_login_are_secrets() -> None:
    login = "https://user:s3cret-word@host.example.org"
    config = {"config": {"Env": [f"A={login}"], "Labels": {"b": login}}, "history": [{"created_by": f"RUN c {login}"}]}
    assert list(_settings(config)) == ["environment", "label", "history"]
    assert list(_settings({"config": {"Env": ["PATH=/usr/bin"], "Labels": None}})) == []


class Saves:
    """An engine that saves one image, or refuses."""

    name = "docker"

    def __init__(self, content: bytes | Exception) -> None:
        self.content = content

    def save(self, _: str, path: Path) -> None:
        if isinstance(self.content, Exception):
            raise self.content
        path.write_bytes(self.content)


def test_an_image_that_the_engine_does_not_have_is_wrong_usage(tmp_path: Path) -> None:
    gone: Any = Saves(NotThere("x: No such image"))
    with pytest.raises(InputError, match="x: docker has no image of this name"), saved(gone, "x", tmp_path):
        pass
    full: Any = Saves(EngineError("no space left on device"))
    with pytest.raises(EngineError, match="no space left"), saved(full, "x", tmp_path):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_full_disk_names_the_file_that_was_written() -> None:
    full = Path("/dev/full")
    with pytest.raises(InputError, match="/dev/full: No space left"), writing(full), full.open("w") as out:
        out.write("x")


def packed(files: dict[str, bytes]) -> bytes:
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w") as archive:
        for name, content in files.items():
            row = tarfile.TarInfo(name)
            row.size = len(content)
            archive.addfile(row, io.BytesIO(content))
    return out.getvalue()


def test_the_older_form_of_an_archive_is_read_too(tmp_path: Path) -> None:
    """As Docker before 25 and podman's API save."""
    config = json.dumps({"config": {"User": "10001"}, "history": []}).encode()
    manifest = json.dumps([{"Config": "c.json", "RepoTags": ["x:1"], "Layers": ["a/layer.tar"]}]).encode()
    layer = packed({"etc/pip.conf": b"[global]\n"})
    api: Any = Saves(packed({"manifest.json": manifest, "c.json": config, "a/layer.tar": layer}))
    with saved(api, "x", tmp_path) as found:
        assert found.digest == f"sha256:{hashlib.sha256(config).hexdigest()}"
        assert found.config["config"]["User"] == "10001"
        assert list(oci.entries(found, found.layers[0])) == ["etc/pip.conf"]
    broken: Any = Saves(packed({"manifest.json": b"[]"}))
    with pytest.raises(InputError, match="no OCI archive that can be read"), saved(broken, "x", tmp_path):
        pass


@pytest.mark.parametrize(("program", "words"), [("grype", "sbom:{}"), ("trivy", "sbom {}")])
def test_a_scanner_that_is_installed_reads_the_bill_of_materials(
    program: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bom = tmp_path / "x.cdx.json"
    with pytest.raises(InputError, match="`doctor image build` writes it"):
        scanned(bom)
    bom.write_text("{}")
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(InputError, match="no scanner is installed"):
        scanned(bom)
    (tmp_path / program).write_text(f"#!/bin/sh\necho $* > {tmp_path}/asked\nexit 5\n")
    (tmp_path / program).chmod(0o755)
    assert scanned(bom) == 5
    assert (tmp_path / "asked").read_text().strip() == words.format(bom)
