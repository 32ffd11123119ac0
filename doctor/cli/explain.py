"""`doctor explain ID`: the documentation of one rule."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from doctor.engine.registry import Check


def add(app: typer.Typer) -> None:
    app.command("explain")(explain)


def explain(
    rule: Annotated[str, typer.Argument(help="The id of a rule (`doctor rules` lists them), or a target: gfx1031.")],
) -> None:
    """Explain a finding: what it means, why it matters, how to fix it. For an AMD GPU: who supports it."""
    import difflib
    import shutil

    from doctor.cli.output import deliver
    from doctor.engine.registry import checks
    from doctor.errors import InputError
    from doctor.images.lint import RULES
    from doctor.report.prose import fill
    from doctor.report.words import TESTED

    width = min(shutil.get_terminal_size((100, 24)).columns, 100)
    if rule.startswith("gfx"):
        deliver(_target(rule, width), None)
        return
    rules = {c.rule.id: c for c in checks()}
    if rule in RULES:
        deliver(f"# {rule}\n\n{RULES[rule]} (`doctor image lint`)\n", None)
        return
    if rule not in rules:
        near = difflib.get_close_matches(rule, {**rules, **RULES}, 1, 0.4)
        hint = f"did you mean {near[0]}?" if near else "`doctor rules` lists them, `doctor triage` reads error messages"
        raise InputError(f"no rule {rule!r}; {hint}")
    found = rules[rule].rule
    head = f"# {found.id}\n\n{found.title} ({found.severity.value}; tested {TESTED[found.proven]})\n\n"
    page, references, rest = found.page.strip().partition("## References")
    parts = [fill(head + page.strip(), width), _commands(rules[rule], width), fill(references + rest, width)]
    deliver("\n".join(part.rstrip("\n") + "\n" for part in parts if part.strip()), None)


def _target(gfx: str, width: int) -> str:
    """Who supports an AMD GPU of that target, and the commands for its owner."""
    from doctor.errors import InputError
    from doctor.knowledge import Knowledge
    from doctor.knowledge.gfx_support import support_of
    from doctor.report.advice import section, with_gpu
    from doctor.report.prose import fill
    from doctor.rules.lib import gfx_override

    kb = Knowledge()
    support = support_of(kb, gfx)
    if support.tier == "none" and not kb.knows_arch(gfx):
        raise InputError(f"{gfx} is not in the knowledge base; `rocminfo` shows the target of a GPU")
    said = "".join(f"- {sentence}\n" for sentence, _ in support.lines())
    ways = section(lambda machine: gfx_override.remedies(machine, kb, gfx), {gfx: with_gpu("amd", gfx)}, width)
    return f"{fill(f'# {gfx}{chr(10) * 2}{said}', width).rstrip()}\n\n{ways}"


def _commands(check: Check, width: int) -> str:
    from doctor.engine.remedies import offered
    from doctor.knowledge import Knowledge
    from doctor.report.advice import commands

    kb = Knowledge()
    return commands(
        lambda machine: tuple(offered(check.advice(machine, kb) if check.advice else check.remedies, machine)), width
    )
