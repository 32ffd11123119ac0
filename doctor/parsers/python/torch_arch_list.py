"""The architectures that somebody says torch was built for: `arch list of the build: sm_80 sm_90`.

What torch answers in a session is doctor/parsers/python/torch_prints.py's. Here it is a statement, so the line must
say whose list it is: torch's, a wheel's, a build's. A list of another library's kernels is not torch's.

>>> read("torch's arch list: sm_70, sm_75, sm_80").get("torch.arch_list")
['sm_70', 'sm_75', 'sm_80']
>>> read("sm_61 is not in torch's arch list: sm_75 sm_80").get("torch.arch_list")
['sm_75', 'sm_80']
>>> read("flash-attn was built for sm_80 sm_90")
Traceback (most recent call last):
doctor.errors.ParserError: no list of architectures of torch
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {
        "trust": 690,
        "words": (
            "arch list",
            "arch_list",
            "archs",
            "arches",
            "architectures",
            "for sm_",
            "supports sm_",
            "install supports",
            "capabilities",
            "for gfx",
        ),
    },
)

_LINE_LIMIT = 600
_LIST_LIMIT = 40
_CODE = r"(?:sm_\d{2,3}[af]?|compute_\d{2,3}|gfx[0-9a-f]{3,4})"
_RUN = re.compile(
    rf"[\[(]?['\"`]?{_CODE}['\"`]?(?:(?:[,/ ]|\band\b){{1,6}}['\"`]?{_CODE}['\"`]?){{0,40}}", re.IGNORECASE
)
_NAME = re.compile(_CODE, re.IGNORECASE)
_WHOSE = re.compile(
    r"get_arch_list\b|\barch(?:itecture)?s?[ _]list\b"
    r"|\b(?:py)?torch\b.{0,40}\b(?:arch\w*|supports?(?: only)?|(?:built|compiled)(?: only)? for|capabilities"
    r"|kernels? for)"
    r"|\b(?:arch\w*|capabilities|kernels) of (?:(?:the|this|my|installed) ){0,2}(?:(?:py)?torch|wheel|build)\b"
    r"|\b(?:wheel|build)\b.{0,20}\b(?:carries|has|holds|with) (?:code|kernels) for\b",
    re.IGNORECASE,
)
_HEAD = re.compile(
    r"(?:(?<!un)\b(?:supported|available|included|compiled|built)(?:[ _](?:cuda|gpu|gfx))?"
    r"[ _](?:arch\w*|capabilities|targets)"
    r"|(?<!missing )(?<!unsupported )\barch(?:itecture)?s?[ _]list"
    r"|\b(?:only|just) (?:has|ships|carries|includes|supports|contains|comes with)"
    r"(?: (?:kernels?|code|binaries))?(?: for)?"
    r"|\((?:it )?(?:(?:is |was )?(?:built|compiled|made) for|has|supports|ships|carries)(?: only)?)"
    r"[:= ]{0,3}$",
    re.IGNORECASE,
)
"""What leads to a list of what is there, whatever was denied of one GPU before it: `sm_120 is not supported by this
PyTorch build. Supported architectures: …`."""
_TORCH = re.compile(r"\b(?:py)?torch\b(?![_-]?(?:vision|audio|scatter|sparse|cluster))", re.IGNORECASE)
_LIBRARIES = re.compile(
    r"flash|vllm|sgl|xformers|bitsandbytes|ctranslate|onnx|nvcc|ptxas|cuobjdump|extension|TORCH_CUDA_ARCH_LIST"
    r"|AMDGPU_TARGETS|PYTORCH_ROCM_ARCH|cudnn|cublas|rocblas|triton",
    re.IGNORECASE,
)
_OTHERWISE = re.compile(
    r"\bneeds?\b|\brequire|\bafter\b|\bnightly\b"
    r"|\b(?:no|not|lacks?|without|misses|missing|only from|newer|later|unsupported|dropp\w+)\b|n't\b",
    re.IGNORECASE,
)
_PREFIX = 90
_SEVERAL = 2


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ParserError where no line has such a list, or where two lines have different ones."""
    lists: dict[tuple[str, ...], str] = {}
    for where, line in source_lines(text, source):
        line = line[:_LINE_LIMIT]
        found = _list_in(line) if "sm_" in line or "gfx" in line else None
        before = line[max(0, found.start() - _PREFIX) : found.start()] if found else ""
        if found is None or not _is_of_torch(line, before, found):
            continue
        names = tuple(dict.fromkeys(n.lower() for n in _NAME.findall(found[0])))[:_LIST_LIMIT]
        if "install supports" in before:  # torch says it where it holds its PTX for no help
            names = tuple(n for n in names if not n.startswith("compute_"))
        if names:
            lists.setdefault(names, where)
    if len(lists) != 1:
        raise ParserError("no list of architectures of torch")
    sheet = FactSheet()
    ((names, where),) = lists.items()
    sheet.put("torch.arch_list", list(names), where)
    return sheet


def _list_in(line: str) -> re.Match[str] | None:
    """The longest run of architectures: one that is alone before it is the GPU's."""
    return max(_RUN.finditer(line), key=lambda run: len(_NAME.findall(run[0])), default=None)


def _is_of_torch(line: str, before: str, found: re.Match[str]) -> bool:
    """Whether the text calls it the list of torch's code. One of several, after words that lead to what is there, may
    follow the denial of another, and advice may follow it."""
    start = line[: found.end()]
    if len(_NAME.findall(found[0])) >= _SEVERAL and _HEAD.search(before) and _TORCH.search(start):
        return _LIBRARIES.search(start) is None
    return bool(_WHOSE.search(before)) and not (_LIBRARIES.search(line) or _OTHERWISE.search(line))
