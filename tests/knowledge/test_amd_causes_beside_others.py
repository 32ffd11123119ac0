"""Causes of AMD's stack that stand beside a louder sign of another: which one a text names."""

# ruff: noqa: E501

from __future__ import annotations

from tests.knowledge.texts import names, names_not

DESKTOP = "amdgpu-dkms 6.16.13-2278356.24.04\nkernel: {}\n"
RING = "kernel: amdgpu 0000:03:00.0: amdgpu: ring comp_1.1.1 timeout, signaled seq=15, emitted seq=17\n"
PLUGIN = "INTERNAL: Failed to open /v/jax_plugins/xla_rocm7/xla_rocm_plugin.so: {}: cannot open shared object file: No such file or directory\nxla_bridge.py:487] Jax plugin configuration error: Exception when calling jax_plugins.xla_rocm7.initialize()\n"
ROAMING = "AssertionError: Torch not compiled with CUDA enabled\n"
DROP_IN = '/etc/systemd/system/ollama.service.d/{}:Environment="{}"\n'
UNKNOWN = 'level=WARN source=amd_linux.go:378 msg="amdgpu is not supported (supported types:[gfx1030 gfx1100])" gpu_type=gfx1032\n'
WSL = "kernel: 6.6.87.2-microsoft-standard-WSL2\n$ rocminfo | grep gfx\n  Name:                    gfx1101\n$ python3 -c 'import torch; print(torch.cuda.is_available())'\nFalse\n"

POD = "running inside a container: yes\nRuntimeError: No HIP GPUs are available\n$ ls -l /dev/kfd /dev/dri/renderD128\ncrw-rw---- 1 root {0} 242, 0 Apr 18 15:58 /dev/kfd\ncrw-rw---- 1 root {0} 226, 128 Apr 18 15:58 /dev/dri/renderD128\n"
RENDER = "container engine: podman\n$ podman run {}--device /dev/dri/renderD128 --group-add keep-groups video vainfo\namdgpu: amdgpu_bo_cpu_map failed. (-13)\n"
BNB = "Could not find the bitsandbytes ROCm binary at PosixPath('{}/bitsandbytes/libbitsandbytes_rocm{}.so')\nROCm version: {}\ntorch {}\n"
CONV = "Conv2d gives incorrect results on the GPU, the CPU is right\nGPU: AMD Instinct MI210\ntorch {}\n"

test_named = names(
    [
        (POD.format("109") + "the server runs as nobody\n", "container-render-group-mismatch"),
        (POD.format("109") + "securityContext: runAsUser: 1000\n", "container-render-group-mismatch"),
        (RENDER.format(""), "container-security-profile"),
        (BNB.format("/src", "62", "6.4", "2.7.0+rocm6.2.4"), "toolkit-torch-mismatch"),
        (CONV.format("2.0.1+rocm5.4.2"), "known-bad-library-version"),
        (DESKTOP.format("6.17.0-14-generic") + RING, "amdgpu-driver-known-bad"),
        (PLUGIN.format("libdw.so.1"), "system-library-missing"),
        (PLUGIN.format("librocm_smi64.so.6"), "jax-plugin-mismatch"),
        (
            ROAMING + r"sys.path has C:\Users\a\AppData\Roaming\Python\Python311\site-packages before D:\ui\venv\Lib",
            "python-user-site-leak",
        ),
        (
            ROAMING + r"torch.__file__ = C:\Users\a\AppData\Roaming\Python\Python312\site-packages\torch\__init__.py",
            "python-user-site-leak",
        ),
        (
            UNKNOWN + "$ ollama serve\n" + DROP_IN.format("gpu.conf", "HSA_OVERRIDE_GFX_VERSION=10.3.0"),
            "env-not-seen-by-service",
        ),
        (WSL + "torch 2.6.0+rocm6.3\n", "gpu-libs-conflict"),
    ]
)
test_not_named = names_not(
    [
        (POD.format("109"), "container-render-group-mismatch"),  # root, for all that is told
        (POD.format("109") + "runAsUser: 1000\nsupplementalGroups: [109]\n", "container-render-group-mismatch"),
        (POD.format("109"), "container-missing-gpu-passthrough"),  # its nodes are there
        (RENDER.format("--security-opt label=disable "), "container-security-profile"),
        (RENDER.format("").replace("-13", "-12"), "container-security-profile"),
        (BNB.format("/src", "62", "6.4", "2.7.0+rocm6.2.4"), "library-missing-gpu-arch"),
        (BNB.format("/v/lib/python3.12/site-packages", "62", "6.4", "2.7.0+rocm6.2.4"), "toolkit-torch-mismatch"),
        (BNB.format("/src", "64", "6.4", "2.7.0+rocm6.4"), "toolkit-torch-mismatch"),
        # There is no ROCm 8: bitsandbytes misread 7.12.
        (BNB.format("/src", "82", "7.12", "2.11.0+rocm7.12"), "extension-abi-mismatch"),
        (BNB.format("/src", "82", "7.12", "2.11.0+rocm7.12"), "library-missing-gpu-arch"),
        (CONV.format("2.1.0+rocm5.6"), "known-bad-library-version"),
        (CONV.format("2.0.1+rocm5.4.2").replace("MI210", "MI100"), "known-bad-library-version"),
        (DESKTOP.format("6.8.0-60-generic") + RING, "amdgpu-driver-known-bad"),
        (DESKTOP.format("6.17.0-14-generic"), "amdgpu-driver-known-bad"),  # nothing froze: a remark
        (PLUGIN.format("libdw.so.1"), "jax-plugin-mismatch"),
        (ROAMING + r"pip installed to C:\Users\a\AppData\Roaming\Python\Python311\Scripts", "python-user-site-leak"),
        # The service itself runs: its unit's variable is the one that it was given.
        (UNKNOWN + DROP_IN.format("gpu.conf", "HSA_OVERRIDE_GFX_VERSION=10.3.0"), "env-not-seen-by-service"),
        (UNKNOWN + "$ ollama serve\n" + DROP_IN.format("path.conf", "A_B=1"), "env-not-seen-by-service"),
        (WSL + "torch 2.6.0+rocm6.3\n", "wsl-gpu-misconfigured"),
        (WSL + "torch 2.11.0+rocm7.13\n", "gpu-libs-conflict"),  # its runtime reaches /dev/dxg itself
        (WSL.replace("-microsoft-standard-WSL2", "-generic") + "torch 2.6.0+rocm6.3\n", "gpu-libs-conflict"),
    ]
)
