"""A real Jupyter kernel runs a cell, and what it shows is the report's page in a frame."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from tests.docker.conftest import REPO, unmet
from tests.probes import amd_trees

pytestmark = [pytest.mark.engine, pytest.mark.filterwarnings("default")]


def output(code: str, folder: Path) -> Any:
    """The data of the last value of a notebook's only cell, by kind of media."""
    if not find_spec("nbclient") or not find_spec("ipykernel"):
        unmet("nbclient or ipykernel is not installed (pip install --group engine)")
    import nbformat
    from nbclient import NotebookClient

    v4: Any = nbformat.v4
    book = v4.new_notebook(cells=[v4.new_code_cell(code)])
    NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(folder)}}).execute()
    (shown,) = [o for o in book.cells[0].outputs if o.output_type == "execute_result"]
    nbformat.validate(book)
    return shown.data


@pytest.fixture(autouse=True)
def environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PYTHONPATH", str(REPO))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")


def test_the_machine_is_checked_in_a_cell(tmp_path: Path) -> None:
    data = output("from doctor.notebook import check\ncheck()", tmp_path)
    assert data["text/plain"].startswith("<doctor report: ")
    frame = data["text/html"]
    assert frame.startswith('<iframe title="doctor report" sandbox="" srcdoc="&lt;!doctype html&gt;')
    assert "Content-Security-Policy" in frame


def test_a_report_of_ones_own_too(tmp_path: Path) -> None:
    amd_trees.mi300x(tmp_path / "tree", 0x1B, 0x3D)
    code = (
        "from pathlib import Path\nfrom doctor.engine.run import Options, examine\n"
        "from doctor.system.tree import TreeSystem\nfrom doctor.report.notebook import Shown\n"
        "Shown(examine(TreeSystem(Path('tree')), Options()))"
    )
    assert "AMD Instinct MI300X" in output(code, tmp_path)["text/html"]
