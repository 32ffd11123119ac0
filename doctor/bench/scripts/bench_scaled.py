"""Products in FP8 and FP4, with their recipe. A part of bench_child.py, which loads it."""

import sys

bench_cases = sys.modules.get("bench_cases")
LIBRARY = "%s, the one library that torch has for it"
"""Of products with one scale for each matrix, or one for each block (ATen/native/cuda/ScaledBlas.cpp)."""


def library(torch):
    return LIBRARY % ("hipBLASLt" if torch.version.hip else "cuBLASLt")


def float8(torch, rows, columns, inner, device):
    fnuz = torch.version.hip and bench_cases.gfx(torch, device).startswith("gfx94")
    kind = torch.float8_e4m3fnuz if fnuz else torch.float8_e4m3fn
    wide = torch.randn(rows, inner, dtype=torch.bfloat16, device=device)
    a, b = wide.to(kind), torch.randn(columns, inner, dtype=torch.bfloat16, device=device).to(kind).t()
    one = torch.ones((), dtype=torch.float32, device=device)
    most = torch.finfo(kind).max

    def call(fast, a=a, scale=one):
        result = torch._scaled_mm(a, b, scale_a=scale, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=fast)
        return result[0] if isinstance(result, tuple) else result

    def from_amax():
        scale = wide.abs().max().float() / most
        return call(False, (wide / scale).clamp(-most, most).to(kind), scale)

    ways = {"matmul": lambda: call(False), "matmul-amax": from_amax}
    if not torch.version.hip:  # ROCm's libraries have no such choice
        ways["matmul-fast"] = lambda: call(True)
    recipe = (
        "torch._scaled_mm of %s on %s; one float32 scale for each matrix, %s; bfloat16 result; fast accumulation %s"
    )
    scales = {"matmul-amax": "that of A from its amax in each call, with the cast from bfloat16, in eager mode"}
    variants = {
        name: recipe % (kind, library(torch), scales.get(name, "1.0"), "on" if name == "matmul-fast" else "off")
        for name in ways
    }

    def check():
        wanted = {name: wide if name == "matmul-amax" else a for name in ways}
        return bench_cases.worst(
            [(n, bench_cases.product_error(torch, way(), wanted[n], b)) for n, way in ways.items()], "float8"
        )

    return ways, check, variants


FP4 = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0)
"""Values of E2M1's codes 0 to 7; 8 more is the negative one (OCP Microscaling Formats, table 5)."""


def fp4(torch, rows, inner, device):
    """(packed, two codes in a byte; the same values as bfloat16), of a normal distribution."""
    drawn = torch.randn(rows, inner, device=device)
    edges = torch.tensor([(FP4[at] + FP4[at + 1]) / 2 for at in range(7)], device=device)
    code = torch.bucketize(drawn.abs(), edges)
    values = torch.tensor(FP4, device=device)[code].copysign(drawn).bfloat16()
    code = (code + 8 * (drawn < 0)).to(torch.uint8)
    return (code[:, ::2] | code[:, 1::2] << 4).contiguous(), values


def float4(torch, rows, columns, inner, device):
    """NVFP4 of Blackwell (blocks of 16, scales in E4M3), MXFP4 of gfx95x (blocks of 32, scales in E8M0). All scales are
    1.0, so that their order, which differs, does not matter; their number is torch's (ScaledBlas.cpp)."""
    amd = bool(torch.version.hip)
    there = (
        bench_cases.gfx(torch, device).startswith("gfx95") if amd else torch.cuda.get_device_capability(device)[0] >= 10
    )
    kind = getattr(torch, "float4_e2m1fn_x2", None)
    if not there or kind is None:
        raise bench_cases.Absent("this GPU has no FP4" if kind else "this torch has no FP4")
    block, scale = (32, torch.float8_e8m0fnu) if amd else (16, torch.float8_e4m3fn)
    (a, first), (b, second) = fp4(torch, rows, inner, device), fp4(torch, columns, inner, device)
    across = -(-inner // block // 4) * 4
    scales = [torch.ones(-(-count // 128) * 128 * across, device=device).to(scale) for count in (rows, columns)]

    def call():
        result = torch._scaled_mm(
            a.view(kind), b.view(kind).t(), scale_a=scales[0], scale_b=scales[1], out_dtype=torch.bfloat16
        )
        return result[0] if isinstance(result, tuple) else result

    recipe = "torch._scaled_mm of %s on %s; a scale of 1.0 (%s) for each %d values; bfloat16 result"
    return (
        {"matmul": call},
        lambda: bench_cases.worst([("matmul", bench_cases.product_error(torch, call(), first, second.t()))], "float4"),
        {"matmul": recipe % (kind, library(torch), scale, block)},
    )
