"""Text of others -> text that means itself in a Dockerfile and in a comment.

What a profile may hold is narrow already (doctor.profiles.text); what is written here does not lean on it.
"""

from __future__ import annotations

from doctor.errors import InputError


def one_line(text: str) -> str:
    """Raises InputError for text that could start a line of its own or move a terminal's cursor."""
    if not all(c.isprintable() for c in text):
        raise InputError(f"{text[:60]!r}: expected one line of printable text")
    return text


def docker(text: str) -> str:
    r"""A value of ENV or LABEL, quoted, so that nothing in it is expanded.

    >>> print(docker('say "$HOME" \\ $(id)'))
    "say \"\$HOME\" \\ \$(id)"
    """
    escaped = one_line(text).replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$")
    return f'"{escaped}"'


def comment(text: str, width: int = 116) -> list[str]:
    """Lines of a comment. A line of ours never ends in a backslash, which a Dockerfile would join to the next."""
    import textwrap

    lines = textwrap.wrap(one_line(text), width, break_long_words=False, break_on_hyphens=False)
    return [f"# {line}".rstrip("\\").rstrip("`") for line in lines]
