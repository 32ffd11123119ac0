"""What starts the ranks of a job in Python: torchrun, accelerate, deepspeed, ray; and what they set themselves.

torchrun: torch/distributed/run.py and elastic/agent/server/local_elastic_agent.py of torch 2.13. deepspeed:
launcher/runner.py (EXPORT_ENVS) and accelerator/cuda_accelerator.py (export_envs) at 2d991ba3.
"""

from __future__ import annotations

import json
import posixpath
import re

from doctor.flags.way import in_python
from doctor.flags.way.containers import env_file_lines
from doctor.flags.way.frame import LOCAL, Remark
from doctor.flags.way.launchers import Call, Options
from doctor.flags.way.model import Alt, Sees, Step, unless_set
from doctor.parsers.text.shell_lexer import HOLE

_RANK = ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")
_TORCHRUN_TEXT = """
GROUP_RANK ROLE_RANK ROLE_NAME ROLE_WORLD_SIZE GROUP_WORLD_SIZE TORCHELASTIC_RUN_ID TORCHELASTIC_RESTART_COUNT
TORCHELASTIC_MAX_RESTARTS
"""
_TORCHRUN = (*_RANK, *_TORCHRUN_TEXT.split())
_SWITCHES_TEXT = """
--standalone --no-python --run-path -m --module --use-env --multi_gpu --cpu --debug --use_deepspeed --use_fsdp
--use_megatron_lm --no_python --tpu --quiet -q --no_local_rank --no_ssh --no_ssh_check --force_multi --save_pid
--elastic_training --bind_cores_to_rank --same_network --enable_cpu_affinity --dynamo_use_dynamic --help -h
"""
_SWITCHES = frozenset(word.replace("-", "_") for word in _SWITCHES_TEXT.split())
_PASSED_BY_DEEPSPEED = ("MLFLOW", "PYTHON", "MV2", "UCX", "NCCL")


def _options(argv: list[str]) -> Options:
    """Every option takes a value but the switches; - and _ are one."""
    given: list[tuple[str, str]] = []
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        name, sign, value = argv[at].partition("=")
        at += 1
        name = name.replace("-", "_")
        if not sign and name not in _SWITCHES and at < len(argv):
            value, at = argv[at], at + 1
        given.append((name, value))
    return Options(given, argv[at:])


def _number(found: Options, *names: str) -> int | None:
    texts = found.of(*names)
    return int(texts[-1]) if texts and re.fullmatch(r"\d{1,6}", texts[-1]) else None


def _torchrun(call: Call) -> None:
    found = _options(call.argv)
    if not found.rest:
        return
    sees = call.sees.copy()
    step = call.step("torchrun sets it for each rank", "launcher-sets")
    for name in _TORCHRUN:
        before = sees.of(name)
        sees.put(name, HOLE, step)
        sees.held[name] = tuple(a._replace(steps=(*before[0].steps, step)) for a in sees.held[name])
    _address(call, found, sees)
    each = _number(found, "__nproc_per_node")
    _more_than_visible(call, each or 0)
    _threads(call, sees, each if found.has("__nproc_per_node") else 1)
    _default(
        sees,
        "TORCH_NCCL_ASYNC_ERROR_HANDLING",
        call.step("torchrun sets TORCH_NCCL_ASYNC_ERROR_HANDLING=1 where it is not set"),
    )
    _started(call, found, sees, "each rank of torchrun")


def _address(call: Call, found: Options, sees: Sees) -> None:
    """With the static rendezvous, which several nodes or a port choose: --master_addr; else the host's name."""
    nodes = _number(found, "__nnodes")
    static = (nodes or 1) > 1 or found.has("__master_port")
    if (nodes or 1) > 1:
        _alone(call, found, nodes or 1, sees)
    unclear = (found.has("__nnodes") and nodes is None) or any(name.startswith("PET_") for name in sees.held)
    if unclear or not static or found.has("__rdzv_backend", "__rdzv_endpoint", "__standalone"):
        return
    given = found.of("__master_addr")
    text = given[-1] if given else "127.0.0.1"
    what = "from --master_addr" if given else "to 127.0.0.1, the default of --master_addr"
    step = call.step(f"torchrun sets it {what}", "launcher-sets")
    sees.held["MASTER_ADDR"] = tuple(a._replace(text=text, steps=(*a.steps[:-1], step)) for a in sees.of("MASTER_ADDR"))
    for port in found.of("__master_port")[-1:]:
        sees.put("MASTER_PORT", port, call.step("torchrun sets it from --master_port", "launcher-sets"))


def _alone(call: Call, found: Options, nodes: int, sees: Sees) -> None:
    """Several nodes that all meet at localhost; two such lines in a file are two agents of one machine."""
    met = [*found.of("__rdzv_endpoint", "__master_addr")]
    by_operator = any(a.text is not None for name in ("PET_MASTER_ADDR", "PET_RDZV_ENDPOINT") for a in sees.of(name))
    if (by_operator and not met) or found.has("__standalone") or (found.has("__rdzv_backend") and not met):
        return
    host = re.sub(r":\d{1,5}$", "", met[-1]) if met else "127.0.0.1"
    if host in LOCAL:
        shown = f"{'with ' + met[-1] if met else 'without --master_addr or --rdzv_endpoint'}"
        said = f"torchrun over {nodes} nodes {shown}: each node waits for {host}, which is itself"
        cure = "Pass --rdzv_backend=c10d --rdzv_endpoint=HOST:PORT (or --master_addr=HOST) with the address of node 0."
        call.run.remark(Remark("master-localhost", "MASTER_ADDR", call.frame.file, call.line, said, cure, "error"))


def _more_than_visible(call: Call, each: int) -> None:
    """A rank takes the GPU of its own number; whoever runs without GPUs hides all of them."""
    for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"):
        held = call.sees.of(name)
        text = held[0].text if len(held) == 1 and not held[0].outer else None
        listed = re.fullmatch(r"\d{1,3}(,\d{1,3})*", text or "") and (text or "").split(",")
        if listed and len(listed) < each:
            place = held[0].steps[-1] if held[0].steps else call.step("")
            said = f"{name}={text} shows {len(listed)} GPU{'s'[: len(listed) > 1]}, and torchrun starts {each} ranks"
            cure = f"Name {each} GPUs, or pass --nproc_per_node={len(listed)}."
            call.run.remark(Remark("ranks-without-gpu", name, place.file, place.line, said, cure))


def _threads(call: Call, sees: Sees, each: int | None) -> None:
    """OMP_NUM_THREADS=1 for each of several, where it is not set; how many `gpu` or `auto` are is not known."""
    if each != 1:
        step = call.step("torchrun sets OMP_NUM_THREADS=1 where it is not set and several ranks start")
        _default(sees, "OMP_NUM_THREADS", step, surely=each is not None)


def _default(sees: Sees, name: str, step: Step, *, surely: bool = True) -> None:
    sees.held[name] = unless_set(sees.of(name), Alt("1", "yes", (step,)), surely=surely)


def _started(call: Call, found: Options, sees: Sees, where: str) -> None:
    rest = found.rest
    python = not found.has("__no_python")
    module = found.has("_m", "__module")
    argv = ["python", *(["-m"] if module else []), *rest] if python else rest
    call._replace(body=None).go_on(argv, sees, where)


def _accelerate(call: Call) -> None:
    if call.argv[1:2] != ["launch"]:
        call.run.record(call.argv, call.sees, call.frame, call.line)
        return
    found = _options(call.argv[1:])
    if not found.rest:
        return
    sees = call.sees.copy()
    step = call.step("accelerate sets it where it starts several ranks", "launcher-sets")
    own = (name for name in list(sees.held) if name.startswith(("ACCELERATE_", "FSDP_", "MEGATRON_LM_")))
    sees.may_be(
        step, *_TORCHRUN, *own, "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES", "NCCL_P2P_DISABLE", "NCCL_IB_DISABLE"
    )
    _started(call, found, sees, "each rank of accelerate")


def _deepspeed(call: Call) -> None:
    found = _options(call.argv)
    if not found.rest:
        return
    several = found.has("_H", "__hostfile") or (_number(found, "__num_nodes") or 0) > 1
    if not several or found.has("__no_ssh"):
        _started(call, found, _ranked(call, call.sees.copy()), "each rank of deepspeed")
        return
    what = "deepspeed passes to other nodes only NCCL*, UCX*, PYTHON*, MV2*, MLFLOW* and the lines of .deepspeed_env"
    remote = call.sees.cleared(call.step(what, "deepspeed"), lambda n: n.startswith(_PASSED_BY_DEEPSPEED))
    file = call.run.file(".deepspeed_env", call.frame, call.sees.of)
    if file:
        for number, name, text in env_file_lines(file[1]):
            if text is not None:
                remote.put(name, text, call.step(f"line {number} of .deepspeed_env"))
    _started(call, found, _ranked(call, remote), "each rank of deepspeed on other nodes")


def _ranked(call: Call, sees: Sees) -> Sees:
    step = call.step("deepspeed sets it for each rank", "launcher-sets")
    for name in (*_RANK[:3], "MASTER_ADDR", "MASTER_PORT", "LOCAL_SIZE", "CROSS_RANK", "CROSS_SIZE"):
        sees.put(name, HOLE, step)
    sees.may_be(step, "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
    return sees


def _ray(call: Call) -> None:
    if call.argv[1:2] == ["start"]:
        call.run.cluster = call.sees.or_(call.run.cluster) if call.run.cluster else call.sees.copy()
    if call.argv[1:3] != ["job", "submit"]:
        call.run.record(call.argv, call.sees, call.frame, call.line)
        return
    at = call.argv.index("--") if "--" in call.argv else len(call.argv)
    step = call.step("ray job submit passes nothing but env_vars of the runtime environment", "ray")
    sees = call.sees.cleared(step)
    for position, word in enumerate(call.argv[:at]):
        name, _, value = word.partition("=")
        if name in ("--runtime-env-json",):
            text = value or (call.argv[position + 1] if position + 1 < at else "")
            _runtime_env(call, sees, text)
        elif name == "--runtime-env":
            sees = call.sees.unknown(call.step("--runtime-env was not read"))
    if call.argv[at + 1 :]:
        call.go_on(call.argv[at + 1 :], sees, "the ray cluster", outside=True)


_COPIED_BY_VLLM = ("VLLM_", "LMCACHE_", "NCCL_", "UCX_", "HF_", "HUGGING_FACE_", "PYTHONHASHSEED")
"""vllm/ray/ray_env.py of vLLM 0.20; its own workers without Ray inherit everything."""


def _vllm(call: Call) -> None:
    """With Ray, what vLLM does not copy its workers have from `ray start`, where the file runs that."""
    call.run.record(call.argv, call.sees, call.frame, call.line)
    backend = re.search(r"--distributed[-_]executor[-_]backend[ =]ray\b", " ".join(call.argv))
    more = [a.text or "" for name in _MORE_OF_VLLM for a in call.sees.of(name) if not a.outer]
    if not backend or not call.run.cluster or HOLE in "".join(more):
        return
    what = "vLLM copies only VLLM_, NCCL_, UCX_, HF_ and LMCACHE_ to Ray's workers; they have the rest from `ray start`"
    copied = (*_COPIED_BY_VLLM, *(name for text in more for name in text.replace(" ", "").split(",") if name))
    began, step = call.run.cluster, call.step(what, "vllm-ray")
    sees = call.sees.cleared(step, lambda n: n.startswith(copied), began.base)
    for name, held in began.held.items():
        if not name.startswith(copied) and any(alt.text is not None or alt.outer for alt in held):
            sees.held[name] = held
    sees.may_be(step, "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "OMP_NUM_THREADS")
    call.run.record(call.argv, sees, call.frame, call.line, "Ray workers of vLLM")


_MORE_OF_VLLM = ("VLLM_RAY_EXTRA_ENV_VARS_TO_COPY", "VLLM_RAY_EXTRA_ENV_VAR_PREFIXES_TO_COPY")


def _runtime_env(call: Call, sees: Sees, text: str) -> None:
    step = call.step("env_vars of --runtime-env-json")
    try:
        held = json.loads(text[:100_000]).get("env_vars", {})
    except (ValueError, AttributeError, RecursionError):
        sees.may_change(step)
        return
    for name, value in held.items() if isinstance(held, dict) else ():
        if isinstance(value, str):
            sees.put(str(name), value, step)


def python(call: Call) -> None:
    """`python -m torch.distributed.run` is torchrun; a script is a process of its own."""
    at = 1
    while at < len(call.argv) and call.argv[at].startswith("-") and call.argv[at] not in ("-m", "-c", "-"):
        if re.match(r"-[a-zA-Z]*[mc]", call.argv[at]) and not call.argv[at].startswith("--"):
            break
        at += 2 if call.argv[at] in ("-W", "-X") else 1
    rest = call.argv[at:]
    if rest[:1] and re.fullmatch(r"-[a-zA-Z]+m", rest[0]):
        rest = ["-m", *rest[1:]]
    if len(rest) > 1 and rest[0] == "-m" and (other := _MODULES.get(rest[1])):
        other(call._replace(argv=[*(["accelerate", "launch"] if "accelerate" in rest[1] else [rest[1]]), *rest[2:]]))
        return
    isolated = any(re.fullmatch(r"-[a-zA-Z]*[EI][a-zA-Z]*", a) for a in call.argv[1:at])
    sees = call.sees
    if isolated:
        sees = sees.cleared(
            call.step("python -E ignores variables of Python's own"), lambda n: not n.startswith("PYTHON"), sees.base
        )
    call.run.record(call.argv, sees, call.frame, call.line)
    script = next(iter(rest), "-")
    if script.endswith(".py") and (found := call.run.file(script, call.frame, sees.of)):
        in_python.follow(call, sees, *found, posixpath.dirname(script))
    elif script == "-c" and len(rest) > 1:
        in_python.follow(call, sees, call.frame.file, "\n" * (call.line - 1) + rest[1])
    elif script == "-" and call.body:
        in_python.follow(call, sees, call.frame.file, "\n" * call.line + call.body)


_MODULES = {
    "vllm.entrypoints.openai.api_server": _vllm,
    "torch.distributed.run": _torchrun, "torch.distributed.launch": _torchrun,
    "accelerate.commands.launch": _accelerate,
    "deepspeed": _deepspeed, "deepspeed.launcher.runner": _deepspeed,
}  # fmt: skip
TABLE = {"torchrun": _torchrun, "accelerate": _accelerate, "deepspeed": _deepspeed, "ray": _ray, "vllm": _vllm}
