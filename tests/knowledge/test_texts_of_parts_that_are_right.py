"""Notes of installers, tools and drivers that machines print on which all works; beside what fails they are heard."""

from __future__ import annotations

from types import ModuleType

import pytest

from doctor.diagnosis.judge import judge
from doctor.facts import Snapshot
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.rules.access import (
    container_render_group_mismatch,
    container_runtime_not_configured,
    device_node_permission,
    wsl_gpu_misconfigured,
)
from doctor.rules.driver import (
    amdgpu_firmware_bad,
    amdgpu_kernel_or_os_unsupported,
    nvidia_driver_library_mismatch,
    nvidia_kernel_incompatible,
)
from doctor.rules.flags import hsa_override_misuse
from doctor.rules.host import apu_memory_pool_misconfigured, gpu_throttled, mig_misconfigured, pcie_p2p_unusable
from doctor.rules.python import gpu_libs_conflict, rocm_path_broken
from tests.knowledge.texts import KB, keys, names, names_not, raised

AGENT = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n"
AGENT += "  Uuid:                    GPU-5fe1f4dc8a3c2b11\n"
AGENT += "  Vendor Name:             AMD\n  Device Type:             GPU\n"
SERVED = 'level=INFO msg="inference compute" id=0 library=rocm compute=gfx1030 name=1002:73bf total="16.0 GiB"\n'
BUILD = "$ docker build -t wheel .\nci runner: no GPU\n"
FOUND = "No ROCm runtime is found, using ROCM_HOME='/opt/rocm-6.3.0'\n"
LDCONFIG = "/sbin/ldconfig.real: /usr/lib/wsl/lib/libcuda.so.1 is not a symbolic link\n"
SMI_L = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 3080\n"
TWO = SMI_L + "GPU 1: NVIDIA GeForce RTX 3080\n"
UUID = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A4000 (UUID: GPU-2c7d1a90-0f3b-4a61-9d27-5b8e7f001122)\n"
JAX_INFO = "INFO:jax._src.xla_bridge:Unable to initialize backend 'cuda':\n"
IMEX = (
    'level=warning msg="{} locate /dev/nvidia-caps-imex-channels: pattern /dev/nvidia-caps-imex-channels not found"\n'
)
MODULE = "/lib/modules/6.8.0-51-generic/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko"
AMD_NAMED = "amdgpu on a Radeon RX 7900 XT\n"
MISSING_GROUPS = "WARNING: User is missing the following required groups: render. Please add user to these groups.\n"
NODES = (
    "$ ls -l /dev/kfd /dev/dri/renderD128\n"
    "{0}. 1 root render 235,   0 Jan  9 08:00 /dev/kfd\n{0}. 1 root render 226, 128 Jan  9 08:00 /dev/dri/renderD128\n"
)
WSL = "OS: Ubuntu 22.04.5 LTS on WSL2\n"
NO_KFD = "ls: cannot access '/dev/kfd': No such file or directory\n"
ULTRA = (
    "$ rocm-smi --showmeminfo vram gtt\n============================ ROCm System Management Interface ========\n"
    "GPU[0]\t\t: VRAM Total Memory (B): 536870912\nGPU[0]\t\t: GTT Total Memory (B): {}\n"
    "======== End of ROCm SMI Log ========\n"
)
APU = AGENT.format("gfx1151")
PLUGIN = (
    "E0101 factory.go:115] Incompatible platform detected\nI0101 main.go:346] No devices found. Waiting indefinitely.\n"
)
LSPCI = "$ lspci | grep VGA\n02:00.0 VGA compatible controller: {}\n"
SMI_Q = """$ nvidia-smi -q -d PERFORMANCE,POWER
==============NVSMI LOG==============
GPU 00000000:41:00.0
    Clocks Event Reasons
        SW Power Cap                      : Active
        HW Slowdown                       : {}
            HW Thermal Slowdown           : Not Active
    GPU Power Readings
        Power Draw                        : 248.10 W
        Current Power Limit               : 250.00 W
        Default Power Limit               : 250.00 W

it never gets above 1300 MHz in training
"""

test_fault_is_named = names(
    (
        (BUILD, "container-missing-gpu-passthrough"),
        (f"{BUILD}PYTORCH_ROCM_ARCH=gfx90a\ntorch.cuda.is_available() is False", "container-missing-gpu-passthrough"),
        ("No ROCm runtime is found, using ROCM_HOME='None'", "rocm-path-broken"),
        (f"{AMD_NAMED}WARNING: drivers/gpu/drm/amd/amdgpu/amdgpu_vm.c:1044", "amdgpu-driver-known-bad"),
        (f"{WSL}{LDCONFIG}", "wsl-gpu-misconfigured"),
        (f"{WSL}{LDCONFIG}{SMI_L}torch.cuda.is_available() is False", "wsl-gpu-misconfigured"),
        (f"{WSL}{NO_KFD}", "wsl-gpu-misconfigured"),
        (f"{WSL}{APU}{NO_KFD}RuntimeError: No HIP GPUs are available\n", "wsl-gpu-misconfigured"),
        (JAX_INFO, "jax-plugin-mismatch"),
        ("/dev/nvidia-caps-imex-channels not found\n", "nvidia-imex-not-running"),
        (MISSING_GROUPS, "device-node-permission"),
        (MISSING_GROUPS + NODES.format("crw-rw----"), "device-node-permission"),
        (PLUGIN, "container-runtime-not-configured"),
        (PLUGIN + LSPCI.format("NVIDIA Corporation GA100 [10de:20b0]"), "container-runtime-not-configured"),
    )
)

test_note_accuses_nothing = names_not(
    (
        (f"{BUILD}ENV PYTORCH_ROCM_ARCH=gfx90a;gfx942\n", "container-missing-gpu-passthrough"),
        (f"{BUILD}hipcc -c a.hip --offload-arch=gfx1100\n", "container-missing-gpu-passthrough"),
        (FOUND, "rocm-path-broken"),
        (f"{AMD_NAMED}filename:       {MODULE}.zst\n", "amdgpu-driver-known-bad"),
        (f"{WSL}{LDCONFIG}{SMI_L}", "wsl-gpu-misconfigured"),
        (f"{WSL}{APU}{NO_KFD}", "wsl-gpu-misconfigured"),
        (f"{JAX_INFO}[RocmDevice(id=0)]\n", "jax-plugin-mismatch"),
        (IMEX.format("Failed to"), "nvidia-imex-not-running"),
        (IMEX.format("Could not"), "nvidia-imex-not-running"),
        (MISSING_GROUPS + NODES.format("crw-rw-rw-"), "device-node-permission"),
        (f"{MISSING_GROUPS}torch.cuda.is_available() -> True\n", "device-node-permission"),
        (PLUGIN + LSPCI.format("ASPEED Technology, Inc. ASPEED Graphics Family"), "container-runtime-not-configured"),
    )
)


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


UNHEARD = (
    (
        amdgpu_firmware_bad,
        "amdgpu 0000:0b:00.0: amdgpu: RAS: optional ras ta ucode is not available\n"
        "amdgpu 0000:0b:00.0: amdgpu: PCIE atomic ops is not supported\n",
        "amdgpu 0000:0b:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=4, emitted seq=6\n",
    ),
    (
        amdgpu_kernel_or_os_unsupported,
        f"ROCm 6.4\n{AGENT.format('gfx1101')}dkms status prints nothing\n",
        "amdgpu-dkms fails to build for kernel 6.14\nRuntimeError: No HIP GPUs are available\n",
    ),
    (
        amdgpu_kernel_or_os_unsupported,
        "$ apt update\nN: Skipping acquire of configured file 'main/binary-i386/Packages' as repository "
        "'https://repo.radeon.com/amdgpu/6.4/ubuntu noble InRelease' doesn't support architecture 'i386'\n"
        "Building dependency tree... Done\n",
        "amdgpu-dkms fails to build for kernel 6.14\nRuntimeError: No HIP GPUs are available\n",
    ),
    (nvidia_kernel_incompatible, f"{UUID}  nvidia-dkms-570 nvidia-driver-570\n", "the desktop hangs since then\n"),
    (nvidia_kernel_incompatible, "$ lsmod\nnvidia               9732096  19 nvidia_uvm\n", "the desktop hangs\n"),
    (mig_misconfigured, "    nvidia.com/mig.capable=false\n", ""),
    (
        mig_misconfigured,
        "| NVIDIA-SMI 550.54.15              Driver Version: 550.54.15      CUDA Version: 12.4     |\n"
        "|   0  NVIDIA H100 80GB HBM3          On  |   00000000:0A:00.0 Off |                    0 |\n"
        "| N/A   40C    P0             110W /  700W |       4MiB /  81559MiB |      0%      Default |\n"
        "|                                         |                        |             Disabled |\n",
        "RuntimeError: CUDA error: invalid device ordinal\n",
    ),
    (hsa_override_misuse, SERVED, "with the override it crashes\n"),
    (
        container_render_group_mismatch,
        "$ docker run --device=/dev/kfd --device=/dev/dri --group-add 110 app:rocm\n",
        "Unable to open /dev/kfd read-write: Permission denied\n",
    ),
    (rocm_path_broken, FOUND, "the job fails at hipcc\n"),
    (rocm_path_broken, "ROCm version: 6.3.1\n$ env\nROCM_PATH=/opt/rocm\n\n", "CMake Error: could not find hip\n"),
    (
        gpu_libs_conflict,
        " -   LD_LIBRARY_PATH includes /usr/local/cuda-12.6/lib64, or, add /usr/local/cuda-12.6/lib64 to ld.so.conf\n",
        "ImportError: libcudart.so.11.0: cannot open shared object file\n",
    ),
    (
        nvidia_driver_library_mismatch,
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
        "$ modinfo nvidia\nfilename:       /lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko\n"
        "version:        550.90.07\n",
        "Failed to initialize NVML: Driver/library version mismatch\n",
    ),
    (
        pcie_p2p_unusable,
        f"{TWO}Peer to Peer access is not available amongst GPUs in the system, waiving test.\n",
        "all_reduce hangs\n",
    ),
)


@pytest.mark.parametrize(("rule", "text", "fails"), UNHEARD)
def test_words_are_not_heard_until_something_fails(rule: ModuleType, text: str, fails: str) -> None:
    assert rule.unheard(of(text))
    assert not fails or not rule.unheard(of(text + fails))


def test_other_versions_are_no_equal_ones() -> None:
    text = (
        "$ cat /proc/driver/nvidia/version\n"
        "NVRM version: NVIDIA UNIX x86_64 Kernel Module  550.90.07  Fri May 31 09:35:42 UTC 2024\n"
        "$ modinfo nvidia\nfilename:       /lib/modules/6.8.0-40-generic/updates/dkms/nvidia.ko\n"
        "version:        560.35.03\n"
    )
    assert not nvidia_driver_library_mismatch.unheard(of(text))


def test_peer_copies_are_heard_of_on_other_cards() -> None:
    said = "Peer to Peer access is not available amongst GPUs in the system\n"
    assert not pcie_p2p_unusable.unheard(of(TWO.replace("GeForce RTX 3080", "RTX 6000 Ada Generation") + said))
    assert not pcie_p2p_unusable.unheard(of(TWO))


def test_a_test_suites_rates_are_no_words_of_speed() -> None:
    line = "[RESULT] [ 4811.440021] [gpustress] gst GPU[1] 39217 GFLOPS 21880 target_stress: 60000 pass: FALSE"
    assert "speed-or-heat-told" not in keys(line)
    assert "speed-or-heat-told" in keys("it falls to 21880 GFLOPS after a minute")
    assert gpu_throttled.unheard(of(f"{line}\n71C, 289 W\n"))


def test_apt_builds_a_tree_and_no_extension() -> None:
    assert "build-command-failed" not in keys("Building dependency tree... Done")
    assert "build-command-failed" in keys("Building wheel for flash-attn (setup.py) ... error")


@pytest.mark.parametrize(("slowdown", "warned"), [("Not Active", False), ("Active", True)])
def test_a_gpu_that_draws_all_it_may_never_gets_to_its_highest_clock(slowdown: str, warned: bool) -> None:
    assert ("gpu-throttled" in raised(SMI_Q.format(slowdown))) is warned


@pytest.mark.parametrize(
    ("gtt", "said", "warned"),
    [
        (66567045120, "", False),
        (66567045120, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 4.00 GiB\n", True),
        (268435456, "", True),
    ],
)
def test_a_small_carve_out_beside_a_large_pool_is_what_amd_advises(gtt: int, said: str, warned: bool) -> None:
    text = f"{APU}{ULTRA.format(gtt)}torch.cuda.is_available(): True\nBIOS: UMA Frame Buffer Size 512M\n{said}"
    machine = of(text)
    assert machine.of_vendor("amd")[0].gtt_bytes == gtt
    found = list(apu_memory_pool_misconfigured.check(machine, KB, None))
    assert any(f.severity is Severity.WARNING for f in found) is warned
    assert not (warned and apu_memory_pool_misconfigured.unheard(machine))


def test_rules_that_facts_rule_out_are_not_suspected() -> None:
    text = f"{WSL}{APU}{NO_KFD}"
    assert wsl_gpu_misconfigured.excludes(of(text))
    assert not wsl_gpu_misconfigured.excludes(of(f"{text}RuntimeError: No HIP GPUs are available\n"))
    assert device_node_permission.excludes(of(NODES.format("crw-rw-rw-")))
    assert not device_node_permission.excludes(of(NODES.format("crw-rw----")))
    assert container_runtime_not_configured.excludes(of(PLUGIN + LSPCI.format("ASPEED Technology, Inc.")))
    assert not container_runtime_not_configured.excludes(of(PLUGIN))
    assert "wsl-gpu-misconfigured" not in {f.rule for f in judge(of(text), KB).findings}
