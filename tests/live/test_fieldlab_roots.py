"""The whole check over every captured tree of the field: what was recorded is seen, what was not is not made up."""

from __future__ import annotations

from doctor.facts.gpu import Gpu
from doctor.facts.origin import State
from doctor.findings import Report
from tests.captures_read import of_tree
from tests.each import each
from tests.live.trees import machines
from tests.paths import needs_shared

pytestmark = needs_shared
NAMES = sorted(machines())
CARDS = [n for n in NAMES if n.endswith("drm-sysfs")]
KFD_TREES = [n for n in NAMES if machines()[n]["class"] == "kfd-topology"]
WARNED = {"amd-hd7870-drm-sysfs": "gpu-bound-to-other-driver"}
"""The one tree with something to warn of: its card is radeon's, which has no compute (INDEX.yaml's pitfall)."""


def the_gpu(report: Report) -> Gpu:
    [gpu] = report.snapshot.gpus or ()
    return gpu


@each("name", NAMES or ["none is here"])
def test_nothing_is_raised_that_was_not_recorded(name: str) -> None:
    raised = [f.rule for f in of_tree(name).findings if f.severity.value in ("error", "warning")]
    assert raised == ([WARNED[name]] if name in WARNED else [])
    assert [u.reason for u in of_tree(name).unchecked if u.crashed] == []


@each("name", NAMES or ["none is here"])
def test_what_a_tree_lacks_is_not_recorded(name: str) -> None:
    machine = of_tree(name).snapshot
    assert machine.nodes is None
    assert machine.origins["nodes"].state is State.NOT_RECORDED
    assert machine.environment is None
    assert (machine.container.inside, machine.container.engine) == (None, None)
    assert machine.kernel_log.events is None


@each("name", NAMES or ["none is here"])
def test_as_many_gpus_as_the_index_says(name: str) -> None:
    gpus = of_tree(name).snapshot.gpus
    assert (len(gpus) if gpus else None) == machines()[name]["gpu_count"]


@each("name", CARDS or ["none is here"])
def test_a_card_as_the_index_tells_it(name: str) -> None:
    gpu, facts = the_gpu(of_tree(name)), machines()[name]["facts"]
    assert gpu.pci_address == facts["uevent_PCI_SLOT_NAME"].lower()
    assert gpu.pci_id == facts["uevent_PCI_ID"].lower()
    assert gpu.driver == facts["uevent_DRIVER"]
    assert gpu.memory_bytes == (int(facts["mem_info_vram_total"]) if "mem_info_vram_total" in facts else None)
    if "vbios_version" in facts:
        assert gpu.vbios == facts["vbios_version"]
    if "current_link_width" in facts:
        assert gpu.link.width == int(facts["current_link_width"])


@each("name", CARDS or ["none is here"])
def test_an_architecture_is_the_card_s_or_unknown(name: str) -> None:
    derived = machines()[name].get("derived_not_in_capture") or {}
    if "gfx" in derived:
        assert the_gpu(of_tree(name)).arch in (derived["gfx"], None)


def test_cards_that_share_an_id_get_no_name_without_a_revision() -> None:
    """An RX 7600S shares its id with a Radeon PRO W7600, revision 00."""
    assert the_gpu(of_tree("amd-rx7600s-drm-sysfs")).name is None


@each("name", KFD_TREES or ["none is here"])
def test_kfd_nodes_as_the_index_counts_them(name: str) -> None:
    nodes, facts = of_tree(name).snapshot.kfd.nodes or (), machines()[name]["facts"]
    assert len(nodes) == facts["nodes"]
    minors = [n.render_minor for n in nodes if n.render_minor]
    assert [min(minors), max(minors)] == facts["render_minors"]


def test_the_partitions_of_eight_mi300x() -> None:
    gpus = of_tree("amd-mi300x-8gpu-cpx-kfd").snapshot.gpus or ()
    facts = machines()["amd-mi300x-8gpu-cpx-kfd"]["facts"]
    assert sorted((len(g.partitions or ()) for g in gpus), reverse=True) == facts["gpu_nodes_per_unique_id"]
    assert {g.arch for g in gpus} == {"gfx942"}
    assert {g.memory_bytes for g in gpus} == {None}


def test_gpus_that_only_their_driver_lists_are_nvidia_s() -> None:
    told = of_tree("nvidia-v100-power9-gpunuma-fsroot")
    places = machines()["nvidia-v100-power9-gpunuma-fsroot"]["facts"]["gpu_to_node"]
    assert {g.pci_address for g in told.snapshot.gpus or ()} == set(places)
    assert {g.vendor for g in told.snapshot.gpus or ()} == {"nvidia"}
    assert told.snapshot.nvidia_driver.loaded is True
    assert "no-gpu-found" not in {f.rule for f in told.findings}


def test_ports_of_infiniband() -> None:
    told = {d.key: d for d in of_tree("nvidia-h100-infiniband-class-gpud").snapshot.rdma or ()}
    facts = machines()["nvidia-h100-infiniband-class-gpud"]["facts"]
    for name, port in facts.items():
        if isinstance(port, dict) and "state" in port:
            assert told[name].state == port["state"].partition(": ")[2]
            assert told[name].link_layer == port["link_layer"]
