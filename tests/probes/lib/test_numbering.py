"""Which number a GPU has, and which one a program sees."""

from __future__ import annotations

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.facts.gpu import GpuIndex
from doctor.probes.lib.numbering import number


def machine(vendor: str, count: int = 4, models: tuple[str, ...] = ("same",), **environ: str) -> Snapshot:
    """GPUs in PCI order; AMD's KFD nodes run the other way round, as boards with crossed buses have it."""
    sheet = FactSheet()
    for i in range(count):
        gpu = f"gpus[0000:{i + 1:02x}:00.0]"
        sheet.put(f"{gpu}.vendor", vendor, "t")
        sheet.put(f"{gpu}.pci_address", f"0000:{i + 1:02x}:00.0", "t")
        sheet.put(f"{gpu}.pci_id", models[i % len(models)], "t")
        sheet.put(f"{gpu}.uuid", f"GPU-{i}abc{i}def", "t")
        if vendor == "amd":
            sheet.put(f"{gpu}.index.kfd", 10 - i, "t")
    sheet.put("environment", environ, "t")
    return number(assemble([sheet]))


def visible(snapshot: Snapshot) -> list[int | None]:
    return [g.index.visible for g in snapshot.gpus or ()]


def test_alike_nvidia_gpus_follow_the_bus() -> None:
    assert [g.index.cuda for g in machine("nvidia").gpus or ()] == [0, 1, 2, 3]


def test_a_mixed_node_has_no_known_cuda_order_unless_it_is_asked_for() -> None:
    mixed = machine("nvidia", models=("a", "b"))
    assert [g.index.cuda for g in mixed.gpus or ()] == [None] * 4
    assert [g.index.smi for g in mixed.gpus or ()] == [0, 1, 2, 3]
    asked = machine("nvidia", models=("a", "b"), CUDA_DEVICE_ORDER="PCI_BUS_ID")
    assert [g.index.cuda for g in asked.gpus or ()] == [0, 1, 2, 3]


def test_cuda_lists_reorder_and_end_at_the_first_invalid_entry() -> None:
    assert visible(machine("nvidia", CUDA_VISIBLE_DEVICES="2,0,9,1")) == [1, None, 0, None]
    assert visible(machine("nvidia", CUDA_VISIBLE_DEVICES="GPU-3abc,1")) == [None, 1, None, 0]


def test_an_empty_list_hides_all_and_says_so() -> None:
    hidden = machine("nvidia", CUDA_VISIBLE_DEVICES="")
    assert visible(hidden) == [None] * 4
    assert hidden.origins["gpus[0000:01:00.0].index.visible"].state.value == "absent"


def test_hip_follows_the_kfd_nodes_and_counts_within_what_rocr_left() -> None:
    plain = machine("amd")
    assert [g.index.hip for g in plain.gpus or ()] == [3, 2, 1, 0]
    assert visible(machine("amd", ROCR_VISIBLE_DEVICES="3,1", HIP_VISIBLE_DEVICES="1")) == [None, None, 0, None]
    assert visible(machine("amd", ROCR_VISIBLE_DEVICES="GPU-2abc")) == [None, None, 0, None]
    assert visible(machine("amd", HIP_VISIBLE_DEVICES="0", CUDA_VISIBLE_DEVICES="1")) == [None, None, None, 0]
    assert visible(machine("amd", ROCR_VISIBLE_DEVICES="")) == [None] * 4


def test_without_an_environment_nothing_is_said_of_what_is_visible() -> None:
    sheet = FactSheet()
    sheet.put("gpus[0000:01:00.0].vendor", "nvidia", "t")
    sheet.put("gpus[0000:01:00.0].pci_address", "0000:01:00.0", "t")
    snapshot = number(assemble([sheet]))
    assert visible(snapshot) == [None]
    assert not any(name.endswith("visible") for name in snapshot.origins)


def cpx(**environ: str) -> Snapshot:
    """Two MI300X in CPX: KFD nodes 1 to 8 are the first one's parts, 9 to 16 the second's."""
    sheet = FactSheet()
    for card in range(2):
        gpu = f"gpus[0000:{card + 5:02x}:00.0]"
        sheet.put(f"{gpu}.vendor", "amd", "t")
        sheet.put(f"{gpu}.pci_address", f"0000:{card + 5:02x}:00.0", "t")
        sheet.put(f"{gpu}.index.kfd", card * 8 + 1, "t")
        for part in range(8):
            sheet.put(f"{gpu}.partitions[{part}].kind", "compute", "t")
            sheet.put(f"{gpu}.partitions[{part}].kfd", card * 8 + part + 1, "t")
    sheet.put("environment", environ, "t")
    return number(assemble([sheet]))


def test_each_cpx_partition_is_a_place_in_hip_s_list() -> None:
    assert [g.index.hip for g in cpx().gpus or ()] == [0, 8]
    assert visible(cpx(HIP_VISIBLE_DEVICES="9,2")) == [1, 0]
    assert visible(cpx(HIP_VISIBLE_DEVICES="3")) == [0, None]


def mig(**environ: str) -> Snapshot:
    """One H100 with MIG on: two instances."""
    sheet = FactSheet()
    facts = {
        "vendor": "nvidia", "pci_address": "0000:18:00.0", "pci_id": "10de:2330", "uuid": "GPU-aa11",
        "mig_mode": "enabled",
        "partitions[mig0].kind": "mig", "partitions[mig0].uuid": "MIG-bb22", "partitions[mig1].kind": "mig",
        "partitions[mig1].uuid": "MIG-cc33",
    }  # fmt: skip
    for name, value in facts.items():
        sheet.put(f"gpus[0000:18:00.0].{name}", value, "t")
    sheet.put("environment", environ, "t")
    return number(assemble([sheet]))


def test_a_mig_instance_is_chosen_by_its_uuid_and_is_the_only_one_shown() -> None:
    assert visible(mig(CUDA_VISIBLE_DEVICES="MIG-cc33")) == [0]
    assert visible(mig(CUDA_VISIBLE_DEVICES="MIG-dd44")) == [None]
    assert [g.index.cuda for g in mig().gpus or ()] == [0]


def test_beside_a_gpu_with_mig_cuda_s_order_is_not_known() -> None:
    both = machine("nvidia", count=2).model_copy()
    first = (both.gpus or ())[0].model_copy(update={"mig_mode": "enabled", "index": GpuIndex()})
    second = (both.gpus or ())[1].model_copy(update={"index": GpuIndex()})
    assert [g.index.cuda for g in number(both.model_copy(update={"gpus": (first, second)})).gpus or ()] == [None, None]
