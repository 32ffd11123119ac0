"""What wheels on the Python package index say of themselves.

METADATA of every release of two years; and of the newest patch of each minor release the CUDA or ROCm that its
libraries ask for, their glibc floor and the GPUs that they have code for. READMEs decide nothing. Only
the pieces that are needed are fetched, and nothing is kept but the facts, with the wheel's hash (data/packages.json and
data/wheel_contents.json).

    scripts/read_wheels.py [--only NAME ...] [--days DAYS] [--metadata]
"""

from __future__ import annotations

import argparse
import datetime
import json
import re
import sys
from collections import Counter
from collections.abc import Iterator
from email.parser import Parser
from typing import Any

from packaging.requirements import InvalidRequirement, Requirement
from packaging.version import Version
from refresh import pypi

from doctor.errors import ParserError
from doctor.knowledge.store import DATA
from doctor.parsers.elf import elf, elf_dynamic, gpu_code, gpu_library
from doctor.parsers.elf.blocks import Held
from doctor.versions import Dotted

PACKAGES = (
    "bitsandbytes", "ctranslate2", "cupy-cuda12x", "cupy-cuda13x", "cupy-rocm-7-0", "deepspeed", "faiss-gpu",
    "faiss-gpu-cu12", "flash-attn", "jax", "jax-cuda12-plugin", "jax-cuda13-plugin", "jax-rocm7-pjrt",
    "jax-rocm7-plugin", "jaxlib", "llama-cpp-python", "onnxruntime-gpu", "paddlepaddle-gpu", "sglang", "sglang-kernel",
    "tensorflow", "torchcodec", "transformer-engine", "transformer-engine-cu12", "transformer-engine-cu13", "triton",
    "vllm", "xformers",
)  # fmt: skip
MACHINES = ("x86_64", "aarch64")
_TWO_YEARS = 730
_FAMILY = ("torch", "torchvision", "torchaudio", "triton")
_MATTERS = re.compile(
    r"(nvidia|cuda|jax|tensorrt|flash|transformer-engine|quack|cupy|ml-dtypes|numpy|protobuf|numba|xgrammar|transformers|"
    r"torchcodec|torchao|sglang-kernel|tilelang|tokenspeed|compressed-tensors|apache-tvm|huggingface-hub|safetensors)"
)
"""Requirements that decide which GPU stack fits. The resolver knows all the others."""


_OPENED = re.compile(rb"\0(lib(?:cudart|cublas|cudnn|amdhip64|rocblas)\.so\.\d{1,2})\0")
"""Names that a library holds as texts: it opens them while it runs, and its header does not ask for them."""
_VARIANT = re.compile(r"(?:cuda|rocm)\d{2,4}")
"""`cuda130` of libbitsandbytes_cuda130.so: a library for each CUDA."""


def row(name: str, version: str, files: list[pypi.File], today: str) -> dict[str, Any]:
    """An entry of `packages`: what the METADATA of one Linux wheel says, and the tags of all of them."""
    entry: dict[str, Any] = {
        "package": name,
        "version": version,
        "as_of": today,
        "source": f"PyPI METADATA {name} {version}",
    }
    wheels = [f for f in files if f.is_wheel and any(p == "any" or "linux" in p for p in f.platforms())]
    pythons = {f.requires_python for f in files} - {None}
    if pythons:
        entry["requires_python"] = sorted(map(str, pythons))[0]
    if not wheels:
        return entry | {"wheels": "none on PyPI", "built": min(f.uploaded for f in files)}
    one = next((f for f in wheels if any("x86_64" in p for p in f.platforms())), wheels[0])
    text = pypi.metadata(one)
    entry |= {"built": min(f.uploaded for f in wheels), "sha256": one.sha256, **asked(text)}
    entry["linux_platforms"] = sorted({".".join(sorted(f.platforms())) for f in wheels if "musl" not in f.name})
    entry["wheel_pythons"] = sorted({_python(f) for f in wheels}, key=lambda t: (len(t), t))
    return entry


def _python(file: pypi.File) -> str:
    """`cp312`, `cp313t`, `py3`; `cp312-abi3` of a wheel for the stable ABI, which fits later Pythons too."""
    tag = min(file.tags, key=str)
    if tag.abi == "abi3":
        return f"{tag.interpreter}-abi3"
    return f"{tag.interpreter}t" if tag.abi == f"{tag.interpreter}t" else tag.interpreter


def asked(text: str) -> dict[str, Any]:
    """Requirements of a METADATA that matter for a GPU, on Linux; `pins` without an extra, `extras` by extra."""
    said = Parser().parsestr(text, headersonly=True)
    entry: dict[str, Any] = {"requires_python": said["Requires-Python"]} if said["Requires-Python"] else {}
    pins: dict[str, str] = {}
    extras: dict[str, dict[str, str]] = {}
    for line in said.get_all("Requires-Dist") or ():
        try:
            wish = Requirement(line)
        except InvalidRequirement:
            continue
        spec, name = str(wish.specifier) or "*", str(wish.name).lower().replace("_", "-")
        named = f"{name}[{','.join(sorted(wish.extras))}]" if wish.extras else name
        extra = re.search(r"extra == ['\"]([\w-]+)['\"]", str(wish.marker or ""))
        if not _here(wish) or not (name in _FAMILY or _MATTERS.match(name)):
            continue
        if extra:
            extras.setdefault(extra[1], {})[named] = spec
        elif name in _FAMILY:
            entry[name] = spec
        else:
            pins[named] = spec
    return entry | ({"pins": pins} if pins else {}) | ({"extras": extras} if extras else {})


_AROUND = {
    "sys_platform": "linux", "platform_system": "Linux", "platform_machine": "x86_64", "python_version": "3.12",
    "python_full_version": "3.12.0",
}  # fmt: skip


def _here(wish: Requirement) -> bool:
    """Whether a requirement counts on 64-bit Linux with a common Python; extras are taken as chosen."""
    if wish.marker is None:
        return True
    extra = re.search(r"extra == ['\"]([\w-]+)['\"]", str(wish.marker))
    return wish.marker.evaluate({**_AROUND, "extra": extra[1] if extra else ""})


def content(file: pypi.File, name: str, today: str) -> dict[str, Any]:
    """An entry of `wheel_contents`: what the shared objects of one wheel ask for and hold."""
    needed: set[str] = set()
    opens: set[str] = set()
    variants: dict[str, set[str]] = {}
    lists: Counter[tuple[str, ...]] = Counter()
    floors: list[str] = []
    read, unread = 0, 0
    with pypi.wheel(file) as opened:
        members = [m for m in opened.infolist() if re.search(r"\.so(\.\d+)*$", m.filename)]
        for member in members:
            try:
                body = opened.read(member)
                told = elf_dynamic.read(body)
                code = gpu_code.read(body)
            except (ParserError, OSError, ValueError):
                unread += 1
                continue
            read += 1
            for variant in _VARIANT.findall(member.filename):
                variants.setdefault(variant, set()).update(code.sass, code.ptx, code.gfx)
            opens |= {name.decode() for name in _OPENED.findall(body)}
            for group in code.objects:
                lists[group.archs] += group.number
            if told:
                needed |= {n for n in told.needed if gpu_library.read(n) or n.startswith("libcuda.so")}
                held = Held(body)
                asks = elf_dynamic.versions(held, elf.head(held), told, told.needed).wanted
                floors += [v.removeprefix("GLIBC_") for _, v in asks if re.fullmatch(r"GLIBC_2\.\d+", v)]
    machine = next(m for m in MACHINES if any(p.endswith(m) for p in file.platforms()))
    named = f"{name} {file.version} {machine}".removesuffix(f" {MACHINES[0]}")
    entry: dict[str, Any] = {
        "id": named,
        "package": name,
        "version": file.version,
        "file": file.name,
        "sha256": file.sha256,
        "objects": read,
        "needed": sorted(needed),
        "opens": sorted(opens - needed),
        "archs": sorted({arch for listed in lists for arch in listed}),
        "source": f"PyPI wheel content {named}",
        "as_of": today,
    }
    if machine != MACHINES[0]:
        entry["machine"] = machine
    if variants:
        entry["variants"] = {name: sorted(archs) for name, archs in sorted(variants.items())}
    elif len(lists) > 1:  # the list that its builders chose; the others are of kernels for some GPUs
        entry["most"] = list(max(lists, key=lambda listed: (len(listed), lists[listed])))
    if floors:
        entry["glibc"] = max(floors, key=lambda v: Dotted(v).numbers)
    return entry | ({"unread": unread} if unread else {})


def newest_patches(listed: list[pypi.File], since: str) -> Iterator[pypi.File]:
    """Of each minor release its newest patch: a wheel for each processor, by preference for CPython 3.12."""
    found: dict[tuple[str, tuple[int, ...]], pypi.File] = {}
    for version, files in pypi.releases(listed, since):
        numbers = Version(version).release
        series = numbers[:3] if numbers[:2] == (0, 0) else numbers[:2]  # xformers 0.0.35 is a release of its own
        for machine in MACHINES:
            ours = [f for f in files if any("manylinux" in p and p.endswith(machine) for p in f.platforms())]
            if ours:
                found[machine, series] = min(ours, key=lambda f: ("cp312" not in f.name, f.name))
    yield from found.values()


def merged(name: str, fresh: dict[str, dict[str, Any]]) -> None:
    """Puts entries into a table, sorted by package and version."""
    path = DATA / f"{name}.json"
    data = json.loads(path.read_text("utf-8")) if path.exists() else {"entries": {}}
    entries = data["entries"] | fresh
    order = sorted(entries, key=lambda k: (entries[k]["package"], Version(entries[k]["version"]), k))
    lines = [f"{json.dumps(k)}:{json.dumps(entries[k], sort_keys=True, separators=(',', ':'))}" for k in order]
    path.write_text(f'{{"schema":"doctor.{name}/1","entries":{{\n' + ",\n".join(lines) + "\n}}\n", "utf-8")


def main() -> int:
    words = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    words.add_argument("--only", nargs="*", default=PACKAGES)
    words.add_argument("--days", type=int, default=_TWO_YEARS, help="age of the oldest release")
    words.add_argument("--metadata", action="store_true", help="read no libraries")
    given = words.parse_args()
    now = datetime.datetime.now(datetime.timezone.utc).date()
    today, since = now.isoformat(), (now - datetime.timedelta(days=given.days)).isoformat()
    for name in given.only:
        try:
            listed = pypi.files(name)
            rows = {f"{name} {v}": row(name, v, files, today) for v, files in pypi.releases(listed, since)}
            merged("packages", rows)
            read = [] if given.metadata else [content(f, name, today) for f in newest_patches(listed, since)]
            merged("wheel_contents", {entry["id"]: entry for entry in read})
        except OSError as error:
            sys.stderr.write(f"{name}: not read: {error}" + "\n")
            continue
        sys.stdout.write(f"{name}: {len(rows)} releases, libraries of {len(read)}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
