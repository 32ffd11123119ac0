"""Lines of machines that work, and of programs that only advise: near to what tells of a fault, and none."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import certain, keys

SMI = "| NVIDIA-SMI 550.76.01    Driver Version: 552.22    CUDA Version: 12.4 |\n"
NOUVEAU = "ERROR: The Nouveau kernel driver is currently in use by your system.\n"


@pytest.mark.parametrize(("beside", "rules"), [("", {"nouveau-loaded"}), (SMI, set())])
def test_nouveau_in_the_installers_way_is_certain_until_nvidias_driver_is_loaded(beside: str, rules: set[str]) -> None:
    assert certain(NOUVEAU + beside) == rules


@pytest.mark.parametrize(
    ("line", "symptom"),
    [
        ("WARNING: Turning off GPU-aware MPI since it is not detected", "gpu-not-seen-said"),
        ("load_backend: loaded CPU backend from /opt/llama/libggml-cpu-zen4.so", "gpu-idle-said"),
        (
            "AttributeError: module 'torch.distributed' has no attribute 'is_initialized'",
            "name-of-torch-not-importable",
        ),
    ],
)
def test_what_is_there_beside_a_gpu_says_nothing_of_it(line: str, symptom: str) -> None:
    assert symptom not in keys(line)
