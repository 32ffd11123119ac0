"""Hints stand beside findings and never become one; a text that reports no failure accuses nobody."""

from __future__ import annotations

import json

import pytest

from doctor.engine.pasted import HINT_FROM, MOST, judge_pasted
from doctor.findings import Report, Severity
from doctor.knowledge import Knowledge
from doctor.report.formats import markdown
from doctor.report.formats.json import as_data
from doctor.triage.classifier import Guess, Likely
from doctor.triage.read import Pasted, read_pasted
from tests.each import each

NO_DRIVER = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."


def report_of(text: str, guess: Guess | None = None) -> Report:
    """Of the text, with this guess in place of the model's."""
    pasted = read_pasted([text.encode()])
    return judge_pasted(Pasted(pasted.machine, guess or pasted.guess), Knowledge())


def loud(report: Report) -> list[str]:
    return [f.rule for f in report.findings if f.severity is not Severity.INFO]


IOMMU = Guess(
    0.9, (Likely("iommu-not-passthrough", 0.8), Likely("nouveau-loaded", 0.15), Likely("gpu-throttled", 0.02))
)


def test_a_guess_is_a_hint_and_no_finding() -> None:
    report = report_of("it stands still now and then\n", IOMMU)
    assert report.findings == ()
    assert [(h.rule, h.confidence) for h in report.hints] == [("iommu-not-passthrough", 0.72), ("nouveau-loaded", 0.14)]
    assert report.status == report_of("it stands still now and then\n", Guess(0.9, ())).status


def test_a_text_that_reports_no_failure_gets_no_advice_in_markdown() -> None:
    report = report_of("it stands still now and then\n", Guess(0.29, IOMMU.causes))
    assert (report.reports_failure, bool(report.hints)) == (False, True)
    assert markdown.render(report.model_copy(update={"source": "-"})).startswith(
        "I found no problem in this text that I can name."
    )
    assert "My guess" in markdown.render(report_of("it stands still now and then\n", Guess(1.0, IOMMU.causes)))


def test_what_is_found_is_no_hint_as_well() -> None:
    report = report_of(NO_DRIVER, Guess(0.9, (Likely("nvidia-driver-not-loaded", 0.7), Likely("nouveau-loaded", 0.2))))
    assert "nvidia-driver-not-loaded" in loud(report)
    assert [h.rule for h in report.hints] == ["nouveau-loaded"]


def test_a_guess_that_facts_rule_out_is_not_shown() -> None:
    """CUDA 10.0 needs driver 410.48, so 410.129 is new enough; 390.157 is not, and is a finding."""
    guess = Guess(0.9, (Likely("nvidia-driver-too-old", 0.7), Likely("nouveau-loaded", 0.2)))
    text = "PyTorch version: 1.4.0\nCUDA used to build PyTorch: 10.0\nIs CUDA available: No\nGPU 0: TITAN Xp\n"
    new_enough = report_of(f"{text}Nvidia driver version: 410.129\n", guess)
    assert [h.rule for h in new_enough.hints] == ["nouveau-loaded"]
    assert loud(new_enough) == ["torch-sees-no-gpu"]
    assert "nvidia-driver-too-old" in loud(report_of(f"{text}Nvidia driver version: 390.157\n", guess))


def test_an_error_text_alone_gets_the_fix_of_the_gpu_that_the_text_names() -> None:
    crash = "RuntimeError: HIP error: invalid device function"
    (finding,) = [f for f in report_of(f"my rx6600 on arch\n{crash}\n").findings if f.severity is Severity.WARNING]
    assert "HSA_OVERRIDE_GFX_VERSION=10.3.0" in (finding.remedies[0].steps[0].command or ())
    (unnamed,) = [f for f in report_of(f"{crash}\n").findings if f.severity is Severity.WARNING]
    assert unnamed.remedies == ()


def test_an_extension_is_reinstalled_in_the_way_its_package_can_be() -> None:
    """flash-attn has no wheel on PyPI, so pip builds it; what a folder is called need not be its package's name."""
    for path, last, wanted in (
        ("flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so", "flash_attn", "Reinstall flash_attn"),
        ("groundingdino/_C.so", "EXTENSION", "Reinstall groundingdino (EXTENSION: its package)"),
    ):
        text = f"ImportError: /v/lib/python3.12/site-packages/{path}: undefined symbol: _ZN3c105ErrorC2E\n"
        (finding,) = (f for f in report_of(text, Guess(0.9, ())).findings if f.severity is Severity.WARNING)
        assert finding.rule == "extension-abi-mismatch"
        assert finding.remedies[0].title.startswith(wanted)
        assert (finding.remedies[0].steps[0].command or ())[-2:] == ("--no-build-isolation", last)


def test_an_error_text_outside_of_a_report_is_a_hint() -> None:
    report = report_of(NO_DRIVER, Guess(0.05, ()))
    assert loud(report) == []
    assert [h.rule for h in report.hints] == ["nvidia-driver-not-loaded"]
    assert report.hints[0].confidence == HINT_FROM
    assert report.status == "unknown"


def test_a_hint_of_a_rule_that_there_is_not_is_left_out() -> None:
    assert report_of("it stands still\n", Guess(1.0, (Likely("no-such-rule", 0.9),))).hints == ()


NO_REPORTS = (
    f"# Release notes 2.4.0\n\nNew features\n\n- Add support for gfx1201\n- Add a page on `{NO_DRIVER}`\n"
    "- Faster reductions\n\nThanks to all contributors!\n",
    "## What does this PR do?\n\nRefactors the loader and adds tests. No functional change.\n\n"
    '```python\nraise RuntimeError("CUDA error: no kernel image is available for execution on the device")\n```\n\n'
    "- [x] Tests added\n- [x] Docs updated\n",
    "Feature request: add a flag that silences `RuntimeError: No CUDA GPUs are available` in CI. All tests pass.\n",
    "It works now, thank you! Both cards are used, and training runs at full speed on driver 570.\n",
)


@each("text", NO_REPORTS)
def test_a_text_that_reports_no_failure_accuses_nobody(text: str) -> None:
    assert loud(report_of(text)) == []


def test_hints_in_json_are_three_at_most_each_with_what_to_send() -> None:
    report = report_of("My RX 7900 XTX is not used by torch, it is slow and it hangs at the second step.\n")
    data = json.loads(json.dumps(as_data(report)))
    assert 1 <= len(data["hints"]) <= MOST
    for hint in data["hints"]:
        assert set(hint) == {"rule", "title", "confidence", "ask"}
        assert HINT_FROM <= hint["confidence"] <= 1
        assert hint["ask"]


MISMATCH = "$ nvidia-smi\nFailed to initialize NVML: Driver/library version mismatch\n\n"
UNLIKE = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\n"
TABLE = "| NVIDIA-SMI 515.48.07    Driver Version: 515.48.07    CUDA Version: 11.7     |\n"
NO_NVIDIA = "RuntimeError: Found no NVIDIA driver on your system. Please check that you have an NVIDIA GPU\n"
NO_LIBCUDA = "OSError: libcuda.so.1: cannot open shared object file: No such file or directory\n"
KFD = "Unable to open /dev/kfd read-write: Permission denied\n"
NCCL = "RuntimeError: NCCL error: unhandled system error (run with NCCL_DEBUG=INFO for details)\n"
BUILD = "Error! Bad return status for module build on kernel: 5.14.0-503.22.1.el9_5.x86_64 (x86_64)\n"
SM_120 = (
    "NVIDIA GeForce RTX 5090 with CUDA capability sm_120 is not compatible with the current PyTorch installation.\n"
    "The current PyTorch install supports CUDA capabilities sm_50 sm_60 sm_70 sm_75 sm_80 sm_86 sm_90.\n"
)


@pytest.mark.parametrize(
    ("text", "says", "never"),
    [
        (f"{MISMATCH}Tried rebooting the system, but still doesn't work.", "dkms autoinstall", "Reboot the host"),
        (f"{MISMATCH}Rebooting fixes it until the next update.", "Reboot the host", "dkms autoinstall"),
        (f"{MISMATCH}I have not rebooted yet.", "Reboot the host", "dkms autoinstall"),
        (f"[root@h ~]# nvidia-smi\n{TABLE}me@pod:/$ nvidia-smi\n{MISMATCH[13:]}", "Recreate the container", "Reboot"),
        (f"{UNLIKE}Ubuntu 24.04, all was fine yesterday", "add `lspci -nnk -d 10de:`", "add `nvidia-smi`"),
        (f"Autoinstall of module nvidia/570.86.15 for kernel 5.14.0\n{BUILD}", "make.log", "amdgpu"),
        (f"the rocky image fails with Nvidia 570\n{BUILD}", "", "RX 570"),
        (f"it fails, my RX 570 is not found\n{BUILD}", "amdgpu", "NVIDIA driver"),
        (f"RTX 5090 on Windows 11\n{SM_120}", "\npython -m pip install", "python3"),
        (f"RTX 5090 on Ubuntu 24.04\n{SM_120}", "\npython3 -m pip install", "\npython -m"),
        ("RX 6600, Windows 10, it fails:\nRuntimeError: HIP error: invalid device function", "Vulkan", "HSA"),
        ("RX 6600, Ubuntu 24.04, it fails:\nRuntimeError: HIP error: invalid device function", "HSA", "Vulkan"),
        ('OS: CentOS7\ncould not select device driver "nvidia" with capabilities: [[gpu]]', "\nyum install", "\ndnf"),
        ('OS: Rocky 9.4\ncould not select device driver "nvidia" with capabilities: [[gpu]]', "\ndnf", "\nyum"),
        ("It fails in docker:\nRuntimeError: No HIP GPUs are available", "`rocminfo`", "full error message"),
        (f"I use an AMD GPU on Ubuntu\n{NO_NVIDIA}", "for ROCm", "modprobe"),
        (f"It says that I need an AMD GPU\n{NO_NVIDIA}", "modprobe", "for ROCm"),
        ("RX 6600, Windows 10:\nAssertionError: Torch not compiled with CUDA enabled", "need Linux", "pip install"),
        ("RX 6600, Ubuntu 24.04:\nAssertionError: Torch not compiled with CUDA enabled", "pip install", "need Linux"),
        (f"RX 6600, already added myself to the render group\n{KFD}", "Log in again", "usermod"),
        (f"RX 6600, I have not added myself to the render group\n{KFD}", "usermod", "Log in again"),
        ('docker: could not select device driver "cdi" with capabilities: []', "Enable CDI in Docker", "cdi generate"),
        ("Error: setting up CDI devices: unresolvable CDI devices nvidia.com/gpu=all", "cdi generate", "daemon.json"),
        (f"$ singularity exec --nv a.sif python x.py\n{NO_LIBCUDA}", "on a node with", "modprobe"),
        (f"RTX 3060, Ubuntu 24.04\n{NO_LIBCUDA}", "apt-get install", "modprobe"),
        (f"It fails on 2x A100:\n{NCCL}", "`NCCL_DEBUG=INFO`", "`nvidia-smi`"),
        (f"export NCCL_DEBUG=INFO\n{NCCL}It fails on 2x A100", "`nvidia-smi`", "NCCL_DEBUG=INFO` set"),
        (f"RTX 3060 in WSL on Windows 11:\n{UNLIKE}", "--set-version NAME 2", "modprobe"),
        ("Orin NX, the container fails:\nAssertionError: cuda is not available", "nv_tegra_release", "nvidia-smi"),
    ],
)  # fmt: skip
def test_a_reply_fits_what_the_text_tells(text: str, says: str, never: str) -> None:
    reply = markdown.render(report_of(f"{text}\n"))
    assert says in reply
    assert never not in reply.replace("\\", "")


@pytest.mark.parametrize(
    ("text", "fact", "value"),
    [
        ("### Operating System and Version\n\nRocky Linux 9.8 (Blue Onyx)\n", "os.version", "9.8"),
        ("### Kernel Release\n\n5.14.0-687.12.1.el9_8.x86_64\n", "kernel.release", "5.14.0-687.12.1.el9_8.x86_64"),
        (f"### Python\n\n{'I do not know; it may be 3.12 or that of conda, ' * 2}\n", "interpreter.version", None),
        ("```PyTorch version: 2.9.1+cu128\nIs debug build: False\n```\n", "torch.version", "2.9.1+cu128"),
        ("Device 0: AMD Radeon RX 6600, compute capability 10.3, VMM: no\n", "gpus[#0].arch", "gfx1032"),
        ("Device 0: NVIDIA A10, compute capability 8.6, VMM: yes\n", "gpus[#0].arch", "sm_86"),
        ("Orin Nano with JetPack 6 sees no GPU\n", "gpus[#0].arch", "sm_87"),
    ],
)  # fmt: skip
def test_what_is_read_of_forms_fences_and_lists(text: str, fact: str, value: str | None) -> None:
    assert read_pasted([text.encode()]).machine.get(fact) == value
