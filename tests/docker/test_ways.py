"""The ways of variables, run again with what is here: shells, sudo, Slurm, mpirun, torchrun, ssh, containers."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.docker.conftest import unmet
from tests.flags.way import cases as given
from tests.flags.way import execute

pytestmark = pytest.mark.engine
CASES = given.cases()


@pytest.fixture(scope="module")
def started() -> Iterator[dict[str, str]]:
    wanted = {tool for case in CASES for tool in case["needs"].split()}
    with execute.tools({tool for tool in wanted if not execute.missing(tool)}) as more:
        yield more


ON_SLURM = [case["name"] for case in CASES if "slurm" in case["needs"].split()]
"""Each waits ten seconds for the batch job: the first stands for all where time matters."""


@pytest.mark.parametrize(
    "case",
    [pytest.param(c, id=c["name"], marks=[pytest.mark.slow] * (c["name"] in ON_SLURM[1:])) for c in CASES],
)
def test_it_is_as_it_was_recorded(
    case: dict[str, str], started: dict[str, str], request: pytest.FixtureRequest
) -> None:
    image = request.getfixturevalue("slim") if "IMAGE" in str(case) else ""
    absent = [tool for tool in case["needs"].split() if execute.missing(tool, image)]
    if absent and not {"docker", "slurm"} & set(absent):
        pytest.skip(f"{', '.join(absent)} not here")
    if absent:
        unmet(f"{', '.join(absent)} not here")
    got, recorded = execute.run(case, started, image), given.truth()[case["name"]]
    if case.get("run_dependent"):  # a port that is drawn: which programs have a value is what stays
        assert _whether(got) == _whether(recorded)
    else:
        assert got == recorded


def _whether(runs: list[dict[str, dict[str, list[str | None]]]]) -> list[dict[str, dict[str, list[bool]]]]:
    return [
        {who: {name: [v is not None for v in seen] for name, seen in had.items()} for who, had in run.items()}
        for run in runs
    ]
