"""What to ask for next: the command that shows the fact which a rule lacks."""

from __future__ import annotations

from typing import Any

from doctor.engine import registry
from doctor.engine.ask import ask_for
from tests.each import each
from tests.rules.machines import build

RULES = {check.rule.id: check.rule for check in registry.checks()}
NVIDIA = {"gpus[#0].vendor": "nvidia", "gpus[#0].name": "NVIDIA L40S"}
AMD = {"gpus[#0].vendor": "amd", "gpus[#0].name": "AMD Instinct MI210", "gpus[#0].arch": "gfx90a"}
ASKED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("iommu-not-passthrough", AMD, "dmesg | grep"),
    ("secure-boot-blocks-module", NVIDIA, "mokutil --sb-state"),
    ("container-shm-too-small", NVIDIA | {"container.inside": True}, "df -h /dev/shm"),
    ("amdgpu-rocm-version-skew", AMD, "modinfo amdgpu"),
    ("numa-balancing-enabled", AMD, "numa_balancing"),
    ("gpu-memory-exhausted", {}, "`nvidia-smi`"),
    ("gpu-memory-exhausted", AMD, "amd-smi process"),
    (
        "gpu-memory-exhausted",
        {"symptoms[x].text": "torch.cuda.OutOfMemoryError: HIP out of memory.", "symptoms[x].source": "text:1"},
        "amd-smi process",
    ),
    (
        "device-node-permission",
        {"symptoms[x].text": "Unable to open /dev/kfd read-write", "symptoms[x].source": "text:1"},
        "/dev/kfd",
    ),
    ("device-node-permission", {"host.wsl": True}, "/dev/dxg"),
)


@each("rule, facts, command", ASKED)
def test_the_command_that_shows_what_is_missing(rule: str, facts: dict[str, Any], command: str) -> None:
    assert command in ask_for(RULES[rule], build(facts))


def test_the_vendor_of_the_gpu_chooses_the_command() -> None:
    rule = RULES["gpu-throttled"]
    assert "nvidia-smi" in ask_for(rule, build(NVIDIA))
    assert "amd-smi" in ask_for(rule, build(AMD))


def test_where_nothing_is_missing_the_error_itself_is_asked_for() -> None:
    by_texts_alone = next(rule for rule in RULES.values() if not rule.needs)
    assert ask_for(by_texts_alone, build(NVIDIA)) == "the full error message and the command that was run"


def test_every_rule_asks_for_something_that_a_person_can_send() -> None:
    for rule in RULES.values():
        for facts in ({}, NVIDIA, AMD):
            assert len(ask_for(rule, build(facts))) > 5, rule.id
