"""Assignments in a text: where the value ends."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.text.env_lines import read
from tests.each import each


@pytest.mark.parametrize(
    "line",
    [
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 in ~/.bashrc",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0, set by the image",
        "HSA_OVERRIDE_GFX_VERSION=10.3.0 (from the wiki)",
    ],
)
def test_a_sentence_goes_on_behind_a_value(line: str) -> None:
    assert read(line).get("environment[HSA_OVERRIDE_GFX_VERSION]") == "10.3.0"


def test_a_value_of_several_words_stays_whole() -> None:
    line = "NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470"
    assert read(line).get("environment[NVIDIA_REQUIRE_CUDA]") == "cuda>=12.4 brand=tesla,driver>=470"


@pytest.mark.parametrize(
    "line",
    [
        "HIP_VISIBLE_DEVICES=2 uses another GPU than rocm-smi shows",
        "export HIP_VISIBLE_DEVICES=2 does not help",
        "HIP_VISIBLE_DEVICES=2 has no effect",
    ],
)
def test_what_a_variable_does_is_no_part_of_its_value(line: str) -> None:
    assert read(line).get("environment[HIP_VISIBLE_DEVICES]") == "2"


@pytest.mark.parametrize("line", ["VLLM_ROCM_USE_AITER: 1", "VLLM_ROCM_USE_AITER: '1'"])
def test_a_flag_as_a_compose_file_has_it(line: str) -> None:
    assert read(line).get("environment[VLLM_ROCM_USE_AITER]") == "1"


@pytest.mark.parametrize("line", ["NCCL_IB_DISABLE: turns off InfiniBand", "NCCL_WARN: error: 3", "MODEL_NAME: 7"])
def test_a_flag_that_is_explained_is_not_set(line: str) -> None:
    with pytest.raises(ParserError):
        read(line)


def test_values_of_one_variable_that_were_tried_in_turn_are_none_of_them_set() -> None:
    with pytest.raises(ParserError):
        read("HIP_VISIBLE_DEVICES=0, HIP_VISIBLE_DEVICES=1, ROCR_VISIBLE_DEVICES=0: all crash")


def test_a_comma_between_assignments_is_no_part_of_a_value() -> None:
    sheet = read("HIP_VISIBLE_DEVICES=0, HSA_XNACK=1")
    assert sheet.get("environment[HIP_VISIBLE_DEVICES]") == "0"
    assert sheet.get("environment[HSA_XNACK]") == "1"


def test_a_program_of_any_name_that_is_given_options_is_no_part_of_a_list() -> None:
    assert read("HIP_VISIBLE_DEVICES=1,2 gemm-tool -m 64").get("environment[HIP_VISIBLE_DEVICES]") == "1,2"
    assert read("MY_FLAGS=-O2 fast -m64").get("environment[MY_FLAGS]") == "-O2 fast -m64"


def test_several_assignments_of_a_service_on_one_line() -> None:
    sheet = read("Environment=HSA_OVERRIDE_GFX_VERSION=11.0.0 HIP_VISIBLE_DEVICES=0")
    assert sheet.get("environment[HSA_OVERRIDE_GFX_VERSION]") == "11.0.0"
    assert sheet.get("environment[HIP_VISIBLE_DEVICES]") == "0"


def test_the_default_of_a_compose_file_is_the_value() -> None:
    sheet = read("      - 'HSA_OVERRIDE_GFX_VERSION=${HSA_OVERRIDE_GFX_VERSION-11.0.0}'")
    assert sheet.get("environment[HSA_OVERRIDE_GFX_VERSION]") == "11.0.0"


@pytest.mark.parametrize("value", ["None", "(not set)", "not set", "# as before"])
def test_what_says_that_a_variable_is_not_set_is_no_value(value: str) -> None:
    with pytest.raises(ParserError):
        read(f"PYTORCH_CUDA_ALLOC_CONF={value}")


def test_a_comment_behind_a_value_is_no_part_of_it() -> None:
    assert read("HSA_OVERRIDE_GFX_VERSION=10.3.0 # old card").get("environment[HSA_OVERRIDE_GFX_VERSION]") == "10.3.0"


def test_a_program_with_a_command_of_its_own_ends_the_value() -> None:
    assert read("CUDA_VISIBLE_DEVICES=0 trl sft --model m").get("environment[CUDA_VISIBLE_DEVICES]") == "0"


@each(
    "told, value",
    [
        ("set to 1", "1"),
        ("both set to 1", "1"),
        ("0 and 1", "0,1"),
        ("0, 1, 2 and 3", "0,1,2,3"),
        ("an empty string", ""),
        ("set to an empty string", ""),
        ("(empty)", ""),
        ("0,1", "0,1"),
        ("GPU-7327fca2", "GPU-7327fca2"),
    ],
)
@each("how", ["", "export "])
def test_a_value_in_words(how: str, told: str, value: str) -> None:
    assert read(f"{how}CUDA_VISIBLE_DEVICES={told}").get("environment[CUDA_VISIBLE_DEVICES]") == value


@pytest.mark.parametrize("told", ["not set in the container", "unset (default)", "removed", "not defined"])
def test_a_variable_that_is_said_to_be_unset(told: str) -> None:
    with pytest.raises(ParserError):
        read(f"export HSA_OVERRIDE_GFX_VERSION={told}")


def test_options_of_an_allocator_in_words() -> None:
    line = "export PYTORCH_CUDA_ALLOC_CONF=max_split_size_mb:512 and expandable_segments:True"
    assert read(line).get("environment[PYTORCH_CUDA_ALLOC_CONF]") == "max_split_size_mb:512,expandable_segments:True"


@pytest.mark.parametrize(("name", "value"), [("CACHE_MODE", "empty-dir"), ("BUILD_TAG", "missing_ok"), ("STEP", "set")])
def test_a_word_that_is_the_value(name: str, value: str) -> None:
    assert read(f"export {name}={value}").get(f"environment[{name}]") == value


@pytest.mark.parametrize("command", [False, True])
@pytest.mark.parametrize("value", ["empty in the worker", "set to an empty string", "cleared by the launcher"])
def test_words_that_say_that_a_list_is_empty_are_an_empty_list(value: str, *, command: bool) -> None:
    sheet = read(f"export HIP_VISIBLE_DEVICES={value}", command=command)
    assert sheet.get("environment[HIP_VISIBLE_DEVICES]") == ""


@each("command", [False, True])
@each(
    "line",
    [
        "export LD_LIBRARY_PATH=points to the toolkit",
        "export LD_LIBRARY_PATH=does not contain /usr/lib/wsl/lib",
        "export HSA_OVERRIDE_GFX_VERSION=tried with several values",
        "export NCCL_IB_DISABLE=set on one node only",
        "export ROCM_PATH=not set by the installer",
        "export HSA_ENABLE_DXG_DETECTION=unset on the host",
        "export NCCL_P2P_DISABLE=1 mitigates it",
        "export NCCL_P2P_DISABLE=1 makes the job run",
    ],
)
def test_a_sentence_in_place_of_a_value_is_none(line: str, *, command: bool) -> None:
    with pytest.raises(ParserError):
        read(line, command=command)


@each("command", [False, True])
@each(
    "line, value",
    [
        ("export NCCL_P2P_DISABLE=1 crashes too", "1"),
        ("export NCCL_P2P_DISABLE=1 makes it crash", "1"),
        ("export NCCL_SOCKET_IFNAME=lo python train.py", "lo"),
        ("export TORCH_CUDA_ARCH_LIST=default", "default"),
        ("export NCCL_ALGO=set", "set"),
        ("export MIOPEN_USER_DB_PATH=/empty cache", "/empty"),
    ],
)
def test_a_value_before_words_is_one(line: str, value: str, *, command: bool) -> None:
    name = line.split("=")[0].removeprefix("export ")
    assert read(line, command=command).get(f"environment[{name}]") == value
