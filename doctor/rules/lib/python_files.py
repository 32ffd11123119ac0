"""What files alone prove about the user's environment, one function a rule: called first by the rules of rules/python,
which then judge by tables of releases and by texts. Findings of one subject become one (engine/rank.py)."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Evidence, Finding, Severity, Subject, evidence
from doctor.knowledge.gpu_code import way
from doctor.knowledge.requirements import python_unmet, tested_tensorflow, unmet
from doctor.redaction.lazy import Lazy
from doctor.rules.lib.arguments import Knowledge
from doctor.rules.lib.pip import python_after
from doctor.rules.lib.python_code import one_an_arch
from doctor.rules.lib.python_packages import pip_install
from doctor.rules.lib.python_pins import lacking_symbols, of_pin, of_pins, of_symbols
from doctor.rules.lib.toolkits import toolkit_of_torch
from doctor.rules.lib.torch_install import install, see_gpu
from doctor.versions import Dotted

COMPILED = (
    "xformers", "flash-attn", "flash-attn-3", "sgl-kernel", "fbgemm-gpu", "transformer-engine-torch", "torchcodec",
    "causal-conv1d", "mamba-ssm", "torch-tensorrt", "torchrec", "autoawq-kernels", "auto-gptq",
)  # fmt: skip
"""Extensions whose requirement of torch is one of binaries."""
_FAMILY = ("torchvision", "torchaudio")
_TRITON = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")
KERNEL_LIBRARIES = (
    "flashinfer-python", "flashinfer-cubin", "flashinfer-jit-cache", "sgl-kernel", "sglang-kernel", "aiter",
    "amd-aiter", "flash-attn-4", "apache-tvm-ffi", "xgrammar",
)  # fmt: skip
_JAX = Lazy(r"^jax-(?:cuda|rocm)\d{1,3}-(?:plugin|pjrt)$|^jaxlib$|^jax$")
_OF_PTX = ("torch.arch_list", "torch.ptx", "torch.cuda", "nvidia_driver.cuda_version")


def extension_abi(machine: Snapshot) -> Iterator[Finding]:
    """Names that an extension wants from torch and torch does not define; then exact pins that are not met."""
    named: set[str] = set()
    for binary, names in lacking_symbols(machine, but=(*_FAMILY, "vllm")):
        named.add(binary.package or "")
        yield of_symbols(machine, binary, names)
    yield from (f for f in of_pins(machine, packages=COMPILED, wants=("torch",)) if f.subject.id not in named)


def companions(machine: Snapshot) -> Iterator[Finding]:
    """torchvision and torchaudio by their symbols and metadata; others by their metadata alone."""
    named: set[str] = set()
    for binary, names in lacking_symbols(machine, *_FAMILY):
        named.add(binary.package or "")
        yield of_symbols(machine, binary, names)
    for each in unmet(machine, wants=("torch",)):
        name = each.package.name
        if each.held and name not in (*named, *COMPILED, "vllm", "triton"):
            named.add(name)
            yield of_pin(machine, each, Severity.ERROR if name in _FAMILY else Severity.WARNING)


def vllm(machine: Snapshot) -> Iterator[Finding]:
    found = [of_symbols(machine, binary, names) for binary, names in lacking_symbols(machine, "vllm")]
    yield from found or list(of_pins(machine, packages=("vllm",), wants=("torch",)))[:1]


def triton(machine: Snapshot) -> Iterator[Finding]:
    """torch's own metadata; a triton that is missing too, for torch.compile needs it."""
    for each in list(unmet(machine, ("torch",), _TRITON))[:1]:
        severity = Severity.WARNING if each.held or machine.torch.build != "cpu" else Severity.INFO
        yield of_pin(machine, each, severity, about="wants").model_copy(
            update={"subject": Subject(kind="package", id="triton")}
        )


def jax(machine: Snapshot) -> Iterator[Finding]:
    names = [p.name for p in machine.packages or () if _JAX.match(p.name[:60])]
    for each in unmet(machine, names, (*names, "jaxlib", "jax-cuda12-pjrt", "jax-cuda13-pjrt")):
        yield of_pin(machine, each, Severity.ERROR).model_copy(update={"subject": Subject(kind="package", id="jaxlib")})


def numpy(machine: Snapshot) -> Iterator[Finding]:
    """Packages compiled against NumPy 1 say so: `numpy<2`. A bound within a major is a supposition of the package, but
    numba's, which compares at import."""
    for each in unmet(machine, wants=("numpy",)):
        if each.held:
            refused = each.too_old or each.other_major or each.package.name == "numba"
            yield of_pin(machine, each, Severity.WARNING if refused else Severity.INFO).model_copy(
                update={"subject": Subject(kind="package", id="numpy")}
            )


def kernel_libraries(machine: Snapshot) -> Iterator[Finding]:
    yield from of_pins(machine, wants=KERNEL_LIBRARIES, about="wants")


STANDALONE = ("nvidia-cudnn", "nvidia-nccl", "nvidia-cusparselt", "nvidia-nvshmem", "nvidia-nvjitlink")
"""Package names up to the major of CUDA. A newer minor or patch of one serves a program that was built with an older
(docs.nvidia.com: cuDNN's API compatibility, nvJitLink's compatibility, 2026-11-24)."""


def gpu_packages(machine: Snapshot) -> Iterator[Finding]:
    """Libraries of CUDA in another release than torch's metadata pins: torch loads them all the same."""
    held = {p.name for p in machine.packages or () if p.name.startswith("nvidia-")}
    for each in unmet(machine, ("torch", "tensorflow"), held) if held else ():
        if each.held:
            pinned, here = Dotted(each.specifier.removeprefix("==")), Dotted(each.held.version)
            serves = each.wants.startswith(STANDALONE) and pinned.major == here.major and pinned < here
            yield of_pin(machine, each, Severity.INFO if serves else Severity.WARNING, about="wants")


def tensorflow(machine: Snapshot) -> Iterator[Finding]:
    """The cuDNN of the tested-build table: it takes that minor or a newer one of the major."""
    package = next((p for p in machine.packages or () if p.name in ("tensorflow", "tensorflow-gpu")), None)
    held = {p.name: p for p in machine.packages or ()}
    row = tested_tensorflow(package.version) if package else None
    cudnn = held.get("nvidia-cudnn-cu12") or held.get("nvidia-cudnn-cu11")
    if package is None or row is None or cudnn is None:
        return
    wanted, have = row.cudnn.split(".")[:2], cudnn.version.split(".")[:2]
    older = [int(x) for x in have if x.isdigit()] < [int(x) for x in wanted if x.isdigit()]
    if wanted[0] != have[0] or older:
        yield Finding(
            summary=f"tensorflow {package.version[:20]} is built with cuDNN {row.cudnn},"
            f" but cuDNN {cudnn.version[:16]} is here.",
            severity=Severity.WARNING,
            subject=Subject(kind="package", id=package.name),
            evidence=(
                Evidence(text=f"{package.name} {package.version}", source=machine.source("packages")),
                Evidence(text=f"{cudnn.name} {cudnn.version}", source=machine.source("packages")),
            ),
            remedies=(
                pip_install(
                    machine,
                    "Install TensorFlow with the libraries that it pins.",
                    f"{package.name}[and-cuda]=={package.version}",
                ),
            ),
            source=f"{row.source} ({row.as_of})",
        )


def python_version(machine: Snapshot) -> Iterator[Finding]:
    """A package whose metadata refuses this Python; pip would not have installed it here."""
    for package in python_unmet(machine):
        yield Finding(
            summary=f"{package.name} {package.version[:30]} needs Python {(package.requires_python or '')[:30]}; "
            f"this environment has {(machine.interpreter.version or '')[:12]}.",
            subject=Subject(kind="package", id=package.name),
            evidence=(
                Evidence(
                    text=f"{package.name} {package.version} requires Python {package.requires_python}"[:300],
                    source=f"file:{package.location}",
                ),
                *evidence(machine, ("interpreter.version", "interpreter.path")),
            ),
            remedies=(pip_install(machine, "Install a release for this Python.", "--upgrade", package.name),),
            verify=(python_after(machine), "-m", "pip", "check"),
        )


def torch_ptx(machine: Snapshot, kb: Knowledge) -> Iterator[Finding]:
    """Code that only the driver's compiler could make run, and a driver that is too old to compile it."""
    torch = machine.torch
    if torch.build != "cuda" or not torch.arch_list or torch.ptx is None:
        return
    for gpu in one_an_arch(machine, "nvidia"):
        built = (*torch.arch_list, *(p for p in torch.ptx if p not in torch.arch_list))
        found = way(kb, gpu.arch or "", built, cuda=torch.cuda, driver_cuda=machine.nvidia_driver.cuda_version)
        if found.kind == "ptx-unserved":
            yield Finding(
                summary=f"torch has only PTX for {gpu.arch}, and the driver supports CUDA "
                f"{machine.nvidia_driver.cuda_version}, older than torch's {torch.cuda}.",
                subject=Subject(kind="gpu", id=gpu.key),
                evidence=evidence(machine, (*_OF_PTX, f"gpus[{gpu.key}].arch")),
                remedies=(install(machine, "nvidia"),),
                verify=see_gpu(machine),
            )


def deepspeed(machine: Snapshot) -> Iterator[Finding]:
    """DeepSpeed compiles its operators when they are first used, with the toolkit at hand, which must be of torch's
    major (DeepSpeed op_builder/builder.py, 2026-08-22)."""
    held = next((p for p in machine.packages or () if p.name == "deepspeed"), None)
    toolkits = [i for i in machine.cuda or () if i.version and i.kind in (None, "prefix", "distribution")]
    ours = Dotted(machine.torch.cuda or "").major
    if held is None or ours is None or not toolkits or any(Dotted(i.version or "").major == ours for i in toolkits):
        return
    yield Finding(
        summary=f"DeepSpeed compiles with CUDA {(toolkits[0].version or '')[:12]}, but torch was built with "
        f"{(machine.torch.cuda or '')[:12]}.",
        severity=Severity.WARNING,
        subject=Subject(kind="toolkit"),
        evidence=(
            Evidence(text=f"{held.name} {held.version}", source=machine.source("packages")),
            *evidence(machine, ("torch.cuda", "cuda", "environment[CUDA_HOME]")),
        ),
        remedies=toolkit_of_torch(machine),
    )
