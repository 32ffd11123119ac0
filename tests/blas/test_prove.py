"""What ran, from recorded events of this project's own runs, from real names and log lines, and from real children."""

# ruff: noqa: E501
from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from doctor.blas.predict import DTYPES, ENTRIES, Library, Prediction
from doctor.blas.prove import Proved, from_events, prove, shaped, witness
from doctor.findings import Progress
from doctor.knowledge import Knowledge
from doctor.parsers.blas import gemm_log
from doctor.report.blas import text
from doctor.rules.bench import gemm_paths_diverge
from doctor.system.user_python import Bounds
from tests.each import each
from tests.rules.machines import mi300x_host

RECORDED = Path(__file__).parent / "recorded/torch-2.13.0-cpu.jsonl"
"""Of torch 2.13.0+cpu from a wheel, on two cores with AVX-512, 2026-11-21."""
LT = "Cijk_Alik_Bljk_BBS_BH_Bias_HA_S_SAV_UserArgs_MT256x16x128_MI16x16x1_SN_LDSB1"
TENSILE = "Cijk_Ailk_Bljk_BBS_BH_MT128x128x32_MI32x32x8x1_SE_1LDSB0"
LT_LINE = "hipblaslt-bench --api_method c -m 512 -n 256 -k 384 --lda 512"
ROCBLAS_LINE = "rocblas_gemm_ex,N,N,512,256,384,1,0x7f,bf16_r,512,0x7f,bf16_r,384,0,0x7f,bf16_r,512"
CUBLAS_LINE = "I! cuBLAS (v12.8) function cublasStatus_t cublasGemmEx(cublasContext*, cublasOperation_t) called:"
CUBLASLT_LINE = (
    "[2026-01-01 00:00:00][cublasLt][99][Trace][cublasLtMatmul] A=0X7F Adesc=[type=R_16BF rows=384 cols=512 ld=384]"
)
NVJET = "nvjet_tst_128x256_64x4_2x1_v_bz_coopA_NNT"


def predicted(library: Library | None, *keys: str) -> tuple[Prediction, ...]:
    return tuple(Prediction(entry, dtype, library, ()) for entry, dtype in (key.split("/") for key in keys))


def everything(library: Library | None) -> tuple[Prediction, ...]:
    return predicted(library, *(f"{e}/{d}" for e in ENTRIES for d in DTYPES.get(e, ("float32", "bfloat16", "float16"))))


def test_a_torch_for_cpu() -> None:
    events = [json.loads(line) for line in RECORDED.read_text().splitlines()]
    proved = from_events(events, everything("cpu"))
    ran = {p.key: p.library for p in proved.proofs}
    assert len(ran) == 20
    assert {p.outcome for p in proved.proofs} == {"ran"}
    assert {ran[f"{e}/float32"] for e in ("mm", "addmm", "linear", "linear-bias", "bmm", "baddbmm")} == {"mkl"}
    assert {ran[f"{e}/bfloat16"] for e in ("mm", "linear-bias", "baddbmm", "grouped_mm")} == {"onednn"}
    # No log saw these, though both libraries logged others: torch's own loops ran.
    assert {ran[f"{e}/float16"] for e in ("mm", "linear")} == {"torch"}
    mm = next(p for p in proved.proofs if p.key == "mm/bfloat16")
    assert mm.kernels == ("gemm:jit:bf16",)
    assert mm.file == "/opt/venv/lib/python3.11/site-packages/torch/lib/libtorch_cpu.so"
    assert mm.relative_error is not None
    assert mm.relative_error < 0.01


@each(
    "lines, kernels, library, told_by, through",
    [
        ([LT_LINE], [LT], "hipblaslt", "log and kernel name", None),
        ([ROCBLAS_LINE], [TENSILE], "rocblas", "log and kernel name", None),
        ([ROCBLAS_LINE], [LT], "hipblaslt", "kernel name", "rocblas"),  # rocBLAS handed it on, as on gfx12
        ([ROCBLAS_LINE, LT_LINE], [], "hipblaslt", "log", "rocblas"),
        ([], [TENSILE], "rocblas", "kernel name", None),
        ([LT_LINE], [], "hipblaslt", "log", None),
        ([], ["void ck::kernel_gemm_xdl_cshuffle_v3<...>"], "ck", "kernel name", None),
        ([], ["_ZN5aiter42fp8gemm_bf16_blockscale_BpreShuffle_32x128E.kd"], "aiter", "kernel name", None),
        ([LT_LINE], ["aiter::bf16gemm_fp32bf16_tn_32x64_splitk_clean"], "aiter", "kernel name", "hipblaslt"),
        ([], ["void ck_tile::kentry<1, ck_tile::MoeFlatmmKernel<...>>"], "ck", "kernel name", None),
        (
            [],
            ["_ZN7ck_tile6kentryILi1ENS_13FmhaFwdKernelI", "aiter::dynamic_per_group_scaled_quant_kernel"],
            None,
            None,
            None,
        ),
        ([CUBLAS_LINE], [NVJET], "cublas", "log and kernel name", None),
        ([CUBLAS_LINE, CUBLASLT_LINE], [NVJET], "cublas", "log and kernel name", None),
        ([CUBLASLT_LINE], [NVJET], "cublaslt", "log and kernel name", None),
        ([], [NVJET], None, None, None),  # the kernels of both are the same
        ([], [], None, None, None),
    ],
)
def test_log_and_kernel_name_together(
    lines: Sequence[str], kernels: Sequence[str], library: str | None, told_by: str | None, through: str | None
) -> None:
    found = witness(gemm_log.read("\n".join(lines)), kernels, frozenset({"mkl"}), True)
    assert (found.library, found.told_by, found.through) == (library, told_by, through)


def case(key: str, log: str = "", kernels: Sequence[str] = (), **more: Any) -> dict[str, Any]:
    return {
        "event": "case",
        "case": key,
        "outcome": "ran",
        "log": log,
        "kernels": list(kernels),
        "error": 0.001,
        **more,
    }


def test_on_an_amd_gpu_with_files_of_both_libraries() -> None:
    wheel = "/opt/venv/lib/python3.12/site-packages/torch/lib"
    events = [
        {"event": "torch", "version": "2.9.1+rocm6.4", "hip": "6.4", "device": "cuda", "gpu": "AMD Instinct MI300X"},
        case("mm/bfloat16", ROCBLAS_LINE, [TENSILE], files=[f"{wheel}/librocblas.so", f"{wheel}/libhipblaslt.so"]),
        case("linear-bias/bfloat16", LT_LINE, [LT]),
    ]
    mm, linear = from_events(events, predicted("rocblas", "mm/bfloat16", "linear-bias/bfloat16")).proofs
    assert (mm.library, mm.file, mm.device) == ("rocblas", f"{wheel}/librocblas.so", "AMD Instinct MI300X")
    assert (linear.library, linear.file) == ("hipblaslt", f"{wheel}/libhipblaslt.so")


def test_each_of_30_shapes_has_its_library_and_the_report_names_those_that_differ() -> None:
    """One column of weights falls back to rocBLAS, in matmul alone; the smallest row count of FP8 is refused."""
    keys = shaped(cpu=False)
    assert (len({key.rpartition("/")[2] for key in keys}), len(keys)) == (30, 180)
    events: list[dict[str, Any]] = [{"event": "torch", "version": "2.9.1", "hip": "7.0", "device": "cuda"}]
    for key in ("mm/bfloat16", "linear/bfloat16", *keys):
        slow = key.startswith("mm/") and key.endswith("x50257x768")
        events.append(case(key, ROCBLAS_LINE, [TENSILE]) if slow else case(key, LT_LINE, [LT]))
    proved = from_events(events, predicted("hipblaslt", "mm/bfloat16", "linear/bfloat16"), more=keys)
    assert {p.outcome for p in proved.proofs} == {"ran"}
    machine = mi300x_host().model_copy(update={"gemm_proofs": tuple(proved.proofs)})
    shown = text(machine, (), ())
    assert "By shape (MxNxK; 30 shapes)\n  mm bf16: hipBLASLt 25; rocBLAS 5: 1x50257x768, 16x50257x768," in shown
    assert "  linear bf16: hipBLASLt 30\n" in shown
    (finding,) = gemm_paths_diverge.check(machine, Knowledge(), None)
    assert finding.summary == "bfloat16: F.linear ran on hipblaslt, torch.mm on rocblas, 1x50257x768 (5 of the shapes)."


def test_debians_torch_with_openblas() -> None:
    """Recorded of python3-torch 1.13.1 and libopenblas0-pthread 0.3.21 of Debian 12."""
    recorded = RECORDED.parent / "torch-1.13.1-debian-openblas.jsonl"
    proved = from_events([json.loads(line) for line in recorded.read_text().splitlines()], everything("cpu"))
    ran = {p.key: p for p in proved.proofs}
    entries = ("mm", "addmm", "linear", "linear-bias", "bmm", "baddbmm")
    assert {ran[f"{e}/float32"].library for e in entries} == {"openblas"}
    assert {ran[f"{e}/bfloat16"].library for e in entries} == {"onednn"}
    assert {ran[f"{e}/float16"].outcome for e in entries} == {"not-run"}
    assert ran["mm/float32"].file == "/usr/lib/x86_64-linux-gnu/openblas-pthread/libopenblasp-r0.3.21.so"


def test_a_torch_for_cpu_with_openblas() -> None:
    """BLAS is whatever the alternatives name, and OpenBLAS has no log of its products."""
    onednn = "onednn_verbose,v1,primitive,exec,cpu,matmul,brg:avx2,undef,src:bf16,,,256x384:384x512,1.2"
    blas = "/usr/lib/x86_64-linux-gnu/openblas-pthread/libblas.so.3"
    events = [
        {"event": "torch", "version": "2.6.0+debian", "device": "cpu"},
        case("mm/float32", files=[blas]),
        case("mm/bfloat16", onednn),
        case("mm/float16"),
    ]
    single, brain, half = from_events(events, predicted("cpu", "mm/float32", "mm/bfloat16", "mm/float16")).proofs
    assert (single.library, single.file, single.told_by) == (
        "openblas", blas, "memory map; no log of another library saw it",
    )  # fmt: skip
    assert (brain.library, half.library) == ("onednn", "torch")
    events[1]["files"] = ["/usr/lib/libblas.so.3"]
    unknown = from_events(events, predicted("cpu", "mm/float32")).proofs[0]
    assert unknown.library is None, "which BLAS the alternatives name is not told by that name"


def test_values_that_are_wrong_and_fields_of_other_kinds() -> None:
    events = [
        {"event": "torch", "device": "cuda", "version": 3},
        case("mm/bfloat16", outcome="wrong", error=0.5, tolerance=0.015),
        {**case("bmm/bfloat16"), "error": "nonsense", "kernels": [7], "log": 9, "files": [{}]},
        {"event": "case", "case": "unknown/x"},
        {"event": ["case"]},
    ]
    wrong, odd = from_events(events, predicted("rocblas", "mm/bfloat16", "bmm/bfloat16")).proofs
    assert (wrong.outcome, wrong.detail) == ("wrong", "relative error 0.5; 0.015 is allowed")
    assert (odd.outcome, odd.relative_error, odd.library) == ("ran", None, None)


CHILD = """
import ctypes, json, os, sys, time
request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
def send(**e):
    out.write(json.dumps(e) + "\\n"); out.flush()
send(event="torch", version="2.9.1", device="cuda")
for case in request["cases"]:
    send(event="begin", case=case)
    if case.startswith("addmm"):
        ctypes.string_at(0)
    if case.startswith("bmm"):
        time.sleep(600)
    if case.startswith("linear-bias"):
        held = []
        while True:
            held.append(bytearray(b"x" * (8 << 20))); time.sleep(0.01)
    send(event="case", case=case, outcome="ran", log="", kernels=[], error=0.0)
send(event="end")
"""


def test_products_that_kill_their_process_cost_themselves_alone(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text(CHILD)
    keys = [f"{e}/bfloat16" for e in ("mm", "addmm", "linear", "linear-bias", "bmm", "baddbmm")]
    bounds = Bounds(120, 5, 200 << 20)
    seen = list(prove(sys.executable, predicted("rocblas", *keys), os.environ, bounds, script=script))
    proved = seen[-1]
    assert isinstance(proved, Proved)
    assert {p.entry: p.outcome for p in proved.proofs} == {
        "mm": "ran", "addmm": "crashed", "linear": "ran", "linear-bias": "out-of-memory", "bmm": "hung", "baddbmm": "ran",
    }  # fmt: skip
    said = {p.entry: p.detail for p in proved.proofs}
    assert said["addmm"] == "died of SIGSEGV"
    assert said["bmm"] == "nothing came for 5 s"
    assert [p.what.split(": ")[1] for p in seen if isinstance(p, Progress)][:2] == ["mm/bfloat16", "addmm/bfloat16"]


def test_a_torch_that_can_not_be_imported_is_told_once(tmp_path: Path) -> None:
    script = tmp_path / "child.py"
    script.write_text("raise ImportError('libamdhip64.so.6: cannot open shared object file')")
    *_, proved = prove(sys.executable, predicted("rocblas", "mm/float32"), os.environ, Bounds(20, 20), script=script)
    assert isinstance(proved, Proved)
    assert proved.trouble == "exited with 1: ImportError: libamdhip64.so.6: cannot open shared object file"
    assert proved.proofs[0].outcome == "not-run"
    assert len(proved.ended) == 1
