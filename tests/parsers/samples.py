"""Small texts in the form of each tool's output, written by hand: what the mutations of the fuzz tests start from."""

# ruff: noqa: E501, W291
from __future__ import annotations

from tests.parsers.more_samples import MORE

SAMPLES: dict[str, str] = {
    "said_driver": """NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  555.42.02  Release Build
dkms status: nvidia/535.129.03, 6.2.0-39-generic, x86_64: installed
ii  amdgpu-dkms 1:6.16.13.30300400-2341068.24.04 all
ii  nvidia-driver-570-open 570.153.02-0ubuntu1
libcuda.so.1 -> libcuda.so.535.161.07
kernel version 525.105.17 does not match DSO version 525.125.6 -- cannot find working devices
MES feature version: 1, firmware version: 0x00000083
nvidia-fabricmanager-550  550.90.12-1
""",
    "interfaces_text": """1: lo: <LOOPBACK,UP,LOWER_UP> mtu 65536 qdisc noqueue state UNKNOWN group default
2: ens5@if7: <BROADCAST,MULTICAST,UP,LOWER_UP> mtu 9001 qdisc mq state UP group default
docker0   Link encap:Ethernet  HWaddr 02:42:a9:9e:3d:33
ib0: flags=4163<UP,BROADCAST,RUNNING,MULTICAST>  mtu 2044
ib1              UP             10.0.0.5/24
""",
    "said_host": """$ cat /proc/sys/kernel/numa_balancing
1
scaling_governor: powersave
iommu: Default domain type: Translated
mem_info_vis_vram_total 268435456
pci 0000:0b:00.0: 15.752 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x2 link at 0000:00:03.1 (capable of 252.048 Gb/s with 16.0 GT/s PCIe x16 link)
pcie.link.width.current 8, pcie.link.width.max 16
""",
    "install_output": """Requirement already satisfied: filelock in ./venv/lib/python3.13/site-packages (from torch) (3.18.0)
Successfully installed MarkupSafe-3.0.3 numpy-2.4.6 torch-2.10.0+rocm7.13.0 triton-3.6.0+rocm7.13.0
 - torch==2.5.1
 + torch==2.6.0+cu124 (from https://example.org/x)
Name: flash_attn
Version: 2.7.4.post1
""",
    "torch_prints": """>>> import torch; torch.__version__, torch.cuda.is_available()
('2.6.0+cu124', False)
>>> print(torch.version.cuda)
12.4
torch.cuda.get_device_name(0) -> 'NVIDIA H100 80GB HBM3'
>>> torch.cuda.get_arch_list()
['sm_75', 'sm_80', 'compute_90']
""",
    "torch_arch_list": """torch's arch list: ['sm_70', 'sm_75', 'sm_80']
the wheel was built for gfx1100
""",
    "said_cuda": """nvidia-smi: CUDA Version: 12.4
the driver supports CUDA 12.4 at most
""",
    "said_stack": """use on RTX5090, the version of torch is 2.0.1+cu118 (Ubuntu 22.04), driver 565.57.01
ROCm 7.2 with Radeon 780M gfx1103; flash-attn 2.7.4, but it works with torch 2.6.0
""",
    "nvidia_smi_excerpt": """    Persistence Mode                      : Disabled
    Clocks Event Reasons
        HW Slowdown                       : Active
            HW Thermal Slowdown           : Active
    PCI
        GPU Link Info
            Link Width
                Max                       : 16x
                Current                   : 4x
""",
    "kernel_log": """[    4.123456] amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!
[   12.000001] [drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx_0.0.0 timeout, signaled seq=10, emitted seq=12
<3>[ 99.5] NVRM: Xid (PCI:0000:3b:00): 79, pid=123, name=python, GPU has fallen off the bus.
Nov 20 10:11:12 node kernel: NVRM: API mismatch: the client has the version 550.54.14, but
Nov 20 10:11:12 node kernel: NVRM: this kernel module has the version 535.183.01.  Please make sure
[Tue Nov  3 10:11:12 2026] NVRM: loading NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build
6,1234,5678901,-;kfd kfd: amdgpu: skipped device 1002:73bf, PCI rejects atomics 730<0
[   13.2] pcieport 0000:00:01.1: AER: Uncorrected (Fatal) error received: 0000:c1:00.0
""",
    "nvidia_smi_table": """Thu Nov 20 10:00:00 2026
+-----------------------------------------------------------------------------------------+
| NVIDIA-SMI 550.54.14              Driver Version: 550.54.14      CUDA Version: 12.4     |
|-----------------------------------------+------------------------+----------------------+
| GPU  Name                 Persistence-M | Bus-Id          Disp.A | Volatile Uncorr. ECC |
| Fan  Temp   Perf          Pwr:Usage/Cap |           Memory-Usage | GPU-Util  Compute M. |
|                                         |                        |               MIG M. |
|=========================================+========================+======================|
|   0  NVIDIA H100 80GB HBM3          On  |   00000000:1B:00.0 Off |                    0 |
| N/A   33C    P0             70W /  700W |       1MiB /  81559MiB |      0%      Default |
|                                         |                        |             Disabled |
+-----------------------------------------+------------------------+----------------------+
""",
    "nvidia_smi_query": """==============NVSMI LOG==============

Timestamp                                 : Thu Nov 20 10:00:00 2026
Driver Version                            : 550.54.14
CUDA Version                              : 12.4

Attached GPUs                             : 1
GPU 00000000:1B:00.0
    Product Name                          : NVIDIA H100 80GB HBM3
    Product Architecture                  : Hopper
    MIG Mode
        Current                           : Disabled
    GPU UUID                              : GPU-11111111-2222-3333-4444-555555555555
    PCI
        Bus                               : 0x1B
        Device Id                         : 0x233010DE
        Bus Id                            : 00000000:1B:00.0
    FB Memory Usage
        Total                             : 81559 MiB
    Ecc Mode
        Current                           : Enabled
""",
    "nvidia_smi_xml": """<?xml version="1.0" ?>
<!DOCTYPE nvidia_smi_log SYSTEM "nvsmi_device_v12.dtd">
<nvidia_smi_log>
<driver_version>550.54.14</driver_version><cuda_version>12.4</cuda_version><attached_gpus>1</attached_gpus>
<gpu id="00000000:1B:00.0">
<product_name>NVIDIA H100 80GB HBM3</product_name><uuid>GPU-1</uuid>
<fb_memory_usage><total>81559 MiB</total><used>1 MiB</used></fb_memory_usage>
<pci><pci_bus_id>00000000:1B:00.0</pci_bus_id><pci_device_id>233010DE</pci_device_id></pci>
</gpu>
</nvidia_smi_log>
""",
    "nvidia_smi_list": """GPU 0: NVIDIA A100-SXM4-40GB (UUID: GPU-11111111-2222-3333-4444-555555555555)
  MIG 3g.20gb     Device  0: (UUID: MIG-11111111-2222-3333-4444-555555555555)
""",
    "nvidia_smi_topo": """\tGPU0\tGPU1\tNIC0\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID
GPU0\t X \tNV18\tPIX\t0-31\t0\tN/A
GPU1\tNV18\t X \tSYS\t32-63\t1\tN/A
NIC0\tPIX\tSYS\t X
""",
    "amd_smi_json": """[{"gpu": 0, "asic": {"market_name": "AMD Instinct MI300X", "vendor_id": "0x1002", "device_id": "0x74a1",
"target_graphics_version": "gfx942", "num_compute_units": 304}, "bus": {"bdf": "0000:c1:00.0"},
"vram": {"size": {"value": 196592, "unit": "MB"}}, "numa": {"node": 1},
"partition": {"compute_partition": "SPX", "memory_partition": "NPS1"}, "driver": {"version": "6.12.12"}}]
""",
    "amd_smi_text": """GPU: 0
    ASIC:
        MARKET_NAME: AMD Instinct MI300X
        VENDOR_ID: 0x1002
        DEVICE_ID: 0x74a1
        TARGET_GRAPHICS_VERSION: gfx942
    BUS:
        BDF: 0000:c1:00.0
    VRAM:
        SIZE: 196592 MB
    DRIVER:
        NAME: amdgpu
        VERSION: 6.12.12
""",
    "rocm_smi_json": """{"card0": {"Card Series": "AMD Instinct MI300X", "Card Model": "0x74a1", "GFX Version": "gfx942",
"PCI Bus": "0000:C1:00.0", "VRAM Total Memory (B)": "206141652992"}, "system": {"Driver version": "6.12.12"}}
""",
    "rocm_smi_table": """======================= ROCm System Management Interface =======================
GPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X
GPU[0]\t\t: Card Model: \t\t0x74a1
GPU[0]\t\t: PCI Bus: 0000:C1:00.0
GPU[0]\t\t: VRAM Total Memory (B): 206141652992
Driver version: 6.12.12
""",
    "rocminfo": """ROCk module version 6.12.12 is loaded
=====================
HSA System Attributes
=====================
Runtime Version:         1.14
==========
HSA Agents
==========
*******
Agent 1
*******
  Name:                    AMD EPYC 9654 96-Core Processor
  Device Type:             CPU
  Node:                    0
*******
Agent 2
*******
  Name:                    gfx942
  Uuid:                    GPU-0123456789abcdef
  Marketing Name:          AMD Instinct MI300X
  Device Type:             GPU
  Chip ID:                 29857(0x74a1)
  BDFID:                   49408
  Compute Unit:            304
  Pool Info:
    Pool 1
      Segment:                 GLOBAL; FLAGS: COARSE GRAINED
      Size:                    201310208(0xbffc000) KB
  ISA Info:
    ISA 1
      Name:                    amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-
""",
    "lspci": """c1:00.0 Processing accelerators [1200]: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]
\tSubsystem: Advanced Micro Devices, Inc. [AMD/ATI] Device [1002:74a1]
\tLnkSta:\tSpeed 32GT/s, Width x16
\tKernel driver in use: amdgpu
0000:3b:00.0 3D controller [0302]: NVIDIA Corporation GH100 [H100 SXM5 80GB] [10de:2330] (rev a1)
\tKernel driver in use: nvidia
""",
    "ls_dev": """crw-rw---- 1 root render 235, 0 Nov 20 10:00 /dev/kfd
/dev/dri:
total 0
crw-rw----+ 1 root video  226,   0 Nov 20 10:00 card0
crw-rw----+ 1 root render 226, 128 Nov 20 10:00 renderD128
ls: cannot access '/dev/nvidia0': No such file or directory
""",
    "lsmod": """Module                  Size  Used by
nvidia_uvm           4931584  0
nvidia              60620800  2 nvidia_uvm
amdgpu              19730432  6
""",
    "id": "uid=1000(ada) gid=1000(ada) groups=1000(ada),44(video),992(render)\n",
    "groups": "ada : ada adm video render\n",
    "uname": "Linux node 6.8.0-60-generic #63-Ubuntu SMP PREEMPT_DYNAMIC Tue Apr 15 19:04:15 UTC 2025 x86_64 GNU/Linux\n",
    "cmdline": "BOOT_IMAGE=/vmlinuz-6.8.0 root=UUID=1 ro quiet iommu=pt amd_iommu=on pci=realloc=off\n",
    "collect_env": """PyTorch version: 2.5.1+cu124
Is debug build: False
CUDA used to build PyTorch: 12.4
ROCM used to build PyTorch: N/A
OS: Ubuntu 22.04.5 LTS (x86_64)
Python version: 3.11.9 (main, Apr  6 2024, 17:59:24) [GCC 11.4.0] (64-bit runtime)
Python platform: Linux-6.8.0-60-generic-x86_64-with-glibc2.35
Is CUDA available: True
GPU models and configuration: 
GPU 0: NVIDIA H100 80GB HBM3
GPU 1: NVIDIA H100 80GB HBM3
Nvidia driver version: 550.54.14
[pip3] numpy==1.26.4
[pip3] torch==2.5.1
[conda] torch  2.5.1  pypi_0  pypi
""",
    "nvcc": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 12.4, V12.4.131\n",
    "conda_list": "# packages in environment at /opt/conda:\n#\n# Name  Version  Build  Channel\n"
    "pytorch  2.5.1  py3.11_cuda12.4_0  pytorch\nnumpy  1.26.4  py311  conda-forge\n",
    "pip_list": "Package            Version\n------------------ ---------\ntorch              2.5.1+rocm6.2\nnumpy==1.26.4\n",
    "docker_run": "docker run --rm -it --device=/dev/kfd --device /dev/dri --group-add video --ipc=host \\\n"
    "  --security-opt seccomp=unconfined -e 'HIP_VISIBLE_DEVICES=0,1' --shm-size 16G rocm/pytorch:latest bash -c \"x\"\n",
    "env": "export HSA_OVERRIDE_GFX_VERSION=\"10.3.0\"\nCUDA_VISIBLE_DEVICES='0,1' # two\nLD_LIBRARY_PATH=/opt/rocm/lib\n",
    "traceback": 'Traceback (most recent call last):\n  File "/usr/lib/python3.11/site-packages/torch/cuda/__init__.py", line'
    ' 319, in _lazy_init\n    torch._C._cuda_init()\nRuntimeError: Found no NVIDIA driver on your system.\n',
    "labelled": "- OS: Ubuntu 22.04\n- **GPU**: RX 7900 XTX\n- ROCm version: 6.2\n| Driver | 550.54.14 |\nPython 3.11.4\n",
    "os_release": 'PRETTY_NAME="Ubuntu 22.04.5 LTS"\nVERSION_ID="22.04"\nID=ubuntu\nID_LIKE=debian\n',
    "proc_version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build\nGCC version: 12.3.0\n",
    "proc_gpu": "Model: \t\t NVIDIA H100 80GB HBM3\nIRQ:   \t\t 45\nGPU UUID: \t GPU-11111111-2222-3333-4444-555555555555\n"
    "Bus Location: \t 0000:1b:00.0\nDevice Minor: \t 0\n",
    "proc_params": 'ResmanDebugLevel: 4294967295\nOpenRmEnableUnsupportedGpus: 1\nRegistryDwords: "x=1"\n',
    "proc_modules": "nvidia_uvm 4931584 0 - Live 0x0000000000000000 (POE)\namdgpu 19730432 6 - Live 0x0000000000000000\n",
    "mountinfo": "36 35 98:0 / /dev/shm rw,nosuid shared:5 - tmpfs shm rw,size=65536k\n"
    "22 1 0:21 / /proc rw - proc proc rw\n",
    "cgroup": "12:devices:/docker/0123456789abcdef0123456789abcdef\n0::/kubepods.slice/kubepods-burstable.slice/a.scope\n",
    "passwd": "root:x:0:0:root:/root:/bin/bash\nada:x:1000:1000:Ada,,,:/home/ada:/bin/zsh\n",
    "group": "root:x:0:\nvideo:x:44:ada\nrender:x:992:ada,grace\n",
    "properties": "simd_count 1216\nlocal_mem_size 0\ngfx_target_version 90402\nlocation_id 49408\ndomain 0\n",
    "uevent": "DRIVER=amdgpu\nPCI_CLASS=120000\nPCI_ID=1002:74A1\nPCI_SUBSYS_ID=1002:74A1\nPCI_SLOT_NAME=0000:c1:00.0\n",
    "resource": "0x0000380000000000 0x0000383fffffffff 0x000000000014220c\n0x0 0x0 0x0\n",
    "torch_version": "from typing import Optional\n__all__ = ['__version__']\n__version__ = '2.5.1+rocm6.2'\ndebug = False\n"
    "cuda: Optional[str] = None\nhip: Optional[str] = '6.2.41133'\n",
    "issue": "### What happened\n> it says\n```shell\n$ nvidia-smi\nNo devices were found\n```\n<details><summary>dmesg</summary>\n\n"
    "~~~\nNVRM: GPU 0000:01:00.0: RmInitAdapter failed! (0x26:0x56:1474)\n~~~\n</details>\nRuntimeError: CUDA error: "
    "no kernel image is available for execution on the device\n",
}  # fmt: skip
SAMPLES |= MORE
