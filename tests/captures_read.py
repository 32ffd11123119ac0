"""What the shared captures are read and judged as; several files of tests ask the same of them."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from doctor.engine.judge import judge
from doctor.engine.run import Options, examine
from doctor.facts import Snapshot
from doctor.findings import Report
from doctor.knowledge import Knowledge
from doctor.system.tree import TreeSystem
from doctor.triage.read import read_text
from tests.live.trees import lay_out
from tests.paths import FIELDLAB


@cache
def pasted(path: str) -> Snapshot:
    """A file below the captures' folder, read as if it were pasted."""
    return read_text([(FIELDLAB / path).read_bytes()])


@cache
def of_tree(machine: str) -> Report:
    """A captured root, examined."""
    with TemporaryDirectory() as folder:
        return examine(TreeSystem(lay_out(machine, Path(folder))), Options())


@cache
def judged(path: str) -> Report:
    return judge(pasted(path), Knowledge())
