"""Mutated tool output: every reader answers with facts or with ParserError, and keeps nothing that a terminal obeys."""

# ruff: noqa: E501
from __future__ import annotations

import random
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from doctor.engine.judge import judge
from doctor.facts import FactSheet
from doctor.knowledge import Knowledge
from doctor.triage.read import read_text
from tests.parsers import surface
from tests.parsers.samples import SAMPLES
from tests.paths import FIELDLAB, needs_shared

READERS = surface.readers()
TEXTS = tuple(SAMPLES.values())
NASTY = (
    "\x00", "\x1b[31m", "\x1b]0;title\x07", "\x9b2J", "\u202e", "\u2066", "\r", "\r\n", "\x0c", "\x0b", "\x85", "\u2028",
    "9" * 5000, "-1", "1e999", "0x" + "f" * 400, "٣٤", "²", "１２", "Ⅷ", "\U0001d7d9", "''\"'", '"' * 40, "[[[[", "{" * 300,
    "[" * 3000, "]", "gpus[", "a" * 9000, ":" * 200, " : ", "=", "|" * 300, "NaN", "Infinity", "null", "\t" * 50, "&lol;",
    "<!ENTITY x 'y'>", "\ufeff", "\u200b", "0" * 64, ".", "#0", "\\", "%s", "{}",
)  # fmt: skip
QUICK = settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))


def mutated(text: str, seed: int, steps: int) -> str:
    """The text after some mutations, the same for the same seed."""
    dice = random.Random(seed)
    for _ in range(steps):
        text = _mutation(text, dice)
    return text


def _mutation(text: str, dice: random.Random) -> str:
    lines = text.split("\n")
    place, row = dice.randrange(len(text) + 1), dice.randrange(len(lines))
    how = dice.randrange(10)
    if how == 0:
        return text[:place]
    if how == 1:
        return text[place:]
    if how == 2:
        dice.shuffle(lines)
    elif how == 3:
        lines[row:row] = [lines[row]] * dice.choice((1, 3, 400))
    elif how == 4:
        del lines[row]
    elif how == 5:
        return text.replace("\n", "\r\n")
    elif how == 6:
        digits = [n for n, c in enumerate(text) if c.isdigit()] or [0]
        place = dice.choice(digits)
        return text[:place] + dice.choice(NASTY) + text[place + 1 :]
    elif how == 7:
        lines[row] = dice.choice(lines).join((lines[row], dice.choice(NASTY)))
    elif how == 8:
        other = dice.choice(TEXTS).split("\n")
        lines[row:row] = other[: dice.randrange(1, 12)]
    else:
        return text[:place] + dice.choice(NASTY) + text[place:]
    return "\n".join(lines)[:200_000]


CASES = st.tuples(st.sampled_from(TEXTS), st.integers(0, 2**32), st.integers(0, 4))


def test_the_walk_finds_the_readers() -> None:
    names = {reader.name for reader in READERS}
    assert {"kernel_log.read", "collect_env.read", "pci_config.acs_redirect", "os_release.read"} <= names


@QUICK
@given(CASES)
def test_every_reader_answers_or_says_that_it_is_not_its_format(case: tuple[str, int, int]) -> None:
    text = mutated(*case)
    for reader in READERS:
        surface.try_on(reader, text)


@pytest.mark.parametrize("sign", ["\u202e", "\x1b[31m", "\x9b2J", "\x00", "\u2066", "²", "9" * 5000], ids=ascii)
def test_a_sign_in_each_line_of_each_tool(sign: str) -> None:
    for text in TEXTS:
        lines = text.split("\n")[: 30_000 // len(sign)]
        spoilt = "\n".join(line[:cut] + sign + line[cut:] for line in lines for cut in (len(line) * 3 // 4,))
        after = "\n".join(line + sign for line in lines)
        for reader in READERS:
            surface.try_on(reader, spoilt)
            surface.try_on(reader, after)


@pytest.mark.parametrize("count", range(1, 7))
def test_lines_of_each_tool_that_end_after_a_few_words(count: int) -> None:
    for text in TEXTS:
        ended = "\n".join(" ".join(line.split(" ")[:count]) for line in text.split("\n"))
        for reader in READERS:
            surface.try_on(reader, ended)


@QUICK
@given(st.text(max_size=400))
def test_any_text_at_all(text: str) -> None:
    for reader in READERS:
        surface.try_on(reader, text)


@settings(QUICK)
@given(st.lists(CASES, min_size=1, max_size=3), st.booleans())
def test_triage_judges_any_paste(cases: list[tuple[str, int, int]], fenced: bool) -> None:
    wall = "\n```\n" if fenced else "\n"
    paste = wall.join(mutated(*case) for case in cases)
    report = judge(read_text([paste.encode("utf-8", "surrogatepass")]), Knowledge())
    assert not [u for u in report.unchecked if u.crashed]
    assert not [name for name in report.snapshot.origins if name.startswith("parsers.")]
    shown = report.snapshot.model_dump(mode="json")
    assert not [word for word in surface.words_of(shown) if surface.unclean(word)]


@settings(QUICK)
@given(st.binary(max_size=6000))
def test_triage_judges_any_bytes(data: bytes) -> None:
    assert not [name for name in read_text([data]).origins if name.startswith("parsers.")]


@settings(QUICK)
@given(st.recursive(st.none() | st.booleans() | st.integers() | st.text(max_size=8),
                    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(
                        st.sampled_from(("gpus", "error", "index", "pcie", "gen", "name", "nvlinks", "mig_devices", "minor",
                                         "errors", "pci_address", "clocks", "link", "driver_version")), inner, max_size=6),
                    max_leaves=30))  # fmt: skip
def test_nvml_answers_of_any_shape(told: object) -> None:
    from doctor.errors import ParserError
    from doctor.parsers.nvidia.nvml_inventory import read

    for shape in ({"error": None, "gpus": told}, {"gpus": [told]}, told):
        if isinstance(shape, dict):
            try:
                assert isinstance(read(shape), FactSheet)
            except ParserError:
                continue


def _captured() -> list[Path]:
    files = (p for p in sorted(FIELDLAB.rglob("*")) if p.is_file() and 0 < p.stat().st_size < 40_000)
    return list(files)[::40][:40]


@needs_shared
@pytest.mark.parametrize("seed", range(2))
def test_mutations_of_real_captures(seed: int) -> None:
    for number, path in enumerate(_captured()):
        text = mutated(path.read_text(encoding="utf-8", errors="replace"), seed * 1000 + number, 2)
        for reader in READERS:
            surface.try_on(reader, text)
