"""The examples in docstrings, of the program and of the tests' own helpers, print what they say."""

from __future__ import annotations

import doctest
import importlib
import re
from pathlib import Path

import pytest

from tests.each import each

_PROMPT = re.compile(r"^ *>>> ", re.MULTILINE)
REPO = Path(__file__).resolve().parents[1]
MODULES = [
    path.relative_to(REPO).with_suffix("").as_posix().replace("/", ".").removesuffix(".__init__")
    for folder in ("doctor", "tests")
    for path in sorted((REPO / folder).rglob("*.py"))
    if _PROMPT.search(path.read_text("utf-8"))
]


@each("module", MODULES)
def test_its_examples_are_true(module: str, capsys: pytest.CaptureFixture[str]) -> None:
    failed, tried = doctest.testmod(importlib.import_module(module))
    told = capsys.readouterr().out
    assert tried or module.startswith("tests."), "no example was found"  # a sample of a session is none
    assert not failed, told
