"""Whether the machine of a pasted text is a Mac, which has neither CUDA nor ROCm.

A Mac is often only where somebody sits: a text that speaks of a server, of Linux or of a connection is of that machine.

>>> heard = Mac()
>>> _ = list(heard.through(enumerate(["on my MacBook (M2) torch.cuda.is_available() is False"], 1)))
>>> heard.line
1
>>> _ = list(heard.through(enumerate(["from there I ssh into the training node"], 2)))
>>> heard.line is None
True
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from doctor.facts import FactSheet, Snapshot

LINES_LIMIT = 1200
_LINE_CHARACTERS = 400
_WORDS = ("mac", "apple", "darwin", "/users/", "homebrew", "os x")
_MAC = re.compile(
    r"(?i:\bmac ?os(?![- ]?(?:and|or|/|,))|\bos ?x\b|\bmac ?book|\bimac\b|\bmac ?(?:mini|studio|pro)\b"
    r"|\bapple[ -]?(?:silicon|m[1-9]\b)|\bm[1-9](?: (?:pro|max|ultra))?[ -](?:mac\b|chip)"
    r"|\b(?:my|an?|the|on|intel) mac\b"
    r"|\bdarwin kernel\b|[-_]darwin\.so\b|\bmacosx?[-_]\d)|(?<![\w:/\\.])/Users/[^/\s]{1,60}/|/opt/homebrew/"
)
_COMPARED = re.compile(
    r"(?i)\b(?:works?|worked|working|fine|runs) (?:\w{1,12} ){0,2}(?:on|under|with)\b|\bsame\b|\bunlike\b|\bwhereas\b"
    r"|\bsupport(?:s|ed)?\b|\brequire|\b(?:and|or) (?:mac|linux|windows)|\b(?:linux|windows)[ ,/]|\be\.g\.|\bif you\b"
)
"""What tells of several systems, or of one that is not at hand."""
_CLAUSE = re.compile(r"[;(]\s|\.\s|,?\s(?:but|while|whereas|though|although)\s", re.IGNORECASE)
_REMOTE = re.compile(
    r"(?i)\bssh\b|\bremote|\bcolab\b|\bkaggle\b|\brunpod\b|\bvast\.ai\b|\be-?gpu\b|\bs(?:batch|run|lurm)\b|\bkubectl\b"
    r"|\b(?:on|to|at|from|in|into|onto) (?:(?:the|an?|our|my|another|this|that|other) )?(?:[\w-]{1,20} )?"
    r"(?:server|cluster|(?:compute |gpu )?node|instance|vm|workstation|box|pc|desktop|supercomputer)\b"
    r"|\b(?:gpu|linux|remote|other|another|second|cloud|lab|training) (?:machine|server|box|host|computer|rig)\b"
)
"""Somebody sits at the Mac and works elsewhere."""
_OTHER = re.compile(
    r"(?i:(?<!many)\blinux\b(?!/(?:amd|arm)64)|\bubuntu\b|\bdebian\b|\bfedora\b|\bcentos\b|\brocky\b|\bred ?hat\b"
    r"|\bwsl2?\b|\bboot ?camp\b|\blsmod\b|\bdmesg\b|\bmodprobe\b|\bapt(?:-get)? install\b|x86_64-linux)"
    r"|\bWindows\b|\bC:\\|/home/|/proc/|/dev/(?:kfd|dri|nvidia)|/usr/lib/x86"
)
"""Another system is spoken of."""


class Mac:
    """Made for one text; hears its lines."""

    def __init__(self) -> None:
        self._first: int | None = None
        self._remote = self._other = False

    @property
    def line(self) -> int | None:
        """The first line that says so; None where none does, or where another machine is meant."""
        return None if self._remote or self._other else self._first

    @property
    def remote(self) -> bool:
        return self._remote

    def through(self, lines: Iterable[tuple[int, str]]) -> Iterator[tuple[int, str]]:
        """The lines as they are. What is elsewhere is looked for only in a text that names a Mac."""
        held: list[str] = []
        for row in lines:
            if len(held) < LINES_LIMIT:
                held.append(row[1][:_LINE_CHARACTERS])
                self._hear(row[0], held[-1])
            yield row
        if self._first is not None or any("macos" in line.lower() for line in held):
            self._remote = self._remote or any(_REMOTE.search(line) for line in held)
            self._other = self._other or any(_OTHER.search(line) for line in held)

    def _hear(self, number: int, line: str) -> None:
        low = line.lower()
        if self._first is not None or not any(word in low for word in _WORDS):
            return
        if any(_MAC.search(part) and not _COMPARED.search(part) for part in _CLAUSE.split(line)):
            self._first = number

    def sheet(self, machine: Snapshot) -> FactSheet | None:
        """The system, where nothing else tells of one, and nothing of a machine with a GPU of AMD or NVIDIA."""
        if self.line is None or machine.os.id is not None or shows_a_stack(machine) or machine.kernel.release:
            return None
        sheet = FactSheet()
        sheet.put("os.id", "macos", f"text:{self.line}")
        return sheet


def shows_a_stack(machine: Snapshot) -> bool:
    """Whether the facts are of a machine that has CUDA or ROCm."""
    return bool(
        machine.of_vendor("amd")
        or machine.of_vendor("nvidia")
        or machine.nvidia_driver.version
        or machine.amdgpu_driver.version
        or machine.rocm
        or machine.nodes
        or machine.torch.build in ("cuda", "rocm")
    )
