"""Facts that look wrong and are not: what a text shows beside them says that the cause can't be this one."""

from __future__ import annotations

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.access import container_missing_gpu_passthrough as passthrough
from doctor.rules.driver import amd_gpu_unsupported_by_rocm as unsupported
from doctor.rules.driver import amdgpu_rocm_version_skew as skew
from doctor.triage.read import read_text

TABLE = "Package    Version\n---------- -------\n"


def severities(rule: object, text: str) -> list[str]:
    check = rule.check  # type: ignore[attr-defined]
    return [f.severity.value for f in check(read_text([text.encode()]), Knowledge(), None)]


APPTAINER = "$ srun singularity exec {}-B /scratch torch-rocm.sif bash -c 'python main.py'\n"
ON_MI250X = "container engine: singularity-ce 4.1.3\nGPU[0]\t\t: Card series: \t\tAMD Instinct MI250X\nit ends\n"


def test_apptainer_binds_dev_unless_it_contains() -> None:
    assert severities(passthrough, ON_MI250X + APPTAINER.format("")) == []
    assert severities(passthrough, ON_MI250X + APPTAINER.format("--containall ")) != []
    assert severities(passthrough, ON_MI250X + APPTAINER.format("") + "torch.cuda.is_available() -> False\n") != []


def test_enroots_hook_gives_the_gpus_that_the_image_asks_for() -> None:
    run = "$ srun --mpi=pmix --container-image=nvcr.io#nvidia/pytorch:25.06-py3 python x.py\n"
    line = f"container engine: enroot/pyxis\nGPU 0: NVIDIA GB200\n{run}"
    assert severities(passthrough, f"{line}ValueError: not enough values to unpack\n") == []
    assert severities(passthrough, f"{line}torch.cuda.is_available() -> False\n") != []


AGENT = (
    "*******\nAgent {}\n*******\n  Name:                    gfx90a\n"
    "  Vendor Name:             AMD\n  Device Type:             GPU\n"
)


def test_a_release_that_no_table_has_is_unknown() -> None:
    driver = "ROCm version: {}\namdgpu driver: {}\nit fails\n"
    assert severities(skew, driver.format("7.1.0", "6.16.6")) == []  # 30.20.1, and 30.20.0 is listed
    assert severities(skew, driver.format("6.5.0", "6.13.1")) == []  # ROCm 6.5.0 was never published
    assert severities(skew, driver.format("7.1.0", "6.3.6")) == ["warning"]


@pytest.mark.parametrize(
    ("wheel", "served"),
    [
        ("rocm-sdk-libraries-gfx1151", True),
        ("rocm-sdk-libraries-gfx115X-all", True),
        ("rocm-sdk-libraries-gfx942", False),
    ],
)
def test_wheels_of_rocm_name_their_target(wheel: str, served: bool) -> None:
    strix = AGENT.format(2).replace("gfx90a", "gfx1151")
    wheels = f"$ pip list\n{TABLE}torch 2.8.0+rocm6.4.1\n{wheel} 6.4.1\n"
    text = f"ROCm version: 6.4.1\n$ rocminfo\n{strix}{wheels}Segmentation fault (core dumped)\n"
    assert (severities(unsupported, text) == []) is served
