"""Installations of ROCm and CUDA, and the tools for GPUs."""
