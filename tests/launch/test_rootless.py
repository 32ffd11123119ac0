"""A part of AMD's GPUs with a rootless engine: ROCm must find all render nodes, and is told which GPUs to use."""

from __future__ import annotations

from dataclasses import replace

from doctor.facts.snapshot import Snapshot
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from tests.each import each
from tests.launch.cases import AMD_CDI, DOCKER, PODMAN
from tests.launch.machines import cpx, h100, mi300x

ROOTLESS = replace(PODMAN, rootless=True)
CAUSE = "rootless podman can't hide a GPU from ROCm, whose start fails (HSA status 1008) with a part of them"


def run(machine: Snapshot, engine: Engine, gpus: str, way: str = "auto") -> Spec:
    return plan(machine, engine, choose(machine, gpus), Request("a", way=way))


def devices(spec: Spec) -> list[str]:
    return [part.value.removeprefix("/dev/dri/") for part in spec.of("device", "cdi")]


def with_apu(machine: Snapshot, kfd: int | None) -> Snapshot:
    """Beside them an integrated GPU, which nobody chose; the KFD lists it or not."""
    first = (machine.gpus or ())[0]
    index = first.index.model_copy(update={"kfd": kfd, "hip": None if kfd is None else 1})
    more = {"key": "0000:c5:00.0", "pci_address": "0000:c5:00.0", "render_node": "renderD129"}
    apu = first.model_copy(update={**more, "integrated": True, "index": index})
    return machine.model_copy(update={"gpus": (*(machine.gpus or ()), apu), "nodes": mi300x(2).nodes})


def test_all_render_nodes_are_passed_and_rocm_uses_the_chosen_ones() -> None:
    spec = run(mi300x(), ROOTLESS, "1,2")
    assert devices(spec) == ["/dev/kfd", "renderD128", "renderD129", "renderD130"]
    assert spec.env == {"ROCR_VISIBLE_DEVICES": "1,2"}
    assert (spec.gpus, spec.count, spec.every) == (("1", "2"), 2, False)
    (note,) = [trouble for trouble in spec.troubles if trouble.text.startswith(CAUSE)]
    assert note.text.endswith(": all 3 are passed, and ROCR_VISIBLE_DEVICES limits programs to GPU 1, 2")
    assert not note.fatal


@each(
    "machine, engine, gpus",
    [
        (mi300x(), ROOTLESS, "all"),
        (mi300x(), PODMAN, "1"),  # rootful: the device cgroup hides the others
        (mi300x(1), ROOTLESS, "0"),
        (h100(), ROOTLESS, "1"),
        (with_apu(mi300x(1), None), ROOTLESS, "all"),  # not in the KFD: ROCm does not look for its node
    ],
)
def test_near_misses_get_the_chosen_nodes_alone(machine: Snapshot, engine: Engine, gpus: str) -> None:
    spec = run(machine, engine, gpus, "nodes")
    nodes = [f"renderD{128 + int(name)}" for name in spec.gpus] if spec.vendor == "amd" else ["/dev/nvidia1"]
    assert [name for name in devices(spec) if name.startswith(("render", "/dev/nvidia1"))] == nodes
    assert (spec.env, [t for t in spec.troubles if "1008" in t.text]) == ({}, [])


def test_an_integrated_gpu_of_the_kfd_is_passed_and_not_used() -> None:
    spec = run(with_apu(mi300x(1), 3), ROOTLESS, "all")
    assert devices(spec) == ["/dev/kfd", "renderD128", "renderD129"]
    assert spec.env == {"ROCR_VISIBLE_DEVICES": "0"}


def test_partitions_are_counted_as_rocm_counts_them() -> None:
    spec = run(cpx(), ROOTLESS, "0:3,0:5")
    assert len(devices(spec)) == 9
    assert spec.env == {"ROCR_VISIBLE_DEVICES": "3,5"}


def test_by_cdi_all_devices_are_passed() -> None:
    spec = run(mi300x(), replace(ROOTLESS, specs=(AMD_CDI,)), "1")
    assert devices(spec) == ["amd.com/gpu=all"]
    assert spec.env == {"ROCR_VISIBLE_DEVICES": "1"}


def test_where_rocm_s_number_is_not_known_nothing_starts() -> None:
    gpus = tuple(g.model_copy(update={"index": g.index.model_copy(update={"hip": None})}) for g in mi300x().gpus or ())
    spec = run(mi300x().model_copy(update={"gpus": gpus}), ROOTLESS, "1")
    (trouble,) = [trouble for trouble in spec.troubles if trouble.text.startswith(CAUSE)]
    assert trouble.fatal
    assert trouble.fix == "use the rootful engine, or --gpus all (3 GPUs)"


def test_rootless_docker_is_no_other() -> None:
    spec = run(mi300x(mode=0o666), replace(DOCKER, rootless=True), "0")
    assert len(devices(spec)) == 4
    assert spec.env == {"ROCR_VISIBLE_DEVICES": "0"}
