"""Results of torch's TunableOp (`tunableop_results0.csv`) -> the stack that they were made with.

>>> read("Validator,PT_VERSION,2.3.0\\nGemmTunableOp_float_NT,nt_1_2_3,4,1.2").get("torch.tunableop_validators")
{'PT_VERSION': '2.3.0'}
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = ({"trust": 550, "words": ("validator,",)},)

_VALIDATOR = re.compile(r"\s{0,8}Validator,(?P<name>[A-Z_]{3,40}),(?P<value>\S{1,120})")
_LIMIT = 20


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError without a validator."""
    found: dict[str, str] = {}
    first = ""
    for where, line in source_lines(text, source):
        if line.lstrip().startswith("Validator,") and (match := _VALIDATOR.match(line)) and len(found) < _LIMIT:
            first = first or where
            found.setdefault(match["name"], kept(match["value"], 120))
    if not found:
        raise ParserError("no validator of TunableOp in the text")
    sheet = FactSheet()
    sheet.put("torch.tunableop_validators", found, first)
    return sheet


@dataclass(frozen=True)
class Entry:
    """One tuned product. `library`: hipblaslt, rocblas, cublaslt, cublas or default; `ms`: as it was when tuned."""

    operator: str
    shape: str
    solution: str
    library: str
    ms: float | None
    sizes: tuple[int, int, int] | None = None
    """M, N, K as the BLAS library counts them (columns first)."""
    batch: int = 1
    line: int = 0


_ENTRY = re.compile(
    r"\s{0,8}(?P<operator>\w{0,40}TunableOp_[\w.]{1,80}),(?P<shape>[a-z]{2}_[\w.]{1,200}),"
    r"(?P<solution>[A-Za-z]\w{0,60}(?:-\d{1,12})?),(?P<ms>\d{1,9}(?:\.\d{1,12})?(?:e-?\d{1,3})?)"
)
_SIZES = re.compile(r"[a-z]{2}_(\d{1,9})_(\d{1,9})_(\d{1,9})(?:_B_(\d{1,7}))?")
_MOST = 100_000


def entries(text: str) -> tuple[Entry, ...]:
    """Lines that are none are passed over.

    >>> entries("GemmTunableOp_BFloat16_TN,tn_6144_8_2560_ld_2560_2560_6144,Gemm_Hipblaslt_6849,0.200725")[0].library
    'hipblaslt'
    >>> entries("GemmTunableOp_float_NN,nn_64_64_64_ld_64_64_64,Gemm_Rocblas_-621294427,0.01")[0].solution
    'Gemm_Rocblas_-621294427'
    """
    found: list[Entry] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _ENTRY.match(line[:600]) if "TunableOp_" in line[:200] else None
        if match and len(found) < _MOST:
            size = _SIZES.match(match["shape"])
            word = match["solution"].lower()
            library = next((name for name in ("hipblaslt", "rocblas", "cublaslt", "cublas") if name in word), "default")
            found.append(
                Entry(
                    match["operator"],
                    match["shape"],
                    match["solution"],
                    library,
                    float(match["ms"]),
                    (int(size[1]), int(size[2]), int(size[3])) if size else None,
                    int(size[4] or 1) if size else 1,
                    number,
                )
            )
    return tuple(found)
