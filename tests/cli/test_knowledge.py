"""`doctor knowledge` and `doctor solve`: arguments, exit code, both streams; a report names what it rests on."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.engine.knowledge_provenance import knowledge_provenance
from doctor.knowledge import Knowledge, store
from doctor.knowledge_update import pack
from doctor.triage.templates import check


@pytest.fixture(autouse=True)
def nothing_installed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    monkeypatch.setattr(store, "folders", lambda: (tmp_path / "installed",))
    store.forget()
    yield
    store.forget()


CASES = [
    (["knowledge"], 2, "", "validate"),
    (["knowledge", "show"], 0, "forward_compat_packages", ""),
    (["knowledge", "show", "xids", "79"], 0, "source: docs.nvidia.com/deploy/xid-errors", ""),
    (["knowledge", "show", "xids", "63"], 0, "fatal [gpud]", ""),
    (["knowledge", "show", "driver_branches", "580"], 0, "2028-08-04 [endoflife.date, computed by rule]", ""),
    (["knowledge", "show", "flags/nv_nccl", "NCCL_P2P_DISABLE"], 0, "NCCL_P2P_DISABLE", ""),
    (["knowledge", "show", "xidz"], 2, "", "xidz: no such table; did you mean xids?"),
    (["knowledge", "show", "xids", "potato"], 2, "", "no entry potato"),
    (["knowledge", "show", "--format", "xml"], 2, "", "(choose from text, json)"),
    (["knowledge", "sources", "cuda_majors"], 0, "docs.nvidia.com/cuda/archive", ""),
    (["knowledge", "conflicts"], 0, "kept info: the vendor's action", ""),
    (["knowledge", "age"], 0, "older than 90 days", ""),
    (["knowledge", "age", "rocm_releases", "--max-days", "0"], 1, "rocm_releases", ""),
    (["knowledge", "validate", "xids", "sxids"], 0, "206 entries of 2 tables are valid", ""),
    (["knowledge", "validate"], 0, "error texts are valid", ""),
    (["knowledge", "validate", "--file", "/nowhere"], 2, "", "/nowhere"),
    (["knowledge", "install", "/nowhere"], 2, "", "/nowhere"),
    (["knowledge", "remove"], 0, "nothing is installed", ""),
    (["solve", "--offline", "torch", "--gpu", "sm_90", "--driver", "570.124.06"], 0, "whl/cu126", ""),
    (
        ["solve", "--offline", "torch==2.14.0+cu130", "--gpu", "sm_90", "--driver", "570.124.06"],
        1,
        "closest stack that fits",
        "",
    ),
    (["solve", "--offline", "torch", "--gpu", "gfx9999"], 1, "not in the knowledge base", ""),
    (
        ["solve", "--offline", "torch", "--gpu", "sm_90", "--tool", "conda"],
        2,
        "",
        "invalid --tool 'conda' (choose from",
    ),
    (["solve", "--offline", "torch", "--gpu", "sm_90", "--from", "/x"], 2, "", "exclude each other"),
    (["solve", "--offline", "torch", "--from", "/nowhere"], 2, "", "no such file or folder"),
    (
        ["solve", "--offline", "torch", "--gpu", "sm_90", "--rocm", "7.2"],
        2,
        "",
        "--gpu sm_90 is NVIDIA's and --rocm 7.2 AMD's",
    ),
    (["solve", "--offline", "torch", "--gpu", ""], 2, "", "--gpu is empty"),
    (["solve", "--offline", "torch", "--os", "ubuntu-"], 2, "", "expected a system and its release"),
    (["solve", "--offline", "torch @ https://example.org/x.whl", "--gpu", "sm_90"], 2, "", "no URL and no marker"),
    (["solve", "--offline", 'torch; python_version < "3"', "--gpu", "sm_90"], 2, "", "no URL and no marker"),
    (["solve", "--offline", "torch", "--os", "ubuntu-24.04"], 0, "whl/cpu", "no GPU is named"),
    (["solve", "--offline"], 2, "", "name a package"),
]


@pytest.mark.parametrize(
    ("args", "code", "out", "err"), CASES, ids=lambda v: " ".join(v) if isinstance(v, list) else ""
)
def test_command(args: list[str], code: int, out: str, err: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(args) == code
    shown = capsys.readouterr()
    assert out in shown.out
    assert err in shown.err
    if code == 2:
        assert "Traceback" not in shown.err


def test_a_fault_of_the_error_texts_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(check, "faults", lambda rules: ["x.toml: one: this id is used in y.toml already"])
    monkeypatch.setattr("doctor.knowledge_update.faults_of", lambda table, rows: [])
    assert run(["knowledge", "validate"]) == 2
    assert "x.toml: one: this id is used in y.toml already" in capsys.readouterr().err


def test_json_of_a_solution_says_all_that_the_text_says(capsys: pytest.CaptureFixture[str]) -> None:
    assert (
        run(["solve", "--offline", "torch==2.14.0+cu130", "--gpu", "H100", "--driver", "570.124", "--format", "json"])
        == 1
    )
    data = json.loads(capsys.readouterr().out)
    assert (data["schema"], data["status"]) == ("doctor.solution/1", "impossible")
    assert data["nearest"]["stack"] == "torch 2.14.0+cu126"
    assert data["nearest"]["commands"][0][-1].endswith("/cu126")
    assert data["changes"][0]["text"] == "NVIDIA driver >= 580.65.06 instead of 570.124"
    assert data["reasons"][0]["source"]
    assert data["knowledge"]["release"] == store.shipped().version


@pytest.mark.parametrize("args", [["show"], ["show", "xids"], ["sources"], ["conflicts"], ["age"]])
def test_every_listing_is_had_as_json(args: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["knowledge", *args, "--format", "json"]) == 0
    assert json.loads(capsys.readouterr().out)


def test_an_unsigned_file_is_not_installed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "k.json"
    path.write_bytes(pack("2099.1.1", ("cuda_majors",)))
    assert run(["knowledge", "install", str(path)]) == 2
    assert "k.json.sig: no such signature" in capsys.readouterr().err


def test_a_report_names_old_entries_that_it_rests_on() -> None:
    kb = Knowledge()
    assert kb.rocm_supports("6.2.0", "gfx942")
    used = knowledge_provenance(kb, datetime.date(2026, 11, 21))
    assert used.aged == ("rocm_releases (2025-03-21)",)
    assert used.notes() == ("This rests on facts that are more than 90 days old: rocm_releases (2025-03-21).",)
    assert knowledge_provenance(kb, datetime.date(2026, 11, 21)).aged == ()  # the next report rests on its own answers


def test_a_report_that_rests_on_fresh_shipped_entries_says_only_the_release() -> None:
    kb = Knowledge()
    assert kb.cuda_floor("12.4")
    used = knowledge_provenance(kb, datetime.date(2026, 6, 21))
    assert (used.release, used.file, used.notes()) == (store.shipped().version, None, ())
    assert rests_on_later(kb)


def rests_on_later(kb: Knowledge) -> bool:
    """The same answer is old a year on."""
    assert kb.cuda_floor("12.4")
    return bool(knowledge_provenance(kb, datetime.date(2028, 1, 1)).aged)


def test_a_report_names_an_installed_release(monkeypatch: pytest.MonkeyPatch) -> None:
    release = store.Release("2027.1.1", "2027-01-01", Path("/x"), "k.json", "SHA256:abc")
    monkeypatch.setattr(store, "in_use", lambda: release)
    notes = knowledge_provenance(Knowledge(), datetime.date(2027, 1, 2)).notes()
    assert notes == ("Knowledge: release 2027.1.1 (as of 2027-01-01) of k.json, signed by SHA256:abc.",)


def test_every_format_that_people_read_names_the_installed_file() -> None:
    from doctor.findings import KnowledgeUsed, Report
    from doctor.report import terminal
    from doctor.report.formats import html, markdown

    used = KnowledgeUsed(release="2027.1.1", as_of="2027-01-01", file="k.json", signer="SHA256:abc")
    report = Report(doctor="0", status="ok", knowledge=used)
    for shown in (html.render(report), markdown.render(report), terminal.render(report)):
        assert "2027.1.1" in shown
        assert "SHA256:abc" in shown
