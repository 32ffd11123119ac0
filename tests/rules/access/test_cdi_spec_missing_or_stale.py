"""cdi-spec-missing-or-stale: where mere words say nothing of it, and numbers of nodes in pasted text."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.rules.access import cdi_spec_missing_or_stale as rule
from tests.knowledge.texts import told
from tests.rules import machines
from tests.rules.driver.asked import found

LISTED = "crw-rw-rw- 1 root root {}, 0 Nov  2 10:01 /dev/nvidia-uvm\n"
EXCERPT = "  deviceNodes:\n  - path: /dev/nvidia-uvm\n    hostPath: /dev/nvidia-uvm\n    major: 506\n\n"
ONE_LINE = "/etc/cdi/nvidia.yaml: path: /dev/nvidia-uvm major: 506\n"
WHOLE = "cdiVersion: 0.5.0\nkind: nvidia.com/gpu\ndevices: []\ncontainerEdits:\n"


@pytest.mark.parametrize("spec", [EXCERPT, ONE_LINE, WHOLE + EXCERPT])
def test_a_node_with_another_number_on_the_host(spec: str) -> None:
    assert told(f"{spec}$ ls -l /dev/nvidia-uvm\n{LISTED.format(504)}") == ["cdi-spec-missing-or-stale"]
    assert told(f"{spec}on the host: {LISTED.format(504)}") == ["cdi-spec-missing-or-stale"]


@pytest.mark.parametrize("spec", [EXCERPT, ONE_LINE, WHOLE + EXCERPT])
def test_the_same_number_is_none(spec: str) -> None:
    assert told(f"{spec}$ ls -l /dev/nvidia-uvm\n{LISTED.format(506)}") == []


@pytest.mark.parametrize(("loaded", "stale"), [("550.x", False), ("570.x", True), ("550.120", True)])
def test_a_spec_of_a_release_and_a_driver_of_which_the_branch_is_told(loaded: str, stale: bool) -> None:
    facts = {"container": {"cdi_driver": "550.90.07"}, "nvidia_driver": {"version": loaded}}
    assert bool(list(rule.check(Snapshot.model_validate(facts), Knowledge(), None))) is stale


def test_a_spec_that_offers_a_gpu_that_was_replaced() -> None:
    uuids = {f"gpus[{a}].uuid": f"GPU-0000000{at}-1111-2222-3333-444444444444" for at, a in enumerate(machines.H100)}
    spec = {"cdi[/etc/cdi/nvidia.yaml].kind": "nvidia.com/gpu", "cdi[/etc/cdi/nvidia.yaml].missing": []}
    devices = "cdi[/etc/cdi/nvidia.yaml].devices"
    fits = machines.h100_host({**uuids, **spec, devices: ["0", "GPU-00000001-1111-2222-3333-444444444444", "all"]})
    assert found(rule, fits) == []
    gone = machines.h100_host({**uuids, **spec, devices: ["GPU-0000000f-1111-2222-3333-444444444444"]})
    (finding,) = found(rule, gone)
    assert "this machine has no such GPU" in finding.summary
