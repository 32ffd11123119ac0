"""What checkers do while they check: connections, programs that they start, whether they load the torch that is judged,
and what has to be installed for them. Counted by strace, so that a busy machine changes nothing.

    python -m benchmarks.behaviour_of_peers NAME=ENVIRONMENT:COMMAND…

ENVIRONMENT is the folder of a virtual environment in which nothing else is installed. Prints one Markdown table.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tempfile
from pathlib import Path

CALLS = "trace=connect,openat,execve"
_INTERNET = re.compile(r"connect\(\d+, \{sa_family=AF_INET6?\b")
_EXECUTED = re.compile(r'execve\("([^"]+)".* = 0$')
_TORCH = re.compile(r'openat\(.*libtorch_cpu\.so".* = \d+$')


def traced(command: list[str]) -> str:
    """What it called, of all its processes."""
    with tempfile.NamedTemporaryFile("r", errors="replace") as log:
        argv = ["strace", "-f", "-qq", "-s", "300", "-e", CALLS, "-o", log.name, *command]
        subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False)
        return log.read()


def row(name: str, environment: Path, command: list[str]) -> list[str]:
    calls = traced([str(environment / "bin" / command[0]), *command[1:]]).splitlines()
    site = next((environment / "lib").glob("python3*/site-packages"))
    packages = [p for p in site.glob("*.dist-info") if not p.name.lower().startswith(("pip-", "setuptools-"))]
    size = sum(f.stat().st_size for f in site.rglob("*") if f.is_file() and not {"pip", "setuptools"} & set(f.parts))
    started = [Path(m[1]).name for line in calls if (m := _EXECUTED.search(line))][1:]
    connected = sum(bool(_INTERNET.search(line)) for line in calls)
    loaded = any(_TORCH.search(line) for line in calls)
    return [name, str(connected), str(len(started)), "yes" if loaded else "no", str(len(packages)), f"{size >> 20}"]


def main() -> int:
    heads = ("program", "connections to the internet", "programs started", "loads torch", "packages", "MiB installed")
    print(f"| {' | '.join(heads)} |\n|{'--|' * len(heads)}")
    for asked in sys.argv[1:]:
        name, _, told = asked.partition("=")
        environment, _, command = told.partition(":")
        print(f"| {' | '.join(row(name, Path(environment), command.split()))} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
