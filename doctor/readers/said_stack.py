"""What people say in passing of their GPU and of what runs on it: `RTX5090, torch 2.0.1, cuda is 11.8` -> facts.

The least trusted of readers: sentences also tell of other machines, of versions that would work, and of what somebody
else has. Lines that compare are not read, and doctor/intake/said.py keeps only what the whole text agrees on.

>>> sheet = read("use on RTX5090, the version of torch is 2.0.1+cu118 (Ubuntu 22.04)")
>>> sheet.get("gpus[#0].name"), sheet.get("torch.version"), sheet.get("os.id")
('RTX5090', '2.0.1+cu118', 'ubuntu')
>>> read("torch 2.7 is slower than 2.6")
Traceback (most recent call last):
doctor.errors.ReaderError: nothing said of a GPU or its stack
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers import packages
from doctor.readers.os_name import os_facts
from doctor.readers.source_lines import source_lines
from doctor.readers.torch_build import build_facts, said_facts

# re.ASCII: in Chinese and Japanese sentences names stand between letters, without spaces.
_LINE_LIMIT = 400
_PACKAGES_LIMIT = 40
_NVIDIA = (
    r"(?:NVIDIA )?(?:GeForce |Quadro |Tesla )?"
    r"(?:(?:RTX|GTX)[ -]?(?:PRO |A)?\d{3,4}(?: ?Ti\b|M\b|MX\b)?(?: SUPER| Ada| Blackwell| D\b)?|Tesla [A-Z]\d{1,3}\w?"
    r"|(?:GH200|GB200|GB300|GB10|B200|B300|H200|H100|H20|A100|A800|H800|A6000|A5000|A10G|L40S|L40|V100|P100|P40)"
    r"(?:[ -](?:SXM\d?|PCIe|NVL|SXM\d-\d{2,3}GB))?"
    r"|(?:9[678]0|10[5-8]0|16[56]0|20[678]0|[34]0[5-9]0|50[5-9]0) ?(?:Ti\b(?: SUPER)?|(?=(?:GPU|card|graphics)\b))"
    r"|DGX Spark|(?:(?<=NVIDIA )|(?<=\d[x*] )|(?<=\d[x*]))(?:T4|L4|A2|A10|A16|A30|A40|K80|M60)"
    r"|Tesla (?:T4|P4|K80|M40|M60)|Quadro [A-Z]{0,3}\d{3,4}M?|P[1-6]000|Jetson(?: AGX)? (?:Orin|Xavier|Nano|Thor))"
)
_AMD = (
    r"(?:AMD )?(?:Radeon(?:\(TM\))? |Instinct )?"
    r"(?:RX[ -]?\d{3,4}(?: ?XTX?\b| GRE| ?M\b)?|MI ?(?:25|50|60|100|210|250X?|300[AX]|325X|350X|355X)\b"
    r"|(?:79|69|68|78|77|76|67|66|90)[0-9]0 ?(?:XTX|XT)\b"
    r"|Radeon(?:\(TM\))? (?:Pro )?(?:AI PRO )?(?:VII|R9[67]00D?|W\d{4}|\d{3}M|8060S|8050S)|Strix (?:Halo|Point))"
)
_GPU = re.compile(
    rf"(?<![\w./-])(?:(?P<nvidia>{_NVIDIA})|(?P<amd>{_AMD})|(?P<gfx>gfx[0-9a-f]{{3,4}}))(?![\w.])",
    re.IGNORECASE | re.ASCII,
)
_PACKAGE = re.compile(
    r"(?<![\w./@:+-])(?P<name>torchvision|torchaudio|pytorch|torch|flash[-_ ]attn|flash[-_ ]attention|xformers|vllm"
    r"|bitsandbytes|sglang|triton|numpy|onnxruntime-gpu|deepspeed|nccl|rccl|(?:lib)?cublas|transformer[-_]engine"
    r"|amd_?smi|aiter|nvidia-[a-z]{3,12}-cu1[123])"
    r"(?: (?:version|is|version is|build))?(?: ?[:=v]{1,2} ?| | \(|@|-(?=\d{1,2}\.\d{1,3}\.\d))v?"
    r"(?P<version>\d{1,2}\.\d{1,3}(?:\.\d{1,3}){0,2}(?:[a-z+.][\w+.]{0,40}?)?)(?=[\s,;:)\]'\"`|]|\.?$|\. )",
    re.IGNORECASE | re.ASCII,
)
_TORCH_IS = re.compile(
    r"\b(?:version of (?:py)?torch|(?:py)?torch version|version (?:py)?torch) (?:is|was|=) ?"
    r"v?(\d{1,2}\.\d{1,2}\.\d{1,2}[\w+.]{0,30})",
    re.IGNORECASE | re.ASCII,
)
_TORCH_BUILD_IS = re.compile(
    r"\b(?:py)?torch(?: (?:and|,) torch(?:vision|audio))?,? (?:is |was |are |were )?(?:the )?(?:installed |build )?"
    r"(?:with|as|shows?|is|was)? ?[`'\"(]{0,2}(\+(?:rocm\d[\d.]{0,6}|cu1\d\d))\b",
    re.IGNORECASE | re.ASCII,
)
"""A build told by its label alone: `torch installed with +rocm5.2`."""
_ROCM = re.compile(
    r"(?<![\w.+/-])ROCm(?: version)?(?: is)?[ :]{1,2}v?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)(?!\.x)",
    re.IGNORECASE | re.ASCII,
)
_ROCM_IMAGE = re.compile(
    r"(?<![\w/])rocm/[a-z][\w.-]{1,40}:(?:[\w.]{1,40}_)?rocm-?(\d\.\d{1,2}(?:\.\d{1,2})?)(?![\d.])", re.ASCII
)
_OF_DISTRIBUTION = re.compile(
    r"(?<![\w./@:+-])python3?-(?:py)?torch(?:-opt)?(?:-(?P<build>rocm|cuda))?(?:-opt)? "
    r"(?P<version>\d\.\d{1,2}\.\d{1,2})(?:-\d{1,3}(?:\.\d{1,3})?)?(?=[\s,;)]|$)",
    re.ASCII,
)
"""The package of a distribution, as pacman and rpm list it. Its version bears no label of the build."""
_HIP = re.compile(r"(?<![\w.])HIP(?: version)?[ :=]{1,2}(\d\.\d{1,2}\.\d{4,6})\b", re.ASCII)
"""As torch.version.hip writes it: release and build."""
_PYTHON = re.compile(
    r"(?<![\w.+/-])python(?: version)?(?: is)?[ :=]{0,3}v?(3\.\d{1,2}(?:\.\d{1,2})?)(?![\w.]*\d)",
    re.IGNORECASE | re.ASCII,
)
_DRIVER = re.compile(
    r"(?<![\w.-])(?:nvidia )?driver(?: installed,)?(?: version)?(?: is)?[ :=]{1,3}v?(\d{3}\.\d{1,3}(?:\.\d{1,3})?)\b",
    re.IGNORECASE | re.ASCII,
)
_OS = re.compile(
    r"(?<![\w./-])((?:Ubuntu|Debian|Fedora|CentOS|RHEL|Rocky|AlmaLinux|openSUSE|Linux Mint)(?: Linux)?(?: Stream)? "
    r"\d{1,2}(?:\.\d{1,2}){0,2}|Arch Linux|Manjaro|NixOS|Windows 1[01]|(?<![a-z])Win ?1[01]"
    r"|^Windows(?= ?[,.(:;])|(?<=\bon )(?:native )?Windows(?= ?(?:[,.(:;]|$)))(?![\w.]*\d)",
    re.IGNORECASE | re.ASCII,
)
_WSL = re.compile(
    r"(?<![\w/-])(?:(?:in|on|under|inside|within|using|via|running|through|into) (?:(?:a|the|my|Windows) )?"
    r"(?:\w{1,12} )?(?:WSL ?2?|WLS ?2)|(?:WSL2?|WLS2)(?= ?[-:(+/,]? ?(?:Ubuntu|Debian|Fedora|Arch)\b)"
    r"|(?:Ubuntu|Debian)[ \d.]{0,8} ?[(+/,]? ?WSL ?2?|^\s{0,8}WSL ?2?(?=[ .]{0,4}$))(?![\w/-])",
    re.IGNORECASE | re.ASCII,
)
_CPU = re.compile(
    r"(?<![\w-])(?:(?:Intel )?(?:Core )?i[3579][- ]\d{3,5}[A-Z]{0,3}|Xeon (?:CPU )?[EXLW][357]?-?\d{4}\w?(?: ?v\d)?"
    r"|(?:AMD )?FX-?\d{4}|Core ?2 (?:Duo|Quad) \w\d{4}|Ryzen (?:Threadripper )?\d? ?\d{4}\w{0,2}|EPYC \d{4}\w?)"
    r"(?![\w-])",
    re.IGNORECASE | re.ASCII,
)
_ELSEWHERE = re.compile(
    r"\b(?:works?|worked|working|fine|runs?) (?:on|with|for|in|under|fine|well)|\bsame\b"
    r"|\b(?:does|did)(?: not|n['’]t)? work"
    r"|\b(?:up|down)grad|\bupdate[sd]? to|\bswitch|\brevert|\broll(?:ed|ing)? back|\breplac|\boverwrit|\buninstall"
    r"|\b(?:than|since|until|before|instead|unlike|versus|vs|except|older|newer|earlier|later)\b"
    r"|\b(?:require|need|expect|recommend|support|want|compatible|suggest|minimum|should|would|could|only|please|if|from"
    r"|other|another|also)\w*\b|\bnot\b|\bno\b|n't\b|\b(?:built|compiled|made) (?:for|with|against)|[<>~]=?|->|=>"
    r"|\bhttps?:|\bpip3? install|\buv (?:add|pip)|\bconda install|\b\d\.x\b",
    re.IGNORECASE,
)
_IDLE = re.compile(
    r"\b(?:(?:is|was|do|does|did)(?: not|n['’]t)|won['’]t|cannot|can['’]t|can not|never|not) "
    r"(?:be |being |get |gets |getting )?"
    r"(?:turn(?:ed)? on|used|utili[sz]ed|detected|recogni[sz]ed|seen|found|visible|listed|shown?|picked up)\b"
    r"|\bno (?:CUDA |GPU )?devices? (?:were |was |are |is )?(?:found|detected|available)\b",
    re.IGNORECASE,
)
"""That a GPU lies idle or unseen tells of the GPU that is there."""
_CLAUSE = re.compile(r"[;,(]\s|\.\s|\s(?:but|while|whereas|though|although)\s", re.IGNORECASE)
_MAKER = re.compile(r"nvidia|geforce|quadro|tesla|amd|radeon|instinct|[\s-]")
_WORDS = (
    "rtx", "gtx", "radeon", "tesla", "gfx", "torch", "rocm", "cuda", "100", "200", "300", " mi", "x6", "x7", "x9", "rx",
    "l40", "p40", "800", "h20", "a10g", "gb10", "dgx spark", "x t4", "x l4", "x a", "x k80", "nvidia ",
    "flash", "vllm", "triton", "numpy", "jetson", "strix", "driver", "ubuntu", "debian", "python",
    "sglang", "onnxruntime", "nvidia-", "nccl", "rccl", "cublas",
    " ti", "0ti", " gpu", " card", "wsl", "wls2", "quadro", "win1", "win 1", "windows",
    "000", "core i", " i3", " i5", " i7", " i9", "xeon", "fx-",
    "core 2", "ryzen", "epyc",
)  # fmt: skip


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without any of it. What a line says again, or otherwise than one before, is left out."""
    sheet = FactSheet()
    rows: dict[str, str] = {}
    said: dict[str, set[str]] = {}
    first = ""
    for where, line in source_lines(text, source):
        low = line.lower()
        if len(line) > _LINE_LIMIT or not any(word in low for word in _WORDS):
            continue
        here = " , ".join(part for part in _CLAUSE.split(_IDLE.sub("idle", line)) if not _ELSEWHERE.search(part))
        for name, value in _facts(here):
            said.setdefault(name, set()).add(alike(name, value))
            sheet.put(name, value, where)
        for name, version in _packages(here):
            first = first or where
            if len(rows) < _PACKAGES_LIMIT and rows.setdefault(name, version) != version:
                said.setdefault(f"package:{name}", set()).update((version, rows[name]))
    return _agreed(sheet, rows, said, first)


def alike(name: str, value: object) -> str:
    """What two ways to write the same GPU have in common."""
    # The one GPU of a DGX Spark is called by the machine's name as often as by its own.
    return _MAKER.sub("", str(value).lower()).replace("dgxspark", "gb10") if name.endswith(".name") else str(value)


def gpus_torn(torn: set[str], archs: Collection[str]) -> bool:
    """Whether several GPUs are told of. One of one architecture may bear several names: its own, and its family's."""
    return any(n.startswith("gpus[") and not (n.endswith(".name") and len(archs) == 1) for n in torn)


def _agreed(sheet: FactSheet, rows: dict[str, str], said: dict[str, set[str]], first: str) -> FactSheet:
    """Only what was said in one way."""
    torn = {name for name, values in said.items() if len(values) > 1}
    if any(name.startswith("torch.") for name in torn):
        torn |= {name for name in said if name.startswith("torch.")} | {"package:torch"}
    if gpus_torn(torn, {name for name in said if name.endswith(".arch")}):
        torn |= {name for name in said if name.startswith("gpus[")}
    kept = FactSheet()
    for entry in sheet:
        if entry.name not in torn:
            kept.put(entry.name, entry.value, entry.source)
    listed = [{"name": n, "version": v} for n, v in rows.items() if f"package:{n}" not in torn]
    if listed:
        kept.put("packages", listed, first)
    if not len(kept):
        raise ReaderError("nothing said of a GPU or its stack")
    return kept


def _facts(line: str) -> Iterator[tuple[str, object]]:
    for found in _GPU.finditer(line):
        if found["gfx"]:
            yield "gpus[#0].arch", found["gfx"].lower()
        else:
            yield "gpus[#0].name", found[0].strip()
        yield "gpus[#0].vendor", "nvidia" if found["nvidia"] else "amd"
    if torch := _TORCH_IS.search(line):
        yield from build_facts(torch[1].rstrip(".")).items()
    elif label := _TORCH_BUILD_IS.search(line):
        yield from said_facts(label[1]).items()
    image = _ROCM_IMAGE.search(line)
    if rocm := _ROCM.search(line) or image:
        yield "rocm[shown].path", ""
        yield "rocm[shown].version", rocm[1]
    if image and "/pytorch:" in image[0]:  # the host's ROCm may be told as well, and stand before it
        yield "torch.rocm", image[1]
    if python := _PYTHON.search(line):
        yield "interpreter.version", python[1]
    if driver := _DRIVER.search(line):
        yield "nvidia_driver.version", driver[1]
    if system := _OS.search(line):
        yield from os_facts(system[1]).items()
    if _WSL.search(line):
        yield "host.wsl", True
    if cpu := _CPU.search(line):
        yield "host.cpu", cpu[0]
    for name, version in _packages(line):
        if name == "torch":
            yield from build_facts(version).items()
    if packaged := _OF_DISTRIBUTION.search(line):
        yield "torch.installed", True
        yield "torch.version", packaged["version"]
        hip = _HIP.search(line)
        if build := packaged["build"] or (hip and "rocm"):
            yield "torch.build", build
        if hip:
            yield "torch.hip", hip[1]
            yield "torch.rocm", ".".join(hip[1].split(".")[:2])


def _packages(line: str) -> Iterator[tuple[str, str]]:
    for found in _PACKAGE.finditer(line):
        name = found["name"].lower().replace(" ", "-").replace("attention", "attn")
        row = packages.package({"pytorch": "torch", "amd_smi": "amdsmi"}.get(name, name), found["version"].rstrip("."))
        if row:
            yield row["name"], row["version"]
