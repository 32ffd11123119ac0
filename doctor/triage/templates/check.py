"""Every fault of the templates: for `doctor knowledge validate` and the tests, all at once."""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Collection, Iterator
from pathlib import Path

from pydantic import ValidationError

from doctor.errors import in_plain_words
from doctor.knowledge import faults as known_faults
from doctor.knowledge import library_faults
from doctor.triage.templates.catalogue import DATA, shared
from doctor.triage.templates.model import Template
from doctor.triage.templates.pattern import normal

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

_FILE = re.compile(r"[^:]+ [^ :]+: [^ ]+")


def all_faults(rules: Collection[str], package: Path) -> list[str]:
    """The same of the shipped templates, and of what names a template elsewhere: the package's code and the rows of
    known faults."""
    found = faults(rules)
    if found:
        return found  # a folder that does not load names nothing
    try:
        known = shared().templates
    except ValueError as fault:
        return [str(fault)]
    found = [f"{where}: no template is called {key}" for key, where in asked_for(package).items() if key not in known]
    named = [(row.id, row.felt) for row in known_faults.faults()]
    named += [(row.id, row.felt) for row in library_faults.library_faults()]
    return found + [f"{row}: no template is called {key}" for row, keys in named for key in keys if key not in known]


def faults(rules: Collection[str], folder: Path = DATA) -> list[str]:
    """What is wrong in the folder, file by file. `rules` are the ids that causes may name."""
    found: list[str] = []
    places: dict[str, str] = {}
    templates: list[tuple[str, Template]] = []
    for path in sorted(folder.glob("*.toml")):
        try:
            rows = tomllib.loads(path.read_text("utf-8"))["template"]
        except (tomllib.TOMLDecodeError, KeyError) as fault:
            found.append(f"{path.name}: {fault}")
            continue
        for row in rows:
            try:
                template = Template.model_validate(row)
            except ValidationError as fault:
                place = ".".join(map(str, fault.errors()[0]["loc"]))
                found.append(f"{path.name}: {row.get('id')}: {place}: {in_plain_words(fault.errors()[0]['msg'])}")
                continue
            if template.id in places:
                found.append(f"{path.name}: {template.id}: this id is used in {places[template.id]} already")
            places[template.id] = path.name
            templates.append((path.name, template))
    for name, template in templates:
        found += [f"{name}: {template.id}: {fault}" for fault in _faults_of(template, name, rules, places)]
    return found


def _faults_of(template: Template, file: str, rules: Collection[str], ids: Collection[str]) -> Iterator[str]:
    try:
        if not template.pattern.found_in(normal(template.sample)):
            yield "its sample does not hold its text"
    except ValueError as fault:
        yield str(fault)
    if template.checked in ("thread", "page"):
        if not template.source.startswith("https://"):
            yield f"checked = {template.checked!r} needs an address as its source"
    elif template.checked != "quoted" and not _FILE.fullmatch(template.source):
        yield f"checked = {template.checked!r} needs a source like `NAME RELEASE: FILE`"
    if file.removesuffix(".toml") not in rules:
        yield "its file is named after no rule"
    if template.causes and template.causes[0].rule != file.removesuffix(".toml"):
        yield f"it belongs in {template.causes[0].rule}.toml, its first cause"
    for cause in template.causes:
        if cause.rule not in rules:
            yield f"no rule is called {cause.rule}"
        yield from (f"no template is called {key}" for key in (*cause.seen, *cause.not_seen) if key not in ids)


def asked_for(package: Path) -> dict[str, str]:
    """Ids that code asks for → where: `machine.symptom("ID")` and `symptom:ID` in a rule's needs."""
    found: dict[str, str] = {}
    for path in sorted(package.rglob("*.py")):
        text = path.read_text("utf-8")
        tree = ast.parse(text if "symptom:" in text or ".symptom(" in text else "")  # few do
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value.startswith("symptom:"):
                found.setdefault(node.value.removeprefix("symptom:"), f"{path.name}:{node.lineno}")
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "symptom":
                for key in _texts(node, tree):
                    found.setdefault(key, f"{path.name}:{node.lineno}")
    return {key: place for key, place in found.items() if key}


def _texts(call: ast.Call, tree: ast.Module) -> Iterator[str]:
    """Texts among the arguments, those of `*NAME` where the module defines NAME as texts included."""
    for arg in call.args:
        value = arg.value if isinstance(arg, ast.Starred) else arg
        if isinstance(value, ast.Name):
            made = (n for n in tree.body if isinstance(n, ast.Assign) and _assigns(n, value.id))
            value = next((n.value for n in made), value)
        yield from _constants(value)


def _constants(node: ast.AST) -> Iterator[str]:
    """Texts that the expression may be: what a condition compares with is none."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif not isinstance(node, ast.Compare):
        for below in ast.iter_child_nodes(node):
            yield from _constants(below)


def _assigns(node: ast.Assign, name: str) -> bool:
    return any(isinstance(target, ast.Name) and target.id == name for target in node.targets)
