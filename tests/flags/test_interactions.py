"""Each interaction fires where it must, and spares its near miss, the unset default and what is unknown."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from doctor.facts.snapshot import Snapshot
from doctor.flags import conditions, interactions
from doctor.flags.situation import Situation
from doctor.knowledge.store import table
from tests.each import each
from tests.flags.situations import of

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
ROWS: dict[str, Any] = tomllib.loads((SCRIPTS / "flag_conditions.toml").read_text("utf-8"))
EVALUATED = {name: row for name, row in ROWS.items() if "if" in row}


def held(situation: Situation) -> dict[str, interactions.Held]:
    return {h.id: h for h in interactions.found(situation)}


def that_say(key: str) -> dict[str, str]:
    return {name: str(row[key]) for name, row in table("flags/conditions").items() if row.get(key)}


def test_every_interaction_is_evaluated_or_says_why_not() -> None:
    assert set(ROWS) == set(table("flags/interactions")) == set(table("flags/conditions"))
    others = [that_say(key) for key in ("open", "elsewhere", "dropped")]
    assert set(ROWS) == set(EVALUATED).union(*others)
    assert len(ROWS) == len(EVALUATED) + sum(map(len, others)) == 291
    assert len(EVALUATED) >= 237


@each("name", sorted(EVALUATED))
def test_was_checked_where_the_component_shows_it(name: str) -> None:
    """Code at a commit or of a release, with the line where it could be had; a page where the code is closed."""
    row, said = table("flags/conditions")[name], table("flags/interactions")[name]
    audit = str(row.get("audit") or said["audit"])
    assert audit.startswith(("confirmed", "corrected")), audit
    shown = row["shown"]
    assert shown
    assert all(_SHOWN.search(place) for place in shown), shown


_SHOWN = re.compile(
    r"\w[\w.-]*/[\w.-]+(?:@[\w.-]{6,40})?:\w\S+|[\w-]+ \d+\.\d+[\w.]*: ?\w+/|https://|^run: tests/|/known_names.json$"
)
"""OWNER/REPOSITORY@COMMIT:PATH, PACKAGE VERSION: PATH, a page, or the test that runs the component itself."""


@each("name", sorted(EVALUATED))
def test_fires_where_it_must_and_spares_the_near_miss(name: str) -> None:
    row = EVALUATED[name]
    assert name in held(of(row["fires"])), row["fires"]
    assert name not in held(of(row["spares"])), row["spares"]


@each("name", sorted(EVALUATED))
def test_spares_the_machine_where_nothing_is_set(name: str) -> None:
    """The unset default: unless the very absence of a variable is the fault, which must then name its cure."""
    row = EVALUATED[name]
    fires = of(row["fires"])
    if conditions.triggers(row["if"]):
        assert name not in held(Situation({}, fires.machine, stated=fires.stated))
    else:
        cure = conditions.triggers(row["if"]) or [
            a.subject for line in row["if"] for a in conditions.atoms(line) if a.is_variable
        ]
        by_check = any(a.subject == "check" for line in row["if"] for a in conditions.atoms(line))
        assert cure or by_check, "no variable is part of it"


@each("name", sorted(EVALUATED))
def test_says_nothing_of_a_machine_of_which_nothing_is_known(name: str) -> None:
    """Only where all of its lines are about variables does the environment alone decide."""
    row = EVALUATED[name]
    lines = [line for line in row["if"] if line != "ctx production"]
    needs_facts = any(
        all(a.subject not in ("check",) and not a.is_variable for a in conditions.atoms(line)) for line in lines
    )
    if needs_facts:
        bare = Situation({n: v for n, v in of(row["fires"]).env.items() if not n.startswith(_TELLING)}, Snapshot())
        assert name not in held(bare)


_TELLING = ("SLURM_", "WORLD_SIZE", "TORCHELASTIC_", "RAY_", "APPTAINER", "MPICH_DIR")
"""Variables that say what the job is."""


def test_a_debug_flag_is_information_until_the_job_is_told_to_be_production() -> None:
    env = {"AMD_SERIALIZE_KERNEL": "3"}
    (open_,) = [h for h in interactions.found(Situation(env)) if h.id == "debug-amd-serialize-kernel"]
    assert (open_.severity, open_.if_production) == ("info", True)
    stated = held(Situation(env, stated={"production": True}))["debug-amd-serialize-kernel"]
    assert (stated.severity, stated.if_production) == ("error", False)
    assert not held(Situation(env, stated={"production": False}))


def test_what_was_not_checked_against_code_is_no_error() -> None:
    for name, row in EVALUATED.items():
        for hit in interactions.found(of(row["fires"])):
            assert hit.audited or hit.severity != "error", name


def test_a_file_shows_some_variables_only_so_a_missing_one_is_no_finding() -> None:
    line = "gpu=8xMI355X ctx:training"
    assert "rccl-warpspeed-gfx950" in held(of(line))
    assert "rccl-warpspeed-gfx950" not in held(of(line, partial=True))


def test_the_page_lists_what_is_not_evaluated_and_counts_right() -> None:
    page = (Path(__file__).parents[2] / "docs/env.md").read_text("utf-8")
    table_ = page.partition("<!-- not evaluated -->")[2].partition("<!-- end -->")[0]
    listed = dict(re.findall(r"^\| `([\w-]+)` \| (.+) \|$", table_, re.MULTILINE))
    assert listed == that_say("open")
    counts = (len(EVALUATED), len(that_say("elsewhere")), len(that_say("dropped")), len(listed))
    said = re.findall(r"(\d+) are evaluated|(\d+)\s+are found by|(\d+) were dropped|(\d+) are not evaluated", page)
    assert [int("".join(found)) for found in said] == list(counts)
    assert sum(counts) == 291
