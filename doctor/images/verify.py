"""An image, whoever built it -> whether it is fit: settings, files, size, a smoke test, the doctor inside, torch held.

Everything that runs, runs in a container without network that is thrown away.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from doctor.errors import InputError
from doctor.images import oci
from doctor.images.inside import packed
from doctor.images.scan import Findings, scan
from doctor.parsers.lib.printable import clean
from doctor.system.engine_api import Api, NotThere, Ran

Outcome = Literal["ok", "failed", "note", "not checked"]
_RUN_S = 300
_USUAL_SETUID = {
    *("chfn", "umount", "su", "chsh", "chage", "expiry", "unix_chkpwd", "newgrp", "gpasswd", "passwd", "mount", "sudo"),
    *("ssh-agent", "pam_extrausers_chkpwd", "dbus-daemon-launch-helper", "ssh-keysign", "wall", "write", "crontab"),
}
"""Set-id programs of Debian's and Ubuntu's own packages."""
_TORCH = (
    "import torch; a = torch.arange(4.0).reshape(2, 2); assert (a @ a)[1, 1] == 11; "
    "print(torch.__version__, torch.version.cuda, torch.version.hip)"
)


@dataclass(frozen=True)
class Check:
    name: str
    outcome: Outcome
    text: str


def verify(api: Api, reference: str, work: Path) -> list[Check]:
    """Raises InputError, EngineError."""
    with saved(api, reference, work) as image:
        found = scan(image)
        size = f"{found.bytes / 1e6:.0f} MB in {len(image.layers)} layers"
        checks = [*_settings(image), *_files(found), Check("size", "note", size)]
    labels = (image.config.get("config") or {}).get("Labels") or {}
    holds = "torch" in found.wheels
    checks += [_smoke(api, reference, holds), _doctor(api, reference, labels.get("doctor.profile"))]
    held = _guard(api, reference, found, work) if holds else Check("torch is held", "not checked", "there is no torch")
    return [*checks, held]


def _settings(image: oci.Image) -> Iterator[Check]:
    settings = image.config.get("config") or {}
    user = str(settings.get("User") or "")
    number = user.split(":")[0]
    good = number.isdecimal() and int(number) > 0
    text = user if good else f"{user or 'root'}: expected a number that is not 0"
    yield Check("user", "ok" if good else "failed", text)
    environment = dict(row.partition("=")[::2] for row in settings.get("Env") or ())
    path = environment.get("LD_LIBRARY_PATH", "")
    compat = re.search(r"/cuda[^/:]*/compat", path)
    yield Check("loader path", "failed" if compat else "ok", f"LD_LIBRARY_PATH={path}" if path else "not set")


def _files(found: Findings) -> Iterator[Check]:
    rare = {path for path in found.setuid if Path(path).name not in _USUAL_SETUID}
    rows = (
        ("secrets", found.secrets, "none in any layer, label, variable or history"),
        ("driver", found.drivers, "none in the image"),
        ("compatibility libraries", found.compat, "on no loader path"),
        ("set-id programs", rare, "the distribution's own only"),
    )
    for name, wrong, fine in rows:
        shown = ", ".join(sorted(wrong)[:6]) + (f" and {len(wrong) - 6} more" if len(wrong) > 6 else "")
        yield Check(name, "failed" if wrong else "ok", shown or fine)


@contextmanager
def saved(api: Api, reference: str, work: Path) -> Iterator[oci.Image]:
    """An image of the engine as an archive, for as long as it is looked at."""
    path = work / f"saved-{os.getpid()}.tar"
    try:
        try:
            api.save(reference, path)
        except NotThere as error:
            text = f"{reference[:100]}: {api.name} has no image of this name; build or pull it first"
            raise InputError(text) from error
        yield oci.read(path)
    finally:
        path.unlink(missing_ok=True)


def _inside(api: Api, reference: str, *command: str, mounts: Sequence[str] = ()) -> Ran:
    quiet = {"DOCTOR_QUIET": "1"}
    return api.run(reference, command, deadline_s=_RUN_S, network="none", environment=quiet, mounts=mounts)


def _last(done: Ran) -> str:
    rows = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()
    return clean(rows[-1], 300)


def _smoke(api: Api, reference: str, torch: bool) -> Check:
    command = ("python", "-c", _TORCH) if torch else ("true",)
    done = _inside(api, reference, *command)
    text = done.stdout.strip()[:200] if torch else "a command starts and ends"
    name = "torch computes (on the CPU)" if torch else "it starts"
    return Check(name, "failed" if done.code else "ok", _last(done) if done.code else text)


def _doctor(api: Api, reference: str, profile: str | None) -> Check:
    """Without a GPU nothing of the GPU can be judged; what can is the stack inside."""
    name = "doctor check inside"
    if _inside(api, reference, "sh", "-c", "command -v doctor").code:
        return Check(name, "not checked", "there is no doctor in it")
    known = profile and not _inside(api, reference, "doctor", "profiles", "show", profile).code
    words = ["doctor", "check", "--format", "json", *(["--profile", str(profile)] if known else [])]
    done = _inside(api, reference, *words)
    try:
        report: dict[str, Any] = json.loads(done.stdout)
        wrong = [f for f in report["findings"] if f["severity"] == "error" and not f["explained_by"]]
    except (ValueError, KeyError, TypeError):
        return Check(name, "failed", _last(done))
    about = f"profile {profile}" if known else "no profile"
    text = "; ".join(f"{f['rule']}: {f['summary']}" for f in wrong[:4])[:400]
    return Check(name, "failed" if wrong else "ok", text or f"{about}: {report.get('status')}, no error")


def _guard(api: Api, reference: str, found: Findings, work: Path) -> Check:
    """A wheel that asks for another torch, and that torch, lie at hand: pip must refuse."""
    name, there = "torch is held", found.wheels.get("torch", "")
    with tempfile.TemporaryDirectory(dir=work, prefix=".guard-") as held:
        folder = Path(held)
        wheel(folder, "torch", "999.0")
        wheel(folder, "needs-torch", "1.0", "torch==999.0")
        for path in (folder, *folder.iterdir()):
            path.chmod(0o755)
        mounts = (f"{folder.resolve()}:/wheels:ro",)
        install = ("pip", "install", "--no-index", "--find-links=/wheels", "needs-torch")
        done = _inside(api, reference, *install, mounts=mounts)
    if done.code == 0:
        return Check(name, "failed", f"pip replaced torch {there}: nothing holds it (PIP_CONSTRAINT)")
    refusal = next((r.strip() for r in done.stdout.splitlines() + done.stderr.splitlines() if "constraint" in r), "")
    if not refusal:
        return Check(name, "not checked", f"pip failed otherwise: {_last(done)}")
    return Check(name, "ok", f"pip refuses another than {there}: {refusal[:160]}")


def wheel(folder: Path, name: str, version: str, needs: str | None = None) -> Path:
    """An empty wheel, whose metadata alone matters."""
    file, content = packed(name, version, {}, needs)
    (folder / file).write_bytes(content)
    return folder / file
