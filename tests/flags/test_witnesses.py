"""What components made of each spelling when they were run is what the grammars say of it."""

from __future__ import annotations

import ast
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
