"""`os.environ` of a script in Python: what it sets, before or after its imports, and what its workers then inherit."""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from doctor.flags.way.frame import Remark
from doctor.flags.way.launchers import Call
from doctor.flags.way.model import Alt, Held, Sees, Step, joined
from doctor.parsers.text.shell_lexer import HOLE

_LONGEST = 400_000
_AT_START = {
    "LD_LIBRARY_PATH": "the loader", "LD_PRELOAD": "the loader", "PYTHONPATH": "Python", "PYTHONHASHSEED": "Python",
    "PYTHONUNBUFFERED": "Python", "PYTHONNOUSERSITE": "Python",
}  # fmt: skip
"""Read once, when the process starts."""
_AT_IMPORT = {"OMP_NUM_THREADS": "torch", "MKL_NUM_THREADS": "torch"}
"""Read by libraries that the import loads, when they are loaded."""
_LOADS_TORCH = frozenset(
    [
        "torch",
        "torchvision",
        "torchaudio",
        "vllm",
        "deepspeed",
        "accelerate",
        "lightning",
        "transformer_engine",
        "sglang",
    ]
)


class Change(NamedTuple):
    line: int
    name: str
    text: str | None
    """A hole where it is computed; None: taken out."""
    surely: bool
    default: bool = False
    """Only where it is not set (setdefault)."""


class Script(NamedTuple):
    changes: tuple[Change, ...]
    torch: int
    """The line of the first import that loads torch at the top of the script; 0 without one."""


def read(text: str) -> Script | None:
    """None for what is no Python."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(text[:_LONGEST])
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    torch = min((n.lineno for n in tree.body if _imports(n) & _LOADS_TORCH), default=0)
    return Script(tuple(_changes(tree.body, surely=True)), torch)


def _imports(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) and not node.level else set()


def _changes(body: Sequence[ast.stmt], *, surely: bool, depth: int = 0) -> Iterator[Change]:
    for node in body:
        yield from _change(node, surely)
        for field in ("body", "orelse", "finalbody", "handlers"):
            inner = getattr(node, field, None)
            if isinstance(inner, list) and depth < 20:
                sure = surely and field == "body" and isinstance(node, (ast.With, ast.Try))
                statements = [s for h in inner for s in (h.body if isinstance(h, ast.ExceptHandler) else [h])]
                yield from _changes([s for s in statements if isinstance(s, ast.stmt)], surely=sure, depth=depth + 1)


def _change(node: ast.stmt, surely: bool) -> Iterator[Change]:
    if isinstance(node, ast.Assign):
        for target in node.targets:
            if name := _item(target):
                yield Change(node.lineno, name, _text(node.value), surely)
    elif isinstance(node, ast.Delete):
        yield from (Change(node.lineno, name, None, surely) for t in node.targets if (name := _item(t)))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and isinstance(node.value.func, ast.Attribute):
        call, method = node.value, node.value.func.attr
        if method in ("setdefault", "pop", "update") and _is_environ(node.value.func.value):
            yield from _method(call, method, surely)


def _method(call: ast.Call, method: str, surely: bool) -> Iterator[Change]:
    if method == "update":
        for keyword in call.keywords:
            if keyword.arg:
                yield Change(call.lineno, keyword.arg, _text(keyword.value), surely)
        for argument in call.args:
            if isinstance(argument, ast.Dict):
                for key, value in zip(argument.keys, argument.values, strict=True):
                    if isinstance(key, ast.Constant) and isinstance(key.value, str):
                        yield Change(call.lineno, key.value, _text(value), surely)
    elif call.args and isinstance(call.args[0], ast.Constant) and isinstance(call.args[0].value, str):
        text = _text(call.args[1]) if method == "setdefault" and len(call.args) > 1 else None
        yield Change(call.lineno, call.args[0].value, text, surely, default=method == "setdefault")


def _item(node: ast.expr) -> str | None:
    if isinstance(node, ast.Subscript) and _is_environ(node.value) and isinstance(node.slice, ast.Constant):
        return node.slice.value if isinstance(node.slice.value, str) else None
    return None


def _is_environ(node: ast.expr) -> bool:
    return (isinstance(node, ast.Attribute) and node.attr == "environ") or (
        isinstance(node, ast.Name) and node.id == "environ"
    )


def _text(node: ast.expr) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else HOLE


def follow(call: Call, sees: Sees, file: str, text: str) -> None:
    """The script's own changes, as a process of their own: what it has from then on, and its workers inherit."""
    script = read(text)
    if script is None or not script.changes:
        return
    after = sees.copy()
    for change in script.changes[:400]:
        after.held[change.name] = _changed(after.of(change.name), change, file)
        _late(call, change, script.torch, file, sees)
    last = max(change.line for change in script.changes)
    call.run.record([f"{file} and its workers, from line {last} on"], after, call.frame, call.line)


def _changed(before: Held, change: Change, file: str) -> Held:
    shown = f"os.environ[{change.name!r}]" + (f" = {change.text[:40]!r}" if change.text not in (None, HOLE) else "")
    step = Step(file, change.line, shown)
    new = Alt(change.text, "yes" if change.text is not None else "no", (step,))
    if not change.default:
        return (new,) if change.surely else joined(before, (new,))
    made = [a if a.text is not None else a._replace(outer="set") if a.outer else new for a in before]
    made += [new] if any(a.outer == "any" for a in before) else []
    return joined(made if change.surely else (*before, *made))


def _late(call: Call, change: Change, torch: int, file: str, sees: Sees) -> None:
    if change.text is None or (change.default and all(a.text is not None for a in sees.of(change.name))):
        return
    if (reader := _AT_START.get(change.name)) is not None:
        said = (
            f"{change.name} is set after Python started: {reader} has already read it, so only child processes see it"
        )
        cure = f"Set {change.name} before Python starts."
        call.run.remark(Remark("set-too-late", change.name, file, change.line, said, cure, "info"))
    elif change.name in _AT_IMPORT and torch and torch < change.line and change.surely:
        said = f"{change.name} is set after line {torch} imports torch, which reads it during import"
        cure = f"Set {change.name} above the import."
        call.run.remark(Remark("set-too-late", change.name, file, change.line, said, cure))
