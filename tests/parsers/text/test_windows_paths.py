"""A text of a Windows system is known by its paths; one of Linux, WSL or JSON is not taken for it."""

from __future__ import annotations

import contextlib

import pytest

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.knowledge.names import gpu_by_name
from doctor.parsers.text import entities, labelled_lines, windows_paths
from doctor.triage.read import read_text


@pytest.mark.parametrize(
    "line",
    [
        r'  File "C:\Users\me\venv\Lib\site-packages\torch\__init__.py", line 141',
        r"(venv) PS E:\apps\webui> python launch.py",
        r"D:\models>python run.py",
        r"""python infer.py audio='r:\take9.mp3'""",
        "Could not load dynamic library 'cudart64_110.dll'; dlerror: cudart64_110.dll not found",
    ],
)
def test_windows_is_told_by_a_path(line: str) -> None:
    assert windows_paths.read(line).get("os.id") == "windows"


@pytest.mark.parametrize(
    "line", ["/mnt/c/Users/me/app.py", r'"paths:\n  - /opt"', r"re.compile('x:\s+')", "time: 3:\\ ", "ends with .dll"]
)
def test_other_lines_tell_no_windows(line: str) -> None:
    with pytest.raises(ParserError):
        windows_paths.read(line)


def sentence(line: str) -> FactSheet:
    return entities.read(line, "text", gpu_by_name)


def test_what_names_the_system_itself_comes_first() -> None:
    text = b"OS: Ubuntu 22.04\nthe model lies in C:\\models\\llama.gguf\n"
    assert read_text([text]).os.id == "ubuntu"


@pytest.mark.parametrize("line", ["on my win10 PC, RTX 3060", "Windows, RTX 3060", "trained on Windows (RTX 3060)"])
def test_windows_in_a_sentence(line: str) -> None:
    assert sentence(line).get("os.id") == "windows"


@pytest.mark.parametrize("line", ["it works on Windows, RTX 3060", "windows of 4096 tokens on an RTX 3060"])
def test_another_windows_is_not_this_system(line: str) -> None:
    with contextlib.suppress(ParserError):
        assert sentence(line).get("os.id") is None


def test_names_stand_in_sentences_without_spaces() -> None:
    sheet = sentence("我的显卡是RTX3090，系统是Ubuntu 22.04")
    assert (sheet.get("gpus[#0].name"), sheet.get("os.id")) == ("RTX3090", "ubuntu")


def test_xformers_says_what_it_was_built_for_and_then_what_is_there() -> None:
    text = "    PyTorch 2.3.0+cu121 with CUDA 1201 (you have 2.3.0+cpu)\n    Python  3.10.11 (you have 3.11.2)\n"
    sheet = labelled_lines.read(text)
    assert (sheet.get("torch.version"), sheet.get("torch.build")) == ("2.3.0+cpu", "cpu")
    assert sheet.get("interpreter.version") == "3.11.2"
