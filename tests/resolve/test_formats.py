"""An answer in each format; why it is not the newest; what is installed and stays; how old it is."""

from __future__ import annotations

import datetime
import json
from dataclasses import replace

import pytest

from doctor.errors import ToolError
from doctor.facts import Snapshot
from doctor.facts.origin import State
from doctor.knowledge import Knowledge
from doctor.resolve import Resolution, Solution, described, from_snapshot, settle
from doctor.resolve.formats import FORMATS, as_text
from doctor.resolve.resolver import Question, Uv, locked
from doctor.system.base import Output, Reading

KB = Knowledge()
DAY = datetime.date(2026, 11, 23)


def answered(packages: str, **machine: str) -> Solution:
    def ask(question: Question) -> Resolution:
        return Resolution("resolved", "uv 0.13.9", "the index", "2026-11-23", f"9 packages, {question.words}")

    return settle(KB, described(KB, **machine), packages.split(), ask=ask)


H100 = {"gpu": "H100", "driver": "570.124.06", "python": "3.12", "os": "ubuntu-24.04"}


def test_text_dates_the_oldest_fact_and_says_why_not_the_newest() -> None:
    text = as_text(answered("torch transformers", **H100), DAY)
    assert "  resolved by uv 0.13.9 on 2026-11-23 (9 packages, Python 3.12, glibc 2.39, x86_64)\n" in text
    assert "  not the newest: torch 2.15.0+cu132: CUDA 13.2 needs driver >= 580.65.06; 570.124.06 is loaded\n" in text
    assert "  newest known as of 2026-" in text


def test_an_answer_that_rests_on_old_facts_warns() -> None:
    found = answered("torch", gpu="MI300X", driver="30.10", python="3.12")
    assert "  warning: that is 115 days ago; newer releases or drivers may exist" in as_text(found, DAY)
    assert "warning" not in as_text(found, datetime.date(2026, 9, 1))


def test_a_refusal_without_a_way_out_says_so() -> None:
    found = answered("transformers==5.23.0", gpu="H100", python="3.9")
    assert found.status == "impossible"
    dead = Solution("impossible", found.target, found.asked, reasons=found.reasons)
    assert "no other release that fits" in as_text(dead, DAY)


def test_requirements_name_the_index_and_pins() -> None:
    lines = FORMATS["requirements"](answered("torch transformers", **H100)).splitlines()
    assert lines[2:] == [
        "--extra-index-url https://download.pytorch.org/whl/cu126",
        "torch==2.14.1+cu126",
        "transformers==5.23.0",
    ]


def test_what_is_compiled_comes_after_the_file_with_its_vendor_s_option() -> None:
    for gpu, driver, option in (("H100", "580.95.05", "CUDA"), ("MI300X", "30.20", "HIP")):
        found = answered("torch llama-cpp-python deepspeed", gpu=gpu, driver=driver, python="3.12")
        text = FORMATS["requirements"](found)
        assert f"-C cmake.args=-DGGML_{option}=on\n" in text
        assert "# then, compiled on the machine: python3.12 -m pip install deepspeed==" in text


def test_a_project_for_uv_takes_torch_from_its_index_alone() -> None:
    text = FORMATS["uv"](answered("torch torchvision transformers", **H100))
    assert 'requires-python = "==3.12.*"' in text
    assert 'url = "https://download.pytorch.org/whl/cu126"\nexplicit = true' in text
    assert 'torch = { index = "index-0" }\ntorchvision = { index = "index-0" }\n' in text
    assert "transformers = {" not in text


def test_lines_of_a_dockerfile_need_no_shell() -> None:
    lines = FORMATS["dockerfile"](answered("torch", **H100)).splitlines()
    assert lines[-1].startswith("RUN ")
    assert json.loads(lines[-1].removeprefix("RUN "))[:4] == ["python3.12", "-m", "pip", "install"]


def test_json_says_what_it_rests_on() -> None:
    data = json.loads(FORMATS["json"](answered("torch", **H100)))
    assert (data["schema"], data["status"]) == ("doctor.solution/1", "solved")
    assert data["resolution"]["state"] == "resolved"
    assert data["rests_on"]["as_of"].startswith("2026-")
    assert data["commands"][0][-1] == "https://download.pytorch.org/whl/cu126"


def test_no_format_names_a_package_of_a_stack_that_can_not_be() -> None:
    found = answered("torch==2.14.0+cu130", **H100)
    for name in ("requirements", "uv", "dockerfile"):
        assert "torch==2.14.0+cu130" not in [line.strip('", ') for line in FORMATS[name](found).splitlines()]


def test_an_installed_release_is_kept_where_it_fits() -> None:
    machine = {
        "gpus": [{"key": "0000:01:00.0", "vendor": "nvidia", "arch": "sm_90", "name": "NVIDIA H100"}],
        "nvidia_driver": {"version": "580.95.05"},
        "interpreter": {"path": "/opt/env/bin/python", "version": "3.12.9"},
        "packages": [{"name": "torch", "version": "2.13.0+cu130", "location": "/opt/env/lib"}],
    }
    target = from_snapshot(KB, Snapshot.model_validate(machine))
    found = settle(KB, target, ["torch"])
    assert (found.build and found.build.version, found.kept) == ("2.13.0", ("torch 2.13.0+cu130",))
    assert "  keeps torch 2.13.0+cu130, as installed\n" in as_text(found, DAY)
    asked = settle(KB, target, ["torch>=2.14"])
    assert (asked.build and asked.build.version, asked.kept) == ("2.15.0", ())


@pytest.mark.parametrize(
    ("installed", "driver", "command"),
    [
        ("2.15.0+cpu", "580.95.05", "--force-reinstall torch==2.15.0"),
        ("2.14.0+cpu", "580.95.05", "install torch==2.15.0"),
        ("2.14.1", "570.124.06", "torch==2.14.1+cu126 --index-url https://download.pytorch.org/whl/cu126"),
    ],
)
def test_another_build_of_the_release_is_replaced(installed: str, driver: str, command: str) -> None:
    target = replace(described(KB, gpu="H100", driver=driver, python="3.12"), installed=(("torch", installed),))
    found = settle(KB, target, ["torch"])
    assert (found.kept, " ".join(found.commands[0])[-len(command) :]) == ((), command)


class _Said(Uv):
    def __init__(self, code: int, stdout: str, stderr: str = "") -> None:
        self._output = Output(code, stdout, stderr, 1.0)

    def run(self, question: Question, *options: str) -> Reading[Output]:
        assert ("--generate-hashes" in options) != ("pylock.toml" in options)
        return Reading(State.VALUE, "command:uv", self._output)


def test_a_lock_is_what_uv_says_with_the_indexes_it_needs() -> None:
    found = answered("torch", **H100)
    text = locked(_Said(0, "torch==2.14.1+cu126 \\\n    --hash=sha256:00\n"), found, pylock=False)
    assert text.splitlines()[1:] == [
        "--extra-index-url https://download.pytorch.org/whl/cu126",
        "torch==2.14.1+cu126 \\",
        "    --hash=sha256:00",
    ]
    assert locked(_Said(0, 'lock-version = "1.0"\n'), found, pylock=True) == 'lock-version = "1.0"\n'
    with pytest.raises(ToolError, match="uv exited with 1: error: No solution"):
        locked(_Said(1, "", "error: No solution\n"), found, pylock=False)
