"""Each of AMD's consumer cards gets an answer: a build with its code, an override, or what works without ROCm."""

from __future__ import annotations

from doctor.engine.remedies import offered
from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.knowledge import Knowledge
from doctor.knowledge.overrides import overrides
from doctor.rules.flags import hsa_override_misuse
from doctor.rules.lib import gfx_override
from tests.rules import machines
from tests.rules.driver.asked import found

KB = Knowledge()
CARDS = (
    *("gfx803", "gfx900", "gfx906", "gfx90c", "gfx1031", "gfx1032", "gfx1034", "gfx1035", "gfx1036"),
    *("gfx1103", "gfx1150", "gfx1151", "gfx1152", "gfx1153"),
)


def _card(gfx: str, **edits: object) -> Snapshot:
    plain = {f"gpus[{machines.RX7900}].arch": gfx, f"gpus[{machines.RX7900}].name": None, "torch.arch_list": None}
    return machines.rx7900_desktop(plain | edits)


def _words(machine: Snapshot, gfx: str) -> str:
    return " ".join(r.title for r in offered(gfx_override.remedies(machine, KB, gfx), machine))


def test_each_card_has_a_remedy() -> None:
    assert [gfx for gfx in CARDS if not _words(_card(gfx), gfx)] == []


def test_an_rx_6700_xt_gets_the_override_of_its_owners_with_test_and_undo() -> None:
    override = gfx_override.remedies(_card("gfx1031"), KB, "gfx1031")[0]
    assert override.title == "Try HSA_OVERRIDE_GFX_VERSION=10.3.0 (unofficial, AMD does not test this)."
    assert (override.steps[0].command or ())[:2] == ("env", "HSA_OVERRIDE_GFX_VERSION=10.3.0")
    assert (bool(override.risk), bool(override.undo)) == (True, True)


def test_wheels_that_have_the_code_come_before_an_override() -> None:
    assert _words(_card("gfx1103"), "gfx1103").startswith("Install torch")
    assert "HSA_OVERRIDE" not in _words(_card("gfx906"), "gfx906")


def test_wheels_of_amd_come_first_where_amd_lists_the_target_and_last_elsewhere() -> None:
    driver_unknown = _card("gfx1152", **{"amdgpu_driver.version": None, "rocm": None})
    assert _words(driver_unknown, "gfx1152").startswith("Install torch 2.14.0+rocm10.1.0 from AMD's wheels")
    assert _words(_card("gfx1031"), "gfx1031").endswith("from AMD's wheels for gfx1031 in a new environment.")


def test_an_override_that_is_set_is_not_offered_and_a_torch_without_its_code_is_replaced_first() -> None:
    already = _card("gfx1031", environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"})
    assert "HSA_OVERRIDE" not in _words(already, "gfx1031")
    without = _card("gfx1031", **{"torch.arch_list": ["gfx942"]})
    assert _words(without, "gfx1031").startswith("Install torch 2.")  # first a torch that has the code


def test_the_rule_on_overrides_does_not_contradict_the_table() -> None:
    """A value that is recommended is information at most, and nothing advises to unset it."""
    for row in overrides():
        for gfx in row.gfx if row.value else ():
            machine = _card(gfx, environment={"HSA_OVERRIDE_GFX_VERSION": row.value})
            for finding in found(hsa_override_misuse, machine):
                assert (finding.severity, finding.remedies) == (Severity.INFO, ()), (gfx, finding.summary)
