"""What BLAS libraries write: logs, names of kernels and of their files, results of tuning."""
