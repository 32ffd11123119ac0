"""A regular expression that is compiled when it is first used: most runs meet no text that needs most of them.

>>> Lazy(r"a+").sub("b", "caat")
'cbt'
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator


class Lazy:
    """`re.compile(text, flags)`, later."""

    __slots__ = ("_flags", "_made", "text")

    def __init__(self, text: str, flags: int = 0) -> None:
        self.text = text
        self._flags = flags
        self._made: re.Pattern[str] | None = None

    @property
    def made(self) -> re.Pattern[str]:
        if self._made is None:
            self._made = re.compile(self.text, self._flags)
        return self._made

    def sub(self, to: str | Callable[[re.Match[str]], str], text: str) -> str:
        return self.made.sub(to, text)

    def search(self, text: str) -> re.Match[str] | None:
        return self.made.search(text)

    def match(self, text: str) -> re.Match[str] | None:
        return self.made.match(text)

    def fullmatch(self, text: str) -> re.Match[str] | None:
        return self.made.fullmatch(text)

    def finditer(self, text: str, start: int = 0) -> Iterator[re.Match[str]]:
        return self.made.finditer(text, start)

    def findall(self, text: str) -> list[str]:
        """Of a pattern with at most one group."""
        return list(self.made.findall(text))
