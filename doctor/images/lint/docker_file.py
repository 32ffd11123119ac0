"""Instructions of a Dockerfile -> faults. Each stage is looked at with what it is built on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from doctor.images.lint import pip
from doctor.images.lint.model import Fault
from doctor.readers.dockerfile_instructions import Instruction

_VARIABLE = re.compile(r"\$(?:\{(?P<braced>\w{1,80})(?::?[-+](?P<default>[^}]{0,200}))?\}|(?P<plain>\w{1,80}))")
_DRIVER = re.compile(
    r"(?:nvidia-driver(?:-\S+)?|cuda-drivers(?:-\S+)?|nvidia-utils-\S+|libnvidia-(?:compute|gl|encode)-\S+|"
    r"nvidia-dkms-\S+|nvidia-open(?:-\S+)?|nvidia-kernel-\S+|amdgpu-dkms(?:-\S+)?|cuda)(?:[=:].*)?$"
)
_MODULES = re.compile(r"\bdepmod\b")
_COMPAT = re.compile(r"/cuda(?:\$\([^)\n]{0,80}\)|[^/\s:$]|\$(?!\()){0,80}/compat\b")
_CACHED = re.compile(r"\bldconfig\s[^;&\n]{0,200}/compat\b")
"""The folder's libraries are in the loader's cache from then on."""
_GROUP = re.compile(
    r"\b(?:usermod\s+(?:-\w+\s+)*-\w*G\w*\s+(?:\w+,)*|"
    r"useradd\s+(?:.{0,200}?\s)?(?:-G|--groups)[ =](?:\w+,)*|"
    r"adduser\s+\S{1,60}\s+|gpasswd\s+-a\s+\S{1,60}\s+)(?P<group>render|video)\b"
)
_BAKED = {
    "HSA_OVERRIDE_GFX_VERSION": "is right for one GPU and wrong for each other; it belongs to the run",
    "CUDA_VISIBLE_DEVICES": "hides GPUs from whoever runs the image; it belongs to the run",
    "HIP_VISIBLE_DEVICES": "hides GPUs from whoever runs the image; it belongs to the run",
    "ROCR_VISIBLE_DEVICES": "hides GPUs from whoever runs the image; it belongs to the run",
    "CUDA_LAUNCH_BLOCKING": "makes each launch wait; it is for debugging",
    "AMD_SERIALIZE_KERNEL": "makes each launch wait; it is for debugging",
    "HSA_ENABLE_SDMA": "is a debugging variable: copies take compute units",
    "NCCL_IB_DISABLE": "sends collectives over TCP on machines that have InfiniBand",
    "NVIDIA_DISABLE_REQUIRE": "lets the image start on drivers that are too old for it",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "turns float32 into TF32 silently",
}
_HARMLESS = {
    "CUDA_LAUNCH_BLOCKING": "0",
    "AMD_SERIALIZE_KERNEL": "0",
    "HSA_ENABLE_SDMA": "1",
    "NCCL_IB_DISABLE": "0",
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": "0",
    "NVIDIA_DISABLE_REQUIRE": "0",
}


@dataclass
class Stage:
    """`base`: the image at the bottom of it; `vendor` of its GPU software, None where the name does not say."""

    base: str
    name: str | None = None
    vendor: str | None = None
    compiler: bool = False
    held: bool = False
    """A constraint keeps torch where it is."""
    torch: str | None = None
    """Build of torch that is in it: `rocm`, `cuda`, `cpu`."""
    values: dict[str, str] = field(default_factory=dict)


def faults(instructions: Sequence[Instruction]) -> Iterator[Fault]:
    stages: dict[str, Stage] = {}
    outer: dict[str, str] = {}
    stage: Stage | None = None
    # An image whose purpose is the driver (of an operator's) registers the modules that it builds.
    drivers = any(each.name == "RUN" and _MODULES.search(each.text[:20_000]) for each in instructions)
    for each in instructions:
        if each.name == "FROM":
            stage, found = _from(each, stages, outer)
            stages[str(len(stages))] = stage
            if stage.name:
                stages[stage.name] = stage
            yield from found
        elif each.name == "ARG":
            _argument(each, stage.values if stage else outer, outer)
        elif stage is None:
            continue
        elif each.name == "ENV":
            yield from _environment(each, stage)
        elif each.name == "RUN":
            yield from (f for f in _run(each, stage) if not (drivers and f.rule == "image-driver-installed"))


def _from(each: Instruction, stages: dict[str, Stage], outer: dict[str, str]) -> tuple[Stage, list[Fault]]:
    words = [w for w in each.text.split() if not w.startswith("--")]
    name = words[2].lower() if len(words) == 3 and words[1].lower() == "as" else None
    image = expanded(words[0], outer) if words else ""
    if image.lower() in stages:
        under = stages[image.lower()]
        return replace(under, name=name, values=dict(under.values)), []
    stage = Stage(image, name, pip.vendor_of_image(image), _compiles(image), torch=pip.torch_of_image(image))
    known = "$" not in image and image not in ("", "scratch") and "@" not in image
    if not known:
        return stage, []
    tag = image.rpartition("/")[2].partition(":")[2]
    level = "warning" if tag in ("", "latest") else "info"
    fix = f"FROM {image.partition('@')[0]}@sha256:…; `docker buildx imagetools inspect {image}` prints it"
    text = f"{image} {'has no tag' if not tag else 'is a tag'}: what it stands for changes"
    return stage, [Fault(each.line, "image-base-moves", level, text, fix)]  # type: ignore[arg-type]


def _compiles(image: str) -> bool:
    return any(mark in image for mark in ("-devel", "rocm/dev-", "rocm/pytorch", "rocm/vllm", "nvcr.io/nvidia/"))


def expanded(text: str, values: dict[str, str]) -> str:
    """With the variables that are known; the others stay as they are."""

    def value(found: re.Match[str]) -> str:
        name = found["braced"] or found["plain"]
        return values.get(name) or found["default"] or found[0]

    return _VARIABLE.sub(value, text[:4000])


def _argument(each: Instruction, values: dict[str, str], outer: dict[str, str]) -> None:
    for word in _words(each.text):
        name, sign, value = word.partition("=")
        if sign:
            values[name] = expanded(value, values)
        elif name in outer:
            values[name] = outer[name]


def _words(text: str) -> list[str]:
    try:
        return shlex.split(text[:8000])
    except ValueError:
        return text.split()


def _environment(each: Instruction, stage: Stage) -> Iterator[Fault]:
    words = _words(each.text)
    pairs = [w.partition("=") for w in words if "=" in w] or ([(words[0], "=", " ".join(words[1:]))] if words else [])
    for name, _, value in pairs:
        value = expanded(value, stage.values)
        stage.values[name] = value
        if name in ("PIP_CONSTRAINT", "UV_CONSTRAINT", "UV_OVERRIDE"):
            stage.held = True
        if name == "LD_LIBRARY_PATH" and _COMPAT.search(value):
            yield _compat(each.line)
        if name == "NVIDIA_DISABLE_REQUIRE" and "cuda" not in stage.base and stage.torch is None:
            continue  # a tool that computes nothing may well start on any driver
        if name in _BAKED and value and value != _HARMLESS.get(name):
            yield Fault(
                each.line,
                "image-flag-baked",
                "warning",
                f"{name}={value[:40]} {_BAKED[name]}",
                f"-e {name}=… where it is run",
            )


def _compat(line: int) -> Fault:
    return Fault(
        line,
        "image-compat-on-loader-path",
        "error",
        "CUDA's compatibility libraries shadow the host's driver: newer ones and GeForce fail with errors 803, 804",
        "leave the path out; NVIDIA's toolkit enables them where they help",
    )


def _run(each: Instruction, stage: Stage) -> Iterator[Fault]:
    text = expanded(each.text, stage.values)
    if found := _GROUP.search(text[:20_000]):
        yield Fault(
            each.line,
            "image-group-by-name",
            "warning",
            f"group {found['group']} has this image's number; the devices bear the host's",
            "pass the number where it is run: --group-add $(stat -c %g /dev/kfd), or `doctor run`",
        )
    if _COMPAT.search(text) and ("ld.so.conf" in text or "LD_LIBRARY_PATH" in text or _CACHED.search(text[:20_000])):
        yield _compat(each.line)
    for command in pip.commands(text):
        yield from _packages(each, command)
        yield from pip.faults(each, command, stage)


def _packages(each: Instruction, command: list[str]) -> Iterator[Fault]:
    if (
        not any(c in ("apt-get", "apt", "dnf", "yum", "zypper", "microdnf") for c in command[:3])
        or "install" not in command
    ):
        if command and command[0].endswith("amdgpu-install") and "--no-dkms" not in command:
            yield _driver(each.line, "amdgpu-install without --no-dkms")
        return
    for word in command[command.index("install") + 1 :]:
        if not word.startswith("-") and _DRIVER.match(word):
            yield _driver(each.line, word)


def _driver(line: int, what: str) -> Fault:
    text = (
        f"{what[:60]} brings a driver: the kernel's part is the host's, and the libraries must be of the same version"
    )
    fix = "install the user space only (cuda-toolkit-…, rocm …, amdgpu-install --no-dkms); the engine passes the rest"
    return Fault(line, "image-driver-installed", "error", text, fix)
