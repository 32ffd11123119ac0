"""What is imported when: a check's time is spent on imports, so what is not needed must not come in."""

from __future__ import annotations

import subprocess
import sys


def _come_in(statement: str, *modules: str) -> list[str]:
    """Those of the modules that the statement imports."""
    code = f"import sys; {statement}; print('\\n', *(m for m in {modules!r} if m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], check=True, timeout=60, capture_output=True, text=True)
    return done.stdout.splitlines()[-1].split()


def test_probes_and_parsers_need_no_pydantic() -> None:
    everything = (
        "import importlib, pkgutil, doctor.probes, doctor.parsers; "
        "[importlib.import_module(m.name) for p in (doctor.probes, doctor.parsers) "
        "for m in pkgutil.walk_packages(p.__path__, p.__name__ + '.') if m.name != 'doctor.probes.lib.numbering']"
    )
    assert _come_in(everything, "pydantic") == []


def test_what_is_imported_before_the_probes_start() -> None:
    start = "import doctor.cli.main, doctor.cli.check, doctor.engine.run, doctor.system.live"
    assert _come_in(start, "doctor.engine.run", "pydantic", "rich", "doctor.findings") == ["doctor.engine.run"]


def test_a_plain_check_never_imports() -> None:
    never = ("torch", "rich", "yaml", "docker", "doctor.knowledge.entries")
    assert _come_in("from doctor.cli.main import run; run(['check'])", "pydantic", *never) == ["pydantic"]
