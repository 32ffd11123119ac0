"""What people tell: a question, a wish or what was meant is no trouble, and some things count only beside a failure."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.facts import Snapshot
from doctor.facts.snapshot import Symptom
from doctor.intake import read_text
from doctor.knowledge import Knowledge, hearsay
from doctor.knowledge.symptoms import shared
from tests.knowledge.texts import certain, keys, told


def raised(text: str) -> dict[str, str]:
    """Rule -> severity of what is an error or a warning."""
    report = judge(read_text([text.encode()]), Knowledge())
    return {f.rule: f.severity.value for f in report.findings if f.severity.value != "info" and not f.explained_by}


def accused(text: str) -> set[str]:
    """The rules to which the symptoms of a text point more than as a possibility."""
    machine = read_text([text.encode()])
    causes = [cause for symptom in machine.symptoms for cause in shared().causes(symptom.key, machine)]
    return {cause.rule for cause in causes if cause.sure != "possible"}


def seen(*lines: str) -> set[str]:
    return {hit.key for hit in shared().find(enumerate(lines, 1))}


@pytest.mark.parametrize(
    "line",
    [
        "Is it possible to start the pod without runtimeClassName?",
        "The chart is new to us. Can the pod run without runtimeClassName?",
        "the pod has no runtimeClassName on purpose",
        "feature request: a pod without runtimeClassName",
    ],
)
def test_what_is_asked_wished_or_meant_is_not_told(line: str) -> None:
    assert "runtime-class-lacking-said" not in seen(line)


@pytest.mark.parametrize(
    "line",
    [
        "the pod has no runtimeClassName",
        "Which pod? The one without runtimeClassName.",
        "Why does the pod without runtimeClassName see no GPU?",
        "pods only see the card when I add a runtimeClassName",
    ],
)
def test_a_statement_and_a_why_are_told(line: str) -> None:
    assert "runtime-class-lacking-said" in seen(line)


def test_the_next_line_may_tell_what_a_question_only_asks() -> None:
    hits = shared().find([(1, "Is Xid 79 fatal?"), (2, "after an hour Xid 79 is in the log")])
    assert [hit.line for hit in hits if hit.key == "xid-number-told"] == [2]


@pytest.mark.parametrize(
    ("line", "rule"),
    [
        ("CUDA 12.4 requires driver 550 or newer; 560.35.03 is installed", "nvidia-driver-too-old"),
        ("the wheel needs glibc 2.28, ldd says 2.35", "system-library-missing"),
        ("alert for Xid 79 in the dashboard", "nvidia-xid-fatal"),
        ("GeForce cards do not support MIG, the test is skipped", "mig-misconfigured"),
        ("apt install nvidia-container-toolkit is part of the setup", "container-runtime-not-configured"),
        ("rocm-smi needs sudo to set the power cap", "device-node-permission"),
        ("docker for mac is used to edit the Dockerfile", "container-engine-no-gpu-support"),
    ],
)
def test_a_mere_mention_accuses_nothing(line: str, rule: str) -> None:
    assert rule not in accused(line)


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("this build needs driver 550\nRuntimeError: No CUDA GPUs are available", "nvidia-driver-too-old"),
        ("Xid 79 is in the log\nthe training process crashed", "nvidia-xid-fatal"),
        ("container toolkit was not installed\nno CUDA GPUs are available", "container-runtime-not-configured"),
    ],
)
def test_the_same_beside_a_failure_does(text: str, rule: str) -> None:
    assert rule in accused(text)


@pytest.mark.parametrize(
    "text",
    [
        "nvidia-fabricmanager.service: inactive (dead); the machine has no NVSwitch",
        "systemd: nvidia-fabricmanager.service: inactive (dead)",
        "the pod has no runtimeClassName since nvidia is the default runtime; it runs on the GPU",
        "no amdsmi package, so power is not shown; the server starts",
        "INFO selector.py:224] Cannot use FlashAttention-2 backend for Volta and Turing GPUs.",
        "FlashAttention only supports Ampere GPUs or newer, so sdpa is used",
    ],
)
def test_what_may_stand_in_the_text_of_a_healthy_machine_is_not_certain(text: str) -> None:
    assert certain(text) == set()


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        (
            "nvidia-fabricmanager.service: inactive (dead)\nError 802: system not yet initialized",
            "nvidia-fabricmanager-not-running",
        ),
        ("RuntimeError: FlashAttention only supports Ampere GPUs or newer.", "library-missing-gpu-arch"),
    ],
)
def test_where_the_program_stops_it_is_certain(text: str, rule: str) -> None:
    assert rule in certain(text)


def test_trouble_is_another_symptom_that_is_no_mention() -> None:
    def machine(*keys: str) -> Snapshot:
        return Snapshot(symptoms=tuple(Symptom(key=key, text="", source="text:1") for key in keys))

    assert not hearsay.trouble(
        machine("xid-number-told", "user-error-shapes", "something-works-told"), "xid-number-told"
    )
    assert not hearsay.trouble(machine("p2p-off-works", "peer-copies-off-helps"), "p2p-off-works")
    assert hearsay.trouble(machine("xid-number-told", "program-crashed"), "xid-number-told")


def test_a_remedy_or_a_part_that_is_not_there_is_no_trouble_for_another() -> None:
    text = "the service works with --ipc=host\nthe pod has no runtimeClassName\nCUDA extension not installed."
    assert accused(text) == set()
    assert {"container-shm-too-small", "container-runtime-not-configured"} <= accused(text + "\ntraining crashed")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("GPU 0: NVIDIA T4\n[CpuDevice(id=0)] at build time, [CudaDevice(id=0)] on the node", "jax-plugin-mismatch"),
        ("torch.version.cuda None\ntorch.version.hip 6.2.41133", "torch-cpu-only-build"),
        ("does it work in exclusive process mode?", "compute-mode-exclusive"),
        ("Resizable BAR is off on this board", "large-bar-disabled"),
        ("Gen1 when idle, Gen4 under load", "pcie-link-degraded"),
        ("WSL 1 for the editor, WSL 2 for training; training crashed", "wsl-gpu-misconfigured"),
    ],
)
def test_the_other_half_of_a_statement_is_read_as_well(text: str, rule: str) -> None:
    assert rule not in accused(text)


def test_what_was_mended_long_ago_is_told_no_more() -> None:
    past = "months ago nvidia-smi couldn't communicate with the NVIDIA driver, a new kernel package fixed it"
    assert "nvidia-smi-cannot-communicate" not in seen(past)
    assert "nvidia-smi-cannot-communicate" in seen(
        "since months nvidia-smi couldn't communicate with the NVIDIA driver"
    )
    assert "nvidia-smi-cannot-communicate" in seen("nvidia-smi couldn't communicate with the NVIDIA driver; now fixed")
    assert "nvidia-smi-cannot-communicate" in seen(
        "last week I fixed the fan, now nvidia-smi couldn't communicate with the NVIDIA driver"
    )


@pytest.mark.parametrize(
    ("line", "key"),
    [
        ("CUDA_LAUNCH_BLOCKING=1 gives the same trace", "launch-blocking-left-on"),
        ("AMD_SERIALIZE_KERNEL=3 makes no difference", "launch-blocking-left-on"),
        ("with HSA_OVERRIDE_GFX_VERSION unset and set the same", "hsa-override-said"),
    ],
)
def test_a_variable_that_was_tried_without_effect_is_not_left_on(line: str, key: str) -> None:
    assert key not in keys(line)
    assert "launch-blocking-left-on" in keys("export CUDA_LAUNCH_BLOCKING=1")
    assert "hsa-override-said" in keys("HSA_OVERRIDE_GFX_VERSION is still set to 10.3.0")


def test_torch_s_remark_on_segments_is_no_second_cause() -> None:
    remark = "UserWarning: expandable_segments not supported on this platform"
    assert told(f"What is wrong here?\n{remark}") == ["allocator-flag-unsupported"]
    failure = "CUDA driver version is insufficient for CUDA runtime version"
    assert "allocator-flag-unsupported" not in told(f"What is wrong here?\n{failure}\n{remark}")
