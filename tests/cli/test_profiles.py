"""`doctor profiles`: each command, on this machine, a captured tree and files of one's own."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.live.trees import lay_out
from tests.paths import needs_shared


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "doctor/profiles").mkdir(parents=True)
    return tmp_path / "doctor/profiles"


OWN = 'schema = 1\nname = "farm"\nabout = "Ours"\nstatus = "run-here"\nextends = ["mi300x+rocm7.2"]\n'


def test_list_shows_yours_too(own: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (own / "farm.toml").write_text(OWN)
    assert run(["profiles", "list", "--format", "json"]) == 0
    rows = {row["name"]: row for row in json.loads(capsys.readouterr().out)}
    assert rows["farm"] == {"name": "farm", "status": "run-here", "whose": "yours", "about": "Ours"}
    assert rows["mi300x+rocm7.2"]["whose"] == "shipped"
    (own / "bad.toml").write_text("schema = 1\n")
    assert run(["profiles", "list"]) == 2
    assert "bad.toml" in capsys.readouterr().err


def test_show_says_who_stands_behind_each_value(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["profiles", "show", "mi355x+rocm7.14+train"]) == 0
    text = capsys.readouterr().out
    assert (
        "  RCCL_WARP_SPEED_AUTO=0 (workload)\n    WarpSpeed can give NaN on gfx950.\n    vendor-matrix, 2026-08-20: "
        in text
    )
    assert "  gemm bf16 8192x8192x16384: at least 956 TFLOP/s, hipBLASLt\n" in text
    assert run(["profiles", "show", "t4+cuda13.0"]) == 0
    assert "No baseline: no source gives a number" in capsys.readouterr().out


def test_validate_lists_all_faults_with_their_lines(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "p.toml"
    path.write_text('schema = 1\nname = "P"\nabout = ""\nstatus = "mine"\n')
    assert run(["profiles", "validate", str(path), "h100+cuda13.0"]) == 2
    told = capsys.readouterr()
    assert told.out == "h100+cuda13.0: valid\n"
    assert [line.partition(": ")[2][:20] for line in told.err.splitlines()] == [
        "line 2: name: 'P' is",
        "line 3: about: is em",
        "line 4: status: is t",
        "1 of 2 profiles with",
    ]


@needs_shared
@pytest.mark.slow
def test_match_and_diff_of_a_captured_node_of_64_partitions(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(lay_out("amd-mi300x-8gpu-cpx-kfd", tmp_path / "root"))
    assert run(["profiles", "match", "--root", root, "--workload", "serve"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("mi300x+rocm7.14+vllm: its hardware is this machine's (8× AMD Instinct MI300X); before ")
    assert "MI300X); before mi300x+rocm7.14: it is for the workload serve\n" in text
    assert "\nAlso fit, in this order:\n  mi300x+rocm7.14: order 10, " in text
    why_not = "PCI id 1002:74a1 of AMD Instinct MI300X is not among its 1002:75a3, 1002:75b3"
    assert f"\n  {why_not}: mi355x+rocm7.14, mi355x+rocm7.14+train, mi355x+rocm7.14+vllm, " in text
    assert run(["profiles", "diff", "h100+cuda13.0", "--root", root]) == 4
    assert capsys.readouterr().out.endswith("\n0 hold, 0 do not, 11 could not be checked.\n")
    assert run(["profiles", "capture", "golden", "--root", root]) == 2  # a topology alone is no node to hold others to
    assert "nothing but its GPUs is known" in capsys.readouterr().err


@needs_shared
def test_capture_and_diff_of_a_captured_desktop(tmp_path: Path, capsys: pytest.CaptureFixture[str], own: Path) -> None:
    root = str(lay_out("amd-rx9070xt-drm-sysfs", tmp_path / "desktop"))
    golden = own / "golden.toml"
    assert run(["profiles", "capture", "golden", "--root", root, "-o", str(golden)]) == 0
    assert "not known here, so not in the profile: " in capsys.readouterr().err
    assert run(["profiles", "diff", "golden", "--root", root]) == 0
    *told, counts = capsys.readouterr().out.splitlines()
    assert {line.split()[0] for line in told} == {"holds"}
    assert counts == f"{len(told)} hold, 0 do not, 0 could not be checked."
    assert run(["profiles", "diff", "golden", "rx9070+rocm7.2"]) == 1
    assert run(
        ["check", "--root", root, "--profile", "golden", "--format", "json", "-o", str(tmp_path / "r.json")]
    ) in (0, 1)
    report = json.loads((tmp_path / "r.json").read_text())
    assert (report["profile"]["status"], report["profile"]["chosen"]) == ("captured", "named")


@needs_shared
def test_check_says_which_profile_and_who_stands_behind_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    root = str(lay_out("amd-rx9070xt-drm-sysfs", tmp_path / "root"))
    run(["check", "--root", root, "-v"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Compared with profile rx9070+rocm7.14: " in text
    assert "gpus[*].driver holds: amdgpu is expected, it is amdgpu (vendor-matrix, 2026-01-20)" in text
    assert "torch.version could not be checked: 2.14.* is expected, it is not known" in text


@needs_shared
def test_an_unlisted_gpu_is_told_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(["check", "--root", str(lay_out("nvidia-rtx4080-drm-sysfs", tmp_path / "root")), "-v"])
    text = " ".join(capsys.readouterr().out.split())
    assert "Not compared with a profile: no profile is for this hardware (" in text


def test_wrong_usage(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for args in (
        ["match", "--workload", "mine"], ["match", "--from", str(tmp_path), "--root", str(tmp_path)],
        ["show", "t4+cuda13.0", "--format", "xml"], ["capture", "../x", "--root", str(tmp_path)],
        ["diff", "t4+cuda13.0", "t4+cuda13.2", "--root", str(tmp_path)],
    ):  # fmt: skip
        assert run(["profiles", *args]) == 2, args
        assert capsys.readouterr().err.startswith("doctor: ")


def test_of_a_folder_its_profiles_are_validated_and_what_they_extend_is_not(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/part.toml").write_text('[needs]\nshm = "8G"\n')
    (tmp_path / "farm.toml").write_text(OWN)
    assert run(["profiles", "validate", str(tmp_path)]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/farm.toml: valid\n"
    (tmp_path / "bad.toml").write_text(OWN.replace("run-here", "hearsay"))
    assert run(["profiles", "validate", str(tmp_path)]) == 2
    assert "1 of 2 profiles with faults" in capsys.readouterr().err
    assert run(["profiles", "validate", str(tmp_path / "parts/..") + "/nothing/"]) == 2
