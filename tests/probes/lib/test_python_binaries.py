"""GPU code, symbols and requirements of an environment whose libraries are made byte by byte."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from doctor.facts import FactSheet
from doctor.probes.python import python_env
from doctor.system.capture import CaptureSystem
from doctor.system.recorder import Recorder
from tests.parsers import binaries
from tests.parsers.binaries import SPECIFIC, Entry
from tests.probes.pretend import Pretend, values

SITE = "opt/venv/lib/python3.12/site-packages"
NEW = "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"
OLD = "_ZN3c105ErrorC2ENS_14SourceLocationESs"
ADD = "_ZN2at4_ops3add4callEv"
VERSION = "__version__ = '2.7.0+cu128'\ncuda: str = '12.8'\nhip = None\n"


def cuda_code(*entries: Entry, **more: Any) -> bytes:
    return binaries.elf([(".nv_fatbin", binaries.fat_binary(*entries))], **more)


def environment(root: Path, files: Mapping[str, bytes], version: str = VERSION) -> Pretend:
    """A venv with torch: its lists of architectures, its code, and the symbols that it defines."""
    torch = {
        "torch/version.py": version.encode(),
        "torch/lib/libc10.so": binaries.elf(defines=(NEW,)),
        "torch/lib/libtorch_cpu.so": binaries.elf(defines=(ADD,)),
        "torch/lib/libtorch_python.so": binaries.elf([(".rodata", b"sm_80 sm_90\0")], defines=("PyInit",)),
        "torch/lib/libtorch_cuda.so": binaries.elf(
            [
                (
                    ".nv_fatbin",
                    binaries.fat_binary(Entry(80), Entry(90)) * 2
                    + binaries.fat_binary(Entry(80), Entry(90), Entry(90, flags=SPECIFIC)),
                )
            ],
            defines=("launch",),
        ),
        "torch-2.7.0+cu128.dist-info/METADATA": b"Metadata-Version: 2.1\nRequires-Dist: triton (==3.3.0)\n\nx",
    }
    for path, content in {**torch, **files}.items():
        place = root / SITE / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content)
    (root / "opt/venv/bin").mkdir(parents=True)
    (root / "opt/venv/bin/python3").write_bytes(b"")
    (root / "opt/venv/pyvenv.cfg").write_text("home = /usr/bin\nversion = 3.12.3\n")
    return Pretend(root, environ={"VIRTUAL_ENV": "/opt/venv", "PATH": "/opt/venv/bin"})


def told(system: Any) -> dict[str, Any]:
    sheet = FactSheet()
    python_env.probe(system, sheet)
    return values(sheet)


def test_torchs_code_by_object_and_its_own_list(tmp_path: Path) -> None:
    facts = told(environment(tmp_path, {}))
    assert facts["torch.arch_list"] == ["sm_80", "sm_90"]
    assert (facts["torch.sass"], facts["torch.ptx"], facts["torch.cxx11_abi"]) == (
        ["sm_80", "sm_90", "sm_90a"],
        [],
        True,
    )
    (library,) = facts["binaries"]
    assert library["key"] == f"/{SITE}/torch/lib/libtorch_cuda.so"
    assert [(g["number"], g["archs"]) for g in library["objects"]] == [
        (2, ["sm_80", "sm_90"]),
        (1, ["sm_80", "sm_90", "sm_90a"]),
    ]


def test_symbols_that_torch_lacks(tmp_path: Path) -> None:
    def extension(*wants: str) -> bytes:
        return cuda_code(Entry(80), needed=("libc10.so", "libtorch_cpu.so"), wants=(*wants, "malloc"))

    system = environment(
        tmp_path,
        {
            "flash_attn_2_cuda.cpython-312-x86_64-linux-gnu.so": extension(ADD, OLD),
            "flash_attn-2.8.3.dist-info/METADATA": b"Metadata-Version: 2.1\n\n",
            "xformers/_C.so": extension(ADD, NEW),
            "xformers-0.0.30.dist-info/METADATA": b"Metadata-Version: 2.1\nRequires-Dist: torch==2.7.0\n\n",
        },
    )
    rows = {row["package"]: row for row in told(system)["binaries"]}
    assert rows["flash-attn"]["missing_symbols"] == [OLD]
    assert rows["flash-attn"]["cxx11_abi"] is False
    assert rows["xformers"]["missing_symbols"] == []
    assert rows["xformers"]["torch_symbols"] == 2


def test_a_library_of_another_python_is_not_this_pythons(tmp_path: Path) -> None:
    name = "flash_attn_2_cuda.cpython-310-x86_64-linux-gnu.so"
    system = environment(tmp_path, {name: cuda_code(Entry(70)), "flash_attn-2.8.3.dist-info/METADATA": b""})
    assert [row["package"] for row in told(system)["binaries"]] == ["torch"]


def test_bitsandbytes_takes_the_library_of_torchs_cuda(tmp_path: Path) -> None:
    libraries = {
        f"bitsandbytes/libbitsandbytes_cuda{n}.so": cuda_code(Entry(int(n) // 2)) for n in ("118", "126", "130")
    }
    system = environment(tmp_path, {**libraries, "bitsandbytes-0.50.0.dist-info/METADATA": b""})
    rows = [row for row in told(system)["binaries"] if row["package"] == "bitsandbytes"]
    assert [row["key"].rpartition("/")[2] for row in rows] == ["libbitsandbytes_cuda126.so"]


def test_requirements_of_the_stack_are_kept(tmp_path: Path) -> None:
    lines = ("torch==2.6.0", "pillow", "scipy ; extra == 'scipy'", "numpy", "")
    wants = "\n".join(f"Requires-Dist: {line}" if line else "" for line in (*lines, "behind-the-head"))
    metadata = f"Metadata-Version: 2.1\nName: torchvision\nRequires-Python: >=3.9\n{wants}\n".encode()
    facts = told(environment(tmp_path, {"torchvision-0.21.0.dist-info/METADATA": metadata}))
    package = next(p for p in facts["packages"] if p["name"] == "torchvision")
    assert (package["requires"], package["requires_python"]) == (["torch==2.6.0", "pillow", "numpy"], ">=3.9")


def test_rocm_targets_and_kernel_files(tmp_path: Path) -> None:
    version = "__version__ = '2.7.0+rocm6.3'\ncuda = None\nhip: str = '6.3.42131'\n"
    bundle = binaries.packed_bundle(binaries.bundle("hipv4-amdgcn-amd-amdhsa--gfx942"), 2, "zstd")
    files = {
        "torch/lib/libtorch_python.so": binaries.elf([(".rodata", b"gfx90a gfx942\0")]),
        "torch/lib/libtorch_cuda.so": binaries.elf(),
        "torch/lib/libtorch_hip.so": binaries.elf([(".hip_fatbin", bundle)]),
        "torch/lib/rocblas/library/TensileLibrary_lazy_gfx942.dat": b"",
        "torch/lib/rocblas/library/Kernels.so-000-gfx90a-xnack+.hsaco": b"",
    }
    facts = told(environment(tmp_path, files, version))
    assert facts["torch.arch_list"] == ["gfx90a", "gfx942"]
    rows = {row["package"]: row["gfx"] for row in facts["binaries"]}
    assert rows == {"torch": ["gfx942"], "rocblas": ["gfx90a:xnack+", "gfx942"]}


def test_a_recording_keeps_what_was_derived_and_tells_the_same(tmp_path: Path) -> None:
    system = environment(tmp_path, {"xformers/_C.so": cuda_code(Entry(80), needed=("libc10.so",), wants=(OLD,))})
    recorder = Recorder(system)
    facts = told(recorder)
    assert told(CaptureSystem.of(recorder.entries)) == facts
    assert not [key for key in recorder.entries if key.startswith("bytes:") and key.split(":")[1].endswith(".so")]


def test_a_damaged_library_costs_only_itself(tmp_path: Path) -> None:
    whole = cuda_code(Entry(80))
    system = environment(tmp_path, {"torchvision/_C.so": whole[:90], "xformers/_C.so": whole})
    assert [row["package"] for row in told(system)["binaries"]] == ["torch", "xformers"]


def test_without_a_torch_build_that_is_known_there_is_nothing_to_load(tmp_path: Path) -> None:
    facts = told(environment(tmp_path, {}, "__version__ = '2.7.0+xpu'\ncuda = None\nhip = None\nxpu = '2025.0'\n"))
    assert (facts["binaries"], facts["libraries"]) == ([], [])
