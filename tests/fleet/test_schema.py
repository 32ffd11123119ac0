"""The published schema of a fleet's report is current, and what is written holds to it and to nothing wider."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from doctor.fleet.answers import Answer
from doctor.fleet.schema import schema
from doctor.fleet.tally import Tally
from doctor.fleet.text import as_data
from doctor.fleet.verdict import judged
from tests.fleet.test_verdict import fleet, node

SCHEMA = json.loads((Path(__file__).parents[2] / "docs/fleet.schema.json").read_text())


def told() -> dict[str, Any]:
    """Odd, divided, silent, with errors and with a second report, all in one."""
    verdict = fleet((9, node()), (1, node(nvidia_driver__version="570.10")), (8, node(kernel__release="6.9")))
    error = node()
    error["findings"] = [{"rule": "gpu-lost", "severity": "error", "summary": "A GPU fell off the bus."}]
    for answer in (Answer("n30", error), Answer("n30", error), Answer("n31", None, "it wrote nothing")):
        verdict.tally.add(answer)
    again = judged(verdict.tally)
    again.disagreements.append("n30: Slurm counts 8 GPUs, the node has 2")
    return as_data(again)


def test_the_published_schema_is_current() -> None:
    """`python -m doctor.fleet.schema >docs/fleet.schema.json` makes it so."""
    assert schema() == SCHEMA


def test_it_is_a_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_what_is_written_holds_to_it() -> None:
    data = told()
    jsonschema.validate(data, SCHEMA)
    jsonschema.validate(as_data(judged(Tally())), SCHEMA)
    (kind,) = data["kinds"]
    assert all((kind["odd"], kind["divided"], data["silent"], data["findings"], data["twice"], data["disagreements"]))


@pytest.mark.parametrize("change", [{"more": 1}, {"good": "yes"}, {"nodes": -1}, {"schema": "doctor.fleet/2"}])
def test_anything_else_does_not(change: dict[str, object]) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**told(), **change}, SCHEMA)
