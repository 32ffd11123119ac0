"""`doctor completion`: what a shell needs to complete the doctor's commands and options, written out.

No Tab starts Python.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from doctor.cli.choices import choices

if TYPE_CHECKING:
    from typing import TypeAlias

    Command: TypeAlias = Any
    """Of click or of typer's copy of it."""

SHELLS = ("bash", "zsh", "fish")


def add(app: typer.Typer) -> None:
    app.command("completion")(completion)


def completion(shell: Annotated[str, typer.Argument(help="bash, zsh or fish.")]) -> None:
    """Print the completion script for bash, zsh or fish."""
    from doctor.cli.main import build
    from doctor.cli.output import deliver
    from doctor.errors import InputError

    if shell not in SHELLS:
        raise InputError(f"{shell}: expected one of {', '.join(SHELLS)}")
    rows = dict(_rows(typer.main.get_group(build()), ()))
    deliver(_fish(rows) if shell == "fish" else _bash(rows, zsh=shell == "zsh"), None)


def _rows(command: Command, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Each command's path and the words that may follow it."""
    members: dict[str, Command] = getattr(command, "commands", {})
    options = [o for p in command.params for o in (*p.opts, *p.secondary_opts) if o.startswith("-")]
    yield path, list(dict.fromkeys([*_names(path), *members, *options, "--help"]))
    for parameter in command.params:
        for name in parameter.opts if parameter.param_type_name == "option" else ():
            if values := choices(parameter) or _names((*path, name)):
                yield (*path, name), list(values)
    for name, member in members.items():
        yield from _rows(member, (*path, name))


def _names(path: tuple[str, ...]) -> Iterable[str]:
    """What may be behind a command or an option, where its help text can't list it."""
    match path:
        case (
            (*_, "--profile")
            | ("profiles", "show" | "diff" | "validate")
            | ("image", "emit" | "lock" | "fetch" | "build")
        ):
            from doctor.profiles.compose import named

            return named()
        case ("explain",) | ("check", "--only" | "--skip"):
            from doctor.engine.registry import checks

            return [c.rule.id for c in checks()]
        case ("knowledge", "show" | "sources" | "age" | "validate"):
            from doctor.knowledge.tables import TABLES

            return [table.name for table in TABLES]
        case ("completion",):
            return SHELLS
    return ()


def _bash(rows: dict[tuple[str, ...], list[str]], *, zsh: bool) -> str:
    """`found` and not `path`, which is the PATH of zsh."""
    known = " | ".join(f'"{" ".join(path)}"' for path in rows if path)
    cases = "\n".join(f'    "{" ".join(path)}") words="{" ".join(words)}" ;;' for path, words in rows.items())
    head = "#compdef doctor rcdoctor\nautoload -U +X bashcompinit && bashcompinit\n" if zsh else ""
    return f"""{head}# Completion of doctor, made by `doctor completion {"zsh" if zsh else "bash"}`.
_doctor() {{
  local current="${{COMP_WORDS[COMP_CWORD]}}" found="" words="" word longer
  for word in "${{COMP_WORDS[@]:1:$((COMP_CWORD-1))}}"; do
    if [[ "$word" == "=" ]]; then continue; fi
    if [[ "$found" == *" -"* ]]; then found="${{found% *}}"; continue; fi
    longer="${{found:+$found }}$word"
    case "$longer" in
      {known}) found="$longer" ;;
    esac
  done
  case "$found" in
{cases}
  esac
  COMPREPLY=()
  [[ "$current" == "=" ]] && current=""
  while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -W "$words" -- "$current")
}}
complete -o default -F _doctor doctor rcdoctor
"""


def _fish(rows: dict[tuple[str, ...], list[str]]) -> str:
    """Without files where a command has commands of its own, or an option its values."""
    known = " ".join(f"'{' '.join(path)}'" for path in rows if path)
    commands = [path for path in rows if path and not path[-1].startswith("-")]
    closed = [path for path in rows if path not in commands or any(c[:-1] == path for c in commands)]
    groups = " ".join(f"'{' '.join(path)}'" for path in closed)
    cases = "\n".join(f"        case '{' '.join(path)}'\n            set words {' '.join(words)}"
                      for path, words in rows.items())  # fmt: skip
    return f"""# Completion of doctor, made by `doctor completion fish`.
function __doctor_found
    set -l found ''
    for word in (commandline -opc)[2..]
        if string match -q -- '* -*' $found
            set found (string replace -r ' [^ ]*$' '' -- $found)
            continue
        end
        set -l longer (string trim -- "$found $word")
        if contains -- $longer {known}
            set found $longer
        end
    end
    echo $found
end
function __doctor_words
    set -l words
    switch (__doctor_found)
{cases}
    end
    if string match -q -- '-*' (commandline -ct)
        string match -- '-*' $words
    else
        string match -v -- '-*' $words
    end
end
complete -c doctor -n 'contains -- (__doctor_found) {groups.replace("'", '"')}' -f
complete -c doctor -n 'string match -q "explain" (__doctor_found)' -f
complete -c doctor -a '(__doctor_words)'
complete -c rcdoctor -w doctor
"""
