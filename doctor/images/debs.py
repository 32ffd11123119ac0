"""Files of the distribution's packages in a folder, held to the hashes of a lock: apt checks no file at hand."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from doctor.images.lockfile import Deb
from doctor.system.engine_api import Api, EngineError

_CHUNK = 1 << 20
ASK_APT = """set -eu
set -- -qq -o Acquire::Languages=none -o Acquire::ForceHash=sha256 -o APT::Sandbox::User=root
if [ -s /run/apt/sources.list ]; then
  set -- "$@" -o Dir::Etc::SourceList=/run/apt/sources.list -o Dir::Etc::SourceParts=/tmp/parts
  mkdir -p /tmp/parts
  [ ! -e /run/apt/dated ] || grep -LsE 'ubuntu\\.com|debian\\.org' /etc/apt/sources.list.d/* | xargs -r cp -t /tmp/parts
  set -- "$@" -o Acquire::Check-Valid-Until=false
fi
if [ -s /run/secrets/ca ]; then set -- "$@" -o Acquire::https::CAInfo=/run/secrets/ca; fi
apt-get "$@" update >&2
"""
"""The beginning of a script in a container of the base. Beside dated sources only vendors' own of the base count: they
have no archive by date."""


def sha256(path: Path) -> str:
    summed = hashlib.sha256()
    with path.open("rb") as held:
        while chunk := held.read(_CHUNK):
            summed.update(chunk)
    return summed.hexdigest()


def unfit(folder: Path, debs: Iterable[Deb]) -> Iterator[tuple[Deb, str]]:
    """Packages of the lock that the folder lacks, of which it holds another file, or whose hash the lock has not."""
    for deb in debs:
        # apt writes the colon of an epoch as %3a.
        files = sorted(folder.glob(f"{deb.name}_{deb.version.replace(':', '%3a')}_*.deb"))
        if not files:
            yield deb, f"{deb.name}={deb.version} is not there"
        elif deb.sha256 is None:
            yield deb, f"{deb.name}={deb.version}: its lock has no hash of it"
        elif wrong := [f.name for f in files if sha256(f) != deb.sha256]:
            yield deb, f"{wrong[0]} has another hash than the lock"


def in_base(
    api: Api,
    image: str,
    script: str,
    work: Path,
    sources: tuple[str, bool],
    ca: Path | None,
    deadline_s: float,
    platform: str,
    mounts: tuple[str, ...] = (),
) -> str:
    """What a script that begins with ASK_APT prints in a container of the base, which is thrown away. `sources`: apt's
    in place of the base's, and whether they are of a date. Raises EngineError with apt's last line."""
    text, dated = sources
    place = work / "sources.list"
    place.write_text(text, encoding="utf-8")
    place.chmod(0o644)
    work.chmod(0o755)
    if dated:
        (work / "dated").touch()
    mounts = (f"{work.resolve()}:/run/apt:ro", *((f"{ca.resolve()}:/run/secrets/ca:ro",) if ca else ()), *mounts)
    how = {"deadline_s": deadline_s, "entrypoint": "sh", "user": "0", "mounts": mounts, "platform": platform}
    done = api.run(image, ("-c", script), **how)  # type: ignore[arg-type]
    if done.code:
        raise EngineError(f"apt in a container of the base: {(done.stderr.strip() or 'failed').splitlines()[-1][:200]}")
    return done.stdout
