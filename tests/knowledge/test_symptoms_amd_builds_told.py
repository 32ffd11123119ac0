"""What is told of builds for AMD's GPUs: bundles with a run time of their own, CUDA builds, plain accounts of pods."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, names, names_not, told

CARD = "GPUs:\nGPU 0: AMD Radeon RX 7900 GRE\n"
GFX = "$ rocminfo\n*******\nAgent 2\n*******\n  Name:                    gfx1101\n  Marketing Name:          AMD Radeon RX 7800 XT\n  Vendor Name:             AMD\n  Device Type:             GPU\n"
CRASH = "Error output:\nserver: Segmentation fault (core dumped)\n"
BLIND = "Error output:\ntorch.cuda.is_available() -> False\n"
ROCM_TORCH = "$ pip list\nPackage    Version\n---------- -------\ntorch 2.7.1+rocm6.3\n"
HELPED = "with LD_LIBRARY_PATH=/opt/rocm/lib it works\n"
QUEUE = "Callback: Queue 0x7f31c4600000 aborting with error : HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources. Code: 0x1008 Available Free mem : {} MB"
ACCOUNT = f"{BLIND}{CARD}Container:\ncontainer engine: kubernetes\n"

test_named = names(
    [
        (f"{CRASH}{CARD}the release brings its own libamdhip64.so.6\n{HELPED}", "gpu-libs-conflict"),
        (f"{CRASH}{CARD}the app bundles its own ROCm run time\n{HELPED}", "gpu-libs-conflict"),
        (f"{CRASH}{CARD}the archive has its own libhsa-runtime64.so.1\n{HELPED}", "gpu-libs-conflict"),
        (f"{CRASH}{CARD}removing the bundled libhsa-runtime64 fixes it\n", "gpu-libs-conflict"),
        (f"{CRASH}{CARD}it starts after deleting the bundled HIP libraries\n", "gpu-libs-conflict"),
        (f"{CRASH}{CARD}works with the system's ROCm\n", "gpu-libs-conflict"),
        (f"Error output:\n{QUEUE.format(0)}\n{GFX}", "gpu-memory-exhausted"),
        (f"Error output:\n{QUEUE.format(412)}\n{GFX}", "gpu-memory-exhausted"),
        (
            f"Error output:\nImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n{GFX}{ROCM_TORCH}",
            "torch-built-for-other-vendor",
        ),
        (
            f"Error output:\nOSError: libcudart.so.12: cannot open shared object file: No such file or directory\n{GFX}{ROCM_TORCH}",
            "torch-built-for-other-vendor",
        ),
        (
            f"Error output:\n./bench: error while loading shared libraries: libcublas.so.12: cannot open shared object file: No such file or directory\n{GFX}{ROCM_TORCH}",
            "torch-built-for-other-vendor",
        ),
        (f"{ACCOUNT}securityContext: runAsUser: 1000\n", "device-node-permission"),
        (f'{ACCOUNT}"runAsNonRoot": true\n', "device-node-permission"),
        (
            f"Error output:\nNo HIP GPUs are available\n{CARD}docker run --device=/dev/kfd --device=/dev/dri --user 1001 app\n",
            "device-node-permission",
        ),
        (f"Error output:\nthe card is slow: never more than 150 W of 315 W\n{CARD}", "gpu-throttled"),
        (f"Error output:\npower is capped at 90 W instead of 230 W\n{CARD}", "gpu-throttled"),
        (f"Error output:\nthe GPU tops out at 140W out of 300W\n{CARD}", "gpu-throttled"),
        (f"Error output:\nclocks stay low\n{CARD}a newer amdgpu driver fixes it\n", "amdgpu-driver-known-bad"),
        (
            f"Error output:\nclocks stay low\n{CARD}the previous amdgpu-dkms works on the same machine\n",
            "amdgpu-driver-known-bad",
        ),
        (f"{CRASH}{CARD}the nightly of June 3 works\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}the build of 2026-05-02 is fine\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}images of 12 May worked\n", "known-bad-library-version"),
        (
            f"Error output:\nJax plugin configuration error: Exception when calling jax_plugins.xla_rocm7.initialize()\nlibrccl.so.1: cannot open shared object file: No such file or directory\n{CARD}",
            "gpu-libs-not-found",
        ),
    ]
)

test_near = names_not(
    [
        (f"Error output:\nslow\n{CARD}the wheel brings its own ROCm run time\n", "gpu-libs-conflict"),
        (f"Error output:\nslow\n{CARD}it works with the system ROCm libraries too\n", "gpu-libs-conflict"),
        (f"Error output:\n{QUEUE.format(9120)}\n{GFX}", "gpu-memory-exhausted"),
        (f"Error output:\n{QUEUE.format(0)}\n{GFX}", "device-node-permission"),
        (
            f"Error output:\nlaunch failed: HSA_STATUS_ERROR_OUT_OF_RESOURCES freezing the executable\n{GFX}",
            "device-node-permission",
        ),
        (
            f"Error output:\nWARNING: Failed to import from vllm._C with ImportError('libcuda.so.1: cannot open shared object file')\n{GFX}{ROCM_TORCH}",
            "torch-built-for-other-vendor",
        ),
        (
            "Error output:\nImportError: libcuda.so.1: cannot open shared object file: No such file or directory\n$ nvidia-smi -L\nGPU 0: Tesla T4\n",
            "torch-built-for-other-vendor",
        ),
        (f"{ACCOUNT}securityContext: runAsUser: 0\n", "device-node-permission"),
        (f"{ACCOUNT}runAsUser: 1000, supplementalGroups: [44, 109]\n", "device-node-permission"),
        (f"Error output:\nthe GPU draws 60 W of 300 W while the model is loaded\n{CARD}", "gpu-throttled"),
        (
            f"Error output:\nclocks stay low\n{CARD}a newer amdgpu driver fails with the same error\n",
            "amdgpu-driver-known-bad",
        ),
        (f"Error output:\nslow\n{CARD}the nightly of June 3 works\n", "known-bad-library-version"),
    ]
)


@pytest.mark.parametrize(
    "line",
    [
        "hsa api call failure at: rocminfo.cc:1102 Call returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed",
        "hsa_init() failed with HSA_STATUS_ERROR_OUT_OF_RESOURCES",
    ],
)
def test_a_start_that_the_run_time_refuses_is_not_its_work(line: str) -> None:
    assert keys(line) >= {"hsa-init-out-of-resources"}
    assert "hsa-out-of-resources-at-work" not in keys(line)
    assert told(f"Error output:\n{line}\n{CARD}")[0] == "device-node-permission"
