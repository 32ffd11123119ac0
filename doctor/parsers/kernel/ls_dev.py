"""Output of `ls -l /dev/kfd /dev/dri /dev/nvidia*` -> device nodes with mode, owner and number.

>>> sheet = read("crw-rw---- 1 root render 226, 128 Apr 18 15:58 /dev/dri/renderD128")
>>> oct(sheet.get("nodes[/dev/dri/renderD128].mode")), sheet.get("nodes[/dev/dri/renderD128].group")
('0o660', 'render')
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = (
    {"trust": 140, "words": ("/dev/kfd", "/dev/dri", "/dev/nvidia", "renderd", "/dev/dxg"), "commands": ("ls ",)},
)

_NODE = re.compile(
    r"\s{0,8}(?:(?:on )?(?:the )?host: {0,10})?(?P<type>[c-])(?P<mode>[rwxsStT-]{9})(?P<list>[.+@]?)"
    r"\s{1,4}\d{1,4}\s{1,8}(?P<user>\S{1,40})\s{1,12}(?P<group>\S{1,40})"
    r"(?:\s{1,4}(?:\?|\w{1,30}:object_r:\S{1,60}))?\s{1,12}(?:(?P<major>\d{1,4}),\s{0,8}(?P<minor>\d{1,7})|\d{1,15})"
    r"(?:\s.{1,40}?)?\s(?P<path>(?:/dev/)?(?:dri/)?[\w@./-]{1,80})\s*$"
)
_STATED = re.compile(
    r"(?:.{0,40}?\s)?(?P<path>/dev/(?:kfd|dri/\w{4,12}|nvidia[\w-]{0,12}))[ :=]{1,4}"
    r"(?:(?:is |are )?(?:owned by |owner |belongs to )?)(?P<user>[a-z][\w-]{0,20}):(?P<group>[a-z][\w-]{0,20}|\d{1,6})"
    r",? (?:with |and )?(?:mode |permissions? )?\(?"
    r"(?:0?(?P<mode>[0-7]{3})\b|c?(?P<letters>[r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-]))"
)
_MODE_FIRST = re.compile(
    r"(?:.{0,40}?\s)?(?P<path>/dev/(?:kfd|dri/\w{4,12}|nvidia[\w-]{0,12}))[ :=]{1,4}(?P<mode>)"
    r"c(?P<letters>[r-][w-][xsS-][r-][w-][xsS-][r-][w-][xtT-]) (?:\d{1,3} )?"
    r"(?P<user>[a-z][\w-]{0,20})[: ](?P<group>[a-z][\w-]{0,20}|\d{1,6})\b"
)
_OWNER = re.compile(r"\s{0,8}(?P<gid>\d{1,6}) (?P<path>/dev/(?:kfd|dri/renderD\d{1,4}))\s*$")
"""`/dev/kfd root:render 0660` or `/dev/kfd is root:992 rw-rw----` as people state it, and `992 /dev/kfd` of stat's
`-c '%g %n'`."""
_GONE = re.compile(r"(?:ls|stat|cat)?:? ?cannot (?:access|open) ['\"‘]?(/dev/[\w/.*-]{1,60}?)['\"’]?: No such file")
_KINDS = (
    (re.compile(r"/dev/kfd$"), "kfd"),
    (re.compile(r"/dev/dri/renderD\d+$"), "render"),
    (re.compile(r"/dev/dri/card\d+$"), "card"),
    (re.compile(r"/dev/nvidia\d+$"), "nvidia"),
    (re.compile(r"/dev/nvidiactl$"), "nvidiactl"),
    (re.compile(r"/dev/nvidia-uvm$"), "nvidia-uvm"),
    (re.compile(r"/dev/nvidia-modeset$"), "nvidia-modeset"),
    (re.compile(r"/dev/dxg$"), "dxg"),
    (re.compile(r"/dev/nvidia-nvswitch"), "nvswitch"),
    (re.compile(r"/dev/nvidia"), "other"),
)


def read(text: str, source: str = "text") -> FactSheet:
    """Only nodes that GPU work opens. Raises ParserError without any."""
    sheet = FactSheet()
    for where, line in source_lines(text, source):
        if "cannot " in line and (gone := _GONE.search(line)) and kind_of(gone[1]):
            sheet.absent(f"nodes[{gone[1]}]", where)
        elif found := _NODE.match(line):
            _node(sheet, found, where)
        elif found := _STATED.match(line) or _MODE_FIRST.match(line):
            _stated(sheet, found, where)
        elif (found := _OWNER.match(line)) and (kind := kind_of(found["path"])):
            sheet.put(f"nodes[{found['path']}].kind", kind, where)
            sheet.put(f"nodes[{found['path']}].gid", int(found["gid"]), where)
    if not len(sheet):
        raise ParserError("no device node that GPU work opens")
    return sheet


def kind_of(path: str) -> str | None:
    """The kind of node that a path under /dev names, or None for one that is no GPU's."""
    return next((kind for pattern, kind in _KINDS if pattern.match(path)), None)


def _node(sheet: FactSheet, found: re.Match[str], where: str) -> None:
    path = found["path"]
    if not path.startswith("/"):
        path = f"/dev/{path}" if re.match(r"dri/|kfd|nvidia|dxg", path) else f"/dev/dri/{path}"
    kind = kind_of(path)
    if kind is None or (found["type"] == "-" and not found["path"].startswith("/dev/")):
        return
    at = f"nodes[{path}]"
    sheet.put(f"{at}.kind", kind, where)
    sheet.put(f"{at}.is_device", found["type"] == "c", where)
    if found["list"] == "+":
        sheet.miss(f"{at}.mode", State.UNREADABLE, where, "an access list decides, which ls does not show")
    else:
        sheet.put(f"{at}.mode", _mode(found["mode"]), where)
    for word, name, number in ((found["user"], None, "uid"), (found["group"], "group", "gid")):
        if word.isdecimal() and len(word) < 10:
            sheet.put(f"{at}.{number}", int(word), where)
        elif name:
            sheet.put(f"{at}.{name}", word, where)
        elif word == "root":
            sheet.put(f"{at}.uid", 0, where)
    if found["major"]:
        sheet.put(f"{at}.major", int(found["major"]), where)
        sheet.put(f"{at}.minor", int(found["minor"]), where)


def _stated(sheet: FactSheet, found: re.Match[str], where: str) -> None:
    at = f"nodes[{found['path']}]"
    if kind := kind_of(found["path"]):
        sheet.put(f"{at}.kind", kind, where)
        sheet.put(f"{at}.is_device", True, where)
        sheet.put(f"{at}.mode", int(found["mode"], 8) if found["mode"] else _mode(found["letters"]), where)
        group = found["group"]
        sheet.put(
            f"{at}.gid" if group.isdecimal() else f"{at}.group", int(group) if group.isdecimal() else group, where
        )


def _mode(letters: str) -> int:
    bits = 0
    for letter in letters:
        bits = bits << 1 | (letter not in "-ST")
    return bits
