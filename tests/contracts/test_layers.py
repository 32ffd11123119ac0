"""Imports point down the layer table of the design, third-party column included."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

from tests.each import each

DOCTOR = Path(__file__).resolve().parents[2] / "doctor"

# Longest prefix wins. The row, and what of others' packages may be imported there.
LAYERS: dict[str, tuple[int, frozenset[str]]] = {
    "doctor": (0, frozenset()),
    "doctor.areas": (0, frozenset()),
    "doctor.errors": (0, frozenset()),
    "doctor.versions": (0, frozenset()),
    "doctor.facts": (1, frozenset({"pydantic"})),
    "doctor.rule_ids": (0, frozenset()),
    "doctor.findings": (2, frozenset({"pydantic"})),
    "doctor.parsers": (2, frozenset({"yaml", "defusedxml", "zstandard"})),
    "doctor.system": (2, frozenset()),
    "doctor.system.engine_api": (2, frozenset({"docker", "requests", "urllib3"})),  # what the SDK raises
    "doctor.system.nvml_child": (2, frozenset({"pynvml"})),
    "doctor.knowledge": (2, frozenset({"pydantic", "packaging", "tomli"})),
    "doctor.redaction": (2, frozenset()),
    "doctor.probes": (3, frozenset()),
    "doctor.triage": (3, frozenset({"pydantic"})),  # the ValidationError of facts.assemble
    "doctor.triage.templates": (3, frozenset({"pydantic", "tomli"})),
    "doctor.profiles": (3, frozenset({"pydantic", "tomli"})),
    "doctor.knowledge_update": (3, frozenset({"pydantic"})),
    "doctor.resolve": (3, frozenset({"packaging"})),
    "doctor.blas": (3, frozenset()),
    "doctor.flags": (3, frozenset()),
    "doctor.blas.prove": (5, frozenset()),
    "doctor.blas.scripts": (9, frozenset({"torch"})),  # data, run by the user's Python: nothing of ours imports it
    "doctor.bench": (5, frozenset()),
    "doctor.bench.scripts": (9, frozenset({"torch", "triton"})),
    "doctor.rules": (4, frozenset()),
    "doctor.engine": (5, frozenset({"pydantic"})),
    "doctor.report": (5, frozenset()),
    "doctor.report.terminal": (5, frozenset({"rich"})),
    "doctor.images": (5, frozenset({"pydantic"})),
    "doctor.images.oci": (5, frozenset({"zstandard"})),
    "doctor.images.lint.project": (5, frozenset({"packaging", "tomli"})),
    "doctor.images.wheels": (5, frozenset({"packaging", "tomli"})),
    "doctor.images.registry": (5, frozenset({"httpx"})),
    "doctor.images.sbom": (5, frozenset({"cyclonedx", "packageurl"})),
    "doctor.launch": (6, frozenset({"yaml"})),
    "doctor.bundle": (7, frozenset({"detect_secrets"})),
    "doctor.fleet": (7, frozenset({"yaml"})),
    "doctor.fleet.schema": (7, frozenset({"pydantic"})),
    "doctor.compare": (7, frozenset()),
    "doctor.sides": (8, frozenset()),
    "doctor.why": (9, frozenset()),
    "doctor.notebook": (10, frozenset()),
    "doctor.cli": (10, frozenset({"typer"})),
    "doctor.__main__": (11, frozenset()),
}


def layer(module: str) -> tuple[str, int, frozenset[str]]:
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return (module, *LAYERS[module])


def package_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


@cache
def imports(path: Path, module: str) -> tuple[str, ...]:
    return tuple(_imports(path, module))


def _imports(path: Path, module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            # `from doctor.parsers.amd import rocminfo` imports the module doctor.parsers.amd.rocminfo
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if (DOCTOR.parent / (full.replace(".", "/") + ".py")).exists() else str(node.module)
        elif isinstance(node, ast.Call) and "import_module" in vars(node.func).values():
            yield from (a.value for a in node.args[:1] if isinstance(a, ast.Constant) and isinstance(a.value, str))


MODULES = sorted(p for p in DOCTOR.rglob("*.py"))


@each("path", MODULES)
def test_imports_point_down(path: Path) -> None:
    module = _name(path)
    _, row, third_party = layer(module)
    for imported in imports(path, module):
        top = imported.split(".")[0]
        assert ".scripts." not in f"{imported}.", f"{module} imports {imported}, which the user's Python alone may run"
        if top == "doctor":
            assert ".scripts." not in f"{module}.", f"{module} has to run without this package"
            _, other, _ = layer(imported)
            same = package_of(imported) == package_of(module)
            assert other < row or same, f"{module} (row {row}) imports {imported} (row {other})"
        elif top not in sys.stdlib_module_names:
            assert top in third_party, f"{module} imports {top}"


def test_every_module_of_the_package_is_in_a_named_row() -> None:
    tops = {
        p.stem if p.is_file() else p.name for p in DOCTOR.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()
    }
    assert {f"doctor.{t}" for t in tops if t != "__init__"} <= set(LAYERS)


def test_no_row_allows_a_package_that_nothing_there_imports() -> None:
    used: dict[str, set[str]] = {}
    for path in MODULES:
        module = _name(path)
        used.setdefault(layer(module)[0], set()).update(i.split(".")[0] for i in imports(path, module))
    idle = {row: sorted(allowed - used.get(row, set())) for row, (_, allowed) in LAYERS.items()}
    assert {row: names for row, names in idle.items() if names} == {}


def test_no_two_modules_import_each_other_by_whatever_way() -> None:
    names = {_name(path): path for path in MODULES}
    graph = {name: {i for i in imports(path, name) if i in names and i != name} for name, path in names.items()}
    assert _circles(graph) == []


def test_a_circle_is_found() -> None:
    assert _circles({"a": {"b"}, "b": {"c"}, "c": {"a", "d"}, "d": set()}) == [["a", "b", "c"]]


def _circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """What is left of the graph, in circles: each module that reaches itself, with those that it shares that with."""
    reach = {name: _reached(graph, name) for name in graph}
    return [
        list(circle) for circle in sorted({tuple(sorted(o for o in reach[n] if n in reach[o])) for n in graph} - {()})
    ]


def _reached(graph: dict[str, set[str]], start: str) -> set[str]:
    seen: set[str] = set()
    left = [start]
    while left:
        for one in graph[left.pop()] - seen:
            seen.add(one)
            left.append(one)
    return seen


def _name(path: Path) -> str:
    return ".".join(path.relative_to(DOCTOR.parent).with_suffix("").parts).removesuffix(".__init__")
