"""TunableOp: which entries are measured again, how a budget ends, and where torch looks for a file."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest

from doctor.bench import tunableop
from doctor.bench.runner import Runner
from doctor.errors import InputError
from doctor.facts.gemm import Spread
from doctor.flags.situation import Situation
from doctor.flags.tunable import stale
from doctor.parsers.blas.tunableop_csv import entries
from tests.bench.test_bench import runner
from tests.rules.machines import mi300x_host

FILE = """Validator,PT_VERSION,2.9.1
GemmTunableOp_BFloat16_TN,tn_6144_8_2560_ld_2560_2560_6144,Gemm_Hipblaslt_6849,0.200725
GemmTunableOp_BFloat16_TN,tn_6144_8_2560_ld_2560_2560_6144,Gemm_Rocblas_1,0.3
GemmStridedBatchedTunableOp_Half_NT,nt_64_32_128_B_16_ld_64_32_64,Gemm_Rocblas_45,0.01
GemmTunableOp_float_NN,nn_8192_8192_8192_ld_8192_8192_8192,Default,9.5
GemmTunableOp_float_NN,nn_64_64_64_ld_128_64_64,Gemm_Rocblas_7,9.5
GemmTunableOp_float_NN,nn_64_32_16,Gemm_Rocblas_8,9.5
"""


def test_the_first_entry_of_each_product_is_measured_again_as_torch_takes_it() -> None:
    todo, refused = tunableop.cases_of(entries(FILE))
    assert [(case["solution"], case["sizes"], case["batch"]) for case in todo] == [
        ("Gemm_Hipblaslt_6849", [6144, 8, 2560], 1),
        ("Gemm_Rocblas_45", [64, 32, 128], 16),
        ("Gemm_Rocblas_8", [64, 32, 16], 1),  # torch before 2.7 wrote no distances of rows
    ]
    assert refused == ["GemmTunableOp_float_NN/nn_64_64_64_ld_128_64_64: part of a larger matrix, or an unknown form"]


OF_A_WHEEL = {"PT_VERSION": "2.9.1", "HIP_VERSION": "702", "HIPBLASLT_VERSION": "100201-5b515cf1bc",
              "GCN_ARCH_NAME": "gfx942:sramecc+:xnack-", "ROCBLAS_VERSION": "5.2.0.5b515cf1bc"}  # fmt: skip
"""As torch 2.9.1 of ROCm 7.2 writes them."""


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({}, None),
        ({"PT_VERSION": "2.8.0"}, "PT_VERSION 2.8.0, torch is 2.9.1+rocm7.2"),
        ({"HIP_VERSION": "604"}, "HIP_VERSION 604, ROCm is 7.2"),
        ({"ROCM_VERSION": "6.4.0.0-1-a"}, "ROCM_VERSION 6.4.0.0-1-a, ROCm is 7.2"),
        ({"GCN_ARCH_NAME": "gfx950:sramecc+:xnack-"}, "GCN_ARCH_NAME gfx950, the GPU is gfx942"),
    ],
)
def test_a_file_of_another_torch_rocm_or_gpu_is_stale(changed: dict[str, str], said: str | None) -> None:
    machine = mi300x_host({"torch.version": "2.9.1+rocm7.2", "torch.rocm": "7.2"})
    assert list(stale({**OF_A_WHEEL, **changed}, Situation({}, machine))) == ([said] if said else [])
    assert not list(stale({**OF_A_WHEEL, **changed}, Situation({})))


def by_torch(variable: str, number: str) -> str:
    """SetFilename of ATen/cuda/tunable/Tunable.cpp, said again here."""
    if "%d" in variable:
        return variable.replace("%d", number, 1)
    at = variable.rfind(".")
    return variable + number if at < 0 else variable[:at] + number + variable[at:]


@pytest.mark.parametrize(
    ("output", "device", "file"),
    [
        ("tuned.csv", "cuda:0", "tuned0.csv"),
        ("tuned0.csv", "cuda:0", "tuned0.csv"),
        ("tuned10.csv", "cuda:0", "tuned100.csv"),
        ("./a.b/tuned", "cuda:2", "a.b/tuned2"),
        ("tuned", "cuda:2", "tuned2"),
        ("t%d.csv", "cuda:11", "t11.csv"),
        ("out/0.csv", "cuda:0", "out/00.csv"),
    ],
)
def test_torch_finds_what_was_written(output: str, device: str, file: str) -> None:
    found, variable = tunableop.placed(Path(output), device)
    assert str(found) == file == by_torch(variable, device.rpartition(":")[2])


TUNER = """
import json, os, sys, time
request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")
def send(**e):
    out.write(json.dumps(e) + "\\n"); out.flush()
assert os.environ["PYTORCH_TUNABLEOP_FILENAME"] == request["file"]
assert [k for k in os.environ if "TUNABLEOP" in k] == ["PYTORCH_TUNABLEOP_FILENAME"], "they would win over the switch"
if request["mode"] == "tuned":
    send(event="loaded", taken=TAKEN, validators=[["PT_VERSION", "2.9.1"], ["HIPBLASLT_VERSION", "1.1"]])
for case in request["cases"]:
    send(event="begin", case=case["key"])
    if request["mode"] == "tune":
        if "128" in case["shape"]:
            open(request["file"], "a").write("half")
            time.sleep(600)
        send(event="tuned", case=case["key"])
        continue
    if "128" in case["shape"]:
        send(event="case", case=case["key"], refused="RuntimeError: no")
        continue
    times = {"matmul": [2.0] * 9, "matmul+tuned": [1.0] * 9}
    send(event="case", case=case["key"], times=times, wrong=None)
"""


def made(tmp_path: Path, taken: bool = True) -> Runner:
    return runner(tmp_path, TUNER.replace("TAKEN", str(taken)), silence_s=30)


def todo() -> list[dict[str, Any]]:
    return tunableop.cases(["512x512x512", "128x128x128", "256x256x256"], "bfloat16")


def test_the_budget_ends_within_a_product_too(tmp_path: Path) -> None:
    done = tunableop.Tuning()
    steps = tunableop.make(made(tmp_path), "cuda:0", todo(), str(tmp_path / "r.csv"), 1.0, done)
    assert [step.what for step in steps] == ["tuning bfloat16/512x512x512", "tuning bfloat16/128x128x128"]
    assert done.left == ["bfloat16/128x128x128 (begun)", "bfloat16/256x256x256"]
    assert done.trouble is None
    assert (tmp_path / "r.csv").read_text() == "half"


def test_tuned_products_are_measured_beside_the_default(tmp_path: Path) -> None:
    done = tunableop.Tuning()
    list(tunableop.measure(made(tmp_path), "cuda:0", todo(), str(tmp_path / "r.csv"), done))
    assert [(one.key, one.ratio) for one in done.tuned] == [
        ("matmul/bfloat16/512x512x512", Spread(p50=0.5, low=0.5, high=0.5, repeats=9, coverage=0.9609)),
        ("matmul/bfloat16/256x256x256", Spread(p50=0.5, low=0.5, high=0.5, repeats=9, coverage=0.9609)),
    ]
    assert done.refused == ["bfloat16/128x128x128: RuntimeError: no"]
    assert not {name for name in os.environ if re.match("PYTORCH_TUNABLEOP", name)}, "nothing is left on"


def test_validators_that_differ_are_told(tmp_path: Path) -> None:
    done = tunableop.Tuning()
    validators = {"PT_VERSION": "2.6.0", "HIPBLASLT_VERSION": "1.1", "ROCBLAS_VERSION": "5"}
    list(tunableop.measure(made(tmp_path, taken=False), "cuda:0", [], "r.csv", done, validators))
    assert done.trouble == "torch did not load the file: PT_VERSION is 2.6.0 in the file, 2.9.1 on this machine"


def test_a_tuner_that_dies_is_told(tmp_path: Path) -> None:
    done = tunableop.Tuning()
    dying = runner(tmp_path, "raise SystemExit('no GPU')")
    assert list(tunableop.make(dying, "cuda:0", todo(), "r.csv", 5.0, done)) == []
    assert done.trouble == "exited with 1: no GPU"
    with pytest.raises(InputError, match="invalid --shape"):
        tunableop.cases(["8192"], "bfloat16")
