"""Imports point down the layer table of the design, third-party column included."""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

DOCTOR = Path(__file__).resolve().parents[2] / "doctor"

# Longest prefix wins. The row, and what of others' packages may be imported there.
LAYERS: dict[str, tuple[int, frozenset[str]]] = {
    "doctor": (0, frozenset()),
    "doctor.errors": (0, frozenset()),
    "doctor.versions": (0, frozenset({"packaging"})),
    "doctor.facts": (1, frozenset({"pydantic"})),
    "doctor.findings": (2, frozenset({"pydantic"})),
    "doctor.readers": (2, frozenset({"yaml", "defusedxml", "zstandard"})),
    "doctor.system": (2, frozenset()),
    "doctor.system.nvml_child": (2, frozenset({"pynvml"})),
    "doctor.knowledge": (2, frozenset({"pydantic", "packaging", "tomli"})),
    "doctor.redaction": (2, frozenset()),
    "doctor.probes": (3, frozenset()),
    "doctor.intake": (3, frozenset({"pydantic"})),  # the ValidationError of facts.assemble
    "doctor.profiles": (3, frozenset({"pydantic", "packaging", "tomli"})),
    "doctor.knowledge_update": (3, frozenset({"pydantic"})),
    "doctor.resolve": (3, frozenset({"packaging"})),
    "doctor.blas": (3, frozenset()),
    "doctor.flags": (3, frozenset()),
    "doctor.blas.prove": (5, frozenset()),
    "doctor.blas.scripts": (9, frozenset({"torch"})),  # data, run by the user's Python: nothing of ours imports it
    "doctor.bench": (5, frozenset()),
    "doctor.bench.scripts": (9, frozenset({"torch"})),
    "doctor.rules": (4, frozenset()),
    "doctor.diagnosis": (5, frozenset({"pydantic", "tomli"})),
    "doctor.report": (5, frozenset()),
    "doctor.report.terminal": (5, frozenset({"rich"})),
    "doctor.images": (5, frozenset({"pydantic"})),
    "doctor.images.oci": (5, frozenset({"zstandard"})),
    "doctor.images.fetch": (5, frozenset({"httpx"})),
    "doctor.images.wheels": (5, frozenset({"packaging", "tomli"})),
    "doctor.images.registry": (5, frozenset({"httpx"})),
    "doctor.images.sbom": (5, frozenset({"cyclonedx", "packageurl"})),
    "doctor.launch": (6, frozenset({"yaml"})),
    "doctor.bundle": (7, frozenset()),
    "doctor.fleet": (7, frozenset({"yaml"})),
    "doctor.fleet.schema": (7, frozenset({"pydantic"})),
    "doctor.compare": (7, frozenset()),
    "doctor.notebook": (8, frozenset()),
    "doctor.cli": (8, frozenset({"typer", "click"})),
    "doctor.cli.mcp": (8, frozenset({"typer", "mcp"})),
    "doctor.__main__": (9, frozenset()),
}


def layer(module: str) -> tuple[str, int, frozenset[str]]:
    while module not in LAYERS:
        module = module.rpartition(".")[0]
    return (module, *LAYERS[module])


def package_of(module: str) -> str:
    return ".".join(module.split(".")[:2])


def imports(path: Path, module: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{module}: relative import"
            # `from doctor.readers import rocminfo` imports the module doctor.readers.rocminfo
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                yield full if (DOCTOR.parent / (full.replace(".", "/") + ".py")).exists() else str(node.module)


MODULES = sorted(p for p in DOCTOR.rglob("*.py"))


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(DOCTOR)))
def test_imports_point_down(path: Path) -> None:
    module = ".".join(path.relative_to(DOCTOR.parent).with_suffix("").parts).removesuffix(".__init__")
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
