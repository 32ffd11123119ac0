"""A described node of a site, live in a mount namespace: what a bundle, a check in each format, triage, diff and a
fleet report leave of the secrets and names that are planted all over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import pytest

from doctor.bundle.open import open_bundle
from tests.bundle.planted_site import FACTS, FILES, INCLUDED, Site, left, planted
from tests.each import each
from tests.fakenode import Machine, Node, Result, Support, run_all, support

pytestmark = pytest.mark.fakenode
_CHECK = ("json", "jsonl", "markdown", "sarif", "junit", "github", "prometheus", "html")
_TICKETS = [f"/{path}" for path in FILES if path.startswith(INCLUDED.strip("/"))]
_RUNS = {
    "bundle": f"doctor bundle -o /tmp/b.tar.gz --include {INCLUDED}",
    **{f"check {kind}": f"doctor check --format {kind}" for kind in _CHECK},
    **{f"triage {path}": f"doctor triage {path} --format jsonl --why" for path in _TICKETS},
    **{f"reply {path}": f"doctor triage {path} --format markdown" for path in _TICKETS},
}
_AFTER = {
    "from": "doctor check --from /tmp/b.tar.gz --format json",
    "diff": "doctor diff /tmp/b.tar.gz this --format json",
    "fleet text": "doctor fleet report /tmp/reports",
    "fleet json": "doctor fleet report /tmp/reports --format json",
    "fleet html": "doctor fleet report /tmp/reports --format html",
}


class Told(NamedTuple):
    site: Site
    bundle: str
    outputs: Mapping[str, Result]


@pytest.fixture(scope="module")
def told() -> Told:
    if support() is Support.NONE:
        pytest.skip("neither root nor a user namespace may make a mount namespace here")
    sites: list[Site] = []

    def site(machine: Machine) -> None:
        sites.append(planted(machine))

    with replace(Node("h100", 2, cuda=("12.8",)), faults=(site,)).laid_out() as machine:
        first = run_all([machine.job(line.split()) for line in _RUNS.values()])
        outputs = dict(zip(_RUNS, first, strict=True))
        (machine.root / "tmp/reports").mkdir()
        for node in ("n1", "n2"):
            (machine.root / f"tmp/reports/{node}.json").write_text(outputs["check json"].stdout)
        second = run_all([machine.job(line.split()) for line in _AFTER.values()])
        outputs |= dict(zip(_AFTER, second, strict=True))
        files = open_bundle(machine.root / "tmp/b.tar.gz").files
    return Told(sites[-1], "\n".join(content.decode("utf-8", "replace") for content in files.values()), outputs)


def test_a_bundle_holds_no_secret_and_no_name(told: Told) -> None:
    assert len(told.site.secrets) > 20
    assert len(told.site.names) > 40
    assert left(told.site.secrets, told.bundle) == []
    assert left(told.site.names, told.bundle) == []


def test_its_facts_are_readable(told: Told) -> None:
    assert [fact for fact in FACTS if fact not in told.bundle.replace('\\"', '"')] == []


@each("name", [*_RUNS, *_AFTER])
def test_no_output_holds_a_secret_or_a_name(name: str, told: Told) -> None:
    result = told.outputs[name]
    assert result.code in (0, 1), result.stderr
    assert left(told.site.secrets, result.stdout) == []
    assert left(told.site.names, result.stdout) == []
