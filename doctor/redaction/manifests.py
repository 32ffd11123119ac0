"""A Kubernetes Secret: every value of its `data` and `stringData`, whatever its name is, in YAML and in JSON."""

from __future__ import annotations

import re

from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import MASK, Tally

_KIND = Lazy(r"(?m)(?:^|[{,])\s{0,40}\\{0,7}\"?kind\\{0,7}\"?\s{0,4}:\s{0,4}\\{0,7}[\"']?Secret\b")
_YAML = Lazy(r"(?m)^([ \t]*)(?:data|stringData):[ \t]*\r?\n((?:\1[ \t]+[^\n]*(?:\n|$)|[ \t]*\n)+)")
_ROW = Lazy(r"(?m)^([ \t]*[\w.\"'/-]{1,200}:[ \t]*)([^\s|>][^\n]{0,20000})$")
_JSON = Lazy(r"(\\{0,7}\"(?:data|stringData)\\{0,7}\"\s{0,4}:\s{0,4}\{)([^{}]{0,200000})\}")
_MEMBER = Lazy(r"(:\s{0,4}\\{0,7}\")([^\"\\\n]{1,100000})")


def of_kubernetes(text: str, tally: Tally) -> str:
    if "stringData" not in text and not _KIND.search(text):
        return text

    def masked(row: re.Match[str]) -> str:
        return row[1] + (row[2] if MASK in row[2] else tally.hit("kubernetes", row[2].strip("\"'")))

    text = _YAML.sub(lambda m: m[0][: m.start(2) - m.start()] + _ROW.sub(masked, m[2]), text)
    return _JSON.sub(lambda m: m[1] + _MEMBER.sub(lambda v: v[1] + tally.hit("kubernetes", v[2]), m[2]) + "}", text)
