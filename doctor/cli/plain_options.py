"""Options that need no validation are converted without pydantic.

typer validates every option by pydantic, which takes longer to import than all else that a check needs before its
probes start. A text is a text and a path is a path: only what can be wrong in itself (a number) is left to typer.
Where a typer has no such descriptor, all is.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, get_args

from doctor.cli.choices import choices
from doctor.errors import InputError

Process = Callable[[Any, Any], Any]
HELP_NAMES = ("-h", "--help")
_TAKEN_AS_IS = {str: str, Path: Path}
_SHOWN_AS = {Path: "PATH", int: "N", float: "N"}


def convert_plainly(command: Any) -> None:
    """For each option of a command, and of a group's commands."""
    for inner in getattr(command, "commands", {}).values():
        convert_plainly(inner)
    # The option of the help texts is made at first use, and is in no list.
    own_help = command.get_help_option(command.context_class(command, help_option_names=list(HELP_NAMES)))
    for parameter in (*command.params, *filter(None, [own_help])):
        descriptor = getattr(parameter, "type_descriptor", None)
        if descriptor is not None and (parameter.callback is None or parameter is own_help):
            parameter.process_value = _process(parameter, _plain_type(descriptor.annotation))
        if descriptor is not None and not descriptor.is_choice:
            _show_what_it_takes(parameter)


def _show_what_it_takes(parameter: Any) -> None:
    """`--driver DRIVER` in a help text where typer shows `<str>`; an argument's name is enough."""
    inner = parameter.type_descriptor.annotation
    while arguments := [a for a in get_args(inner) if a is not type(None)]:
        inner = arguments[0]
    own = max(parameter.opts, key=len).lstrip("-").upper()
    word = "" if parameter.param_type_name == "argument" else parameter.metavar or _SHOWN_AS.get(inner, own)
    parameter.display_type_rich = lambda ctx: word  # noqa: ARG005 -- the signature is typer's


def _plain_type(annotation: Any) -> Callable[[str], Any] | None:
    """`str` of `str | None` and of `list[str] | None`; None for what typer must judge."""
    if annotation in _TAKEN_AS_IS:
        return _TAKEN_AS_IS[annotation]
    inner = [a for a in get_args(annotation) if a is not type(None)]
    return _plain_type(inner[0]) if len(inner) == 1 else None


def _process(parameter: Any, plain: Callable[[str], Any] | None) -> Process:
    judged: Process = parameter.process_value
    several = parameter.multiple or parameter.nargs == -1
    known = choices(parameter)

    def process(context: Any, value: Any) -> Any:
        if not parameter.required and (value is None or value == parameter.default):
            return () if several and value is None else value
        for word in (value if several else (value,)) if known and value is not None else ():
            if word not in known:
                name = max(parameter.opts, key=len)
                raise InputError(f"invalid {name} {word!r} (choose from {', '.join(known)})")
        if plain and isinstance(value, str) and not several:
            return plain(value)
        if plain and several and value is not None and all(isinstance(v, str) for v in value):
            return [plain(v) for v in value]
        return judged(context, value)

    return process
