"""Which BLAS library a GEMM takes."""
