"""The newest CUDA that a driver serves, as people say it: `nvidia-smi: CUDA Version: 12.4`, `the CUDA 12.2 driver`.

>>> read("nvcc is 12.1, nvidia-smi shows CUDA 12.4").get("nvidia_driver.cuda_version")
'12.4'
>>> read("vLLM needs a driver that supports CUDA 12.8")
Traceback (most recent call last):
doctor.errors.ReaderError: nothing said of the CUDA of a driver
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


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without it, and where lines differ."""
    said: dict[str, str] = {}
    for where, line in source_lines(text, source):
        if len(line) > _LINE_LIMIT or "cuda" not in (low := line.lower()) or ("smi" not in low and "driver" not in low):
            continue
        found = _SERVES.search(line)
        if found and not _WISH.search(_REFUSED.sub("", line)):
            said.setdefault(next(part for part in found.groups() if part), where)
    if len(said) != 1:
        raise ReaderError("nothing said of the CUDA of a driver")
    sheet = FactSheet()
    ((version, where),) = said.items()
    sheet.put("nvidia_driver.cuda_version", version, where)
    return sheet
