"""The word model: which texts it takes for reports, calibrated probabilities, and the same answer everywhere."""

from __future__ import annotations

import os
import subprocess
import sys

from doctor.engine.pasted import HINT_FROM, REPORT_FROM
from doctor.triage.classifier import CHARACTERS, LINES, MOST, features, shared
from tests.each import each

REPORTS = (
    "After the upgrade to driver 580 my RTX 4090 is gone, nvidia-smi says that it has failed. How do I get it back?",
    "Training on two MI300X hangs at the first all_reduce. Same script works on one GPU. What can I try?",
    "RuntimeError: CUDA error: no kernel image is available for execution on the device\nI get this with my 5070 Ti.",
    "docker: Error response from daemon: could not select device driver with capabilities: [[gpu]]",
    "ollama does not use my RX 6700 XT, it falls back to the CPU. rocminfo lists the card.",
)
NO_REPORTS = (
    "Bump the CUDA version of the CI image to 12.8. No functional change, all tests pass.",
    "## 2.4.0\n\n- Add support for gfx1201\n- Drop Python 3.8\n- Faster reductions on MI300X",
    "How to install the NVIDIA driver on Debian 12\n\nAdd contrib and non-free to sources.list, then apt update and "
    "apt install nvidia-driver. Reboot. Check with nvidia-smi.\n\n"
    "For CUDA, add NVIDIA's repository and install cuda-toolkit.",
    "Everything works: 8x H100, driver 570, torch 2.7. Thanks for the great library!",
    "Feature request: please add an option that picks the GPU with most free memory.",
)


@each("text", REPORTS)
def test_somebody_reports_a_failure(text: str) -> None:
    assert shared().guess(text).report >= REPORT_FROM


@each("text", NO_REPORTS)
def test_nobody_does(text: str) -> None:
    assert shared().guess(text).report < REPORT_FROM


CAUSES = {
    "container-runtime-not-configured": REPORTS[3],
    "torch-missing-gpu-arch": REPORTS[2],
}


@each("rule, text", CAUSES.items())
def test_the_likeliest_cause_of_a_text(rule: str, text: str) -> None:
    assert shared().guess(text).causes[0].rule == rule


@each("text", (*REPORTS, *NO_REPORTS, "", "zq xw", "1 2 3", "\x00" * 50))
def test_probabilities_lie_between_0_and_1_and_the_likeliest_comes_first(text: str) -> None:
    guess = shared().guess(text)
    shares = [cause.confidence for cause in guess.causes]
    assert 0 <= guess.report <= 1
    assert shares == sorted(shares, reverse=True)
    assert all(0 <= share <= 1 for share in shares)
    assert sum(shares) <= 1.05
    assert len(shares) <= MOST


def test_the_curves_of_calibration_rise_and_stay_in_range() -> None:
    for curve in (shared().curve, shared().report_curve):
        assert curve == sorted(curve)
        assert 0 <= curve[0] < HINT_FROM < curve[-1] <= 1


def test_words_that_it_does_not_know_make_nothing_likely() -> None:
    assert shared().guess("qqqzz wwwxx jjjvv") == (0.0, ())


def test_it_answers_the_same_whatever_order_sets_have() -> None:
    code = f"from doctor.triage.classifier import shared; print(shared().guess({REPORTS[1]!r}))"
    said = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("0", "1", "4711")
    }
    assert len(said) == 1


def test_only_the_first_lines_count_and_of_each_its_beginning() -> None:
    line = "RuntimeError: CUDA error: out of memory " * 20
    assert features([*[line] * LINES, "modprobe amdgpu"]) == features([line[:CHARACTERS]] * LINES)
