"""A golden node becomes a profile that it meets itself, and another node is held against it; two profiles compared."""

from __future__ import annotations

import datetime
from pathlib import Path

import pytest

from doctor.errors import DataFileError, InputError
from doctor.facts import Snapshot
from doctor.profiles import Profile, folder, load
from doctor.profiles.capture import capture
from doctor.profiles.difference import differences
from tests.profiles.boards import BOARDS, machine
from tests.rules import machines

TODAY = datetime.date(2026, 11, 21)


def captured(golden: Snapshot, tmp_path: Path) -> Profile:
    path = tmp_path / "golden.toml"
    path.write_text(capture(golden, "golden", TODAY).toml)
    return load(str(path))


@pytest.mark.parametrize(
    "golden", [machines.h100_host, machines.mi300x_host, machines.rx7900_desktop, machines.rtx4090_desktop]
)
def test_a_node_meets_its_own_profile(golden: object, tmp_path: Path) -> None:
    assert callable(golden)
    node = golden()
    verdict = captured(node, tmp_path).verdict(node, "named", "")
    assert (verdict.deviates, verdict.unknown) == ((), ())
    assert len(verdict.holds) > 10
    assert {j.status for j in verdict.judged} == {"captured"}


def test_what_another_node_has_otherwise(tmp_path: Path) -> None:
    golden = captured(machines.h100_host(), tmp_path)
    other = machines.h100_host({"nvidia_driver.version": "570.124.06", "kernel.release": None})
    verdict = golden.verdict(other, "named", "")
    assert verdict.deviates == ("nvidia_driver.version",)
    assert verdict.unknown == ("kernel.release",)


def test_what_differs_between_its_gpus_and_what_is_not_known_is_left_out(tmp_path: Path) -> None:
    one = f"gpus[{machines.H100[0]}]"
    node = machines.h100_host({f"{one}.memory_bytes": 1 << 30, "host.iommu": None})
    found = capture(node, "golden", TODAY)
    assert "gpus[*].memory_bytes" not in found.toml
    assert "host.iommu" in found.unknown
    assert "\n# host.iommu\n" in found.toml
    assert (captured(node, tmp_path).hardware.count, captured(node, tmp_path).hardware.pci_ids) == (8, ("10de:2330",))


def test_names_that_a_machine_gives_are_inert(tmp_path: Path) -> None:
    board = BOARDS["t4"]._replace(name='T4"\n[evil]\nx = "')
    node = machine(board, 1, {"kernel.release": '6.8"\n[evil]'})
    assert "\n[evil]" not in capture(node, "golden", TODAY).toml
    with pytest.raises(DataFileError, match="about"):  # a name with a line break is refused where it is read back
        captured(node, tmp_path)


def test_a_machine_without_gpus_or_with_two_vendors() -> None:
    with pytest.raises(InputError, match="found no AMD or NVIDIA GPU"):
        capture(machines.no_gpu_host(), "golden", TODAY)
    other = {f"gpus[0000:81:00.0].{k}": v for k, v in BOARDS["t4"]._asdict().items()}
    with pytest.raises(InputError, match="two vendors"):
        capture(machine(BOARDS["mi210"], 1, other), "golden", TODAY)
    with pytest.raises(InputError, match="nothing but its GPUs is known"):
        capture(machine(BOARDS["mi210"]), "golden", TODAY)


def test_two_profiles() -> None:
    found = differences(load("mi300x+rocm7.2", folder()), load("mi300x+rocm7.2+train", folder()))
    assert {d.part for d in found} == {"flag", "need"}
    assert all(d.before is None for d in found)
    found = differences(load("h100+cuda13.0", folder()), load("h200+cuda13.0", folder()))
    assert {(d.part, d.name) for d in found} == {
        ("hardware", "names"),
        ("hardware", "pci_ids"),
        ("hardware", "except_names"),
    }
    assert differences(load("t4+cuda13.0", folder()), load("t4+cuda13.0", folder())) == ()
