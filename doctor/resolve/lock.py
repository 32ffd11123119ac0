"""A stack -> every package that it installs, with hashes: a requirements file or a pylock.toml, made by uv."""

from __future__ import annotations

from doctor.errors import ToolError
from doctor.resolve.model import Solution
from doctor.resolve.resolver import Uv, argv, question


def locked(uv: Uv, found: Solution, *, pylock: bool) -> str:
    """Text of the file. Raises ToolError with uv's words. What is compiled on the machine is not in it."""
    about = question(found)
    if about is None:
        raise ToolError(("uv", "pip", "compile"), None, "", "nothing of the stack lies on an index as a wheel")
    options = ("--format", "pylock.toml") if pylock else ("--generate-hashes",)
    ran = uv.run(about, *options)
    if ran.value is None:
        raise ToolError(argv("uv", about, *options), None, "", ran.detail or ran.state.value)
    if ran.value.code or ran.value.cut:
        raise ToolError(argv("uv", about, *options), ran.value.code, "", " ".join(ran.value.stderr.split()))
    if pylock:
        return ran.value.stdout
    indexes = "".join(f"--extra-index-url {url}\n" for url in about.indexes)
    return f"# {found.stack} for {about.words}\n{indexes}{ran.value.stdout}"
