"""GPU code, dynamic sections and symbols, read from small binaries that the tests make byte by byte."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.elf import archive, cudnn_release, elf, elf_dynamic, elf_symbols, fatbin, gpu_code, offload_bundle
from doctor.parsers.elf.blocks import Held, Window
from doctor.parsers.python import torch_strings
from doctor.parsers.python import torch_symbols as torch_names
from tests.parsers import binaries
from tests.parsers.binaries import FAMILY, LZ4, SPECIFIC, ZSTD, Entry

MI = "hipv4-amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-"
RDNA = "hipv4-amdgcn-amd-amdhsa--gfx11-generic"
HOST = "host-x86_64-unknown-linux-gnu-"
OLD_ID = "hip-amdgcn-amd-amdhsa-gfx906"


class Counted(Held):
    """Says how many bytes were asked for."""

    asked = 0

    def at(self, offset: int, length: int) -> bytes:
        found = super().at(offset, length)
        self.asked += len(found)
        return found


def test_fat_binaries_object_by_object() -> None:
    first = binaries.fat_binary(Entry(80), Entry(90, flags=0x11 | LZ4), Entry(90, kind=1, flags=0x11 | LZ4))
    second = binaries.fat_binary(
        Entry(80), Entry(90), Entry(90, flags=0x11 | SPECIFIC | ZSTD), Entry(103, flags=FAMILY)
    )
    code = gpu_code.read(binaries.elf([(".nv_fatbin", first + first + second)]))
    assert code.sass == ("sm_80", "sm_90", "sm_90a", "sm_103f")
    assert code.ptx == ("compute_90",)
    assert code.common == ("sm_80", "sm_90")
    assert code.compressed == ("lz4", "zstd")
    assert [(g.number, g.archs, g.names) for g in code.objects] == [
        (2, ("sm_80", "sm_90", "compute_90"), (".nv_fatbin#0", ".nv_fatbin#1")),
        (1, ("sm_80", "sm_90", "sm_90a", "sm_103f"), (".nv_fatbin#2",)),
    ]


def test_padding_between_fat_binaries_is_stepped_over() -> None:
    one = binaries.fat_binary(Entry(75, size=12))
    found = fatbin.read(one + bytes(-len(one) % 8) + bytes(48) + binaries.fat_binary(Entry(86)))
    assert [f.archs for f in found] == [("sm_75",), ("sm_86",)]


def test_code_for_linking_on_the_device_counts_too() -> None:
    code = gpu_code.read(binaries.elf([("__nv_relfatbin", binaries.fat_binary(Entry(120)))]))
    assert code.sass == ("sm_120",)


def test_only_headers_of_a_large_library_are_read() -> None:
    library = binaries.elf([(".nv_fatbin", b"".join(binaries.fat_binary(Entry(80, size=1 << 20)) for _ in range(6)))])
    counted = Counted(library)
    assert gpu_code.code(counted).objects[0].number == 6
    assert counted.asked < len(library) / 500


def test_a_plain_offload_bundle_with_its_features() -> None:
    (found,) = offload_bundle.read(binaries.bundle(HOST, MI, RDNA, OLD_ID))
    assert found.targets == ("gfx11-generic", "gfx906", "gfx942:sramecc+:xnack-")
    assert found.compressed is None


@pytest.mark.parametrize("version", [1, 2, 3])
@pytest.mark.parametrize("method", ["zlib", "zstd"])
def test_compressed_bundles_of_every_version(version: int, method: str) -> None:
    packed = binaries.packed_bundle(binaries.bundle(HOST, MI), version, method)
    padded = packed + bytes(-len(packed) % 4096)
    found = offload_bundle.read(padded + binaries.packed_bundle(binaries.bundle(RDNA), version, method))
    assert [f.targets for f in found] == [("gfx942:sramecc+:xnack-",), ("gfx11-generic",)]
    assert {(f.compressed, f.version) for f in found} == {(method, version)}


def test_bundles_of_a_shared_object_are_grouped() -> None:
    section = b"".join(b + bytes(-len(b) % 4096) for b in (binaries.bundle(MI), binaries.bundle(MI, RDNA)))
    code = gpu_code.read(binaries.elf([(".hip_fatbin", section)]))
    assert code.gfx == ("gfx11-generic", "gfx942:sramecc+:xnack-")
    assert code.common == ("gfx942:sramecc+:xnack-",)


def test_a_code_object_says_its_target_in_its_flags() -> None:
    assert gpu_code.read(binaries.elf(machine=224, flags=0x54C)).gfx == ("gfx942",)
    assert gpu_code.read(binaries.elf(machine=224, flags=0x33F)).gfx == ("gfx90a:xnack+",)


def test_members_of_a_static_library_are_told_by_name() -> None:
    objects = binaries.archive(
        ("add.o", binaries.elf([(".nv_fatbin", binaries.fat_binary(Entry(80)))])),
        ("a_rather_long_name_of_a_kernel.cu.o", binaries.elf([(".nv_fatbin", binaries.fat_binary(Entry(90)))])),
        ("notes.txt", b"no object"),
    )
    assert [m.name for m in archive.read(objects)] == ["add.o", "a_rather_long_name_of_a_kernel.cu.o", "notes.txt"]
    assert {g.names: g.archs for g in gpu_code.read(objects).objects} == {
        ("add.o",): ("sm_80",),
        ("a_rather_long_name_of_a_kernel.cu.o",): ("sm_90",),
    }


def test_a_library_without_gpu_code() -> None:
    code = gpu_code.read(binaries.elf([(".text", bytes(64))]))
    assert (code.sass, code.ptx, code.gfx, code.objects) == ((), (), (), ())


@pytest.mark.parametrize(
    "content", [b"", b"MZ\x90", b"\x7fELF", b"\x7fELF\x02\x01\x01", b"#!/bin/sh\n", b"\x7fELF\x05\x07" + bytes(99)]
)
def test_what_is_no_binary_is_refused(content: bytes) -> None:
    with pytest.raises(ParserError):
        gpu_code.read(content)


def test_a_section_that_holds_no_fat_binary_is_an_error_and_not_nothing() -> None:
    with pytest.raises(ParserError, match="no fat binary"):
        gpu_code.read(binaries.elf([(".nv_fatbin", bytes(256))]))


def test_an_unknown_version_of_a_compressed_bundle_is_an_error() -> None:
    packed = bytearray(binaries.packed_bundle(binaries.bundle(MI), 3))
    packed[4] = 9
    with pytest.raises(ParserError, match="version 9"):
        offload_bundle.read(bytes(packed))


def test_what_the_loader_is_told() -> None:
    made = binaries.elf(
        needed=("libc10.so", "libcudart.so.12"), soname="libx.so", rpath="$ORIGIN/../lib:/opt", build_id=b"\xab\xcd"
    )
    told = elf_dynamic.read(made)
    assert told is not None
    assert told.needed == ("libc10.so", "libcudart.so.12")
    assert (told.soname, told.rpath, told.runpath) == ("libx.so", "$ORIGIN/../lib:/opt", None)
    held = Held(made)
    assert elf_dynamic.build_id(held, elf.head(held)) == "abcd"
    assert elf_dynamic.read(binaries.elf([(".text", b"x")])) is None


def test_symbols_that_are_wanted_and_those_that_are_there() -> None:
    there = ("_ZN3c105ErrorC2ENS_14SourceLocationESs", "_ZN2at4_ops3add4callEv", "printf")
    library = Held(binaries.elf(defines=there, wants=("malloc",)))
    assert [s.name for s in elf_symbols.read(binaries.elf(wants=("a", "b"), defines=("c",)))] == ["a", "b"]
    assert elf_symbols.lacking(library, [*there, "_ZN2at4_ops3sub4callEv", "malloc"]) == [
        "_ZN2at4_ops3sub4callEv",
        "malloc",
    ]
    assert torch_names.cxx11_abi(library) is False


def test_the_c_plus_plus_abi_of_wanted_names() -> None:
    old, new = (
        "_ZN3c106detail14torchCheckFailEPKcS2_jRKSs",
        "_ZN3c106detail14torchCheckFailEPKcS2_jRKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    )
    assert (torch_names.abi_of([old]), torch_names.abi_of([new]), torch_names.abi_of(["_ZN2at5emptyEv"])) == (
        False,
        True,
        None,
    )
    assert torch_names.plain(new) == "c10::detail::torchCheckFail"
    assert not torch_names.is_torchs("_ZN8pybind116objectE")


def test_the_list_of_architectures_in_read_only_data() -> None:
    data = b"ipc_hsm_70 sm_90 sm_100a compute_120\0" + b"asm_ volatile\0sm_1\0"
    library = Held(binaries.elf([(".rodata", data)]))
    assert torch_strings.arch_list(library) == ("sm_70", "sm_90", "sm_100a", "compute_120")
    assert torch_strings.read(b"gfx90a gfx942 gfx11-generic\0") == ("gfx90a", "gfx942", "gfx11-generic")
    with pytest.raises(ParserError):
        torch_strings.read(b"sm_ 80 sm_x\0")


def test_a_window_ends_where_its_member_ends() -> None:
    window = Window(Held(b"0123456789"), 3, 4)
    assert (window.at(0, 99), window.at(4, 1), window.at(-1, 2), Window(Held(b"01"), 5, 5).size) == (
        b"3456",
        b"",
        b"",
        0,
    )


def cudnn(number: int, *defines: str) -> bytes:
    """A library whose bytes at 0x1000, where `binaries.elf` says that its variables are, hold a number."""
    filled = (".rodata", number.to_bytes(8, "little") * 1024)
    return binaries.elf([filled], soname="libcudnn_graph.so.9", defines=defines)


def test_the_release_of_a_library_of_cudnn() -> None:
    assert cudnn_release.read(Held(cudnn(0x090A02, "cudnn_graph_version"))) == "9.10.2"
    assert cudnn_release.read(Held(cudnn(0x090A02, "cudnnGetVersion"))) is None
