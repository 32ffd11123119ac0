"""Environment variables as a shell, a Dockerfile, a compose file or `env` shows them -> the environment.

>>> read("export HSA_OVERRIDE_GFX_VERSION=10.3.0").get("environment[HSA_OVERRIDE_GFX_VERSION]")
'10.3.0'
"""

from __future__ import annotations

import re
import shlex

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines
from doctor.parsers.text import env_words

PASTED = (
    {
        "trust": 600,
        "words": (
            "export ",
            "_visible_devices",
            "hsa_",
            "nccl_",
            "rocm_path",
            "cuda_home",
            "ld_library_path",
            "pytorch_",
            "miopen_",
            "vllm_",
            "torch_",
            "hip_",
            "cuda_",
            "hipblaslt",
            "rocblas_",
            "flash_attention_",
            "python",
            "slurm_",
            "os.environ",
        ),
        "commands": ("env", "printenv", "export"),
    },
    {"trust": 610, "commands": ("echo $", 'echo "$'), "call": "read_echo", "takes_command": True},
)

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
_MPI = re.compile(r"\s-x\s{1,3}([A-Z][A-Z0-9_]{2,80})=(\S{1,300})")
"""What Open MPI's launcher hands to the ranks."""
_DEFAULTED = re.compile(r"^\$\{[A-Za-z_]\w{0,80}:?[-=]([^${}`]{0,400})\}$")
"""`${NAME:-text}` of a compose file: the text, unless it was set before."""
_NOT_SHOWN = {"unset", "<unset>", "not set", "(unset)", "(not set)", "<not set>"}
_ECHO = re.compile(r"echo {1,3}[\"']?\$\{?(?P<name>[A-Z][A-Z0-9_]{2,80})\}?[\"']?")
_LIMIT = 400


def read(text: str, source: str = "text", *, command: bool = False) -> FactSheet:
    """`command` says that the lines are what was typed, where words after the assignments are a program to run. Values
    reported as unset are left out. Raises ParserError without any assignment."""
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
        meant = env_words.value(found["name"], found["value"], how) if how in ("", "export ") else found["value"]
        if meant is None:
            continue
        if meant != found["value"]:
            sheet.put(f"environment[{found['name']}]", kept(meant), where)
            continue
        if command or (how in ("", "export ") and env_words.for_one_command(found["value"])):
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
        if not how and env_words.tried(found["value"]):
            continue
        if found["value"].strip(" `\t").lower() in _NOT_SHOWN or found["value"].startswith("# "):
            continue
        value = env_words.before(found["value"]) if how in ("", "export ") else None
        value = value if value is not None else _unquoted(found["value"], shell=bool(how))
        value = _DEFAULTED.sub(r"\1", value)
        if value.lower() not in _NOT_SHOWN and value != "None":
            sheet.put(f"environment[{found['name']}]", kept(value), where)
    if not len(sheet):
        raise ParserError("no assignment of a variable in the text")
    return sheet


def read_echo(text: str, source: str = "text", command: str = "") -> FactSheet:
    """What `echo $NAME` printed. Raises ParserError where it asks for more, or printed nothing."""
    sheet = FactSheet()
    asked = _ECHO.fullmatch(command.strip())
    for where, line in source_lines(text, source) if asked else ():
        if asked and line.strip():
            sheet.put(f"environment[{asked['name']}]", kept(line.strip()), where)
        break
    if not len(sheet):
        raise ParserError("no variable was printed")
    return sheet


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
