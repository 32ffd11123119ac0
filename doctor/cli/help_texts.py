"""How `doctor --help` lists the commands: by what somebody wants to do."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from types import MethodType
from typing import Any

from typer.core import TyperGroup

from doctor.cli.choices import choices

ABOUT = (
    "Find out why an AMD or NVIDIA GPU does not work with your software, see the evidence, and get the command that "
    "fixes it."
)
SECTIONS = {
    "Diagnose": ("check", "triage", "explain", "diff", "why"),
    "Install": ("solve", "env", "profiles", "stack"),
    "Containers": ("run", "image"),
    "Cluster and support": ("fleet", "bundle"),
    "Measure": ("bench", "blas"),
    "Advanced": ("gpu-code", "knowledge", "rules", "mcp", "completion", "version"),
}
_WIDEST = 100
EXAMPLES = {
    "check": ("doctor check", "doctor check --python .venv/bin/python --fail-on warning", "doctor check --in web"),
    "triage": ("doctor triage issue.md", "dmesg | doctor triage", "doctor triage --format markdown issue.md"),
    "explain": (
        "doctor explain torch-sees-no-gpu",
        "doctor explain nvidia-driver-too-old",
        "doctor explain device-node-permission",
    ),
    "diff": (
        "doctor diff good.tar.gz bad.tar.gz",
        "doctor diff yesterday.json this",
        "doctor diff --format json a.tar.gz b.tar.gz",
    ),
    "why": (
        "doctor why good.tar.gz bad.tar.gz",
        "doctor why there.json this --symptom error.txt",
        "doctor why good/bin/python bad/bin/python --prove -- python train.py",
    ),
    "solve": (
        "doctor solve torch",
        "doctor solve 'vllm>=0.20' --gpu sm_90 --driver 580.95.05",
        "doctor solve torch --gpu gfx942 --rocm 7.2 --python 3.12 --tool uv",
    ),
    "env": ("doctor env", "doctor env train.sbatch Dockerfile", "doctor env --recommend --workload train"),
    "profiles": ("doctor profiles list", "doctor profiles show h100+cuda13.0", "doctor profiles match"),
    "stack": (
        "doctor stack",
        "doctor stack --python .venv/bin/python",
        "doctor stack --from node.tar.gz --format json",
    ),
    "run": (
        "doctor run rocm/pytorch:latest -- python train.py",
        "doctor run --gpus 0,2 --print vllm/vllm-openai:latest",
        "doctor run --emit kubernetes rocm/pytorch:latest",
    ),
    "image": (
        "doctor image emit h100+cuda13.2+train",
        "doctor image build h100+cuda13.2+train",
        "doctor image lint Dockerfile compose.yaml",
    ),
    "fleet": (
        "doctor fleet report reports/",
        "doctor fleet check --slurm",
        "doctor fleet diff yesterday/ today/",
    ),
    "bundle": ("doctor bundle -o node.tar.gz", "doctor bundle --dry-run", "doctor bundle scan node.tar.gz"),
    "bench": ("doctor bench", "doctor bench gemm copy --device cuda:0", "doctor bench compare before.json after.json"),
    "blas": ("doctor blas", "doctor blas --prove", "doctor blas --from node.tar.gz"),
}
"""Three of each command that people start with; every one is parsed by a test."""


_MANY = 10
_GROUPS = {
    "Machine": ("from", "root", "python", "pid", "in", "gpu", "driver", "rocm", "os", "machine", "glibc"),
    "Output": ("format", "o", "v", "fail-on", "strict", "plan", "choose", "print", "emit", "explain", "lock"),
    "Redaction": ("hide", "domain", "key", "unredacted", "map"),
}
"""Headings of the options of a command that has many, which all commands share."""


def width() -> int:
    """Columns of a help text: the terminal's, up to a width that still reads well."""
    return min(shutil.get_terminal_size().columns, _WIDEST)


def complete(group: Any) -> None:
    """Put examples below the help text of each command, and the options of those with many under headings."""
    for name, examples in EXAMPLES.items():
        if name in group.commands:
            group.commands[name].epilog = "\n".join(examples)
            group.commands[name].format_epilog = MethodType(_format_examples, group.commands[name])
    _group_options(group)


def _format_examples(self: Any, ctx: Any, formatter: Any) -> None:  # noqa: ARG001 -- the signature is typer's
    """A command that is too long goes on behind a backslash, so that it can be copied."""
    with formatter.section("Examples"):
        for example in self.epilog.splitlines():
            lines = textwrap.wrap(
                example, formatter.width - 4, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False
            )
            formatter.write("  " + " \\\n  ".join(lines) + "\n")


def _group_options(command: Any) -> None:
    for inner in getattr(command, "commands", {}).values():
        _group_options(inner)
    if not hasattr(command, "commands"):
        command.format_options = MethodType(_format_options, command)


def _format_options(self: Any, ctx: Any, formatter: Any) -> None:
    groups = _GROUPS if len(self.params) > _MANY else {}
    first_column = min(30, formatter.width * 2 // 5)
    sections: dict[str, list[tuple[str, str]]] = {title: [] for title in ("Arguments", "Options", *groups)}
    for parameter in self.get_params(ctx):
        name = max(parameter.opts, key=len).lstrip("-")
        shared = next((title for title, names in groups.items() if name in names), "Options")
        title = "Arguments" if parameter.param_type_name == "argument" else shared
        if row := parameter.get_help_record(ctx):
            sections[title].append(_narrow(row, name, choices(parameter), first_column))
    for title, rows in sections.items():
        if rows:
            with formatter.section(title):
                formatter.write_dl(rows, col_max=first_column)


def _narrow(row: tuple[str, str], name: str, words: Sequence[str], columns: int) -> tuple[str, str]:
    """Choices that are too long for the first column go into the second."""
    option, text = row
    if not words or len(option) <= columns:
        return row
    before, gap, default = text.partition("  [default")
    return option.replace("|".join(words), name.upper()), "".join((before, f"  [{', '.join(words)}]", gap, default))


class CommandsBySection(TyperGroup):
    """The commands under headings."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Write a list for each section that has commands."""
        left = [name for name in self.list_commands(ctx) if not self.commands[name].hidden]
        limit = formatter.width - 6 - max(map(len, left), default=0)
        for title, names in SECTIONS.items():
            if here := [name for name in names if name in left]:
                with formatter.section(title):
                    formatter.write_dl([(name, self.commands[name].get_short_help_str(limit)) for name in here])
