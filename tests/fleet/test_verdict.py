"""Who is odd, who is divided, and what the unknown does not prove."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from doctor.fleet.answers import Answer
from doctor.fleet.tally import Tally
from doctor.fleet.text import as_data, markdown, render
from doctor.fleet.verdict import Verdict, judged, one_line


def node(**facts: Any) -> dict[str, Any]:
    """A report of a node with two H100; `facts` replace parts of its snapshot, by `part__field`."""
    gpu = {"key": "0", "vendor": "nvidia", "name": "H100", "pci_id": "10de:2330", "vbios": "96.00"}
    gpus = [{**gpu, "pci_address": f"0000:{bus}:00.0"} for bus in ("1b", "3d")]
    machine: dict[str, Any] = {
        "gpus": gpus, "nvidia_driver": {"version": "575.57.08"}, "kernel": {"release": "6.8.0-60"},
        "host": {"cpu": "EPYC", "memory_bytes": 1 << 40}, "environment": {"NCCL_DEBUG": "WARN"},
        "packages": [{"name": "torch", "version": "2.10.0"}],
    }  # fmt: skip
    for name, value in facts.items():
        part, _, field = name.partition("__")
        if field:
            machine[part][field] = value
        else:
            machine[part] = value
    return {"schema": "doctor.report/1", "doctor": "1", "status": "ok", "findings": [], "snapshot": machine}


def fleet(*groups: tuple[int, dict[str, Any]]) -> Verdict:
    tally, number = Tally(), 0
    for size, report in groups:
        for _ in range(size):
            number += 1
            tally.add(Answer(f"n{number:02}", copy.deepcopy(report)))
    return judged(tally)


def odd(verdict: Verdict) -> list[tuple[str, str, str, str]]:
    return [(d["nodes"], d["fact"], d["value"], d["common"]) for kind in as_data(verdict)["kinds"] for d in kind["odd"]]


def test_equal_nodes_are_good() -> None:
    verdict = fleet((9, node()))
    assert one_line(verdict) == "Fleet: good. All 9 nodes answered, without an error and equal to their kind."
    assert len(verdict.kinds[0].groups) == 1


def test_an_odd_driver_is_named_with_what_the_others_have() -> None:
    verdict = fleet((9, node()), (1, node(nvidia_driver__version="570.10")))
    assert odd(verdict) == [("n10", "driver: nvidia_driver.version", "570.10", "575.57.08")]
    assert one_line(verdict) == "Fleet: NOT good. 9 of 10 nodes are good; 1 unlike their kind."


def test_one_odd_gpu_of_a_node_is_told_by_its_address() -> None:
    other = node()
    other["snapshot"]["gpus"][1]["vbios"] = "95.00"
    assert odd(fleet((5, node()), (1, other))) == [("n06", "firmware: vbios", "96.00; 0000:3d:00.0: 95.00", "96.00")]


def test_what_a_node_does_not_tell_makes_it_no_odd_one() -> None:
    silent = node(nvidia_driver__version=None, packages=None, environment=None, kernel__release=None)
    del silent["snapshot"]["gpus"][0]["vbios"]
    verdict = fleet((9, node()), (1, silent))
    assert odd(verdict) == []
    assert set(verdict.kinds[0].untold) >= {"driver: nvidia_driver.version", "packages: torch", "firmware: vbios"}


def test_a_package_or_flag_that_is_not_there_is_a_difference_where_they_were_read() -> None:
    verdict = fleet((9, node()), (1, node(packages=[])), (1, node(environment={"NCCL_DEBUG": "WARN", "A": "1"})))
    assert odd(verdict) == [
        ("n10", "packages: torch", "not there", "2.10.0"),
        ("n11", "flags: A", "1", "not there"),
    ]


def test_half_and_half_is_a_division_and_nobody_is_odd() -> None:
    verdict = fleet((5, node()), (5, node(kernel__release="6.8.0-70")))
    assert odd(verdict) == []
    (division,) = verdict.kinds[0].divisions
    assert division.fact == "kernel: kernel.release"
    assert one_line(verdict) == "Fleet: divided. 10 of 10 nodes are good; 1 kind is divided."


def test_what_differs_everywhere_is_no_configuration() -> None:
    reports = [(1, node(environment={"NCCL_DEBUG": "WARN", "JOB": str(n)})) for n in range(20)]
    verdict = fleet(*reports)
    assert odd(verdict) == []
    assert verdict.kinds[0].varies == ["flags: JOB"]
    assert len(verdict.kinds[0].groups) == 1


@pytest.mark.parametrize(("bytes_", "is_odd"), [((1 << 40) + (9 << 30), False), ((1 << 40) - (96 << 30), True)])
def test_amounts_may_differ_a_little(bytes_: int, is_odd: bool) -> None:
    assert bool(odd(fleet((9, node()), (1, node(host__memory_bytes=bytes_))))) is is_odd


def test_other_hardware_in_number_is_a_kind_of_its_own_and_a_single_one_is_odd() -> None:
    amd = node()
    for gpu in amd["snapshot"]["gpus"]:
        gpu.update(vendor="amd", name="MI300X", pci_id="1002:74a1")
    assert [len(k.nodes) for k in fleet((9, node()), (4, amd)).kinds] == [9, 4]
    single = fleet((9, node()), (1, amd))
    assert [len(k.nodes) for k in single.kinds] == [10]
    assert ("n10", "gpu: GPU pci id", "1002:74a1", "10de:2330") in odd(single)


def test_nodes_that_lost_all_gpus_stay_with_their_kind_and_login_nodes_do_not_join_it() -> None:
    lost, login = node(gpus=[]), node(gpus=[], host={"cpu": "Xeon", "memory_bytes": 1 << 36})
    verdict = fleet((9, node()), (3, lost), (2, login))
    assert [len(k.nodes) for k in verdict.kinds] == [12, 2]
    assert odd(verdict) == [("n[10-12]", "gpu: GPUs", "0", "2")]


def test_the_silent_the_unexpected_and_the_twice_told_are_named() -> None:
    tally = Tally()
    tally.add(Answer("n1", node()))
    tally.add(Answer("n1", node(nvidia_driver__version="1")))
    tally.add(Answer("n2", None, "its report is cut off"))
    tally.missing(["n1", "n2", "n3", "n4"], {"n4": "Slurm: node failure"})
    verdict = judged(tally)
    assert tally.silent == {
        "n2": "its report is cut off", "n3": "nothing came from it", "n4": "Slurm: node failure"
    }  # fmt: skip
    assert as_data(verdict)["twice"] == "n1"
    assert verdict.bad() == ["n2", "n3", "n4"]


def test_errors_make_a_node_bad_and_what_they_explain_is_not_counted() -> None:
    bad = node()
    bad["findings"] = [
        {"rule": "gpu-lost", "severity": "error", "summary": "A GPU fell off the bus."},
        {"rule": "torch-sees-no-gpu", "severity": "error", "summary": "x", "explained_by": "1"},
    ]
    verdict = fleet((3, node()), (2, bad))
    assert [(f["rule"], f["count"], f["nodes"]) for f in as_data(verdict)["findings"]] == [("gpu-lost", 2, "n[04-05]")]


def test_hostile_values_reach_no_output_as_they_are() -> None:
    evil = "\x1b[31m</td><script>alert(1)</script>\n`x` hf_" + "a" * 30
    report = node(kernel__release=evil)
    report["findings"] = [{"rule": evil, "severity": "warning", "summary": evil}]
    tally = Tally()
    for number in range(4):
        tally.add(Answer(f"n{number}", node()))
    tally.add(Answer(evil, report))
    from doctor.fleet.page import render as page

    verdict = judged(tally)
    for text in (render(verdict), markdown(verdict), page(verdict)):
        assert "\x1b" not in text
        assert "hf_aaaa" not in text
    assert "<script" not in page(verdict)
    assert "scontrol update NodeName=" not in render(verdict).replace("NodeName= ", "NodeName=n")


def test_a_node_costs_less_than_a_kilobyte() -> None:
    import tracemalloc

    report = node()
    tracemalloc.start()
    tally = Tally()
    tally.add(Answer("n", report))
    before = tracemalloc.get_traced_memory()[0]
    for number in range(5000):
        tally.add(Answer(f"n{number:05}", report))
    grown = tracemalloc.get_traced_memory()[0] - before
    tracemalloc.stop()
    assert grown / 5000 < 1024
