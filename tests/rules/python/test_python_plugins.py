"""Libraries of providers and plugins that are opened by name: absent, of another major, or in packages aside."""

from __future__ import annotations

from doctor.findings import Finding
from doctor.knowledge import Knowledge
from doctor.rules.python import (
    gpu_libs_not_found,
    jax_plugin_mismatch,
    onnxruntime_gpu_mismatch,
    system_library_missing,
)
from tests.rules.machines import Facts, h100_host

KB = Knowledge()
WHEEL = "/env/lib/python3.11/site-packages/nvidia/cudnn/lib/libcudnn.so.9"


def lacking(package: str, name: str, version: str, **more: object) -> Facts:
    key = f"plugin_libraries[{package} {name}]"
    rows = {"package": package, "name": name, "wanted_by": "/x/libonnxruntime_providers_cuda.so", **more}
    return {f"{key}.{field}": value for field, value in rows.items()} | {
        "packages": [{"name": package, "version": version}]
    }


def found(module: object, facts: Facts) -> list[Finding]:
    machine = h100_host({"packages": None, "torch.version": None, "torch.cuda": None, "libraries": None} | facts)
    return list(module.check(machine, KB, None))  # type: ignore[attr-defined]


def test_a_library_that_is_nowhere() -> None:
    (finding,) = found(gpu_libs_not_found, lacking("onnxruntime-gpu", "libcudnn.so.9", "1.23.2"))
    assert finding.summary == "The loader cannot find libcudnn.so.9, which onnxruntime-gpu 1.23.2 needs."
    assert (finding.remedies[0].steps[0].command or ())[-1] == "onnxruntime-gpu[cuda,cudnn]==1.23.2"


def test_another_major_at_hand_is_a_mismatch_of_the_framework() -> None:
    facts = lacking("onnxruntime-gpu", "libcudnn.so.9", "1.23.2", other_majors=("libcudnn.so.8",))
    assert found(gpu_libs_not_found, facts) == []
    (finding,) = found(onnxruntime_gpu_mismatch, facts)
    assert finding.summary == "onnxruntime-gpu 1.23.2 needs libcudnn.so.9, but libcudnn.so.8 is here."
    rocm = lacking("jax-rocm60-pjrt", "libamdhip64.so.6", "0.5.0", other_majors=("libamdhip64.so.7",))
    assert [f.subject.id for f in found(jax_plugin_mismatch, rocm)] == ["jax-rocm60-pjrt"]


def test_a_copy_that_only_preloading_finds_is_a_remark_and_none_where_torch_brings_it() -> None:
    facts = lacking("onnxruntime-gpu", "libcudnn.so.9", "1.23.2", in_package=WHEEL)
    (finding,) = found(gpu_libs_not_found, facts)
    assert finding.severity.value == "info"
    assert "preload_dlls" in finding.remedies[0].title
    (old,) = found(gpu_libs_not_found, lacking("onnxruntime-gpu", "libcudnn.so.9", "1.20.1", in_package=WHEEL))
    assert "LD_LIBRARY_PATH" in old.remedies[0].title
    assert found(gpu_libs_not_found, facts | {"torch.version": "2.8.0", "torch.cuda": "12.8"}) == []


def test_nothing_lacking_and_nothing_known_say_nothing() -> None:
    empty: tuple[list[object] | None, ...] = ([], None)
    for value in empty:
        facts: Facts = {"plugin_libraries": value}
        for module in (gpu_libs_not_found, onnxruntime_gpu_mismatch, jax_plugin_mismatch):
            assert not [f for f in found(module, facts) if "needs" in f.summary]


def test_a_library_of_the_system_that_a_plugin_needs() -> None:
    facts = lacking("jax-rocm60-pjrt", "libnuma.so.1", "0.5.0") | {"os.id": "ubuntu"}
    assert found(gpu_libs_not_found, facts) == []
    (finding,) = found(system_library_missing, facts)
    assert finding.summary == "The loader cannot find libnuma.so.1, which jax-rocm60-pjrt needs."
    assert (finding.remedies[0].steps[0].command or ())[-1] == "libnuma1"
