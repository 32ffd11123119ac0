"""Environment variables as a shell, a Dockerfile, a compose file or `env` shows them -> the environment.

>>> read("export HSA_OVERRIDE_GFX_VERSION=10.3.0").get("environment[HSA_OVERRIDE_GFX_VERSION]")
'10.3.0'
"""

from __future__ import annotations

import re
import shlex

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import kept, source_lines

_LINE = re.compile(
    r"\s{0,12}(?:[-*] {1,3})?(?:[~/][\w./-]{1,60}: )?[`\"']?"
    r"(?P<how>export |set |setx |ENV |Environment=|declare -x |\$env:)?\s{0,2}[\"']?"
    r"(?P<name>[A-Z][A-Z0-9_]{2,80})\s{0,1}=\s{0,1}(?P<value>.*)$"
)
_YAML = re.compile(
    r"\s{1,16}(?:- )?(?P<name>[A-Z][A-Z0-9]{1,20}_[A-Z0-9_]{1,60}):\s{1,4}(?P<value>[^\s:{][^:{]{0,300})$"
)
_FLAG = re.compile(
    r"(?P<name>(?:VLLM|SGLANG|NCCL|RCCL|HSA|HIP|ROCR|AITER|MIOPEN|PYTORCH|ROCBLAS|HIPBLASLT|CUDA_VISIBLE|CUDA_LAUNCH)"
    r"_[A-Z0-9_]{2,50}):\s{1,4}(?P<value>[\"']?[\w.,:/-]{1,60}[\"']?)\s{0,4}$"
)
"""A flag as an `environment:` shows it, though nothing of the file stands around it."""
_IN_PYTHON = re.compile(
    r"[^#]{0,80}?\bos\.(?:environ\[|environ\.setdefault\(|putenv\()\s{0,2}[\"'](?P<name>[A-Z][A-Z0-9_]{2,80})[\"']"
    r"(?:\]\s{0,3}=|,)\s{0,3}(?:str\()?[\"']?(?P<value>[^\"')]{0,300})"
)
_PROGRAM = re.compile(
    r"(?:python[\d.]{0,4}|torchrun|vllm|sglang|ollama|accelerate|deepspeed|bash|sh|mpirun|mpiexec|srun|sudo|env|exec|uv|"
    r"trl|swift|axolotl|llamafactory-cli|lmdeploy|lm_eval|jupyter|ray|trtllm-\w{1,20}|docker|node|llama[\w-]{0,20}|rocminfo|rocm-smi|nvidia-smi|hipcc|nohup|time|export|[~.]{0,2}/\S{1,200}|[A-Z][A-Z0-9_]{2,80}=\S{0,200})$"
)
"""What follows an assignment that holds for one command only."""
_WITH_OPTION = re.compile(r"\d[\d,]{0,80} [a-z][\w.+-]{1,60}(?: [a-z][\w-]{1,30})? --?[A-Za-z]")
"""Behind a list of numbers: a program of any name, with an option, that of a command of its own included."""
_TRIED = re.compile(
    r"\S{1,80},? (?:also |always |it )?(?:avoids?|fix(?:es|ed)|help(?:s|ed)?|work(?:s|ed)|makes?|made|solve[sd]|"
    r"cure[sd]|gives?|lets?|complete[sd]?|restore[sd]?|is (?:fine|right|ok)|runs (?:fine|well))\b"
)
"""A remark on a value that was tried and helped: the run that fails is without it."""
_SAID_OF_IT = re.compile(
    r"([^\s\"'`]{1,200}?)[,;:]?\s{1,3}(?:\(|(?:in|is|was|set|exported|for|from|on|at|but|and|or|with|without|under|as|before"
    r"|after|only|also|still|does|did|inside|where|when|while|because|which|via|alone|instead|too|not|no|has|had|have"
    r"|uses?|used|makes?|made|changes?|changed|gives?|gave|causes?|caused|leads?|led|takes?|took|hides?|hid|shows?|showed"
    r"|selects?|selected|picks?|leaves?|left|breaks?|broke|needs?|must|should|would|will|can|cannot|could|that|than)\b)"
)
"""A sentence goes on behind the value: `NAME=1 in ~/.bashrc`, `NAME=1 makes no difference`."""
_MPI = re.compile(r"\s-x\s{1,3}([A-Z][A-Z0-9_]{2,80})=(\S{1,300})")
"""What Open MPI's launcher hands to the ranks."""
_DEFAULTED = re.compile(r"^\$\{[A-Za-z_]\w{0,80}:?[-=]([^${}`]{0,400})\}$")
"""`${NAME:-text}` of a compose file: the text, unless it was set before."""
_NOT_SHOWN = {"unset", "<unset>", "not set", "(unset)", "(not set)", "<not set>"}
_SAID_TO_LACK = re.compile(
    r"(?:is |was )?(?:(?:not|never) (?:set|exported|defined|passed|present|inherited)|unset|undefined|missing|absent)"
    r"(?=[\s,;.)]|$)",
    re.IGNORECASE,
)
"""In place of a value: `not exported`, `unset in the service`."""
_SAID_TO_POINT = re.compile(
    r"(?:is |was )?(?:set|points?|pointing|pointed|leads?|left) (?:to|at) [\"'`]?((?:/|[A-Za-z]:\\)[^\s\"'`]{1,300})",
    re.IGNORECASE,
)
"""In place of a value: `points to /usr/local/cuda-11.8, which is gone`."""
_ECHO = re.compile(r"echo {1,3}[\"']?\$\{?(?P<name>[A-Z][A-Z0-9_]{2,80})\}?[\"']?")
_LIMIT = 400


def read(text: str, source: str = "text", *, command: bool = False) -> FactSheet:
    """`command` says that the lines are what was typed, where words after the assignments are a program to run. Values
    said to be unset are left out. Raises ReaderError without any assignment."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if len(sheet) >= _LIMIT:
            break
        for name, value in _MPI.findall(line) if "mpi" in line and " -x " in line else ():
            sheet.put(f"environment[{name}]", kept(value.strip("'\"")), where)
        found = (
            _LINE.match(line)
            or _YAML.match(line)
            or _FLAG.match(line)
            or ("environ" in line and _IN_PYTHON.match(line))
            or None
        )
        if not found:
            continue
        how = found.groupdict().get("how") or ""
        told = _in_words(found["name"], found["value"]) if how in ("", "export ") else found["value"]
        if told is None:
            continue
        if told != found["value"]:
            sheet.put(f"environment[{found['name']}]", kept(told), where)
            continue
        if command or (how in ("", "export ") and for_one_command(found["value"])):
            pairs = _typed(line)
            if not command and len({name for name, _ in pairs}) < len(pairs):
                continue  # values of one variable that were tried in turn: `A=0, A=1, B=0: all crash`
            for name, value in pairs:
                sheet.put(f"environment[{name}]", kept(value if command else value.rstrip(",")), where)
            continue
        if how == "Environment=" and len(pairs := _typed(line.partition("Environment=")[2])) > 1:
            for name, value in pairs:  # systemd: several on a line, each quoted by itself
                sheet.put(f"environment[{name}]", kept(value), where)
            continue
        if not how and _TRIED.match(found["value"]):
            continue
        if found["value"].strip(" `\t").lower() in _NOT_SHOWN or found["value"].startswith("# "):
            continue
        if _SAID_TO_LACK.match(found["value"].strip(" `(<")):
            continue
        told = found["value"] if how in ("", "export ") else ""
        said = _SAID_TO_POINT.match(told) or _SAID_OF_IT.match(told)
        value = said[1].rstrip(",;") if said else _unquoted(found["value"], shell=bool(how))
        value = _DEFAULTED.sub(r"\1", value)
        if value.lower() not in _NOT_SHOWN and value != "None":
            sheet.put(f"environment[{found['name']}]", kept(value), where)
    if not len(sheet):
        raise ReaderError("no assignment of a variable in the text")
    return sheet


def _in_words(name: str, value: str) -> str | None:
    """The value that words tell: `set to 0`, `an empty string`, `0 and 1` of a list of GPUs. None where they tell that
    there is none. A value that is no such phrase stays as it is."""
    phrase = value.strip(" \t`")
    if _TOLD_UNSET.match(phrase):
        return None
    if _TOLD_EMPTY.match(phrase):
        return ""
    if said := _TOLD_VALUE.match(phrase):
        return said[1]
    if name.endswith("_VISIBLE_DEVICES") and (listed := _TOLD_LIST.match(phrase)):
        return ",".join(re.findall(r"\d{1,3}", listed[0]))
    if name.endswith("_ALLOC_CONF") and (listed := _TOLD_OPTIONS.match(phrase)):
        return ",".join(re.findall(r"\w{1,60}:[\w.]{1,40}", listed[0]))
    return value


_TOLD_UNSET = re.compile(
    r"\W?(?:(?:is|was|left) )?(?:un ?set|not (?:set|defined|given)|undefined|removed|missing|absent)\b(?! to\b)"
    r"(?![=\w/-])",
    re.IGNORECASE,
)
_TOLD_EMPTY = re.compile(
    r"\W?(?:(?:is|was|set|left|defined)(?: to| as)? )?(?:an? )?empty(?: string| value| list)?(?![\w=/-])", re.IGNORECASE
)
_TOLD_VALUE = re.compile(r"(?:(?:is|was|both|all) )?set to [\"'`]?([\w.,:/+-]{1,200})", re.IGNORECASE)
_TOLD_OPTIONS = re.compile(r"\w{1,60}:[\w.]{1,40}(?:(?:, |,? and )\w{1,60}:[\w.]{1,40}){1,20}")
_TOLD_LIST = re.compile(r"\d{1,3}(?:(?:, {0,2}|,? and )\d{1,3}){0,63}(?:, | and |, and )\d{1,3}(?![\w.])")


def read_echo(text: str, source: str = "text", command: str = "") -> FactSheet:
    """What `echo $NAME` printed. Raises ReaderError where it asks for more, or printed nothing."""
    sheet = FactSheet()
    asked = _ECHO.fullmatch(command.strip())
    for where, line in source_lines(text, source) if asked else ():
        if asked and line.strip():
            sheet.put(f"environment[{asked['name']}]", kept(line.strip()), where)
        break
    if not len(sheet):
        raise ReaderError("no variable was printed")
    return sheet


def for_one_command(value: str) -> bool:
    """`0 python x.py`, `1 OTHER=2 ./run`, `1; export OTHER=2`: the line is typed, the value ends at the first space."""
    words = value[:400].split()
    if len(words) < 2 or re.fullmatch(r"[\w.,:/+-]{0,200};?", words[0]) is None:
        return False
    return _PROGRAM.match(words[1]) is not None or _WITH_OPTION.match(" ".join(words[:4])) is not None


def _typed(line: str) -> list[tuple[str, str]]:
    """Assignments at the head of a command line."""
    try:
        words = shlex.split(line[:4000], comments=True)
    except ValueError:
        words = line[:4000].split()
    pairs = []
    for word in words:
        name, sign, value = word.partition("=")
        if word in ("export", "env", "sudo", "declare", "-x", "&&", ";", "-"):
            continue
        if not sign or not re.fullmatch(r"[A-Z][A-Z0-9_]{2,80}", name):
            break
        pairs.append((name, value.rstrip(";")))
    return pairs


def _unquoted(value: str, *, shell: bool) -> str:
    value = value[:2000].strip(" \t`").partition("`")[0].rstrip()
    for quote in ("'", '"'):
        if value.startswith(quote) and (end := value.find(quote, 1)) > 0:
            return value[1:end]
    if " #" in value and (shell or "=" not in value):
        value = value.partition(" #")[0]
    return value.rstrip(" ;&\\\"'")
