"""A hook of mkdocs: pages made from the program while the site is built, so that none is stale.

The commands with their options, the catalogue of rules, a page for each rule, and what `doctor stack` checks. None of
them is committed.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import Any

import typer
from mkdocs.structure.files import File, Files

from doctor.cli.help_texts import complete
from doctor.cli.main import build
from doctor.cli.plain_options import convert_plainly
from doctor.engine.registry import checks, rules
from doctor.findings import Rule
from doctor.report.stack import table
from doctor.report.words import TESTED

_CATALOGUE = """# Catalogue of rules

`doctor explain ID` prints one of these entries. [What a rule is](rules.md) says how a rule is written.
"""
_STACK = """# What `doctor stack` checks

`doctor stack` lists each part of the GPU stack that is here, with its releases and the result of each rule below: no
fault found, the fault, or why it is not known. On a simulated machine whose driver is too old for torch:

```text
$ doctor stack
torch: 2.9.1+cu130 (torch in /opt/venv/lib/python3.12/site-packages)
  against GPU: not known: torch.arch_list: not asked [torch-missing-gpu-arch]
  against vendor: no fault found [torch-built-for-other-vendor]
  against build: no fault found [torch-cpu-only-build]
  against driver: CUDA 13.0 needs NVIDIA driver 580.65.06 or newer; 535.183.01 is loaded. [nvidia-driver-too-old]
  against ROCm: not known: the rule was not asked [torch-rocm-version-mismatch]
  against Python: no fault found [python-version-unsupported]
  against NumPy: no fault found [numpy-abi-mismatch]
```

Nothing is run or imported. Versions of packages come from their metadata, those of tools from their folder, toolkit or
package, those of libraries from file names, headers and version files. [GPU code in libraries](gpu-code.md) says how
GPU code is read. `doctor knowledge show` lists the tables with their sources.

"""
_COMMANDS = """# Commands

Each command with its options, as `--help` prints them.
"""
_GUIDES = {
    "check": ("report", "containers", "plan", "exit-codes"),
    "triage": ("triage", "formats"),
    "explain": ("rules-catalogue",),
    "diff": ("bundle",),
    "why": ("why",),
    "solve": ("solve",),
    "env": ("env",),
    "profiles": ("profiles",),
    "stack": ("stack",),
    "run": ("run",),
    "image": ("images",),
    "fleet": ("fleet", "integrations"),
    "bundle": ("bundle",),
    "bench": ("bench",),
    "blas": ("blas",),
    "completion": ("integrations",),
    "gpu-code": ("gpu-code",),
    "mcp": ("integrations",),
    "rules": ("rules-catalogue",),
    "knowledge": ("knowledge",),
}
"""The pages about a command."""
_AREAS = {
    "driver": "Kernel drivers",
    "access": "Access to the GPU",
    "python": "Python environment",
    "blas": "BLAS libraries",
    "flags": "Environment flags",
    "host": "Host",
    "consequences": "Consequences",
    "tools": "Vendors' tools",
    "profile": "Profile and knowledge",
}
"""Folders of doctor/rules, in the order of the catalogue; others come last."""


def on_files(files: Files, config: Any) -> Files:
    """Adds the pages. Those of single rules stand under the catalogue, not in the menu."""
    for name, text in pages().items():
        files.append(File.generated(config, name, content=text))
    return files


def pages() -> dict[str, str]:
    """Path below docs/ -> Markdown."""
    single = {f"rule/{rule.id}.md": _page(rule) for rule in rules()}
    return {"commands.md": _commands(), "rules-catalogue.md": _catalogue(), "stack.md": _STACK + table(), **single}


def _commands() -> str:
    """The help text of each command, and of those below it."""
    group: Any = typer.main.get_group(build())
    convert_plainly(group)
    complete(group)
    top = group.make_context("doctor", [], resilient_parsing=True)
    return _COMMANDS + "".join(part for name in group.list_commands(top) for part in _help(group, top, name))


def _help(group: Any, parent: Any, name: str, level: int = 2) -> Iterator[str]:
    command = group.commands[name]
    context = command.make_context(name, [], parent=parent, resilient_parsing=True)
    context.terminal_width = 72
    yield f"\n{'#' * level} {context.command_path}\n\n"
    if level == 2 and name in _GUIDES:
        yield "More: " + ", ".join(f"[{page}]({page}.md)" for page in _GUIDES[name]) + ".\n\n"
    yield f"```text\n{command.get_help(context)}\n```\n"
    for below in getattr(command, "commands", ()):
        yield from _help(command, context, below, level + 1)


def _catalogue() -> str:
    """A table of all rules before the entries."""
    order = [*_AREAS]
    found = sorted(
        ((check.run.__module__.split(".")[2], check.rule) for check in checks()),
        key=lambda pair: (order.index(pair[0]) if pair[0] in order else len(order), pair[1].id),
    )
    rows = [f"| [{r.id}](#{r.id}) | {r.severity.value} | {TESTED[r.proven]} | {r.title} |" for _, r in found]
    parts = [_CATALOGUE, "| rule | severity | tested | what |\n|--|--|--|--|\n" + "\n".join(rows) + "\n"]
    for area, pairs in groupby(found, key=lambda pair: pair[0]):
        parts.append(f"## {_AREAS.get(area, area)}\n")
        parts += [f"### {r.id}\n\n{_about(r)}\n\n{r.page.strip().replace('## ', '#### ')}\n" for _, r in pairs]
    return "\n".join(parts)


def _about(rule: Rule) -> str:
    explains = f" Explains: {', '.join(rule.explains)}." if rule.explains else ""
    return f"{rule.title} Severity: {rule.severity.value}. Tested {TESTED[rule.proven]}.{explains}"


def _page(rule: Rule) -> str:
    about = f"{rule.title} Severity: {rule.severity.value}. Tested {TESTED[rule.proven]}."
    explains = f"\n\nExplains: {', '.join(f'[{r}]({r}.md)' for r in rule.explains)}." if rule.explains else ""
    back = f"[All rules](../rules-catalogue.md#{rule.id}). `doctor explain {rule.id}` prints this page."
    return f"# {rule.id}\n\n{about}{explains}\n\n{rule.page.strip()}\n\n{back}\n"
