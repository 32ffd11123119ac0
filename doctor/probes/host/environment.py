"""The environment variables that steer the GPU stack: of the account that asks; network interfaces where one of
them names some. No command, no root.

A variable whose name says that it holds a secret is never read into a fact. An empty dict means that none is set.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import mountinfo
from doctor.parsers.lib.printable import clean
from doctor.system.base import System

READS: tuple[str, ...] = (
    "environment secret-bearing",
    "dir:sys/class/net name",
    "account name",
    "file:proc/self/mountinfo name",
    "stat:* of the variables name",
)

_PREFIXES = (
    "ACCELERATE_", "AITER_", "AMD_", "AMDGPU_", "AOTRITON_", "APPTAINER", "BITSANDBYTES_", "BNB_", "CK_",
    "CUBLAS", "CUDA_", "CUDNN_", "CUPY_", "DEBUG_CLR_", "DEBUG_HIP_", "DS_", "FI_", "FLASH_ATTENTION_",
    "FLASHINFER_", "GGML_", "GLOO_", "GPU_", "HCC_", "HF_HUB_OFFLINE", "HIP_", "HIPBLASLT_", "HIPCC_", "HSA_",
    "HSAKMT_", "IBV_", "JAX_", "KMP_", "MIOPEN_", "MKL_", "MIG_", "NCCL_", "NUMEXPR_", "NV_", "NVIDIA_",
    "NVSHMEM_", "NVTE_", "OLLAMA_", "OMP_", "OMPI_", "OPENBLAS_", "OPAL_", "ORT_", "PAL_", "PYTORCH_",
    "RAY_EXPERIMENTAL_", "RCCL_", "ROCBLAS_", "ROCM_", "ROCPROF", "ROCR_", "ROCSHMEM_", "SGLANG_", "SINGULARITY",
    "TENSILE_", "TE_", "TF_", "TORCH_", "TORCHINDUCTOR_", "TORCHDYNAMO_", "TORCHELASTIC_", "TRITON_",
    "TUNABLE_OP_", "UCC_", "UCX_", "VLLM_", "XFORMERS_", "XLA_",
)  # fmt: skip
_EXACT = frozenset({
    "CONDA_PREFIX", "LD_LIBRARY_PATH", "LD_PRELOAD", "PATH", "PYTHONPATH", "PYTHONNOUSERSITE", "PYTHONHOME",
    "VIRTUAL_ENV", "SLURM_JOB_ID", "SLURM_JOB_GPUS", "SLURM_STEP_GPUS", "SLURM_GPUS_ON_NODE", "SLURM_LOCALID",
    "LOCAL_RANK", "RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_PORT", "KUBERNETES_SERVICE_HOST",
    "TOKENIZERS_PARALLELISM", "CUDNN_LOGDEST_DBG", "CUDNN_LOGINFO_DBG",
})  # fmt: skip
_OPENED = frozenset({
    "AITER_ASM_DIR", "CC", "CUDA_HOME", "CUDA_PATH", "CUDNN_PATH", "CUTLASS_PATH", "CXX", "HIP_CLANG_PATH",
    "HIP_DEVICE_LIB_PATH", "KINETO_CONFIG", "MIOPEN_SYSTEM_DB_PATH", "NCCL_CONF_FILE", "NCCL_GRAPH_FILE",
    "NCCL_TOPO_FILE", "NVSHMEM_CUDA_PATH", "PYTORCH_NVCC", "TRITON_LIBCUDA_PATH", "TRITON_LIBDEVICE_PATH",
    "TRITON_LIBHIP_PATH", "TRITON_PTXAS_BLACKWELL_PATH", "TRITON_PTXAS_PATH", "VLLM_NCCL_SO_PATH",
})  # fmt: skip
"""Paths of what has to be there already."""
_CREATED = frozenset({
    "AITER_JIT_DIR", "HF_HOME", "HF_HUB_CACHE", "HOME", "MIOPEN_CUSTOM_CACHE_DIR", "MIOPEN_USER_DB_PATH",
    "TORCHINDUCTOR_CACHE_DIR", "TORCH_EXTENSIONS_DIR", "TORCH_HOME", "TRITON_CACHE_DIR", "TRITON_HOME",
    "VLLM_CACHE_ROOT",
})  # fmt: skip
"""Folders that a program of the stack writes to. Without others it is HOME (Triton, MIOpen, Hugging Face)."""
_SECRET = re.compile(
    r"(?:^|_)(?:TOKEN|API_?KEYS?|KEYS?|AUTH|PASS|PAT|CREDS?|COOKIE)(?:_|$)|SECRET|PASSWORD|PASSWD|CREDENTIAL|APIKEY"
)
_NAME = re.compile(r"^[A-Z][A-Z0-9_]{0,127}$")
OF_THE_SHELL = frozenset({"VIRTUAL_ENV", "VIRTUAL_ENV_PROMPT", "PS1", "_", "SHLVL", "PWD", "OLDPWD"})
_VALUE = 8192
_MOST = 2000


def probe(system: System, sheet: FactSheet) -> None:
    reading = system.environ()
    if not reading.known or reading.value is None:
        reading.into(sheet, "environment")
        return
    chosen = {name: clean(value, _VALUE) for name, value in sorted(reading.value.items()) if wanted(name)}
    sheet.put("environment", dict(list(chosen.items())[:_MOST]), reading.source)
    sheet.put("dead_paths", dict(_dead_paths(system, reading.value)), reading.source)
    if any(name.endswith("_SOCKET_IFNAME") for name in chosen):
        there = system.list_dir("sys/class/net")
        if there.known and there.value is not None:
            sheet.put("host.interfaces", tuple(clean(name, 64) for name in there.value[:256]), there.source)


def _dead_paths(system: System, environ: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for name in sorted(environ.keys() & (_OPENED | _CREATED)):
        value = clean(environ[name].strip(), 1000)
        if name in ("CC", "CXX"):
            value = value.partition(" ")[0]
            folders = environ.get("PATH", "").split(":") if "/" not in value else ("",)
            if value and all(system.stat(f"{folder}/{value}".strip("/")).is_absent for folder in folders):
                yield name, f"names {value}, which is not there"
        elif name == "HOME" and environ.keys() & {"TRITON_CACHE_DIR", "TRITON_HOME"}:
            continue
        elif value.startswith("/") and (why := _dead(system, value.strip("/"), name in _CREATED)):
            yield name, why


def _dead(system: System, path: str, created: bool) -> str | None:
    """`created`: a program makes the folder where it is not there."""
    found = system.stat(path)
    if not created:
        return f"points to /{path}, which is not there" if found.is_absent else None
    named = path
    while found.is_absent and path:
        path = path.rpartition("/")[0]
        found = system.stat(path)
    if found.value and found.value.kind != "dir":
        return f"points to /{named}, and /{path} is not a folder"
    uid = (system.account().value or {}).get("uid")
    if found.value is None or uid is None:
        return None
    mounts = system.read_text("proc/self/mountinfo").then(mountinfo.read).value or ()
    mount = mountinfo.holding(mounts, f"/{system.real(path).value or path}")
    if mount and (mount.read_only or mount.fstype in ("sysfs", "proc")):
        return f"points to /{named}, on a read-only file system"
    here = found.value
    bit = 0o200 if here.uid == uid else 0o022  # an access list lets others in by the bits of the group
    why = (
        f"where this account (uid {uid}) cannot write" if path == named else f"which uid {uid} cannot create in /{path}"
    )
    return None if uid == 0 or here.mode & bit else f"points to /{named}, {why}"


def probe_rest(system: System, sheet: FactSheet) -> None:
    """The other variables, but for those that are any shell's own: for comparing two live sides. What may hold a secret
    is hidden."""
    from doctor.redaction.tally import MASK

    held = system.environ().value or {}
    for name in sorted(held)[:_MOST]:
        if not (wanted(name) or name in OF_THE_SHELL or "]" in name):
            value = MASK if _SECRET.search(name.upper()) else clean(held[name], _VALUE)
            sheet.put(f"environment[{name}]", value, f"environment:{name}")


def wanted(name: str) -> bool:
    """Whether a variable belongs to the GPU stack and does not look like a secret.

    >>> [wanted(n) for n in ("HIP_VISIBLE_DEVICES", "VLLM_API_KEY", "HOME", "NCCL_DEBUG")]
    [True, False, False, True]
    """
    if not _NAME.match(name) or _SECRET.search(name):
        return False
    return name in _EXACT or name.startswith(_PREFIXES)
