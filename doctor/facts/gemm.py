"""What matrix products really ran on, and what was measured: facts of `doctor blas --prove` and `doctor bench`."""

from __future__ import annotations

from typing import Literal

from doctor.facts.model import Model

Outcome = Literal["ran", "wrong", "refused", "crashed", "hung", "out-of-memory", "not-run"]
"""`wrong`: ran, with values that a product of these inputs can't have. `refused`: torch raised an error."""


class GemmProof(Model):
    """One small matrix product that was run in the user's Python. `key` is `ENTRY/DTYPE`."""

    key: str
    entry: str
    dtype: str
    outcome: Outcome
    detail: str | None = None
    """Why it did not run, or how far off its values were."""
    device: str | None = None
    library: str | None = None
    """`hipblaslt`, `rocblas`, `ck`, `cublas`, `cublaslt`, `mkl`, `onednn` …; None where nothing tells."""
    told_by: str | None = None
    """`log`, `kernel name`, `log and kernel name`, `memory map`."""
    through: str | None = None
    """The library that was called first, where it handed the product on: rocBLAS to hipBLASLt."""
    kernels: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()
    """Lines of the libraries' own logs."""
    warnings: tuple[str, ...] = ()
    file: str | None = None
    """The library's file that the process had mapped."""
    predicted: str | None = None
    relative_error: float | None = None


class Spread(Model):
    """The median of all repeats, and the interval that holds the true median in 95 of 100 runs."""

    p50: float
    low: float
    high: float
    repeats: int


class Clocks(Model):
    """Of the GPU while the repeats run; None where it could not be read. `throttle`: what holds the clocks down."""

    sm_mhz: int | None = None
    memory_mhz: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] | None = None
    source: str | None = None


class Measurement(Model):
    """One number, or why there is none. `key` is `WHAT/DTYPE/SHAPE@DEVICE`."""

    key: str
    what: str
    """`gemm matmul`, `gemm linear`, `copy hbm`, `attention backward`, `collective all_reduce` …"""
    dtype: str
    shape: str
    device: str
    """`cuda:0`, `cpu`, `cuda:0-7`."""
    unit: str
    value: Spread | None = None
    outcome: Outcome = "ran"
    detail: str | None = None
    method: str | None = None
    relative_error: float | None = None
    ratio: Spread | None = None
    """Against the case `against`, paired repeat by repeat: time of this over time of that."""
    against: str | None = None
    clocks: Clocks = Clocks()


class Tuned(Model):
    """One entry of a TunableOp results file, run again beside what torch takes by default."""

    key: str
    file: str
    solution: str
    ratio: Spread | None = None
    """Time with the entry over time without it."""
    detail: str | None = None
