"""A signed knowledge file -> an installed release that lies over the shipped tables, on a node without network.

The signature is OpenSSH's (`ssh-keygen -Y sign`, Ed25519, namespace `doctor-knowledge`), because every node that a
driver was ever installed on by hand has OpenSSH's client, so that nothing must be brought besides the file: a library
for signatures would itself have to be installed offline first. The public keys ship as `data/allowed_signers`; a site
may sign its own files and name its own keys. docs/knowledge.md tells how keys and files are made.

Nothing is taken over before all of it was checked: signature, release newer than what is in use, known tables, every
entry against its model. What is then noted beside the tables (SHA-256 of each) is held against them when they are read.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.errors import DataFileError, InputError, in_plain_words
from doctor.knowledge import store
from doctor.knowledge.tables import TABLES, Table, named
from doctor.system.given import read_given_bytes
from doctor.system.live import LiveSystem
from doctor.versions import Dotted

SCHEMA = "doctor.knowledge-file/1"
NAMESPACE = "doctor-knowledge"
SIGNERS = store.DATA / "allowed_signers"
LARGEST = 64 << 20
_RELEASE = re.compile(r"20\d\d\.\d{1,2}\.\d{1,2}(\.\d{1,4})?\Z")
_FAULTS = 20
_VERIFY_S = 20.0


@dataclass(frozen=True)
class Checked:
    """A file whose signature, release and entries are right."""

    release: str
    as_of: str
    signer: str
    """Fingerprint of the key: `SHA256:…`."""
    tables: dict[str, dict[str, Any]]
    """Name → entries."""


def pack(release: str, names: tuple[str, ...] = ()) -> bytes:
    """A knowledge file of the shipped tables (all, or those named), to be signed. Same tables, same bytes."""
    tables = {t.name: store.table(t.name) for t in TABLES if not names or t.name in names}
    newest = max(row["as_of"] for entries in tables.values() for row in entries.values())
    data = {"schema": SCHEMA, "release": release, "as_of": newest, "tables": tables}
    return (json.dumps(data, sort_keys=True, separators=(",", ":")) + "\n").encode()


def check(system: LiveSystem, path: Path, signature: Path | None = None, signers: Path | None = None) -> Checked:
    """Raises InputError for a file that can't be read, is not signed by a key that counts or was changed, and
    DataFileError with every fault of what it holds."""
    data = read_given_bytes(path, LARGEST)
    signer = _verified(system, path, data, signature or path.with_name(path.name + ".sig"), signers or SIGNERS)
    content = _content(path, data)
    faults = list(_faults(content["tables"]))
    if faults:
        raise DataFileError(str(path), faults)
    return Checked(content["release"], content["as_of"], signer, content["tables"])


def install(
    system: LiveSystem,
    path: Path,
    signature: Path | None = None,
    signers: Path | None = None,
    folder: Path | None = None,
) -> store.Release:
    """Checks the file and puts it where this account's (or root's: the system's) releases are. Older ones go."""
    checked = check(system, path, signature, signers)
    folder = folder or store.folders()[0]
    newest = store.in_use()
    if Dotted(checked.release) <= newest.version:
        where = "installed" if newest.folder else "shipped"
        raise InputError(f"{path}: release {checked.release} is not newer than the {where} {newest.version}")
    try:
        _write(folder, path.name, checked)
    except OSError as error:
        raise InputError(f"{error.filename or folder}: {error.strerror or error}") from error
    store.forget()
    found = store.installed()
    if found is None or found.version != checked.release:
        raise InputError(f"{folder}: others can write it, so what is in it is not used; chmod go-w it and try again")
    return found


def remove() -> tuple[str, ...]:
    """Takes installed releases away from the folders of this account; returns what was there."""
    gone = []
    for folder in store.folders():
        if (folder / store.NOTE).exists() and os.access(folder, os.W_OK):
            gone.append(str(folder))
            shutil.rmtree(folder)
    store.forget()
    return tuple(gone)


def _verified(system: LiveSystem, path: Path, data: bytes, signature: Path, signers: Path) -> str:
    """Fingerprint of the key that signed the very bytes that were read."""
    for needed, what in ((signature, "signature"), (signers, "file of allowed signers")):
        if not needed.is_file():
            raise InputError(f"{needed}: no such {what}")
    if system.which("ssh-keygen").value is None:
        raise InputError("ssh-keygen is not there: install OpenSSH's client to verify a knowledge file")
    argv = [
        "ssh-keygen",
        "-Y",
        "verify",
        "-f",
        str(signers.absolute()),
        "-I",
        NAMESPACE,
        "-n",
        NAMESPACE,
        "-s",
        str(signature.absolute()),
    ]
    ran = system.run_fed(argv, data, deadline_s=_VERIFY_S)
    if ran.value is None:
        raise InputError(f"{path}: the signature could not be checked: {ran.detail or ran.state.value}")
    printed = ran.value.stdout + ran.value.stderr
    found = re.search(r"Good .* signature .* key (SHA256:\S+)", printed)
    if ran.value.code != 0 or not found:
        why = (printed.strip().splitlines() or ["no output"])[-1][:200]
        raise InputError(f"{path}: refused: its signature is not that of an allowed signer, or it was changed ({why})")
    return found[1]


def _content(path: Path, data: bytes) -> dict[str, Any]:
    try:
        content = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise DataFileError(str(path), [f"not JSON: {error}"]) from error
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise DataFileError(str(path), [f"schema: expected {SCHEMA}"])
    faults = [f"{key}: unknown" for key in content if key not in ("schema", "release", "as_of", "tables")]
    if not isinstance(content.get("release"), str) or not _RELEASE.match(content["release"]):
        faults.append("release: expected a number such as 2026.11.21")
    if not isinstance(content.get("as_of"), str):
        faults.append("as_of: expected a date such as 2026-11-20")
    if not isinstance(content.get("tables"), dict) or not content["tables"]:
        faults.append("tables: expected at least one")
    if faults:
        raise DataFileError(str(path), faults)
    return content


def _faults(tables: dict[str, Any]) -> Iterator[str]:
    """What is wrong with the tables; at most some of each, so that a wrong file does not fill the screen."""
    for name, rows in tables.items():
        kind = named(name)
        if kind is None:
            yield f"tables.{name}: not known to this version; a newer doctor reads it"
        elif not isinstance(rows, dict) or not rows:
            yield f"tables.{name}: expected entries by key"
        else:
            yield from faults_of(kind, rows)


def faults_of(kind: Table, rows: dict[str, Any]) -> Iterator[str]:
    """The faults of a table's entries: `xids.79.action: expected text`."""
    from pydantic import ValidationError

    model, shown = kind.entry_type(), 0
    for key, row in rows.items():
        try:
            entry = model.model_validate(row)
            wrong = [] if entry.source.strip() and entry.as_of.strip() else ["source and as_of: empty"]
        except ValidationError as error:
            wrong = [f"{'.'.join(map(str, e['loc']))}: {in_plain_words(e['msg'])}" for e in error.errors()]
        for fault in wrong:
            if shown < _FAULTS:
                yield f"{kind.name}.{key}.{fault}"
            shown += 1


def _write(folder: Path, file: str, checked: Checked) -> None:
    """The tables first, whole, in a folder of their own; then the note that makes them count; then older ones go."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o755)
    beside = Path(tempfile.mkdtemp(dir=folder, prefix=".new-"))
    beside.chmod(0o755)
    sums = {}
    for name, entries in checked.tables.items():
        data = json.dumps({"schema": f"doctor.{name}/1", "entries": entries}, separators=(",", ":")).encode()
        path = beside / f"{name}.json"
        path.parent.mkdir(exist_ok=True, mode=0o755)
        path.write_bytes(data)
        path.chmod(0o644)
        sums[name] = hashlib.sha256(data).hexdigest()
    place = folder / checked.release
    if place.exists():
        shutil.rmtree(place)
    beside.rename(place)
    note = {
        "release": checked.release,
        "as_of": checked.as_of,
        "file": file,
        "signer": checked.signer,
        "tables": sums,
    }
    held = folder / f".{store.NOTE}"
    held.write_text(json.dumps(note, indent=1) + "\n", "utf-8")
    held.chmod(0o644)
    held.rename(folder / store.NOTE)
    for old in folder.iterdir():
        if old.is_dir() and old.name != checked.release:
            shutil.rmtree(old)
