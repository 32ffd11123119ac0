"""Writes the locks that ship with the package (doctor/images/locks), one part for each question that a profile asks.

    python scripts/ship_locks.py --roots DIR [NAME …]      all profiles, or these

Bases come from scripts/recorded_locks.toml, packages of the distribution from apt in DIR/CODENAME (made by debootstrap
with --variant=minbase), wheels from the default index, and those of PyTorch's index by recorded hashes. With a registry
and an engine at hand, `doctor image lock` makes the same parts for one profile.
"""

from __future__ import annotations

import argparse
import datetime
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from doctor.errors import DoctorError  # noqa: E402 -- of this checkout, not of an installed one
from doctor.images import wheels  # noqa: E402
from doctor.images.lock import APT_SCRIPT, uris  # noqa: E402
from doctor.images.lockfile import AptLock, BaseLock, Wheel, WheelLock, shipped_name  # noqa: E402
from doctor.images.recipe import DOCTOR_NEEDS, Recipe, asked  # noqa: E402
from doctor.images.refuse import checked_base  # noqa: E402
from doctor.images.verify import wheel as stub  # noqa: E402
from doctor.knowledge import Knowledge  # noqa: E402
from doctor.profiles import load  # noqa: E402
from doctor.profiles.compose import is_shipped, named  # noqa: E402
from doctor.resolve.target import glibc_of  # noqa: E402

LOCKS = ROOT / "doctor" / "images" / "locks"
RECORDED = tomllib.loads((ROOT / "scripts" / "recorded_locks.toml").read_text("utf-8"))
LIVE = {
    "http://snapshot.ubuntu.com/ubuntu/{}": "http://archive.ubuntu.com/ubuntu",
    "http://snapshot.debian.org/archive/debian/{}": "http://deb.debian.org/debian",
    "http://snapshot.debian.org/archive/debian-security/{}": "http://deb.debian.org/debian-security",
}


def base_of(image: str) -> BaseLock | None:
    row = next((r for r in RECORDED["base"] if r["image"] == image), None)
    return BaseLock(asked=image, digest=row["digest"], observed="public-file", as_of=row["as_of"]) if row else None


def apt_of(recipe: Recipe, digest: str, roots: Path, today: datetime.date) -> AptLock:
    """What apt would install today in a minimal tree. The moment is this day's first: nothing was published since, or
    this says so."""
    moment, root = f"{today:%Y%m%d}T000000Z", roots / recipe.base.codename
    text = recipe.base.sources(moment)
    for dated, live in LIVE.items():
        text = text.replace(dated.format(moment), live)
    _older(text, today)
    (root / "run/apt").mkdir(parents=True, exist_ok=True)
    (root / "run/apt/sources.list").write_text(text, "utf-8")
    runtime, build = (" ".join(p.asked for p in rows) for rows in (recipe.runtime_packages, recipe.build_packages))
    words = ["chroot", str(root), "sh", "-c", APT_SCRIPT.format(runtime=runtime, build=build)]
    done = subprocess.run(words, capture_output=True, text=True, timeout=600, check=True)
    first, _, second = done.stdout.partition("=== build\n")
    both = uris(first)
    rest = tuple(d for d in uris(second) if d not in both)
    seen = {"observed": "resolved-here", "as_of": today}
    return AptLock(asked=recipe.apt_asked, base=digest, snapshot=moment, runtime=both, build=rest, **seen)


@cache
def _older(sources: str, today: datetime.date) -> None:
    """Raises SystemExit where a list of packages is of today."""
    for _, _, place, suite, *_ in (line.split() for line in sources.splitlines()):
        done = subprocess.run(["curl", "-sSf", f"{place}/dists/{suite}/Release"], capture_output=True, check=True)
        row = next(line for line in done.stdout.decode().splitlines() if line.startswith("Date: "))
        day = datetime.datetime.strptime(row[6:-4].strip(), "%a, %d %b %Y %H:%M:%S").date()
        if day >= today:
            raise SystemExit(f"{place} {suite} was published on {day}: its state at the day's first moment is another")


def wheels_of(recipe: Recipe, today: datetime.date) -> WheelLock:
    """Recorded wheels are asked for by stubs that have their metadata."""
    rows = {row["name"]: row for row in RECORDED["wheel"]}
    glibc = glibc_of(Knowledge(), recipe.base.os, recipe.base.version) or "2.28"
    with tempfile.TemporaryDirectory() as held:
        for name, row in rows.items():
            stub(Path(held), name, row["version"], "\nRequires-Dist: ".join(row["needs"]) or None)
        packages = [p.model_copy(update={"index": None}) if p.name in rows and p.local else p for p in recipe.pip]
        made = wheels.lock(packages, recipe.compile_needs, recipe.python, glibc, recipe.platform, Path(held))
    found = tuple(_recorded(w, rows) for w in made.wheels)
    named = (*(asked(p) for p in recipe.pip), *recipe.compile_needs)
    return made.model_copy(update={"asked": named, "wheels": found, "observed": "resolved-here", "as_of": today})


@cache
def _size(url: str) -> int:
    with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=60) as answer:  # noqa: S310
        return int(answer.headers["Content-Length"])


def _plain(found: Wheel) -> Wheel:
    """With its size, and without the address that the index of the day gave: it is asked again."""
    size = found.size or (_size(found.url) if found.url else None)
    return found.model_copy(update={"size": size, "url": None})


def _recorded(found: Wheel, rows: dict[str, dict[str, Any]]) -> Wheel:
    row = rows.get(found.name)
    if row is None or row["version"] != found.version:
        return _plain(found)
    known = {key: row[key] for key in ("file", "sha256", "index")}
    return found.model_copy(update={**known, "size": None, "url": None, "observed": "public-file"})


def doctors(recipe: Recipe, today: datetime.date) -> WheelLock:
    glibc = glibc_of(Knowledge(), recipe.base.os, recipe.base.version) or "2.28"
    made = wheels.lock((), DOCTOR_NEEDS, recipe.python, glibc, recipe.platform)
    bare = tuple(map(_plain, made.wheels))
    return made.model_copy(update={"wheels": bare, "observed": "resolved-here", "as_of": today})


def parts(
    recipe: Recipe, roots: Path, today: datetime.date
) -> Iterator[tuple[str, Callable[[], BaseLock | AptLock | WheelLock]]]:
    """Each file with what makes it."""
    platform = recipe.platform
    yield shipped_name("wheels", platform, recipe.python, *DOCTOR_NEEDS), partial(doctors, recipe, today)
    if recipe.stack_asked:
        yield shipped_name("wheels", platform, recipe.python, *recipe.stack_asked), partial(wheels_of, recipe, today)
    # Of a recorded digest it is not known whether it is of all platforms.
    base = base_of(recipe.image) if platform == "linux/amd64" else None
    if base:
        yield shipped_name("base", platform, recipe.image), lambda: base
        key = shipped_name("apt", platform, recipe.image, *recipe.apt_asked)
        yield key, partial(apt_of, recipe, base.digest, roots, today)


def text_of(part: BaseLock | AptLock | WheelLock) -> str:
    """As it lies in the package: a line for each package, so that a change shows what moved."""
    rows = part.model_dump(mode="json", exclude_none=True)
    return "{\n" + ",\n".join(f" {json.dumps(key)}: {_rows(value)}" for key, value in rows.items()) + "\n}\n"


def _rows(value: object) -> str:
    if not (isinstance(value, list) and value and isinstance(value[0], dict)):
        return json.dumps(value)
    return "[\n" + ",\n".join(f"  {json.dumps(row)}" for row in value) + "\n ]"


def main(names: Sequence[str], roots: Path) -> int:
    today = datetime.datetime.now(datetime.timezone.utc).date()
    made: set[str] = set()
    failed = 0
    for name in names or [n for n, what in named().items() if is_shipped(what)]:
        profile = load(name)
        if profile.image is None or profile.image.base is None:
            continue
        for key, make in parts(Recipe(profile, checked_base(profile), None), roots, today):
            if key in made:
                continue
            made.add(key)
            try:
                (LOCKS / key).write_text(text_of(make()), "utf-8")
                sys.stdout.write(f"{key}\n")
            except (DoctorError, subprocess.CalledProcessError) as error:
                failed += 1
                why = (getattr(error, "stderr", "") or str(error)).strip().splitlines()[-1]
                sys.stderr.write(f"{name}: no {key}: {why[:300]}\n")
    for old in sorted(LOCKS.glob("*.json")):
        if not names and old.name not in made:
            old.unlink()
    return 1 if failed else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--roots", type=Path, required=True, help="Folder with a tree for each distribution.")
    parser.add_argument("names", nargs="*")
    given = parser.parse_args()
    sys.exit(main(given.names, given.roots))
