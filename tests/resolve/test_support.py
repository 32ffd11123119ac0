"""What `solve` says of AMD GPUs that AMD does not list: who supports them, and the override that owners use."""

from __future__ import annotations

import datetime
import json

import pytest

from doctor.knowledge import Knowledge
from doctor.knowledge.gfx_support import support_of
from doctor.resolve import described, gate, settle
from doctor.resolve.formats import as_json, as_text
from doctor.resolve.model import Resolution, Solution
from doctor.resolve.resolver import Question

KB = Knowledge()


def accepts(_: Question) -> Resolution:
    return Resolution("resolved", "uv", "an index", "2026-11-23", "1 package")


def refuses_rocm(asked: Question) -> Resolution:
    return Resolution("refused" if any("rocm" in url for url in asked.indexes) else "resolved", "uv")


def solved(gpu: str, ask: object = accepts, driver: str | None = None) -> Solution:
    return settle(KB, described(KB, gpu, driver, python="3.12"), ["torch"], "pip", ask)  # type: ignore[arg-type]


def text(found: Solution) -> str:
    return as_text(found, datetime.date(2026, 11, 23))


def test_a_gpu_that_amd_never_listed_has_its_tiers_and_the_stack_of_its_relative() -> None:
    found = solved("gfx1031", driver="6.4.1")
    answer = text(found)
    assert "\n  support of gfx1031:\n    AMD: no ROCm release since 5.0.0 lists gfx1031\n" in answer
    assert "    Unofficial: HSA_OVERRIDE_GFX_VERSION=10.3.0 runs the code of gfx1030; programs can crash" in answer
    own = found.unofficial
    assert own is not None
    assert (own.variable, own.runs_as) == ("HSA_OVERRIDE_GFX_VERSION=10.3.0", "gfx1030")
    assert own.stack == solved("gfx1030", driver="6.4.1").stack
    assert f"    with {own.variable}: {own.stack}, resolved by uv" in answer
    assert own.risk in json.loads(as_json(found))["unofficial"]["risk"]


def test_an_override_is_not_printed_where_wheels_have_the_code(monkeypatch: pytest.MonkeyPatch) -> None:
    """gfx1103 had an override before PyTorch's wheels had its code, and before AMD listed it."""
    before = support_of(KB, "gfx1103")._replace(rocm=None, is_listed_now=False)
    monkeypatch.setattr(gate, "support_of", lambda *_: before)
    found = solved("gfx1103")
    assert "AMD: no ROCm release since 5.0.0 lists gfx1103" in text(found)
    assert (found.unofficial, "OVERRIDE" in text(found)) == (None, False)


def test_an_override_is_not_printed_beside_wheels_that_amd_released() -> None:
    found = solved("gfx1031", driver="30.10")
    assert (found.status, found.unofficial, "OVERRIDE" in text(found)) == ("solved", None, False)
    assert "device-gfx1031" in text(found)


def test_a_wheel_that_is_not_the_answer_is_not_praised_beside_it() -> None:
    """gfx906: newer wheels have torch's kernels, and a rocBLAS without any."""
    found = solved("gfx906")
    assert found.build is not None
    assert "AMD: ROCm 5.0.0 to 5.7.1 list gfx906, newer ones do not" in text(found)
    assert "PyTorch: torch" not in text(found)


@pytest.mark.parametrize("gpu", ["gfx942", "gfx1100", "gfx1103", "sm_90"])
def test_a_supported_gpu_has_no_such_lines(gpu: str) -> None:
    assert (solved(gpu).support, solved(gpu).unofficial) == ((), None)


def test_nothing_is_said_of_a_gpu_that_nobody_knows() -> None:
    assert solved("gfx9999").support == ()
    assert "No override works" in text(solved("gfx803"))


def test_a_stack_that_the_resolver_refuses_is_not_offered_for_a_relative() -> None:
    assert solved("gfx90c", refuses_rocm).unofficial is None
