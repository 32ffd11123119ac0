"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms
from tests.knowledge.texts import names, names_not

SYMPTOMS = Symptoms()
EXAMPLES = {
    "hipblaslt-unsupported": "UserWarning: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas",  # noqa: E501
    "hipblaslt-refused": "RuntimeError: Attempting to use hipBLASLt on a unsupported architecture!",
    "hipblaslt-invalid-value": "RuntimeError: CUDA error: HIPBLAS_STATUS_INVALID_VALUE when calling `hipblasLtMatmulAlgoGetHeuristic`",  # noqa: E501
    "rocblas-tensile-missing": "rocBLAS error: Cannot read /opt/rocm/lib/rocblas/library/TensileLibrary.dat: Illegal seek for GPU arch : gfx1031",  # noqa: E501
    "hipblaslt-tensile-missing": "rocblaslt error: Could not load /opt/rocm/lib/hipblaslt/library/TensileLibrary_lazy_gfx1100.dat",  # noqa: E501
    "hipblaslt-not-selected": "GEMMs run 2x slower because torch takes rocBLAS instead of hipBLASLt",
    "tunableop-validator": "results validator check failed: TunableOp file tunableop_results0.csv is of another ROCm",
    "tunableop-validator-check": "results validator check failed",
    "tunableop-no-results": "could not open tunableop_results0.csv for reading tuning results",
    "hipblaslt-heuristic-finds-none": "[Api][rocblaslt_matmul_algo_get_heuristic] returnAlgoCount=0",
    "hipblaslt-solutions-of-other-size": "[Info][isSolutionSupported] The solution is a cu-fallback for current HW. Use XCC=1",  # noqa: E501
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]


AGENT = "$ rocminfo\n*******\nAgent 2\n*******\n  Name: {}\n  Vendor Name: AMD\n  Device Type: GPU\n"
SAYS = "RuntimeError: mat1 and mat2 differ, the matmul fails\npreferred_blas_library() = _BlasBackend.Cublas\n"
NO_HEURISTIC, OTHER_SIZE = EXAMPLES["hipblaslt-heuristic-finds-none"], EXAMPLES["hipblaslt-solutions-of-other-size"]
OUT = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2.00 GiB.\n"
TUNES = AGENT.format("gfx942") + "$ env\nPYTORCH_TUNABLEOP_ENABLED=1\n"

test_what_blas_libraries_say = names(
    [
        (SAYS + "ROCm version: 6.2.2\n" + AGENT.format("gfx942"), "hipblaslt-not-selected"),
        (AGENT.format("gfx942") + f"{NO_HEURISTIC}\n{OTHER_SIZE}\n", "known-bad-library-version"),
        (TUNES + OUT, "tunableop-misconfigured"),
    ]
)
test_what_is_near_to_it = names_not(
    [
        (SAYS + "ROCm version: 6.2.2\n" + AGENT.format("gfx908"), "hipblaslt-not-selected"),
        (SAYS + AGENT.format("gfx1030"), "hipblaslt-not-selected"),
        (AGENT.format("gfx942") + f"{OTHER_SIZE}\nreturnAlgoCount=1\n", "known-bad-library-version"),
        (TUNES + "PYTORCH_TUNABLEOP_TUNING=0\n" + OUT, "tunableop-misconfigured"),
        (TUNES + "the run ends well, in nine minutes\n", "tunableop-misconfigured"),
    ]
)
