"""Instructions of a Dockerfile -> faults. Each stage is looked at with what it is built on."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace

from doctor.errors import ParserError
from doctor.images.bases import base_of
from doctor.images.lint import pip
from doctor.images.lint.model import Fault, Stage
from doctor.images.lint.pip import Opened
from doctor.parsers.container import dockerfile_instructions as dockerfile
from doctor.parsers.container.dockerfile_instructions import Instruction

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
    r"\b(?:usermod\s+(?:-\w+\s+)*-\w*G\w*\s+|"
    r"useradd\s+(?:.{0,200}?\s)?(?:-G|--groups)[ =]|"
    r"adduser\s+\S{1,60}\s+|gpasswd\s+-a\s+\S{1,60}\s+)(?P<group>\$?[\w,{}-]{1,80})"
)
_HIDES = "hides GPUs from whoever runs the image; it belongs to the run"
_WAITS = "makes each launch wait; it is for debugging"
_BAKED = {
    "HSA_OVERRIDE_GFX_VERSION": (None, "is right for one GPU and wrong for each other; it belongs to the run"),
    **dict.fromkeys(("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"), (None, _HIDES)),
    **dict.fromkeys(("CUDA_LAUNCH_BLOCKING", "AMD_SERIALIZE_KERNEL"), ("0", _WAITS)),
    "HSA_ENABLE_SDMA": ("1", "is a debugging variable: copies take compute units"),
    "NCCL_IB_DISABLE": ("0", "sends collectives over TCP on machines that have InfiniBand"),
    "NVIDIA_DISABLE_REQUIRE": ("0", "lets the image start on drivers that are too old for it"),
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": ("0", "turns float32 into TF32 silently"),
}
"""Name → the value that does no harm, and what another does."""
_NUMBERED = re.compile(r"\b(?:groupadd|addgroup)\b[^&;|\n]{0,80}?(?:-g|--gid)[ =]\S{1,40}[^&;|\n]{0,80}\brender\b")
_GPU_SOFTWARE = re.compile(r"pytorch|tensorflow|vllm|sglang|jax|triton")
_OF_OTHERS = re.compile(r"habana|neuron|intel|tpu")
_UNQUOTED = re.compile(r"pip3? install\b[^&|;\n'\"]{0,2000}?\s([A-Za-z][\w.-]{0,80}(?:\[[\w,]{0,80}\])?>=?\d\S{0,40})")
_TARGET = re.compile(r"\bgfx[0-9a-f]{3,5}\b")
_UNSIGNED = re.compile(r"\btrusted=yes\b[^\]]{0,100}\]\s{1,20}(?!file:|copy:)\S|--allow-unauthenticated\b")
_AMD_REPOSITORY = re.compile(r"repo\.radeon\.com/[^\s'\"]{1,120}?[/\s](?P<name>bionic|focal|jammy|noble|resolute)\b")


_AT_RUN = frozenset(
    ("image-base-upgraded", "image-compat-on-loader-path", "image-driver-installed", "image-flag-baked")
)
"""What matters where a container runs, and not in a stage that others copy files from."""
_BOUND = re.compile(r"--mount=(?=\S{0,200}type=bind)(?!\S{0,200}from=)\S{0,200}?(?:source|src)=([\w./-]{0,100})")
"""Files of the build context that a RUN is shown."""
_FROM_STAGE = re.compile(r"\bfrom=([\w.-]{1,80})")


def faults(instructions: Sequence[Instruction], opened: Opened) -> Iterator[Fault]:
    idle = _handed_on(instructions)
    yield from (f for f in _faults(instructions, opened) if not (f.rule in _AT_RUN and f.line in idle))


def _handed_on(instructions: Sequence[Instruction]) -> set[int]:
    """Lines of stages that no image is made of: others copy files from them."""
    names, under = dict[str, int](), list["int | None"]()
    given, lines, runs = set[int](), list[tuple[int, int]](), set[int]()
    for each in instructions:
        if each.name == "FROM":
            words = [word.lower() for word in each.text.split() if not word.startswith("--")]
            names[str(len(under))] = names[words[2] if len(words) == 3 else ""] = len(under)
            under.append(names.get(words[0]) if words else None)
        given |= {names[name.lower()] for name in _FROM_STAGE.findall(each.text[:20_000]) if name.lower() in names}
        lines.append((each.line, len(under) - 1))
    for end in {*range(len(under))} - given - {*under} | {len(under) - 1}:
        index: int | None = end
        while index is not None and index not in runs:
            runs.add(index)
            index = under[index] if index >= 0 else None
    return {line for line, index in lines if index not in runs}


def built(text: str, target: str | None) -> Stage | None:
    """The stage that an image is made of; None where the text is no Dockerfile or has no such stage."""
    stages = dict[str, Stage]()
    try:
        list(_faults(dockerfile.read(text), lambda _: None, stages))
    except ParserError:
        return None
    return stages.get(target.lower()) if target else list(stages.values())[-1]


def _faults(
    instructions: Sequence[Instruction], opened: Opened, stages: dict[str, Stage] | None = None
) -> Iterator[Fault]:
    stages = {} if stages is None else stages
    outer: dict[str, str] = {}
    stage: Stage | None = None
    moving: list[tuple[int, str]] = []
    # An image whose purpose is the driver (of an operator's) registers the modules that it builds.
    drivers = any(each.name == "RUN" and _MODULES.search(each.text[:20_000]) for each in instructions)
    targets = {target for each in instructions for target in _TARGET.findall(each.text[:20_000])}
    for each in instructions:
        if each.name == "FROM":
            stage = _from(each, stages, outer, moving)
            stages[stage.name or str(len(stages))] = stage
        elif each.name == "ARG":
            _argument(each, stage.values if stage else outer, outer)
        elif stage is None:
            continue
        elif each.name == "ENV":
            yield from _environment(each, stage, targets)
        elif each.name == "USER":
            stage.user = expanded(each.text, stage.values).partition(":")[0].strip()
        elif each.name in ("CMD", "ENTRYPOINT"):
            stage.command |= {each.name: " ".join(re.findall(r'"([^"]{0,400})"', each.text)) or each.text}
        elif each.name in ("COPY", "ADD"):
            sources = [w for w in _words(each.text) if not w.startswith("--")][:-1]
            stage.copied |= {w.rpartition("/")[2]: w for w in sources if "--from=" not in each.text}
        elif each.name == "RUN":
            stage.copied |= {w.rpartition("/")[2]: w for w in _BOUND.findall(each.text[:20_000])}
            yield from (f for f in _run(each, stage, opened) if not (drivers and f.rule == "image-driver-installed"))
    yield from _moves(moving)
    if stage:
        yield from _groups(stage)
        if stage.jax and stage.vendor and not any(re.match(r"jax-(?:cuda|rocm|tpu)", name) for name in stage.packages):
            build = "cuda13" if stage.vendor == "nvidia" else "rocm7-local"
            text = f"jax without a plugin for the GPUs of {stage.base[:80]} computes on the CPU"
            yield Fault(stage.jax, "image-jax-cpu-only", "warning", text, f"jax[{build}], of your release")


def _of_gpu_software(name: str) -> bool:
    """By the repository's name below its owner's."""
    repository = name.partition("/")[2]
    return bool(_GPU_SOFTWARE.search(repository)) and not _OF_OTHERS.search(name)


def _moves(bases: Sequence[tuple[int, str]]) -> Iterator[Fault]:
    """One remark for the whole file, since all of its bases are named at its top."""
    if not bases:
        return
    names = list(dict.fromkeys(image for _, image in bases))
    software = [name for name in names if pip.vendor_of_image(name) or _of_gpu_software(name)]
    untagged = [n for n in software if re.match(r"$|latest(?:-|$)", n.rpartition("/")[2].partition(":")[2])]
    first = (untagged or names)[0]
    shown = ", ".join(names[:4]) + (f" and {len(names) - 4} more" if names[4:] else "")
    text = f"{shown}: {'tags move' if names[1:] else 'a tag moves'}, and a digest does not"
    if untagged:
        text = f"{first} is whatever was pushed last" + (f"; {text}" if names[1:] else "")
    fix = f"FROM {first}@sha256:…; `docker buildx imagetools inspect {first}` prints it"
    yield Fault(bases[0][0], "image-base-moves", "warning" if untagged else "info", text, fix)


def _groups(stage: Stage) -> Iterator[Fault]:
    """Of a user that is no root. A number is somebody's knowledge of a host."""
    if stage.vendor == "nvidia" or stage.user in ("", "0", "root"):
        return
    fix = "pass the number where it is run: --group-add $(stat -c %g /dev/kfd), or `doctor run`"
    line = stage.groups.get("render")
    if line and "numbered" not in stage.groups:
        text = "group render has this image's number; the devices bear the host's"
        yield Fault(line, "image-group-by-name", "warning", text, fix)
    elif stage.vendor == "amd" and set(stage.groups) == {"video"}:  # with one number on each Debian and Ubuntu
        text = f"user {stage.user[:40]} is in group video; /dev/kfd and the render nodes belong to group render"
        yield Fault(stage.groups["video"], "image-group-video-alone", "warning", text, fix)


def _from(each: Instruction, stages: dict[str, Stage], outer: dict[str, str], moving: list[tuple[int, str]]) -> Stage:
    words = [w for w in each.text.split() if not w.startswith("--")]
    name = words[2].lower() if len(words) == 3 and words[1].lower() == "as" else None
    image = expanded(words[0], outer) if words else ""
    if image.lower() in stages:
        under = stages[image.lower()]
        own = {"values": dict(under.values), "packages": set(under.packages), "groups": dict(under.groups)}
        return replace(under, name=name, copied={}, touched=set(), **own)  # type: ignore[arg-type]
    if "$" not in image and image not in ("", "scratch") and "@" not in image:
        moving.append((each.line, image))
    torch = pip.torch_of_image(image)
    packages = {"torch", "torchvision", "torchaudio"} if torch else set()
    packages |= {server for server in ("vllm", "sglang") if server in image}
    return Stage(image, name, pip.vendor_of_image(image), torch=torch, packages=packages)


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


def _environment(each: Instruction, stage: Stage, targets: set[str]) -> Iterator[Fault]:
    """`targets`: all GPU targets that the file names."""
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
        if name == "HSA_OVERRIDE_GFX_VERSION" and targets == {f"gfx{value.replace('.', '')}"}:
            continue  # the image is made for this GPU alone
        if name in _BAKED and value and value != _BAKED[name][0]:
            text = f"{name}={value[:40]} {_BAKED[name][1]}"
            yield Fault(each.line, "image-flag-baked", "warning", text, f"-e {name}=… where it is run")


def _compat(line: int) -> Fault:
    text = "CUDA's compatibility libraries shadow the host's driver: newer ones and GeForce fail with errors 803, 804"
    fix = "leave the path out; NVIDIA's toolkit enables them where they help"
    return Fault(line, "image-compat-on-loader-path", "error", text, fix)


def _run(each: Instruction, stage: Stage, opened: Opened) -> Iterator[Fault]:
    text = expanded(each.text, stage.values)
    groups = [name for found in _GROUP.finditer(text[:20_000]) for name in found["group"].split(",")]
    stage.groups |= {n: each.line for n in groups if n in ("render", "video") or not n.isalpha()}
    if _NUMBERED.search(text[:20_000]):
        stage.groups["numbered"] = each.line
    yield from _sources(each, text, stage)
    for requirement in _UNQUOTED.findall(each.text[:20_000]):
        text_ = f"{requirement[:60]} without quotes: the shell writes to a file, and pip gets no bound"
        yield Fault(each.line, "image-requirement-unquoted", "warning", text_, f"'{requirement[:60]}'")
    if _COMPAT.search(text) and ("ld.so.conf" in text or "LD_LIBRARY_PATH" in text or _CACHED.search(text[:20_000])):
        yield _compat(each.line)
    for command in pip.commands(text):
        yield from _packages(each, command, stage)
        yield from _unverified(each.line, command)
        yield from _upgraded(each.line, command, stage)
        yield from pip.faults(each, command, stage, opened)


def _sources(each: Instruction, text: str, stage: Stage) -> Iterator[Fault]:
    """Lists of apt's that a RUN writes."""
    if _UNSIGNED.search(text[:20_000]):
        yield _open_door(each.line, "apt may take packages without a signature", "signed-by= and the repository's key")
    base = base_of(stage.base)
    found = _AMD_REPOSITORY.search(text[:20_000])
    if found and base and base.os == "ubuntu" and found["name"] != base.codename:
        text = f"AMD's repository for {found['name']} on {base.words} ({base.codename})"
        fix = f"the one for {base.codename}, or another base"
        yield Fault(each.line, "image-repository-other-release", "warning", text, fix)


def _unverified(line: int, command: list[str]) -> Iterator[Fault]:
    program = command[0].rpartition("/")[2]
    short = any(re.fullmatch(r"-[A-Za-z]*k[A-Za-z]*", word) for word in command)
    if program == "wget" and "--no-check-certificate" in command:
        yield _open_door(line, "wget --no-check-certificate", "ca-certificates, or the authority's file")
    elif program == "curl" and ("--insecure" in command or short):
        yield _open_door(line, "curl --insecure", "ca-certificates, or --cacert FILE")


def _open_door(line: int, what: str, fix: str) -> Fault:
    return Fault(line, "image-download-unverified", "warning", f"{what}: whoever answers is believed", fix)


def _upgraded(line: int, command: list[str], stage: Stage) -> Iterator[Fault]:
    """Of packages that are named, only those are."""
    words = [word for word in command if not word.startswith("-")]
    manager = words[0].rpartition("/")[2] if words else ""
    all_ = ("upgrade", "dist-upgrade", "full-upgrade") if manager in ("apt", "apt-get") else ("update", "upgrade")
    if manager not in ("apt", "apt-get", "dnf", "yum", "microdnf") or len(words) != 2 or words[1] not in all_:
        return
    if "nvidia/cuda:" in stage.base:  # AMD's images keep the repository of their one release
        text = f"all packages are upgraded, those of CUDA too that {stage.base[:80]} does not hold"
        fix = "install by name what is needed, or take a newer base"
        yield Fault(line, "image-base-upgraded", "warning", text, fix)


def _packages(each: Instruction, command: list[str], stage: Stage) -> Iterator[Fault]:
    if not {"apt-get", "apt", "dnf", "yum", "zypper", "microdnf"} & {*command[:3]} or "install" not in command:
        if command and command[0].endswith("amdgpu-install") and "--no-dkms" not in command:
            yield _driver(each.line, "amdgpu-install without --no-dkms")
        return
    for word in command[command.index("install") + 1 :]:
        if not word.startswith("-") and _DRIVER.match(word):
            yield _driver(each.line, word)
        own, toolkit = re.search(r"nvidia/cuda:(\d+)\.", stage.base), re.match(r"cuda-toolkit-(\d+)-\d", word)
        if own and toolkit and own[1] != toolkit[1]:
            text = f"{word[:60]} beside CUDA {own[1]} of {stage.base[:80]}: /usr/local/cuda is one of them"
            yield Fault(each.line, "image-toolkit-torch-mismatch", "warning", text, "take a base of that CUDA")


def _driver(line: int, what: str) -> Fault:
    text = f"{what[:60]} brings a driver; it is the host's, and its libraries must be of the same version"
    fix = "install the user space only (cuda-toolkit-…, rocm …, amdgpu-install --no-dkms); the engine passes the rest"
    return Fault(line, "image-driver-installed", "error", text, fix)
