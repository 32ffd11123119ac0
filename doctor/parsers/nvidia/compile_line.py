"""The line of a build that runs nvcc by its full path -> the toolkit that compiles, of kind `ran`.

>>> sheet = read("[1/3] /usr/local/cuda-11.8/bin/nvcc -DTORCH_EXTENSION_NAME=ops -c ops.cu -o ops.o")
>>> sheet.get("cuda[/usr/local/cuda-11.8].version")
'11.8'
"""

from __future__ import annotations

import re

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import source_lines

PASTED = ({"trust": 710, "words": ("/bin/nvcc",)},)

_LINE_LIMIT = 2000
_NVCC = re.compile(
    r"(?:^|[\s\"'=])((?:/[\w.+-]{1,80}){0,8}/cuda-(\d{1,2}\.\d{1,2}))/bin/nvcc[\"']? "
    r"(?=.{0,1200}?(?:-c |-gencode|-I|-isystem|-D|--compile))"
)


def read(text: str, source: str = "text") -> FactSheet:
    """The first such line; raises ParserError without one."""
    for where, line in source_lines(text, source):
        if "/bin/nvcc" in line and (found := _NVCC.search(line[:_LINE_LIMIT])):
            sheet = FactSheet()
            name = f"cuda[{found[1]}]"
            for field, value in (("path", found[1]), ("version", found[2]), ("kind", "ran")):
                sheet.put(f"{name}.{field}", value, where)
            return sheet
    raise ParserError("no line that runs nvcc by its full path")
