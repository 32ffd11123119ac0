"""What matrix products really ran on, and what was measured: facts of `doctor blas --prove` and `doctor bench`."""

from __future__ import annotations

from typing import Literal

from doctor.facts.model import Model

Outcome = Literal["ran", "wrong", "refused", "crashed", "hung", "out-of-memory", "not-run"]
"""`wrong`: ran, with values that a product of these inputs can't have. `refused`: torch raised an error."""


class GemmProof(Model):
    """One matrix product that was run in the user's Python. `key` is `ENTRY/DTYPE`, or `ENTRY/DTYPE/MxNxK`."""

    key: str
    entry: str
    dtype: str
    shape: str | None = None
    """MxNxK; None for the one small product of each kind."""
    outcome: Outcome
    detail: str | None = None
    """Why it did not run, or how far off its values were."""
    device: str | None = None
    library: str | None = None
    """`hipblaslt`, `rocblas`, `ck`, `aiter`, `cublas`, `cublaslt`, `mkl`, `onednn` …; None where nothing tells."""
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
    """The median of all repeats, and an interval of order statistics that holds the true median in `coverage` of all
    runs: at least 0.95 where there are enough repeats."""

    p50: float
    low: float
    high: float
    repeats: int
    coverage: float
    autocorrelation: float | None = None
    """Of the ranks of one repeat and the next; where it is more than chance it widens the interval. None: too few
    values, or all equal."""

    @property
    def firm(self) -> bool:
        """Whether the interval may decide: it holds the median in at least 95 of 100 runs."""
        return self.coverage >= 0.95


class Clocks(Model):
    """Of the GPU while the repeats run: of several readings the one with the lowest clock, and what held the clocks
    down in any of them. None where it could not be read."""

    sm_mhz: int | None = None
    sm_mhz_highest: int | None = None
    readings: int = 0
    throttled_readings: int = 0
    """Of `readings`, those in which something held the clocks down."""
    memory_mhz: int | None = None
    power_w: float | None = None
    temperature_c: float | None = None
    throttle: tuple[str, ...] | None = None
    source: str | None = None


class Measurement(Model):
    """One number, or why there is none. `key` is `WHAT/DTYPE/SHAPE@DEVICE`."""

    key: str
    what: str
    """`gemm matmul`, `gemm linear`, `triad memory`, `attention backward`, `collective all_reduce` …"""
    dtype: str
    shape: str
    device: str
    """`cuda:0`, `cpu`, `cuda:0-7`."""
    unit: str
    value: Spread | None = None
    """With a cold cache, where the method says so."""
    warm: Spread | None = None
    """The same with the cache as the call before left it; in the same unit."""
    peak: float | None = None
    """The theoretical peak of the hardware, in the same unit; None: not known."""
    peak_source: str | None = None
    size_bytes: int | None = None
    """Of a collective's message; `value` is its bus bandwidth, and the next two are of the same median."""
    time_us: float | None = None
    algorithm_gb_s: float | None = None
    outcome: Outcome = "ran"
    detail: str | None = None
    method: str | None = None
    variant: str | None = None
    """What ran, where torch has several: the backend of attention, the recipe of FP8."""
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
