"""Lines of a pasted text without those of a tool's help: what options could say is nothing that this machine says.

>>> text = "NVIDIA System Management Interface -- v595.80", "    -e 0/DISABLED, 1/EXCLUSIVE", "$ nvidia-smi -L", "GPU 0"
>>> [line for _, line in without(enumerate(text, 1))]
['', '', '$ nvidia-smi -L', 'GPU 0']
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

_BEGINS = re.compile(
    r"NVIDIA System Management Interface -- v\d|List of valid (?:properties|keys) to query for"
    r"|usage: (?:rocm-smi|rocm_smi\.py|amd-smi|rocprof|rocminfo|docker|podman|torchrun|vllm) "
)
_ENDS = re.compile(r"#{8}|```|## |### |\S{0,80}[$#] \S|={60}$|</?details|root@|\(\w{1,40}\) \S{1,80}[$#] ")
MOST = 3000
"""Lines of one help that are left out: whatever comes then is looked at."""


def without(lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
    """The same lines, those of a help empty: numbers and fragments stay as they are."""
    left = 0
    for number, line in lines:
        if left and _ENDS.match(line):
            left = 0
        elif _BEGINS.match(line):
            left = MOST
        if left:
            left -= 1
            yield number, ""
        else:
            yield number, line
