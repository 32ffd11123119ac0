"""`doctor gpu-code`: what it prints of small binaries, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.errors import ExitCode
from tests.parsers import binaries
from tests.parsers.binaries import SPECIFIC, Entry


def library(folder: Path) -> Path:
    path = folder / "libx.so"
    plain, special = binaries.fat_binary(Entry(80), Entry(90, kind=1)), binaries.fat_binary(Entry(90, flags=SPECIFIC))
    path.write_bytes(binaries.elf([(".nv_fatbin", plain + plain + special)]))
    return path


def test_objects_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, empty = library(tmp_path), tmp_path / "empty.so"
    empty.write_bytes(binaries.elf())
    assert run(["gpu-code", str(path), str(empty)]) == ExitCode.OK
    assert capsys.readouterr().out == (
        f"{path}\n  SASS:   sm_80 sm_90a\n  PTX:    compute_90\n"
        "  2 objects: sm_80 compute_90  (.nv_fatbin#0, .nv_fatbin#1)\n  1 object: sm_90a  (.nv_fatbin#2)\n"
        f"{empty}\n  no GPU code\n"
    )


def test_objects_as_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["gpu-code", "--json", str(library(tmp_path))]) == ExitCode.OK
    told = json.loads(capsys.readouterr().out)
    assert (told["sass"], told["ptx"]) == (["sm_80", "sm_90a"], ["compute_90"])
    assert told["objects"][0] == {
        "archs": ["sm_80", "compute_90"],
        "number": 2,
        "names": [".nv_fatbin#0", ".nv_fatbin#1"],
    }


def test_what_is_no_binary_is_wrong_input_and_the_others_are_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = tmp_path / "notes.txt"
    text.write_text("no library")
    assert run(["gpu-code", str(text), str(library(tmp_path)), str(tmp_path / "nonesuch")]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert "sm_90a" in out
    assert "not an ELF file" in err
    assert "nonesuch: No such file or directory" in err


def test_half_a_library_is_not_one_without_gpu_code(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    half, whole = tmp_path / "half.so", library(tmp_path).read_bytes()
    half.write_bytes(whole[: len(whole) // 2])
    assert run(["gpu-code", str(half)]) == ExitCode.USAGE
    out, err = capsys.readouterr()
    assert out == ""
    assert "half.so: cut off" in err
