"""A run reads only the tables that its questions need."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_OPENED = """
import sys
opened = []
def hook(event, args):
    if event == "open" and "knowledge/data/" in str(args[0]):
        opened.append(str(args[0]).partition("knowledge/data/")[2])
sys.addaudithook(hook)
from doctor.cli.main import run
run({arguments!r})
print("\\n".join(sorted(set(opened))), file=sys.stderr)
"""


def opened(*arguments: str) -> set[str]:
    code = _OPENED.format(arguments=list(arguments))
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    return {line for line in ran.stderr.splitlines() if line.endswith((".json", ".toml"))}


def test_a_check_of_a_machine_without_a_gpu_reads_next_to_nothing(tmp_path: Path) -> None:
    (tmp_path / "proc").mkdir()
    tables = {name for name in opened("check", "--root", str(tmp_path)) if name.endswith(".json")}
    assert tables <= {"about.json"}


def test_a_question_of_one_xid_reads_its_table(tmp_path: Path) -> None:
    assert opened("knowledge", "show", "sxids", "11001") == {"about.json", "sxids.json", "conflicts.json"}


def test_solving_for_an_nvidia_gpu_reads_no_table_of_amd_s_or_of_flags() -> None:
    tables = opened("solve", "torch", "--gpu", "sm_90", "--driver", "570.1")
    assert "torch_builds.json" in tables
    assert not any(name.startswith(("flags/", "amd", "rocm", "kmd", "xids", "symptoms")) for name in tables)
