"""Bandwidth of the L2 cache, by a kernel of triton's. A part of bench_child.py, which loads it for that case alone."""

import sys

import triton
import triton.language as tl

bench_cases = sys.modules.get("bench_cases")
PROGRAMS, BLOCK, BLOCKS, STEP = 4096, 4096, 64, 61
"""64 blocks of 4096 float32 are 1 MiB, which fits into every L2, that of one of MI300X's dies too (4 MiB). The step is
prime to the blocks, so that programs of one compute unit do not read the same block one after the other."""


def l2(torch, case, device):
    """Each program reads the blocks again and again: one launch, nearly no writes. On NVIDIA past the L1."""
    passes = bench_cases.amount(case["shape"]) // (PROGRAMS * BLOCK * 4)
    x = torch.randint(0, 4, (BLOCKS, BLOCK), device=device).float()
    out = torch.empty(PROGRAMS, BLOCK, device=device)
    modifier = "" if torch.version.hip else ".cg"

    def call():
        read_again[(PROGRAMS,)](x, out, passes, BLOCK=BLOCK, BLOCKS=BLOCKS, STEP=STEP, MODIFIER=modifier)

    def check():
        out.zero_()
        call()
        at = torch.arange(PROGRAMS, device=device)[:, None] + STEP * torch.arange(passes, device=device)
        visits = torch.stack([(at % BLOCKS == block).sum(1) for block in range(BLOCKS)], 1)
        good = torch.equal(out.double(), visits.double() @ x.double())  # whole numbers below 2**24: exact
        return (0.0, None) if good else (1.0, "l2: a sum of what was read is wrong")

    about = "1 MiB read %d times by each of %d programs of a triton %s kernel"
    return {"read": call}, check, {"read": about % (passes // BLOCKS, PROGRAMS, triton.__version__)}


@triton.jit
def read_again(x, out, passes, BLOCK: tl.constexpr, BLOCKS: tl.constexpr, STEP: tl.constexpr, MODIFIER: tl.constexpr):
    at = tl.arange(0, BLOCK)
    program = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for number in range(passes):
        total += tl.load(x + (program + number * STEP) % BLOCKS * BLOCK + at, cache_modifier=MODIFIER)
    tl.store(out + program * BLOCK + at, total)
