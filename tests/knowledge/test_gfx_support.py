"""Every consumer target gets an answer: who supports it, and what its owner can try."""

from __future__ import annotations

import pytest

from doctor.engine.remedies import offered
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.knowledge.gfx_support import builders, support_of
from doctor.rules.lib import gfx_override

KB = Knowledge()
TIERS = {
    "gfx1031": "unofficial", "gfx1032": "unofficial", "gfx1034": "unofficial", "gfx1035": "unofficial",
    "gfx1036": "unofficial", "gfx1103": "official", "gfx1150": "official", "gfx1151": "official", "gfx1152": "official",
    "gfx1153": "official", "gfx90c": "unofficial", "gfx803": "distribution", "gfx900": "wheels", "gfx906": "wheels",
    "gfx942": "official", "gfx90a:sramecc+:xnack-": "official", "gfx999": "none",
    "gfx1010": "device-wheels",
}  # fmt: skip


@pytest.mark.parametrize(("gfx", "tier"), TIERS.items())
def test_the_tier_of_a_target(gfx: str, tier: str) -> None:
    assert support_of(KB, gfx).tier == tier


@pytest.mark.parametrize("gfx", TIERS)
def test_each_component_has_a_sentence_with_its_source(gfx: str) -> None:
    lines = list(support_of(KB, gfx).lines())
    assert len(lines) >= 2
    assert all(source for _, source in lines)


@pytest.mark.parametrize("gfx", [gfx for gfx, tier in TIERS.items() if tier == "unofficial"])
def test_an_override_names_its_value_test_undo_and_risk(gfx: str) -> None:
    remedies = list(offered(gfx_override.remedies(Snapshot(), KB, gfx), Snapshot()))
    override = next(r for r in remedies if "HSA_OVERRIDE_GFX_VERSION=" in r.title)
    assert "unofficial" in override.title
    assert override.steps[0].command
    assert override.undo
    assert override.risk


def test_what_nothing_builds_for_names_a_way_without_rocm() -> None:
    titles = [remedy.title for remedy in gfx_override.remedies(Snapshot(), KB, "gfx803")]
    assert titles == ["Use a program with a Vulkan backend, which needs no ROCm."]


def test_what_was_not_looked_up_says_so() -> None:
    unsure = [builder for builder in builders() if not builder.verified]
    assert all(any("(unverified)" in text for text, _ in support_of(KB, builder.gfx[0]).lines()) for builder in unsure)
