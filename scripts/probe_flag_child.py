"""The child of probe_flag_grammars.py: runs in the environment that holds the components. Only the standard library."""

from __future__ import annotations

import ast
import contextlib
import importlib
import importlib.metadata
import importlib.util
import io
import json
import logging
import os
import re
import sys
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

SPELLINGS: tuple[str | None, ...] = (None, "", "0", "1", "true", "True", "on", "yes", "false", "no", "2", "junk")
_READS = {"get", "getenv", "pop", "get_env", "env_flag"}


def main() -> None:
    asked = json.loads(sys.stdin.read())
    package, names = asked["package"], set(asked["names"])
    release = importlib.metadata.version(package)
    own = {"vllm": vllm, "sglang": sglang, "triton": triton}.get(package)
    found: dict[str, Any] = {}
    hush = io.StringIO()
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    with contextlib.redirect_stdout(hush), contextlib.redirect_stderr(hush):
        asks = own(names) if own else read_in_source(asked["places"], names)
        for name, source, ask in asks:
            values = {spelt(text): answer(name, text, ask) for text in SPELLINGS}
            row = {"values": values, "source": f"pkg {package} {release}: {source}"}
            if name in found and found[name] and found[name]["values"] != values:
                found[name] = None  # read in two ways
            elif name not in found:
                found[name] = row
    sys.stdout.write(
        json.dumps({name: row for name, row in found.items() if row and len(set(row["values"].values())) > 1})
    )


def spelt(text: str | None) -> str:
    return "(unset)" if text is None else text


def answer(name: str, text: str | None, ask: Callable[[], Any]) -> str:
    """What the component takes the text for, as Python writes it; `error` and its kind where it raises."""
    before = os.environ.pop(name, None)
    if text is not None:
        os.environ[name] = text
    try:
        value = ask()
    except KeyError:
        return "(none)"
    except Exception as error:  # noqa: BLE001 -- what a component raises is the answer
        choices = re.search(r"(?:options|choices|one of).{0,40}?[\[{(]([^\])}]{1,600})[\])}]", str(error))
        return f"error {type(error).__name__}{f' {choices[1]}' if choices and text == 'junk' else ''}"
    finally:
        os.environ.pop(name, None)
        if before is not None:
            os.environ[name] = before
    return repr(value)[:80]


def vllm(names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    spec = importlib.util.find_spec("vllm")
    assert spec is not None
    assert spec.submodule_search_locations
    path = Path(spec.submodule_search_locations[0], "envs.py")
    made = importlib.util.spec_from_file_location("probed_envs", path)
    assert made is not None
    assert made.loader
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    for name, ask in module.environment_variables.items():
        if name in names:
            yield name, "vllm/envs.py", ask


def sglang(names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    spec = importlib.util.find_spec("sglang")
    assert spec is not None
    assert spec.submodule_search_locations
    made = importlib.util.spec_from_file_location(
        "probed_environ", Path(spec.submodule_search_locations[0], "srt", "environ.py")
    )
    assert made is not None
    assert made.loader
    module = importlib.util.module_from_spec(made)
    made.loader.exec_module(module)
    for name in sorted(names):
        field = getattr(module.Envs, name, None)
        if field is not None and hasattr(field, "get"):
            yield name, "sglang/srt/environ.py", field.get


def triton(names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    knobs = importlib.import_module("triton.knobs")
    for held in vars(knobs).values():
        if not isinstance(held, knobs.base_knobs):
            continue
        for attribute, descriptor in vars(type(held)).items():
            key = getattr(descriptor, "key", None)
            if key in names:

                def ask(held: Any = held, attribute: str = attribute) -> Any:
                    return getattr(held, attribute)

                yield str(key), "triton/knobs.py", ask


def read_in_source(places: list[str], names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    for place in places:
        top, _, rest = place.partition("/")
        spec = importlib.util.find_spec(top)
        assert spec is not None
        assert spec.submodule_search_locations
        root = Path(spec.submodule_search_locations[0])
        folder = root / rest if rest else root
        for file in sorted(folder.rglob("*.py")):
            if not ({"test", "tests", "testing"} & set(file.parts) or file.name.startswith("test")):
                yield from of_file(file, f"{top}/{file.relative_to(root)}", names)


def of_file(file: Path, shown: str, names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    text = file.read_text("utf-8", "replace")
    if "environ" not in text and "getenv" not in text:
        return
    try:
        tree = ast.parse(text)
    except SyntaxError:
        return
    parents = {child: node for node in ast.walk(tree) for child in ast.iter_child_nodes(node)}
    scope = namespace(tree)
    for node in ast.walk(tree):
        yield from of_config(node, shown, names)
        name = name_read(node)
        if name not in names:
            continue
        chain = [node]
        while isinstance(parents.get(chain[-1]), ast.expr):
            parent = parents[chain[-1]]
            if isinstance(parent, (ast.Lambda, ast.Dict, ast.JoinedStr, ast.FormattedValue, ast.Tuple, ast.List)):
                break
            chain.append(parent)
        for wide in reversed(chain):
            if not isinstance(wide, ast.expr) or isinstance(wide, ast.keyword):
                continue
            code = compile(ast.fix_missing_locations(ast.Expression(wide)), shown, "eval")
            if set(code.co_names) <= {*scope, *dir(__builtins__), *ATTRIBUTES, *attributes(wide)}:
                line = getattr(node, "lineno", 0)
                yield str(name), f"{shown}:{line}", partial(eval, code, dict(scope))
                break


def of_config(node: ast.AST, shown: str, names: set[str]) -> Iterator[tuple[str, str, Callable[[], Any]]]:
    """torch's Config(env_name_force=NAME): its own reader, which takes any text but 0 and 1 as it is."""
    if not (isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Config"):
        return
    for keyword in node.keywords:
        if keyword.arg not in ("env_name_force", "env_name_default"):
            continue
        for held in ast.walk(keyword.value):
            if isinstance(held, ast.Constant) and held.value in names:
                module = importlib.import_module("torch.utils._config_module")
                name = str(held.value)
                yield name, f"{shown}:{node.lineno}", partial(module._read_env_variable, name)


ATTRIBUTES = frozenset(("environ", "getenv", "get", "lower", "upper", "strip", "path", "expanduser", "join", "split"))


def attributes(node: ast.AST) -> set[str]:
    return {n.attr for n in ast.walk(node) if isinstance(n, ast.Attribute)}


def namespace(tree: ast.Module) -> dict[str, Any]:
    """os and what the module itself defines by small functions and constants; the rest of it is not run."""
    scope: dict[str, Any] = {"os": os, "__builtins__": __builtins__}
    for node in tree.body:
        small = isinstance(node, ast.FunctionDef) and len(list(ast.walk(node))) < 80 and not node.decorator_list
        constant = isinstance(node, ast.Assign) and isinstance(node.value, (ast.Constant, ast.Set, ast.Tuple))
        plain = isinstance(node, (ast.Import, ast.ImportFrom)) and all(
            a.name in ("os", "re", "sys", "json", "getenv", "environ") for a in node.names
        )
        if small or constant or plain:
            with contextlib.suppress(Exception):
                exec(compile(ast.Module([node], []), "own", "exec"), scope)  # noqa: S102 -- the component's own lines
    return scope


def name_read(node: ast.AST) -> str | None:
    """The variable that a call or a subscript reads."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Config":
        return None
    if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0].value
        known = called in _READS or "env" in called.lower()
        return first if known and isinstance(first, str) else None
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        held = node.value
        environ = isinstance(held, ast.Attribute) and held.attr == "environ" and isinstance(node.ctx, ast.Load)
        return node.slice.value if environ and isinstance(node.slice.value, str) else None
    if isinstance(node, ast.Compare) and isinstance(node.left, ast.Constant) and isinstance(node.left.value, str):
        right = node.comparators[0]
        return node.left.value if isinstance(right, ast.Attribute) and right.attr == "environ" else None
    return None


main()
