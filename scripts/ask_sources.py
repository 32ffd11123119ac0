"""What is newer at the sources than the catalogue is: one line each, for a person to review.

    ./dev refresh            asks every source, and lists what could not be reached
    ./dev refresh --write    also reads new wheels and asks uv about new stacks; `git diff` is then the change

A source is a module of scripts/refresh with TITLE and ask().
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from refresh import (
    distributions,
    known_releases,
    nvidia_drivers,
    pci_ids,
    pypi,
    pytorch_matrix,
    rocm_docs,
    therock,
    vllm_wheels,
)

from doctor.knowledge import Knowledge

HERE = Path(__file__).resolve().parent
SOURCES = (known_releases, pytorch_matrix, nvidia_drivers, rocm_docs, therock, vllm_wheels, pci_ids, distributions)
_WRITERS = ("read_wheels.py", "record_resolutions.py")


def report(get: pypi.Fetch, kb: Knowledge) -> tuple[list[str], list[str]]:
    """What is newer; and which sources could not be read, with the reason."""
    newer: list[str] = []
    unread: list[str] = []
    for source in SOURCES:
        try:
            newer += source.ask(get, kb)
        except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:  # noqa: PERF203 -- one stops no other
            unread.append(f"not read: {source.TITLE}: {' '.join(str(error).split())[:200] or type(error).__name__}")
    return newer, unread


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--write", action="store_true", help="change the tables that programs write")
    given = words.parse_args()
    newer, unread = report(pypi.fetch, Knowledge())
    sys.stdout.write(("\n".join([*newer, *unread]) or "nothing is newer") + "\n")
    if given.write:
        for name in _WRITERS:
            subprocess.run([sys.executable, str(HERE / name)], check=True)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
