"""Whether a requirement counts here: not where its marker asks for what is not known."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.facts.host import Host
from doctor.facts.python import Interpreter, Package
from doctor.knowledge.requirements import unmet

OF_X86 = 'nvidia-cublas-cu12==12.8.4.1; platform_system == "Linux" and platform_machine == "x86_64"'
BEFORE_311 = 'tomli>=2; python_version < "3.11"'


@pytest.mark.parametrize(
    ("line", "processor", "python", "counts"),
    [
        (OF_X86, "x86_64", "3.12.3", True),
        (OF_X86, "aarch64", "3.12.3", False),
        (OF_X86, None, "3.12.3", False),
        (BEFORE_311, "x86_64", "3.10.12", True),
        (BEFORE_311, "x86_64", "3.12.3", False),
        (BEFORE_311, "x86_64", None, False),
        ("filelock", None, None, True),
    ],
)
def test_what_counts(line: str, processor: str | None, python: str | None, counts: bool) -> None:
    torch = Package(name="torch", version="2.9.1", requires=(line,))
    machine = Snapshot(packages=(torch,), host=Host(machine=processor), interpreter=Interpreter(version=python))
    assert bool(list(unmet(machine))) is counts
