"""An XML document in a pasted text -> its elements in order, each with the line it stood on.

No tree is built, entities and document types are refused, and a document that was cut gives what is before the cut.

>>> [(e.tag, e.line, e.parent) for e in elements('x\\n<a b="1">\\n<c/></a>', "a")]
[('a', 2, -1), ('c', 3, 0)]
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple
from xml.etree.ElementTree import ParseError

from defusedxml import DefusedXmlException
from defusedxml.ElementTree import DefusedXMLParser

from doctor.errors import ParserError
from doctor.parsers.lib.source_lines import kept

MAX_CHARS = 4 << 20
MAX_ELEMENTS = 40_000
_UNFIT = re.compile(
    r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


class Element(NamedTuple):
    """`parent` is the place of the parent in the list, -1 for the root; `attributes` are clean and bounded."""

    tag: str
    attributes: dict[str, str]
    line: int
    parent: int


def elements(text: str, root: str) -> list[Element]:
    """The elements of the first `<root …>`. Raises ParserError where none is found or the first of it is no XML."""
    opening = re.search(rf"<{root}[\s>]", text)
    if not opening:
        raise ParserError(f"no <{root}> element")
    collector = _Collector(text.count("\n", 0, opening.start()))
    parser = DefusedXMLParser(target=collector, forbid_dtd=True)
    collector.parser = parser
    try:
        parser.feed(_UNFIT.sub("", text[opening.start() : opening.start() + MAX_CHARS]))
    except (ParseError, DefusedXmlException, ValueError, RecursionError, _Done) as error:
        # What follows the root, or is cut, is no reason to forget what was read; no element at all is.
        if not collector.found:
            raise ParserError(f"XML: {str(error)[:100]}") from None
    return collector.found


class _Done(Exception):
    """Enough elements were read."""


class _Collector:
    """The target that the parser calls."""

    def __init__(self, before: int) -> None:
        self.before = before
        self.parser: Any = None
        self.found: list[Element] = []
        self.open: list[int] = []

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        if len(self.found) >= MAX_ELEMENTS:
            raise _Done
        line = self.before + int(self.parser.parser.CurrentLineNumber)
        clean = {kept(name, 60): kept(value, 200) for name, value in list(attributes.items())[:40]}
        self.found.append(Element(kept(tag, 60), clean, line, self.open[-1] if self.open else -1))
        self.open.append(len(self.found) - 1)

    def end(self, _tag: str) -> None:
        if self.open:
            self.open.pop()
        if not self.open:
            raise _Done

    def data(self, _data: str) -> None:
        """Texts between tags are not of any format read here."""
