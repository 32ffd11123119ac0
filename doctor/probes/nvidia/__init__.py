"""NVIDIA's GPUs, by the kernel and by NVML."""
