"""Errors of paths, arguments, ports, downloads and monitors name no cause, and words beside them accuse nothing."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.knowledge.symptoms import shared

EXAMPLES = {
    "user-error-port-taken": "OSError: [Errno 98] Address already in use",
    "user-error-path-of-model": "ValueError: No supported config format found in /models/mine",
    "user-error-argument": "serve.py: error: unrecognized arguments: --quick",
    "user-error-batch-of-ranks": "AssertionError: Check batch related parameters. 16 != 2 * 1 * 4",
    "user-error-download": "requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.org/m",
    "user-error-request-refused": "BadRequestError: This model's maximum context length is 8192 tokens",
    "user-error-file-of-its-own": "PermissionError: [Errno 13] Permission denied: '/srv/out/a.json'",
    "user-error-disk-full": "OSError: [Errno 28] No space left on device: '/home/a/.cache/x'",
    "user-error-file-handle-stale": "OSError: [Errno 116] Stale file handle: '/home/a/.cache/x'",
    "user-error-image-not-pulled": "Error response from daemon: pull access denied for team/serve",
    "user-error-queue-limit": "slurmstepd: error: *** JOB 17 ON n4 CANCELLED AT 10:00 DUE TO TIME LIMIT ***",
    "user-error-figures-of-monitor": "ValueError: could not convert string to float: '[N/A]'",
    "user-error-name-of-object": "AttributeError: 'MyTrainer' object has no attribute 'scaler'",
    "user-error-tolerance": "AssertionError: Tensor-likes are not close!",
    "user-error-key-of-data": "KeyError: 'input_ids'",
    "user-error-race-in-kernel": "========= Error: Race reported between Write access at sum(int *)+0x40",
    "user-error-nan-image": "NansException: A tensor with all NaNs was produced in Unet.",
}
OTHERS = {
    "user-error-port-taken": "the address of the driver package is in use",
    "user-error-argument": "nvidia-container-cli: error: argument is not a device",
    "user-error-file-of-its-own": "PermissionError: [Errno 13] Permission denied: '/dev/kfd'",
    "user-error-disk-full": "OSError: [Errno 28] No space left on device: '/dev/shm/psm_1'",
    "user-error-image-not-pulled": "docker: Error response from daemon: pull access denied for all",
    "user-error-queue-limit": "0/3 nodes are available: 3 Insufficient nvidia.com/gpu.",
    "user-error-figures-of-monitor": "could not convert string to float: 'a dog'",
    "user-error-key-of-data": "KeyError: 'libamd_smi.so'",
    "user-error-name-of-object": "AttributeError: module 'triton' object has no attribute 'Config'",
}


def _found(line: str) -> set[str]:
    return {hit.key for hit in shared().find([(1, line)])}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom_and_points_to_nothing(key: str) -> None:
    assert key in _found(EXAMPLES[key])
    assert shared().signatures[key].points_to == ()


@pytest.mark.parametrize("key", OTHERS)
def test_a_line_of_the_machine_does_not(key: str) -> None:
    assert key not in _found(OTHERS[key])


@pytest.mark.parametrize("key", EXAMPLES)
def test_nothing_of_the_machine_is_accused(key: str) -> None:
    text = f"Our job with two GPUs in a container stops, with docker run --gpus all.\n{EXAMPLES[key]}\nWhat is wrong?"
    report = judge(read_text([text.encode()]), Knowledge())
    assert [f.rule for f in report.findings if f.severity is not Severity.INFO] == []
