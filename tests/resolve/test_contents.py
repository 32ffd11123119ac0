"""What a wheel's own libraries say against a machine or a torch, by wheels that were read."""

from __future__ import annotations

from doctor.knowledge import Knowledge
from doctor.knowledge.frameworks import PackageRelease, PackageWay
from doctor.resolve import Solution, described, explain, solve
from doctor.resolve.contents import judge, majors, missing_extra
from doctor.resolve.model import Build
from tests.each import each

KB = Knowledge()
H100 = {"gpu": "H100", "driver": "580.95.05", "python": "3.12"}


def asked(packages: str, **machine: str) -> Solution:
    return solve(KB, described(KB, **machine), packages.split())


def said(package: str, version: str, build: Build | None = None, **machine: str) -> list[tuple[str, str]]:
    """(verdict, text) of what the wheel of one release says."""
    release = PackageRelease(package=package, version=version, source="x", as_of="2026-11-23")
    builds = (build.tag,) if build else ()
    way = PackageWay(id=package, package=package, code=package, builds=builds, source="x", as_of="2026-11-23")
    return [(r.verdict, r.text) for r in judge(KB, described(KB, **machine), release, way, build)]


def test_libraries_for_cuda_12_are_not_put_beside_a_torch_for_cuda_13() -> None:
    refused = said("xformers", "0.0.35", Build("2.15.0", "cu132", plain=True), **H100)
    assert ("no", "its libraries need CUDA 12 (libcudart.so.12), not for torch's CUDA 13.2") in refused
    assert not [
        text for verdict, text in said("xformers", "0.0.35", Build("2.10.0", "cu128"), **H100) if verdict == "no"
    ]


def test_a_gpu_needs_code_or_ptx_in_the_wheel() -> None:
    assert any(verdict == "yes" and "PTX" in text for verdict, text in said("xformers", "0.0.35", gpu="sm_120"))
    old = said("xformers", "0.0.35", gpu="sm_61")
    assert [verdict for verdict, text in old if "none of it runs on sm_61" in text] == ["no"]


def test_tensorflow_has_code_from_pascal_on_and_ptx_for_blackwell() -> None:
    assert asked("tensorflow", gpu="sm_120", driver="580.95.05", python="3.12").status == "solved"
    assert asked("tensorflow", gpu="sm_61", driver="550.54.14", python="3.12").status == "solved"
    old = asked("tensorflow", gpu="sm_52", driver="550.54.14", python="3.12")
    assert [r.text.partition("; ")[2] for r in old.refusals()] == ["none of it runs on sm_52"]
    arm = asked("tensorflow", gpu="GH200", driver="580.95.05", python="3.12")
    assert [r.text for r in arm.refusals()] == ["tensorflow 2.21.0: its GPU wheels are for x86_64, not aarch64"]
    assert not arm.changes  # its processor can't be changed
    assert asked("ctranslate2", gpu="GH200", driver="580.95.05", python="3.12").status == "impossible"


def test_a_library_for_each_cuda_must_have_torch_s() -> None:
    assert not [v for v, _ in said("bitsandbytes", "0.50.2", Build("2.15.0", "cu132"), **H100) if v == "no"]
    texts = [text for v, text in said("bitsandbytes", "0.50.2", Build("2.16.0", "cu199"), **H100) if v == "no"]
    assert any("not for cu199" in text for text in texts)


def test_what_is_opened_while_it_runs_counts_too() -> None:
    held = next(c for c in KB.wheel_contents("ctranslate2", "x86_64") if c.version == "4.8.5")
    assert (held.needed, majors(held)) == ((), {12})
    found = asked("ctranslate2", **{**H100, "driver": "450.80.02"})
    assert found.status == "impossible"
    assert "CUDA 12.0 needs driver >= 525.60.13; 450.80.02 is loaded" in explain(found)
    assert asked("ctranslate2", **H100).status == "solved"


def test_a_patch_that_was_not_read_is_judged_by_one_of_its_series() -> None:
    assert said("ctranslate2", "4.8.1", None, **H100) == said("ctranslate2", "4.8.5", None, **H100)
    assert said("ctranslate2", "9.9.9", None, **H100) == [
        ("unknown", "the libraries of its wheel on x86_64 were not read")
    ]


def test_a_package_of_the_stable_abi_goes_with_every_later_torch() -> None:
    codec = [asked(f"torch=={torch} torchcodec", **H100).picks[0].version for torch in ("2.15.0", "2.10.0", "2.9.1")]
    assert codec == ["0.17.0", "0.10.0", "0.9.1"]


def test_an_extra_that_pins_a_release_that_does_not_exist_is_refused() -> None:
    release = next(r for r in KB.package_releases("jax") if r.version == "0.12.0.1")
    (reason,) = missing_extra(KB, release, frozenset({"rocm7-local"}))
    assert "its extra rocm7-local needs jax-rocm7-plugin==0.12.0.1.*, and no such release is known" in reason.text
    assert asked("jax", gpu="gfx942", rocm="7.2.1", python="3.12").picks[0].version == "0.12.0"


def test_where_wheels_of_one_name_differ_by_cuda_torch_s_index_is_taken() -> None:
    found = asked("torch xformers==0.0.35", **H100)
    assert " ".join(found.commands[0]).endswith("xformers==0.0.35 --index-url https://download.pytorch.org/whl/cu130")


@each(
    "packages, machine, status, version",
    [
        ("sglang", {"gpu": "T4"}, "impossible", "0.5.23"),  # sglang-kernel has no code for sm_75
        ("sglang", {"gpu": "A100"}, "solved", "0.5.23"),
        (
            "sglang",
            {"gpu": "A100", "machine": "aarch64"},
            "impossible",
            "0.5.23",
        ),  # for Arm from sm_90 on
        ("onnxruntime-gpu", {"gpu": "B200"}, "solved", "1.28.0"),  # later ones have no code for sm_100
        ("onnxruntime-gpu", {"gpu": "GTX 970"}, "solved", "1.20.2"),
        ("jax", {"gpu": "sm_110"}, "solved", "0.12.0.1"),
        ("paddlepaddle-gpu", {"gpu": "H100"}, "impossible", "2.6.2"),
        ("cupy", {"gpu": "gfx906", "driver": "6.4.1"}, "impossible", "14.2.0"),
        ("torch==2.14.1 xformers", {"gpu": "GTX 1080"}, "unknown", "0.0.35"),  # the wheel on PyPI has no code for it
        ("torch==2.14.1 xformers", {"gpu": "A100"}, "solved", "0.0.35"),
        ("torch xformers", {"gpu": "gfx1100", "driver": "30.10"}, "unknown", "0.0.35"),  # nobody read that index
        ("vllm", {"gpu": "T4"}, "solved", "0.33.0"),
        ("vllm>=0.25", {"gpu": "T4", "machine": "aarch64"}, "impossible", "0.33.0"),  # for Arm from sm_80 on
        ("vllm", {"gpu": "sm_110"}, "solved", "0.33.0"),
        ("vllm", {"gpu": "V100"}, "solved", "0.19.1"),
        ("torch bitsandbytes", {"gpu": "V100"}, "solved", "0.50.2"),  # in its library for CUDA 12.6
        ("torch bitsandbytes", {"gpu": "GTX 980"}, "solved", "0.47.0"),  # later ones begin at sm_60
        ("torch transformer-engine", {"gpu": "sm_103"}, "solved", "2.20.2"),
        ("triton", {"gpu": "GTX 1080"}, "impossible", "3.8.0"),  # it compiles on the machine, from sm_70 on
    ],
)
def test_the_code_of_the_wheel_that_has_it_decides(
    packages: str, machine: dict[str, str], status: str, version: str
) -> None:
    found = asked(packages, **{"driver": "580.95.05", "python": "3.12", **machine})
    assert (found.status, found.picks[0].version) == (status, version)


def test_a_gpu_that_a_few_kernels_have_code_for_is_no_gpu_of_the_wheel() -> None:
    """vLLM's wheel has PTX of compute_52 in one object; its own list begins at sm_70."""
    old = said("vllm", "0.10.2", gpu="sm_61")
    (text,) = (text for verdict, text in old if verdict == "no")
    assert text.startswith("only a part of it has code for sm_61; the rest is built for sm_70, ")
    assert not [text for verdict, text in said("vllm", "0.10.2", gpu="sm_86") if verdict == "no"]


def test_jax_for_thor_is_the_one_of_cuda_13() -> None:
    assert "jax[cuda13]" in str(asked("jax", gpu="sm_110", driver="580.00", python="3.12").commands)
