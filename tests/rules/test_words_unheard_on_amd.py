"""What the words of a text may not accuse, since the text shows that it is right."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.rules.access import container_render_group_mismatch as groups
from doctor.rules.access import container_security_profile as profile
from doctor.rules.access import container_shm_too_small as shm
from doctor.rules.blas import hipblaslt_unsupported_arch as hipblaslt
from doctor.rules.flags import env_flag_wrong_for_gpu as flag
from doctor.rules.python import jax_plugin_mismatch as jax

RUN = "$ docker run --device /dev/kfd --device /dev/dri "
JAX = "$ pip list\nPackage    Version\n---------- -------\njax 0.6.0\njaxlib 0.6.0\n"


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


def agent(arch: str) -> str:
    return (
        f"*******\nAgent 2\n*******\n  Name:                    {arch}\n"
        "  Vendor Name:             AMD\n  Device Type:             GPU\n"
    )


@pytest.mark.parametrize("options", ["--ipc=host", "--shm-size 64G", "--shm-size=16gb"])
def test_a_run_line_gives_shared_memory(options: str) -> None:
    assert shm.unheard(of(f"{RUN}{options} rocm/vllm:latest\n"))


def test_a_run_line_gives_little_or_an_error_tells_of_it() -> None:
    assert not shm.unheard(of(f"{RUN}--shm-size 64m rocm/vllm:latest\n"))
    assert not shm.unheard(of(f"{RUN}rocm/vllm:latest\n"))
    assert not shm.unheard(of(f"{RUN}--ipc=host rocm/vllm:latest\nBus error (core dumped)\n"))


def test_a_privileged_container_has_no_profile() -> None:
    assert profile.unheard(of(f"{RUN}--privileged rocm/vllm:latest\n"))
    assert not profile.unheard(of(f"{RUN}--cap-add SYS_PTRACE rocm/vllm:latest\n"))


@pytest.mark.parametrize("image", ["lmsysorg/sglang:v0.4.8-rocm630", "vllm/vllm-openai-rocm:v0.19.0", "rocm/sgl-dev:x"])
def test_images_of_root_need_no_group(image: str) -> None:
    assert groups.unheard(of(f"{RUN}--group-add video {image}\n"))


def test_another_account_or_a_refusal_does() -> None:
    assert not groups.unheard(of(f"{RUN}--user 1000 rocm/vllm:latest\n"))
    assert not groups.unheard(of(f"{RUN}rocm/vllm:latest\nUnable to open /dev/kfd read-write: Permission denied\n"))
    assert not groups.unheard(of(f"{RUN}--group-add render ollama/ollama:rocm\nUnable to find group render\n"))


def test_hipblaslt_has_kernels_for_each_gpu() -> None:
    text = "ROCm 6.2.4\nHIPBLAS_STATUS_NOT_SUPPORTED\n"
    assert hipblaslt.unheard(of(text + agent("gfx90a")))
    assert not hipblaslt.unheard(of(text + agent("gfx1030")))
    assert not hipblaslt.unheard(of(text))


def test_aiter_is_for_the_gpu_at_hand() -> None:
    assert flag.unheard(of(f"export VLLM_ROCM_USE_AITER=1\n{agent('gfx942')}"))
    assert not flag.unheard(of(f"export VLLM_ROCM_USE_AITER=1\n{agent('gfx90a')}"))
    assert not flag.unheard(of(agent("gfx942")))


def test_jax_and_its_plugin_are_of_one_release() -> None:
    assert jax.unheard(of(f"{JAX}jax-rocm60-plugin 0.6.0\njax-rocm60-pjrt 0.6.0\n"))
    assert not jax.unheard(of(f"{JAX}jax-rocm60-plugin 0.5.0\n"))
    assert not jax.unheard(of(JAX))
