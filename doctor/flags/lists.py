"""Grammars of texts that are more than a word: lists of GPUs, versions, allocator options, XLA's flags.

>>> visible_rocr("0,x,1")
Reading(value=('0',), state='misread', says="ends at 'x': 1 of 3 entries count")
>>> allocator("expandable_segments=True").state
'fails'
"""

from __future__ import annotations

import re

from doctor.flags.reading import Reading

_MOST = 512
_UUID_ROCR = re.compile(r"GPU-[0-9a-fA-F]{1,16}$")
_UUID_HIP = re.compile(r"GPU-[0-9a-fA-F-]{1,36}$")
_UUID_CUDA = re.compile(r"(?:GPU-[0-9a-fA-F-]{1,36}|MIG-[\w./-]{1,80})$")


def visible_rocr(text: str) -> Reading:
    """ROCr: C integers (a leading 0 is octal), GPU-<hex>; ends at a repeated one too."""
    if not text:
        return Reading((), "misread", "hides every GPU")
    tokens = text.split(",")[:_MOST]
    seen: list[str] = []
    for token in tokens:
        number = re.fullmatch(r"\s*(0[xX][0-9a-fA-F]{1,4}|0[0-7]{0,5}|[1-9]\d{0,4})", token)
        if number:
            index = str(int(number[1], 0) if not re.fullmatch(r"0\d+", number[1]) else int(number[1], 8))
        elif _UUID_ROCR.match(token):
            index = token
        else:
            break
        if index in seen:
            break
        seen.append(index)
    return _list(tokens, seen)


def visible_hip(text: str) -> Reading:
    """HIP: integers as they are printed, or GPU-<uuid>; a repeated one is skipped."""
    if not text:
        return Reading((), "misread", "hides every GPU")
    tokens = text.split(",")[:_MOST]
    seen: list[str] = []
    for token in tokens:
        if not re.fullmatch(r"0|[1-9]\d{0,4}", token) and not _UUID_HIP.match(token):
            break
        if token not in seen:
            seen.append(token)
    return _list(tokens, seen)


def visible_cuda(text: str) -> Reading:
    """CUDA: integers, GPU-<uuid prefix>, MIG ids; -1 and an empty text hide all."""
    if not text or text.strip() == "-1":
        return Reading((), "misread" if not text else "taken", "hides every GPU")
    tokens = text.split(",")[:_MOST]
    seen: list[str] = []
    for token in (t.strip() for t in tokens):
        if not re.fullmatch(r"\d{1,5}", token) and not _UUID_CUDA.match(token):
            break
        if token in seen:
            return Reading((), "misread", f"names {token[:20]} twice: no GPU is left")
        seen.append(token)
    return _list(tokens, seen)


def _list(tokens: list[str], seen: list[str]) -> Reading:
    if len(seen) == len(tokens):
        return Reading(tuple(seen), "taken")
    bad = tokens[len(seen)] if len(seen) < len(tokens) else tokens[-1]
    if seen and bad.strip() == "-1":  # the documented way to end a list
        return Reading(tuple(seen), "taken", f"ends at -1: {len(seen)} of {len(tokens)} entries count")
    return Reading(tuple(seen), "misread", f"ends at {bad[:20]!r}: {len(seen)} of {len(tokens)} entries count")


def gfx_version(text: str) -> Reading:
    """MAJOR.MINOR.STEPPING in decimal, as libhsakmt's sscanf and bounds have it."""
    found = re.fullmatch(r"(\d{1,3})\.(\d{1,3})\.(\d{1,3})", text)
    if found and int(found[1]) <= 63 and int(found[2]) <= 255 and int(found[3]) <= 255:
        return Reading(text, "taken")
    what = "is gfx000 to older ROCr" if not text else "is not MAJOR.MINOR.STEPPING"
    return Reading(None, "fails", f"{what}: no GPU comes up")


def interfaces(text: str) -> Reading:
    """NCCL's list of interfaces; a ^ or = stands at the head of the whole list."""
    inner = [t for t in text.split(",")[1:] if t.lstrip().startswith(("^", "="))]
    if inner:
        return Reading(text, "misread", f"has {inner[0].strip()[:1]!r} inside: it holds at the head of the list only")
    if " " in text.strip():
        return Reading(text, "misread", "has a space, which becomes part of a name")
    return Reading(text, "taken") if text else Reading(None, "ignored", "is ignored: the default stays")


_BOOLEAN_OPTIONS = frozenset(
    (
        *("expandable_segments", "release_lock_on_cudamalloc", "release_lock_on_hipmalloc"),
        *("pinned_use_cuda_host_register", "pinned_use_hip_host_register", "pinned_use_background_threads"),
        *("graph_capture_record_stream_reuse", "throw_on_cudamalloc_oom", "enable_annotate_oom"),
    )
)
OPTIONS = _BOOLEAN_OPTIONS | frozenset(
    (
        *("max_split_size_mb", "roundup_power2_divisions", "roundup_bypass_threshold_mb", "backend"),
        *("garbage_collection_threshold", "pinned_num_register_threads", "pinned_max_register_threads"),
        *("max_non_split_rounding_mb", "pinned_reserve_segment_size_mb", "per_process_memory_fraction"),
        "large_segment_size_mb",
    )
)
"""torch 2.13 c10/core/AllocatorConfig.h, c10/cuda/CUDAAllocatorConfig.h, and the names of older releases."""
_AT_LEAST = {"max_split_size_mb": 20, "max_non_split_rounding_mb": 20, "large_segment_size_mb": 11}
"""Measured with torch 2.13: below, setting the options raises."""


def allocator_options(text: str) -> dict[str, str] | None:
    """Option → value of PYTORCH_*ALLOC_CONF; None where it is no list of `name:value`."""
    options: dict[str, str] = {}
    text = re.sub(r"\s", "", text[:4000])  # the tokenizer of torch drops all white space
    if text.startswith(","):
        return None
    for part in re.split(r",(?![^\[]{0,400}\])", text)[:64]:
        name, colon, value = part.partition(":")
        if not part.strip():
            continue
        if not colon:
            return None
        options[name.strip()] = value.strip()
    return options


def allocator(text: str) -> Reading:
    """torch's allocator options; a fault ends the program at the allocator's first use."""
    options = allocator_options(text)
    if options is None:
        fault = "joins a name and its value with ':'" if "=" in text else "is a list of name:value"
        return Reading(None, "fails", f"{fault}; torch raises")
    for name, value in options.items():
        wrong = _option_fault(name, value)
        if wrong:
            return Reading(None, "fails", f"{wrong}; torch raises")
    return Reading(text, "taken")


def _option_fault(name: str, value: str) -> str | None:
    if name not in OPTIONS:
        return f"has an option {name[:40]!r} that torch does not know"
    if name in _BOOLEAN_OPTIONS and value not in ("True", "False"):
        return f"{name} takes True or False, written so"
    least = _AT_LEAST.get(name)
    if least is not None and (not value.isdigit() or int(value[:9]) < least):
        return f"{name} is a number from {least} on"
    if name == "garbage_collection_threshold" and not re.fullmatch(r"0?\.\d{1,9}", value):
        return f"{name} lies between 0 and 1"
    if name == "roundup_power2_divisions" and value.isdigit() and (int(value[:9]) & (int(value[:9]) - 1)):
        return f"{name} is a power of two"
    if name == "backend" and value not in ("native", "cudaMallocAsync", "hipMallocAsync"):
        return "backend is native or cudaMallocAsync (hipMallocAsync on AMD)"
    return None


def xla_flags(text: str) -> Reading:
    """Words of the form --name=value, or the name of a file that holds them. Measured with jaxlib 0.10.2: a text that
    does not begin with -- is opened as a file, and the process ends where there is none."""
    words = text.split()[:_MOST]
    if words and not words[0].startswith("--") and "/" not in words[0]:
        said = f"has no -- before {words[0][:30]!r}: XLA opens it as a file, and ends the process"
        return Reading(None, "fails", said)
    bad = next((word for word in words if not re.match(r"--\w", word)), None)
    if bad is not None and "/" not in words[0]:
        return Reading(None, "fails", f"has {bad[:30]!r}, which is no --name=value: XLA ends the process")
    return Reading(text, "taken")
