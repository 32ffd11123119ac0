"""Pasted texts and what they show."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.triage.read import read_text
from tests.each import each


def shown(text: str) -> Snapshot:
    return read_text([text.encode()])


def test_each_fact_names_its_line_in_the_whole_text() -> None:
    machine = shown("words\n\n```\n$ uname -r\n6.8.0-51-generic\n```\n- GPU: RX 7900 XTX\n")
    assert machine.kernel.release == "6.8.0-51-generic"
    assert machine.source("kernel.release") == "text:5"
    assert machine.source("gpus[#0].name") == "text:7"


@each("encoding", ("utf-16", "utf-16-le", "utf-16-be"))
def test_what_powershell_redirects_is_read(encoding: str) -> None:
    machine = read_text(["$ uname -r\r\n6.8.0-51-generic\r\nGPU: RX 7900 XTX\r\n".encode(encoding)])
    assert (machine.kernel.release, machine.source("kernel.release")) == ("6.8.0-51-generic", "text:2")


def test_code_in_three_backticks_within_a_line_opens_no_block() -> None:
    machine = shown("```print(torch.__version__)```\n1.4.0\n```\n$ uname -r\n6.8.0-51-generic\n```\n")
    assert (machine.torch.version, machine.kernel.release) == ("1.4.0", "6.8.0-51-generic")
    assert shown("````\n$ uname -r\n```\n6.8.0-51-generic\n````\n- GPU: RX 7900 XTX\n").gpus


def test_the_architecture_of_a_named_gpu_is_known() -> None:
    (gpu,) = shown("GPU: RX 7900 XTX").gpus or ()
    assert (gpu.vendor, gpu.arch) == ("amd", "gfx1100")


@each(
    "wrapped",
    [
        "> ROCm version: 6.2\r\n",
        "\x1b[1mROCm version: \x1b[32m6.2\x1b[0m\n",
        "<details>\n<summary>env</summary>\n\nROCm version: 6.2\n</details>",
        "2026-01-02T03:04:05.1234567Z ROCm version: 6.2",
        "worker-1  | ROCm version: 6.2",
        "```\nROCm version: 6.2",
        "- **ROCm version**: 6.2",
        "| ROCm version | 6.2 |",
    ],
)
def test_the_way_of_pasting_does_not_matter(wrapped: str) -> None:
    assert [install.version for install in shown(wrapped).rocm or ()] == ["6.2"]


def test_a_gpu_of_two_tools_is_one_gpu() -> None:
    machine = shown(
        "```\n$ lspci\n03:00.0 VGA compatible controller: Advanced Micro Devices, Inc. [AMD/ATI] Navi 31 "
        "[Radeon RX 7900 XTX] (rev c8)\n```\n```\n$ rocminfo\nAgent 2\n  Name:   gfx1100\n"
        "  Marketing Name:   Radeon RX 7900 XTX\n  Device Type:   GPU\n  BDFID:   768\n```\nGPU: RX 7900 XTX\n"
    )
    (gpu,) = machine.gpus or ()
    assert (gpu.pci_address, gpu.arch, gpu.index.hip) == ("0000:03:00.0", "gfx1100", 0)


def test_gpus_of_two_vendors_keep_apart() -> None:
    machine = shown("```\nAgent 2\n  Name: gfx1100\n  Device Type: GPU\n```\n\nGPU 0: NVIDIA GeForce RTX 4090\n")
    assert sorted(str(gpu.vendor) for gpu in machine.gpus or ()) == ["amd", "nvidia"]


def test_nothing_shown_is_nothing_known() -> None:
    machine = shown("My model does not work. Please help!")
    assert machine.gpus is None
    assert {name.partition("[")[0] for name in machine.origins} <= {"symptoms"}  # that somebody complains, no more


def test_could_not_collect_is_unknown() -> None:
    machine = shown("PyTorch version: 2.6.0\nNvidia driver version: Could not collect\nCUDA runtime version: No CUDA")
    assert machine.nvidia_driver.version is None
    assert machine.cuda is None


def test_packages_of_several_lists_are_one_list() -> None:
    machine = shown("```\n$ pip list\ntorch 2.6.0+cu124\n```\n```\n$ pip freeze\nnumpy==1.26.4\n```")
    assert [(p.name, p.version) for p in machine.packages or ()] == [("torch", "2.6.0+cu124"), ("numpy", "1.26.4")]


def test_what_is_typed_sets_variables_and_runs_containers() -> None:
    machine = shown(
        "$ HSA_OVERRIDE_GFX_VERSION=10.3.0 python x.py\n$ docker run --gpus all \\\n  nvidia/cuda:12.4.0 ls\n"
    )
    assert (machine.environment or {})["HSA_OVERRIDE_GFX_VERSION"] == "10.3.0"
    assert machine.container.run_args == ("--gpus", "all", "nvidia/cuda:12.4.0", "ls")


def test_a_long_line_is_read_in_bounded_memory() -> None:
    machine = read_text([b"x" * 65536] * 100 + [b"\nROCm version: 6.2"])
    assert machine.source("rocm[shown].version") == "text:2"


def test_bytes_that_are_no_text_are_no_error() -> None:
    assert read_text([bytes(range(256)) * 20]).gpus is None


def test_rows_of_pip_list_that_grep_left_have_no_heading() -> None:
    machine = shown("Packages:\n```\ntorch             2.8.0+rocm7.1.0\ntriton            3.4.0+gitf9e5bf54\n```\n")
    assert (machine.torch.version, [p.name for p in machine.packages or ()]) == ("2.8.0+rocm7.1.0", ["torch", "triton"])


def test_an_error_text_that_a_mail_program_wrapped() -> None:
    short = b"It says: system has unsupported display\ndriver / cuda driver combination\n"
    assert read_text([short]).symptom("cuda-driver-mismatch-803") is None
    first = b"> RuntimeError: Unexpected error. Error 803: system has unsupported"
    wrapped = first + b"\n> display driver / cuda driver combination\n"
    assert read_text([wrapped]).symptom("cuda-driver-mismatch-803") is not None


def test_an_error_text_with_quotes_in_a_json_log() -> None:
    log = rb'{"log":"docker: could not select device driver \"\" with capabilities: [[gpu]]."}'
    assert read_text([log]).symptom("docker-no-gpu-capability") is not None


def test_a_quoted_path_may_hold_blanks() -> None:
    line = b'  File "/home/me/my models/venv/lib/python3.11/site-packages/torch/nn/functional.py", line 1, in f'
    assert read_text([line]).torch.location == "/home/me/my models/venv/lib/python3.11/site-packages"


def test_a_kernel_that_a_field_names_leaves_what_a_sentence_says_of_its_modules() -> None:
    text = b"Kernel: 5.14.0-284.11.1.el9_2.x86_64\n\nnouveau is loaded and prints errors in dmesg\n"
    assert read_text([text]).kernel.modules == ("nouveau",)
