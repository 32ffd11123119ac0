"""A chosen stack -> what pip's or uv's own resolver says of it, without installing anything.

Asked for by name only: it opens connections to the package indexes. What is compiled on the machine (flash-attn …) has
no wheel that a resolver could look at, and is left out.
"""

from __future__ import annotations

import re
import shutil
import sys
from collections.abc import Sequence

from doctor.resolve.command import INDEX, Tool
from doctor.resolve.model import Solution
from doctor.system.base import Output, Reading, System

DEADLINE_S = 600.0
_UNREACHABLE = re.compile(
    r"(?i)(connection (?:refused|reset|broken|error)|failed to establish|failed to resolve|temporary failure|timed out|"
    r"max retries|proxyerror|sslerror|could not connect|dns error|error sending request|failed to fetch|"
    r"http error (?:403|407|50\d))"
)
_OLDEST_GLIBC = 17


def check(system: System, solution: Solution, tool: Tool) -> str:
    """`resolves: N packages`, `does not resolve: …`, or `not checked: …`."""
    argv, left_out = command(solution, tool)
    if not argv:
        return "not checked: nothing that lies on an index as a wheel"
    # uv lies where its user put it; as root a program that others can write is refused by the System all the same.
    ran = system.run((shutil.which(argv[0]) or argv[0], *argv[1:]), deadline_s=DEADLINE_S)
    return verdict(ran, left_out)


def command(solution: Solution, tool: Tool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The argv of the dry run, and the packages that it leaves out."""
    build = solution.build
    wanted, indexes, left_out = [], [], []
    if build and not build.bundled_by:
        wanted.append(f"torch=={build.version}" + ("" if build.plain else f"+{build.tag}"))
        indexes += [] if build.plain else [f"{INDEX}/{build.tag}"]
    for pick in solution.picks:
        if (pick.needs and "--no-build-isolation" in pick.options) or pick.image:
            left_out.append(pick.package)
            continue
        wanted += pick.requirement.split()
        indexes += pick.index
    if not wanted:
        return (), tuple(left_out)
    extra = [word for url in indexes for word in ("--extra-index-url", url)]
    options = _uv(solution) if tool == "uv" else _pip(solution)
    return (*options, *wanted, *extra), tuple(left_out)


def _pip(solution: Solution) -> tuple[str, ...]:
    target = solution.target
    version = (target.python or f"3.{sys.version_info.minor}").rstrip("t")
    words = [
        sys.executable,
        "-m",
        "pip",
        "install",
        "--dry-run",
        "--ignore-installed",
        "--no-input",
        "--progress-bar=off",
        "--retries=1",
    ]
    words += ["--only-binary=:all:", "--python-version", version, "--implementation", "cp"]
    return (*words, *(word for tag in platforms(target.machine, target.glibc) for word in ("--platform", tag)))


def _uv(solution: Solution) -> tuple[str, ...]:
    target = solution.target
    floor = min(max(_minor(target.glibc), _OLDEST_GLIBC), 40)
    words = ["uv", "pip", "install", "--dry-run", "--reinstall", "--only-binary", ":all:"]
    words += ["--index-strategy", "unsafe-best-match", "--python-platform", f"{target.machine}-manylinux_2_{floor}"]
    return (*words, *(["--python-version", target.python] if target.python else []), "--target", "/nonexistent")


def platforms(machine: str, glibc: str | None) -> tuple[str, ...]:
    """Platform tags of a machine, the newest first; without a known glibc those of 2.28, which most wheels ask for."""
    newest = _minor(glibc)
    tags = [f"manylinux_2_{minor}_{machine}" for minor in range(newest, _OLDEST_GLIBC - 1, -1)]
    return (*tags, f"manylinux2014_{machine}", f"manylinux2010_{machine}", f"manylinux1_{machine}", f"linux_{machine}")


def _minor(glibc: str | None) -> int:
    found = re.match(r"2\.(\d{1,2})", glibc or "2.28")
    return int(found[1]) if found else 28


def verdict(ran: Reading[Output], left_out: Sequence[str] = ()) -> str:
    """What the resolver's output means."""
    besides = f" (without {', '.join(left_out)}: compiled on the machine)" if left_out else ""
    if ran.value is None:
        return f"not checked: {ran.detail or ran.state.value}"
    said = ran.value.stdout + "\n" + ran.value.stderr
    if ran.value.code == 0:
        uv, pip = re.search(r"Would install (\d+) packages?", said), re.search(r"Would install (.+)", said)
        count = int(uv[1]) if uv else len(pip[1].split()) if pip else 0
        return f"resolves: {count} packages{besides}"
    lines = [line.strip() for line in said.splitlines() if "error" in line.lower() or "×" in line or "conflict" in line]
    told = (lines or said.strip().splitlines()[-1:] or ["no output"])[-1][:300]
    if _UNREACHABLE.search(said):
        return f"not checked: the index can't be reached ({told})"
    return f"does not resolve{besides}: {told}"
