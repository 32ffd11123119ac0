"""What the words of a text may not accuse, since the text shows that it is right."""

from __future__ import annotations

import pytest

from doctor.facts import Snapshot
from doctor.intake import read_text
from doctor.knowledge import Knowledge
from doctor.rules.access import container_render_group_mismatch as groups
from doctor.rules.access import container_security_profile as profile
from doctor.rules.access import container_shm_too_small as shm
from doctor.rules.blas import hipblaslt_not_selected as not_selected
from doctor.rules.blas import hipblaslt_unsupported_arch as hipblaslt
from doctor.rules.driver import amdgpu_driver_known_bad as amd_driver
from doctor.rules.driver import amdgpu_firmware_bad as firmware
from doctor.rules.driver import amdgpu_kernel_or_os_unsupported as amd_kernel
from doctor.rules.flags import allocator_flag_unsupported as allocator
from doctor.rules.flags import env_flag_unknown_or_renamed as renamed
from doctor.rules.flags import env_flag_wrong_for_gpu as flag
from doctor.rules.host import apu_memory_pool_misconfigured as apu
from doctor.rules.host import integrated_gpu_conflict as integrated
from doctor.rules.host import pcie_link_degraded as link
from doctor.rules.python import gpu_libs_not_found as libs
from doctor.rules.python import jax_plugin_mismatch as jax
from doctor.rules.python import library_missing_gpu_arch as library_arch
from doctor.rules.python import rocm_path_broken as rocm_path
from doctor.rules.python import toolkit_torch_mismatch as toolkit
from doctor.rules.python import torch_companion_mismatch as companion
from doctor.rules.python import torch_cpu_only_build as cpu_only
from doctor.rules.python import torch_missing_gpu_arch as torch_arch

RUN = "$ docker run --device /dev/kfd --device /dev/dri "
JAX = "$ pip list\nPackage    Version\n---------- -------\njax 0.6.0\njaxlib 0.6.0\n"


def of(text: str) -> Snapshot:
    return read_text([text.encode()])


def agent(arch: str) -> str:
    return (
        f"*******\nAgent 2\n*******\n  Name:                    {arch}\n"
        "  Vendor Name:             AMD\n  Device Type:             GPU\n"
    )


def test_a_gpu_in_the_processors_socket_has_no_slot() -> None:
    slow = "GPU[0] : Card Series: AMD Instinct {}\ncopies reach 45 GB/s instead of 60 GB/s\n"
    assert link.unheard(of(slow.format("MI300A")))
    assert not link.unheard(of(slow.format("MI210")))


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


def test_hipblaslt_is_what_runs_where_it_is_the_slower_one() -> None:
    assert not_selected.unheard(of("torch.mm is 2x slower than rocBLAS here\n"))
    assert not not_selected.unheard(of("$ hipblaslt-bench -m 4096: 400 TFLOPS\ntorch.mm is 2x slower than that\n"))
    assert not not_selected.unheard(of("$ rocblas-bench -f gemm_ex -m 4096\n17 TFLOPS, slower than hipBLASLt\n"))


def test_aiter_is_for_the_gpu_at_hand() -> None:
    assert flag.unheard(of(f"export VLLM_ROCM_USE_AITER=1\n{agent('gfx942')}"))
    assert not flag.unheard(of(f"export VLLM_ROCM_USE_AITER=1\n{agent('gfx90a')}"))
    assert flag.unheard(of(agent("gfx942")))


def test_jax_and_its_plugin_are_of_one_release() -> None:
    assert jax.unheard(of(f"{JAX}jax-rocm60-plugin 0.6.0\njax-rocm60-pjrt 0.6.0\n"))
    assert not jax.unheard(of(f"{JAX}jax-rocm60-plugin 0.5.0\n"))
    assert not jax.unheard(of(JAX))


@pytest.mark.parametrize(
    "cpu", ["AMD Ryzen 5 5600X", "AMD Ryzen 9 3900XT 12-Core", "AMD EPYC 9575F", "Intel Xeon 6130"]
)
def test_a_processor_without_a_gpu_disturbs_no_card(cpu: str) -> None:
    assert integrated.unheard(of(f"CPU: {cpu}\n{agent('gfx1201')}"))


@pytest.mark.parametrize(
    "cpu", ["AMD Ryzen 5 5600G", "AMD Ryzen 7 5700U", "AMD Ryzen 9 9950X", "AMD EPYC 4564P", "Intel Core i7-12700K"]
)
def test_one_with_a_gpu_may(cpu: str) -> None:
    assert not integrated.unheard(of(f"CPU: {cpu}\n{agent('gfx1201')}"))


def test_a_gpu_that_is_alone_or_a_servers_is_in_nobodys_way() -> None:
    assert integrated.unheard(of(agent("gfx1151")))
    assert integrated.unheard(of(agent("gfx942")))
    assert not integrated.unheard(of(agent("gfx1036")))
    assert not integrated.unheard(of(agent("gfx1151") + agent("gfx1201").replace("Agent 2", "Agent 3")))


def test_a_kernel_that_touched_memory_was_there() -> None:
    fault = "Memory access fault by GPU node-1 on address 0x7f. Reason: Page not present or supervisor privilege.\n"
    assert library_arch.unheard(of(fault + agent("gfx906")))
    assert not library_arch.unheard(of(agent("gfx906")))


def test_what_gives_wrong_values_found_its_rocm() -> None:
    assert rocm_path.unheard(of("export ROCM_PATH=/opt/rocm\nthe example gives wrong results\n"))
    assert not rocm_path.unheard(of("export ROCM_PATH=/opt/rocm\nthe example does not build\n"))


def test_the_number_of_a_kernel_accuses_no_driver() -> None:
    assert amd_driver.unheard(of("Kernel: 6.12.9-arch1-1\nthe monitor shows no watts for the RX 7600\n"))
    assert not amd_driver.unheard(of("Kernel: 6.12.9-arch1-1\nthe RX 7600 hangs under load\n"))
    assert not amd_driver.unheard(of("Kernel: 6.12.9-arch1-1\namdgpu: SMU may be not in the right state!\n"))
    assert amd_kernel.unheard(of("OS: Ubuntu 20.04\nKernel: 5.15.0-52-generic\nKeyError: 'EndNs'\n"))
    assert not amd_kernel.unheard(of("OS: Ubuntu 20.04\nKernel: 5.15.0-52-generic\nthe GPU is not detected\n"))


def test_a_flag_that_no_table_has_is_for_any_gpu() -> None:
    assert flag.unheard(of(f"export FLASH_ATTENTION_TRITON_AMD_ENABLE=TRUE\n{agent('gfx1100')}"))
    assert not flag.unheard(of(f"export HSA_XNACK=1\n{agent('gfx1100')}"))


def test_one_rocm_is_no_other_than_torchs() -> None:
    torch = "PyTorch version: 2.7.0\nCUDA used to build PyTorch: N/A\nROCM used to build PyTorch: 6.3.42133\n"
    assert toolkit.unheard(of(torch))
    assert toolkit.unheard(of(f"{torch}ROCm version: 6.3.1\n"))
    assert not toolkit.unheard(of(f"{torch}ROCm version: 5.7\n"))


def test_wheels_of_one_build_go_together() -> None:
    wheels = "$ pip list\nPackage    Version\n---------- -------\ntorch 2.13.0+rocm7.15.0\n"
    assert companion.unheard(of(f"{wheels}torchvision 0.28.0+rocm7.15.0\ntorchaudio 2.11.0+rocm7.15.0\n"))
    assert not companion.unheard(of(f"{wheels}torchvision 0.28.0\n"))
    crash = "import torchaudio: Segmentation fault\n"
    assert not companion.unheard(of(f"{crash}{wheels}torchaudio 2.11.0+rocm7.15.0\n"))


def test_a_build_of_torch_is_accused_where_torch_is_named() -> None:
    assert cpu_only.unheard(of("CPU: AMD EPYC 7313\nOS: Ubuntu 22.04.5 LTS\namd-smi shows 0.5 % of the memory\n"))
    assert not cpu_only.unheard(of("CPU: AMD EPYC 7313\nthe pytorch script runs on the processor\n"))


def test_a_capture_that_is_refused_had_kernels_to_capture() -> None:
    refused = "torch on an MI300X\nHIP error: operation not permitted when stream is capturing\n"
    assert torch_arch.unheard(of(refused))
    assert not torch_arch.unheard(of(f"{refused}HIP error: invalid device function\n"))
    assert not torch_arch.unheard(of("torch on an MI300X\nHIP error: invalid argument\n"))


@pytest.mark.parametrize(
    ("lines", "unheard"),
    [
        ("", True),
        ("amdgpu: ring gfx_0.0.0 timeout, signaled seq=4, emitted seq=6\nGPU reset begin!\n", False),
    ],
)
def test_firmware_that_the_driver_does_without(lines: str, unheard: bool) -> None:
    noise = "amdgpu: [drm] psp gfx command LOAD_TA(0x1) failed and response status is (0x7)\n"
    noise += "amdxdna 0000:c6:00.1: Direct firmware load for amdnpu/17f0_10/npu_7.sbin failed with error -2\n"
    assert firmware.unheard(of(noise + lines)) is unheard
    assert not firmware.unheard(of(lines or "amdgpu: the firmware is old\n"))


@pytest.mark.parametrize(
    ("size", "line", "unheard"),
    [
        (113246208, "", True),
        (16252928, "", False),
        (113246208, "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 2 GiB\n", False),
    ],
)
def test_an_apu_whose_pool_is_above_what_linux_gives(size: int, line: str, unheard: bool) -> None:
    pool = "    Pool 1\n      Segment:                 GLOBAL; FLAGS: COARSE GRAINED\n"
    pool += f"      Size:                    {size}(0x0) KB\n"
    assert apu.unheard(of(f"$ rocminfo\n{agent('gfx1151')}  Pool Info:\n{pool}{line}")) is unheard


def test_a_program_that_falls_over_its_own_line() -> None:
    both = f"$ rocminfo\n{agent('gfx1100')}{agent('gfx1036').replace('Agent 2', 'Agent 3')}"
    crash = 'Thread 6 "saxpy" received signal SIGSEGV, Segmentation fault.\n'
    for frame, own in (("at saxpy.hip:37", True), ("from /opt/rocm/lib/libamdhip64.so.6", False)):
        machine = of(f"{both}{crash}#0  0x0000555555556b9f in init (p=0x7ffe50000000) {frame}\n")
        (finding,) = integrated.check(machine, Knowledge(), None)
        assert (finding.severity == "info") is own
        assert integrated.unheard(machine) is own


def test_hipblaslt_has_kernels_for_instinct_in_each_release() -> None:
    assert hipblaslt.unheard(of(f"$ rocminfo\n{agent('gfx942')}"))
    assert not hipblaslt.unheard(of(f"$ rocminfo\n{agent('gfx1101')}"))


def test_torch_that_names_its_gpu_found_its_libraries() -> None:
    named = ">>> torch.cuda.get_device_name(0)\n'AMD Radeon RX 9070'\n"
    assert libs.unheard(of(named))
    assert not libs.unheard(of(f"{named}ImportError: libMIOpen.so.1: cannot open shared object file"))
    assert not libs.unheard(of("rocm-sdk-libraries-gfx120X-all 7.10.0"))


def test_a_variable_that_names_the_installed_rocm_leads_there() -> None:
    text = "ROCm version: 6.2.4\n$ env\nROCM_PATH={}\nthe example does not build\n"
    assert rocm_path.unheard(of(text.format("/opt/rocm-6.2.4")))
    assert not rocm_path.unheard(of(text.format("/opt/rocm-6.1.0")))
    assert not rocm_path.unheard(of(text.format("/srv/rocm")))


def test_copy_engines_that_are_off_are_missed_where_something_is_slow_or_stands_still() -> None:
    text = f"{agent('gfx90a')}$ env\nHSA_ENABLE_SDMA=0\nHSA_XNACK=1\n"
    assert flag.unheard(of(f"{text}the input names an unknown group\n"))
    assert not flag.unheard(of(f"{text}copies to the host are slow\n"))
    for line, suspect in (("the input names an unknown group", 0), ("copies to the host are slow", 2)):
        (found,) = flag.check(of(f"{text}{line}\n"), Knowledge(), None)
        assert found.suspect == suspect


def test_a_name_that_old_releases_read_is_a_remark_where_the_release_is_not_known() -> None:
    for release, suspect in (("", 0), ("vllm 0.13.0", 4)):
        text = f"$ env\nVLLM_USE_TRITON_FLASH_ATTN=1\n\n$ pip list\nPackage    Version\n---------- -------\n{release}\n"
        (found,) = renamed.check(of(text), Knowledge(), None)
        assert found.suspect == suspect
    assert not list(renamed.check(of("$ env\nVLLM_FP8_PADDING=1\n"), Knowledge(), None))


def test_an_old_name_beside_todays_is_a_remark() -> None:
    old, today = (f"RAY_EXPERIMENTAL_NOSET_{runtime}_VISIBLE_DEVICES" for runtime in ("ROCR", "HIP"))
    packages = "$ pip list\nPackage    Version\n---------- -------\nray 2.48.0\n"
    for names, suspect in (((old,), 4), ((old, today), 0)):
        text = "$ env\n" + "".join(f"{name}=1\n" for name in names) + f"\n{packages}"
        assert [found.suspect for found in renamed.check(of(text), Knowledge(), None)] == [suspect]


def test_segments_that_rocm_lacks_are_a_remark_beside_another_error() -> None:
    torch = "PyTorch version: 2.9.1+rocm6.4\nROCM used to build PyTorch: 6.4.43482\n"
    text = f"{torch}\n$ env\nPYTORCH_CUDA_ALLOC_CONF=expandable_segments:True\n"
    (found,) = allocator.check(of(text), Knowledge(), None)
    assert (found.severity.value, found.suspect) == ("info", 4)
