"""The form of `doctor fleet report --format json`, `doctor.fleet/1`; docs/fleet.schema.json is made from it.

python -m doctor.fleet.schema >docs/fleet.schema.json
"""

from __future__ import annotations

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

NODES = "Names in Slurm's bracket form, for --exclude and scontrol; names that no scheduler takes follow."


class _Closed(BaseModel):
    model_config = ConfigDict(extra="forbid")


class Nodes(_Closed):
    count: int = Field(ge=0)
    nodes: str = Field(description=NODES)


class Finding(_Closed):
    """One rule's findings of all nodes, errors first; what another finding explains is not among them."""

    rule: str
    severity: Literal["error", "warning", "info"]
    scope: str | None = Field(description="Whose matter it is: hardware, firmware, driver, host …")
    action: str | None = Field(description="replace, drain, reboot, reconfigure, rebuild or inform.")
    drains: bool = Field(description="Whether it is a reason to keep jobs from these nodes.")
    summary: str = Field(description="Of the first node that has it.")
    count: int = Field(ge=1, description="Nodes.")
    nodes: str = Field(description=NODES)


class Odd(_Closed):
    """A fact in which some nodes differ from the two thirds of their kind that share a value."""

    nodes: str = Field(description=NODES)
    count: int = Field(ge=1)
    fact: str = Field(description="`AREA: NAME`.")
    value: str = Field(description="There; `not there` for a package or variable that is missing.")
    common: str = Field(description="Elsewhere, or what is expected.")
    scope: str = Field(description="Whose matter it is: hardware, firmware, driver, host …")
    action: str = Field(description="drain, reconfigure, rebuild or inform.")


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
    golden: bool = Field(description="Compared with a golden report, not with the majority.")
    profile: str | None = Field(
        None, description="The profile that they were compared with, for the facts that it expects."
    )
    common: dict[str, str] = Field(description="Fact: the value that two thirds of the nodes have.")
    odd: list[Odd]
    divided: list[Divided]
    varies: list[str] = Field(description="Facts that differ on more than half of the nodes, and were not compared.")
    unknown: dict[str, int] = Field(description="Fact: on how many nodes it is unknown, although others have it.")


class Drain(_Closed):
    """Nodes to keep jobs from, for one reason: an error of the node itself, or fewer GPUs or links than its kind
    has."""

    reason: str
    nodes: str = Field(description=NODES)


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
    bad: Nodes = Field(description="Not good: with an error, odd, not checked, or without a report.")
    drain: list[Drain] = Field(description="To keep jobs from, each node under its first reason.")
    unchecked: dict[str, str] = Field(description="Layer: nodes on which it could not be checked.")
    stale: str = Field(description="Nodes whose report is over 24 h older than the newest.")
    ahead: str = Field(description="Nodes whose report is from the future: their clock is wrong.")
    profile: str | None = Field(None, description="The profile that nodes were compared with.")
    not_compared: dict[str, str] = Field(
        default_factory=dict, description="Fact that the profile expects: nodes on which it is not known."
    )
    golden_without_nodes: list[str] = Field(description="Kinds of golden reports that no node is of.")
    findings: list[Finding]
    kinds: list[Kind] = Field(description="The largest first.")
    silent: list[Silent]
    disagreements: list[str] = Field(description="What a scheduler says and a node does not.")
    twice: str = Field(description="Nodes of which a second report came; the newest counts.")


def read(content: bytes, name: str) -> dict[str, Any]:
    """A fleet report as data. InputError for anything else."""
    from doctor.errors import InputError

    try:
        return Fleet.model_validate_json(content).model_dump(by_alias=True)
    except (ValueError, RecursionError) as error:
        raise InputError(f"{name}: not a fleet report of this version (`doctor fleet report --format json`)") from error


def schema() -> dict[str, Any]:
    made = Fleet.model_json_schema(by_alias=True)
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made, "title": "doctor.fleet/1"}


if __name__ == "__main__":
    import json
    import sys

    sys.stdout.write(json.dumps(schema(), indent=2, sort_keys=True) + "\n")
