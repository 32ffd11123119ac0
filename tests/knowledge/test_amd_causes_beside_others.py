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

test_named = names(
    [
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
