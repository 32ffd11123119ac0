"""Commands that start a job -> what kind of job it is: torchrun, deepspeed, accelerate, vLLM, SGLang, Megatron, Slurm.

The text may be a script, a Dockerfile, a manifest or a command line: it is read as one stream of words, so that options
of a command are found wherever they stand. What an option does not say, or says by a variable, stays unknown.

>>> sorted(contexts("torchrun --nproc_per_node=8 train.py"))
['ranks', 'torchrun', 'training']
>>> sorted(contexts("args: [vllm, serve, m, --tensor-parallel-size, '4']"))
['ranks', 'serving']
>>> contexts("torchrun --nproc_per_node=$N train.py").get("ranks") is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterator

_LONGEST = 200_000
_SERVERS = r"(?:vllm serve|vllm\.entrypoints\.\S{1,60}|sglang\.launch_server|sglang serve|text-generation-launcher)"
_MEGATRON = r"(?:pretrain_\w{1,40}\.py|--tensor-model-parallel-size|--pipeline-model-parallel-size)"
_TORCHRUN = r"(?:torchrun|torch\.distributed\.(?:run|launch))"
_DEEPSPEED = r"deepspeed (?:[^ ]{1,80} ){0,12}?[^ ]{0,200}\.py "
_TRAINERS = rf"(?:{_TORCHRUN}|{_DEEPSPEED}|accelerate launch|{_MEGATRON})"

_SEEN: tuple[tuple[str, str], ...] = (
    ("torchrun", _TORCHRUN),
    ("training", _TRAINERS),
    ("serving", _SERVERS),
    ("deepspeed_launcher", _DEEPSPEED),
    ("ray", r"ray (?:start|job submit)|--distributed-executor-backend[ =]ray"),
    ("apptainer", r"(?:apptainer|singularity) (?:exec|run|shell)"),
    (
        "fsdp",
        r"--use_fsdp|--use-(?:torch-fsdp2|megatron-fsdp|custom-fsdp)|--fsdp[ =][\"']?(?:full_shard|shard_grad_op)",
    ),
    ("ep_overlap", r"--overlap-moe-expert-parallel-comm"),
    ("deterministic", r"--deterministic-mode"),
    *((f"attention_{kind}", rf"--attention-backend[ =]{kind} ") for kind in ("flash", "fused", "unfused", "auto")),
    ("sglang_deterministic", r"--enable-deterministic-inference"),
    ("nccl_ub", r"--use-nccl-ub"),
    ("cuda_graphs", r"--enable-cuda-graph|--cuda-graph-impl[ =](?!none)"),
    ("moe", r"--num-experts[ =]\d"),
    ("mxfp8", r"--fp8-recipe[ =]mxfp8"),
    ("cpu_offload", r"--cpu-offloading(?![-\w])"),
    ("dp_overlap", r"--overlap-grad-reduce"),
    ("memory_saver", r"--enable-memory-saver"),
    ("vllm_kv_connector", r"--kv-transfer-config"),
    ("numa_bound", r"numactl .{0,80}?(?:--cpunodebind|-N \d|--membind)|--(?:map|bind)-(?:by|to)[ =]numa"),
    ("build", r"(?:pip3?|uv pip) install|pip3? wheel|setup\.py (?:install|bdist_wheel|develop)|cmake --build"),
)
"""Kind of job → what in the words shows it."""

_NUMBERS: tuple[tuple[str, str], ...] = (
    ("ranks", r"--nproc[-_]per[-_]node"),
    ("ranks", r"--num[-_]gpus|--num[-_]processes"),
    ("ranks", r"--tensor-parallel-size|-tp|--tp-size|--tp|--data-parallel-size|-dp|--dp-size"),
    ("ranks", r"--ntasks-per-node|--ntasks|-n"),
    ("multi_node", r"--nnodes|--num[-_]nodes|--num[-_]machines|--nodes"),
    ("megatron_tp", r"--tensor-model-parallel-size|--context-parallel-size"),
)
"""Kind of job → options whose number above 1 shows it; a number of 1 shows only that this option does not."""

_ONLY_OF = {"-n": r"(?:srun|mpirun|mpiexec|#SBATCH)", "-tp": _SERVERS, "-dp": _SERVERS, "--tp": _SERVERS}
"""Short options are those of a command before them."""


def _without_branches(text: str) -> str:
    """The text without what stands between `if` or `case` and its end: which of the branches is taken is not known."""
    kept, depth = [], 0
    for line in text.splitlines():
        word = line.split(maxsplit=1)[:1]
        depth += word in (["if"], ["case"])
        if not depth:
            kept.append(line)
        if word in (["fi"], ["esac"]) or (depth and line.rstrip().endswith(("; fi", ";fi"))):
            depth = max(0, depth - 1)
    return "\n".join(kept)


def contexts(text: str) -> dict[str, bool]:
    """What the commands show, each word True. What they do not show is not in it: silence tells nothing."""
    words = _stream(text)
    found = {word: True for word, pattern in _SEEN if re.search(f" (?:{pattern})", words)}
    chosen = [word for word in found if word.startswith("attention_")]
    if chosen and (always := _stream(_without_branches(text[:_LONGEST]))) != words:
        seen = dict(_SEEN)
        found = {w: True for w in found if w not in chosen or re.search(f" (?:{seen[w]})", always)}
    found |= {word: True for word, options in _NUMBERS if any(n > 1 for n in _numbers(options, words))}
    if found.get("moe") and re.search(r" --fp8-(?:format|recipe)[ =]", words):
        found["fp8_moe"] = True
    if found.get("fsdp"):
        found.pop("megatron_tp", None)  # FSDP's own demand on the connections rules
    if found.get("multi_node"):
        found["ranks"] = True
    if _long(words):
        found["long_context"] = True
    return found


def _stream(text: str) -> str:
    """One line of words: comments out (not Slurm's directives), continued lines and YAML lists joined, quotes off."""
    kept = (line for line in text[:_LONGEST].split("\n") if not _is_comment(line))
    joined = " ".join(re.sub(r"^\s{0,200}- ", " ", line).rstrip("\\ \r") for line in kept)
    return " " + re.sub(r"[\s\"',\[\]]+", " ", joined) + " "


def _is_comment(line: str) -> bool:
    bare = line.lstrip()
    return bare.startswith("#") and not bare.startswith(("#SBATCH", "#PBS"))


def _numbers(options: str, words: str) -> Iterator[int]:
    for option in options.split("|"):
        needed = _ONLY_OF.get(option)
        if needed and not re.search(rf" {needed}", words):
            continue
        for found in re.finditer(rf" (?:{option})(?:[ =]|(?<=-n))(\d{{1,5}})(?= )", words):
            yield int(found[1])


def _long(words: str) -> bool:
    """SGLang on AITER keeps memory back above 8,192 tokens."""
    return any(int(m[1]) > 8192 for m in re.finditer(r" --(?:context-length|max-model-len)[ =](\d{1,9}) ", words))
