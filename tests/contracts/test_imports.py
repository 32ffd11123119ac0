"""What is imported when: a check's time is spent on imports, so what is not needed must not come in."""

from __future__ import annotations

import subprocess
import sys

import pytest


def _comes_in(statement: str, module: str) -> bool:
    code = f"import sys; {statement}; sys.exit({module!r} in sys.modules)"
    return subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode != 0


def test_probes_and_readers_need_no_pydantic() -> None:
    everything = (
        "import importlib, pkgutil, doctor.probes, doctor.readers; "
        "[importlib.import_module(m.name) for p in (doctor.probes, doctor.readers) "
        "for m in pkgutil.iter_modules(p.__path__, p.__name__ + '.') if m.name != 'doctor.probes.numbering']"
    )
    assert not _comes_in(everything, "pydantic")


@pytest.mark.parametrize("module", ["pydantic", "rich", "doctor.findings"])
def test_what_is_imported_before_the_probes_start(module: str) -> None:
    assert not _comes_in("import doctor.cli.main, doctor.cli.check, doctor.diagnosis.run, doctor.system.live", module)


@pytest.mark.parametrize("module", ["torch", "rich", "yaml", "docker", "doctor.knowledge.entries"])
def test_a_plain_check_never_imports(module: str) -> None:
    assert not _comes_in("from doctor.cli.main import run; run(['check'])", module)
