"""Names in XLA_FLAGS against those in the library of the jaxlib at hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from doctor.facts.python import Package
from doctor.flags import xla
from doctor.system.tree import TreeSystem
from tests.each import each
from tests.flags.situations import of

KNOWN = b"\0xla_gpu_autotune_level\0xla_gpu_enable_triton_gemm\0see xla_gpu_graph_level for more\0"


def said(root: Path, flags: str, version: str = "0.10.2") -> list[str]:
    situation = of(f"XLA_FLAGS='{flags}'")
    jaxlib = Package(name="jaxlib", version=version, location="/site")
    machine = situation.machine.model_copy(update={"packages": (jaxlib,)})
    return [f.summary for f in xla.look(TreeSystem(root), replace(situation, machine=machine))]


@pytest.fixture(params=["libjax_common.so", "xla_extension.so"])
def root(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    library = tmp_path / "site/jaxlib" / request.param
    library.parent.mkdir(parents=True)
    library.write_bytes(b"\x7fELF" + bytes(5000) + KNOWN)
    return tmp_path


def test_a_name_that_is_only_spoken_of_is_unknown(root: Path) -> None:
    (found,) = said(root, "--xla_gpu_autotune_level=4 --xla_gpu_graph_level=0")
    assert "--xla_gpu_graph_level, which jaxlib 0.10.2 does not know" in found


@each(
    "flags",
    ["", "--xla_gpu_autotune_level=4 --xla_gpu_enable_triton_gemm", "/etc/flags --xla_gpu_x_y_z=1", "--xla_a=1"],
)
def test_known_names_and_files_are_nothing_to_say(root: Path, flags: str) -> None:
    assert said(root, flags) == []


def test_a_name_across_two_pieces_is_found(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(xla, "_PIECE", 5000 + 4 + 12)
    assert said(root, "--xla_gpu_autotune_level=4") == []


def test_without_the_library_nothing_is_said(tmp_path: Path) -> None:
    (tmp_path / "site").mkdir()
    assert said(tmp_path, "--xla_gpu_graph_level=0") == []
    assert list(xla.look(TreeSystem(tmp_path), of("XLA_FLAGS=--xla_gpu_graph_level=0"))) == []
