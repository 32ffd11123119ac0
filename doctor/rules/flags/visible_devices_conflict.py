from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Evidence, Finding, Layer, Remedy, Rule, Scope, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules.lib import run_line
from doctor.rules.lib.advice import STOPS_CONTAINER, step, unset, way
from doctor.rules.lib.container_advice import with_nvidia
from doctor.rules.lib.flags_read import evaluated
from doctor.rules.lib.gpu_identity import of_slurm, strangers
from doctor.rules.lib.hardware import has_no, nodes_of, vendors_there
from doctor.rules.lib.pip import python_of
from doctor.rules.lib.python_packages import package

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="visible-devices-conflict",
    severity=Severity.ERROR,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="The *_VISIBLE_DEVICES variables conflict, are empty or point to missing GPUs.",
    needs=(
        {"environment", "gpus"},
        {"environment", "container.inside", "nodes"},
        {"environment"},
    ),
    proven="synthetic",
    explains=("torch-sees-no-gpu", "framework-sees-no-gpu"),
    order=50,
    facts_decide=False,
    tags=(
        "flags",
        "amd",
        "nvidia",
    ),
    doc="""## What it finds
HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES that differ on AMD; a list that is empty, repeats a GPU or is out of
range (HIP counts inside ROCR's list); NVIDIA_VISIBLE_DEVICES that hides every GPU, or numbers GPUs while device nodes
are passed too.

## Why it matters
Runtimes silently stop at the first wrong entry: GPUs disappear without an error, or torch fails.

## Not raised when
One valid list is set, or both are equal. NVIDIA_VISIBLE_DEVICES=void with nodes present is how CDI works. An empty
list in a Slurm job belongs to scheduler-no-gpu-allocated, and in Ray's driver Ray sets it itself. Pasted rocminfo
output without all agents does not show how many GPUs there are. A program uses a GPU number that no GPU of the text
has, and no list is set: that number is wrong. A number is out of range, and the one list that is set names every GPU
of the text once: the list hides none.

## How to confirm
`env | grep VISIBLE_DEVICES`

## Fix
Unset all lists, then set at most one and number it from 0: `env -u HIP_VISIBLE_DEVICES -u ROCR_VISIBLE_DEVICES
COMMAND`. In a container, remove them from its settings and recreate it; NVIDIA_VISIBLE_DEVICES is read only when the
container is created.

## References
https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
""",
)

_HSA, _HIP, _CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"


def advice(machine: Snapshot, kb: Knowledge) -> tuple[Remedy, ...]:
    """The lists that are set, of the vendor that is there. Ranks that share a GPU need one each."""
    if machine.symptom("nccl-duplicate-gpu"):
        count = step("Start as many processes as GPUs: nvidia-smi -L or rocm-smi in the job's container shows them.")
        choose = step("In each, before any GPU work: torch.cuda.set_device(int(os.environ['LOCAL_RANK'])).")
        return (way("Start one process for each GPU, and let it use its own.", Scope.JOB, count, choose),)
    there = vendors_there(machine)
    lists = (_CUDA,) if there == {"nvidia"} else (_HSA, _HIP, _CUDA)
    known = [name for name in lists if name in (machine.environment or {})]
    return (unset(machine, *(known or lists), because=", then set at most one of them"),)


def _hidden_by_choice(machine: Snapshot) -> bool:
    """Whether -1 or an empty list hides every GPU and nothing asks for one: TensorFlow tries the driver at each start
    and goes on without. What torch says, and a person who misses the GPU, is something else."""
    if (machine.environment or {}).get(_CUDA, "0").strip() not in ("", "-1"):
        return False
    tried = machine.symptom("cuda-no-device", "cuda-no-device-code")
    others = machine.symptom(*run_line.NO_GPU_SEEN - {"cuda-no-device"}) or machine.torch.available is False
    return tried is not None and "failed call to cuInit" in tried.text and not others


def _names_each(listed: str, many: int) -> bool:
    """Whether a list names every one of so many GPUs, each once: by numbers from 0 on, or by their names."""
    names = [name.strip() for name in listed.split(",")]
    numbers = {int(name) for name in names if name.isdigit() and len(name) < _DIGITS}
    if numbers:
        return numbers == set(range(many)) and len(names) == many
    return listed == "all" or (len(set(names)) == len(names) == many and all(n.startswith(_UUID) for n in names))


_DIGITS = 6
_UUID = ("GPU-", "MIG-")


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """Each fault of each list is its own finding; a single valid list is none."""
    own = _own(machine, kb)
    yield from evaluated(machine, RULE.id, own) if machine.gpus else own  # without a GPU no list is wrong


def _own(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    env = machine.environment or {}
    there = vendors_there(machine) or _meant(machine, env)
    read = [
        n
        for n, vendors in ((_HSA, {"amd"}), (_HIP, {"amd"}), (_CUDA, {"amd", "nvidia"}))
        if n in env and there & vendors
    ]
    job = "SLURM_JOB_ID" in env
    for name in read:
        count = _count(machine, name, there, env)
        fault = _fault(env[name], count) or (_NO_WORD if name == _CUDA and env[name].strip() == "all" else None)
        if fault and env[name] != "NoDevFiles" and not (job and env[name] == ""):
            pasted = run_line.from_text(machine, f"environment[{name}]")
            chosen = name == _CUDA and _hidden_by_choice(machine)
            sure = not pasted or (_fails(machine) and not chosen) or "twice" in fault
            if (
                not sure
                and not env[name].strip()
                and (package(machine, "ray") or any(n.startswith("RAY_") for n in env))
            ):
                continue  # Ray hides the GPUs from its driver and from tasks that ask for none
            if not sure and count == len(env[name].split(",")) > 1:
                continue  # programs list the GPUs that the variable leaves them
            if not sure and count == 1 and _names_each(env[name].strip(), len(env[name].split(","))):
                continue  # the list is of a whole machine, and tools' output is pasted of one of its GPUs
            finding = _finding(machine, name, f"{name}={env[name][:40]!r} {fault}.", Severity.ERROR, env)
            yield (
                finding
                if sure
                else finding.model_copy(update={"severity": Severity.INFO, "suspect": 0 if chosen else 4})
            )
    yield from _strangers(machine, env)
    yield from of_slurm(machine, env)
    yield from _stacked(machine, env, there)
    if "amd" in there and env.get(_HIP) and env.get(_CUDA) and env[_HIP] != env[_CUDA]:
        text = f"{_HIP}={env[_HIP][:20]} and {_CUDA}={env[_CUDA][:20]} differ, so HIP and launchers use different GPUs."
        yield _finding(machine, _HIP, text, Severity.ERROR if "nvidia" not in there else Severity.WARNING, env)
    yield from _given_twice(machine, env)
    hidden = env.get("NVIDIA_VISIBLE_DEVICES")
    asked = "nvidia" in run_line.options(machine, "--runtime") and hidden in ("void", "none")
    if hidden == "void" and run_line.limits(machine) and not run_line.sees_none(machine):
        return  # a device plugin that hands out GPUs by CDI sets it
    gone = machine.container.inside and hidden in ("void", "none", "") and has_no(machine, "nvidia")
    if (gone or asked) and "amd" not in there:
        text = f"NVIDIA_VISIBLE_DEVICES={hidden!r} keeps every GPU out of this container."
        yield _finding(machine, "NVIDIA_VISIBLE_DEVICES", text, Severity.ERROR, env)


def _strangers(machine: Snapshot, env: Mapping[str, str]) -> Iterator[Finding]:
    """Lists that name GPUs by what is theirs alone, and none here has that name: those of another machine, or of one
    that was replaced. A pasted text may show some of the GPUs only."""
    for vendor, names in (
        ("nvidia", (_CUDA, "NVIDIA_VISIBLE_DEVICES")),
        ("amd", (_HSA, _HIP, _CUDA, "AMD_VISIBLE_DEVICES")),
    ):
        for name in names:
            if run_line.from_text(machine, f"environment[{name}]"):
                continue
            wrong = strangers(machine, vendor, env.get(name, ""))
            if wrong and not _are_of_the_other(machine, vendor, wrong):
                text = f"{name} names {wrong[0][:44]}, but this machine has no such GPU."
                yield _finding(machine, name, text, Severity.ERROR, env)


def _are_of_the_other(machine: Snapshot, vendor: str, wrong: list[str]) -> bool:
    other = "amd" if vendor == "nvidia" else "nvidia"
    return bool(machine.of_vendor(other)) and not strangers(machine, other, ",".join(wrong))


def _given_twice(machine: Snapshot, env: Mapping[str, str]) -> Iterator[Finding]:
    """A container that is given GPUs by their nodes and by the runtime's list as well: a node bears the driver's minor
    number, the list counts as nvidia-smi does, and what both name is there."""
    listed = [t.strip() for t in env.get("NVIDIA_VISIBLE_DEVICES", "").split(",")]
    nodes = [d for d in run_line.options(machine, "--device") if _NVIDIA_NODE.match(d)]
    runtime = "nvidia" in run_line.options(machine, "--runtime") or run_line.options(machine, "--gpus")
    if not nodes or not runtime or not all(t.isdigit() for t in listed):
        return
    more = len(machine.of_vendor("nvidia")) > max(len(listed), len(nodes))
    text = f"NVIDIA_VISIBLE_DEVICES={','.join(listed)[:20]} and --device={nodes[0][:20]} order GPUs differently."
    finding = _finding(machine, "NVIDIA_VISIBLE_DEVICES", text, Severity.WARNING if more else Severity.INFO, env)
    yield finding if more else finding.model_copy(update={"suspect": 2})


_NVIDIA_NODE = Lazy(r"/dev/nvidia\d{1,3}(?::|$)")


_FAILS = ("invalid-device-ordinal", "cuda-no-device", "cuda-no-device-code")


def _fails(machine: Snapshot) -> bool:
    """A pasted list of GPUs may be cut: an error must say that one of them is missed."""
    return run_line.sees_none(machine) or machine.symptom(*_FAILS) is not None


def _meant(machine: Snapshot, env: Mapping[str, str]) -> frozenset[str]:
    """A text that shows no GPU: the variables of AMD's runtimes are set on AMD's machines."""
    if not any(run_line.from_text(machine, f"environment[{name}]") for name in (_HSA, _HIP, _CUDA)):
        return frozenset()
    if env.get(_HSA) or env.get(_HIP):
        return frozenset({"amd"})
    return frozenset({"nvidia"}) if _CUDA in env else frozenset()


def _stacked(machine: Snapshot, env: Mapping[str, str], there: frozenset[str]) -> Iterator[Finding]:
    """Lists on top of each other: the inner one counts within the outer one; on NVIDIA, AMD's lists."""
    outer = [t for t in env.get(_HSA, "").split(",") if t.strip()]
    inner = next((n for n in (_HIP, _CUDA) if env.get(n)), "")
    listed = [t for t in env.get(inner, "").split(",") if t.strip()]
    if "amd" in there and outer and len(listed) > len(outer):
        yield _finding(
            machine,
            inner,
            f"{inner} lists {len(listed)} GPUs, but {_HSA} leaves only {len(outer)}.",
            Severity.ERROR,
            env,
        )
    runtime = [t for t in env.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if t.strip().isdigit()]
    numbers = [int(t) for t in env.get(_CUDA, "").split(",") if t.strip().isdigit() and len(t) < 6]
    if runtime and numbers and "amd" not in there and max(numbers) >= len(runtime):
        text = f"{_CUDA} must count from 0 within the {len(runtime)} GPUs of NVIDIA_VISIBLE_DEVICES."
        yield _finding(machine, _CUDA, text, Severity.ERROR, env)
    if (
        there == {"nvidia"}
        and any(env.get(name) or (name in env and _fails(machine)) for name in (_HSA, _HIP))
        and run_line.from_text(machine, "environment")
    ):
        name = _HSA if _HSA in env else _HIP
        text = f"{name} is for AMD, but all known GPUs are NVIDIA's; some programs may then hide them."
        weak = _finding(machine, name, text, Severity.INFO, env)
        yield weak.model_copy(update={"suspect": 2})


_TOKEN = Lazy(r"-?\d{1,5}|(?:GPU|MIG)-[\w/().-]{1,80}|<.{1,40}>|\$.{1,40}|\w{1,30}\.{3}", re.IGNORECASE)


def _count(machine: Snapshot, name: str, there: frozenset[str], env: Mapping[str, str]) -> int | None:
    """GPUs that the list's numbers count among; None when not known, partitions included."""
    vendor = "nvidia" if name == _CUDA and "nvidia" in there else "amd"
    gpus = machine.of_vendor(vendor)
    given = _given(machine) if vendor == "amd" and there == {"amd"} else 0
    given = given or _passed(machine, vendor)
    if given and (vendor == "nvidia" or name == _HSA or not env.get(_HSA)):
        return given
    if not machine.gpus and there == {"amd"} and name != _HSA:
        return len([t for t in env.get(_HSA, "").split(",") if t.strip()])  # ROCR's list bounds the inner one
    parted = any(g.partitions or g.mig_mode == "enabled" or g.compute_partition not in (None, "SPX") for g in gpus)
    numbers = (number for g in gpus for number in (g.index.smi, g.index.hip, g.index.visible) if number is not None)
    cut = any(number >= len(gpus) for number in numbers)  # output is pasted of some of them
    if not gpus or parted or cut or (name == _CUDA and len(there) > 1):
        return None
    outer = [t for t in env.get(_HSA, "").split(",") if t.strip()]
    return len(outer) if vendor == "amd" and name != _HSA and outer else len(gpus)


def _passed(machine: Snapshot, vendor: str) -> int:
    """GPUs whose nodes a running container has, where it has some of the host's alone; else 0. sysfs shows them all."""
    if not machine.container.inside or machine.nodes is None or run_line.from_text(machine, "nodes"):
        return 0
    gpus = machine.of_vendor(vendor)
    here = {n.key.rpartition("/")[2] for n in nodes_of(machine, "render" if vendor == "amd" else "nvidia")}
    named = [gpu.render_node if vendor == "amd" else gpu.device_node for gpu in gpus]
    count = sum(name in here for name in named) if all(named) else len(here) if vendor == "nvidia" else 0
    return count if 0 < count < len(gpus) else 0


_NODE = Lazy(r"/dev/dri/renderD\d{3}(?=:|$)")


def _given(machine: Snapshot) -> int:
    """AMD's GPUs that a container is given one by one; 0 where it gets all of them, or that is not shown."""
    devices = [value.strip("\"'") for value in run_line.options(machine, "--device")]
    if any(re.match(r"/dev/dri/?(?::|$)", value) for value in devices) or run_line.options(machine, "--privileged"):
        return 0
    return len({value.split(":")[0] for value in devices if _NODE.match(value)})


_NO_WORD = "is not a list of GPU numbers or ids (only NVIDIA_VISIBLE_DEVICES accepts that word)"


def _fault(value: str, count: int | None) -> str | None:
    tokens = [t.strip() for t in value.split(",")]
    numbers = [int(t) for t in tokens if t.lstrip("-").isdigit() and len(t) < 6]
    if any(t and not _TOKEN.fullmatch(t) for t in tokens) and value.strip() not in (
        "NoDevFiles",
        "all",
        "void",
        "none",
    ):
        return "is not a list of GPU numbers or ids; the list ends there"
    if not value.strip() or value.strip() == "NoDevFiles":
        return "hides every GPU"
    if numbers and numbers[0] < 0:
        return "hides every GPU"
    if len(set(tokens)) < len(tokens):
        return "names a GPU twice or has an empty entry"
    if count is not None and numbers and max(numbers) >= count:
        shown = "is only GPU 0" if count == 1 else f"are only GPUs 0 to {count - 1}"
        return f"points to GPU {max(numbers)}, but there {shown}"
    return None


def _finding(machine: Snapshot, name: str, summary: str, severity: Severity, env: Mapping[str, str]) -> Finding:
    shown = [n for n in (_HSA, _HIP, _CUDA, "NVIDIA_VISIBLE_DEVICES") if n in env]
    return Finding(
        summary=summary,
        severity=severity,
        # A list that hides the GPU is why none is seen in a container that was given one.
        explains=(*RULE.explains, "container-missing-gpu-passthrough") if severity is Severity.ERROR else RULE.explains,
        subject=Subject(kind="variable", id=name),
        evidence=tuple(Evidence(text=f"{n}={env[n][:80]}", source="environment") for n in shown),
        remedies=(_remedy(machine, name),),
        verify=("env", "-u", name, python_of(machine), "-c", "import torch; print(torch.cuda.device_count())"),
    )


def _remedy(machine: Snapshot, name: str) -> Remedy:
    """NVIDIA_VISIBLE_DEVICES is read when the container is created: nothing that is unset in it later changes that."""
    if name != "NVIDIA_VISIBLE_DEVICES":
        return unset(machine, name)
    text = step("Remove the variable from the image (ENV), the `-e` options and the compose or pod settings.")
    title = "Recreate the container without NVIDIA_VISIBLE_DEVICES, or with NVIDIA_VISIBLE_DEVICES=all."
    return way(title, Scope.CONTAINER, text, *with_nvidia(machine)[0].steps, risk=STOPS_CONTAINER, vendor="nvidia")
