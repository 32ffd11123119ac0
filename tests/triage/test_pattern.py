"""Templates of error texts: holes, literals, and what a hostile line costs."""

from __future__ import annotations

import time

import pytest

from doctor.triage.templates.pattern import compiled, normal

FOUND = [
    ("{soname}: undefined symbol: {symbol}", "ImportError: /x/torch/lib/libc10.so: undefined symbol: _ZN3c10Ev"),
    ("Module {quoted} not found in tree", "FATAL: Module 'nvidia' not found in tree"),
    ("cudaErrorUnknown {int:803|804} of runtime", "RuntimeError: cudaErrorUnknown   804 of runtime"),
    ("NVRM: Xid ({word}): {int:79}, pid", "NVRM: Xid (PCI:0000:c1:00): 79, pid=1234, GPU has fallen off the bus."),
    ("amdgpu {pci}: failed to load ucode {word}", "kernel: amdgpu 0000:03:00.0: failed to load ucode SMC(0x2E)"),
    ("requires driver {version} or newer", "it requires driver 580.65.06 or newer"),
    ("couldn't communicate with the NVIDIA driver", "because it couldn’t communicate  with the NVIDIA Driver."),
    ("no binary for {gfx}", "hip: no binary for gfx90a:sramecc+:xnack- here"),
    ("invalid option {{shm}} given to docker", "docker: invalid option {shm} given to docker"),
]
NOT_FOUND = [
    ("{soname:libcudart}: cannot open shared object", "libhipblas.so.2: cannot open shared object file"),
    ("cudaErrorUnknown {int:803|804} of runtime", "cudaErrorUnknown 8031 of runtime"),
    ("NVRM: Xid ({word}): {int:79}, pid", "NVRM: Xid (PCI:0000:c1:00): 31, pid=1234"),
    ("requires driver {version} or newer", "it requires driver or newer"),
    ("{soname}: undefined symbol: {symbol}", "my notes: undefined symbol: what is that?"),
]


def test_templates_that_stand_in_a_line() -> None:
    assert [text for text, line in FOUND if not compiled(text).found_in(normal(line))] == []


def test_templates_that_do_not() -> None:
    assert [text for text, line in NOT_FOUND if compiled(text).found_in(normal(line))] == []


@pytest.mark.parametrize(
    "text", ["{nonsense} is not loaded at all", "{int}{word} is not loaded", "no {any} x", "open {int"]
)
def test_texts_that_are_no_template(text: str) -> None:
    with pytest.raises(ValueError, match=r"literal|hole|brace"):
        compiled(text)


def test_a_line_that_repeats_a_template_costs_no_more_than_its_length() -> None:
    slowest = 0.0
    for text, line in FOUND:
        pattern = compiled(text)
        for hostile in (
            line,
            line[: len(line) // 2],
            pattern.anchor,
            "".join(p.literal or "a" for p in pattern.pieces),
        ):
            repeated = normal((hostile * (8192 // len(hostile) + 1))[:8192])
            start = time.perf_counter()
            pattern.found_in(repeated)
            slowest = max(slowest, time.perf_counter() - start)
    assert slowest < 0.05
