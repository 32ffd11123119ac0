"""What components made of each spelling when they were run is what the grammars say of it."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any

from doctor.flags import grammars
from doctor.flags.names import described
from doctor.knowledge.store import table

_COMPONENTS = {
    "torch": ("torchinductor", "pytorch", "pytorch-c10d", "pytorch-tunableop", "build"),
    "transformer_engine": ("transformer-engine",),
    "jax": ("jax-xla",),
    "huggingface_hub": ("huggingface",),
}


def value(said: str) -> Any:
    try:
        return ast.literal_eval(said)
    except (SyntaxError, ValueError):
        return said


def differs(grammar: str, text: str, said: str, unset: str) -> bool:
    reading = grammars.read(grammar, text)
    assert reading is not None, grammar
    if said.startswith("error") or reading.state == "fails":
        return not (said.startswith("error") and reading.state == "fails")
    if reading.state == "ignored":
        return said != unset
    made = value(said)
    if isinstance(made, float):
        fraction = grammars.read(grammar, "1.5")
        return fraction is None or fraction.state != "taken"
    if str(reading.value) == text and table("flags/grammars")[grammar].get("other") == "fails":
        return False  # it says what is refused, not what becomes of the rest
    if isinstance(reading.value, bool) or isinstance(made, bool):
        return bool(made) is not bool(reading.value)
    if reading.value is None:  # misread: what it becomes is not said
        return str(made) == text
    return str(made) not in (str(reading.value), text)


def test_each_grammar_reproduces_the_run_of_its_flag() -> None:
    wrong, compared = [], 0
    for row in table("flags/witnesses").values():
        package = str(row["source"]).split()[1]
        components = _COMPONENTS.get(package, (package,))
        for flag in described(row["name"]):
            grammar = flag.get("grammar")
            if flag["component"] not in components or grammar in (None, "xla_flags"):
                continue
            values = dict(row["values"])
            unset = values.pop("(unset)")
            compared += 1
            wrong += [f"{row['name']}={t}: {s}" for t, s in values.items() if differs(grammar, t, s, unset)]
    assert wrong == []
    assert compared > 200


def test_words_of_a_table_are_a_grammar_without_code() -> None:
    found = grammars.read("nccl_debug", "verbose")
    assert found is not None
    assert found.state == "ignored"
    assert grammars.read("nccl_debug", "info") == ("info", "taken", "")


def test_a_number_with_a_unit_loses_it() -> None:
    found = grammars.read("c10d_int", "30m")
    assert found is not None
    assert (found.value, found.state) == (30, "misread")
    whole = grammars.read("c10d_int", "600")
    assert whole is not None
    assert whole.state == "taken"


def test_each_switch_number_and_enumeration_without_a_grammar_is_listed_as_not_checked() -> None:
    text = (Path(__file__).parents[2] / "docs/env.md").read_text("utf-8")
    page = text.partition("<!-- not checked -->")[2].partition("<!-- end -->")[0]
    listed = {
        (c, n) for c, names in re.findall(r"\| ([a-z0-9-]+) \| (`.*) \|", page) for n in re.findall(r"`(.+?)`", names)
    }
    gone = {row["name"] for row in table("flags/renames").values() if row["still_read"] == "no"}
    tables = {t for row in table("flags/names").values() for t in row["tables"]}
    components = {component for component, _ in listed} | {"nvshmem", "pytorch-tunableop"}  # these are closed
    held = (flag for t in tables for flag in table(f"flags/{t}").values() if flag["component"] in components)
    closed = ("int", "enum", "bool", "float")
    unread = [f for f in held if not f.get("grammar") and f["type"] in closed and f["name"] not in gone]
    assert listed == {(f["component"], f["name"]) for f in unread}
