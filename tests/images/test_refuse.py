from __future__ import annotations

import pytest

from doctor.errors import InputError
from doctor.images.recipe import recipe
from doctor.images.refuse import Impossible
from doctor.knowledge import Knowledge
from doctor.profiles import load, names
from tests.images.profiles import SOURCE, nvidia, package, profile

KB = Knowledge()


def refused(given: object) -> Impossible:
    with pytest.raises(Impossible) as caught:
        recipe(given, None, KB)  # type: ignore[arg-type]
    return caught.value


def test_all_shipped_profiles_are_possible() -> None:
    with_image = [p for p in map(load, names()) if p.image and p.image.base]
    assert len(with_image) > 40
    assert all(recipe(p, None, KB).base for p in with_image)
    with pytest.raises(InputError, match=r"none is built: rocm/vllm:\S+ is used as it is"):
        recipe(load("mi300x+rocm7.14+vllm"), None, KB)


def test_a_gpu_that_the_rocm_has_no_kernels_for() -> None:
    said = refused(
        profile(
            hardware={"vendor": "amd", "arch": ["gfx1201"]},
            image={"targets": ["gfx1201"], "pip": [package("torch", "2.5.1", local="rocm6.2")]},
        )
    )
    assert any("gfx1201" in reason and "[" in reason for reason in said.reasons)
    assert said.nearest is not None
    assert "torch" in said.nearest


def test_a_gpu_that_is_too_new_for_the_cuda_of_torch() -> None:
    said = refused(nvidia(targets=["sm_120"], pip=[package("torch", "2.5.1")], python="3.12"))
    assert "sm_120" in str(said)
    assert said.nearest is not None


def test_a_python_that_torch_has_no_wheel_for() -> None:
    said = refused(nvidia(base="ubuntu:26.04", python="3.14", pip=[package("torch", "2.5.1")]))
    assert "3.14" in str(said)


def test_a_python_that_the_base_has_no_packages_of_names_the_base_that_has() -> None:
    said = refused(profile(image={"python": "3.13"}))
    assert "Ubuntu 24.04 has packages of Python 3.12" in str(said)
    assert said.nearest == "base debian:13, or Python 3.12 on Ubuntu 24.04"


def test_an_index_of_another_build_than_the_wheel() -> None:
    torch = package("torch", "2.13.0", local="rocm7.2", index="https://download.pytorch.org/whl/cu130")
    assert "whl/rocm7.2" in (refused(profile(image={"pip": [torch]})).nearest or "")


def test_a_driver_that_is_too_old_for_the_cuda_of_torch() -> None:
    given = nvidia().model_copy(
        update={
            "expect": profile(
                expect=[
                    {
                        "fact": "nvidia_driver.version",
                        "rule": "nvidia-driver-too-old",
                        "at_least": "550.54.14",
                        "why": "The fleet's driver.",
                        "source": SOURCE,
                    }
                ]
            ).expect
        }
    )
    assert "550.54.14" in str(refused(given))


def test_a_base_whose_name_says_no_distribution() -> None:
    with pytest.raises(InputError, match="what distribution is rocm/pytorch:latest"):
        recipe(profile(image={"base": "rocm/pytorch:latest"}), None, KB)


def test_what_is_compiled_needs_a_compiler_in_the_base() -> None:
    given = nvidia(pip=[package("torch", "2.14.1"), package("flash-attn", "2.8.3", compile=True)])
    with pytest.raises(InputError, match=r"flash-attn is compiled, and base ubuntu:24\.04 has no compiler"):
        _ = recipe(given, None, KB).builds
