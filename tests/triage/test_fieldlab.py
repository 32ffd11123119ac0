"""Every class of text in the shared captures is read as if it were pasted, and what INDEX.yaml says of it is found.

The captures are read in place. A class, or a tool within one, that is not read as text is listed with its reason in
docs/formats.md.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from doctor.facts import Snapshot
from doctor.facts.gpu import Gpu
from tests.captures_read import pasted
from tests.paths import captured, needs_shared

DOCS = Path(__file__).resolve().parents[2] / "docs" / "formats.md"
DISPLAY = re.compile(r"(?:0300|0302|0380|1200) \[(?:10de|1002):")
"""hwloc's class and vendor of a GPU; NVSwitches are bridges."""
Record = dict[str, Any]


def of(*classes: str) -> list[Any]:
    return [pytest.param(row, id=row["machine"]) for row in captured() if row["class"] in classes]


def shown(record: Record, path: str) -> Snapshot:
    return pasted(f"{record['machine']}/{path}")


def files(record: Record, pattern: str) -> list[str]:
    return [file["path"] for file in record["files"] if re.search(pattern, file["path"])]


def gpus(machine: Snapshot) -> tuple[Gpu, ...]:
    assert machine.gpus is not None
    return machine.gpus


def short(bus: str) -> str:
    """`00000000:1B:00.0` -> `0000:1b:00.0`."""
    domain, rest = bus.lower().split(":", 1)
    return f"{domain[-4:].rjust(4, '0')}:{rest}"


def known(text: Any) -> bool:
    return text not in (
        None,
        "N/A",
        "[N/A]",
        "NA",
        "None",
        "Not Found",
        "",
        "Requested functionality has been deprecated",
    )


def test_every_class_is_read_or_listed_with_a_reason() -> None:
    if not captured():
        pytest.skip("the shared captures of other machines are not here")
    listed = DOCS.read_text(encoding="utf-8")
    missing = {row["class"] for row in captured()} - READ_CLASSES
    assert not [name for name in missing if f"`{name}`" not in listed]


def test_every_tool_is_read_or_listed_with_a_reason() -> None:
    if not captured():
        pytest.skip("the shared captures of other machines are not here")
    listed = DOCS.read_text(encoding="utf-8")
    tools = {file["tool"] for row in captured() for file in row["files"]}
    assert not [name for name in sorted(tools - READ_TOOLS) if f"`{name}`" not in listed]


NVIDIA_FIELDS: dict[str, Callable[[Gpu], object]] = {
    "name": lambda g: g.name,
    "uuid": lambda g: g.uuid,
    "vbios": lambda g: g.vbios,
    "memory_total_mib": lambda g: (g.memory_bytes or 0) >> 20,
    "ecc_mode": lambda g: {True: "Enabled", False: "Disabled"}.get(bool(g.errors.ecc_enabled)),
    "persistence": lambda g: {True: "Enabled", False: "Disabled"}.get(bool(g.persistence_mode)),
    "mig_mode": lambda g: (g.mig_mode or "").capitalize(),
    "pcie_width_cur": lambda g: f"{g.link.width}x",
    "pcie_width_max": lambda g: f"{g.link.max_width}x",
    "temp": lambda g: f"{g.sensors.temperature_c:.0f} C",
}


def nvidia_like(machine: Snapshot, facts: Record) -> None:
    """What `nvidia-smi -q` says, as text or XML."""
    if known(facts.get("driver_version")):
        assert machine.nvidia_driver.version == facts["driver_version"]
    if known(facts.get("cuda_version")):
        assert machine.nvidia_driver.cuda_version == facts["cuda_version"]
    for told in facts.get("gpus", []):
        gpu = next(g for g in gpus(machine) if g.pci_address == short(told["bus_id"]))
        for name, value in NVIDIA_FIELDS.items():
            if known(told.get(name)) and "deprecated" not in str(told[name]):
                assert value(gpu) == told[name], name


@needs_shared
@pytest.mark.parametrize("record", of("nvidia-smi-xml", "nvidia-smi-text"))
def test_nvidia_smi(record: Record) -> None:
    facts = record["facts"]
    for path in files(record, r"smi-q.*\.(?:xml|txt)$"):
        own = next((facts[k] for k in facts if k in path and isinstance(facts[k], dict)), facts)
        machine = shown(record, path)
        nvidia_like(machine, own)


@needs_shared
@pytest.mark.parametrize("record", of("nvidia-smi-text"))
def test_device_query_agrees_with_nvidia_smi(record: Record) -> None:
    asked, said = shown(record, "deviceQuery.txt"), shown(record, "nvidia-smi-q.txt")
    seen = {g.pci_address: g.name for g in gpus(said)}
    for gpu in gpus(asked):
        assert gpu.pci_address in seen
        assert str(gpu.name).removeprefix("NVIDIA ") in str(seen[gpu.pci_address])
    wanted = record.get("derived_not_in_capture", {}).get("compute_capability")
    wanted = wanted[0] if isinstance(wanted, list) else wanted
    if wanted:
        assert gpus(asked)[0].arch == "sm_" + wanted.replace(".", "")


@needs_shared
@pytest.mark.parametrize("record", of("nvidia-smi-multi-capture"))
def test_a_capture_of_many_commands(record: Record) -> None:
    for path in files(record, r"^[^/]*\.txt$"):
        facts = record["facts"][path.removesuffix(".txt")]
        machine = shown(record, path)
        nvidia_like(machine, {**facts, "gpus": [{k: v for k, v in g.items() if k != "temp"} for g in facts["gpus"]]})
    for path in files(record, r"query-gpu-csv\.txt$"):
        beside = shown(record, path.replace("idle-query-gpu-csv", "idle-q"))
        machine = shown(record, path)
        assert machine.nvidia_driver.version == beside.nvidia_driver.version
        for gpu, other in zip(gpus(machine), gpus(beside), strict=True):
            assert (gpu.pci_address, gpu.name, gpu.memory_bytes, gpu.vbios) == (
                other.pci_address, other.name, other.memory_bytes, other.vbios)  # fmt: skip
    for path in files(record, r"version\.txt$"):
        beside = shown(record, path.replace("version", "idle-q"))
        assert shown(record, path).nvidia_driver.version == beside.nvidia_driver.version


@needs_shared
@pytest.mark.parametrize("record", of("hwloc-topology"))
def test_hwloc(record: Record) -> None:
    facts = record["facts"]
    for path in files(record, r"\.xml$"):
        told = facts.get(path, facts)
        machine = shown(record, path)
        if known(told.get("kernel")):
            assert machine.kernel.release == told["kernel"]
        if known(told.get("cpu_model")):
            assert machine.host.cpu == told["cpu_model"]
        wanted = {g["bus"]: g["pci_type"][6:15] for g in told["gpu_pci"] if DISPLAY.match(g["pci_type"])}
        assert {g.pci_address: g.pci_id for g in machine.gpus or ()} == wanted
        identities = {c["AMDUUID"] for c in told.get("coproc") or () if "AMDUUID" in c}
        assert identities <= {g.uuid for g in machine.gpus or ()}
        interfaces = {name for name in told.get("openfabrics") or () if name.startswith("hsi")}  # no RDMA devices
        assert {r.key for r in machine.rdma or ()} == set(told.get("openfabrics") or ()) - interfaces


@needs_shared
@pytest.mark.parametrize("record", of("rccl-topology", "nccl-topology"))
def test_topology_of_the_collectives(record: Record) -> None:
    for path in files(record, r"\.xml$"):
        told = record["facts"][path.removesuffix(".xml")]
        machine = shown(record, path)
        assert len(machine.gpus or ()) == told["gpus"]
        assert machine.host.machine == told["cpu"][0].split()[0]
        if told["gpus"]:
            assert {g.arch for g in gpus(machine)} == {told["derived_gfx"]}
            assert {str(g.compute_units) for g in gpus(machine)} == set(told["sm"])
            assert sum(len(g.links or ()) for g in gpus(machine)) == told["xgmi"]
        if told["gpus"] and told.get("gpu_pci_ids"):
            assert {f"0x{g.pci_id}".replace(":", ":0x") for g in gpus(machine)} == set(told["gpu_pci_ids"])


@needs_shared
@pytest.mark.parametrize("record", of("udevadm-export"))
def test_udev(record: Record) -> None:
    machine = shown(record, "udevadm-export-db.txt")
    wanted = {pci.lower(): count for pci, count in record["facts"]["gpu_vendor_pci"].items()}
    seen = [str(g.pci_id) for g in gpus(machine)]
    assert seen
    assert {pci: seen.count(pci) for pci in set(seen)}.items() <= wanted.items()
    assert len(seen) >= max(wanted.values())


@needs_shared
@pytest.mark.parametrize("record", of("profiler-sysinfo"))
def test_profiler_sysinfo(record: Record) -> None:
    facts, machine = record["facts"], shown(record, "sysinfo.csv")
    gpu = gpus(machine)[0]
    assert (machine.host.cpu, machine.kernel.release) == (facts["cpu_model"], facts["linux_kernel_version"])
    assert (gpu.arch, str(gpu.compute_units), str(gpu.xcc_count)) == (
        facts["gpu_arch"], facts["cu_per_gpu"], facts["num_xcd"])  # fmt: skip
    assert machine.rocm is not None
    assert machine.rocm[0].version == facts["rocm_version"].partition("-")[0]
    assert gpu.compute_partition == (facts["compute_partition"] if known(facts["compute_partition"]) else None)


@needs_shared
@pytest.mark.parametrize("record", of("amdgpu-top-json"))
def test_amdgpu_top(record: Record) -> None:
    machine = shown(record, "amdgpu_top-dump.json")
    for gpu, told in zip(gpus(machine), record["facts"]["gpus"], strict=True):
        assert (gpu.name, gpu.arch, gpu.pci_address) == (told["name"], told["gfx_target_version"], told["pci"])
        assert (gpu.memory_bytes, gpu.compute_units) == (told["vram_bytes"], told["compute_units"])
        assert f"/dev/dri/{gpu.render_node}" == told["render"]
        assert gpu.integrated == (told["type"] == "APU")
    sample = shown(record, "amdgpu_top-sample.json")
    assert sample.rocm is not None
    assert sample.rocm[0].version == record["facts"]["rocm_version"]
    awake = [g.name for g in gpus(sample) if g.runtime_status != "suspended"]
    asleep = [g.name for g in gpus(sample) if g.runtime_status == "suspended"]
    assert (awake, asleep) == (record["facts"]["sample_devices"], record["facts"]["sample_suspended"])


@needs_shared
@pytest.mark.parametrize("record", of("docker-inspect"))
def test_docker_inspect(record: Record) -> None:
    for path, told in record["facts"].items():
        machine = shown(record, path)
        args = machine.container.run_args or ()
        assert machine.container.image == told["image"]
        assert f"--runtime={told['runtime']}" in args
        assert ("--privileged" in args) == told["privileged"]
        assert {f"--cap-add={cap}" for cap in told.get("cap_add", ())} <= set(args)
        assert machine.host.shm_bytes == told["shm_size"]
        for pair in told["gpu_env"]:
            name, _, value = pair.partition("=")
            assert (machine.environment or {})[name] == value


@needs_shared
@pytest.mark.parametrize("record", of("fabric-manager-log"))
def test_fabric_manager(record: Record) -> None:
    machine = shown(record, "fabricmanager.log")
    manager = machine.nvidia_driver.fabric_manager
    assert record["facts"]["errors"][-1].endswith(str(manager.error))
    assert [e.code for e in machine.kernel_log.events or ()] == ["sxid-12028"]


@needs_shared
@pytest.mark.parametrize("record", of("cpuinfo"))
def test_cpuinfo(record: Record) -> None:
    for path in files(record, r"\.cpuinfo$"):
        told = record["facts"][Path(path).name.removesuffix(".cpuinfo")]
        machine = shown(record, path)
        assert machine.host.cpu == told.get("model_name")
        assert machine.host.machine == ("aarch64" if "cpu_part" in told else None)


@needs_shared
@pytest.mark.parametrize("record", of("cpu-topology-fsroot"))
def test_lscpu(record: Record) -> None:
    assert shown(record, "lscpu.txt").host.cpu == record["facts"]["Model name"]


@needs_shared
@pytest.mark.parametrize("record", of("rdma-tool-json"))
def test_rdma_links(record: Record) -> None:
    machine = shown(record, "rdma-link.json")
    assert [(r.key, r.state) for r in machine.rdma or ()] == [
        (told["ifname"], told["state"]) for told in record["facts"]["links"]
    ]


@needs_shared
@pytest.mark.parametrize("record", of("full-host-report"))
def test_a_full_host_report(record: Record) -> None:
    facts = record["facts"]
    table = shown(record, "nvidia-smi.txt")
    assert (table.nvidia_driver.version, table.nvidia_driver.cuda_version) == (
        facts["driver_version"], facts["cuda_version"])  # fmt: skip
    assert {g.pci_address for g in gpus(table)} == {short(bus) for bus in facts["bus_ids"]}
    assert all(g.name is None for g in gpus(table))  # cut with dots
    assert len(gpus(shown(record, "nvidia-smi-topo-m.txt"))) == facts["attached_gpus"]
    assert {r.state for r in shown(record, "ibv-devinfo.txt").rdma or ()} == {"DOWN"}
    assert shown(record, "lscpu.txt").host.cpu == "AMD EPYC 9374F 32-Core Processor"
    for path in files(record, r"lspci-vvv-s-(?:01|41|c1|e1)"):
        assert gpus(shown(record, path))[0].driver == "nvidia"


@needs_shared
@pytest.mark.parametrize("record", of("lspci-host"))
def test_lspci_of_a_host(record: Record) -> None:
    facts, machine = record["facts"], shown(record, "lspci-vvv.txt")
    assert {str(g.pci_address)[5:] for g in gpus(machine)} == set(facts["gpu_bdfs"])
    assert sum(d.kind == "nvswitch" for d in machine.pci or ()) == facts["nvswitch_bridges"]
    assert shown(record, "os-release").os.name == facts["os_release"]


@needs_shared
@pytest.mark.parametrize("record", of("kernel-log", "kernel-log-fault"))
def test_kernel_logs(record: Record) -> None:
    facts = record["facts"]
    codes = {event.code for file in record["files"] for event in shown(record, file["path"]).kernel_log.events or ()}
    assert {f"xid-{number}" for number in facts.get("xids", ())} <= codes
    if facts.get("reset") == "succeeded":
        assert {"amdgpu-ring-timeout", "amdgpu-gpu-reset"} <= codes
    if facts.get("driver_loaded"):
        assert shown(record, "pstore-dmesg-erst.txt").nvidia_driver.version == facts["driver_loaded"]


@needs_shared
@pytest.mark.parametrize("record", of("rocm-smi-json"))
def test_rocm_smi_json(record: Record) -> None:
    for path in files(record, r"\.json$"):
        facts = record["facts"].get(path, record["facts"])
        machine = shown(record, path)
        for told in facts["card"]:
            gpu = next(g for g in gpus(machine) if g.index.smi == int(told["card"][4:]))
            assert gpu.pci_address == told["PCI Bus"].lower()
            if known(told.get("VRAM Total Memory (B)")):
                assert gpu.memory_bytes == int(told["VRAM Total Memory (B)"])
            if known(told.get("VBIOS version")):
                assert gpu.vbios == told["VBIOS version"]


@needs_shared
@pytest.mark.parametrize("record", of("rocm-smi-text"))
def test_rocm_smi_text(record: Record) -> None:
    facts, machine = record["facts"], shown(record, "rocm-smi.txt")
    assert len(gpus(machine)) == facts["devices"]
    assert {g.pci_id for g in gpus(machine)} == {"1002:" + (facts.get("did") or facts["device_id"])[2:]}
    memory, compute = facts["partitions"].split(", ")[:2]
    assert {(g.memory_partition, g.compute_partition) for g in gpus(machine)} == {(memory, compute)}


@needs_shared
@pytest.mark.parametrize("record", of("amd-smi-json"))
def test_amd_smi_json(record: Record) -> None:
    told, gpu = record["facts"]["gpus"][0], gpus(shown(record, "amd-smi-static.json"))[0]
    assert (gpu.name, gpu.arch, gpu.compute_units, gpu.numa_node) == (
        told["market_name"], told["target"], told["compute_units"], told["numa_node"])  # fmt: skip
    assert (gpu.memory_bytes or 0) >> 20 == told["vram"]["value"]


@needs_shared
@pytest.mark.parametrize("record", of("amd-smi-text"))
def test_amd_smi_text(record: Record) -> None:
    machine = shown(record, "amd-smi-0.txt")
    assert machine.amdgpu_driver.smi_version == record["facts"]["amd_smi"]
    for gpu, told in zip(gpus(machine), record["facts"]["gpus"], strict=True):
        assert gpu.pci_address == told["bdf"]
        assert gpu.name == (None if told["name"].startswith("...") else told["name"])


@needs_shared
@pytest.mark.parametrize("record", of("full-node-strix-halo"))
def test_a_full_node_of_an_apu(record: Record) -> None:
    facts = record["facts"]
    agent = gpus(shown(record, "rocminfo.txt"))[0]
    assert (agent.arch, agent.name, agent.compute_units) == ("gfx1151", "Radeon 8060S Graphics", 40)
    static = gpus(shown(record, "amd_smi_static.txt"))[0]
    assert (static.name, static.pci_address) == (facts["amd_smi"]["market_name"], facts["amd_smi"]["bdf"])
    metric = gpus(shown(record, "amd_smi_metric.txt"))[0]
    assert (metric.memory_used_bytes or 0) >> 20 == 4004
    assert metric.sensors.power_w is None  # N/A on an APU is no fault
    assert gpus(shown(record, "rocm_smi.txt"))[0].memory_bytes == int(facts["rocm_smi"]["vram_total_b"])
    config = shown(record, "hipconfig_full.txt")
    assert config.kernel.release == facts["kernel"]
    assert [(r.path, r.version) for r in config.rocm or ()] == [("/opt/rocm", "7.12")]
    assert [r.version for r in shown(record, "hipcc_version.txt").rocm or ()] == ["7.12"]


@needs_shared
@pytest.mark.parametrize("record", of("rocminfo-rocm-smi-text"))
def test_three_tools_of_one_machine(record: Record) -> None:
    smi, info = record["facts"]["rocm_smi"], record["facts"]["rocminfo"]
    agents = gpus(shown(record, "rocminfo.txt"))
    assert (len(agents), {g.arch for g in agents}) == (info["gpu_agents"], {info["gpu_name"]})
    listed = shown(record, "rocm-smi-a.txt")
    assert [g.uuid for g in gpus(listed)] == smi["unique_ids"]
    assert listed.amdgpu_driver.version == smi["driver_version"]
    asked = gpus(shown(record, "deviceQuery-hip.txt"))
    assert [(g.pci_address, g.arch) for g in asked] == [(g.pci_address, g.arch) for g in agents]


@needs_shared
@pytest.mark.parametrize("record", of("health-check-samples"))
def test_samples_of_health_checks(record: Record) -> None:
    facts = record["facts"]
    if "row_remap" in facts:
        machine = shown(record, "nvidia-smi-q-remapped-row.txt")
        gpu = gpus(machine)[0]
        assert machine.nvidia_driver.version == facts["row_remap"]["driver_version"]
        assert (gpu.name, gpu.errors.remap_pending, gpu.errors.remapped_correctable) == (
            facts["row_remap"]["name"], True, 1)  # fmt: skip
        assert len(gpus(shown(record, "nvidia-smi-topo-m-a100-8gpu.txt"))) == facts["topo_a100"]["gpus"]
        assert [e.code for e in shown(record, "dmesg-xid63.txt").kernel_log.events or ()] == ["xid-63"]
    else:
        machine = shown(record, "orig_nvsmi8_output.txt")
        assert machine.nvidia_driver.version == facts["driver_version"]
        assert len(gpus(machine)) == facts["attached_gpus"]
        assert gpus(shown(record, "good_nvlink_status.txt"))[0].index.smi == facts["good_nvlink"]["gpu"]


@needs_shared
@pytest.mark.parametrize("record", of("nvidia-doc-sample"))
def test_samples_of_nvidia_s_documentation(record: Record) -> None:
    facts = record["facts"]
    if "warning" in facts:
        machine = shown(record, "nvidia-smi.txt")
        assert machine.nvidia_driver.version == facts["driver_version"]
        assert facts["warning"] in str(machine.nvidia_driver.smi_error)
        return
    mixed = gpus(shown(record, "nvidia-smi-L-mixed.txt"))[0]
    wanted = facts.get("mixed") or facts["states"]["mixed"]
    assert [p.name for p in mixed.partitions or ()] == wanted
    if "states" in facts:
        empty = gpus(shown(record, "nvidia-smi-mig-enabled-no-devices.txt"))[0]
        assert (empty.mig_mode, empty.partitions) == ("enabled", ())
        assert gpus(shown(record, "nvidia-smi-mig-disabled.txt"))[0].mig_mode == "disabled"


@needs_shared
@pytest.mark.parametrize("record", of("doc-sample"))
def test_samples_of_amd_s_documentation(record: Record) -> None:
    by = {file["path"]: shown(record, file["path"]) for file in record["files"]}
    if record["machine"] == "amd-smi-changelog-samples-a":
        assert len(gpus(by["rocm-6.1.0/amd-smi-topology.txt"])) == 8
        monitor = gpus(by["rocm-6.2.0/amd-smi-monitor-q.txt"])[0]
        assert (monitor.sensors.power_w, (monitor.memory_bytes or 0) >> 20) == (199.0, 16335)
        assert gpus(by["rocm-6.3.0/amd-smi-static-asic.txt"])[0].arch == "gfx942"
        assert len(gpus(by["rocm-6.1.1/amd-smi-topology-a-t-json.txt"])) == 2
        assert gpus(by["rocm-6.1.0/amd-smi-metric-usage.txt"])[0].sensors.utilisation_percent == 0.0
    elif "did" in record["facts"]:
        rows = gpus(by["rocm-smi.txt"])
        assert [str(g.index.kfd) for g in rows] == record["facts"]["nodes"]
    elif "before" in record["facts"]:
        for path in ("rocm-smi-cpx-before.txt", "rocm-smi-cpx-after.txt"):
            assert {g.compute_partition for g in gpus(by[path])} == {"CPX"}
    else:
        assert {g.pci_id for g in gpus(by["lspci.txt"])} == {"1002:74a0"}
        assert by["rocm-smi-showtopo-tpx.txt"].gpus is None  # its rows are partitions


@needs_shared
@pytest.mark.parametrize("record", [r for r in of("kfd-topology") if r.id == "amd-mi25-1gpu-kfd"])
def test_firmware_of_debugfs(record: Record) -> None:
    gpu = gpus(shown(record, "debugfs-amdgpu_firmware_info.txt"))[0]
    assert record["facts"]["firmware_info"].items() <= (gpu.firmware or {}).items()


def _classes() -> set[str]:
    """Those that a test of this file takes."""
    marks = [mark for test in list(globals().values()) for mark in getattr(test, "pytestmark", ())]
    return {param.values[0]["class"] for mark in marks if mark.name == "parametrize" for param in mark.args[1]}


READ_CLASSES = _classes()
READ_TOOLS = {
    "amd-smi", "amdgpu-debugfs", "amdgpu_top", "deviceQuery", "dmesg", "docker-inspect", "fabricmanager", "hipcc",
    "hipconfig", "hwloc", "ibv_devinfo", "journalctl", "kmsg", "lscpu", "lspci", "nccl-topo-xml", "nvidia-smi",
    "os-release", "proc-cpuinfo", "pstore", "rccl-topo-xml", "rdma", "rocm-smi", "rocminfo", "rocprofiler-compute",
    "udevadm",
}  # fmt: skip
