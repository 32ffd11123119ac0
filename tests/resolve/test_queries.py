"""Hundreds of questions over vendors, GPUs, drivers, Pythons, systems and packages, answered without a network.

"Runs" is said of recorded resolutions alone, and every stack that needs the Python package index alone has a record: a
change of the tables that makes a new stack fails here until `scripts/record_resolutions.py` has asked uv about it.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import cache

from packaging.requirements import Requirement

from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from doctor.resolve import Solution, described, explain, settle
from doctor.resolve.packages import is_known
from doctor.resolve.resolver import question
from tests.each import each
from tests.resolve.queries import Query, queries

KB = Knowledge()
QUERIES = queries()
INDEXES = re.compile(
    r"https://(download\.pytorch\.org/whl/(cpu|cu\d{3}|rocm\d+\.\d+(\.\d+)?)|wheels\.vllm\.ai/(rocm/)?\d+\.\d+\.\d+/(cu|rocm)\d+|"
    r"(rocm\.nightlies|repo)\.amd\.com/(rocm/)?whl-multi-arch/|stable\.repo\.amd\.com/rocm/whl-next/|pypi\.nvidia\.com)"
)


@cache
def answer(query: Query) -> Solution:
    return settle(KB, described(KB, **dict(query.machine)), query.packages)


@each("query", QUERIES)
def test_the_status_is_the_reviewed_one(query: Query) -> None:
    found = answer(query)
    assert f"{found.status}/{found.resolution.state}" == query.verdict
    assert explain(found)


@each("query", QUERIES)
def test_runs_is_said_of_recorded_resolutions_alone(query: Query) -> None:
    found = answer(query)
    says_it_runs = explain(found).startswith(f"{found.stack} runs on ")
    assert says_it_runs == (found.status == "solved" and found.resolution.state == "resolved")
    if found.resolution.state == "resolved":
        assert found.resolution.recorded
        assert found.resolution.as_of


@each("query", QUERIES)
def test_what_needs_the_package_index_alone_has_a_record(query: Query) -> None:
    found = answer(query)
    about = question(found) if found.commands else None
    if found.status == "solved" and about and not about.indexes and not about.left_out and found.target.libc != "musl":
        assert about.key in table("resolutions"), f"{about.key}: run scripts/record_resolutions.py"


@each("query", QUERIES)
def test_a_refusal_has_a_reason_and_an_unknown_machine_no_advice(query: Query) -> None:
    found = answer(query)
    assert found.status != "impossible" or found.refusals()
    assert not (
        found.changes and any(r.kind in ("driver", "python") and "newest known" in r.text for r in found.reasons)
    )


@each("query", QUERIES)
def test_every_index_is_a_known_one(query: Query) -> None:
    found = answer(query)
    for one in filter(None, (found, found.nearest)):
        urls = [word for command in one.commands for word in command if word.startswith("http")]
        assert all(INDEXES.fullmatch(url) for url in urls), urls


@each("query", QUERIES)
def test_every_version_is_a_recorded_one(query: Query) -> None:
    """Of an index that is not PyPI's only what a way names is known: `latest`, the versions of AMD's guide."""
    found = answer(query)
    for one in filter(None, (found, found.nearest)):
        pins = [Requirement(word) for command in one.commands for word in command if "==" in word]
        strange = [str(pin) for pin in pins if not _is_recorded(pin)]
        assert not strange


def _is_recorded(pin: Requirement) -> bool:
    version = next(iter(pin.specifier)).version
    named = [v for row in table("device_wheels").values() for v in row.get("pins", {}).values()]
    ways = [str(way.latest) for way in KB.package_ways(pin.name)]
    made = [v for r in KB.torch_releases() if (c := KB.companions(r.version)) for v in c.made_for(pin.name)]
    bare, _, tag = version.partition("+")
    if pin.name == "torch" and (build := KB.torch_build(bare)):
        tags = ("", "cpu", *build.cuda_variants, *(f"rocm{rocm}" for rocm in build.rocm_variants))
        return tag in tags or version in named
    return is_known(KB, pin.name, bare) or bare in (*ways, *made) or version in named


def test_there_are_enough_with_each_answer() -> None:
    assert len(QUERIES) >= 300
    assert len({(q.packages, q.machine) for q in QUERIES}) == len(QUERIES)
    counts = Counter(q.verdict.partition("/")[0] for q in QUERIES)
    assert min(counts["solved"], counts["impossible"], counts["unknown"]) >= 40


def test_no_release_is_recorded_that_the_catalogue_says_differently() -> None:
    for key, row in table("resolutions").items():
        assert key == row["id"]
        assert ("refusal" in row) == ("refused_to" in row)
        assert row.get("resolved_from") or row.get("refused_to") or row["detail"]
