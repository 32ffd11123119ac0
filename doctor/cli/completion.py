"""`doctor completion`: what a shell needs to complete the doctor's commands and options, written out.

No Tab starts Python.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from typing import TypeAlias

    Command: TypeAlias = Any
    """Of click or of typer's copy of it."""

SHELLS = ("bash", "zsh", "fish")


def add(app: typer.Typer) -> None:
    app.command("completion")(completion)


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion for a shell: `doctor completion bash >~/.local/share/bash-completion/completions/doctor`."""
    from doctor.cli.main import build
    from doctor.errors import InputError

    if shell not in SHELLS:
        raise InputError(f"{shell}: one of {', '.join(SHELLS)} is wanted")
    rows = dict(_rows(typer.main.get_group(build()), ()))
    typer.echo(_fish(rows) if shell == "fish" else _bash(rows, zsh=shell == "zsh"), nl=False)


def _rows(command: Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each command's path and the words that may follow it."""
    members: dict[str, Command] = getattr(command, "commands", {})
    options = [o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("-")]
    words = [*members, *options, "--help"]
    if path == ("explain",):
        from doctor.diagnosis.registry import checks

        words = [*(c.rule.id for c in checks()), *words]
    yield path, list(dict.fromkeys(words))
    for name, member in members.items():
        yield from _rows(member, (*path, name))


def _bash(rows: dict[tuple[str, ...], list[str]], *, zsh: bool) -> str:
    known = " | ".join(f'"{" ".join(path)}"' for path in rows if path)
    cases = "\n".join(f'    "{" ".join(path)}") words="{" ".join(words)}" ;;' for path, words in rows.items())
    head = "#compdef doctor\nautoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{head}# Completion of doctor, made by `doctor completion {"zsh" if zsh else "bash"}`.
_doctor() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" path="" words="" word longer
  for word in "${{COMP_WORDS[@]:1:COMP_CWORD-1}}"; do
    longer="${{path:+$path }}$word"
    case "$longer" in
      {known}) path="$longer" ;;
    esac
  done
  case "$path" in
{cases}
  esac
  COMPREPLY=()
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _doctor doctor
"""


def _fish(rows: dict[tuple[str, ...], list[str]]) -> str:
    lines = ["# Completion of doctor, made by `doctor completion fish`."]
    for path, words in rows.items():
        seen = "; and ".join(f"__fish_seen_subcommand_from {word}" for word in path)
        inner = [w for w in rows if len(w) == len(path) + 1 and w[: len(path)] == path]
        names = " ".join(w[-1] for w in inner)
        asked = seen or "true"
        if names:
            lines.append(
                f"complete -c doctor -f -n '{asked}; and not __fish_seen_subcommand_from {names}' -a '{names}'"
            )
        lines += [f"complete -c doctor -n '{asked}' -l {word[2:]}" for word in words if word.startswith("--")]
    return "\n".join(lines) + "\n"
