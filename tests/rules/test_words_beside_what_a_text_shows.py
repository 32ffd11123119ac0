"""What the words of a text may not accuse, since a setting, a log or a program in it shows that it is not so."""

from __future__ import annotations

import types

import pytest

from doctor.intake import read_text
from doctor.rules.access import container_missing_gpu_passthrough as passed
from doctor.rules.access import container_shm_too_small as shm
from doctor.rules.blas import tunableop_misconfigured as tunableop
from doctor.rules.driver import amd_gpu_unsupported_by_rocm as unsupported
from doctor.rules.driver import amdgpu_driver_not_loaded as not_loaded
from doctor.rules.driver import amdgpu_rocm_version_skew as skew
from doctor.rules.flags import collective_flag_misconfigured as collective
from doctor.rules.flags import env_flag_wrong_for_gpu as flag
from doctor.rules.flags import visible_devices_conflict as visible
from doctor.rules.host import integrated_gpu_conflict as integrated
from doctor.rules.host import iommu_not_passthrough as iommu
from doctor.rules.python import companion_kernel_lib_outdated as kernels
from doctor.rules.python import host_compiler_unsupported as compiler
from doctor.rules.python import library_missing_gpu_arch as library
from doctor.rules.python import onnxruntime_gpu_mismatch as onnx
from doctor.rules.python import rocm_path_broken as rocm_path

AGENT = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    {}\n  Device Type:             GPU\n"
MI100 = "ggml_cuda_init: found 1 ROCm devices:\n  Device 0: AMD Instinct MI100, gfx908:sramecc+:xnack- (0x908)\n"
TOOLS = "CUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.4.43484\nGCC version: (GCC) 15.2.1\n"
LAUNCH = "[2024-06-03 07:30:14,872] [INFO] [launch.py:138:main] 0 NCCL_P2P_DISABLE=1\n"
TUNED = "$ env\nPYTORCH_TUNABLEOP_ENABLED={}\nPYTORCH_TUNABLEOP_TUNING={}\n"
MIGRAPHX = "[W:onnxruntime:Default, migraphx_execution_provider.cc"
IN_DOCKER = "container engine: docker\nimage: rocm/pytorch:latest\n"
CASES: list[tuple[types.ModuleType, str, bool]] = [
    (tunableop, TUNED.format(0, 1), True),
    (tunableop, TUNED.format(1, 0), True),
    (tunableop, TUNED.format(1, 1), False),
    (kernels, f"{AGENT.format('gfx942')}$ env\nSGLANG_USE_AITER=0\nthe benchmark stops\n", True),
    (kernels, f"{AGENT.format('gfx942')}$ env\nSGLANG_USE_AITER=1\nthe benchmark stops\n", False),
    (kernels, "TypeError: AiterFlashAttentionImpl.__init__() got an unexpected keyword argument 'x'\n", True),
    (kernels, "$ env\nSGLANG_USE_AITER=0\nImportError: cannot import name 'topk' from 'sgl_kernel'\n", False),
    (compiler, TOOLS, True),
    (compiler, f"{TOOLS}compiling the extension stops\n", False),
    (onnx, "Exception: /code/AMDMIGraphX/src/onnx/onnx_parser.cpp:438: parse_graph: Unknown operator: Conv9\n", True),
    (onnx, "Exception during initialization: unknown error of the provider\n", False),
    (onnx, f"{MIGRAPHX}:1295 compile_program] Model Compile: Begin\n", True),
    (onnx, f"{MIGRAPHX}:218 MIGraphX] [MIGraphX EP] no such device\n", False),
    (integrated, MI100.replace("Instinct MI100", "Radeon RX 6800 XT").replace("gfx908", "gfx1030"), True),
    (integrated, "ggml_cuda_init: found 2 ROCm devices:\n  Device 0: AMD Radeon RX 6800 XT, gfx1030 (0x1030)\n", False),
    (rocm_path, "$ hipcc --version\nHIP version: 6.3.42134-a9a80e791\nAMD clang version 18.0.0git\n", True),
    (rocm_path, "HIP version: not found\n", False),
    (passed, f"{IN_DOCKER}training hangs with the engine, without it it runs\n", True),
    (passed, f"{IN_DOCKER}training hangs\n", False),
    (passed, f"{IN_DOCKER}it hangs, on the host it works; no GPU is detected in the container\n", False),
    (not_loaded, 'level=INFO msg="amdgpu is supported" gpu=GPU-8f1c gpu_type=gfx1100\n', True),
    (not_loaded, 'level=WARN msg="amdgpu version file missing"\n', False),
    (iommu, "iommu: Default domain type: Passthrough (set via kernel command line)\n", True),
    (iommu, "iommu: Default domain type: Translated\n", False),
    (iommu, "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 ro iommu=pt\n", True),
    (iommu, "$ cat /proc/cmdline\nBOOT_IMAGE=/vmlinuz root=/dev/sda1 ro\n", False),
    (skew, "ROCm version: 6.4.1\namdgpu driver: 6.10.5\n", True),
    (skew, "ROCm version: 6.4.1\n", False),
    (library, f"{MI100}cmake -B build -DGGML_HIP=ON -DAMDGPU_TARGETS=gfx908\n", True),
    (library, f"{MI100}cmake -B build -DGGML_HIP=ON -DAMDGPU_TARGETS=gfx90a\n", False),
    (unsupported, f"ROCm version: 6.4.0\n{AGENT.format('gfx1100')}HIPSPARSE_STATUS_NOT_SUPPORTED\n", True),
    (unsupported, f"ROCm version: 6.4.0\n{AGENT.format('gfx1103')}HIPSPARSE_STATUS_NOT_SUPPORTED\n", False),
    (visible, f"{AGENT.format('gfx942')}$ env\nROCR_VISIBLE_DEVICES=0\nthe mapping overlaps\n", True),
    (visible, f"{AGENT.format('gfx942')}$ env\nROCR_VISIBLE_DEVICES=0\nhipErrorNoDevice\nno GPU is detected\n", False),
    (flag, f"{AGENT.format('gfx908')}$ env\nHSA_ENABLE_SDMA=1\n", True),
    (flag, f"{AGENT.format('gfx908')}$ env\nHSA_ENABLE_SDMA=0\ncopies are slow\n", False),
    (shm, "RuntimeError: DataLoader worker (pid 48211) is killed by signal: Segmentation fault.\n", True),
    (shm, "RuntimeError: DataLoader worker (pid 48211) is killed by signal: Bus error.\n", False),
    (collective, f"{LAUNCH}AssertionError: ZeRO-2 is incompatible\n", True),
    (collective, f"{LAUNCH}the ranks hang\n", False),
]


@pytest.mark.parametrize(("rule", "text", "silent"), CASES)
def test_words(rule: types.ModuleType, text: str, silent: bool) -> None:
    assert rule.unheard(read_text([text.encode()])) is silent
