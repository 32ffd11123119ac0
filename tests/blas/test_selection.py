"""Each of the published selection rules, for every torch series, build, set of GPUs and flag, as torch's own steps go.

The steps are those of torch's source, said again here without the tables that the prediction reads: what
`blas_preferred_backend` starts as (aten/src/ATen/Context.h in the wheels of 2.4.1, 2.7.1, 2.10.0, 2.11.0 and 2.13.0,
and in the source of 2.6.0), what `Context::blasPreferredBackend` makes of it (Context.cpp of 2.6.0 and 2.8, and
CUDAHooks.cpp's lists of 2026), and whether `addmm_out_cuda_impl` takes hipBLASLt for a bias (native/cuda/Blas.cpp).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import product

import yaml

from doctor.blas.predict import predict
from doctor.knowledge.store import table
from tests.blas.test_predict import libraries, of
from tests.each import each
from tests.paths import SHARED, needs_shared

HIP, CUDA, OFF = "TORCH_BLAS_PREFER_HIPBLASLT", "TORCH_BLAS_PREFER_CUBLASLT", "DISABLE_ADDMM_CUDA_LT"
INSTINCT = ("gfx90a", "gfx942")
OLD = (*INSTINCT, "gfx940", "gfx941")
SERIES = (
    "2.2.2", "2.3.1", "2.4.1", "2.5.1", "2.6.0", "2.7.1", "2.8.0", "2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0",
    "2.14.1",
)  # fmt: skip
MACHINES = (
    ["gfx90a"], ["gfx942", "gfx942"], ["gfx908"], ["gfx906"], ["gfx950"], ["gfx1100"], ["gfx1151"], ["gfx1201"],
    ["gfx942", "gfx1036"], ["gfx1201", "gfx1100"], ["gfx90a", "gfx942"],
)  # fmt: skip
FLAGS: tuple[dict[str, str], ...] = (
    {}, {HIP: "1"}, {HIP: "0"}, {CUDA: "1"}, {CUDA: "0"}, {HIP: "0", CUDA: "1"}, {HIP: "1", CUDA: "0"}, {HIP: "yes"},
    {HIP: ""}, {OFF: "1"}, {OFF: "0"}, {HIP: "1", OFF: "1"},
)  # fmt: skip


UNSURE = ((2, 12), (2, 13))
"""No source has their lists of supported GPUs: gfx1151 came into them between 2.11 and 2.14."""


def number(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in version.split("."))[:2]


def asked(env: Mapping[str, str], name: str) -> bool | None:
    """c10::utils::check_env: exactly 1 or 0, else as if it were not set."""
    return {"1": True, "0": False}.get(env.get(name, ""))


def start(torch: tuple[int, ...], env: Mapping[str, str]) -> str:
    """The member's initial value in Context.h."""
    on = asked(env, CUDA) is True or asked(env, HIP) is True
    if torch < (2, 5):
        return "lt" if on and torch >= (2, 4) else "blas"
    if torch < (2, 7):
        return "lt" if asked(env, HIP) is not False else "blas"
    if on:
        return "lt"
    off = asked(env, CUDA) is False or asked(env, HIP) is False
    return "blas" if off and torch >= (2, 12) else "default"


def preferred(torch: tuple[int, ...], rocm: tuple[int, ...]) -> set[str]:
    if torch < (2, 7):
        return set()
    found = set(INSTINCT)
    found |= {"gfx1200", "gfx1201"} if torch >= (2, 8) and rocm >= (6, 4) else set()
    return found | ({"gfx950"} if rocm >= (6, 5) else set())


def supported(torch: tuple[int, ...], rocm: tuple[int, ...]) -> set[str]:
    found = set(OLD if torch < (2, 7) else INSTINCT)
    if rocm >= (6, 3):
        found |= {"gfx1100", "gfx1101"} if torch >= (2, 5) else set()
        found |= {"gfx1200", "gfx1201"} if torch >= (2, 7) else set()
        found |= {"gfx908"} if torch >= (2, 9) else set()
        found |= {"gfx1103"} if torch >= (2, 14) else set()
    if rocm >= (7, 0):
        found |= {"gfx1150", "gfx1151"} if torch >= (2, 14) else set()
    return found | ({"gfx950"} if torch >= (2, 7) and rocm >= (6, 5) else set())


def by_torch(version: str, rocm: str, archs: Sequence[str], env: Mapping[str, str]) -> tuple[str, str]:
    """The getter, and the fused bias."""
    torch, build = number(version), number(rocm)
    chosen = start(torch, env)
    if chosen == "default":
        chosen = "lt" if all(arch in preferred(torch, build) for arch in archs) else "blas"
    known = all(arch in supported(torch, build) for arch in archs)
    if chosen == "lt" and not known:
        chosen = "blas"
    off = env.get(OFF)
    follows = torch < (2, 4) or not known or off == "1" or (torch >= (2, 12) and off is None)
    bias = chosen if follows else "lt"
    named = {"lt": "hipblaslt", "blas": "rocblas"}
    return named[chosen], named[bias]


@each("version", SERIES)
def test_every_build_machine_and_flag_as_torch_does(version: str) -> None:
    for rocm, archs in product(("6.1", "6.3", "6.4", "7.0"), MACHINES):
        machine = of(f"{version}+rocm{rocm}", archs, rocm)
        for env in FLAGS:
            told = predict(machine.model_copy(update={"environment": env}))
            said = tuple(next(p.library for p in told if p.entry == entry) for entry in ("mm", "linear-bias"))
            wanted = by_torch(version, rocm, archs, env)
            if number(version) in UNSURE and "gfx1151" in archs:
                assert all(one in (None, right) for one, right in zip(said, wanted, strict=True))
            else:
                assert said == wanted, (version, rocm, archs, env)


@needs_shared
def test_every_published_rule_is_in_the_table_and_was_tried() -> None:
    facts = yaml.safe_load((SHARED / "facts/amd/hipblaslt.yaml").read_text(encoding="utf-8"))
    published = {str(rule["torch"]) for rule in facts["selection"]}
    assert len(published) == 10
    assert published == set(table("blas_selection"))
    upstream = {key for key in published if not key.startswith("ROCm/pytorch")}
    tried = {key for key in upstream for version in SERIES if _of(key, number(version))}
    assert tried == upstream


def _of(key: str, torch: tuple[int, ...]) -> bool:
    if key.startswith("<="):
        return torch <= number(key[2:])
    if key.startswith("main"):
        return torch >= (2, 14)
    first, _, last = key.partition("-")
    return number(first) <= torch <= number(last or first)


@each("version", ["2.9.1", "2.10.0", "2.11.0", "2.12.1", "2.13.0"])
@each("arch", ["gfx1100", "gfx1101", "gfx1102", "gfx1150", "gfx1151", "gfx942", "gfx1201"])
def test_amds_own_wheels_prefer_more(version: str, arch: str) -> None:
    """The tenth rule: the fork's list, under the same version."""
    assert libraries(f"{version}+rocm7.2.0.git7e1940d4", [arch], "7.2")[0] == "hipblaslt"
    assert libraries(f"{version}+rocm7.2.0.git7e1940d4", ["gfx1030"], "7.2")[0] == "rocblas"
