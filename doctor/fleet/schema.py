"""The form of `doctor fleet report --format json`, `doctor.fleet/1`; docs/fleet.schema.json is made from it.

python -m doctor.fleet.schema >docs/fleet.schema.json
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NODES = "Names in Slurm's bracket form, for --exclude and scontrol; names that no scheduler takes stand behind it."


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nodes(_Closed):
    """Some nodes."""

    count: int = Field(ge=0)
    nodes: str = Field(description=NODES)


class Finding(_Closed):
    """One rule's findings of all nodes, errors first; what another finding explains is not among them."""

    rule: str
    severity: Literal["error", "warning", "info"]
    summary: str = Field(description="Of the first node that has it.")
    count: int = Field(ge=1, description="Nodes.")
    nodes: str = Field(description=NODES)


class Odd(_Closed):
    """A fact in which some nodes differ from the two thirds of their kind that share a value."""

    nodes: str = Field(description=NODES)
    count: int = Field(ge=1)
    fact: str = Field(description="`AREA: NAME`.")
    value: str = Field(description="There; `not there` for a package or variable that is missing.")
    common: str = Field(description="Elsewhere.")


class Value(_Closed):
    """One value of a fact without a common one."""

    value: str
    nodes: str = Field(description=NODES)


class Divided(_Closed):
    """A fact without a value that two thirds have."""

    fact: str
    values: list[Value] = Field(min_length=2, description="The most frequent first.")


class Kind(_Closed):
    """Nodes with the same GPU models."""

    kind: str = Field(description="The GPUs' model; `no GPU` or `unknown`.")
    count: int = Field(ge=1)
    groups: list[Nodes] = Field(min_length=1, description="Of equal configuration, the largest first.")
    odd: list[Odd]
    divided: list[Divided]
    varies: list[str] = Field(description="Facts that differ on more than half of the nodes, and were not compared.")
    unknown: dict[str, int] = Field(description="Fact: on how many nodes it is not known where others tell it.")


class Silent(_Closed):
    """Nodes that gave no report, by the reason."""

    nodes: str = Field(description=NODES)
    count: int = Field(ge=1)
    reason: str


class Fleet(_Closed):
    """One verdict of any number of nodes."""

    schema_: Literal["doctor.fleet/1"] = Field(alias="schema")
    verdict: str = Field(description="Is my fleet good, in one line.")
    good: bool
    nodes: int = Field(ge=0, description="That answered or should have.")
    bad: Nodes = Field(description="To keep jobs from: with an error, odd, not judged, or without a report.")
    findings: list[Finding]
    kinds: list[Kind] = Field(description="The largest first.")
    silent: list[Silent]
    disagreements: list[str] = Field(description="What a scheduler says and a node does not.")
    twice: str = Field(description="Nodes of which a second report came; the first counts.")


def schema() -> dict[str, Any]:
    made = Fleet.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "doctor.fleet/1"}


if __name__ == "__main__":
    import json
    import sys

    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
