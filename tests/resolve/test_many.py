"""Any machine and any packages get an answer that holds together."""

from __future__ import annotations

import random

import pytest

from doctor.knowledge import Knowledge
from doctor.knowledge.store import table
from doctor.resolve import described, explain, solve

KB = Knowledge()
ARCHS = [f"sm_{cc.replace('.', '')}" for cc in table("compute_capabilities")]
ARCHS += sorted({row["gfx"] for row in table("gfx_targets").values()})
DRIVERS = {
    "sm": ("470.256.02", "535.183.01", "570.172.08", "580.95.05", "590.48.01", "999.1"),
    "gf": ("6.0.2", "6.2.4", "6.4.1", "30.10", "30.30.0", "31.40.0", "1.2"),
}
PACKAGES = [*sorted(KB.packages()), "torch==2.9.1", "torch<2.8", "jax[cuda12]", "cupy", "torch==2.14.0+cu130"]


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(150))
def test_an_answer_holds_together(seed: int) -> None:
    pick = random.Random(seed)
    machine = {"gpu": pick.choice(ARCHS), "python": pick.choice(["3.8", "3.10", "3.12", "3.13t", "3.14"])}
    if pick.random() < 0.8:
        machine["driver"] = pick.choice(DRIVERS[machine["gpu"][:2]])
    if pick.random() < 0.3:
        machine |= {"machine": "aarch64", "glibc": pick.choice(["2.17", "2.34"])}
    wanted = sorted({pick.choice(PACKAGES), *(["torch"] if pick.random() < 0.6 else [])})
    found = solve(KB, described(KB, **machine), wanted)
    assert explain(found)
    if found.status == "solved":
        assert found.commands
        assert not found.refusals()
    else:
        assert found.reasons
        assert found.status == "unknown" or found.refusals()
    if found.nearest:
        assert found.nearest.status == "solved"
        assert found.nearest.commands
