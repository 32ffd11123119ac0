"""How people write a driver's number in a field: its branch alone, none, the host's beside the container's."""

from __future__ import annotations

import re

PCI_ADDRESS = re.compile(r"\b(?:[0-9a-f]{4}:)?[0-9a-f]{2}:[0-9a-f]{2}\.[0-7](?!\d)", re.IGNORECASE)
OF_A_DRIVER = re.compile(
    r"(?:(?:kernel|driver|dkms|module|package|release|version|ver|installed|from|of|for|rocm \d[\d.]{0,8})\b"
    r"[\s:=(,.-]{0,3}){0,5}(?:\d:)?v?\d",
    re.IGNORECASE,
)
"""How a driver's number begins behind its bare name. The kernel begins each of its lines with that name, too:
`amdgpu: SMU firmware version = 78.57`."""
FIVE_PARTS = re.compile(r"5\.\d{1,2}\.\d{1,2}\.\d{1,2}\.\d{1,2}\s*$")
"""amdgpu's packages of ROCm 5 alone write their number so: `5.13.20.5.0`, `5.18.2.22.40`
(repo.radeon.com/amdgpu: amdgpu-dkms of 5.0 to 22.40)."""
BRANCH = re.compile(
    r"(?:(?P<package>nvidia-(?:driver-|headless-)?)|nvidia )?[rv]?(?P<branch>[3-9]\d\d)(?:\.x{1,3}|\+)?(?:-server)?"
    r"(?P<open>-open|,? ?\(open[^()]{0,30}\))?(?: (?:branch|series))?(?=\s{0,4}$| ?\(|[,;] ?[^\d\s])",
    re.IGNORECASE | re.ASCII,
)
"""A branch of the driver without its release: `535`, `R570`, `550.x`. As a package of Ubuntu it tells the flavour: what
is not called open is the other. Several numbers are what was tried, and one of them is there, if any."""
_ON_HOST = r"(?: (?:on|at) (?:the |this )?(?:host|node|machine))?\W{0,3}$"
NOT_THERE = re.compile(
    rf"(?:driver |it )?(?:is |was )?(?:not|never) (?:installed|loaded|present|there){_ON_HOST}"
    rf"|no (?:nvidia )?driver(?: (?:is )?(?:installed|loaded))?{_ON_HOST}",
    re.IGNORECASE | re.ASCII,
)
"""Of the driver; what is said of a container alone is no word on the host's."""
_NUMBER = r"(?P<number>\d{3}\.(?:\d{1,3}(?:\.\d{1,3})?|x\b))"
_ROLE = (
    r"(?:(?P<kernel>host|kernel|(?:loaded )?module|hypervisor)"
    r"|(?P<user>container|image|guest|lxc|pod|jail|user[- ]?(?:space|land)|(?:driver )?librar|nvml|libcuda|libnvidia))"
)
_OF_ROLE = re.compile(
    _NUMBER + r" ?(?:\((?:(?:on|in|of|is) )?(?:the )?|(?:on|in|of|for) (?:the )?)" + _ROLE, re.IGNORECASE
)
_ROLE_OF = re.compile(_ROLE + r"[^\d,;()]{0,20}?" + _NUMBER, re.IGNORECASE)


def kernel_and_user(value: str) -> tuple[str | None, str | None]:
    """The versions of the module and of the libraries, where one field tells both: `550.90 (host), 550.120 (image)`,
    `host 550.90, container 550.120`. Libraries of forward compatibility are meant to be newer."""
    if "compat" in value.lower():
        return None, None
    for pattern in (_OF_ROLE, _ROLE_OF):
        found = list(pattern.finditer(value))
        if user := [m["number"] for m in found if m["user"]]:
            return next((m["number"] for m in found if m["kernel"]), None), user[0]
    return None, None
