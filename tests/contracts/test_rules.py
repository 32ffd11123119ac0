"""What holds for every rule that the registry finds."""

from __future__ import annotations

import importlib
import re
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import UnionType
from typing import Any, Union

import pytest
from pydantic import BaseModel

import doctor.rules
from doctor.engine import registry
from doctor.engine.judge import judge
from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Remedy
from doctor.knowledge import Knowledge
from doctor.rule_ids import rule_ids
from doctor.triage.templates.catalogue import shared
from tests.each import each
from tests.rules import machines
from tests.rules.remedies import writes_a_file

CHECKS = registry.checks()
RULES = {c.rule.id: c.rule for c in CHECKS}
IDS = sorted(RULES)
HEADINGS = ["What it finds", "Why it matters", "Not raised when", "How to confirm", "Fix", "Fix safety", "References"]
REMEDIES = ("no-", "fix-", "set-", "use-", "install-", "enable-", "disable-", "upgrade-", "missing-", "check-")
NAMED_BEFORE = {"no-gpu-found", "install-path-has-space"}
"""Problems too, whose ids stand in the published vocabulary: ids are never renamed."""
SHELL = re.compile(r"[;|`<>\n]|&&|\$\(")
HEALTHY: tuple[Callable[[], Snapshot], ...] = (
    machines.h100_host,
    machines.h100_container,
    machines.rtx4090_desktop,
    machines.mi300x_host,
    machines.mi300x_container,
    machines.rx7900_desktop,
    machines.rx7900_container,
)
HOSTILE = (
    "x\nAUTHORISED: yes\n",
    "\x1b[31mred\x1b]0;title\x07\x00",
    "A" * 100_000,
    "; rm -rf / | $(reboot) && `id` > /etc/passwd",
    "-1,,0x,٣,9999999999999999999999",
)


def module_of(rule_id: str) -> Any:
    """The one file (or folder) of a rule."""
    word = rule_id.replace("-", "_")
    root = Path(doctor.rules.__file__).parent
    (path,) = (*root.rglob(f"{word}.py"), *root.rglob(f"{word}/__init__.py"))
    place = path.with_suffix("") if path.name != "__init__.py" else path.parent
    return importlib.import_module(".".join(["doctor", "rules", *place.relative_to(root).parts]))


def sections(doc: str) -> list[tuple[str, str]]:
    parts = re.split(r"^## (.+)$", doc, flags=re.M)
    return [(parts[i], parts[i + 1].strip()) for i in range(1, len(parts), 2)]


@each("rule_id", IDS)
def test_id_is_the_file_name(rule_id: str) -> None:
    assert module_of(rule_id).RULE.id == rule_id


def test_every_file_among_the_rules_is_one_and_no_id_was_taken_away() -> None:
    assert rule_ids() == set(IDS)
    published = set((Path(__file__).parent / "published_ids.txt").read_text().split())
    assert published <= rule_ids(), "ids are never renamed: allow-lists, dashboards and profiles name them"


@each("rule_id", IDS)
def test_id_names_the_problem(rule_id: str) -> None:
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)+", rule_id)
    assert rule_id in NAMED_BEFORE or not rule_id.startswith(REMEDIES)


@each("rule_id", IDS)
def test_documentation_has_every_heading_with_text(rule_id: str) -> None:
    found = sections(RULES[rule_id].page)
    assert [heading for heading, _ in found] == HEADINGS
    assert [heading for heading, text in found if not text] == []
    assert RULES[rule_id].title.strip()


@each("rule_id", IDS)
def test_explains_rules_that_there_are(rule_id: str) -> None:
    assert set(RULES[rule_id].explains) <= rule_ids() - {rule_id}


@each("rule_id", IDS)
def test_needs_are_facts(rule_id: str) -> None:
    rule = RULES[rule_id]
    assert all(rule.needs), "an empty alternative would run the check, and say clear, when nothing is known"
    for name in {n for needs in rule.needs for n in needs if not n.startswith("symptom:")}:
        assert name == "profile" or resolves(Snapshot, name), name


def test_a_rule_without_needs_is_raised_by_some_error_text() -> None:
    pointed = {cause.rule for template in shared().templates.values() for cause in template.causes}
    by_texts_alone = {rule.id for rule in RULES.values() if not rule.needs}
    assert by_texts_alone - pointed <= {"profile-expectation-unmet"}, "they could never be raised"


def resolves(model: Any, name: str) -> bool:
    """Whether the name leads through the models' fields; a list ends it, since its members have keys of their own."""
    name, every, below = name.partition("[].")
    if every:  # that fact of any member
        annotation = model.model_fields[name].annotation
        return resolves(next(m for option in typing.get_args(annotation) for m in typing.get_args(option)), below)
    word, _, rest = name.partition(".")
    if not (isinstance(model, type) and issubclass(model, BaseModel)) or word not in model.model_fields:
        return False
    return not rest or resolves(next(members(model.model_fields[word].annotation), None), rest)


def members(annotation: Any) -> Iterator[Any]:
    """The models that an annotation may hold directly."""
    if typing.get_origin(annotation) in (Union, UnionType):
        for option in typing.get_args(annotation):
            yield from members(option)
    elif isinstance(annotation, type) and issubclass(annotation, BaseModel):
        yield annotation


def test_a_name_of_no_fact_does_not_resolve() -> None:
    assert resolves(Snapshot, "nvidia_driver.fabric_manager.running")
    assert not resolves(Snapshot, "nvidia_driver.colour")
    assert not resolves(Snapshot, "gpus.name")


def test_nothing_is_found_or_clear_on_the_unknown() -> None:
    report = judge(Snapshot(), Knowledge())
    assert report.findings == ()
    assert [rule_id for rule_id in report.clear if RULES[rule_id].needs] == []
    assert [u.reason for u in report.unchecked if u.crashed] == []


@each("rule_id", IDS)
def test_check_is_silent_where_nothing_is_known(rule_id: str) -> None:
    assert list(module_of(rule_id).check(Snapshot(), Knowledge(), None)) == []


@pytest.mark.parametrize("healthy", HEALTHY, ids=lambda m: m.__name__)
def test_nothing_is_found_on_a_healthy_machine(healthy: Callable[[], Snapshot]) -> None:
    report = judge(healthy(), Knowledge())
    assert [(f.rule, f.summary) for f in report.findings] == []
    assert [u for u in report.unchecked if u.crashed] == []


@each("rule_id", IDS)
def test_remedies_without_facts_are_argv(rule_id: str) -> None:
    module = module_of(rule_id)
    advice = getattr(module, "advice", None)
    for remedy in advice(Snapshot(), Knowledge()) if advice else getattr(module, "REMEDIES", ()):
        assert_argv(remedy)


def assert_argv(remedy: Remedy) -> None:
    assert remedy.title.strip()
    for argv in (step.command for step in (*remedy.steps, *remedy.undo)):
        plain = argv is None or (argv and all(w and not SHELL.search(w) for w in argv))
        assert plain or writes_a_file(argv or ()), argv


@each("text", HOSTILE)
@each("healthy", HEALTHY)
def test_hostile_values_break_no_rule_and_reach_no_command(healthy: Callable[[], Snapshot], text: str) -> None:
    """Each string fact in turn would be slow, so all free texts are hostile at once, area by area."""
    kb = Knowledge()
    for machine in poisoned(healthy(), text):
        for check in CHECKS:
            for finding in check.run(machine, kb, None):
                assert len(finding.summary) < 500, check.rule.id
                for argv in (s.command or () for r in finding.remedies for s in (*r.steps, *r.undo)):
                    assert sum(map(len, argv)) < 2000, (check.rule.id, "a huge value is in the command")
                    assert not any(_raw(word) for word in argv), (check.rule.id, argv)


def _raw(word: str) -> bool:
    """A control character: what an argv passes to a terminal. Shell signs in one word are quoted by the renderers."""
    return bool(re.search(r"[\x00-\x1f\x7f]", word))


def poisoned(machine: Snapshot, text: str) -> Iterator[Snapshot]:
    """The machine with all free texts of one area at a time replaced."""
    for area in Snapshot.model_fields:
        if area not in ("origins", "symptoms"):
            value = getattr(machine, area)
            if (changed := _poison(value, text)) != value:
                yield machine.model_copy(update={area: changed})
    flags = ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "HSA_OVERRIDE_GFX_VERSION", "NCCL_DEBUG", "LD_LIBRARY_PATH",
             "PYTORCH_CUDA_ALLOC_CONF", "SLURM_JOB_ID", "ROCR_VISIBLE_DEVICES", "AMD_LOG_LEVEL")  # fmt: skip
    yield machine.model_copy(update={"environment": dict.fromkeys(flags, text)})
    yield assemble([_packages(text)])


def _packages(text: str) -> FactSheet:
    sheet = FactSheet()
    sheet.put("packages", [{"name": "torch", "version": text}, {"name": "torchvision", "version": text}], "test")
    sheet.put("torch.version", text, "test")
    sheet.put("interpreter.path", text, "test")
    return sheet


def _poison(value: Any, text: str) -> Any:
    if isinstance(value, BaseModel):
        free = {n for n, f in type(value).model_fields.items() if "Literal" not in str(f.annotation)} - {"key"}
        return value.model_copy(update={n: _poison(getattr(value, n), text) for n in free})
    if isinstance(value, Mapping):
        return {name: _poison(held, text) for name, held in value.items()}
    if isinstance(value, tuple):
        return tuple(_poison(held, text) for held in value)
    return text if isinstance(value, str) else value
