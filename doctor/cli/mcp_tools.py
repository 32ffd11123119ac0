"""What an assistant may call: a tool is a function whose docstring is its description; it returns JSON as text.

ValueError and DoctorError are what the assistant is answered as an error.
"""

from __future__ import annotations

import inspect
import json
from collections.abc import Callable
from functools import cache
from typing import Any

_LONGEST = 8 << 20
"""Characters of pasted text that one call takes."""
_MOST_PACKAGES = 50


def check(profile: str | None = None) -> str:
    """Check the GPU setup of the machine that this server runs on. JSON: status, findings with evidence and remedies,
    and what could not be checked."""
    from doctor.engine.run import Options, examine
    from doctor.profiles import load
    from doctor.system.live import LiveSystem

    if profile and not (profile.replace("-", "").replace("_", "").replace(".", "").isalnum() and ".." not in profile):
        raise ValueError("profile: expected the name of a shipped profile, no path")
    return _short(examine(LiveSystem(), Options(profile=load(profile) if profile else None)))


def triage(text: str) -> str:
    """Find the cause of a problem in pasted text: an issue's body, a log, the output of nvidia-smi, rocminfo …"""
    from doctor.engine.judge import judge
    from doctor.knowledge import Knowledge
    from doctor.triage.read import read_text

    _bounded(text)
    return _short(judge(read_text([text.encode(errors="replace")]), Knowledge()))


def explain(rule: str) -> str:
    """The documentation of one rule by its id, as findings name it: what it finds, why it matters, how to fix it."""
    from doctor.engine.registry import checks

    for known in checks():
        if known.rule.id == rule:
            return f"# {rule}\n\n{known.rule.title} ({known.rule.severity.value})\n\n{known.rule.page.strip()}\n"
    raise ValueError(f"no rule {rule[:100]!r}; findings carry the ids")


def env(text: str, name: str = "job.sh") -> str:
    """Check environment variables of GPU software in a text: a .env file, a shell or batch script, a Dockerfile, a
    compose file, a manifest or a unit. JSON: findings with their lines, and each variable as it is read."""
    from doctor.cli.env_output import rendered
    from doctor.errors import ParserError
    from doctor.facts import Snapshot
    from doctor.flags.files import look

    _bounded(text)
    try:
        return rendered([look(name[:200], text, None, Snapshot(), {})], "json", verbose=True)
    except ParserError as error:
        raise ValueError(f"text: {error}") from error


def facts() -> str:
    """The facts of the machine that this server runs on, without a verdict: GPUs, drivers, installs, packages."""
    from doctor.engine.run import Options, examine
    from doctor.report.formats.json import as_data
    from doctor.system.live import LiveSystem

    machine: dict[str, Any] = as_data(examine(LiveSystem(), Options()))["snapshot"]
    machine.pop("origins", None)
    return json.dumps(_known(machine), ensure_ascii=True)


def solve(
    packages: list[str],
    gpu: str,
    driver: str | None = None,
    rocm: str | None = None,
    python: str | None = None,
    os: str | None = None,
    machine: str | None = None,
) -> str:
    """Find the command that installs Python packages which fit a GPU, driver and Python, or say why there is none and
    what comes nearest. JSON. Installs nothing."""
    from doctor.knowledge import Knowledge
    from doctor.resolve import described
    from doctor.resolve import solve as answer
    from doctor.resolve.formats import as_data

    if not packages or len(packages) > _MOST_PACKAGES:
        raise ValueError(f"packages: 1 to {_MOST_PACKAGES}, as pip writes them")
    kb = Knowledge()
    return json.dumps(as_data(answer(kb, described(kb, gpu, driver, rocm, python, os, machine), packages, "pip")))


def image_lint(text: str, name: str = "Dockerfile") -> str:
    """Find what is wrong with a Dockerfile or a compose file for AMD's or NVIDIA's GPUs. JSON: faults with line and
    fix."""
    from dataclasses import asdict

    from doctor.images.lint import lint

    _bounded(text)
    faults = [asdict(fault) for fault in lint(text, name[:200])]
    return json.dumps({"schema": "doctor.image-lint/1", "faults": faults})


TOOLS = (check, triage, explain, env, facts, solve, image_lint)
ARGUMENTS = {
    "check": {"profile": "Name of a shipped known-good stack to compare with, as `doctor profiles` lists them."},
    "triage": {"text": "What somebody pasted, whole: error messages and the lines around them; at most 8 MiB."},
    "explain": {"rule": "Id of a rule, as findings carry it: nvidia-driver-too-old."},
    "env": {
        "text": "The file's text; at most 8 MiB.",
        "name": "The file's name, which says what it is: job.sbatch, .env, Dockerfile, compose.yaml, x.service.",
    },
    "facts": {},
    "solve": {
        "packages": "As pip writes them: torch, vllm>=0.20, torch==2.14.0+cu130.",
        "gpu": "gfx942, sm_90, a PCI id such as 10de:2330, or a name.",
        "driver": "Version of NVIDIA's driver, or the release of the amdgpu driver.",
        "rocm": "Version of the ROCm that is installed.",
        "python": "3.12",
        "os": "ubuntu-24.04",
        "machine": "x86_64 or aarch64.",
    },
    "image_lint": {
        "text": "The file's text; at most 8 MiB.",
        "name": "The file's name: a .yaml or .yml is a compose file.",
    },
}


Schema = dict[str, Any]
_TYPES: dict[str, Schema] = {
    "str": {"type": "string"},
    "str | None": {"type": ["string", "null"], "default": None},
    "list[str]": {"type": "array", "items": {"type": "string"}},
}
"""Annotation of an argument -> its JSON schema."""


@cache
def schemas() -> dict[str, tuple[Callable[..., str], Schema]]:
    """Name -> the tool, and the JSON schema of its arguments."""
    made: dict[str, tuple[Callable[..., str], Schema]] = {}
    for tool in TOOLS:
        takes = inspect.signature(tool).parameters
        rows = {n: {**_TYPES[str(p.annotation)], "description": ARGUMENTS[tool.__name__][n]} for n, p in takes.items()}
        required = [n for n, p in takes.items() if p.default is p.empty]
        schema: Schema = {"type": "object", "properties": rows, "additionalProperties": False}
        made[tool.__name__] = tool, {**schema, "required": required} if required else schema
    return made


def fitting(name: str, schema: Schema, given: Any) -> None:
    """Raises ValueError for an argument that is missing, of another type or not known: `check {"root": …}` must not
    check this machine as if that had been asked."""
    takes = schema["properties"]
    if not isinstance(given, dict):
        raise ValueError(f"{name}: arguments: expected an object")
    for word, value in given.items():
        if word not in takes:
            known = f"it takes {', '.join(sorted(takes))}" if takes else "it takes none"
            raise ValueError(f"{name}: unknown argument {word[:60]!r}; {known}")
        if not _fits(value, takes[word]):
            raise ValueError(f"{name}: {word}: expected {json.dumps(takes[word]['type'])}")
    missing = [word for word in schema.get("required", ()) if word not in given]
    if missing:
        raise ValueError(f"{name}: {', '.join(missing)}: missing")


def _fits(value: Any, schema: Schema) -> bool:
    if schema["type"] == "array":
        return isinstance(value, list) and all(isinstance(member, str) for member in value)
    return isinstance(value, str) or (value is None and "null" in schema["type"])


def _bounded(text: str) -> None:
    if len(text) > _LONGEST:
        raise ValueError("text: more than 8 MiB")


def _short(report: Any) -> str:
    """A report without the facts, which `env` has."""
    from doctor.report.formats.json import as_data

    data = as_data(report)
    return json.dumps({k: v for k, v in data.items() if k not in ("snapshot", "clear")}, ensure_ascii=True)


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: _known(v) for k, v in value.items() if v is not None}
    return [_known(v) for v in value] if isinstance(value, list) else value
