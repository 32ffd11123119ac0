"""What is told in a few words of NVIDIA's driver, containers and links: each case with one that nearly is it."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake.read import read_text
from doctor.knowledge import Knowledge

KB = Knowledge()


def raised(text: str) -> list[str]:
    """Causes that are errors or warnings, the first first; a suspicion from mere words is none."""
    report = judge(read_text([text.encode()]), KB)
    return [
        f.rule
        for f in report.findings
        if f.severity.value != "info" and not f.explained_by and not f.summary.startswith("Suspected")
    ]


INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker compose\n"
NO_CUDA = "RuntimeError: No CUDA GPUs are available\n\n"
CASES = [
    ("kubernetes: the plugin's pod has no runtimeClassName: nvidia", "container-runtime-not-configured"),
    ("runtimeClassName is not set in the DaemonSet of the plugin", "container-runtime-not-configured"),
    (
        "ldconfig: File /usr/lib/aarch64-linux-gnu/libnvidia-ml.so.1 is empty, not checked.",
        "gpu-libs-conflict",
    ),
    (
        "P2P bandwidth is only 1.2 GB/s\nGPU 0: NVIDIA L40S\nGPU 1: NVIDIA L40S\nIOMMU enabled (translating)",
        "iommu-not-passthrough",
    ),
    (
        NO_CUDA + INSIDE + "$ docker run runtime: nvidia acme/app:1\n```\n\nexport CUDA_VISIBLE_DEVICES=all\n"
        "GPU 0: NVIDIA GeForce RTX 3060\n",
        "visible-devices-conflict",
    ),
    ("cuda driver library init failure: 802", "nvidia-fabricmanager-not-running"),
    ("cuda driver library init failure: 803", "cuda-compat-conflict"),
    ("cudart init failure: 804", "cuda-compat-conflict"),
]
NEARLY = [
    ("the pod sets runtimeClassName: nvidia", "container-runtime-not-configured"),
    ("ldconfig: File /usr/lib/x86_64-linux-gnu/libfoo.so.1 is empty, not checked.", "gpu-libs-conflict"),
    (
        "P2P bandwidth is only 1.2 GB/s\nGPU 0: NVIDIA L40S\nGPU 1: NVIDIA L40S\nIOMMU is not translating",
        "iommu-not-passthrough",
    ),
    (
        NO_CUDA + INSIDE + "$ docker run runtime: nvidia acme/app:1\n```\n\nexport NVIDIA_VISIBLE_DEVICES=all\n"
        "GPU 0: NVIDIA GeForce RTX 3060\n",
        "container-missing-gpu-passthrough",
    ),
    ("cuda driver library init failure: 35", "nvidia-uvm-hmm-init-failure"),
    ("docker run --gpus all ubuntu nvidia-smi works\n" + INSIDE + "$ docker run --gpus all app\n```\n", "cdi"),
]


@pytest.mark.parametrize(("text", "cause"), CASES)
def test_it_is_named(text: str, cause: str) -> None:
    assert cause in raised(text)[:1]


@pytest.mark.parametrize(("text", "cause"), NEARLY)
def test_what_nearly_says_it(text: str, cause: str) -> None:
    assert cause not in raised(text)
