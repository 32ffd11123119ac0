"""Writes docs/stack.md from the list of parts that are judged.

    python scripts/write_stack_page.py

The same list gives the same page; tests/report/test_stack.py says when it is out of date.
"""

from __future__ import annotations

from pathlib import Path

from doctor.report.stack import table

PAGE = Path(__file__).resolve().parents[1] / "docs" / "stack.md"
_HEAD = """# What of the GPU stack is judged

Made by `scripts/write_stack_page.py` from `doctor/report/stack_parts.py`; edit that. `doctor stack` prints the parts
that are here, each with its releases and with the verdict of every rule below: no fault found, the fault, or why it
could not be told.

Versions of packages are those of their metadata, of tools those of their folder, toolkit or package, of libraries those
of file names, headers and version files; nothing is run or imported. [gpu-code.md](gpu-code.md) says how GPU code is
read. The sources of what is compared stand in the tables (`doctor knowledge show`) and with each finding.

"""


def page() -> str:
    return _HEAD + table()


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
