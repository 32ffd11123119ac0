"""hsa-override-misuse: another chip's code."""

from __future__ import annotations

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.flags import hsa_override_misuse as rule
from doctor.triage.read import read_text
from tests.knowledge.texts import told as told_of
from tests.rules import machines
from tests.rules.driver.asked import found, told
from tests.rules.remedies import argvs

GFX = f"gpus[{machines.RX7900}].arch"


@pytest.mark.parametrize(
    ("arch", "value", "severity", "why"),
    [
        ("gfx1100", "10.3.0", "error", "selects another instruction set than gfx1100 has"),
        ("gfx1031", "10.3.0", "info", "makes gfx1031 pass for a related chip: unsupported, but often works"),
        ("gfx90c", "9.0.0", "info", "makes gfx90c pass for a related chip: unsupported, but often works"),
        ("gfx90c", "9.0.6", "error", "selects a gfx9 target that gfx90c cannot run"),
        ("gfx1100", "11.0.0", "warning", "is the GPU's own target (gfx1100) and is not needed"),
        ("gfx1100", "11.0.1", "error", "replaces the right code for gfx1100, which ROCm supports natively"),
        ("gfx1100", "", "error", "is not MAJOR.MINOR.STEPPING, so ROCm finds no GPU"),
    ],
)
def test_override(arch: str, value: str, severity: str, why: str) -> None:
    name = "HSA_OVERRIDE_GFX_VERSION"
    machine = machines.rx7900_desktop({"environment": {name: value}, GFX: arch})
    assert told(rule, machine) == [(severity, name, f"{name}={value} {why}.")]
    argv = argvs(found(rule, machine)[0])
    assert argv[-1:] == ([] if why.endswith("often works") else [("env", "-u", name, "COMMAND")])


def test_the_value_that_owners_use_is_named_where_another_one_is_set() -> None:
    machine = machines.rx7900_desktop({"environment": {"HSA_OVERRIDE_GFX_VERSION": "11.0.0"}, GFX: "gfx1031"})
    assert ("env", "HSA_OVERRIDE_GFX_VERSION=10.3.0", "COMMAND") in argvs(found(rule, machine)[0])


def test_the_gpus_own_number_in_a_text_is_a_remark() -> None:
    agent = "*******\nAgent 2\n*******\n  Name: gfx1030\n  Vendor Name: AMD\n  Device Type: GPU\n"
    for value, severity, suspect in (("10.3.0", "info", 1), ("9.0.0", "error", 0)):
        text = f"$ rocminfo\n{agent}export HSA_OVERRIDE_GFX_VERSION={value}\n"
        (finding,) = rule.check(read_text([text.encode()]), Knowledge(), None)
        assert (finding.severity.value, finding.suspect) == (severity, suspect), value


def test_another_node_and_unknown_arch() -> None:
    assert told(rule, machines.rx7900_desktop({"environment": {"HSA_OVERRIDE_GFX_VERSION_7": "10.3.0"}})) == []
    assert told(rule, machines.rx7900_desktop({"environment": {"HSA_OVERRIDE_GFX_VERSION": "9.0.0"}, GFX: None})) == []


def test_an_empty_one_explains_a_container_that_sees_no_gpu() -> None:
    name = "HSA_OVERRIDE_GFX_VERSION"
    for value, explained in (("", True), ("10.3.0", False)):
        (finding,) = found(rule, machines.rx7900_desktop({"environment": {name: value}, GFX: "gfx1100"}))
        assert ("container-missing-gpu-passthrough" in finding.explains) is explained


def test_one_of_another_family_explains_a_scheduler_that_answers_no_more() -> None:
    """Its firmware is then not at fault; a relative's code is no reason for it."""
    name = "HSA_OVERRIDE_GFX_VERSION"
    for arch, value, explained in (("gfx1100", "10.3.0", True), ("gfx1100", "11.0.1", False)):
        (finding,) = found(rule, machines.rx7900_desktop({"environment": {name: value}, GFX: arch}))
        assert ({"amdgpu-firmware-bad", "amdgpu-gpu-hang"} <= set(finding.explains)) is explained


def test_one_for_node_0_reaches_no_gpu() -> None:
    """KFD's node 0 is the processor, whose entry is left before the variable is read."""
    name = "HSA_OVERRIDE_GFX_VERSION_0"
    unknown = machines.rx7900_desktop({"environment": {name: "10.3.0"}, GFX: "gfx1032"})
    (finding,) = found(rule, unknown)
    assert finding.severity == "warning"
    assert "node 0, the CPU" in finding.summary
    assert "torch-missing-gpu-arch" in finding.explains
    of_gpu = {"environment": {name: "10.3.0"}, GFX: "gfx1032", f"gpus[{machines.RX7900}].index.kfd": 0}
    assert not any("node 0" in f.summary for f in found(rule, machines.rx7900_desktop(of_gpu)))


def _agents(*agents: tuple[str, str]) -> bytes:
    rows = [
        f"*******\nAgent {n}\n*******\n  Name: {arch}\n  Marketing Name: {name}\n  Device Type: GPU\n"
        for n, (arch, name) in enumerate(agents, 2)
    ]
    return ("$ rocminfo\n" + "".join(rows) + "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n").encode()


def test_one_for_the_card_is_not_judged_by_the_gpu_in_the_processor() -> None:
    card, small = ("gfx1030", "AMD Radeon RX 6800"), ("gfx1103", "AMD Radeon 780M")
    (finding,) = rule.check(read_text([_agents(card, small)]), Knowledge(), None)
    assert (finding.severity, finding.suspect) == ("info", 1)
    (alone,) = rule.check(read_text([_agents(small)]), Knowledge(), None)
    assert alone.severity == "error"


def test_a_name_that_many_gpus_have_does_not_tell_what_the_override_replaces() -> None:
    (finding,) = rule.check(read_text([_agents(("gfx1030", "AMD Radeon Graphics"))]), Knowledge(), None)
    assert (finding.severity, finding.suspect) == ("info", 0)
    assert "anyway" not in finding.summary


def _text(arch: str, name: str, after: str) -> str:
    return (
        f"$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {arch}\n  Marketing Name: {name}\n"
        f"  Vendor Name: AMD\n  Device Type: GPU\n\n{after}\n"
    )


FAULT = "Memory access fault by GPU node-2 on address (nil). Reason: Unknown."
NO_CODE = "RuntimeError: HIP error: invalid device function"
MIXED = "*******\nAgent 3\n*******\n  Name:                    gfx90a\n  Vendor Name: AMD\n  Device Type: GPU\n"


@pytest.mark.parametrize(
    ("arch", "name", "says", "warned"),
    [
        ("gfx1030", "AMD Instinct MI210", FAULT, True),
        ("gfx1030", "AMD Instinct MI210", NO_CODE, True),
        ("gfx900", "AMD Radeon RX 6800", NO_CODE, True),
        ("gfx90a", "AMD Instinct MI210", FAULT, False),
        ("gfx1030", "AMD Radeon RX 6800", FAULT, False),
        ("gfx900", "AMD Radeon RX Vega", FAULT, False),
        ("gfx1030", "AMD Instinct MI210", f"{MIXED}\n{FAULT}", False),  # two GPUs, and a name that is the other's
    ],
)
def test_a_gpu_shown_under_a_number_of_another_generation(arch: str, name: str, says: str, warned: bool) -> None:
    assert ("hsa-override-misuse" in told_of(_text(arch, name, says))) is warned
