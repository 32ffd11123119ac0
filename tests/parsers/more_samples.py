"""Small texts of further formats, written by hand: joined to those of samples.py."""

# ruff: noqa: E501
from __future__ import annotations

MORE: dict[str, str] = {
    "windows_paths": r"""(venv) PS E:\apps\webui> python launch.py
  File "C:\Users\me\venv\Lib\site-packages\torch\cuda\__init__.py", line 289
""",
    "nccl_topology": """<system version="2">
  <cpu numaid="1" affinity="ff" arch="x86_64" vendor="AuthenticAMD" familyid="175" modelid="144">
    <pci busid="0000:82:00.0" class="0x120000" vendor="0x1002" device="0x74a1" link_speed="32.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="304" gcn="gfx942" rank="0" gdr="1">
        <xgmi target="0000:c2:00.0" count="1" tclass="0x120000"/>
      </gpu>
    </pci>
    <pci busid="0000:81:00.0" class="0x020000"><nic><net name="mlx5_0" dev="0" speed="400000" port="1" guid="0x1"/></nic></pci>
  </cpu>
</system>
""",
    "hwloc_xml": """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE topology SYSTEM "hwloc2.dtd">
<topology version="2.0">
  <object type="Machine"><info name="OSRelease" value="5.14.0-1.x86_64"/><info name="Architecture" value="x86_64"/>
    <object type="Package"><info name="CPUModel" value="AMD EPYC 7A53"/></object>
    <object type="PCIDev" pci_busid="0000:d1:00.0" pci_type="0380 [1002:7408] [1002:0b0c] 00" pci_link_speed="31.5">
      <object type="OSDev" name="rsmi4" osdev_type="1"><info name="GPUModel" value="AMD MI250X"/>
        <info name="AMDUUID" value="e850aef0615db971"/><info name="RSMIVRAMSize" value="67092480"/></object>
      <object type="OSDev" name="renderD128" osdev_type="1"/>
    </object>
    <object type="PCIDev" pci_busid="0000:21:00.0" pci_type="0207 [15b3:101b] [15b3:0001] 00">
      <object type="OSDev" name="mlx5_0" osdev_type="3"><info name="Port1State" value="4"/></object></object>
  </object>
</topology>
""",
    "udev_export": """P: /devices/pci0000:00/0000:c4:00.0
E: SUBSYSTEM=pci
E: DRIVER=amdgpu
E: PCI_CLASS=30000
E: PCI_ID=1002:15BF
E: PCI_SUBSYS_ID=103C:8C10
E: PCI_SLOT_NAME=0000:c4:00.0

P: /devices/pci0000:00/0000:c4:00.0/drm/renderD128
E: DEVPATH=/devices/pci0000:00/0000:c4:00.0/drm/renderD128
E: SUBSYSTEM=drm
E: DEVNAME=/dev/dri/renderD128
E: MAJOR=226
E: MINOR=128

P: /devices/pci0000:20/0000:21:00.0/infiniband/mlx5_0
E: DEVPATH=/devices/pci0000:20/0000:21:00.0/infiniband/mlx5_0
E: SUBSYSTEM=infiniband
""",
    "device_query": """Device 0: "NVIDIA L40S"
  CUDA Driver Version / Runtime Version          12.4 / 12.4
  CUDA Capability Major/Minor version number:    8.9
  Total amount of global memory:                 45589 MBytes (47803596800 bytes)
  Device has ECC support:                        Enabled
  Device PCI Domain ID / Bus ID / location ID:   0 / 161 / 0
  Compute Mode:
     < Default (multiple host threads can use ::cudaSetDevice() with device simultaneously) >
[GPU 0] AMD Instinct MI300X
[GPU 0] gfx942:sramecc+:xnack-: AMD GCN Arch Name
[GPU 0] 304: Number of multi-processors(Compute Units: CUs)
[GPU 0] 196592: Total Global Memory (MB)
[GPU 0] 38: PCI Bus ID
[GPU 0] 0: PCI Device ID
[GPU 0] 0: PCI Domain ID
""",
    "nvidia_smi_csv": """index, name, driver_version, pci.bus_id, compute_cap, memory.total [MiB], ecc.mode.current, power.draw [W]
0, NVIDIA L40S, 595.80, 00000000:01:00.0, 8.9, 46068 MiB, Enabled, 144.97 W
1, NVIDIA L40S, 595.80, 00000000:02:00.0, 8.9, 46068 MiB, [N/A], [Unknown Error]
""",
    "cpu_text": """Architecture:             x86_64
CPU(s):                   64
  Model name:             AMD EPYC 9374F 32-Core Processor
    Thread(s) per core:   1
Hypervisor vendor:        KVM
processor\t: 0
model name\t: Intel(R) Xeon(R) Platinum 8480+
bogomips\t: 4000.00
""",
    "amdgpu_top_json": """[{"DeviceID": 30096, "DeviceName": "AMD Radeon RX 9060 XT", "DevicePath":
{"card": "/dev/dri/card0", "pci": "0000:03:00.0", "render": "/dev/dri/renderD128"}, "GPU Type": "dGPU", "PCI": "0000:03:00.0",
"PCIe Link": {"max_gpu_link": {"gen": 5, "width": 16}}, "Total Compute Unit": 32, "VRAM Size": 17095983104,
"gfx_target_version": "gfx1200"}]
""",
    "rocprof_sysinfo": """workload_name,command,cpu_model,linux_distro,linux_kernel_version,rocm_version,vbios,compute_partition,memory_partition,gpu_arch,cu_per_gpu,num_xcd
vcopy,sample/vcopy -n 1,"AMD EPYC 9354",Ubuntu 22.04.5 LTS,5.15.0-70-generic,7.0.0,113-M3000100-103,SPX,NPS1,gfx942,304,8
""",
    "rdma_text": """hca_id: mlx5_0
\tfw_ver:\t\t\t\t28.41.1000
\t\tport:\t1
\t\t\tstate:\t\t\tPORT_ACTIVE (4)
\t\t\tlink_layer:\t\tEthernet
CA 'mlx5_1'
\tFirmware version: 28.41.1000
\tPort 1:
\t\tState: Active
\t\tPhysical state: LinkUp
\t\tRate: 400
""",
    "rdma_link": """[{"ifindex": 0, "ifname": "ionic_0", "state": "ACTIVE", "physical_state": "LINK_UP"}]
""",
    "fabric_log": """[Feb 27 2025 15:00:00] [INFO] [tid 1] Fabric Manager version 570.86.15 is running
[Feb 27 2025 15:10:02] [ERROR] [tid 12727] detected NVSwitch non-fatal error 12028 on fid 0 on NVSwitch pci bus id 00000000:86:00.0 physical id 3 port 61
""",
    "cdi_text": """{"cdiVersion": "0.5.0", "kind": "nvidia.com/gpu", "devices": [{"name": "all", "containerEdits": {"deviceNodes":
[{"path": "/dev/nvidia0"}]}}], "containerEdits": {"mounts": [{"hostPath": "/usr/lib/libcuda.so.575.57.08", "containerPath": "/x"}]}}
""",
    "container_inspect": """[{"Id": "ab12", "State": {"Pid": 77}, "Config": {"Image": "rocm/pytorch:latest", "Env": ["HIP_VISIBLE_DEVICES=0"]},
"HostConfig": {"Devices": [{"PathOnHost": "/dev/kfd"}], "ShmSize": 67108864, "IpcMode": "private", "Runtime": "runc"}}]
""",
    "amd_smi_tables": """LINK TYPE TABLE:
             0000:0c:00.0 0000:22:00.0
0000:0c:00.0 SELF         XGMI
0000:22:00.0 XGMI         SELF

GPU  POWER  GPU_TEMP  MEM_TEMP  GFX_UTIL  VRAM_USED  VRAM_TOTAL
  0  199 W    103 °C     84 °C      99 %    1235 MB    16335 MB

GPU_ID  MEMORY  ACCELERATOR_TYPE  ACCELERATOR_PROFILE_INDEX  PARTITION_ID
0       NPS1    SPX               0                          0
""",
    "nccl_log": """n1:10:10 [0] NCCL INFO cudaDriverVersion 12040
n1:10:10 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.
n1:10:10 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/RoCE ; OOB eth0:10.0.0.1<0>
n1:10:10 [0] NCCL INFO comm 0x5 rank 0 nranks 8 cudaDev 0 nvmlDev 0 busId 1b000 commId 0x6 - Init START
RCCL version : 2.22.3-HEAD:d2a3a2b
ROCm version : 6.4.0.0-47-b98bc
#  Rank  0 Group  0 Pid   2012 on         n1 device  0 [0000:1b:00] NVIDIA H100 80GB HBM3
""",
    "rocm_text": """HIP version: 7.12.60610-2bd1678d3d
ROCM_PATH          :/opt/rocm
InstalledDir: /opt/rocm/core-7.12/lib/llvm/bin
Device ID 0 : AMD Instinct MI210 gfx90a:sramecc+:xnack-
MIOpen(HIP): Info [get_device_name] Raw device name: gfx942:sramecc+:xnack-
""",
    "rocm_agent_enumerator": """gfx000
gfx942
gfx942
""",
    "modinfo": """filename:       /lib/modules/6.8.0-45-generic/updates/dkms/nvidia.ko.zst
version:        575.57.08
license:        Dual MIT/GPL
filename:       /lib/modules/6.8.0-45-generic/kernel/drivers/gpu/drm/amd/amdgpu/amdgpu.ko.zst
""",
    "framework_env": """- `transformers` version: 4.45.0
- Platform: Linux-5.15.0-122-generic-x86_64-with-glibc2.35
- Python version: 3.10.12
- PyTorch version (GPU?): 2.4.1+cu121 (True)
- GPU type: NVIDIA A100-SXM4-80GB
torch version .................... 2.4.0+cu121
torch cuda version ............... 12.1
shared memory (/dev/shm) size .... 64.00 GB
xFormers 0.0.28.post1
pytorch.cuda:                                      available
gpu.compute_capability:                            8.6
gpu.name:                                          NVIDIA GeForce RTX 3090
""",
    "sglang_env": """Python: 3.10.12 (main, Nov  6 2024, 20:22:13) [GCC 11.4.0]
CUDA available: True
GPU 0,1: NVIDIA H100 80GB HBM3
GPU 0,1 Compute Capability: 9.0
CUDA_HOME: /usr/local/cuda
CUDA Driver Version: 550.54.15
PyTorch: 2.5.1+cu124
sglang: 0.4.1.post3
ulimit soft: 1048576
""",
    "kubectl_describe": """System Info:
  Kernel Version:             6.8.0-45-generic
  OS Image:                   Ubuntu 22.04.5 LTS
  Architecture:               amd64
  Container Runtime Version:  containerd://1.7.22
Containers:
  a:
    Container ID:   containerd://ab
    Image:          rocm/pytorch:latest
    Limits:
      amd.com/gpu:  2
""",
    "own_report": """{"schema": "doctor.report/1", "snapshot": {"gpus": [{"key": "0000:c1:00.0", "arch": "gfx942"}],
"origins": {
"gpus[0000:c1:00.0].arch": {"state": "value", "source": "file:x"},
"nvidia_driver.version": {"state": "denied", "source": "file:y"}
}}}
""",
    "dockerfile": """FROM --platform=linux/amd64 rocm/pytorch:latest AS base
# comment
ENV HSA_ENABLE_SDMA=0 \\
    C_D="2 3"
FROM base
RUN pip install x
ENV OLD value
CMD ["bash"]
""",
    "bug_report": """____________________________________________

*** /proc/driver/nvidia/version
*** ls: -r--r--r-- 1 root root 0 2026-09-16 10:00:00.000000000 +0000 /proc/driver/nvidia/version
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  560.35.03  Release Build
____________________________________________

/usr/bin/nvidia-smi --query
===== Section: ROCm Version         ===============
6.2.4-139
""",
    "firmware": """MEC feature version: 33, firmware version: 0x00000160
NAME="Ubuntu"
VERSION_ID="22.04"
PRETTY_NAME="Ubuntu 22.04.5 LTS"
""",
}
