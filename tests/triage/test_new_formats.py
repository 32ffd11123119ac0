"""Formats pasted as people paste them: each fact with its line, and texts that only look like the format."""

from __future__ import annotations

from doctor.facts import Snapshot
from doctor.triage.read import Read, read_text
from tests.each import each
from tests.parsers.samples import SAMPLES

A, B = "0000:01:00.0", "0000:c4:00.0"
WANTED: dict[str, dict[str, tuple[object, int]]] = {
    "nccl_topology": {
        "gpus[0000:82:00.0].arch": ("gfx942", 4),
        "gpus[0000:82:00.0].numa_node": (1, 2),
        "gpus[0000:82:00.0].link.max_speed_gt_s": (32.0, 3),
        "rdma[mlx5_0].pci_address": ("0000:81:00.0", 8),
    },
    "hwloc_xml": {
        "kernel.release": ("5.14.0-1.x86_64", 4),
        "gpus[0000:d1:00.0].pci_id": ("1002:7408", 6),
        "gpus[0000:d1:00.0].render_node": ("renderD128", 9),
        "gpus[0000:d1:00.0].memory_bytes": (67092480 << 10, 8),
        "rdma[mlx5_0].state": ("ACTIVE", 12),
    },
    "udev_export": {
        f"gpus[{B}].driver": ("amdgpu", 3),
        f"gpus[{B}].render_node": ("renderD128", 12),
        "nodes[/dev/dri/renderD128].minor": (128, 12),
        "rdma[mlx5_0].pci_address": ("0000:21:00.0", 17),
    },
    "device_query": {
        "nvidia_driver.cuda_version": ("12.4", 2),
        "gpus[0000:a1:00.0].arch": ("sm_89", 3),
        "gpus[0000:26:00.0].compute_units": (304, 11),
    },
    "nvidia_smi_csv": {
        "nvidia_driver.version": ("595.80", 2),
        f"gpus[{A}].errors.ecc_enabled": (True, 2),
        "gpus[0000:02:00.0].arch": ("sm_89", 3),
    },
    "cpu_text": {"host.cpu": ("AMD EPYC 9374F 32-Core Processor", 3), "host.hypervisor": ("KVM", 5)},
    "amdgpu_top_json": {
        "gpus[0000:03:00.0].name": ("AMD Radeon RX 9060 XT", 2),
        "gpus[0000:03:00.0].integrated": (False, 2),
    },
    "rocprof_sysinfo": {"gpus[#0].arch": ("gfx942", 2), "kernel.release": ("5.15.0-70-generic", 2)},
    "rdma_text": {
        "rdma[mlx5_0].state": ("ACTIVE", 4),
        "rdma[mlx5_1].physical_state": ("LinkUp", 10),
        "rdma[mlx5_1].rate": ("400 Gb/sec", 11),
    },
    "rdma_link": {"rdma[ionic_0].state": ("ACTIVE", 1)},
    "fabric_log": {
        "nvidia_driver.fabric_manager.version": ("570.86.15", 1),
        "nvidia_driver.fabric_manager.installed": (True, 1),
    },
    "cdi_text": {"container.cdi_driver": ("575.57.08", 2), "cdi[shown].kind": ("nvidia.com/gpu", 1)},
    "container_inspect": {
        "container.image": ("rocm/pytorch:latest", 1),
        "environment[HIP_VISIBLE_DEVICES]": ("0", 1),
        "host.shm_bytes": (67108864, 2),
    },
    "amd_smi_tables": {
        "gpus[0000:0c:00.0].vendor": ("amd", 3),
        "gpus[0000:0c:00.0].memory_bytes": (16335 << 20, 7),
        "gpus[0000:0c:00.0].compute_partition": ("SPX", 10),
    },
    "nccl_log": {
        "nvidia_driver.cuda_version": ("12.4", 1),
        "environment[NCCL_IB_DISABLE]": ("1", 2),
        "rdma[mlx5_1].link_layer": ("Ethernet", 3),
        "gpus[0000:1b:00.0].name": ("NVIDIA H100 80GB HBM3", 7),
        "rocm[shown].version": ("6.4.0", 6),
    },
    "rocm_text": {"rocm[/opt/rocm].version": ("7.12", 1), "gpus[#0].name": ("AMD Instinct MI210", 4)},
    "modinfo": {
        "nvidia_driver.module_on_disk": ("575.57.08", 2),
        "nvidia_driver.flavour": ("open", 3),
        "amdgpu_driver.source": ("in-tree", 4),
    },
    "framework_env": {
        "torch.version": ("2.4.1+cu121", 4),
        "torch.available": (True, 4),
        "gpus[#0].name": ("NVIDIA A100-SXM4-80GB", 5),
        "host.shm_bytes": (64 << 30, 8),
        "kernel.release": ("5.15.0-122-generic", 2),
    },
    "sglang_env": {
        "nvidia_driver.version": ("550.54.15", 6),
        "gpus[#1].arch": ("sm_90", 4),
        "host.nofile": (1048576, 9),
    },
    "kubectl_describe": {
        "kernel.release": ("6.8.0-45-generic", 2),
        "container.engine_version": ("containerd 1.7.22", 5),
        "container.run_args": (("-d", "--gpus=amd.com/gpu=2"), 6),
    },
    "own_report": {"gpus[0000:c1:00.0].arch": ("gfx942", 3)},
    "dockerfile": {
        "container.image": ("rocm/pytorch:latest", 5),
        "environment[C_D]": ("2 3", 3),
        "environment[OLD]": ("value", 7),
    },
    "bug_report": {"nvidia_driver.flavour": ("open", 5), "rocm[shown].version": ("6.2.4", 10)},
    "firmware": {"gpus[#0].firmware": ({"MEC": "0x00000160"}, 1), "os.version": ("22.04", 3)},
}


@each("sample", WANTED)
def test_facts_with_the_line_they_came_from(sample: str) -> None:
    before = "It fails:\n```\n"
    machine = read_text([(before + SAMPLES[sample] + "```\n").encode()])
    for name, (value, line) in WANTED[sample].items():
        assert machine.get(name) == value, name
        assert machine.origins[name].source == f"text:{line + 2}", name


@each("sample", WANTED)
@each("share", [0.25, 0.5, 0.75])
def test_a_cut_text_says_nothing_else(sample: str, share: float) -> None:
    """A piece tells a part of what the whole tells, never another GPU, number or release."""
    text = SAMPLES[sample]
    whole = read_text([text.encode()])
    cut = text[: int(len(text) * share)].rpartition("\n")[0]
    piece = read_text([cut.encode()])
    assert len(piece.gpus or ()) <= max(len(whole.gpus or ()), 1)
    for name in WANTED[sample]:
        wanted = whole.get(name)
        if name != "container.run_args" and isinstance(wanted, (str, int, float)):
            assert piece.get(name) in (None, wanted) or sample in ("amd_smi_tables", "nccl_log", "cpu_text"), name


@each(
    "prose",
    [
        "I took it FROM the docs and RUN it.",
        "hca_id: is empty here",
        "The <topology of our cluster is a ring.",
        "we saw compute_cap, driver_version and such",
        "sglang: 0.4 is installed, GPU 0: something",
        "cdiVersion is 0.5.0 in our spec",
        "[ERROR] [tid 5] our own logger",
        "gfx000 is the CPU",
        "my doctor.report/1 was empty",
        '{"schema": "doctor.report/1"}',
        '<!DOCTYPE topology [<!ENTITY a "b">]><topology><object type="&a;"/></topology>',
    ],
)
def test_words_of_a_format_are_not_the_format(prose: str) -> None:
    trace: list[Read] = []
    read_text([prose.encode()], trace)
    new = {"dockerfile", "rdma_text", "hwloc_xml", "nvidia_smi_csv", "sglang_env", "cdi_text", "fabric_log",
           "own_report", "rocm_text"}  # fmt: skip
    assert not [read for read in trace if read.parser in new]


def test_xml_that_was_cut_gives_what_stands_before_the_cut() -> None:
    text = SAMPLES["hwloc_xml"].partition('<object type="OSDev" name="mlx5_0"')[0]
    machine = read_text([text.encode()])
    assert [g.pci_id for g in machine.gpus or ()] == ["1002:7408"]
    assert machine.rdma is None


def test_columns_of_noheader_are_told_by_the_command() -> None:
    asked = "$ nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader\n"
    machine = read_text([f"```\n{asked}NVIDIA L4, 550.54.15, 23034 MiB\n```".encode()])
    assert machine.nvidia_driver.version == "550.54.15"
    assert [(g.name, (g.memory_bytes or 0) >> 20) for g in machine.gpus or ()] == [("NVIDIA L4", 23034)]
    unknown = read_text([b"```\nNVIDIA L4, 550.54.15, 23034 MiB\n```"])
    assert unknown.nvidia_driver.version is None


def test_newest_labels_of_nvidia_smi_version() -> None:
    text = (
        'DRIVER version  : Deprecated, see "KMD version" instead\nKMD version  : 610.57.04\nCUDA UMD version  : 13.3\n'
    )
    machine = read_text([text.encode()])
    assert (machine.nvidia_driver.version, machine.nvidia_driver.cuda_version) == ("610.57.04", "13.3")


def test_partitions_of_a_showtopo_are_not_counted_as_gpus() -> None:
    text = "==== Link Type between two GPUs ====\n       GPU0   GPU1\nGPU0   0      XXXX\nGPU1   XXXX   0\n"
    assert read_text([text.encode()]).gpus is None


def test_vllm_s_collect_env_with_its_banners() -> None:
    text = """==============================
        System Info
==============================
OS                           : Ubuntu 22.04.5 LTS (x86_64)
==============================
       PyTorch Info
==============================
PyTorch version              : 2.7.1+cu128
CUDA used to build PyTorch   : 12.8
ROCM used to build PyTorch   : N/A
==============================
       CUDA / GPU Info
==============================
Is CUDA available            : True
GPU models and configuration :
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3

Nvidia driver version        : 550.54.15
==============================
         vLLM Info
==============================
ROCM Version                 : Could not collect
vLLM Version                 : 0.10.0
"""
    machine = read_text([f"```text\n{text}```".encode()])
    assert (machine.torch.version, machine.torch.build, machine.torch.available) == ("2.7.1+cu128", "cuda", True)
    assert (machine.nvidia_driver.version, len(machine.gpus or ()), machine.os.version) == ("550.54.15", 2, "22.04.5")
    assert machine.rocm is None
    assert [p.version for p in machine.packages or () if p.name == "vllm"] == ["0.10.0"]


def told(text: str) -> Snapshot:
    return read_text([f"```\n{text}\n```".encode()])


def test_small_tools() -> None:
    assert told("$ uv pip list\nPackage Version\n------- -------\ntorch   2.6.0").torch.version == "2.6.0"
    assert told("$ mokutil --sb-state\nSecureBoot enabled").kernel.secure_boot is True
    assert told("$ dkms status\nnvidia/570.133.07, 6.8.0-45-generic, x86_64: installed").nvidia_driver.built_for == (
        "6.8.0-45-generic",
    )
    assert told("$ ulimit -a\nmax locked memory           (kbytes, -l) 64").host.memlock_bytes == 65536
    assert told("$ docker info\n Runtimes: io.containerd.runc.v2 runc\n Default Runtime: runc").container.runtimes == (
        "io.containerd.runc.v2", "runc")  # fmt: skip
    assert [g.arch for g in told("$ rocm_agent_enumerator\ngfx000\ngfx90a").gpus or ()] == ["gfx90a"]
