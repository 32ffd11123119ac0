"""The *_VISIBLE_DEVICES variables contradict each other, are empty or out of range."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Fix, Rule, Severity, Subject
from doctor.redaction.lazy import Lazy
from doctor.rules import presence, run_line, work_done
from doctor.rules.flags_read import evaluated
from doctor.rules.hardware import has_no, vendors_there
from doctor.rules.python_packages import package

if TYPE_CHECKING:
    from doctor.knowledge import Knowledge
    from doctor.profiles import Profile

RULE = Rule(
    id="visible-devices-conflict",
    severity=Severity.ERROR,
    title="The *_VISIBLE_DEVICES variables contradict each other, are empty or out of range.",
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
HIP_VISIBLE_DEVICES and CUDA_VISIBLE_DEVICES that differ on AMD; a list that is empty, repeats or is out of range (HIP
counts
inside ROCR's list); NVIDIA_VISIBLE_DEVICES that asks for no GPU, or numbers GPUs beside nodes that are
passed too.

## Why it matters
Runtimes end the list silently at the first entry that is wrong: GPUs vanish without an error, or torch raises.

## Not raised when
One valid list is set, or both are equal. NVIDIA_VISIBLE_DEVICES=void with nodes present is how CDI works. An empty
list in a Slurm job belongs to scheduler-no-gpu-allocated, and in Ray's driver Ray sets it itself. A paste of rocminfo
that leaves agents out does not tell how many GPUs there are. A program is told to take a GPU by a number which the GPUs
of the text do not have, and no list is set: that number is wrong. A number is out of range, and the one list that is
set names every GPU of the text once: the list hides none.

## How to confirm
`env | grep VISIBLE_DEVICES`

## Fix
Unset all but one, and number it from 0.

## Fix safety
Applies to programs started afterwards.

## References
https://rocm.docs.amd.com/en/latest/conceptual/gpu-isolation.html
https://docs.nvidia.com/cuda/cuda-programming-guide/05-appendices/environment-variables.html
""",
)

_HSA, _HIP, _CUDA = "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES"
FIXES = (
    Fix(
        text="Start the program without the lists, then set only one of them.",
        command=("env", "-u", _HSA, "-u", _HIP, "-u", _CUDA, "COMMAND"),
        where="environment",
    ),
)


_LISTS = (_HSA, _HIP, _CUDA, "NVIDIA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_NUMBER = Lazy(
    r"(?:--(?:gpu|device)(?:[_-]id)?[= ]|(?:device|to|cuda|set_device)\([\"']?)(?:cuda:)?(\d{1,2})(?![\w/,.:-])"
)


def excludes(machine: Snapshot) -> bool:
    """Where a program is told to take a GPU by a number which the GPUs of the text do not have, and no list of GPUs is
    set or spoken of: the number is wrong. Where a number is out of range, and the one list that is set names every GPU
    of the text. Where the GPUs are hidden as one who wants the processor hides them. Where CUDA's list alone is set,
    and names GPUs that nvidia-smi lists."""
    if _hidden_by_choice(machine) or _hides_none(machine) or _fits(machine):
        return True
    asked, spoken = machine.symptom("gpu-asked-by-number-told"), machine.symptom("visible-devices-said")
    told = machine.symptom("variable-told")
    if asked is None or spoken or not machine.gpus or machine.symptom("invalid-device-ordinal") is None:
        return False
    if any(name in _LISTS for name in machine.environment or {}) or (told and "_VISIBLE_DEVICES" in told.text):
        return False
    number = _NUMBER.search(asked.text)
    return number is not None and int(number[1]) >= len(machine.gpus)


def _hides_none(machine: Snapshot) -> bool:
    """Whether a program asks for a GPU by a number that is out of range, though the one list that is set names each of
    several GPUs once, and nothing tells that fewer are seen: the program counts GPUs that are not there."""
    if machine.symptom("invalid-device-ordinal") is None or len(machine.gpus or ()) < _SEVERAL:
        return False
    shown = [v.strip() for n, v in (machine.environment or {}).items() if n in (_HSA, _HIP, _CUDA)]
    fewer = run_line.sees_none(machine) or machine.symptom("gpu-not-seen-said", *_COUNTS)
    return len(shown) == 1 and not fewer and _names_each(shown[0], len(machine.gpus or ()))


_SEVERAL = 2
_COUNTS = ("device-count-is-zero-told", "visible-devices-said")


def _fits(machine: Snapshot) -> bool:
    """Whether CUDA's list alone is set, by numbers, and a pasted nvidia-smi has a GPU for each of them."""
    env = machine.environment or {}
    gpus = machine.of_vendor("nvidia")
    if [name for name in _LISTS if name in env] != [_CUDA] or not all(presence.listed(machine, gpu) for gpu in gpus):
        return False
    count = _count(machine, _CUDA, vendors_there(machine), env)
    return count is not None and re.search(r"\d", env[_CUDA]) is not None and _fault(env[_CUDA], count) is None


def _hidden_by_choice(machine: Snapshot) -> bool:
    """Whether -1 or an empty list hides every GPU and nothing asks for one: TensorFlow tries the driver at each start
    and goes on without. What torch says, and a person who misses the GPU, is something else."""
    if (machine.environment or {}).get(_CUDA, "0").strip() not in ("", "-1"):
        return False
    tried = machine.symptom("cuda-no-device")
    others = machine.symptom(*run_line.NO_GPU_SEEN - {"cuda-no-device"}) or machine.torch.available is False
    return tried is not None and "failed call to cuInit" in tried.text and not others


def unheard(machine: Snapshot) -> bool:
    """Where the one list shown is what images of NVIDIA set themselves, and the text speaks of none; where each list
    has every GPU of the machine once, or CUDA's alone some of them, and nothing says that one is missed; where each
    task of a job is given one GPU and asks for another; where kernels ran, on the GPU that a program was given; where
    one list names the first GPU alone, which is there; where vLLM only says that a name will go, and nothing fails."""
    if machine.symptom("list-of-cuda-deprecated-on-rocm") is not None and not _fails(machine):
        return True
    if work_done.ran(machine) or _hidden_by_choice(machine):
        return True
    if machine.symptom("one-gpu-each-task-told") and machine.symptom("invalid-device-ordinal"):
        return True
    lists = (_HSA, _HIP, _CUDA, "NVIDIA_VISIBLE_DEVICES")
    shown = {n: v.strip() for n, v in (machine.environment or {}).items() if n in lists}
    if shown == {"NVIDIA_VISIBLE_DEVICES": "all"}:
        return machine.symptom("variable-told") is None
    many = len(machine.gpus or ())
    if many == 1 and [*shown.values()] == ["0"] and not _fails(machine):
        return machine.symptom("gpu-not-seen-said") is None  # the first GPU is there where any is
    if many == 1:  # of one GPU output is pasted: the lists are of a machine that has more
        many = max((len(value.split(",")) for value in shown.values()), default=0)
    whole = bool(shown) and many > 1 and all(_names_each(value, many) for value in shown.values())
    some = [*shown] == [_CUDA] and many > 1 and _names_some(shown[_CUDA], many)
    first = many == 1 and [*shown.values()] == ["0"]
    return (whole or some or first) and not _fails(machine) and machine.symptom("gpu-not-seen-said") is None


def _names_each(listed: str, many: int) -> bool:
    """Whether a list names every one of so many GPUs, each once: by numbers from 0 on, or by their names."""
    names = [name.strip() for name in listed.split(",")]
    numbers = {int(name) for name in names if name.isdigit() and len(name) < _DIGITS}
    if numbers:
        return numbers == set(range(many)) and len(names) == many
    return listed == "all" or (len(set(names)) == len(names) == many and all(n.startswith(_UUID) for n in names))


def _names_some(listed: str, many: int) -> bool:
    """Whether a list names several of so many GPUs by their numbers, each once."""
    names = [name.strip() for name in listed.split(",")]
    numbers = {int(name) for name in names if name.isdigit() and len(name) < _DIGITS}
    return len(numbers) == len(names) > 1 and max(numbers) < many


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
            if not sure and not env[name].strip() and _under_ray(machine, env):
                continue  # Ray hides the GPUs from its driver and from tasks that ask for none
            if not sure and count == len(env[name].split(",")) > 1:
                continue  # programs list the GPUs that the variable leaves them
            if not sure and count == 1 and _names_each(env[name].strip(), len(env[name].split(","))):
                continue  # the list is of a whole machine, and tools' output is pasted of one of its GPUs
            finding = _finding(name, f"{name}={env[name][:40]!r} {fault}.", Severity.ERROR, env)
            yield (
                finding
                if sure
                else finding.model_copy(update={"severity": Severity.INFO, "suspect": 0 if chosen else 4})
            )
    yield from _stacked(machine, env, there)
    if "amd" in there and env.get(_HIP) and env.get(_CUDA) and env[_HIP] != env[_CUDA]:
        text = f"{_HIP}={env[_HIP][:20]} and {_CUDA}={env[_CUDA][:20]} differ: HIP and launchers take other GPUs."
        yield _finding(_HIP, text, Severity.ERROR if "nvidia" not in there else Severity.WARNING, env)
    yield from _given_twice(machine, env)
    hidden = env.get("NVIDIA_VISIBLE_DEVICES")
    asked = "nvidia" in run_line.options(machine, "--runtime") and hidden in ("void", "none")
    if hidden == "void" and run_line.limits(machine) and not run_line.sees_none(machine):
        return  # a device plugin that hands out GPUs by CDI sets it
    gone = machine.container.inside and hidden in ("void", "none", "") and has_no(machine, "nvidia")
    if (gone or asked) and "amd" not in there:
        text = f"NVIDIA_VISIBLE_DEVICES={hidden!r} tells the runtime to pass no GPU into this container."
        yield _finding("NVIDIA_VISIBLE_DEVICES", text, Severity.ERROR, env)


def _given_twice(machine: Snapshot, env: Mapping[str, str]) -> Iterator[Finding]:
    """A container that is given GPUs by their nodes and by the runtime's list as well: a node bears the driver's minor
    number, the list counts as nvidia-smi does, and what both name is there."""
    listed = [t.strip() for t in env.get("NVIDIA_VISIBLE_DEVICES", "").split(",")]
    nodes = [d for d in run_line.options(machine, "--device") if _NVIDIA_NODE.match(d)]
    runtime = "nvidia" in run_line.options(machine, "--runtime") or run_line.options(machine, "--gpus")
    if not nodes or not runtime or not all(t.isdigit() for t in listed):
        return
    more = len(machine.of_vendor("nvidia")) > max(len(listed), len(nodes))
    text = f"NVIDIA_VISIBLE_DEVICES={','.join(listed)[:20]} and --device={nodes[0][:20]} count in different orders."
    finding = _finding("NVIDIA_VISIBLE_DEVICES", text, Severity.WARNING if more else Severity.INFO, env)
    yield finding if more else finding.model_copy(update={"suspect": 2})


_NVIDIA_NODE = Lazy(r"/dev/nvidia\d{1,3}(?::|$)")


def _under_ray(machine: Snapshot, env: Mapping[str, str]) -> bool:
    """Whether a program runs on Ray: its package is there, or variables of its own are set."""
    return package(machine, "ray") is not None or any(name.startswith("RAY_") for name in env)


_FAILS = ("invalid-device-ordinal", "cuda-no-device", "visible-devices-said", "hip-cuda-visible-inconsistent")


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
            inner, f"{inner} lists {len(listed)} GPUs within {_HSA}, which has {len(outer)}.", Severity.ERROR, env
        )
    runtime = [t for t in env.get("NVIDIA_VISIBLE_DEVICES", "").split(",") if t.strip().isdigit()]
    numbers = [int(t) for t in env.get(_CUDA, "").split(",") if t.strip().isdigit() and len(t) < 6]
    if runtime and numbers and "amd" not in there and max(numbers) >= len(runtime):
        text = f"{_CUDA} counts within NVIDIA_VISIBLE_DEVICES, which lists {len(runtime)}: the first of them is 0."
        yield _finding(_CUDA, text, Severity.ERROR, env)
    if (
        there == {"nvidia"}
        and any(env.get(name) or (name in env and _fails(machine)) for name in (_HSA, _HIP))
        and run_line.from_text(machine, "environment")
    ):
        name = _HSA if _HSA in env else _HIP
        text = f"{name} is AMD's, and only NVIDIA GPUs are known: programs for both may hide the GPU."
        weak = _finding(name, text, Severity.INFO, env)
        yield weak.model_copy(update={"suspect": 2})


_TOKEN = Lazy(r"-?\d{1,5}|(?:GPU|MIG)-[\w/().-]{1,80}|<.{1,40}>|\$.{1,40}|\w{1,30}\.{3}", re.IGNORECASE)


def _count(machine: Snapshot, name: str, there: frozenset[str], env: Mapping[str, str]) -> int | None:
    """GPUs that the list's numbers count among; None when not known, partitions included."""
    vendor = "nvidia" if name == _CUDA and "nvidia" in there else "amd"
    gpus = machine.of_vendor(vendor)
    given = _given(machine) if vendor == "amd" and there == {"amd"} else 0
    if given and (name == _HSA or not env.get(_HSA)):
        return given
    if not machine.gpus and there == {"amd"} and name != _HSA:
        return len([t for t in env.get(_HSA, "").split(",") if t.strip()]) or None  # ROCR's list bounds the inner one
    parted = any(g.partitions or g.mig_mode == "enabled" or g.compute_partition not in (None, "SPX") for g in gpus)
    numbers = (number for g in gpus for number in (g.index.smi, g.index.hip, g.index.visible) if number is not None)
    cut = any(number >= len(gpus) for number in numbers)  # output is pasted of some of them
    if not cut and machine.symptom("rocminfo-agent-shown-told") is not None:
        cut = run_line.from_text(machine, "gpus") and all(g.index.hip is None and g.index.smi is None for g in gpus)
    # `2x RTX 3090` names one GPU and tells of two.
    told = machine.symptom("several-gpus-told") is not None and not any(presence.listed(machine, gpu) for gpu in gpus)
    if not gpus or parted or cut or (told and len(gpus) == 1) or (name == _CUDA and len(there) > 1):
        return None
    outer = [t for t in env.get(_HSA, "").split(",") if t.strip()]
    return len(outer) if vendor == "amd" and name != _HSA and outer else len(gpus)


_NODE = Lazy(r"/dev/dri/renderD\d{3}(?=:|$)")


def _given(machine: Snapshot) -> int:
    """AMD's GPUs that a container is given one by one; 0 where it gets all of them, or that is not shown."""
    devices = [value.strip("\"'") for value in run_line.options(machine, "--device")]
    if any(re.match(r"/dev/dri/?(?::|$)", value) for value in devices) or run_line.options(machine, "--privileged"):
        return 0
    return len({value.split(":")[0] for value in devices if _NODE.match(value)})


_NO_WORD = "is no list of GPU numbers or ids: only NVIDIA_VISIBLE_DEVICES takes that word"


def _fault(value: str, count: int | None) -> str | None:
    tokens = [t.strip() for t in value.split(",")]
    numbers = [int(t) for t in tokens if t.lstrip("-").isdigit() and len(t) < 6]
    if any(t and not _TOKEN.fullmatch(t) for t in tokens) and value.strip() not in (
        "NoDevFiles",
        "all",
        "void",
        "none",
    ):
        return "is no list of GPU numbers or ids: the list ends there"
    if not value.strip() or value.strip() == "NoDevFiles":
        return "hides every GPU"
    if numbers and numbers[0] < 0:
        return "hides every GPU"
    if len(set(tokens)) < len(tokens):
        return "names a GPU twice or has an empty entry"
    if count is not None and numbers and max(numbers) >= count:
        return f"names GPU {max(numbers)} of {count} (0 to {count - 1})"
    return None


def _finding(name: str, summary: str, severity: Severity, env: Mapping[str, str]) -> Finding:
    shown = [n for n in (_HSA, _HIP, _CUDA, "NVIDIA_VISIBLE_DEVICES") if n in env]
    return Finding(
        summary=summary,
        severity=severity,
        # A list that hides the GPU is why none is seen in a container that was given one.
        explains=(*RULE.explains, "container-missing-gpu-passthrough") if severity is Severity.ERROR else RULE.explains,
        subject=Subject(kind="variable", id=name),
        evidence=tuple(Evidence(text=f"{n}={env[n][:80]}", source="environment") for n in shown),
        fixes=(
            Fix(text=f"Start the program without {name}.", command=("env", "-u", name, "COMMAND"), where="environment"),
        ),
        verify=("env", "-u", name, "python3", "-c", "import torch; print(torch.cuda.device_count())"),
    )
