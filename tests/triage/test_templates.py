"""The templates of error texts as they are shipped, and what `check` says of a folder with faults."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

import doctor
from doctor.engine import registry
from doctor.engine.pasted import judge_pasted
from doctor.knowledge import Knowledge
from doctor.triage.read import read_pasted
from doctor.triage.templates import check
from doctor.triage.templates.catalogue import shared
from doctor.triage.templates.model import Template
from doctor.triage.templates.pattern import normal
from tests.each import each

RULES = {found.rule.id for found in registry.checks()}
CHARACTERS = 8192
GOOD = """
[[template]]
id = "one"
text = "cannot open the {word} device"
sample = "error: cannot open the render device"
source = "made up for this test"
checked = "quoted"
as_of = "2026-11-23"
causes = [{ rule = "nouveau-loaded", sure = "likely" }]
"""


def test_all_that_are_shipped_are_valid_and_code_names_only_these() -> None:
    assert check.all_faults(RULES, Path(doctor.__file__).parent) == []


LONG = "[core.py:1136] worker " + "x" * 280
QUOTED = (
    ("# CUDA out of memory\n\ntorch.OutOfMemoryError: CUDA out of memory. Tried", "torch.OutOfMemoryError: CUDA"),
    ("I get CUDA out of memory\nRuntimeError: CUDA out of memory. Tried", "RuntimeError: CUDA"),
    ("# I get CUDA out of memory\n", "I get CUDA out of memory"),
    (f"{LONG} RuntimeError: CUDA out of memory. Tried", "… "),
    (f"RuntimeError: CUDA out of memory. {LONG}", "RuntimeError: CUDA"),
)


@each("text, start", QUOTED)
def test_the_line_that_a_program_wrote_is_quoted_around_the_match(text: str, start: str) -> None:
    (hit,) = [h for h in shared().find(enumerate(text.splitlines(), 1)) if h.key == "cuda-out-of-memory"]
    assert hit.text.startswith(start)
    assert "CUDA out of memory" in hit.text


FAULTY = {
    "": "",
    GOOD: "one: this id is used in nouveau-loaded.toml already",
    GOOD.replace('"one"', '"two"').replace('"nouveau-loaded"', '"nouveau-lodaed"'): "no rule is called nouveau-lodaed",
    GOOD.replace('"one"', '"two"').replace("render device", "render node"): "its sample does not hold its text",
    GOOD.replace('"one"', '"two"').replace("{word}", "{world}"): "{world}: no such hole",
    GOOD.replace('"one"', '"two"').replace("likely", "sure"): "causes.0.sure",
    GOOD.replace('"one"', '"two"').replace('sure = "likely"', 'sure = "likely", seen = ["x"]'): "is called x",
    GOOD.replace('"one"', '"two"').replace('checked = "quoted"\n', ""): "two: checked: is missing",
    GOOD.replace('"one"', '"two"').replace('"quoted"', '"thread"'): "needs an address as its source",
    GOOD.replace('"one"', '"two"').replace('"quoted"', '"format"'): "needs a source like `NAME RELEASE: FILE`",
    "[[template]]\nid = ": "nouveau-loaded.toml: Invalid value",
}


@each("added, fault", FAULTY.items())
def test_each_fault_of_a_folder_is_told(added: str, fault: str, tmp_path: Path) -> None:
    (tmp_path / "nouveau-loaded.toml").write_text(GOOD + added)
    found = check.faults({"nouveau-loaded"}, tmp_path)
    assert any(fault in line for line in found) if fault else found == []


def test_a_file_is_named_after_the_first_cause(tmp_path: Path) -> None:
    (tmp_path / "gpu-throttled.toml").write_text(GOOD)
    (told,) = check.faults(RULES, tmp_path)
    assert told.endswith("it belongs in nouveau-loaded.toml, its first cause")


def test_ids_that_code_asks_for_are_found_and_what_it_compares_with_is_none(tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "SEEN = ('a-b', *('c-d',))\nNEEDS = (frozenset({'symptom:e-f'}),)\n"
        "def check(machine, rule):\n    return machine.symptom(*SEEN, *(('g-h',) if rule == 'i-j' else ()))\n"
    )
    assert set(check.asked_for(tmp_path)) == {"a-b", "c-d", "e-f", "g-h"}


def hostile(template: Template) -> list[str]:
    """Lines of 8 kB: each literal, all of them, the sample and its first half, again and again."""
    pieces = template.pattern.pieces
    units = {piece.literal for piece in pieces if piece.literal} | {"".join(p.literal or "a" for p in pieces)}
    units |= {template.sample, template.sample[: len(template.sample) // 2]}
    return [normal((unit * (CHARACTERS // len(unit) + 1))[:CHARACTERS]) for unit in units if unit]


def test_no_template_takes_long_for_a_line_that_repeats_its_own_words() -> None:
    slow = []
    for key, template in shared().templates.items():
        for line in hostile(template):
            if _seconds(template, line) > 0.005:
                took = min(_seconds(template, line) for _ in range(9))  # of a busy machine the quietest moment
                slow += [(key, round(took, 4), line[:60])] if took > 0.005 else []
    assert slow == []


def _seconds(template: Template, line: str) -> float:
    start = time.thread_time()
    template.pattern.found_in(line)
    return time.thread_time() - start


REPEATED = (
    "nvidia_cublas", "libcudart.so.12 ", "gfx1100,", "torch==2.9.0 ", "CUDA error: ", "NVRM: Xid (PCI:0000:01:00): ",
    "/dev/nvidia0 ", "--gpus all ", "export A=", "0000:01:00.0 ", "| ", "a=b;", "[", "{", "<", "\\", "1.2.3.4.5.", "- ",
    "RTX 4090 ", "ROCm 7.2 ", "undefined symbol: ", "cannot open shared object file", "amdgpu: ", "'", '"', "\t", "=",
)  # fmt: skip


@pytest.mark.parametrize("start", ["", "nvidia-cublas zq ", "RuntimeError: "])
def test_a_line_of_8_kb_is_answered_at_once_whatever_it_repeats(start: str) -> None:
    kb = Knowledge()
    judge_pasted(read_pasted([b"warm up: torch 2.9.0 on an RTX 4090\n"]), kb)
    slow = []
    for unit in REPEATED:
        text = (start + unit * (CHARACTERS // len(unit)))[:CHARACTERS].encode()
        took: list[float] = []
        while len(took) < 3 and min(took, default=1.0) > 0.1:  # a machine that is busy
            begun = time.thread_time()
            judge_pasted(read_pasted([text]), kb)
            took.append(time.thread_time() - begun)
        if min(took) > 0.1:
            slow.append((unit, round(min(took), 3)))
    assert slow == []
