"""Notes of installers, tools and drivers that machines print on which all works; beside what fails they count."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.rules.host import apu_memory_pool_misconfigured
from doctor.triage.read import read_text
from tests.knowledge.texts import KB, raised

AGENT = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n"
AGENT += "  Uuid:                    GPU-5fe1f4dc8a3c2b11\n"
AGENT += "  Vendor Name:             AMD\n  Device Type:             GPU\n"
ULTRA = (
    "$ rocm-smi --showmeminfo vram gtt\n============================ ROCm System Management Interface ========\n"
    "GPU[0]\t\t: VRAM Total Memory (B): 536870912\nGPU[0]\t\t: GTT Total Memory (B): {}\n"
    "======== End of ROCm SMI Log ========\n"
)
APU = AGENT.format("gfx1151")
SMI_Q = """$ nvidia-smi -q -d PERFORMANCE,POWER
==============NVSMI LOG==============
GPU 00000000:41:00.0
    Clocks Event Reasons
        SW Power Cap                      : Active
        HW Slowdown                       : {}
            HW Thermal Slowdown           : Not Active
    GPU Power Readings
        Power Draw                        : 248.10 W
        Current Power Limit               : 250.00 W
        Default Power Limit               : 250.00 W

it never gets above 1300 MHz in training
"""


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


@pytest.mark.parametrize(("slowdown", "warned"), [("Not Active", False), ("Active", True)])
def test_a_gpu_that_draws_all_it_may_never_gets_to_its_highest_clock(slowdown: str, warned: bool) -> None:
    assert ("gpu-throttled" in raised(SMI_Q.format(slowdown))) is warned


@pytest.mark.parametrize(
    ("gtt", "said", "warned"),
    [
        (66567045120, "", False),
        (66567045120, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.00 GiB\n", True),
    ],
)
def test_a_small_carve_out_beside_a_large_pool_is_what_amd_advises(gtt: int, said: str, warned: bool) -> None:
    text = f"{APU}{ULTRA.format(gtt)}torch.cuda.is_available(): True\nBIOS: UMA Frame Buffer Size 512M\n{said}"
    machine = of(text)
    assert machine.of_vendor("amd")[0].gtt_bytes == gtt
    found = list(apu_memory_pool_misconfigured.check(machine, KB, None))
    assert any(f.severity is Severity.WARNING for f in found) is warned
