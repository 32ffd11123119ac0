"""Boot lines, idle readings and settings of machines that work accuse nothing; beside what fails they are heard."""

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.diagnosis.judge import judge
from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.rules.driver import (
    amdgpu_gpu_hang,
    gpu_ecc_errors,
    nouveau_loaded,
    nvidia_driver_too_old,
    nvidia_xid_fatal,
)
from doctor.rules.flags import hsa_override_misuse
from doctor.rules.host import (
    gpu_throttled,
    gpudirect_rdma_missing,
    large_bar_disabled,
    mig_misconfigured,
    pcie_link_degraded,
)
from doctor.rules.python import amdsmi_mismatch, library_missing_gpu_arch, rocm_path_broken
from tests.knowledge.texts import KB, keys, names, names_not, raised, told

SMI_L = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A5000\n"
RX = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n  Vendor Name:             AMD\n"
RX += "  Device Type:             GPU\n"
NVIDIA = "NVIDIA driver version: 550.90.07\n" + SMI_L
XID = "NVRM: Xid (PCI:0000:41:00): {}, pid=811, name=python, Ch 00000010\n"
AER = "amdgpu 0000:0c:00.0: PCIe Bus Error: severity=Correctable, type=Physical Layer, (Receiver ID)\n"
NVME = "nvme 0000:04:00.0: PCIe Bus Error: severity=Corrected, type=Data Link Layer, (Transmitter ID)\n"
LIMITED = (
    "8.000 Gb/s available PCIe bandwidth, limited by 2.5 GT/s PCIe x4 link at 0000:00:07.1 "
    "(capable of 126.016 Gb/s with 16.0 GT/s PCIe x8 link)\n"
)
TUNNEL = f"[   15.2] amdgpu 0000:44:00.0: {LIMITED}"
OF_BUS = f"[   14.9] pci 0000:44:00.0: {LIMITED}"
IO = "pcieport 0000:00:1c.4: bridge window [io  size 0x2000]: can't assign; no space"
QUERY = "name, pstate, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, utilization.gpu [%]\n"
MIG = (
    "$ nvidia-smi -L\nGPU 0: NVIDIA A30 (UUID: GPU-11aa)\n  MIG 2g.12gb     Device  0: (UUID: MIG-22bb)\n"
    "$ env\nCUDA_VISIBLE_DEVICES=MIG-22bb\n"
)
REASONS = """$ nvidia-smi -q -d PERFORMANCE
    Performance State                     : P8
    Clocks Event Reasons
        Idle                              : Active
        SW Power Cap                      : Active
        HW Slowdown                       : Not Active
            HW Thermal Slowdown           : Not Active
        SW Thermal Slowdown               : Not Active
"""
AT_WORK = """NVIDIA driver version: 550.90.07
| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: 12.4     |
|   0  NVIDIA L4                      On  |   00000000:31:00.0 Off |                    0 |
| N/A   60C    P0              70W /   72W |   11000MiB /  23034MiB |     99%      Default |
|                                         |                        |                  N/A |
"""
OVERRIDE = RX.format("gfx1031") + "$ env\nHSA_OVERRIDE_GFX_VERSION=10.3.0\n"
UNLISTED = "OS: Debian 11\nROCm version: 5.4.3\n" + RX.format("gfx1030")
VFIO = (
    "$ cat /proc/cmdline\nBOOT_IMAGE=/boot/vmlinuz-6.8.12 root=/dev/sda2 ro intel_iommu=on vfio-pci.ids=10de:1e84\n"
    f"{NVIDIA}NVRM: The NVIDIA probe routine was not called for 1 device(s).\n"
)
MEANT = "the 2070 goes to the VM and works there, the other one is the host's\n"
STRIX = RX.format("gfx1151") + "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz-6.18 root=UUID=4f ro ttm.pages_limit={}\n"
SMALL = "the GPU only has 512 MB\n"
EXPORTER = (
    "$ docker run -d --device /dev/nvidiactl --device /dev/nvidia0 -v /usr/bin/nvidia-smi:/usr/bin/nvidia-smi {}\n"
    f"running inside a container: yes\n{NVIDIA}"
    "| NVIDIA-SMI 550.90.07              Driver Version: 550.90.07      CUDA Version: N/A      |\n"
)


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


UNHEARD: tuple[tuple[ModuleType, str, str], ...] = (
    (pcie_link_degraded, AER, "the card falls off the bus after an hour\n"),
    (pcie_link_degraded, AER, "the journal is full of it, thousands of corrected errors a day\n"),
    (pcie_link_degraded, NVME, AER.replace("Correctable", "Uncorrected (Fatal)")),
    (pcie_link_degraded, NVME, "copies are slow\n"),
    (pcie_link_degraded, f"{NVIDIA}{QUERY}NVIDIA RTX A5000, P8, 1, 4, 8, 0 %\n", "the link is stuck\n"),
    (pcie_link_degraded, f"thunderbolt 0-1: new device found\n{TUNNEL}", "copies are slow\n"),
    (pcie_link_degraded, f"thunderbolt 0-1: new device found\n{OF_BUS}", "copies are slow\n"),
    (gpu_throttled, f"{NVIDIA}{REASONS}it stays in P8\n", "training is slow\n"),
    (gpu_ecc_errors, "amdgpu 0000:63:00.0: amdgpu: MEM ECC is active.\n", "uncorrectable error in HBM\n"),
    (amdgpu_gpu_hang, "amdgpu: Freeing queue vital buffer 0x7f3a14000000, queue evicted\n", "the desktop hangs\n"),
    (nvidia_xid_fatal, XID.format(45), XID.format(79)),
    (nvidia_xid_fatal, XID.format(45) + XID.format(43), XID.format(119)),
    (mig_misconfigured, MIG, "RuntimeError: No CUDA GPUs are available\n"),
    (nvidia_driver_too_old, AT_WORK, "RuntimeError: CUDA error: out of memory\n"),
    (
        nouveau_loaded,
        f'{NVIDIA}(EE) Failed to load module "nouveau" (module does not exist, 0)\n',
        "RuntimeError: No CUDA GPUs are available\n",
    ),
    (
        large_bar_disabled,
        "\tMemory at 6000000000 (64-bit, prefetchable) [size=32G]\n",
        "pci 0000:0c:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space\n",
    ),
    (
        library_missing_gpu_arch,
        "nvidia-powerd: Found unsupported configuration. Exiting...\n$ pip list\nctranslate2 4.5.0\n",
        "RuntimeError: CUDA error: no kernel image is available for execution on the device\n",
    ),
    (
        rocm_path_broken,
        f"{RX.format('gfx90a')}$ /opt/rocm/bin/rocm_agent_enumerator\ngfx000\ngfx90a\n",
        "CMake Error: could not find hip\n",
    ),
    (amdsmi_mismatch, "\t2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported\n", "import amdsmi fails\n"),
    (gpudirect_rdma_missing, "$ ibv_devinfo\nNo IB devices found\n", ""),
    (hsa_override_misuse, OVERRIDE, "Memory access fault by GPU node-1\n"),
)


@pytest.mark.parametrize(("rule", "text", "fails"), UNHEARD)
def test_words_are_not_heard_until_something_fails(rule: ModuleType, text: str, fails: str) -> None:
    assert rule.unheard(of(text))
    assert not rule.unheard(of(fails or "it fails"))
    assert not fails or not rule.unheard(of(text + fails))


def test_an_x_server_without_nouveau_says_nothing_of_the_kernel() -> None:
    line = '(EE) Failed to load module "nouveau" (module does not exist, 0)\n'
    assert not nouveau_loaded.unheard(of(line))
    assert not nouveau_loaded.unheard(of(f"{NVIDIA}{line}Kernel driver in use: nouveau\nnouveau is loaded\n"))


def test_a_command_line_that_keeps_nouveau_out() -> None:
    boot = "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz-6.14 ro rhgb quiet rd.driver.blacklist=nouveau {}\n\n"
    assert nouveau_loaded.unheard(of(NVIDIA + boot.format("nvidia-drm.modeset=1")))
    assert not nouveau_loaded.unheard(of(SMI_L + boot.format("nvidia-drm.modeset=1")))
    assert not nouveau_loaded.unheard(of(NVIDIA + boot.format("").replace("blacklist=nouveau", "blacklist=nvidiafb")))


def test_small_windows_of_a_bridge_are_no_gpus_memory() -> None:
    for line in (
        "pci 0000:05:00.0: BAR 15: no space for [mem size 0x00200000 64bit pref]",
        "pci 0000:05:00.0: BAR 15: failed to assign [mem size 0x00200000 64bit pref]",
        "pcieport 0000:04:01.0: bridge window [mem size 0x00200000 64bit pref]: can't assign; no space",
    ):
        assert not keys(line) & {"bar-invalid", "amdgpu-bar-not-assigned"}, line
    for line in (
        "pci 0000:05:00.0: BAR 15: no space for [mem size 0x600000000 64bit pref]",
        "pci 0000:05:00.0: BAR 15: no space for [mem size 0x18000000 64bit pref]",
        "pci 0000:06:00.0: BAR 0: no space for [mem size 0x01000000]",
    ):
        assert keys(line) >= {"bar-invalid", "amdgpu-bar-not-assigned"}, line


def test_windows_of_io_ports_are_none_of_a_gpus() -> None:
    assert not keys(IO) & {"bar-invalid", "amdgpu-bar-not-assigned"}
    assert not keys("pci 0000:02:00.0: BAR 7: failed to assign [io  size 0x1000]") & {"amdgpu-bar-not-assigned"}
    memory = "pci 0000:0c:00.0: BAR 0 [mem size 0x400000000 64bit pref]: can't assign; no space"
    assert keys(memory) >= {"bar-invalid", "amdgpu-bar-not-assigned"}


@pytest.mark.parametrize("word", ["thunderbolt 0-1: new device found", "an RX 7600 as eGPU", "USB4 dock"])
def test_the_link_of_a_tunnel_is_a_remark(word: str) -> None:
    findings = [f for f in judge(of(f"{word}\n{TUNNEL}"), KB).findings if f.rule == "pcie-link-degraded"]
    assert [f.severity for f in findings] == [Severity.INFO]
    assert "pcie-link-degraded" not in raised(f"{word}\n{OF_BUS}")
    assert "pcie-link-degraded" in told(TUNNEL)
    assert "pcie-link-degraded" in told(f"{word}\n{TUNNEL.replace('x4 link', 'x1 link')}")


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("which of these lines matter?\n" + UNLISTED, "amdgpu-kernel-or-os-unsupported"),
        (
            "ROCm version: 6.2.4\n" + RX.format("gfx1101") + "SyntaxWarning: invalid escape\n",
            "amd-gpu-unsupported-by-rocm",
        ),
        (
            f"what does it want?\nROCm version: 6.4.1\n{RX.format('gfx1103')}"
            "amdsmi.AmdSmiLibraryException: Error code:\n\t2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature not supported\n",
            "amd-gpu-unsupported-by-rocm",
        ),
        (OVERRIDE + "the fan is loud\n", "hsa-override-misuse"),
        (
            "$ env\nNCCL_IB_DISABLE=1\nn1:3310:3402 [0] NCCL INFO Connected all rings\nit prints so much\n",
            "collective-flag-misconfigured",
        ),
    ],
)
def test_what_is_only_not_listed_stays_a_remark(text: str, rule: str) -> None:
    assert rule not in raised(text)
    assert rule in [f.rule for f in judge(of(text), KB).findings]


test_is_named = names(
    (
        (UNLISTED + "the program crashed with a segfault\n", "amdgpu-kernel-or-os-unsupported"),
        (UNLISTED + "Blender stops after a minute\n", "amdgpu-kernel-or-os-unsupported"),
        (OVERRIDE + "Hello, since today the model fails on this card, what can it be?\n", "hsa-override-misuse"),
        ("ROCm version: 6.2.4\n" + RX.format("gfx1101") + "Segmentation fault\n", "amd-gpu-unsupported-by-rocm"),
        (OVERRIDE + "Memory access fault by GPU node-1 on address 0x7f\n", "hsa-override-misuse"),
        ("$ env\nNCCL_IB_DISABLE=1\nall_reduce over two nodes is slow\n", "collective-flag-misconfigured"),
        (VFIO, "gpu-bound-to-other-driver"),
        (VFIO + MEANT + "RuntimeError: No CUDA GPUs are available\n", "gpu-bound-to-other-driver"),
        (STRIX.format(4194304) + SMALL, "apu-memory-pool-misconfigured"),
        (EXPORTER.format("nvidia/cuda:12.4.1-base-ubuntu22.04"), "container-missing-gpu-passthrough"),
        ("modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument", "gpudirect-rdma-missing"),
        ("nvidia-smi and the frameworks do not number the GPUs alike: ids don't match", "visible-devices-conflict"),
        ("Impossible to initialize nvidia nvml : Driver Not Loaded", "nvidia-driver-not-loaded"),
        ("BUG: kernel NULL pointer dereference, address: 0\nRIP: amdgpu_vm_init [amdgpu]", "amdgpu-driver-known-bad"),
        (AER.replace("Correctable", "Corrected") + NVME, "pcie-link-degraded"),
        (NVME + AER.replace("Correctable", "Corrected"), "pcie-link-degraded"),
    )
)

test_is_not_named = names_not(
    (
        (VFIO + MEANT, "gpu-bound-to-other-driver"),
        (VFIO + MEANT, "nouveau-loaded"),
        (STRIX.format(27648000) + SMALL, "apu-memory-pool-misconfigured"),
        (STRIX.format(27648000) + "[drm] amdgpu: 108000M of GTT memory ready.\n", "apu-memory-pool-misconfigured"),
        (EXPORTER.format("utkuozdemir/nvidia_gpu_exporter:1.2.0"), "container-missing-gpu-passthrough"),
        (
            "modprobe: ERROR: could not insert 'nvidia_peermem': Invalid argument\nNo IB devices found\n",
            "gpudirect-rdma-missing",
        ),
        ("NVIDIA-SMI 545.36 but Driver Version: 546.33, versions do not match", "visible-devices-conflict"),
        (
            f"{RX.format('gfx906')}Impossible to initialize nvidia nvml : Driver Not Loaded\nNo GPU to monitor.\n",
            "nvidia-driver-not-loaded",
        ),
        (
            "UBSAN: array-index-out-of-bounds in drivers/gpu/drm/amd/amdgpu/../pm/powerplay/hwmgr/smu7_hwmgr.c:3676:12",
            "amdgpu-driver-known-bad",
        ),
        (
            "amdsmi.AmdSmiLibraryException: Error code:\n\t2 | AMDSMI_STATUS_NOT_SUPPORTED - Feature\n",
            "amdsmi-mismatch",
        ),
        (NVME + SMI_L, "pcie-link-degraded"),
    )
)


@pytest.mark.parametrize(
    "line",
    [
        "nvidia-powerd: SBIOS limits not available, using default",
        'gpu-manager[811]: Skipping "/sys/bus/pci/devices/nvidia", driver not available',
        '(WW) NVIDIA(0): Option "NoLogo" is not used',
    ],
)
def test_services_that_miss_an_option_miss_no_gpu(line: str) -> None:
    assert "gpu-not-seen-said" not in keys(line)
    assert "gpu-not-seen-said" in keys("the GPU is not available in the container")


def test_the_device_plugin_waits_on_nodes_without_a_gpu() -> None:
    assert "no-devices-were-found" not in keys("I0912 main.go:346] No devices found. Waiting indefinitely.")
    assert "no-devices-were-found" in keys("No devices were found")


def test_a_slower_way_that_a_program_announces_is_no_complaint() -> None:
    line = "UserWarning: Failed to launch kernels; falling back to a slower implementation"
    assert not keys(line) & {"said-slow", "gpu-work-goes-wrong"}
    assert keys("the new release is slower") >= {"said-slow", "gpu-work-goes-wrong"}


def test_a_fault_of_both_names_of_a_family_says_so() -> None:
    text = "ROCm version: 6.4.3\n" + RX.format("gfx1200") + "torch gives wrong results, NaN\n"
    said = [f.summary for f in judge(of(text), KB).findings if f.rule == "known-bad-library-version"]
    assert any("gfx1200" in summary for summary in said)
