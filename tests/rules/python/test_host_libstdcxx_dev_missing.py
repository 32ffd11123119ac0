"""clang takes the newest gcc folder: whether that release's C++ headers are there."""

from __future__ import annotations

import pytest

from doctor.knowledge import Knowledge
from doctor.rules.python import host_libstdcxx_dev_missing as rule
from tests.rules.machines import Facts, rx7900_desktop

HIPCC: Facts = {f"tools[/usr/bin/hipcc].{f}": v for f, v in {"name": "hipcc", "kind": "compiler"}.items()}


def found(runtimes: tuple[str, ...] | None, headers: tuple[str, ...] | None, tools: Facts | None = None) -> list[str]:
    facts = {"host.gcc_runtimes": runtimes, "host.libstdcxx_headers": headers} | (HIPCC if tools is None else tools)
    return [f.summary for f in rule.check(rx7900_desktop(facts), Knowledge(), None)]


def test_ubuntu_22_04_with_the_runtime_of_gcc_12_alone() -> None:
    assert found(("11", "12"), ("11",)) == ["hipcc uses gcc 12, but its C++ headers are not installed."]


@pytest.mark.parametrize(
    ("runtimes", "headers"),
    [(("11", "12"), ("11", "12")), (("11",), ("11", "12")), (("13.3.0",), ("13",)), ((), ("11",)), (None, ("11",)),
     (("12",), None)],
)  # fmt: skip
def test_headers_that_are_there_and_what_is_not_known(
    runtimes: tuple[str, ...] | None, headers: tuple[str, ...] | None
) -> None:
    assert found(runtimes, headers) == []


def test_without_a_clang_of_rocm_nothing_minds() -> None:
    assert found(("12",), (), {"tools": []}) == []
