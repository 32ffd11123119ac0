"""The comparison with triton's do_bench: its arithmetic, and its script with a torch for CPU and a stand-in for it.

No number of a GPU is claimed by these: triton's own do_bench needs one.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.do_bench import events, rows, table
from tests.live.faulty_torch import ENVIRONMENT, needs_torch


def sent(*pairs: tuple[float, float]) -> list[dict[str, object]]:
    return [
        {"event": "about", "torch": "2.9.1", "triton": "3.5.1", "device": "NVIDIA H100"},
        {
            "event": "case", "case": "gemm/bfloat16/8192x8192x8192", "way": "matmul", "peer": "triton do_bench",
            "pairs": [list(p) for p in pairs], "seconds": [[1.0, 2.0] for _ in pairs],
        },
    ]  # fmt: skip


def test_ratios_are_made_pair_by_pair_so_that_drift_cancels() -> None:
    drifting = [(1.01 * (1 + 0.1 * n), 1 + 0.1 * n) for n in range(21)]
    (row,) = rows(sent(*drifting))
    assert row.ratio.p50 == pytest.approx(1.01)
    assert [row.ratio.low, row.ratio.high] == pytest.approx([1.01, 1.01])
    assert row.holds
    assert (row.seconds, row.peer) == (0.5, "triton do_bench")


@pytest.mark.parametrize(("ratio", "holds"), [(1.019, True), (1.021, False), (0.981, True), (0.979, False)])
def test_the_median_has_to_lie_within_two_percent(ratio: float, holds: bool) -> None:
    (row,) = rows(sent(*[(ratio, 1.0)] * 9))
    assert row.holds is holds
    assert ("| yes |" in next(table(sent(*[(ratio, 1.0)] * 9)))) is holds


def test_what_is_no_pair_is_left_out() -> None:
    assert list(rows([{"event": "case", "pairs": [[1.0], None, 3]}, {"event": "begin"}, {}])) == []


STAND_IN = """
from triton.runtime import driver
def do_bench(fn, warmup=25, rep=100, grad_to_none=None, quantiles=None, return_mode="mean"):
    assert return_mode == "all"
    device, cache, pairs = driver.active.get_device_interface(), driver.active.get_empty_cache_for_benchmark(), []
    for _ in range(5):
        pairs.append([device.Event(enable_timing=True), device.Event(enable_timing=True)])
        driver.active.clear_cache(cache)
        pairs[-1][0].record()
        fn()
        pairs[-1][1].record()
    device.synchronize()
    return [start.elapsed_time(end) for start, end in pairs]
"""
RUNTIME = """
class driver:
    active = None
    def set_active(self, active):
        self.active = active
driver = driver()
"""


@needs_torch
def test_the_script_times_both_in_turn(tmp_path: Path) -> None:
    package = tmp_path / "triton"
    package.mkdir()
    (package / "__init__.py").write_text("__version__ = '0'\n")
    (package / "runtime.py").write_text(RUNTIME)
    (package / "testing.py").write_text(STAND_IN)
    # Isolated Python (as root) takes no PYTHONPATH: a wrapper of the interpreter names the folder.
    wrapper = tmp_path / "python"
    wrapper.write_text(f'#!/bin/sh\nfor last; do :; done\nexec {ENVIRONMENT}/bin/python -c "import sys, runpy\n'
                       f"sys.path.insert(0, '{tmp_path}')\nat = next(n for n, w in enumerate(sys.argv) if w.endswith("
                       "'.py'))\nsys.argv = sys.argv[at:]\nrunpy.run_path(sys.argv[0], run_name='__main__')\""
                       ' "$@"\n')  # fmt: skip
    wrapper.chmod(0o755)
    found, trouble = events(str(wrapper), "cpu", rounds=3, repeats=5, rep_ms=10, names=["copy"])
    assert trouble is None
    measured = [(row.case, row.way, row.peer, row.ratio.repeats) for row in rows(found)]
    assert measured == [
        ("copy/float64/64MiB", way, peer, 3)
        for way in ("copy", "scale", "triad")
        for peer in ("torch.utils.benchmark", "triton do_bench")
    ]
    assert len([e for e in found if e.get("event") == "round"]) == 18


@needs_torch
def test_without_triton_torchs_own_timer_is_left() -> None:
    found, trouble = events(f"{ENVIRONMENT}/bin/python", "cpu", rounds=2, repeats=10, rep_ms=10, names=["attention"])
    assert (trouble, found[0]["triton"]) == (None, None)
    assert {row.peer for row in rows(found)} == {"torch.utils.benchmark"}
