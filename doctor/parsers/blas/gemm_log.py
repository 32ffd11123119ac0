"""What BLAS libraries log of themselves -> each product that they were asked for, and their warnings.

hipBLASLt with HIPBLASLT_LOG_MASK=32, rocBLAS with ROCBLAS_LAYER, cuBLASLt with CUBLASLT_LOG_LEVEL, cuBLAS with
CUBLAS_LOGINFO_DBG=1, oneMKL with MKL_VERBOSE=1, oneDNN with ONEDNN_VERBOSE=1; and torch's own words on standard error.

>>> log = read("MKL_VERBOSE SGEMM(N,N,512,256,384,0x7f,0x5,512,0x6,384,0x7,0x8,512) 8.5ms CNR:OFF Dyn:1 NThr:2")
>>> [(call.library, call.function) for call in log.calls]
[('mkl', 'SGEMM')]
"""

# ruff: noqa: E501
from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.parsers.lib.printable import clean

MOST = 400
_LINE = 1000


@dataclass(frozen=True)
class Call:
    """One line that says that a library ran a product, or was asked for one."""

    library: str
    function: str
    line: str
    kernel: str | None = None
    """The implementation that it names: oneDNN's `brg_matmul:avx512_core_bf16`, hipBLASLt's solution index."""


@dataclass(frozen=True)
class GemmLog:
    calls: tuple[Call, ...] = ()
    warnings: tuple[str, ...] = ()
    backends: tuple[str, ...] = ()
    """`hipblaslt`, `tensile`, `source`: what rocBLAS says that it handed products on to (layer 8, since ROCm 7.0)."""
    speaking: frozenset[str] = frozenset()
    """Libraries that logged anything, so that their silence elsewhere means something."""


_CALLS: tuple[tuple[str, re.Pattern[str]], ...] = (
    ("hipblaslt", re.compile(r"(?P<call>hipblaslt-bench)\s(?:--[a-z_]{1,20}\s{1,3}(?:[a-z_]{1,20}\s{1,3})?){0,4}-m\s\d")),
    ("hipblaslt", re.compile(r"(?:\[[^\]]{0,40}\])?\[HIPBLASLT\]\[\d{1,20}\]\[(?:Trace|Api)\]\[(?P<call>rocblaslt_matmul|rocblaslt_run(?:_user_args)?_cpp)\]")),
    ("rocblas", re.compile(r"(?P<call>rocblas_(?:[shdcz]?gemm|gemm)(?:_batched|_strided_batched)?(?:_ex3?|_ex)?(?:_64)?),[NTC],")),
    ("rocblas", re.compile(r"(?:\./)?(?P<call>rocblas-bench)\s(?:--batch_count\s\d{1,9}\s)?(?:-f|--function)\s{1,2}\w{0,30}gemm")),
    ("cublaslt", re.compile(r"(?:\[[^\]]{0,40}\])?\[cublasLt\]\[\d{1,10}\]\[(?:Trace|Api|TRACE)\]\[(?P<call>cublasLt\w{0,12}Matmul)\]")),
    ("cublas", re.compile(r"I! cuBLAS \(v[\d.]{1,12}\) function cublasStatus_t (?P<call>cublas\w{0,24}(?:[Gg]emm|GEMM)\w{0,30})\(")),
    ("mkl", re.compile(r"MKL_VERBOSE (?P<call>[A-Z0-9_]{0,24}GEMM\w{0,30})\(")),
    (
        "onednn",
        re.compile(
            r"(?:onednn|dnnl|mkldnn)_verbose,(?:v\d,)?(?:\d[\d.]{0,24},)?(?:primitive,)?exec,\w{1,12},"
            r"(?P<call>matmul|inner_product|gemm_api|gemm),(?P<kernel>[^,]{1,80}),"
        ),
    ),
)  # fmt: skip
_SPEAKS = (
    (
        "hipblaslt",
        re.compile(
            r"hipblaslt-bench|(?:\[[^\]]{0,40}\])?\[hipblaslt\]|rocblaslt (?:info|warning|error)", re.IGNORECASE
        ),
    ),
    ("rocblas", re.compile(r"rocblas_create_handle|rocblas_|(?:\./)?rocblas-bench")),
    ("cublaslt", re.compile(r"(?:\[[^\]]{0,40}\])?\[cublasLt\]")),
    ("cublas", re.compile(r"[Ii]! ?cuBLAS \(v")),
    ("mkl", re.compile(r"MKL_VERBOSE ")),
    ("onednn", re.compile(r"(?:onednn|dnnl|mkldnn)_verbose,")),
)
_WARNINGS = re.compile(
    r"hipBLASLt on an unsupported architecture|rocblaslt (?:warning|error)|Overriding blas backend"
    r"|Cannot read .{0,200}TensileLibrary|rocBLAS (?:warning|error)|hipBLASLt (?:warning|error)"
    r"|\[HIPBLASLT\]\[\d{1,20}\]\[Error\]|rocBLAS error|hipBlasLT failed, falling back to tensile"
    r"|HIPBLAS_STATUS_\w{3,30}|CUBLAS_STATUS_(?!SUCCESS)\w{3,30}|cublasLt\]\[\d{1,10}\]\[Error\]",
    re.IGNORECASE,
)
_BACKEND = re.compile(r"rocblas_internal,rocblas_gemm_(?P<name>hipblaslt|tensile|source)_backend\b")
_SOLUTION = re.compile(r"--solution_index\s{1,4}(\d{1,9})")


def read(text: str) -> GemmLog:
    """Never raises: lines of others are passed over."""
    calls: list[Call] = []
    warnings: dict[str, None] = {}
    backends: dict[str, None] = {}
    speaking: set[str] = set()
    for raw in text.splitlines():
        line = raw[:_LINE]
        if _WARNINGS.search(line):
            if len(warnings) < MOST:
                warnings.setdefault(clean(line, 300))
            continue
        speaking.update(name for name, pattern in _SPEAKS if pattern.match(line))
        call = _call(line)
        if call is not None:
            if len(calls) < MOST:
                calls.append(call)
        elif match := _BACKEND.match(line):
            backends.setdefault(match["name"])
    return GemmLog(tuple(calls), tuple(warnings), tuple(backends), frozenset(speaking))


def _call(line: str) -> Call | None:
    for library, pattern in _CALLS:
        match = pattern.match(line)
        if match:
            kernel = match.groupdict().get("kernel")
            solution = _SOLUTION.search(line) if library == "hipblaslt" else None
            kernel = f"solution {solution[1]}" if solution else kernel
            return Call(library, clean(match["call"], 60), clean(line, 300), clean(kernel, 80) if kernel else None)
    return None
