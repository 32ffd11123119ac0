"""The files of a BLAS library that are there, from facts: what the loader takes, and its kernel files for the GPUs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.blas.predict import Library, visible_archs
from doctor.facts.snapshot import Snapshot

_NAMES: dict[str, tuple[str, ...]] = {
    "hipblaslt": ("libhipblaslt.so",),
    "rocblas": ("librocblas.so",),
    "cublas": ("libcublas.so",),
    "cublaslt": ("libcublasLt.so",),
    "cpu": ("libmkl_rt.so", "libopenblas", "libblas.so"),
}


def found(machine: Snapshot, library: Library | None) -> Iterator[str]:
    """`PATH (by what the loader takes it)`, and which visible GPUs its kernel files leave out."""
    for loaded in machine.libraries or ():
        if loaded.path and loaded.key.startswith(_NAMES.get(library or "", ("\0",))):
            yield f"/{loaded.path.lstrip('/')}" + (f" ({loaded.by})" if loaded.by else "")
    for binary in machine.binaries or ():
        if binary.package == library and binary.gfx:
            archs = visible_archs(machine) or ()
            bare = {g.split(":")[0] for g in binary.gfx}
            without = [a for a in archs if a not in bare]
            said = f"no kernel files for {', '.join(without)}" if without else f"kernel files for {len(bare)} targets"
            yield f"/{binary.key.lstrip('/')}: {said}"
    bundled = (machine.torch.bundled or {}).get(library or "")
    if bundled:
        yield f"came with torch: {library} {bundled}"
