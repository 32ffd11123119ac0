"""`doctor run --from` a bundle of this machine writes the line that this machine's own `doctor run --print` writes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.docker.conftest import REPO
from tests.docker.gpu_nodes import amd_nodes, cdi_folder
from tests.docker.test_run import ENTER, TWO, Doctor, doctor, spec

pytestmark = pytest.mark.engine
_ = amd_nodes, cdi_folder, doctor  # fixtures


@pytest.mark.parametrize("by", ["nodes", "cdi"])
def test_of_a_bundle(
    doctor: Doctor, amd_nodes: None, cdi_folder: Path, mi300x_sys: Path, tmp_path: Path, image: str, by: str
) -> None:
    if by == "cdi":
        (cdi_folder / "amd.json").write_text(spec(*TWO))
    bundle = tmp_path / "bundle.tar.gz"
    words = ["unshare", "-m", "sh", "-c", ENTER, "sh", str(mi300x_sys), sys.executable, "-m", "doctor", "bundle"]
    made = subprocess.run([*words, "-o", str(bundle)], capture_output=True, text=True, cwd=REPO, timeout=120)
    assert made.returncode == 0, made.stderr
    request = ["--engine", "docker", "--gpus", "1", "--with", "numa", "--print", image, "--", "true"]
    own = doctor(*request)
    assert "--device amd.com/gpu=1" in own.stdout if by == "cdi" else "--device /dev/dri/renderD129" in own.stdout
    there = subprocess.run(
        [sys.executable, "-m", "doctor", "run", "--from", str(bundle), *request],
        capture_output=True, text=True, cwd=REPO, timeout=60,
    )  # fmt: skip
    assert (there.stdout, there.stderr) == (own.stdout, own.stderr)
