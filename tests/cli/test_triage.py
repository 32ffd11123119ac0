"""`doctor triage` from its arguments to its streams."""

from __future__ import annotations

import gzip
import io
import json
import re
from pathlib import Path

import pytest

from doctor.cli.main import run
from doctor.triage import read

MISMATCH = (
    "NVIDIA driver version: 570.124.04\nNVIDIA kernel module version: 570.124.06\n"
    "Failed to initialize NVML: Driver/library version mismatch\n"
)


def test_several_files_in_order_and_one_that_is_missing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first, last = tmp_path / "a.md", tmp_path / "b.md"
    first.write_text(MISMATCH)
    last.write_text("nothing")
    code = run(["triage", "--format", "jsonl", str(first), str(tmp_path / "no.md"), str(last)])
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert code == 2
    assert [Path(row["source"]).name for row in rows] == ["a.md", "b.md"]
    assert rows[0]["findings"][0]["rule"] == "nvidia-driver-library-mismatch"
    assert err.count("\n") == 1
    assert "no.md" in err


def test_a_user_of_the_text_does_not_rename_the_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "ollama-gpu.md"
    path.write_text("$ id\nuid=959(ollama) gid=959(ollama) groups=959(ollama),44(video)\n")
    run(["triage", "--format", "jsonl", str(path)])
    row = json.loads(capsys.readouterr().out)
    assert Path(row["source"]).name == "ollama-gpu.md"
    assert "959(ollama)" not in json.dumps(row["snapshot"])


def test_a_parser_that_fails_costs_only_what_it_would_have_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fails(text: str, source: str = "text", **how: object) -> None:
        raise IndexError(f"list index out of range in {text}")

    parser = read._parser
    monkeypatch.setattr(read, "_parser", lambda form: fails if form.parser == "uname" else parser(form))
    path = tmp_path / "a.md"
    path.write_text(f"$ uname -r\n6.8.0-51-generic\n\n{MISMATCH}")
    assert run(["triage", "--format", "jsonl", str(path), str(path)]) == 1
    out, err = capsys.readouterr()
    rows = [json.loads(line) for line in out.splitlines()]
    assert [row["findings"][0]["rule"] for row in rows] == ["nvidia-driver-library-mismatch"] * 2
    first, last = err.splitlines()
    told = r"The parser uname failed at line 2 \(IndexError at test_triage\.py:\d+\): please report this\."
    assert re.search(rf"a\.md: {told}", first)
    assert (first, "6.8.0" in err) == (last, False)  # the message may quote what was pasted
    assert run(["triage", str(path)]) == 1
    assert re.search(told, " ".join(capsys.readouterr().out.split()))
    assert run(["triage", "--format", "markdown", str(path)]) == 1
    assert "The parser uname failed at line 2" in capsys.readouterr().out


def test_json_of_several_files_is_one_array(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.md"
    path.write_text(MISMATCH)
    assert run(["triage", "--format", "json", str(path), str(path)]) == 1
    assert len(json.loads(capsys.readouterr().out)) == 2


def test_stdin(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(MISMATCH.encode())))
    assert run(["triage", "-", "--format", "markdown"]) == 1
    assert "570.124.06" in capsys.readouterr().out


def test_an_unknown_format_is_wrong_usage(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["triage", "--format", "xml", "x"]) == 2
    assert "choose from" in capsys.readouterr().err


def findings(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return [row["rule"] for row in json.loads(capsys.readouterr().out)["findings"]]


def test_a_packed_log_is_read_as_what_it_holds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "nvidia-bug-report.log.gz"
    path.write_bytes(gzip.compress(b"x\n" * 100_000 + MISMATCH.encode()))
    assert run(["triage", "--format", "jsonl", str(path)]) == 1
    assert findings(capsys)[0] == "nvidia-driver-library-mismatch"


def test_a_packed_log_that_is_cut_or_broken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.gz"
    whole = gzip.compress(MISMATCH.encode() + bytes(range(256)) * 40)
    path.write_bytes(whole[: len(whole) - 12])
    assert run(["triage", "--format", "jsonl", str(path)]) == 1
    assert findings(capsys)[0] == "nvidia-driver-library-mismatch"
    path.write_bytes(b"\x1f\x8b" + b"\xff" * 100)
    assert run(["triage", str(path)]) == 2
    assert "broken gzip" in capsys.readouterr().err


def test_our_own_report_is_judged_again(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    ticket, report = tmp_path / "a.md", tmp_path / "report.json"
    ticket.write_text(MISMATCH)
    run(["triage", "--format", "json", str(ticket)])
    report.write_text(capsys.readouterr().out)
    assert run(["triage", "--format", "jsonl", str(report)]) == 1
    assert findings(capsys)[0] == "nvidia-driver-library-mismatch"


def test_a_stream_without_an_end_is_read_to_a_limit_and_that_is_said(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("doctor.cli.triage._PLAIN_LIMIT", 1 << 20)
    with Path("/dev/zero").open(encoding="latin-1") as endless:
        monkeypatch.setattr("sys.stdin", endless)
        assert run(["triage", "-"]) == 0
    assert capsys.readouterr().err == "-: only its first 1 MiB were read\n"


def test_without_a_path_and_a_pipe_it_is_wrong_usage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert run(["triage"]) == 2
    assert "give the files to diagnose" in capsys.readouterr().err


def test_a_gpu_that_is_named_is_not_called_unknown(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.md"
    path.write_text("All is well with RTX 4090, torch 2.7.0+cu128")
    assert run(["triage", str(path)]) == 0
    out = " ".join(capsys.readouterr().out.split())
    assert "RTX 4090 (sm_89)" in out
    assert "GPU not known" not in out


def test_no_line_of_a_log_is_quoted_twice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "a.md"
    path.write_text("[1.0] NVRM: Xid (PCI:0000:3b:00): 79, pid=1234, name=python3, GPU has fallen off the bus.\n")
    assert run(["triage", "--format", "json", str(path)]) == 1
    (finding, *_) = json.loads(capsys.readouterr().out)["findings"]
    assert [row["text"].count("fallen off the bus") for row in finding["evidence"]] == [1]


@pytest.mark.parametrize("words", [["triage", "-"], ["env", "-"], ["fleet", "report", "-"]])
def test_a_closed_stdin_is_wrong_usage(
    words: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin", None)
    assert run(words) == 2
    assert "stdin is closed" in capsys.readouterr().err
