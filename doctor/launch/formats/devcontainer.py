"""devcontainer.json, both vendors by runArgs: its tools turn `hostRequirements.gpu` into flags for NVIDIA alone."""

from __future__ import annotations

import json
from typing import Any

from doctor.errors import InputError
from doctor.launch.formats.docker import flags
from doctor.launch.spec import Emitted, Line, Spec, left_out

LOCAL = True


def emit(spec: Spec) -> Emitted:
    """Raises InputError where a value holds `${`: the tools would put a variable there, and nothing escapes it."""
    options = [flag for flag in flags(spec) if flag.words[0] not in ("--env", "--user", "--detach")]
    table: dict[str, Any] = {"name": spec.name, "image": spec.image}
    if options:
        table["runArgs"] = [word for option in options for word in option.words]
    passed = {part.value: f"${{localEnv:{part.value}}}" for part in spec.of("pass_env")}
    if spec.env or passed:
        table["containerEnv"] = {**spec.env, **passed}
    lines = [Line(" ".join(option.words), option.reason) for option in options]
    lines += [Line(f"containerEnv {part.value.partition('=')[0]}", part.reason) for part in spec.of("env", "pass_env")]
    for part in spec.of("user"):
        table["containerUser"] = part.value
        lines.append(Line(f"containerUser {part.value}", part.reason))
    for word in (*table.get("runArgs", ()), *spec.env.values()):
        if "${" in word:
            raise InputError(f"--emit devcontainer: {word[:60]!r} holds '${{', which its tools replace")
    unsaid = ["the command: a development container runs none"] if spec.command else []
    unsaid += left_out(spec, {"detach": "the tools keep it running"})
    return Emitted(json.dumps(table, indent=2) + "\n", tuple(lines), tuple(unsaid))
