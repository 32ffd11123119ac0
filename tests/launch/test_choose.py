"""Whom `--gpus` means: numbers as the vendor's tool counts, nodes, MIG profiles, CDI names."""

from __future__ import annotations

import pytest

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch.choose import choose
from tests.each import each
from tests.launch.cases import AMD_CDI, NVIDIA_CDI
from tests.launch.machines import cpx, h100, mi300x, mig

CDI = {
    f"{spec.read.kind}={name}": frozenset(edits.nodes)
    for spec in (AMD_CDI, NVIDIA_CDI)
    for name, edits in spec.read.devices.items()
}


def names(machine: Snapshot, wanted: str) -> list[str]:
    return [chosen.name for chosen in choose(machine, wanted, cdi=CDI).gpus]


@each(
    "machine, wanted, chosen",
    [
        (mi300x(), "renderD129", ["1"]),
        (mi300x(), "RENDERD129", ["1"]),
        (mi300x(), "amd.com/gpu=2", ["2"]),
        (h100(), "nvidia.com/gpu=1,0", ["1", "0"]),
        (cpx(), "3", ["0:3"]),  # amd-smi counts each partition
        (cpx(), "0:3", ["0:3"]),
        (cpx(), "renderD128", ["0:0"]),
        (cpx(), "amd.com/gpu=1", ["0:1"]),  # its node is that of the second partition
        (cpx(), "0000:05:00.0", [f"0:{number}" for number in range(8)]),
        (mig(), "0:1", ["0:1"]),
        (mig(), "MIG-1a", ["0:1"]),
        (mig(), "0", ["0:0", "0:1"]),
        (mig(), "nvidia.com/gpu=1", ["1"]),
    ],
)
def test_what_a_word_means(machine: Snapshot, wanted: str, chosen: list[str]) -> None:
    assert names(machine, wanted) == chosen


def test_every_partition_one_by_one_is_all_of_them() -> None:
    assert choose(cpx(), ",".join(map(str, range(8)))).every
    assert not choose(cpx(), "0,1").every


def test_a_mig_profile_means_its_one_instance() -> None:
    one = mig()
    gpu = (one.gpus or ())[0]
    parts = tuple(
        p.model_copy(update={"name": f"{n + 1}g.{(n + 1) * 10}gb"}) for n, p in enumerate(gpu.partitions or ())
    )
    one = one.model_copy(update={"gpus": (gpu.model_copy(update={"partitions": parts}), *(one.gpus or ())[1:])})
    second = int(parts[1].key[-1])
    assert names(one, "2g.20gb") == names(one, "0:2g.20gb") == [f"0:{second}"]


def test_a_mig_profile_of_two_instances_is_no_choice() -> None:
    with pytest.raises(InputError, match="2 MIG instances have this profile: 0:0, 0:1"):
        names(mig(), "3g.40gb")


@each("wanted", ["8", "renderD140", "nvidia.com/gpu=7", "amd.com/gpu=all", "7g.80gb"])
def test_what_is_not_there(wanted: str) -> None:
    with pytest.raises(InputError, match="--gpus"):
        names(cpx(), wanted)
