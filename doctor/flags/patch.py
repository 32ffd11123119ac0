"""Findings that say what to write instead -> a unified diff of the file.

Only a line in which the name or the value stands once is changed; what a finding only describes stays as it is.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable

from doctor.findings import Finding
from doctor.flags.places import place

_WRITE = re.compile(r"Write ([A-Za-z_]\w{0,127})=(\S{1,200})\.")
_USE = re.compile(r"Use ([A-Z][A-Z0-9_]{2,127})\.")
_QUOTE = re.compile(r'Write value: ("[^"]{0,200}")\.')
_EXPORT = re.compile(r"Write export ([A-Za-z_]\w{0,127})=")


def diff(source: str, text: str, findings: Iterable[Finding]) -> str:
    """Empty where nothing can be fixed so."""
    lines = text.splitlines()
    for finding in findings:
        file, number, _ = place(finding) or ("", 0, 0)
        if 0 < number <= len(lines) and file == source:
            lines[number - 1] = _mended(lines[number - 1], finding)
    before, after = text.splitlines(), lines
    made = difflib.unified_diff(before, after, f"a/{source}", f"b/{source}", lineterm="")
    return "".join(f"{line}\n" for line in made)


def _mended(line: str, finding: Finding) -> str:
    name = finding.subject.id
    for fix in finding.remedies:
        if found := _EXPORT.match(fix.title):
            return re.sub(rf"^(\s*)(?={name}=)", r"\1export ", line)
        if found := _WRITE.fullmatch(fix.title):
            return _with_value(line, name, found[2])
        if (found := _USE.fullmatch(fix.title)) and len(re.findall(rf"\b{name}\b", line)) == 1:
            return re.sub(rf"\b{name}\b", found[1], line)
        if found := _QUOTE.fullmatch(fix.title):
            return re.sub(r"(value:\s*)[\w.+-]+", rf"\g<1>{found[1]}", line, count=1)
    return line


def _with_value(line: str, name: str, value: str) -> str:
    """NAME=old, NAME: old, or the `value: old` of a manifest."""
    pattern = rf"(\b{name}\b\s*[:=]\s*)(\"[^\"]*\"|'[^']*'|[^\s\"';]+)"
    if len(re.findall(pattern, line)) != 1:
        pattern = r"(^\s*(?:-\s+)?value:\s*)(\"[^\"]*\"|'[^']*'|[^\s\"'#]+)"
    return re.sub(pattern, lambda m: m[1] + _quoted(m[2], value), line, count=1)


def _quoted(old: str, value: str) -> str:
    quote = old[:1] if old[:1] in ("'", '"') else ""
    return f"{quote}{value}{quote}"
