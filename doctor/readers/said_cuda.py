"""The newest CUDA that a driver serves, as people say it: `nvidia-smi: CUDA Version: 12.4`, `the CUDA 12.2 driver`.

>>> read("nvcc is 12.1, nvidia-smi shows CUDA 12.4").get("nvidia_driver.cuda_version")
'12.4'
>>> read("vLLM needs a driver that supports CUDA 12.8")
Traceback (most recent call last):
doctor.errors.ReaderError: nothing said of the CUDA of a driver
>>> read("virtual packages : __archspec=1=zen3\\n                   __cuda=12.4=0").get("nvidia_driver.loaded")
True
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import source_lines

_LINE_LIMIT = 400
_NUMBER = r"(?P<{}>(?:8|9|1[0-4])\.\d)(?![\d.]*\d)"
_SERVES = re.compile(
    r"\bnvidia-smi\b[^\n]{0,40}?\bCUDA(?: UMD)?(?: Version)?\W{1,4}v?" + _NUMBER.format("smi") + r"|"
    r"\bCUDA(?: Version)?\W{1,4}" + _NUMBER.format("back")
    + r"[^\n\w]{0,3}(?:(?:from|by|per|in|according to) )?(?:the )?nvidia-smi\b|"
    r"\bdriver\b[^\n.;]{0,16}?\b(?:supports?|serves?|reports?|shows?|is for)\b[^\n.;]{0,16}?\bCUDA(?: Version)?\W{1,3}"
    + _NUMBER.format("driver")
    + r"|\bdriver CUDA(?: Version)?\W{1,3}" + _NUMBER.format("label") + r"|"
    r"\bCUDA " + _NUMBER.format("of") + r"(?:[- ]?(?:capable|compatible|level))? (?:NVIDIA )?driver\b",
    re.IGNORECASE,
)  # fmt: skip
_WISH = re.compile(
    r"\b(?:need|requir|want|upgrad|updat|downgrad|newer|newest|install(?:ing|s)?\b|should|must|at least|minimum|if\b"
    r"|expect|support for|another|other|instead|not|no\b|from version)|n't\b|>=|≥|\bafter\b|\bbefore\b",
    re.IGNORECASE,
)
_REFUSED = re.compile(r"\b(?:does(?: not|n't)|do(?: not|n't)|won't|cannot|can't) (?:work|run|start)\b", re.IGNORECASE)
"""That something does not work there is no wish."""

_OF_CONDA = re.compile(
    r"(?<![\w.])__cuda(?:[= ]{1,8}(?P<cuda>(?:8|9|1[0-4])\.\d{1,2})\b|"
    r"[`'\" ][^\n]{0,40}\b(?:listed|defined|detected|present|there|shown)\b)|"
    r"\b(?:lists|shows|has|defines|detects|reports) (?:the |a )?[`'\"]?__cuda\b"
)
"""conda's virtual package: it asks libcuda, and has none where this does not start."""
_NOT_OF_CONDA = re.compile(
    r"CONDA_OVERRIDE_CUDA|\b(?:not|no|without|nothing|missing|lacks?|if|unless|when|needs?|requires?|should|feature)\b|n't\b|[<>]=?",
    re.IGNORECASE,
)


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without it, and where lines differ."""
    said: dict[str, str] = {}
    there = ""
    overridden = "CONDA_OVERRIDE_CUDA" in text
    for where, line in source_lines(text, source):
        if len(line) > _LINE_LIMIT or "cuda" not in (low := line.lower()):
            continue
        conda = _OF_CONDA.search(line) if "__cuda" in line and not overridden else None
        if conda and not _NOT_OF_CONDA.search(line):
            there = there or where
            if conda["cuda"]:
                said.setdefault(conda["cuda"], where)
        if "smi" not in low and "driver" not in low:
            continue
        found = _SERVES.search(line)
        if found and not _WISH.search(_REFUSED.sub("", line)):
            said.setdefault(next(part for part in found.groups() if part), where)
    if len(said) > 1 or not (said or there):
        raise ReaderError("nothing said of the CUDA of a driver")
    sheet = FactSheet()
    for version, where in said.items():
        sheet.put("nvidia_driver.cuda_version", version, where)
    if there:
        sheet.put("nvidia_driver.loaded", True, there)
    return sheet
