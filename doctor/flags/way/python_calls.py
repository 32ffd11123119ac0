"""Statements and calls of Python that concern the environment: changes of os.environ, and what starts a process."""

from __future__ import annotations

import ast
import itertools
from collections.abc import Callable, Collection, Iterator, Mapping
from typing import NamedTuple

from doctor.flags.way.model import UNSET, Alt, Sees, Step, unless_set
from doctor.parsers.text.shell_lexer import HOLE

_DEFINES = (ast.FunctionDef, ast.AsyncFunctionDef)
_BODIES = ("body", "orelse", "handlers", "finalbody", "cases")
_ENDS = ("sys.exit", "exit", "quit", "os._exit", "os.abort")
_RUNS = ("subprocess.run", "subprocess.Popen", "subprocess.call", "subprocess.check_call", "subprocess.check_output")
_EXECS = {"os.execv": 1, "os.execvp": 1, "os.execve": 2, "os.execvpe": 2}
"""→ the number of arguments, the environment not among them."""
_POOLS = ("Pool", "start_processes")
MakeStep = Callable[[int, str], Step]


class Change(NamedTuple):
    line: int
    name: str
    text: str | None
    """A hole where it is computed; None: taken out."""
    default: bool = False
    """Only where it is not set (setdefault)."""


class Started(NamedTuple):
    """A process that a call starts: a program, a worker of multiprocessing, or the workers of Ray."""

    line: int
    argv: list[str] | None = None
    env: Sees | None = None
    method: str = ""
    ray: str = ""
    """local: ray.init starts the cluster; joined: it may run already."""
    given: Mapping[str, str] = {}


def dotted(node: ast.AST) -> str:
    """`os.environ.get`; of a call its name with `()`: `Process().start`."""
    if isinstance(node, ast.Attribute):
        return f"{dotted(node.value)}.{node.attr}"
    if isinstance(node, ast.Call):
        return f"{dotted(node.func)}()"
    return node.id if isinstance(node, ast.Name) else "?"


def text_of(node: ast.AST) -> str:
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, str) else HOLE


def imports(node: ast.stmt) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name.partition(".")[0] for alias in node.names}
    return {(node.module or "").partition(".")[0]} if isinstance(node, ast.ImportFrom) and not node.level else set()


def modules(node: ast.stmt) -> Iterator[str]:
    """Every module that a statement may import, those above it first: `from a.b import c` is a, a.b and a.b.c."""
    names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
    if isinstance(node, ast.ImportFrom) and node.module and not node.level:
        names = [f"{node.module}.{alias.name}" for alias in node.names]
    for name in names:
        yield from itertools.accumulate(name.split("."), "{}.{}".format)


def resolved(tree: ast.Module) -> ast.Module:
    """With every imported name written out: `sp.run` is `subprocess.run`, `environ` is `os.environ`."""
    names: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname: alias.name for alias in node.names if alias.asname}
        elif isinstance(node, ast.ImportFrom) and not node.level:
            names |= {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = names.get(node.id, node.id)
    return tree


class Module:
    """What is known of a script before it is walked."""

    def __init__(self, tree: ast.Module, called: Collection[str] = ()) -> None:
        self.body = tree.body
        self.called = {dotted(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)} | set(called)
        self.functions, others = functions(tree, self.called)
        self.anytime = [change for node in others for change in changes(node)]
        """Of methods, and of functions that others call."""
        self.method = start_method(tree)


def functions(
    tree: ast.Module, called: set[str]
) -> tuple[dict[str, ast.FunctionDef | ast.AsyncFunctionDef], list[ast.stmt]]:
    """Those at the top that are called by name, and the statements of the others. What is the target of a worker runs
    in that one."""
    top = {node.name: node for node in tree.body if isinstance(node, _DEFINES)}
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    targets = {dotted(k.value) for node in made for k in node.keywords if k.arg == "target"}
    targets |= {dotted(node.args[0]) for node in made if node.args and dotted(node.func).endswith((".spawn", ".map"))}
    others = [n for n in ast.walk(tree) if isinstance(n, _DEFINES) and n not in top.values()]
    others += [node for name, node in top.items() if name not in called | targets and not node.decorator_list]
    return top, [n for other in others for n in ast.walk(other) if isinstance(n, ast.stmt)]


def asks_for_main(test: ast.expr) -> bool:
    return isinstance(test, ast.Compare) and dotted(test.left) == "__name__" and isinstance(test.ops[0], ast.Eq)


def ends(name: str) -> bool:
    return name in _ENDS or name.startswith("os.exec")


def of(node: ast.stmt) -> Iterator[ast.Call]:
    """The calls of a statement itself, inner ones first; bodies apart."""
    for name, value in ast.iter_fields(node):
        if name not in _BODIES:
            for part in value if isinstance(value, list) else [value]:
                found = (
                    [each for each in ast.walk(part) if isinstance(each, ast.Call)] if isinstance(part, ast.AST) else []
                )
                yield from reversed(found)


def changes(node: ast.stmt, owner: str = "os.environ") -> Iterator[Change]:
    if isinstance(node, (ast.Assign, ast.AugAssign)):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if name := _item(target, owner):
                yield Change(node.lineno, name, text_of(node.value) if isinstance(node, ast.Assign) else HOLE)
            elif isinstance(node, ast.AugAssign) and dotted(target) == owner:
                yield from _pairs(node.lineno, node.value)
    elif isinstance(node, ast.Delete):
        yield from (Change(node.lineno, name, None) for target in node.targets if (name := _item(target, owner)))
    elif isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        yield from _method(node.value, owner)


def patched(node: ast.With | ast.AsyncWith) -> Iterator[Change]:
    """`with mock.patch.dict(os.environ, {…}):`"""
    for call in (item.context_expr for item in node.items):
        of_it = isinstance(call, ast.Call) and dotted(call.func).endswith("patch.dict") and len(call.args) > 1
        if isinstance(call, ast.Call) and of_it and "os.environ" in (dotted(call.args[0]), text_of(call.args[0])):
            yield from _pairs(call.lineno, call.args[1])


def _method(call: ast.Call, of_: str) -> Iterator[Change]:
    owner, _, method = dotted(call.func).rpartition(".")
    first = text_of(call.args[0]) if call.args else HOLE
    if method == "putenv" and len(call.args) > 1 and HOLE not in first:
        yield Change(call.lineno, first, text_of(call.args[1]))
    elif owner != of_:
        return
    elif method == "update":
        for argument in call.args:
            yield from _pairs(call.lineno, argument)
        yield from (Change(call.lineno, k.arg, text_of(k.value)) for k in call.keywords if k.arg)
    elif method in ("setdefault", "pop") and HOLE not in first:
        text = text_of(call.args[1]) if method == "setdefault" and len(call.args) > 1 else None
        yield Change(call.lineno, first, text, default=method == "setdefault")


def _pairs(line: int, node: ast.expr) -> Iterator[Change]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and HOLE not in text_of(key):
                yield Change(line, text_of(key), text_of(value))
    elif isinstance(node, ast.Call) and dotted(node.func) == "dict":
        yield from (Change(line, k.arg, text_of(k.value)) for k in node.keywords if k.arg)


def _item(node: ast.expr, owner: str) -> str:
    if isinstance(node, ast.Subscript) and dotted(node.value) == owner:
        name = text_of(node.slice)
        return "" if HOLE in name else name
    return ""


def remember(node: ast.stmt, names: dict[str, Sees | list[str]], sees: Sees, step: MakeStep) -> None:
    """`env = os.environ.copy()`, `env = {…}`, `env["A"] = "1"`, `cmd = ["torchrun", …]`. What else is done to these
    names makes them unknown."""
    if not isinstance(node, ast.Assign):
        changed = node.target if isinstance(node, ast.AugAssign) else node.value if isinstance(node, ast.Expr) else node
        for each in node.targets if isinstance(node, ast.Delete) else [changed]:
            owner = dotted(each.value if isinstance(each, ast.Subscript) else each).partition(".")[0]
            held = names.get(owner)
            done = list(changes(node, owner)) if isinstance(held, Sees) else []
            if not done or not isinstance(held, Sees):
                names.pop(owner, None)
                continue
            for change in done:
                new = Alt(change.text, "yes", (step(node.lineno, f"{owner}: {change.name}"),))
                held.held[change.name] = unless_set(held.of(change.name), new) if change.default else (new,)
        return
    for target in node.targets:
        if isinstance(target, ast.Name):
            words = _argv(node.value, names) if isinstance(node.value, (ast.List, ast.Tuple)) else None
            made = words or _environment(node.value, names, sees, step)
            if made is not None:
                names[target.id] = made
            else:
                names.pop(target.id, None)
        elif isinstance(target, ast.Subscript) and (owner := dotted(target.value)) in names:
            held = names[owner]
            if isinstance(held, Sees) and (name := _item(target, owner)):
                held.put(name, text_of(node.value), step(node.lineno, f"{owner}[{name!r}]"))
            else:
                del names[owner]


def _environment(node: ast.expr, names: Mapping[str, Sees | list[str]], sees: Sees, step: MakeStep) -> Sees | None:
    """What a mapping holds that is made from the environment, or written out."""
    if isinstance(node, ast.Name):
        held = names.get(node.id)
        return held.copy() if isinstance(held, Sees) else None
    if isinstance(node, ast.Attribute) and dotted(node) == "os.environ":
        return sees.copy()
    if isinstance(node, ast.Call):
        name = dotted(node.func)
        inner = node.func.value if isinstance(node.func, ast.Attribute) and name.endswith(".copy") else None
        inner = node.args[0] if name in ("dict", "copy.copy", "copy.deepcopy") and node.args else inner
        made = _environment(inner, names, sees, step) if inner is not None else Sees(UNSET) if name == "dict" else None
        made = made.copy() if made is not None else None
        pairs = [(k.arg, k.value) for k in node.keywords] if name == "dict" else []
    elif isinstance(node, ast.Dict):
        made = Sees(UNSET)
        pairs = [(text_of(k) if k is not None else None, v) for k, v in zip(node.keys, node.values, strict=True)]
    else:
        return None
    for key, value in pairs:
        if made is None:
            return None
        if key is None:
            other = _environment(value, names, sees, step)
            if other is None:
                return None
            made = Sees(other.base, {**made.held, **other.held})
        elif HOLE in key:
            return None
        else:
            made.put(key, text_of(value), step(node.lineno, f"env: {key}"))
    return made


def started(node: ast.Call, names: Mapping[str, Sees | list[str]], sees: Sees, step: MakeStep) -> Started | None:
    name = dotted(node.func)
    keywords = {k.arg: k.value for k in node.keywords if k.arg}
    first = node.args[0] if node.args else keywords.get("args")
    if name in _RUNS:
        env = keywords.get("env")
        plain = env is None or (isinstance(env, ast.Constant) and env.value is None)
        seen = sees if plain or env is None else _environment(env, names, sees, step)
        return Started(
            node.lineno, _argv(first, names), seen or sees.unknown(step(node.lineno, "env= was not followed"))
        )
    if name in ("os.system", "os.popen"):
        return Started(node.lineno, ["sh", "-c", text_of(first)] if first is not None else [HOLE])
    if name in _EXECS and len(node.args) > 1:
        given = node.args[2] if len(node.args) > 2 else None
        seen = _environment(given, names, sees, step) if given is not None else sees
        return Started(node.lineno, _argv(node.args[1], names), seen or sees.unknown(step(node.lineno, "not followed")))
    last = name.rpartition(".")[2]
    if name == "ray.init":
        return Started(node.lineno, ray=_where(node, keywords), given=_given(keywords.get("runtime_env")))
    if name.endswith("multiprocessing.spawn"):
        return Started(node.lineno, method="spawn")
    return Started(node.lineno) if last in _POOLS or last == "start" else None


def start_method(tree: ast.Module) -> str | None:
    """Of multiprocessing: the one that the script names; "" where it names none or several, None where it starts no
    worker with `.start()`."""
    made = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = {
        text_of(n.args[0]) for n in made if dotted(n.func).endswith(("get_context", "set_start_method")) and n.args
    }
    if not any(dotted(n.func).rpartition(".")[2] in ("Process", "Pool") for n in made):
        return None
    return named.pop() if len(named) == 1 else ""


def _argv(node: ast.AST | None, names: Mapping[str, Sees | list[str]]) -> list[str]:
    """A list of words, or a text for the shell."""
    held = names.get(node.id) if isinstance(node, ast.Name) else None
    if isinstance(held, list):
        return held
    if isinstance(node, (ast.List, ast.Tuple)):
        return ["python" if dotted(each) == "sys.executable" else text_of(each) for each in node.elts]
    text = text_of(node) if node is not None else HOLE
    return ["sh", "-c", text] if HOLE not in text else [HOLE]


def _where(node: ast.Call, keywords: Mapping[str, ast.expr]) -> str:
    address = node.args[0] if node.args else keywords.get("address")
    alone = (isinstance(address, ast.Constant) and address.value in (None, "local")) or "num_cpus" in keywords
    return "local" if alone else "joined"


def _given(node: ast.expr | None) -> dict[str, str]:
    if isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            if key is not None and text_of(key) == "env_vars":
                return {change.name: change.text or HOLE for change in _pairs(node.lineno, value)}
    return {}
