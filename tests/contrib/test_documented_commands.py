"""README and docs show only command lines that doctor accepts, and that end as they should where they are run."""

from __future__ import annotations

import contextlib
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer._click.exceptions import ClickException

from doctor import parsers
from doctor.engine.registry import checks
from tests.cli.parsing import parse, program, unknown_options, words_of
from tests.each import each
from tests.started import started

REPO = Path(__file__).resolve().parents[2]
PAGES = [REPO / "README.md", *sorted((REPO / "docs").glob("*.md"))]
_SHOWN = re.compile(r"^(?: {4,8})?(?:\$ )?(?:\w[\w .=/-]{0,60}\| )?(doctor (?!.*…).+)$", re.MULTILINE)
"""A line of a code block, fenced or indented; one with an ellipsis is no whole command."""
_FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`doctor ([^`\n]+)`")


def shown(text: str) -> Iterator[str]:
    """Each command line of a page's code blocks."""
    fenced = "\n".join(block for language, block in _FENCE.findall(text) if language != "text")
    indented = "\n".join(line for line in _FENCE.sub("", text).splitlines() if line.startswith("    "))
    for line in _SHOWN.findall(fenced + "\n" + indented):
        yield re.split(r"\s{3,}|\s+#\s", line)[0]


LINES = [pytest.param(line, id=f"{page.name}: {line}") for page in PAGES for line in shown(page.read_text("utf-8"))]


@each("line", LINES)
def test_each_command_line_is_accepted(line: str) -> None:
    with contextlib.suppress(typer.Exit):  # --help and the like
        parse(line)


def test_command_lines_are_found() -> None:
    assert len(LINES) > 80


@each("page", PAGES)
def test_no_sentence_names_a_command_or_option_that_does_not_exist(page: Path) -> None:
    for rest in _INLINE.findall(page.read_text("utf-8")):
        words = shlex.split(rest)
        assert words[0].startswith("-") or words[0] in program().commands or not words[0].islower(), rest
        assert unknown_options(words) == [], f"{page.name}: doctor {rest}"


def test_explained_rules_exist() -> None:
    rules = {check.rule.id for check in checks()}
    for page in PAGES:
        for words in map(words_of, shown(page.read_text("utf-8"))):
            if words[:1] == ["explain"] and words[1].islower():
                assert words[1] in rules, page.name


def test_it_would_see_a_slip() -> None:
    page = "    $ doctor check --stirct   # slip\n```console\n$ doctor triage --wy x.md > y\n```\n"
    assert [*shown(page)] == ["doctor triage --wy x.md > y", "doctor check --stirct"]
    with pytest.raises(ClickException, match="--stirct"):
        parse("doctor check --stirct")
    assert unknown_options(["bundle", "scan", "--hide"]) == []
    assert unknown_options(["image", "emit", "--push"]) == ["--push"]


def test_the_parsers_that_the_page_of_formats_names_exist() -> None:
    table = (REPO / "docs/formats.md").read_text("utf-8").partition("## Not read")[0]
    rows = re.findall(r"^\|.*\|([^|]*)\|$", table, re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 40
    assert named - {*parsers.names()} == set()


_RUN_ELSEWHERE = ("image build", "image lock", "image fetch", "image verify", "fleet watch")
"""Tests with an engine or an index of their own, and of what never ends, are in tests/images and tests/fleet."""
_A_FILE = re.compile(r"[\w.-]+\.(?:md|txt|sbatch|sh|ya?ml|service|py|key|csv|ini)|\.env|Dockerfile|key")


@pytest.mark.engine
def test_each_command_line_ends_with_an_answer_or_one_line_on_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    report = started("check --format json").stdout.decode()
    bundle = (REPO / "tests/captures/bundle-1.tar.gz").read_bytes()
    lines = sorted({line for page in PAGES for line in shown(page.read_text("utf-8"))})
    wrong = []
    for words in map(words_of, lines):
        if " ".join(words[:2]) in _RUN_ELSEWHERE:
            continue
        for word in words:  # what the page takes for granted
            if word.endswith((".tar.gz", ".tar.zst", ".bundle")) and "-o" not in words:
                (tmp_path / word).write_bytes(bundle)
            elif word.endswith(".json") and "knowledge" not in words:
                (tmp_path / word).write_text(report)
            elif _A_FILE.fullmatch(word):
                (tmp_path / word).write_text(
                    "FROM rocm/pytorch:latest\n" if word == "Dockerfile" else "#!/bin/sh\n" * 9
                )
            elif word.endswith("/"):
                (tmp_path / word).mkdir(exist_ok=True)
                (tmp_path / word / "node1.json").write_text(report)
        done = started(shlex.join(words))
        message = done.stderr.decode()
        refused = done.returncode == 2 and re.fullmatch(r"doctor: .+\n", message)
        if done.returncode not in (0, 1, 4) and not refused:
            wrong.append(f"{shlex.join(words)}: {done.returncode} {message[-300:]}")
    assert not wrong, "\n".join(wrong)
