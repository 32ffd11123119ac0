"""A signed knowledge file: taken where signature, release and entries are right, refused with a reason otherwise."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import DataFileError, InputError
from doctor.knowledge import Knowledge, store
from doctor.knowledge_update import NAMESPACE, SIGNERS, check, install, pack, remove
from doctor.system.live import LiveSystem

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="needs OpenSSH's ssh-keygen")
SYSTEM = LiveSystem()


class Signer:
    def __init__(self, folder: Path, name: str) -> None:
        self.key, self.allowed = folder / name, folder / f"{name}.allowed"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(self.key)], check=True)
        public = self.key.with_suffix(".pub").read_text()
        self.allowed.write_text(f'{NAMESPACE} namespaces="{NAMESPACE}" {public}')

    def sign(self, path: Path, namespace: str = NAMESPACE) -> None:
        argv = ["ssh-keygen", "-q", "-Y", "sign", "-f", str(self.key), "-n", namespace, str(path)]
        subprocess.run(argv, check=True, capture_output=True)


@pytest.fixture(scope="module")
def signer(tmp_path_factory: pytest.TempPathFactory) -> Signer:
    return Signer(tmp_path_factory.mktemp("keys"), "ours")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    folder = tmp_path / "installed"
    monkeypatch.setattr(store, "folders", lambda: (folder,))
    store.forget()
    yield folder
    store.forget()


def made(tmp_path: Path, signer: Signer, release: str = "2099.1.1", **changes: Any) -> Path:
    content = json.loads(pack(release, ("xids", "cuda_majors"))) | changes
    path = tmp_path / f"doctor-knowledge-{release}.json"
    path.write_text(json.dumps(content))
    signer.sign(path)
    return path


def test_a_newer_signed_file_is_in_use_after_it_was_installed(tmp_path: Path, signer: Signer, place: Path) -> None:
    path = made(tmp_path, signer)
    content = json.loads(path.read_text())
    content["tables"]["xids"]["79"]["meaning"] = "told anew"
    path.write_text(json.dumps(content))
    path.with_name(path.name + ".sig").unlink()
    signer.sign(path)
    release = install(SYSTEM, path, signers=signer.allowed)
    assert (release.version, release.file) == ("2099.1.1", path.name)
    assert (release.signer or "").startswith("SHA256:")
    xid = Knowledge().xid(79)
    assert xid
    assert xid.meaning == "told anew"
    assert remove() == (str(place),)
    assert store.in_use().folder is None


def test_a_changed_file_is_refused(tmp_path: Path, signer: Signer, place: Path) -> None:
    path = made(tmp_path, signer)
    path.write_text(path.read_text().replace("450.80.02", "450.80.03"))
    with pytest.raises(InputError, match="not that of an allowed signer, or it was changed"):
        install(SYSTEM, path, signers=signer.allowed)
    assert not place.exists()


def test_another_s_signature_is_refused(tmp_path: Path, signer: Signer, place: Path) -> None:
    stranger = Signer(tmp_path, "stranger")
    with pytest.raises(InputError, match="refused"):
        install(SYSTEM, made(tmp_path, stranger), signers=signer.allowed)
    with pytest.raises(InputError, match="refused"):
        install(SYSTEM, made(tmp_path, signer, "2099.1.2"))  # not among the keys that ship


def test_a_signature_for_another_purpose_is_refused(tmp_path: Path, signer: Signer, place: Path) -> None:
    path = made(tmp_path, signer)
    path.with_name(path.name + ".sig").unlink()
    signer.sign(path, "git")
    with pytest.raises(InputError, match="refused"):
        install(SYSTEM, path, signers=signer.allowed)


@pytest.mark.parametrize("release", ["2020.1.1", store.shipped().version])
def test_an_older_or_the_same_release_is_refused(tmp_path: Path, signer: Signer, place: Path, release: str) -> None:
    with pytest.raises(InputError, match="is not newer than the shipped"):
        install(SYSTEM, made(tmp_path, signer, release), signers=signer.allowed)


def test_what_is_older_than_the_installed_one_is_refused(tmp_path: Path, signer: Signer, place: Path) -> None:
    install(SYSTEM, made(tmp_path, signer, "2099.2.1"), signers=signer.allowed)
    with pytest.raises(InputError, match=r"is not newer than the installed 2099\.2\.1"):
        install(SYSTEM, made(tmp_path, signer, "2099.1.30"), signers=signer.allowed)


def test_every_fault_of_a_signed_file_is_listed(tmp_path: Path, signer: Signer, place: Path) -> None:
    tables = {
        "xids": {"79": {"code": "many"}},
        "potatoes": {"1": {}},
        "cuda_majors": {},
    }
    with pytest.raises(DataFileError) as raised:
        install(SYSTEM, made(tmp_path, signer, tables=tables), signers=signer.allowed)
    told = "\n".join(raised.value.faults)
    assert "xids.79.code: expected a whole number" in told
    assert "xids.79.source: is missing" in told
    assert "tables.potatoes: not known to this version" in told
    assert "tables.cuda_majors: expected entries by key" in told
    assert not place.exists()


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"release": "tomorrow"}, "release:"),
        ({"tables": []}, "tables:"),
        ({"extra": 1}, "extra: unknown"),
        ({"schema": "doctor.report/1"}, "schema:"),
        ({"as_of": None}, "as_of:"),
    ],
)
def test_a_file_of_another_form_is_refused(tmp_path: Path, signer: Signer, changes: dict[str, Any], fault: str) -> None:
    with pytest.raises(DataFileError, match=fault):
        check(SYSTEM, made(tmp_path, signer, **changes), signers=signer.allowed)


def test_missing_files_are_named(tmp_path: Path, signer: Signer) -> None:
    path = tmp_path / "k.json"
    with pytest.raises(InputError, match="No such file"):
        check(SYSTEM, path)
    path.write_bytes(pack("2099.1.1", ("cuda_majors",)))
    with pytest.raises(InputError, match=r"k\.json\.sig: no such signature"):
        check(SYSTEM, path)
    signer.sign(path)
    with pytest.raises(InputError, match="no such file of allowed signers"):
        check(SYSTEM, path, signers=tmp_path / "nobody")


def test_packing_is_the_same_every_time_and_names_its_date() -> None:
    assert pack("2099.1.1", ("xids",)) == pack("2099.1.1", ("xids",))
    assert json.loads(pack("2099.1.1", ("cuda_majors",)))["as_of"] == "2026-06-01"


def test_the_shipped_keys_are_ed25519_and_for_this_purpose_only() -> None:
    keys = [line for line in SIGNERS.read_text().splitlines() if line and not line.startswith("#")]
    assert keys
    assert all(line.startswith(f'{NAMESPACE} namespaces="{NAMESPACE}" ssh-ed25519 ') for line in keys)
