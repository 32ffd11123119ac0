"""Which number a GPU has, and which one a program sees."""

from __future__ import annotations

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.probes.numbering import number


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
