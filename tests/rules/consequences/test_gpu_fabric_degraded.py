"""gpu-fabric-degraded: links and ports against those of their peers."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.rules.consequences import gpu_fabric_degraded as rule
from doctor.triage.read import read_text
from tests.paths import FIELDLAB, needs_shared
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.machines import Facts

A = machines.H100[0]


def nvlinks(up: dict[str, int]) -> Facts:
    """18 links on each H100, all up but where `up` says fewer."""
    return {
        f"gpus[{gpu}].links": [{"kind": "nvlink", "index": n, "up": n < up.get(gpu, 18)} for n in range(18)]
        for gpu in machines.H100
    }


def xgmi(missing: int) -> Facts:
    """Eight MI300X of one hive; the first lacks some peers."""
    facts: Facts = {}
    for place, gpu in enumerate(machines.MI300X):
        peers = [p for p in machines.MI300X if p != gpu][missing if place == 0 else 0 :]
        facts[f"gpus[{gpu}].links"] = [{"kind": "xgmi", "index": n, "up": True, "peer": p} for n, p in enumerate(peers)]
        facts[f"kfd.nodes[{place + 2}].pci_address"] = gpu
        facts[f"kfd.nodes[{place + 2}].hive_id"] = "00000000000000aa"
    return facts


def ports(*states: str, layer: str = "InfiniBand") -> Facts:
    facts: Facts = {}
    for place, state in enumerate(states):
        name = f"rdma[mlx5_{place}]"
        facts |= {f"{name}.state": state, f"{name}.link_layer": layer, f"{name}.near_gpu": machines.H100[place]}
    return facts


def test_a_gpu_with_links_down_on_a_switched_fabric() -> None:
    (finding,) = found(rule, machines.h100_host(nvlinks({A: 16})))
    assert finding.summary == f"GPU {A}: 16 of 18 NVLinks are up (down: 16, 17)."
    assert finding.severity.value == "warning"


def test_mig_turns_the_links_of_a_gpu_off() -> None:
    assert found(rule, machines.h100_host(nvlinks({A: 0}) | {f"gpus[{A}].mig_mode": "enabled"})) == []


def test_all_alike_is_no_fault_whether_up_or_down() -> None:
    assert found(rule, machines.h100_host(nvlinks({}))) == []
    assert found(rule, machines.h100_host(nvlinks(dict.fromkeys(machines.H100, 0)))) == []
    assert found(rule, machines.h100_host({f"gpus[{g}].links": None for g in machines.H100})) == []


def test_cards_that_are_bridged_in_pairs_are_no_fault() -> None:
    pairs = nvlinks(dict.fromkeys(machines.H100[4:], 0))
    cards = {f"gpus[{g}].name": "NVIDIA A100 80GB PCIe" for g in machines.H100}
    assert found(rule, machines.h100_host(pairs | cards | {"pci": []})) == []


def test_an_mi300x_that_reaches_fewer_of_its_hive() -> None:
    expected = f"GPU {machines.MI300X[0]}: reaches 6 GPUs of its hive over xGMI; others reach 7."
    assert told(rule, machines.mi300x_host(xgmi(1))) == [("warning", machines.MI300X[0], expected)]
    assert found(rule, machines.mi300x_host(xgmi(0))) == []


def test_one_port_beside_a_gpu_that_is_down() -> None:
    (finding,) = found(rule, machines.h100_host(ports("ACTIVE", "ACTIVE", "DOWN", "ACTIVE")))
    assert finding.subject.id == "mlx5_2"
    assert "3 others near GPUs are up" in finding.summary


@pytest.mark.parametrize("states", [("DOWN", "DOWN"), ("ACTIVE", "DOWN"), ("ACTIVE", "ACTIVE")])
def test_ports_that_nobody_uses_are_no_fault(states: tuple[str, ...]) -> None:
    assert found(rule, machines.h100_host(ports(*states))) == []


def test_a_roce_port_without_a_gid() -> None:
    roce = ports("ACTIVE", layer="Ethernet")
    assert len(found(rule, machines.h100_host(roce | {"rdma[mlx5_0].gids": 0}))) == 1
    assert found(rule, machines.h100_host(roce | {"rdma[mlx5_0].gids": 4})) == []
    assert found(rule, machines.h100_host(roce)) == []


@needs_shared
def test_an_sxm_gpu_whose_links_are_all_inactive() -> None:
    folder = FIELDLAB / "nvidia-a100-azure-nhc"
    bad = judge(read_text([(folder / "bad_nvlink_status.txt").read_bytes()]), Knowledge())
    assert [(f.rule, f.summary) for f in bad.findings] == [
        ("gpu-fabric-degraded", "GPU #6: none of its NVLinks is up.")
    ]
    good = read_text([(folder / "good_nvlink_status.txt").read_bytes()])
    assert [len(g.links or ()) for g in good.gpus or ()] == [12]
    assert judge(good, Knowledge()).findings == ()


def test_inactive_links_of_a_card_without_a_bridge_are_no_fault() -> None:
    text = b"GPU 0: NVIDIA RTX A6000 (UUID: GPU-1)\n\t Link 0: <inactive>\n\t Link 1: <inactive>\n"
    machine = read_text([text])
    assert [link.up for link in (machine.gpus or ())[0].links or ()] == [False, False]
    assert judge(machine, Knowledge()).findings == ()


NIC = "0000:ca:00.0"
PORT = {"rdma[mlx5_4].pci_address": NIC, "rdma[mlx5_4].state": "ACTIVE"}


@pytest.mark.parametrize(("count", "expected"), [(3, ["warning"]), (2, [])])
def test_a_port_that_loses_its_link_again_and_again(count: int, expected: list[str]) -> None:
    machine = machines.h100_host(PORT | machines.event("nic-link-down", NIC, count=count))
    assert [severity for severity, subject, _ in told(rule, machine) if subject == "mlx5_4-flaps"] == expected
    old = machines.event("nic-link-down", NIC, count=9) | {f"kernel_log.events[nic-link-down@{NIC}].age_s": 3 * 86400}
    assert [row[0] for row in told(rule, machines.h100_host(PORT | old))] == ["info"]
    assert found(rule, machines.h100_host(machines.event("nic-link-down", NIC, count=9))) == []  # whose is not known
    assert found(rule, machines.h100_host(PORT | {"kernel_log.events": None})) == []


def test_the_line_that_a_driver_prints() -> None:
    lines = "".join(f"[ {n}.0] mlx5_core 0000:ca:00.0 ib4: Link down\n" for n in range(3))
    (event,) = read_text([lines.encode()]).kernel_log.events or ()
    assert (event.code, event.device, event.count) == ("nic-link-down", NIC, 3)
