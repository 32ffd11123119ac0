"""Who is odd, who is divided, and what the unknown does not prove."""

from __future__ import annotations

import copy
from pathlib import Path
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
    layers = dict.fromkeys(("gpu", "driver", "devices"), "ok")
    head = {"schema": "doctor.report/2", "doctor": "1", "status": "ok", "layers": layers}
    return {**head, "findings": [], "snapshot": machine}


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
    assert one_line(verdict) == "Fleet: good. All 9 nodes answered, without an error and like most of their kind."
    assert len(verdict.kinds[0].groups) == 1


def test_an_odd_driver_is_named_with_what_the_others_have() -> None:
    verdict = fleet((9, node()), (1, node(nvidia_driver__version="570.10")))
    assert odd(verdict) == [("n10", "driver: nvidia_driver.version", "570.10", "575.57.08")]
    assert one_line(verdict) == "Fleet: NOT good. No problem found on 9 of 10 nodes; 1 unlike their kind."


def test_an_odd_node_is_offered_a_comparison_with_a_usual_one(tmp_path: Path) -> None:
    verdict = fleet((9, node()), (1, node(nvidia_driver__version="570.10")))
    assert "doctor why" not in render(verdict)
    verdict.folder = tmp_path
    (tmp_path / "n01.json").write_text("{}")
    assert "doctor why" not in render(verdict)
    (tmp_path / "n10.json").write_text("{}")
    assert f"    doctor why {tmp_path}/n01.json {tmp_path}/n10.json\n" in render(verdict)


def test_one_odd_gpu_of_a_node_is_told_by_its_address() -> None:
    other = node()
    other["snapshot"]["gpus"][1]["vbios"] = "95.00"
    assert odd(fleet((5, node()), (1, other))) == [("n06", "firmware: vbios", "96.00; 0000:3d:00.0: 95.00", "96.00")]


def test_what_a_node_does_not_tell_makes_it_no_odd_one() -> None:
    silent = node(nvidia_driver__version=None, packages=None, environment=None, kernel__release=None)
    for gpu in silent["snapshot"]["gpus"]:
        del gpu["vbios"]
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
    assert one_line(verdict) == "Fleet: divided. No problem found on 10 of 10 nodes; 1 kind is divided."


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


def found(rule: str, **more: str) -> dict[str, Any]:
    report = node()
    report["findings"] = [{"rule": rule, "severity": "error", "summary": "It is so.", **more}]
    return report


def test_a_node_is_drained_for_its_own_error_and_not_for_somebody_s_environment() -> None:
    verdict = fleet(
        (8, node()),
        (1, found("nvidia-xid-fatal", scope="hardware", action="drain")),
        (1, found("torch-missing-gpu-arch", scope="environment", action="inform")),
    )
    assert verdict.to_drain() == {"nvidia-xid-fatal: It is so.": ["n09"]}
    assert "scontrol update NodeName=n09 State=DRAIN Reason='doctor: nvidia-xid-fatal: It is so.'" in render(verdict)


def test_a_node_that_lost_a_gpu_is_drained_and_one_with_another_package_is_not() -> None:
    one_gpu = node()
    del one_gpu["snapshot"]["gpus"][1]
    verdict = fleet((9, node()), (1, one_gpu), (1, node(packages=[{"name": "torch", "version": "2.9.0"}])))
    assert verdict.to_drain() == {"GPUs = 1, not 2": ["n10"]}
    assert {row[0] for row in odd(verdict)} == {"n10", "n11"}


def test_a_node_without_an_answer_is_named_and_not_drained() -> None:
    tally = Tally().add_all(Answer(f"n{number}", node()) for number in range(3))
    tally.missing(["n7"])
    verdict = judged(tally)
    assert verdict.to_drain() == {}
    assert "1 gave no answer" in one_line(verdict)


def test_what_was_not_checked_is_not_good() -> None:
    unseen = {**node(), "layers": {"gpu": "ok", "driver": "unknown", "devices": "ok"}}
    verdict = fleet((4, unseen))
    assert (
        one_line(verdict) == "Fleet: not fully checked. No problem found on 4 of 4 nodes; driver not checked on 4 of 4."
    )
    assert not verdict.good()
    assert fleet((4, {**unseen, "layers": {"gpu": "ok", "driver": "ok", "devices": "ok"}})).good()


def test_a_fleet_without_a_gpu_is_not_good() -> None:
    assert "no node has a GPU" in one_line(fleet((3, node(gpus=[]))))


def test_of_two_reports_the_newest_counts() -> None:
    old = {**node(nvidia_driver__version="570.10"), "created": "2026-11-20T08:00:00Z"}
    new = {**node(), "created": "2026-11-23T08:00:00Z"}
    for order in ((old, new), (new, old)):
        tally = Tally().add_all(Answer(f"n{number}", new) for number in range(4))
        for report in order:
            tally.add(Answer("n9", report))
        assert odd(judged(tally)) == []


def test_an_old_report_is_named() -> None:
    tally = Tally()
    for name, day in (("n1", 20), ("n2", 23), ("n3", 23)):
        tally.add(Answer(name, {**node(), "created": f"2026-11-{day}T08:00:00Z"}))
    assert "  n1: 3 days older than the newest" in render(judged(tally))


def test_a_golden_report_says_what_all_of_a_kind_should_have() -> None:
    tally = Tally().add_all(Answer(f"n{number}", node(nvidia_driver__version="570.10")) for number in range(4))
    assert odd(judged(tally)) == []
    verdict = judged(tally, [node()])
    assert odd(verdict) == [("n[0-3]", "driver: nvidia_driver.version", "570.10", "575.57.08")]
    assert "expected 575.57.08" in render(verdict)


def changed(path: str, value: Any) -> dict[str, Any]:
    """A report whose second GPU has that value."""
    report = node()
    for number, gpu in enumerate(report["snapshot"]["gpus"]):
        gpu.update(numa_node=number, slot=str(number + 1), driver="nvidia")
        gpu["errors"] = {"remap_failed": False, "remapped_uncorrectable": 0}
    held = report["snapshot"]["gpus"][1]
    *parts, last = path.split(".")
    for part in parts:
        held = held[part]
    held[last] = value
    return report


@pytest.mark.parametrize(
    ("path", "usual", "value", "told"),
    [
        ("numa_node", 1, 0, ("gpu: GPU NUMA nodes", "0 0", "0 1")),
        ("slot", "2", "7", ("gpu: GPU slots", "1 7", "1 2")),
        ("pci_address", "3d:00.0", "9a:00.0", ("gpu: GPU addresses", "0000:1b:00.0 9a:00.0", "0000:1b:00.0 3d:00.0")),
        ("driver", "nvidia", "none", ("gpu: GPU driver", "nvidia; 0000:3d:00.0: none", "nvidia")),
        ("vbios", "96.00", None, ("firmware: vbios", "96.00; 0000:3d:00.0: not known", "96.00")),
        ("errors.remap_failed", False, True, ("gpu: GPU errors: remap failed", "no; 0000:3d:00.0: yes", "no")),
        ("errors.remapped_uncorrectable", 0, 2, ("gpu: GPU errors: remapped uncorrectable", "0; 0000:3d:00.0: 2", "0")),
    ],
)
def test_each_gpu_is_compared(path: str, usual: Any, value: Any, told: tuple[str, str, str]) -> None:
    assert odd(fleet((5, changed(path, usual)), (1, changed(path, value)))) == [("n06", *told)]


def test_corrected_errors_come_with_age_and_make_nobody_odd() -> None:
    aged = node()
    aged["snapshot"]["gpus"][0]["errors"] = {"corrected": 12, "remapped_correctable": 3}
    assert odd(fleet((5, node()), (1, aged))) == []


def test_another_mode_of_a_device_node_is_odd() -> None:
    def nodes(mode: int) -> dict[str, Any]:
        rows = [{"key": f"/dev/nvidia{n}", "kind": "nvidia", "mode": 0o666, "uid": 0, "gid": 0} for n in range(2)]
        rows[1]["mode"] = mode
        return node(nodes=rows)

    (row,) = odd(fleet((5, nodes(0o666)), (1, nodes(0o600))))
    assert row[1:] == ("devices: nvidia nodes", "0666 root:root; /dev/nvidia1: 0600 root:root", "0666 root:root")


@pytest.mark.parametrize(("p50", "is_odd"), [(570.0, False), (610.0, False), (480.0, True)])
def test_a_measurement_may_differ_by_some_percent(p50: float, is_odd: bool) -> None:
    def measured(value: float) -> dict[str, Any]:
        return node(bench=[{"key": "gemm/bf16@cuda:0", "unit": "TFLOP/s", "outcome": "ran", "value": {"p50": value}}])

    verdict = fleet(*((1, measured(600.0 + n)) for n in range(6)), (1, measured(p50)))
    assert bool(odd(verdict)) is is_odd
    assert verdict.kinds[0].varies == []


def test_more_gpus_or_another_setting_drain_nobody() -> None:
    three = node()
    three["snapshot"]["gpus"].append({**three["snapshot"]["gpus"][0], "pci_address": "0000:4e:00.0"})
    verdict = fleet((9, changed("persistence_mode", True)), (1, three), (1, changed("persistence_mode", False)))
    assert len(verdict.odd()) == 2
    assert verdict.to_drain() == {}


def test_a_golden_report_has_a_package_that_no_node_has() -> None:
    tally = Tally().add_all(Answer(f"n{number}", node(packages=[])) for number in range(3))
    (row,) = odd(judged(tally, [node()]))
    assert row[1:] == ("packages: torch", "not there", "2.10.0")


def test_a_golden_report_of_another_kind_is_named() -> None:
    amd = node()
    for gpu in amd["snapshot"]["gpus"]:
        gpu.update(vendor="amd", name="MI300X", pci_id="1002:74a1")
    verdict = judged(Tally().add_all(Answer(f"n{number}", node()) for number in range(3)), [amd])
    assert "No node is of the kind of this golden report: MI300X" in render(verdict)
    assert "compared with the majority" in render(verdict)


def test_an_odd_node_has_a_scope_and_an_action() -> None:
    narrow = node()
    for report in (base := node(), narrow):
        for gpu in report["snapshot"]["gpus"]:
            gpu["link"] = {"width": 16}
    narrow["snapshot"]["gpus"][1]["link"]["width"] = 8
    other = copy.deepcopy(base)
    other["snapshot"]["packages"][0]["version"] = "2.9.0"
    verdict = fleet((9, base), (1, narrow), (1, other))
    rows = as_data(verdict)["kinds"][0]["odd"]
    assert [(r["fact"], r["scope"], r["action"]) for r in rows] == [
        ("links: PCIe width", "hardware", "drain"),
        ("packages: torch", "environment", "rebuild"),
    ]
    assert verdict.to_drain() == {"PCIe width = 16; 0000:3d:00.0: 8, not 16": ["n10"]}


def test_the_text_fits_80_columns() -> None:
    wide = found("a-rule-with-a-long-name", scope="hardware", action="drain")
    wide["findings"][0]["summary"] = "A sentence of some words. " * 10
    verdict = fleet((9, node()), (3, wide), (1, node(kernel__release="6.8.0 " * 30)))
    lines = render(verdict).splitlines()
    assert max(len(line) for line in lines if not line.startswith("  scontrol")) <= 80
