"""What a text of NVIDIA's GPUs may not be accused of, since it shows that this is right."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.flags import allocator_flag_unsupported as allocator
from doctor.rules.flags import env_flag_unknown_or_renamed as renamed
from doctor.rules.host import gpu_throttled as throttled
from doctor.rules.host import gpudirect_rdma_missing as gpudirect
from doctor.rules.host import pcie_acs_enabled as acs
from doctor.rules.python import toolkit_torch_mismatch as toolkit


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


def test_a_toolkit_of_torchs_own_cuda_is_no_other() -> None:
    text = "torch 2.2.2+cu121\nCUDA toolkit version: {}\nthe extension is compiled at its first use\n"
    assert toolkit.unheard(of(text.format("12.1")))
    assert not toolkit.unheard(of(text.format("11.8")))
    assert not toolkit.unheard(of("torch 2.2.2+cu121\nthe extension is compiled at its first use\n"))


def test_a_module_that_is_loaded_is_not_missing() -> None:
    assert gpudirect.unheard(of("$ lsmod | grep peer\nnvidia_peermem         16384  0\n"))
    assert not gpudirect.unheard(of("$ lsmod | grep nv\nnvidia_uvm         16384  0\n"))


@pytest.mark.parametrize(
    ("card", "value", "line", "silent"),
    [
        ("NVIDIA A100-SXM4-80GB", "expandable_segments:True", "step 4 loss 2.1", True),
        ("NVIDIA A100-SXM4-80GB", "expandable_segment:True", "step 4 loss 2.1", False),
        ("NVIDIA A100-SXM4-80GB", "expandable_segments:True", "expandable_segments not supported on this pl", False),
        ("Orin (nvgpu)", "expandable_segments:True", "step 4 loss 2.1", False),
    ],
)
def test_options_that_the_allocator_has_are_not_refused(card: str, value: str, line: str, silent: bool) -> None:
    text = f"$ nvidia-smi -L\nGPU 0: {card}\n\n$ env\nPYTORCH_CUDA_ALLOC_CONF={value}\n\n{line}\n"
    assert allocator.unheard(of(text)) is silent


def test_bridges_that_redirect_nothing_have_no_acs_to_turn_off() -> None:
    line = "        ACSCtl: SrcValid+ TransBlk- ReqRedir{} CmpltRedir{} UpstreamFwd- EgressCtrl- DirectTrans-\n"
    assert acs.unheard(of("all_reduce_perf hangs\n" + line.format("-", "-") * 2))
    assert not acs.unheard(of("all_reduce_perf hangs\n" + line.format("-", "-") + line.format("+", "+")))
    assert not acs.unheard(of("all_reduce_perf hangs\n"))


def test_where_a_library_lies_is_no_name_that_nothing_reads() -> None:
    assert renamed.unheard(of("$ env\nUCX_HOME=/opt/ucx\nUCX_TLS=self,sm,rocm\n"))
    assert not renamed.unheard(of("$ env\nUCX_HOMING=1\nUCX_TLS=self,sm,rocm\n"))


CARD = """$ nvidia-smi
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA GeForce RTX 3090        Off |   00000000:0B:00.0 Off |                  N/A |
| 78%   74C    P2             {:>3}W /  350W |   23400MiB /  24576MiB |    100%      Default |

$ nvidia-smi -q -d PERFORMANCE
    Clocks Event Reasons
        Idle                              : Not Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
"""


@pytest.mark.parametrize(
    ("watts", "line", "excluded"),
    [
        (349, "clock drops from 1950 to 1395 MHz in the run", True),
        (120, "clock drops from 1950 to 395 MHz in the run", False),
        (349, "the power limit was lowered to 350 W, and training is slow on the RTX 3090", False),
        (349, "HW Thermal Slowdown : Active", False),
    ],
)
def test_a_gpu_that_draws_all_it_may_is_held_by_nothing_else(watts: int, line: str, excluded: bool) -> None:
    assert throttled.excludes(of(f"{CARD.format(watts)}\n{line}\n")) is excluded
