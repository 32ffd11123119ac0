"""A GPU that is hidden or left out on purpose, variables that are shown as unset: no fault of the stack."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

_TRIED = "E xla/cuda_driver.cc:266] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
_CARD = "$ nvidia-smi -L\nGPU 0: NVIDIA RTX A4000\n"
_JOB = "$ env\nSLURM_JOB_ID=44\nSLURM_JOB_PARTITION={}\nCUDA_VISIBLE_DEVICES=NoDevFiles\n"
_RUN = "$ docker run --rm -it {} python /w/fit.py\n"
_STUB = "I cudart_stub.cc:32] Could not find cuda drivers on your machine, GPU will not be used.\n"
_POD = (
    "apiVersion: v1\nkind: Pod\nspec:\n  runtimeClassName: nvidia\n  containers:\n  - name: t\n"
    "    image: nvcr.io/nvidia/pytorch:25.08-py3\n{}\n$ kubectl exec t -- env\nNVIDIA_VISIBLE_DEVICES=void\n"
)
_ASKED = "    resources:\n      limits:\n        nvidia.com/gpu: 1\n"

test_no_cause = names_not(
    [
        (f"{_TRIED}ValueError: bad shape\n{_CARD}$ env\nCUDA_VISIBLE_DEVICES=-1\n", "visible-devices-conflict"),
        (f"{_TRIED}ValueError: bad shape\n{_CARD}$ env\nCUDA_VISIBLE_DEVICES=-1\n", "nvidia-driver-not-loaded"),
        (f"OS: Ubuntu on WSL2\n{_TRIED}{_CARD}$ env\nCUDA_VISIBLE_DEVICES=-1\n", "wsl-gpu-misconfigured"),
        (f"FileExistsError: [Errno 17] File exists: 'a'\n{_JOB.format('cpu')}", "scheduler-no-gpu-allocated"),
        (f"{_STUB}{_CARD}{_RUN.format('tensorflow/tensorflow:2.17.0')}", "container-missing-gpu-passthrough"),
        (
            f"WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n{_CARD}"
            + _RUN.format("nvcr.io/nvidia/tritonserver:24.05-py3-sdk"),
            "container-missing-gpu-passthrough",
        ),
        (f"{_CARD}RuntimeError: bad shape\nROCM_HOME: None\n", "rocm-path-broken"),
        (f"{_CARD}RuntimeError: bad shape\nROCR_VISIBLE_DEVICES: unset\n", "visible-devices-conflict"),
        (f"RuntimeError: bad shape\n{_POD.format(_ASKED)}", "container-missing-gpu-passthrough"),
        (f"RuntimeError: bad shape\n{_POD.format(_ASKED)}", "visible-devices-conflict"),
        (
            f"{_CARD}$ pip list\ntorch 2.8.0+cu128\nxformers 0.0.31+8fc8ec5a.d20250901\n",
            "extension-abi-mismatch",
        ),
    ]
)

test_cause = names(
    [
        (
            f"RuntimeError: No CUDA GPUs are available\n{_CARD}$ env\nCUDA_VISIBLE_DEVICES=-1\n",
            "visible-devices-conflict",
        ),
        (f"TensorFlow finds no GPU.\n{_TRIED}{_CARD}$ env\nCUDA_VISIBLE_DEVICES=-1\n", "visible-devices-conflict"),
        (f"RuntimeError: No CUDA GPUs are available\n{_JOB.format('cpu')}", "scheduler-no-gpu-allocated"),
        (f"FileExistsError: [Errno 17] File exists: 'a'\n{_JOB.format('a100')}", "scheduler-no-gpu-allocated"),
        (f"{_STUB}{_CARD}{_RUN.format('tensorflow/tensorflow:2.17.0-gpu')}", "container-missing-gpu-passthrough"),
        ("RuntimeError: bad\nPlease unset ROCR_VISIBLE_DEVICES: both are set\n", "visible-devices-conflict"),
        (f"{_CARD}$ pip list\ntorch 2.8.0+cu128\nxformers 0.0.31\n", "extension-abi-mismatch"),
    ]
)
