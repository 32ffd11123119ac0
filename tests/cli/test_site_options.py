"""`--hide`, `--domain` and `--key` through the program itself, for each command that writes what people send."""

from __future__ import annotations

import base64
import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from urllib.parse import quote

import pytest

from doctor.bench.saved import SCHEMA
from doctor.bundle.open import open_bundle
from doctor.cli.main import run
from tests.each import each
from tests.started import started

Doctor = Callable[..., str]
WORD, DOMAIN, USER = "Strawberry", "corp.tarnwell.example", "okafor2"
_HIDDEN = (WORD, DOMAIN, "tarnwell")
_FORMATS = ("text", "json", "jsonl", "markdown", "sarif", "junit", "github", "prometheus", "html")


def _pasted() -> str:
    packed = base64.b64encode(f"cluster {WORD.upper()} of x".encode()).decode()
    percent = "".join(f"%{ord(c):02X}" for c in WORD)
    return (
        f"RuntimeError: CUDA error: no kernel image is available for execution on the device {WORD} {WORD.upper()}\n"
        f"job_{WORD.lower()}7 my{WORD}cluster https://x.{DOMAIN}/{quote(WORD)} {percent} {packed}\n"
        f"$ env\nROCM_PATH=/home/{USER}/{WORD}\nUSER={USER}\n"
    )


def _doctor(*words: str) -> str:
    done = started(shlex.join(words))
    assert done.returncode in (0, 1), done.stderr
    return done.stdout.decode()


@pytest.fixture
def doctor(capsys: pytest.CaptureFixture[str]) -> Doctor:
    """The same in this process, which is quicker."""

    def told(*words: str) -> str:
        assert run(words) in (0, 1), capsys.readouterr().err
        return capsys.readouterr().out

    return told


def _left(text: str) -> list[str]:
    """Words that are in it, as they are, in any case or behind an encoding."""
    low = text.lower()
    packed = [base64.b64encode(b"\0" * n + form.encode()).decode()[4:-4] for n in range(3)
              for form in (WORD, WORD.upper(), WORD.lower(), DOMAIN)]  # fmt: skip
    return [w for w in _HIDDEN if w.lower() in low or quote(w, safe="").lower() in low] + [
        p for p in packed if p in text
    ]


@pytest.fixture
def site(tmp_path: Path) -> list[str]:
    (tmp_path / "site.key").write_text("0123456789abcdef" * 4)
    (tmp_path / "words").write_text(f"# ours\n{WORD}\n")
    return ["--hide", f"@{tmp_path / 'words'}", "--domain", DOMAIN, "--key", str(tmp_path / "site.key")]


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A machine of which facts, and so findings, quote the site's words."""
    root = tmp_path / "root"
    (root / "proc").mkdir(parents=True)
    (root / "etc").mkdir()
    (root / "proc/cmdline").write_text(f"BOOT_IMAGE=/vmlinuz root=/dev/sda1 label9={WORD} ks=https://{DOMAIN}/k\n")
    (root / "etc/os-release").write_text(f'ID=ubuntu\nVERSION_ID="24.04"\nPRETTY_NAME="Ubuntu 24.04 {WORD}"\n')
    return root


@each("format_", _FORMATS)
def test_hidden_words_are_in_no_format_of_check(format_: str, tree: Path, site: list[str], doctor: Doctor) -> None:
    told = doctor("check", "--root", str(tree), "--format", format_, *["-vv"] * (format_ == "text"), *site)
    assert told
    assert not _left(told)


def test_they_would_be_there_without_the_options(tree: Path, doctor: Doctor) -> None:
    assert _left(doctor("check", "--root", str(tree), "--format", "json"))
    assert _left(doctor("check", "--root", str(tree), "-vv"))


@each("format_", ("text", "json", "jsonl", "markdown"))
def test_hidden_words_are_in_no_format_of_triage(format_: str, tmp_path: Path, site: list[str], doctor: Doctor) -> None:
    (tmp_path / "pasted.txt").write_text(_pasted())
    why = [] if format_ == "markdown" else ["--why"]
    told = doctor("triage", str(tmp_path / "pasted.txt"), "--format", format_, *why, *site)
    assert "kernel" in told
    assert not _left(told)
    assert USER not in told


@each("format_", ("text", "json", "sarif", "github"))
def test_hidden_words_are_in_no_format_of_env(format_: str, tmp_path: Path, site: list[str], doctor: Doctor) -> None:
    path = tmp_path / "job.sh"
    names = ("NCCL_SOCKET_IFNAME", "HSA_OVERRIDE_GFX_VERSION")
    path.write_text("".join(f"export {name}={WORD}\n" for name in names))
    told = doctor("env", str(path), "--format", format_, *["-v"] * (format_ == "text"), *site, "--fail-on", "never")
    assert told
    assert not _left(told)


def test_hidden_words_are_in_no_format_of_diff_and_fleet(
    tmp_path: Path, tree: Path, site: list[str], doctor: Doctor
) -> None:
    folder = tmp_path / "reports"
    folder.mkdir()
    text = doctor("check", "--root", str(tree), "--format", "json")
    for node in (f"{WORD}-n1", "n2"):
        (folder / f"{node}.json").write_text(text)
    other = tmp_path / "other.json"
    other.write_text(text.replace("24.04", "22.04").replace("/dev/sda1", "/dev/sda2"))
    for format_ in ("text", "json", "markdown", "html", "nodes"):
        assert not _left(doctor("fleet", "report", str(folder), "--format", format_, *site))
    for format_ in ("text", "json"):
        told = doctor("diff", str(folder / "n2.json"), str(other), "--format", format_, *site)
        assert "24.04" in told
        assert not _left(told)


def _users(text: str) -> set[str]:
    return set(re.findall(r"\buser-[0-9a-f]{8}\b", text))


def test_one_key_gives_one_name_one_pseudonym_in_all_that_is_written(tmp_path: Path, site: list[str]) -> None:
    """In two reports and a bundle, each of a process of its own; another key gives another one."""
    told = []
    for number, more in enumerate(("", "uid=1001(zmeyer) gid=1001(zmeyer)\n")):
        (tmp_path / f"{number}.txt").write_text(more + _pasted())
        told.append(_users(_doctor("triage", str(tmp_path / f"{number}.txt"), "--format", "json", *site)))
    (tmp_path / "other.key").write_text("fedcba9876543210" * 4)
    other = _users(_doctor("triage", str(tmp_path / "0.txt"), "--format", "json", "--key", str(tmp_path / "other.key")))
    assert len(told[0]) == 1
    assert told[0] <= told[1]
    assert other
    assert not other & told[0]
    _doctor("bundle", "-o", str(tmp_path / "b.tar.gz"), "--include", str(tmp_path / "0.txt"), *site)
    files = open_bundle(tmp_path / "b.tar.gz").files
    assert not _left(b"".join(files.values()).decode("utf-8", "replace"))
    mine = next(content.decode() for name, content in files.items() if name.endswith("0.txt.txt"))
    assert told[0] <= _users(mine)


def test_a_word_of_the_report_itself_is_refused_in_one_line(tree: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", str(tree), "--hide", "snapshot", "--format", "json"]) == 2
    assert capsys.readouterr().err.startswith("doctor: --hide snapshot")


def test_json_stays_json(tree: Path, site: list[str], doctor: Doctor) -> None:
    assert json.loads(doctor("check", "--root", str(tree), "--format", "json", *site))["schema"] == "doctor.report/2"


def test_hidden_words_are_in_no_format_of_bench_compare(tmp_path: Path, site: list[str], doctor: Doctor) -> None:
    for name in ("a", "b"):
        data = {"schema": SCHEMA, "when": f"2026-01-01 {WORD} {DOMAIN}", "software": {}, "measurements": []}
        (tmp_path / f"{name}.json").write_text(json.dumps(data))
    for format_ in ("text", "json"):
        words = ("bench", "compare", str(tmp_path / "a.json"), str(tmp_path / "b.json"), "--format", format_)
        assert _left(doctor(*words))
        assert not _left(doctor(*words, *site))


def test_blas_takes_the_options_too(site: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["blas", "--device", "none", *site]) == 2
    assert capsys.readouterr().err.startswith("doctor: invalid --device")
    assert run(["blas", "--device", "cpu", "--hide", "ab"]) == 2
    assert capsys.readouterr().err.startswith("doctor: --hide ab: shorter")
