"""What AMD's software says where nothing is wrong, beside the same where something is."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

WSL = (
    "$ rocm-smi\nERROR:root:Driver not initialized (amdgpu not found in modules)\n"
    "$ rocminfo\n{banner}  Name:                    {name}\n  Uuid:                    GPU-5fe1f4dc8a3c2b11\n"
    "  Marketing Name:          AMD Radeon RX 7900 XTX\n"
)
NO_DRIVER = "$ lspci\n03:00.0 VGA compatible controller: AMD/ATI Navi 31 [Radeon RX 7900 XTX]\n$ rocm-smi\n"
NO_DRIVER += "ERROR:root:Driver not initialized (amdgpu not found in modules)\n"
NO_MODULE = "$ amd-smi list\nERROR:root:Unable to detect any GPU devices, check amdgpu version and module status\n"
LISTED_IN_WSL = (
    "$ rocminfo\nWSL environment detected.\n*******\nAgent 2\n*******\n  Name: gfx1100\n  Device Type: GPU\n"
)
SKIPPED = (
    'level=INFO source=amd_linux.go:296 msg="unsupported Radeon iGPU detected skipping" id=1 total="512.0 MiB"\n{next}'
)
TAKEN = 'level=INFO source=amd_linux.go:386 msg="amdgpu is supported" gpu=0 gpu_type=gfx1100\n'
NO_CARD = 'level=INFO source=amd_linux.go:392 msg="no compatible amdgpu devices detected"\n'
PASSES = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!\n'
BOOTED = "now /proc/cmdline holds BOOT_IMAGE=/vmlinuz-6.8 root=/dev/sda1 ro {mode}\n"
ASKED = "2x W7900, NCCL_DEBUG=WARN gives: "
FAULT = (
    "RX 7900 XTX\n__global__ void add(float* b, int n) { b[i] = 1; }\n"
    "Memory access fault by GPU node-1 on address 0x7f2b40001000. Reason: Page not present.\n"
    "amdgpu 0000:03:00.0: amdgpu: [gfxhub] page fault (src_id:0 ring:24 vmid:8 pasid:32770)\n"
)
ASTRAY = "Memory access fault by GPU node-4 (Agent handle: 0x2a) on address 0x7f1200000000. Reason: Page not present.\n"
NO_ATOMICS = "RX 6800\namdgpu 0000:07:00.0: amdgpu: PCIE atomic ops is not supported\n"
GTT = "gfx1151\n[drm] amdgpu: 131072M of GTT memory ready.\n"
SHAPE = "hipblaslt_gemm: Assertion failed: algo_arr.size() > 0. HIPBLASLT_STATUS_NOT_SUPPORTED m=50257\n"
FP8 = "torch._scaled_mm is only supported on CUDA devices with compute capability >= 9.0 or 8.9, or ROCm MI300+\n"
DEBUGGER = "warning: os_agent_id 60121: `AMD Radeon Graphics' architecture gfx1036 is not supported\n"
PROFILER = "ERROR Cannot find a supported arch in rocminfo: gfx1100\nSoC gfx1100 is not supported. Supported: gfx90a\n"
JAX = "MI210, jax 0.4\nWARNING: A ROCm-enabled jaxlib is not installed. Falling back to cpu.\n"

test_names = names(
    (
        (NO_DRIVER, "amdgpu-driver-not-loaded"),
        ("RX 7900 XTX, Ubuntu 24.04\n" + NO_MODULE, "amdgpu-driver-not-loaded"),
        (SKIPPED.format(next=NO_CARD), "library-missing-gpu-arch"),
        (ASKED + PASSES + "all_reduce hangs", "iommu-not-passthrough"),
        (ASKED + PASSES + BOOTED.format(mode="quiet") + "all_reduce hangs", "iommu-not-passthrough"),
        (ASKED + PASSES + "# CONFIG_IOMMU_DEFAULT_PASSTHROUGH is not set\nall_reduce hangs", "iommu-not-passthrough"),
        ("MI300X: NCCL_DEBUG is missing in the kernel of the notebook", "env-not-seen-by-service"),
        (
            "MI300X in a docker container, NCCL fails\nprocess_vm_readv: Operation not permitted",
            "container-security-profile",
        ),
        ("MI300X, we run in docker\nptrace: Operation not permitted.", "container-security-profile"),
        ("RX 6700 XT: with HSA_OVERRIDE_GFX_VERSION it crashes, unset it and all is well", "hsa-override-misuse"),
        ("RX 6700 XT crashes. HSA_OVERRIDE_GFX_VERSION unset: works", "hsa-override-misuse"),
        (JAX, "jax-plugin-mismatch"),
        (FAULT, "amdgpu-gpu-hang"),
        (f"MI300X\n{ASTRAY}vllm serve m --enforce-eager faults as well.", "amdgpu-gpu-hang"),
        (NO_ATOMICS, "pcie-atomics-missing"),
        (NO_ATOMICS + "kfd kfd: amdgpu: skipped device 1002:73bf, PCI rejects atomics", "pcie-atomics-missing"),
        (GTT + "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2 GiB", "apu-memory-pool-misconfigured"),
        ("RX 6800 XT gfx1030\n" + SHAPE, "hipblaslt-unsupported-arch"),
        ("ValueError: FP8 needs compute capability 8.9, the kernel does not start", "library-missing-gpu-arch"),
        ("RX 7900 XTX\nexport ROCM_PATH=/opt/rocm\n/opt/rocm/bin/hipcc: not found", "rocm-path-broken"),
        ("RX 7900 XTX\nRuntimeError: unsupported architecture gfx1100", "library-missing-gpu-arch"),
        ("RX 7900 XTX\nImportError: Triton not found; it is needed\nTraining fails.", "triton-mismatch"),
    )
)
test_names_not = names_not(
    (
        (WSL.format(banner="WSL environment detected.\n", name="gfx1100"), "amdgpu-driver-not-loaded"),
        ("On WSL2 Ubuntu 24.04\n" + NO_DRIVER, "amdgpu-driver-not-loaded"),
        (LISTED_IN_WSL + NO_MODULE, "amdgpu-driver-not-loaded"),
        (WSL.format(banner="", name="gfx1100"), "amdgpu-driver-not-loaded"),
        (NO_DRIVER + "torch 2.9.0+rocm6.4\nIs CUDA available: True\n", "amdgpu-driver-not-loaded"),
        (SKIPPED.format(next=TAKEN), "library-missing-gpu-arch"),
        (SKIPPED.format(next=TAKEN), "amd-gpu-unsupported-by-rocm"),
        (
            SKIPPED.format(next='msg="inference compute" id=0 library=cuda compute=8.6 name="RTX 3090"\n'),
            "amd-gpu-unsupported-by-rocm",
        ),
        (ASKED + PASSES + BOOTED.format(mode="iommu=pt"), "iommu-not-passthrough"),
        (ASKED + PASSES + "CONFIG_IOMMU_DEFAULT_PASSTHROUGH=y\n", "iommu-not-passthrough"),
        (ASKED + PASSES, "env-not-seen-by-service"),
        (
            "MI50: GGML_ASSERT(max_bias == 0.0f) failed\nptrace: Operation not permitted.\nNo stack.",
            "container-security-profile",
        ),
        ("8x MI300X, HSA_OVERRIDE_GFX_VERSION unset, 310 GB/s", "hsa-override-misuse"),
        (JAX + "After the plugin: jax.devices() [RocmDevice(id=0)]", "jax-plugin-mismatch"),
        ("RX 7900 XTX\ntriton not found; flop counting will not work for triton kernels", "triton-mismatch"),
        (
            "MI300X: Attempting to use hipBLASLt on an unsupported architecture! Overriding blas backend to hipblas\n"
            "The warning is harmless: training completes.",
            "hipblaslt-unsupported-arch",
        ),
        (
            "RX 7900 XTX, ComfyUI\npytorch version: 2.9.0+rocm6.4\nROCm version: (6, 4)\nIt runs; how do I save?",
            "toolkit-torch-mismatch",
        ),
        (NO_ATOMICS + "kfd kfd: amdgpu: added device 1002:73bf", "pcie-atomics-missing"),
        (GTT + "The desktop is slow.", "apu-memory-pool-misconfigured"),
        (f"$ rocminfo\n  Name:                    gfx942\n{SHAPE}", "hipblaslt-unsupported-arch"),
        ("RX 7900 XTX\n" + FP8, "library-missing-gpu-arch"),
        ("RX 7900 XTX\n" + PROFILER, "library-missing-gpu-arch"),
        ("RX 7900 XTX\n" + PROFILER, "amd-gpu-unsupported-by-rocm"),
        ("RX 7900 XTX\n" + DEBUGGER, "library-missing-gpu-arch"),
        ("RX 7900 XTX\n" + DEBUGGER, "amd-gpu-unsupported-by-rocm"),
        (
            "RX 6800\nraster.hip:22:10: fatal error: 'cub/cub.cuh' file not found\n"
            "error: command '/opt/rocm/bin/hipcc' failed with exit code 1",
            "rocm-path-broken",
        ),
        ("MI210\nMemory access fault by GPU node-1 on address 0x7f.\nWith if(i<n) it works.", "amdgpu-gpu-hang"),
        (f"MI300X\n{ASTRAY}With --enforce-eager it runs for days.", "amdgpu-gpu-hang"),
        (f"MI300X\n{ASTRAY}It is stable without CUDA graphs.", "amdgpu-gpu-hang"),
        ("MI300X\nHSA_STATUS_ERROR_EXCEPTION\neager mode works", "amdgpu-gpu-hang"),
    )
)
