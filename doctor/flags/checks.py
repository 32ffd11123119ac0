"""Conditions that are more than a comparison: `check NAME WORDS` of doctor/flags/conditions.py.

Each takes a Situation and the words after its name, and answers True, False or None for unknown.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from doctor.flags import architectures, grammars
from doctor.flags.names import grammar_of
from doctor.flags.situation import Situation, release

Answer = bool | None
_ALLOC = ("PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")


def run(name: str, situation: Situation) -> Answer:
    return _CHECKS[name](situation)


def variables(name: str, situation: Situation) -> Iterator[str]:
    """The set variables that a check is about, the one to blame first."""
    yield from (n for n in _ABOUT.get(name, ()) if n in situation.env)


def _list(situation: Situation, name: str) -> tuple[str, ...]:
    reading = grammars.read(grammar_of(name), situation.env.get(name, ""))
    return reading.value if reading and isinstance(reading.value, tuple) else ()


def _numbers(situation: Situation, name: str) -> list[int]:
    return [int(t) for t in _list(situation, name) if t.isdigit()]


def _hip_outside(s: Situation) -> Answer:
    numbers = _numbers(s, "HIP_VISIBLE_DEVICES")
    return bool(numbers) and max(numbers) >= len(_list(s, "ROCR_VISIBLE_DEVICES"))


def _hip_longer(s: Situation) -> Answer:
    return len(_list(s, "HIP_VISIBLE_DEVICES")) > len(_list(s, "ROCR_VISIBLE_DEVICES"))


def _cuda_outside(s: Situation) -> Answer:
    numbers = _numbers(s, "CUDA_VISIBLE_DEVICES")
    if not numbers:
        return False
    return max(numbers) >= s.count if s.count else None


def _rocm_path_stale(s: Situation) -> Answer:
    named = re.search(r"rocm-(\d{1,2}\.\d{1,2})", s.env.get("ROCM_PATH", ""))
    at_hand = release(s.version("rocm"))[:2]
    if not named or (s.machine.rocm and not any(i.path == s.env["ROCM_PATH"] for i in s.machine.rocm)):
        return False  # a folder without ROCm is rocm-path-broken's
    return release(named[1]) != at_hand if at_hand else None


def _without_amd_runtime(s: Situation) -> Answer:
    args = s.machine.container.run_args
    return None if args is None else not any(a in ("--runtime=amd", "amd") for a in args)


def _alloc_conflict(s: Situation) -> Answer:
    held = [s.env[n] for n in _ALLOC if n in s.env]
    return len(set(held)) > 1


def _nodes(s: Situation) -> Answer:
    found = next((s.env[n] for n in ("SLURM_JOB_NUM_NODES", "SLURM_NNODES", "NNODES") if n in s.env), "")
    return int(found) > 32 if re.fullmatch(r"\d{1,6}", found) else None


def _rdma(s: Situation) -> Answer:
    return bool(s.machine.rdma) if s.machine.rdma is not None else None


def _cloud_rdma(s: Situation) -> Answer:
    if s.machine.rdma is None:
        return None
    return bool(s.machine.rdma) and s.machine.host.cloud is not None


def _ionic(s: Situation) -> Answer:
    return any(d.key.startswith("ionic") for d in s.machine.rdma) if s.machine.rdma is not None else None


def _hca_prefix(s: Situation) -> Answer:
    if s.machine.rdma is None:
        return None
    there = [d.key for d in s.machine.rdma]
    return any(n in there and any(k != n and k.startswith(n) for k in there) for n in _adapters(s))


def _hca_missing(s: Situation) -> Answer:
    """No adapter of this machine begins with a name of the list; a list after ^ leaves out and needs none."""
    if not s.machine.rdma or s.env.get("NCCL_IB_HCA", "").startswith("^"):
        return None
    return not any(d.key.startswith(n) for n in _adapters(s) for d in s.machine.rdma)


def _adapters(s: Situation) -> list[str]:
    names = (n.split(":")[0].strip() for n in s.env.get("NCCL_IB_HCA", "").lstrip("^=").split(","))
    return [name for name in names if name]


def _interface_missing(s: Situation) -> Answer:
    """No interface begins with a name of the list, as NCCL's prefixes do; `=` asks for whole names."""
    there = s.machine.host.interfaces
    text = s.env.get("NCCL_SOCKET_IFNAME", "")
    if there is None:
        return None
    if text.startswith("^"):
        return False
    exact = text.startswith("=")
    names = [n.split(":")[0] for n in text.lstrip("=").split(",") if n]
    return not any(i == n if exact else i.startswith(n) for n in names for i in there)


def _sockets(s: Situation) -> Answer:
    threads, each = (grammars.c_integer(s.env.get(n, "1"))[0] or 0 for n in _ABOUT["sockets-product"])
    return threads * each > 64


_ATTENTION = ("flash", "fused", "unfused")


def _megatron_attention(s: Situation) -> Answer:
    """Megatron asserts that each NVTE switch that is set says what its --attention-backend says; auto wants all on."""
    chosen = next((kind for kind in (*_ATTENTION, "auto") if s.context(f"attention_{kind}")), None)
    wanted = {f"NVTE_{k.upper()}_ATTN": str(int(chosen in (k, "auto"))) for k in _ATTENTION}
    return None if chosen is None else any(s.env.get(name, value) != value for name, value in wanted.items())


def _mixed_or_old(s: Situation) -> Answer:
    found = {int(a[3:-1]) for a in s.archs or () if re.fullmatch(r"sm_\d{2,3}", a)}
    return (len(found) > 1 or min(found) < 7) if found else None


def _two_nccl(s: Situation) -> Answer:
    if s.machine.packages is None:
        return None
    return len({p.name for p in s.machine.packages if p.name.startswith("nvidia-nccl-cu")}) > 1


def _user_site(s: Situation) -> Answer:
    """Packages in the home directory, which Python prefers to those of an image."""
    if s.machine.packages is None:
        return None
    return any("/.local/lib/python" in (p.location or "") for p in s.machine.packages)


def _cores(s: Situation) -> int | None:
    """Logical processors, as KFD's topology counts them on AMD's machines."""
    held = [n.cpu_cores for n in s.machine.kfd.nodes or ()]
    return sum(n or 0 for n in held) or None


def _ranks_here(s: Situation) -> int | None:
    found = next((s.env[n] for n in ("LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE") if n in s.env), "")
    return int(found) if re.fullmatch(r"\d{1,4}", found) else None


def _omp_product(s: Situation) -> Answer:
    threads, cores, ranks = s.env.get("OMP_NUM_THREADS", ""), _cores(s), _ranks_here(s)
    if not re.fullmatch(r"\d{1,5}", threads) or cores is None:
        return None
    return int(threads) * (ranks or 1) > cores


def _compile_product(s: Situation) -> Answer:
    """torch starts min(32, cores) compile processes a rank."""
    cores, ranks = _cores(s), _ranks_here(s)
    return None if cores is None or ranks is None else ranks > 1 and min(32, cores) * ranks > cores


def _pcie_only(s: Situation) -> Answer:
    peers = [n.xgmi_peers for n in s.machine.kfd.nodes or () if n.simd_count]
    return not any(peers) if len(peers) > 1 and all(p is not None for p in peers) else None


def _stale_results(s: Situation) -> Answer:
    """torch takes a file only where each of its validators is its own."""
    from doctor.flags import tunable

    made = s.machine.torch.tunableop_validators
    if not made:
        return None
    known = (s.version(c) for c in ("torch", "rocm", "hipblaslt", "rocblas"))
    return True if any(True for _ in tunable.stale(made, s)) else False if any(known) or s.archs else None


def _cray(s: Situation) -> Answer:
    return any(n in s.env for n in ("MPICH_DIR", "CRAY_MPICH_VERSION", "CRAY_MPICH_DIR"))


_CHECKS: dict[str, Callable[[Situation], Answer]] = {
    "hip-index-outside-rocr": _hip_outside,
    "hip-longer-than-rocr": _hip_longer,
    "cuda-index-outside": _cuda_outside,
    "override-cross-major": architectures.cross_major,
    "override-of-native": architectures.native,
    "several-gfx": architectures.several_gfx,
    "rocm-arch-missing": architectures.rocm_arch_missing,
    "cuda-arch-missing": architectures.cuda_arch_missing,
    "rocm-path-stale": _rocm_path_stale,
    "run-args-without-amd-runtime": _without_amd_runtime,
    "alloc-names-conflict": _alloc_conflict,
    "megatron-attention-contradicted": _megatron_attention,
    "many-nodes": _nodes,
    "rdma-present": _rdma,
    "cloud-with-rdma": _cloud_rdma,
    "ionic-present": _ionic,
    "hca-missing": _hca_missing,
    "hca-prefix": _hca_prefix,
    "interface-missing": _interface_missing,
    "sockets-product": _sockets,
    "mixed-or-old-cc": _mixed_or_old,
    "two-nccl-wheels": _two_nccl,
    "user-site-packages": _user_site,
    "omp-product": _omp_product,
    "compile-product": _compile_product,
    "pcie-only": _pcie_only,
    "tunable-results-stale": _stale_results,
    "cray-mpich": _cray,
}
_ABOUT = {
    "hip-index-outside-rocr": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "hip-longer-than-rocr": ("HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"),
    "sockets-product": ("NCCL_SOCKET_NTHREADS", "NCCL_NSOCKS_PERTHREAD"),
    "alloc-names-conflict": _ALLOC,
    "megatron-attention-contradicted": ("NVTE_FLASH_ATTN", "NVTE_FUSED_ATTN", "NVTE_UNFUSED_ATTN"),
}
