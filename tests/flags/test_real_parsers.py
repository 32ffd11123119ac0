"""Grammars against the parsers themselves: torch, glibc (test_grammars.py), Triton, vLLM, accelerate, XLA.

Those of torch run wherever DOCTOR_CPU_TORCH_ENV names an environment with torch (CI makes one: .ci/torch). The others
by hand: `DOCTOR_WHEELS=FOLDER pytest -m slow tests/flags/test_real_parsers.py`; FOLDER holds wheels between runs;
DOCTOR_JAX_PATH and DOCTOR_TRITON_PATH are folders with jax and jaxlib, and with triton. docs/slow-tier.md logs it.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.flags import grammars, lists
from tests.live.wheels import Wheels

WORDS = ("1", "0", "", "true", "True", "TRUE", "false", "False", "yes", "no", "y", "n", "t", "f", "on", "off", "2", "x")
TORCH = f"{os.environ.get('DOCTOR_CPU_TORCH_ENV', '')}/bin/python"
needs_torch = pytest.mark.skipif(
    not Path(TORCH).exists(), reason="DOCTOR_CPU_TORCH_ENV names no environment with torch"
)
slow = pytest.mark.slow


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Wheels:
    folder = Path(os.environ.get("DOCTOR_WHEELS") or tmp_path_factory.mktemp("wheels"))
    return Wheels(folder, tmp_path_factory.mktemp("unpacked"))


def loaded(wheel: Path, member: str, folder: Path) -> Any:
    """One module of a wheel, without its package."""
    with zipfile.ZipFile(wheel) as content:
        path = Path(content.extract(member, folder))
    spec = importlib.util.spec_from_file_location(f"real_{path.stem}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def ask(python: str, code: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [python, "-c", code], env={**os.environ, **env}, capture_output=True, text=True, timeout=300, check=False
    )


ALLOCATOR = (
    "expandable_segments:True", "expandable_segments:true", "expandable_segments=True", "expandable_segments: True",
    "max_split_size_mb:20", "max_split_size_mb:19", "max_split_size_mb:x", "garbage_collection_threshold:0.8",
    "garbage_collection_threshold:1.5", "garbage_collection_threshold:0", "roundup_power2_divisions:4",
    "roundup_power2_divisions:3", "roundup_power2_divisions:[256:1,512:2,>:8]", "expandable_segments:True,",
    "large_segment_size_mb:10", "max_non_split_rounding_mb:10", "max_non_split_rounding_mb:30", ",", "backend:native",
)  # fmt: skip


@needs_torch
def test_allocator_of_torch() -> None:
    """torch.2.13: c10's AllocatorConfig, by torch._C._accelerator_setAllocatorSettings."""
    code = "import sys, torch\nfor t in sys.stdin.read().split('\\n'):\n"
    code += " try: torch._C._accelerator_setAllocatorSettings(t); print(1)\n except Exception: print(0)"
    done = subprocess.run([TORCH, "-c", code], input="\n".join(ALLOCATOR), capture_output=True, text=True, check=True)
    answers = dict(zip(ALLOCATOR, done.stdout.split(), strict=True))
    assert answers == {text: "0" if lists.allocator(text).state == "fails" else "1" for text in ALLOCATOR}


@needs_torch
@pytest.mark.parametrize("word", ["1", "0", "true"])
def test_boolean_flags_of_c10(word: str) -> None:
    """torch 2.13: c10::utils::check_env, which reads TORCH_SHOW_CPP_STACKTRACES."""
    code = "import torch\ntry: torch.zeros(2,3) @ torch.zeros(2,3)\nexcept RuntimeError as e: print('C++' in str(e))"
    done = ask(TORCH, code, TORCH_SHOW_CPP_STACKTRACES=word)
    reading = grammars.read("c10_01", word)
    assert reading is not None
    assert ("Ignoring invalid value" in done.stderr) is (reading.state == "ignored")
    assert done.stdout.strip() == str(reading.value is True)


@needs_torch
def test_boolean_flags_of_c10d(tmp_path: Path) -> None:
    """torch 2.13: c10d's getCvarBool, which reads TORCH_GLOO_LAZY_INIT whenever a process group is made."""
    words = [word for word in WORDS if word]
    code = (
        "import os, torch.distributed as d\n"
        "for n, w in enumerate(os.environ['WORDS'].split(',')):\n"
        " os.environ['TORCH_GLOO_LAZY_INIT'] = w\n"
        f" try: d.init_process_group('gloo', init_method=f'file://{tmp_path}/{{n}}', rank=0, world_size=1)\n"
        " except Exception as e: print('Invalid value for environment variable' in str(e))\n"
        " else: d.destroy_process_group(); print('taken')"
    )
    done = ask(TORCH, code, WORDS=",".join(words))
    readings = {word: grammars.read("c10d_bool", word) for word in words}
    expected = {word: "True" if reading and reading.state == "fails" else "taken" for word, reading in readings.items()}
    assert dict(zip(words, done.stdout.split(), strict=True)) == expected, done.stderr[-500:]


@needs_torch
def test_the_debug_level_of_torch_distributed() -> None:
    """torch 2.13: c10d's setDebugLevelFromEnvironment takes any case and refuses other words."""
    words = ("DETAIL", "detail", "INFO", "off", "true", "1")
    code = (
        "import os, torch.distributed as d\n"
        "for w in os.environ['WORDS'].split(','):\n"
        " os.environ['TORCH_DISTRIBUTED_DEBUG'] = w\n"
        " try: d.set_debug_level_from_env(); print(d.get_debug_level().name)\n"
        " except Exception: print('refused')"
    )
    done = ask(TORCH, code, WORDS=",".join(words))
    assert done.stdout.split() == ["DETAIL", "DETAIL", "INFO", "OFF", "refused", "refused"], done.stderr[-500:]


@slow
@pytest.mark.skipif("DOCTOR_TRITON_PATH" not in os.environ, reason="DOCTOR_TRITON_PATH names no folder with triton")
def test_boolean_flags_of_triton() -> None:
    """triton 3.5.0: its library's getenv_bool, by triton.knobs.env_bool; the default is on."""
    code = "import os, triton.knobs as k\nfor w in os.environ['WORDS'].split(','):\n"
    code += " os.environ['A_KNOB'] = w\n print(k.env_bool('A_KNOB', True).get())"
    done = ask(sys.executable, code, WORDS=",".join(WORDS), PYTHONPATH=os.environ["DOCTOR_TRITON_PATH"])
    readings = [grammars.read("triton_bool", word) for word in WORDS]
    assert done.stdout.split() == [str(r.value) for r in readings if r]


@slow
@pytest.mark.parametrize(
    ("name", "grammar"),
    [
        ("VLLM_USE_DEEP_GEMM", "py_int_bool"),
        ("VLLM_ROCM_USE_AITER", "py_true_or_1"),
        ("VLLM_ALLOW_LONG_MAX_MODEL_LEN", None),
    ],
)
def test_variables_of_vllm(
    wheels: Wheels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str, grammar: str | None
) -> None:
    """vllm 0.33.0: vllm/envs.py, read by its own functions."""
    from doctor.flags.names import grammar_of

    envs = loaded(wheels.get("vllm==0.33.0", "3.12"), "vllm/envs.py", tmp_path)
    reader: Callable[[], Any] = envs.environment_variables[name]
    for word in WORDS:
        monkeypatch.setenv(name, word)
        reading = grammars.read(grammar or grammar_of(name), word)
        if reading is None:
            pytest.skip(f"no grammar is known of {name}")
        try:
            assert (bool(reader()), word) == (reading.value, word)
        except ValueError:
            assert reading.state == "fails", word


@slow
def test_every_boolean_of_vllm_as_its_grammar_says(
    wheels: Wheels, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """vllm 0.33.0: all variables whose grammar in the table is one of booleans."""
    from doctor.knowledge.store import table

    envs = loaded(wheels.get("vllm==0.33.0", "3.12"), "vllm/envs.py", tmp_path)
    wrong, asked = [], 0
    for flag in table("flags/fw_vllm").values():
        grammar, name = flag.get("grammar"), flag["name"]
        if grammar not in ("py_int_bool", "py_true_or_1", "eq1") or name not in envs.environment_variables:
            continue
        for word in ("1", "0", "true", "True", "yes", "2"):
            monkeypatch.setenv(name, word)
            reading = grammars.read(grammar, word)
            try:
                got: Any = bool(envs.environment_variables[name]())
            except (ValueError, KeyError):
                got = None
            asked += 1
            if reading is None or got is not reading.value:
                wrong.append((name, grammar, word, got))
        monkeypatch.delenv(name)
    assert asked > 100
    assert wrong == []


@slow
def test_booleans_of_accelerate(wheels: Wheels, tmp_path: Path) -> None:
    """accelerate 1.15.0: accelerate/utils/environment.py's str_to_bool, cut out of the module."""
    with zipfile.ZipFile(wheels.get("accelerate==1.15.0", "3.11")) as content:
        text = content.read("accelerate/utils/environment.py").decode()
    start = text.index("def str_to_bool")
    scope: dict[str, Any] = {}
    exec("from typing import Union\n" + text[start : text.index("\ndef ", start)], scope)
    for word in WORDS:
        reading = grammars.read("str_to_bool", word)
        assert reading is not None
        try:
            assert bool(scope["str_to_bool"](word)) is reading.value
        except ValueError:
            assert reading.state == "fails", word


XLA_TEXTS = ("", "--xla_cpu_enable_fast_math=false", "xla_cpu_enable_fast_math=false", "--xla_bogus=1")


@slow
@pytest.mark.skipif("DOCTOR_JAX_PATH" not in os.environ, reason="DOCTOR_JAX_PATH names no folder with jax")
@pytest.mark.parametrize("text", XLA_TEXTS)
def test_flags_of_xla(text: str) -> None:
    """jaxlib 0.10.2: XLA ends the process at a flag that it does not know, and at a text that is no flag."""
    done = ask(sys.executable, "import jax; jax.devices()", XLA_FLAGS=text, PYTHONPATH=os.environ["DOCTOR_JAX_PATH"])
    ends = "Unknown flag" in done.stderr or "did not start with a" in done.stderr
    assert ends is ("bogus" in text or (grammars.read("xla_flags", text) or (None, ""))[1] == "fails")
    assert (done.returncode == 0) is not ends
