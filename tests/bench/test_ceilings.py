"""Caches and theoretical peaks of known GPUs, and what is measured against them."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.bench.ceilings import Ceiling, ceiling, flush, link_peak, peak
from doctor.bench.results import Device, measured
from doctor.facts.gemm import Clocks
from doctor.facts.gpu import Partition, PciLink, XgmiLink
from doctor.knowledge import Knowledge
from doctor.report.bench import text
from tests.each import each
from tests.rules.machines import h100_host, mi300x_host

KB = Knowledge()


def test_an_mi300x_has_its_infinity_cache_and_its_bandwidth() -> None:
    machine = mi300x_host()
    assert machine.gpus is not None
    found = ceiling(machine, KB, machine.gpus[0].pci_address)
    assert found.cache_bytes == (256 + 32) << 20
    assert (found.memory_gb_s, found.source) == (5300, "knowledge:amd_gpus/mi300x")
    assert peak(found, "gemm linear", "bfloat16") == pytest.approx(1307.4)
    assert peak(found, "triad memory", "float64") == 5300


def test_an_h100_is_known_by_its_pci_id() -> None:
    machine = h100_host()
    assert machine.gpus is not None
    found = ceiling(machine, KB, machine.gpus[0].pci_address)
    assert found.memory_gb_s == 3350
    assert found.cache_bytes is None, "torch reports the L2 cache"


def test_of_a_partition_the_caches_are_known_and_of_another_address_nothing() -> None:
    machine = mi300x_host()
    assert machine.gpus is not None
    parts = (Partition(key="0"), Partition(key="1"))
    split = machine.model_copy(update={"gpus": (machine.gpus[0].model_copy(update={"partitions": parts}),)})
    for one, address in ((machine, "0000:ff:00.0"), (machine, None)):
        assert ceiling(one, KB, address) == Ceiling()
    of_part = ceiling(split, KB, machine.gpus[0].pci_address)
    assert of_part == Ceiling(288 << 20), "the Infinity Cache serves all partitions, and has to be flushed for each"


def test_copies_between_gpus_have_a_peak_where_links_are_up() -> None:
    for made, name, gb_s in ((mi300x_host(), "xgmi", 64), (h100_host(), "nvlink", 450)):
        assert made.gpus is not None
        for up, expected in ((True, gb_s), (False, None)):
            links = (XgmiLink(kind=name, index=0, up=up),)
            machine = made.model_copy(update={"gpus": (made.gpus[0].model_copy(update={"links": links}),)})
            found = ceiling(machine, KB, made.gpus[0].pci_address)
            assert peak(found, "p2p to cuda:1", "bytes") == expected


@each("speed, width, expected", [(32, 16, 63.0), (16, 16, 31.5), (5, 8, 4.0), (64, 16, None), (None, 16, None)])
def test_a_link_of_pcie(speed: float | None, width: int, expected: float | None) -> None:
    assert link_peak(PciLink(max_speed_gt_s=speed, max_width=width)) == expected


@each("cache, gpu, mib", [(50 << 20, True, 256), (4 << 20, True, 256), (288 << 20, True, 576), (None, True, 512),
                          (None, False, 64), (1 << 20, False, 16), (1 << 30, False, 64)])  # fmt: skip
def test_what_is_written_to_clear_the_cache(cache: int | None, gpu: bool, mib: int) -> None:
    size, name = flush(cache, gpu)
    assert size == mib << 20
    assert name.startswith("partly cold") == (cache == 1 << 30)


def test_copies_between_gpus_are_shown_as_a_table_of_pairs() -> None:
    case = {"what": "p2p", "dtype": "bytes", "shape": "256MiB"}
    rows = []
    for mine, others in (
        ("cuda:0", {"to cuda:1": [1.0] * 20, "to cuda:10": [2.0] * 20}),
        ("cuda:1", {"to cuda:0": [4.0] * 20}),
    ):
        sent = {"times": others, "variants": {"to cuda:1": "peer access"}}
        rows += measured(case, sent, Device(mine, "MI300X", None, None, Ceiling(None, None, None, 536.9)), Clocks())
    shown = text({}, rows, {}, [])
    assert "50% of the theoretical peak, 536.9 GB/s\n    peer access" in shown
    assert shown.endswith("""(row: from, column: to)
              cuda:0   cuda:1  cuda:10
     cuda:0        -    268.4    134.2
     cuda:1    67.11        -        -
    cuda:10        -        -        -
""")


def test_a_measurement_has_its_warm_value_and_its_part_of_the_peak() -> None:
    device = Device(
        "cuda:0", "MI300X", None, 4 << 20, Ceiling(288 << 20, 5300, None, None, {"bf16": 1307.4}, "knowledge:x")
    )
    case = {"what": "copy", "dtype": "float64", "shape": "1024MiB"}
    times: dict[str, Any] = {"triad": [0.75] * 20, "copy": [0.5] * 20}
    triad, copy = measured(case, {"times": times}, device, Clocks())
    assert triad.value is not None
    assert copy.value is not None
    assert triad.value.p50 == pytest.approx(3 * (1 << 30) / 1e9 / 0.75e-3)
    assert copy.value.p50 == pytest.approx(2 * (1 << 30) / 1e9 / 0.5e-3)
    shown = text({}, [triad], {}, [])
    assert "81% of the theoretical peak, 5300 GB/s" in shown
    gemm = {"what": "gemm", "dtype": "bfloat16", "shape": "8192x8192x8192"}
    (cold,) = measured(gemm, {"times": {"matmul": [2.0] * 20, "matmul warm": [1.0] * 20}}, device, Clocks())
    assert cold.value is not None
    assert cold.warm is not None
    assert cold.warm.p50 == pytest.approx(2 * cold.value.p50)
    assert "cold cache (576 MiB written before each repeat, caches hold 288 MiB)" in str(cold.method)
    assert "warm cache: 1100 TFLOP/s" in text({}, [cold], {}, [])
