"""Each error text of this area is found in a line as its program prints it."""

from __future__ import annotations

import pytest

from doctor.knowledge.symptoms import Symptoms

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
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    hits = SYMPTOMS.find([(7, f"12:00:01 {EXAMPLES[key]}")])
    assert (key, 7) in [(hit.key, hit.line) for hit in hits]
