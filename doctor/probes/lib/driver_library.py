"""Which libcuda.so.1 a new program gets: the loader's search is followed, as python_loader does it, from the system's
shell on. A stub for linking, a library of another driver's, or none: CUDA finds no device then.

Cost: a few listings, and the headers of one or two files.
"""

from __future__ import annotations

import re

from doctor.facts.sheet import FactSheet
from doctor.probes.lib.loader_files import READS as OF_FILES
from doctor.probes.lib.python_loader import Loader
from doctor.system.base import System

READS: tuple[str, ...] = ("environment secret-bearing", *OF_FILES)
SONAME = "libcuda.so.1"
_VERSION = re.compile(r"\.so\.(\d{2,4}\.\d{1,4}(?:\.\d{1,4})?)$")
_STUB_BYTES = 2 << 20
"""NVIDIA's library has 20 MB and more and its driver's version in its name; a stub has neither. WSL's is small too."""


def look(system: System, sheet: FactSheet) -> None:
    environ = system.environ()
    if not environ.known:
        return  # an image or a pod may set LD_LIBRARY_PATH, which a tree does not show
    loader = Loader(system, environ.value or {})
    if (main := loader.any_program()) is None:
        return
    answer = loader.ask(SONAME, main)
    source = f"file:/{answer.path or main.path}"
    sheet.put("nvidia_driver.libcuda_found", answer.path is not None, source)
    info, real = (loader.info(answer.path), loader.real(answer.path)) if answer.path else (None, "")
    version = _VERSION.search(real)
    if answer.path:
        sheet.put("nvidia_driver.libcuda.path", f"/{answer.path}", source)
        sheet.put("nvidia_driver.libcuda.by", answer.by or "", source)
    if version:
        sheet.put("nvidia_driver.libcuda.version", version[1], source)
    stub = version is None and info is not None and 0 < info.size < _STUB_BYTES and "/wsl/" not in f"/{real}"
    sheet.put("nvidia_driver.libcuda.stub", stub, source)
