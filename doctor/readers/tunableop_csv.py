"""Results of torch's TunableOp (`tunableop_results0.csv`) -> the stack that they were made with.

>>> read("Validator,PT_VERSION,2.3.0\\nGemmTunableOp_float_NT,nt_1_2_3,4,1.2").get("torch.tunableop_validators")
{'PT_VERSION': '2.3.0'}
"""

from __future__ import annotations

import re

from doctor.errors import ReaderError
from doctor.facts.sheet import FactSheet
from doctor.readers.source_lines import kept, source_lines

_VALIDATOR = re.compile(r"\s{0,8}Validator,(?P<name>[A-Z_]{3,40}),(?P<value>\S{1,120})")
_LIMIT = 20


def read(text: str, source: str = "text") -> FactSheet:
    """Raises ReaderError without a validator."""
    found: dict[str, str] = {}
    first = ""
    for where, line in source_lines(text, source):
        if line.lstrip().startswith("Validator,") and (match := _VALIDATOR.match(line)) and len(found) < _LIMIT:
            first = first or where
            found.setdefault(match["name"], kept(match["value"], 120))
    if not found:
        raise ReaderError("no validator of TunableOp in the text")
    sheet = FactSheet()
    sheet.put("torch.tunableop_validators", found, first)
    return sheet
