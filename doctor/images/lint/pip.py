"""Commands of a RUN -> what is wrong with the Python packages that they install."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from doctor.images.lint import project
from doctor.images.lint.model import Fault, Stage
from doctor.knowledge import Knowledge
from doctor.parsers.container.dockerfile_instructions import Instruction
from doctor.parsers.python.dist_info import normal

_AMD = re.compile(r"(?:^|/)rocm/|(?:^|[/:-])rocm[0-9.]*(?:$|[-_:/])|amdih/")
_NVIDIA = re.compile(r"(?:^|/)nvidia/cuda|nvcr\.io/nvidia|-cuda[0-9.]+|(?:^|[/:-])cuda[0-9.]*(?:$|[-_:/])")
_SPLIT = re.compile(r"&&|\|\||;|\n|\|")
_INDEX = re.compile(
    r"/(?P<tag>cu\d{2,3}|rocm\d[\d.]*|cpu|xpu)/?$|repo\.radeon\.com/rocm/manylinux/rocm-rel-(?P<rel>[\d.]+)"
)
_TORCH = frozenset(("torch", "torchvision", "torchaudio"))
_PINS = frozenset(("sglang", "torchaudio", "torchvision", "vllm", "xformers"))
"""Whose metadata asks for one exact torch."""
_BRINGS = _PINS | {"bitsandbytes", "flash-attn", "sentence-transformers", "torchao", "transformer-engine", "unsloth"}
_BRINGS |= {"accelerate", "deepspeed", "diffusers", "lightning", "peft", "pytorch-lightning", "timm", "trl"}
"""Packages whose metadata asks for torch: most for any recent one, which the torch that is there satisfies."""
_PYTORCH_ORG = re.compile(r"download\.pytorch\.org/whl/((?:cu|rocm)[\d.]+)/?$")
_BARE = re.compile(
    r"(?:^|/)(?:nvidia/cuda|rocm/(?:dev-|rocm-terminal|tensorflow|jax)|(?:ubuntu|debian|python|fedora|rockylinux|almalinux|manylinux\w*)(?=[:@]|$))"
)
"""Bases that are known to hold no torch."""
_HELD_TORCH = re.compile(r"(?:^|/)pytorch/pytorch:(\d+\.\d+\.\d+)-|rocm/pytorch:\S*pytorch_release_(\d+\.\d+\.\d+)")
_OF_THE_OTHER = {
    "amd": re.compile(
        r"(?:^|[-_/])cu(?:da)?-?\d\d[x\d]?(?:$|[-_])|(?:^|[-_/])cuda$|^nvidia-(?!ml)|^onnxruntime-gpu$|^tensorflow$"
    ),
    "nvidia": re.compile(r"(?:^|[-_/])rocm"),
}
Opened = Callable[[str], "str | None"]
"""The text of a file in the build context; None where there is none."""
_COMPILED = frozenset(("flash-attn", "transformer-engine", "mamba-ssm", "causal-conv1d"))
"""Whose setup.py takes a wheel of the project's releases page where there is one for this torch, CUDA major and Python
(CachedWheelsCommand), and compiles else."""
_NAME = re.compile(r"(?P<name>[A-Za-z0-9][A-Za-z0-9._-]{0,80})(?:\[(?P<extras>[^\]]{0,100})\])?(?P<rest>.{0,100})$")


_HERE = re.compile(r"\./?(?:\[(?P<extras>[\w,. -]{0,100})\])?")
_CHANGED = frozenset(("*", "clone", "init", "add", "pyproject.toml", "uv.lock"))
"""Words of commands after which the project in the container may be another than the one in the context."""


def vendor_of_image(image: str) -> str | None:
    """Whose GPU software an image holds, as its name says.

    >>> vendor_of_image("rocm/dev-ubuntu-24.04:7.2"), vendor_of_image("pytorch/pytorch:2.13.0-cuda12.6")
    ('amd', 'nvidia')
    >>> vendor_of_image("python:3.12-slim")
    """
    return "amd" if _AMD.search(image) else "nvidia" if _NVIDIA.search(image) else None


def torch_of_image(image: str) -> str | None:
    """The build of torch that an image is known to hold."""
    holds = "pytorch" in image or "vllm" in image or "sglang" in image
    return {"amd": "rocm", "nvidia": "cuda"}.get(vendor_of_image(image) or "") if holds else None


def commands(text: str) -> Iterator[list[str]]:
    """The commands of a RUN, mounts and environment before them taken off."""
    if text.startswith("["):
        text = " ".join(re.findall(r'"([^"]{0,400})"', text))
    for part in _SPLIT.split(text[:40_000]):
        try:
            words = shlex.split(part, comments=True)
        except ValueError:
            words = part.split()
        while words and (
            words[0].startswith("--") or re.match(r"\w{1,80}=", words[0]) or words[0] in ("sudo", "exec", "then")
        ):
            words = words[1:]
        if words:
            yield words


_TAKES_A_VALUE = (
    *("-r", "--requirement", "-c", "--constraint", "--target", "-t", "--torch-backend", "--python", "-p"),
    *("--index-strategy", "--upgrade-strategy", "--trusted-host", "--prefix", "--root", "--no-binary", "--only-binary"),
)


@dataclass
class Install:
    packages: list[tuple[str, str]] = field(default_factory=list)
    """Name and what follows it: `==2.13.0`."""
    index: str | None = None
    extra: list[str] = field(default_factory=list)
    options: set[str] = field(default_factory=set)
    extras: set[str] = field(default_factory=set)
    """Of all packages: `cuda12` of `jax[cuda12]`."""
    files: list[str] = field(default_factory=list)
    """Lists of requirements, by the path that the command has of them."""
    unread: bool = False
    """One of them could not be read."""
    first_index: bool = False
    """uv takes a package from the first index that has it, and asks those of --extra-index-url first."""

    projects: list[list[str]] = field(default_factory=list)
    """Extras of each project of the context that is installed: `-e .[gpu]`."""
    listed: bool = False
    """torch stands in a project's file."""
    own: str = ""
    """`uv` or `conda`, into an environment of its own, without the base's packages."""

    @property
    def names(self) -> set[str]:
        return {name for name, _ in self.packages}

    @property
    def upgrades(self) -> bool:
        return bool(self.options & {"-U", "--upgrade", "--force-reinstall", "-I", "--ignore-installed"})

    @property
    def upgrades_all(self) -> bool:
        """What is named asks for is replaced too."""
        return bool(self.options & {"--force-reinstall", "-I", "--ignore-installed", "eager"})


def install(words: list[str]) -> Install | None:
    """Of `pip install`, `python -m pip install` and `uv pip install`; None of another command."""
    if "install" not in words:
        return None
    at = words.index("install")
    if at == 0 or not re.search(r"(?:^|/)pip[0-9.]*$", words[at - 1]):
        return None
    found = Install()
    _take(found, words[at + 1 :])
    found.first_index = (
        any(w.rpartition("/")[2] == "uv" for w in words[:at]) and "--index-strategy" not in found.options
    )
    return found


def _take(found: Install, words: list[str]) -> None:
    """The words of a command, or of a line of a list of requirements."""
    rest = iter(words)
    for word in rest:
        name, sign, value = word.partition("=")
        if name in ("--index-url", "-i", "--default-index"):
            found.index = value if sign else next(rest, "")
        elif name in ("--extra-index-url", "--index", "-f", "--find-links"):
            found.extra.append(value if sign else next(rest, ""))
        elif name in _TAKES_A_VALUE:
            found.options.add(name)
            value = value if sign else next(rest, "")
            found.files += [value] if name in ("-r", "--requirement") else []
            if name == "--torch-backend":
                found.index = f"https://download.pytorch.org/whl/{value}"
            elif value == "eager":
                found.options.add(value)
        elif word.startswith("-"):
            found.options.add(name)
        elif here := _HERE.fullmatch(word):
            found.projects.append((here["extras"] or "").split(","))
        elif (match := _NAME.match(word)) and not word.startswith((".", "/", "http", "git+")):
            found.packages.append((normal(match["name"]), match["rest"]))
            found.extras |= {extra.strip() for extra in (match["extras"] or "").split(",")}


def read_lists(found: Install, stage: Stage, opened: Opened) -> None:
    """The lists of requirements that lie in the build context, as if their lines were the command's. A list that is
    named in a list is not followed."""
    for path in found.files[:8]:
        text = _opened(path, stage, opened)
        found.unread = found.unread or text is None
        if path.endswith("pyproject.toml"):
            _of_project(found, project.table(text), [], [])
            continue
        for line in (text or "").replace("\\\n", " ").splitlines()[:2000]:
            row = re.split(r"(?:^|\s)#|\s--hash=", line[:2000], maxsplit=1)[0]
            wanted = project.requirement(row.strip())
            _take(found, [project.words(wanted)] if wanted else _line(row))
    for extras in found.projects:
        held = project.table(_opened("pyproject.toml", stage, opened) if _here(stage) else None)
        found.unread = found.unread or not held
        _of_project(found, held, extras, [])


def _line(row: str) -> list[str]:
    """Of a list, what is no requirement: an option, or what pip reads and packaging does not."""
    bare = row.partition(";")[0].split()
    if ";" in row or not bare or bare[0] in ("-r", "--requirement", "-c", "--constraint"):
        return []
    return bare if bare[0].startswith("-") else ["".join(bare)]


def _opened(path: str, stage: Stage, opened: Opened) -> str | None:
    name = path.rpartition("/")[2]
    if stage.touched & {name, "*"}:
        return None
    return opened(stage.copied.get(name, path.lstrip("/") if path.startswith("/") else path))


def _here(stage: Stage) -> bool:
    """Whether the project of the build context was copied, and is the one that an install in the folder takes."""
    return bool(stage.copied.keys() & {"pyproject.toml", ".", ""}) and not stage.touched & _CHANGED


def _of_project(found: Install, held: dict[str, Any], extras: list[str], groups: list[str]) -> None:
    """uv takes torch from where [tool.uv.sources] says, pip does not know of it."""
    for wanted in project.asked(held, extras, groups):
        _take(found, [project.words(wanted)])
        found.listed = found.listed or wanted.name == "torch"
    if found.listed and (found.first_index or found.own) and not found.index:
        found.index, known = project.index_of(held, "torch", extras)
        found.unread = found.unread or not known


_ELSEWHERE = ("--all-packages", "--directory", "--only-group", "--package", "--project")


def _sync(words: list[str], stage: Stage, opened: Opened) -> Install | None:
    """Of `uv sync`: what pyproject.toml asks for, as uv.lock has it. None of another command, or of a workspace."""
    if words[0].rpartition("/")[2] != "uv" or words[1:2] != ["sync"]:
        return None
    found, extras, rest = Install(own="uv"), list[str](), iter(words[2:])
    held = project.table(_opened("pyproject.toml", stage, opened) if _here(stage) else None)
    groups = project.texts(project.at(held, "tool", "uv", "default-groups")) or ["dev"]
    for word in rest:
        name, sign, value = word.partition("=")
        if name in ("--extra", "--group", "--no-group", "--index-url", "--default-index", "--no-install-package"):
            value = value if sign else next(rest, "")
        if "$" in f"{word}{value}" or name in _ELSEWHERE:
            return None
        extras += [value] if name == "--extra" else []
        groups = [*groups, value] if name == "--group" else [] if name == "--no-dev" else groups
        found.index = value if name in ("--index-url", "--default-index") else found.index
        found.unread = found.unread or name in ("--no-group", "--no-install-package", "--all-extras", "--index")
    if not held or found.unread:
        return None
    _of_project(found, held, extras, groups)
    whole = not (project.at(held, "project", "optional-dependencies") or project.at(held, "dependency-groups"))
    lock = project.table(_opened("uv.lock", stage, opened)) if found.listed or whole else {}
    if (exact := project.locked(lock, "torch")) and (found.listed or whole):
        found.packages = [row for row in found.packages if row[0] != "torch"] + [("torch", f"=={exact[0]}")]
        found.listed, found.unread = True, False
        found.index = None if "pypi.org" in exact[1] else exact[1]
    return found


def _conda(each: Instruction, words: list[str], stage: Stage, opened: Opened) -> Iterator[Fault]:
    """Of conda, mamba and micromamba; what an environment's file lists for pip is installed by pip."""
    program, rest = words[0].rpartition("/")[2], iter(words[1:])
    if program not in ("conda", "mamba", "micromamba") or not {"install", "create", "update"} & {*words[1:4]}:
        return
    channels, names, pips, files = list[str](), list[str](), list[str](), list[str]()
    for word in rest:
        name, sign, value = word.partition("=")
        if name in ("-c", "--channel", "-n", "--name", "-p", "--prefix", "-f", "--file"):
            value = value if sign else next(rest, "")
            channels += [value] if name in ("-c", "--channel") else []
            files += [value] if name in ("-f", "--file") else []
        elif not word.startswith("-"):
            names.append(word)
    for path in files[:8]:
        listed = project.conda(_opened(path, stage, opened) or "")
        channels, names, pips = channels + listed[0], names + listed[1], pips + listed[2]
    specs = {re.split(r"[\s=<>!\[]", name.rpartition("::")[2], maxsplit=1)[0]: name for name in names}
    held = specs.get("pytorch", "")
    if _chooses(each):
        return
    if stage.vendor == "nvidia" and ("cpuonly" in specs or "pytorch-cpu" in specs or (held and "=cpu" in held)):
        text = f"pytorch's CPU build on {stage.base[:80]}, which is for GPUs"
        yield Fault(each.line, "image-torch-cpu-only", "error", text, "leave out cpuonly, or take a plain base")
    elif stage.vendor == "nvidia" and held and {*channels, *held.split("::")[:-1]} <= {"conda-forge", "nodefaults"}:
        gpu = "cuda" in held or any(name.startswith(("pytorch-gpu", "pytorch-cuda", "cudatoolkit")) for name in specs)
        if channels and not (gpu or "CONDA_OVERRIDE_CUDA" in stage.values or "CONDA_OVERRIDE_CUDA" in each.text):
            text = "conda-forge's pytorch is the CPU build where the solver sees no GPU, as in a build"
            fix = "ENV CONDA_OVERRIDE_CUDA=12.8 (your CUDA) above it, and pytorch-gpu in the list"
            yield Fault(each.line, "image-torch-cpu-only", "warning", text, fix)
    found = Install(own="conda", listed=True, extras={""})
    for row in pips[:2000]:
        _take(found, row.split() if row.startswith("-") else ["".join(row.partition(";")[0].split())])
    found.packages = [row for row in found.packages if not (row[0] == "torch" and held)]
    yield from _installed(each, found, stage, opened)
    if wrong := next((name for name in sorted(specs) if stage.vendor == "amd" and name in _CONDA_CUDA), None):
        text = f"{wrong} is for the GPUs of another vendor than {stage.base[:80]}"
        yield Fault(each.line, "image-wheel-index-wrong", "error", text, "take the one for this base, or another base")


_CONDA_CUDA = ("cudatoolkit", "cuda-toolkit", "cudnn", "pytorch-cuda")


def faults(each: Instruction, command: list[str], stage: Stage, opened: Opened) -> Iterator[Fault]:
    found = install(command) or _sync(command, stage, opened)
    if found is None:
        yield from _conda(each, command, stage, opened)
        names = {word.rpartition("/")[2] for word in command}
        # A script that was copied may write any of the files beside it.
        runs = any(name.endswith((".py", ".sh")) and name in stage.copied for name in names)
        stage.touched |= names | ({"*"} if runs else set())
        stage.touched |= {"pyproject.toml"} if "pyproject.toml" in re.sub(r"--mount=\S+", "", each.text) else set()
        return
    yield from _installed(each, found, stage, opened)


def _installed(each: Instruction, found: Install, stage: Stage, opened: Opened) -> Iterator[Fault]:
    read_lists(found, stage, opened)
    if found.names & {"torch"}:
        yield from _torch(each, found, stage)
    elif stage.torch == "rocm":
        yield from _not_held(each, found, stage)
    yield from _compiled(each, found, stage)
    yield from _of_another_vendor(each, found, stage)
    stage.packages |= found.names | {f"jax-{extra}" for extra in found.extras if "jax" in found.names}
    if "jax" in found.names:
        stage.jax = each.line


def _chooses(each: Instruction) -> bool:
    """Whether a RUN may install for one vendor or the other."""
    return re.search(r"\b(?:if|case)\b", each.text[:20_000]) is not None


def build_of(url: str | None) -> str | None:
    """`rocm`, `cuda`, `cpu`: which builds an index holds; None for one that holds all, or is not known."""
    match = _INDEX.search((url or "").split("?")[0])
    if match is None:
        return None
    tag = match["tag"] or "rocm"
    return "cuda" if tag.startswith("cu") else "rocm" if tag.startswith("rocm") else tag


def _torch(each: Instruction, found: Install, stage: Stage) -> Iterator[Fault]:
    # A project may ask for it twice, and for an exact one in an extra.
    rows = [rest.strip() for name, rest in found.packages if name == "torch"]
    exact = [rest for rest in rows if rest.startswith(("==", "===", "@", "~="))]
    rest, pinned = (exact or rows)[0], bool(exact)
    if "torch" in stage.packages and not (pinned or found.upgrades or found.own):
        return  # pip and uv leave the one that is there
    local, bare = rest.partition("+")[2], bool(found.own) or _BARE.search(stage.base) is not None
    only = build_of(found.index)
    extra = next((build_of(url) for url in found.extra if build_of(url)), None)
    build = build_of(f"/{local}") or only or extra
    wanted = None if _chooses(each) else {"amd": "rocm", "nvidia": "cuda"}.get(stage.vendor or "")
    if wanted and build == "cpu":
        text = f"torch's CPU build on {stage.base[:80]}, which is for GPUs"
        fix = f"take it from https://download.pytorch.org/whl/{'rocm7.2' if wanted == 'rocm' else 'cu130'}"
        yield Fault(each.line, "image-torch-cpu-only", "error", text, fix)
    elif wanted and build in ("rocm", "cuda") and build != wanted:
        text = f"torch's {build} build on {stage.base[:80]}"
        yield Fault(each.line, "image-wheel-index-wrong", "error", text, f"take the {wanted} build, or another base")
    elif wanted == "rocm" and build is None and not found.unread:
        held = stage.held or found.options & {"-c", "--constraint"}
        if (stage.torch == "rocm" and held) or not (bare or "torch" in stage.packages):
            return
        url = found.index or any(re.match(r"(?:PIP|UV)_\w*(?:INDEX|TORCH)", name) for name in stage.values)
        if not url and not found.extra:
            text = "torch from the default index is built for CUDA: torch.cuda.is_available() will be False on AMD"
            fix = "--index-url https://download.pytorch.org/whl/rocm7.2 (your ROCm)"
            fix = f"an index in [tool.uv.sources] instead of {fix}" if found.own == "uv" else fix
            yield Fault(each.line, "image-wheel-index-missing", "error", text, fix)
    tag = "".join(_PYTORCH_ORG.findall(found.index or ""))
    if tag or not found.index:  # what another index has is not known
        yield from _not_built(each.line, found, local or tag, stage)
    open_ = extra in ("cuda", "rocm") and not only and not found.first_index
    if open_ and not pinned:  # of one version pip prefers the build with a local label, which the default index has not
        tags = [tag for url in found.extra for tag in _PYTORCH_ORG.findall(url)]
        text = "the default index may have a newer torch than the extra one, and pip takes the newest"
        if any(map(_ended, tags)):
            text = f"the default index has newer torch than {tags[0]}, which has no new ones, and pip takes the newest"
        fix = "--index-url for torch alone, in a command of its own"
        yield Fault(each.line, "image-wheel-index-open", "warning", text, fix)
    elif (
        not (pinned or found.listed or "$" in rest)
        and bare
        and (stage.vendor or build in ("cuda", "rocm"))
        and not _ended(tag)
    ):
        text, fix = "torch without a version: the next build takes another", "torch==VERSION"
        yield Fault(each.line, "image-torch-unpinned", "warning", text, fix)
    stage.torch = build or {"nvidia": "cuda"}.get(stage.vendor or "", stage.torch or "cuda")
    stage.values["torch-tag"] = local or (found.index or next(iter(found.extra), "")).rstrip("/").rpartition("/")[2]


def _ended(tag: str) -> bool:
    """The newest torch is not built for this CUDA or ROCm any more, so that its index stays as it is."""
    releases = [{*r.cuda_variants, *(f"rocm{v}" for v in r.rocm_variants)} for r in Knowledge().torch_releases()]
    known = [tags for tags in releases if tags]
    return any(tag in tags for tags in known) and tag not in known[-1]


def _not_built(line: int, found: Install, tag: str, stage: Stage) -> Iterator[Fault]:
    """An exact torch that was never built so, or beside torchvision and torchaudio of another. `tag`: cu128."""
    exact = {n: m[1] for n, rest in found.packages if (m := re.fullmatch(r"==(\d+\.\d+\.\d+)(?:\+\S+)?", rest.strip()))}
    version = exact.get("torch", "")
    release, companions = Knowledge().torch_build(version), Knowledge().companions(version)
    built = [*release.cuda_variants, *(f"rocm{v}" for v in release.rocm_variants)] if release else []
    if built and tag.startswith(("cu", "rocm")) and tag not in built:
        text = f"torch {version} was not built for {tag}: pip finds none; there are {', '.join(built)}"
        yield Fault(line, "image-wheel-index-wrong", "error", text, "take another build, or another torch")
    for name in sorted(_TORCH & set(exact)):
        made = companions.made_for(name) if companions else ()
        if made and exact[name] not in made and not (companions and companions.serves_from(name)):
            text = f"{name} {exact[name]} is not for torch {version}, which needs {name} {made[0]}"
            yield Fault(line, "image-torch-not-held", "error", text, f"{name}=={made[0]}")
    there = _HELD_TORCH.search(stage.base)
    if there and version not in ("", there[1] or there[2]) and not found.names & (_TORCH - {"torch"}):
        text = f"torch {version} replaces {there[1] or there[2]} of the base, whose torchvision and torchaudio stay"
        fix = "leave torch out of the list, or take a base with this torch"
        yield Fault(line, "image-torch-not-held", "warning", text, fix)


def _of_another_vendor(each: Instruction, found: Install, stage: Stage) -> Iterator[Fault]:
    pattern = _OF_THE_OTHER.get(stage.vendor or "")
    if pattern is None or _chooses(each):
        return
    names = (*sorted(found.names), *sorted(found.extras), *found.files)
    if wrong := next((name for name in names if pattern.search(name.removesuffix(".txt"))), None):
        text = f"{wrong[:60]} is for the GPUs of another vendor than {stage.base[:80]}"
        yield Fault(each.line, "image-wheel-index-wrong", "error", text, "take the one for this base, or another base")


def _not_held(each: Instruction, found: Install, stage: Stage) -> Iterator[Fault]:
    safe = found.options & {"--no-deps", "-c", "--constraint"} or stage.held
    if safe or build_of(found.index) == "rocm" or any(build_of(url) == "rocm" for url in found.extra):
        return
    there = set() if found.upgrades or found.upgrades_all else stage.packages
    if names := found.names & (_TORCH | _BRINGS if found.upgrades_all else _PINS) - there:
        how = "what {} asks for is installed again" if found.upgrades_all else "{} asks for one exact torch"
        text = f"{how.format(min(names))}, and the default index has torch for CUDA only"
        fix = "ENV PIP_CONSTRAINT=… with torch==VERSION+rocm… in it, or --no-deps"
        yield Fault(each.line, "image-torch-not-held", "warning", text, fix)


def _compiled(each: Instruction, found: Install, stage: Stage) -> Iterator[Fault]:
    compiled = sorted(found.names & _COMPILED)
    base = re.search(r"nvidia/cuda:(\d{1,2})\.\S{1,40}-devel", stage.base)
    torch = re.fullmatch(r"cu(\d{2})\d", stage.values.get("torch-tag", ""))
    if compiled and base and torch and base[1] != torch[1] and "--only-binary" not in found.options:
        text = f"{compiled[0]}, where it is compiled, is compiled with CUDA {base[1]} for a torch of CUDA {torch[1]}"
        yield Fault(each.line, "image-toolkit-torch-mismatch", "warning", text, "base and torch of one CUDA major")
