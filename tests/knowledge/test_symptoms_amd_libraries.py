"""Which of the causes that look alike a text of AMD's libraries has."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from tests.knowledge.texts import keys, raised

EXAMPLES = {
    "rocblas-of-program-lacks-target": "rocBLAS error: Cannot read /opt/server/lib/rocblas/library/TensileLibrary.dat: No such file or directory for GPU arch : gfx1012",
    "rocblas-tensile-file-unreadable": "rocBLAS error: Could not load /opt/rocm-5.5.1/lib/rocblas/library/TensileLibrary_lazy_gfx1100.dat",
    "bitsandbytes-lacks-rocm-binary": "RuntimeError: No compatible ROCm binary found at /v/bitsandbytes/libbitsandbytes_rocm72.so",
    "flash-attn-module-absent": "ImportError: cannot import name 'flash_attn_2_cuda' from 'flash_attn'",
    "xformers-operator-missing-on-amd": "`ckF` is not supported because:",
    "nvidia-driver-asked-on-amd": "RuntimeError: cudaErrorNoDevice: no CUDA-capable device is detected",
    "hip-clang-rejects-libstdcxx": "/usr/include/c++/14/array:210:2: error: reference to __host__ function '__glibcxx_assert_fail' in __host__ __device__ function",
    "gcc-was-given-hip-options": "g++-13: error: unrecognized command-line option '--offload-arch=gfx90a'",
    "device-count-is-zero-told": "torch.cuda.device_count() = 0",
    "amdsmi-library-twice-told": "_rocm_sdk_core/lib/libamd_smi.so.26 and another",
    "hip-pool-of-carve-out-size": "HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 1.98 GiB of which 0 bytes is free.",
    "rocblas-of-torch-lacks-target": "rocBLAS error: Cannot read /v/lib/python3.12/site-packages/torch/lib/rocblas/library/TensileLibrary.dat",
    "hip-runtime-told-absent": "rocm-hip-runtime is not installed on the host",
    "hipify-of-another-torch": "TypeError: hipify() got an unexpected keyword argument 'is_pytorch_extension'",
    "engine-knows-no-such-gpu": "the ROCm runtime of LM Studio does not recognise the card",
    "library-told-without-amd-generation": "SGLang has no kernels for RDNA2",
    "amd-gpu-not-used-told": "the webui can't find my AMD GPU",
    "miopen-part-named": "_rocm_sdk_libraries_gfx1150/lib/libMIOpenCKGroupedConv_gfx1150.so.1.0",
    "miopen-part-not-found": "MIOpen(HIP): Warning [OpenRuntimeLibraryForDevice] CK grouped conv library not found for device gfx1150.",
    "hipcc-compiles-nothing-told": "hipcc fails to compile even an empty main",
    "ollama-serves-from-gpu-told": 'msg="inference compute" id=0 library=rocm variant="" compute=gfx1101 driver=6.10',
    "rocm-version-not-found": "RuntimeError: ROCm version file not found",
    "kernel-wants-other-amd-target": "RuntimeError: the fused kernel requires CDNA4 (gfx95x), got gfx942",
    "hip-runtime-older-than-program": "This may be due to running HIP app that requires a new HIP runtime version",
    "hip-runtime-knows-no-such-isa": "Unsupported HSA device gfx1250 (PCI ID 75b0) for ISA amdgcn-amd-amdhsa--gfx1250",
    "torch-told-to-be-for-cpu": "it turned out that torch is the CPU build",
    "hsa-runtime-of-torch-told": "it works once libhsa-runtime64.so in torch/lib is replaced by that of /opt/rocm",
    "launcher-shows-amd-gpu": "Device: cuda:0 AMD Radeon RX 6700S : native",
    "torch-program-named": "InvokeAI 4.2 on Debian",
    "linker-finds-no-rocm-library": "/usr/bin/ld: cannot find -lhipblas: No such file or directory",
    "triton-hip-module-of-other-rocm": "ImportError: /root/.triton/cache/1f/hip_utils.so: undefined symbol: hipModuleLoadDataEx",
    "comgr-of-another-rocm": "Failed to load COMGR function amd_comgr_map_name_expression_to_symbol_name",
}
NOTHING = {
    "linker-finds-no-rocm-library": "/usr/bin/ld: cannot find -lz: No such file or directory",
    "triton-hip-module-of-other-rocm": "compiling triton/third_party/hip/hip_utils.c",
    "torch-told-to-be-for-cpu": "torch is not the CPU build",
    "hsa-runtime-of-torch-told": "libhsa-runtime64.so.1 => /opt/rocm/lib/libhsa-runtime64.so.1",
    "rocm-version-not-found": "Warning: could not detect ROCm version, using default 6.4",
    "kernel-wants-other-amd-target": "SKIP: test_moe requires gfx1250, got gfx942",
    "hip-runtime-knows-no-such-isa": "HSA device gfx1100 for ISA amdgcn-amd-amdhsa--gfx1100",
    "hip-runtime-told-absent": "rocm-hip-runtime 6.2.4 is installed",
    "engine-knows-no-such-gpu": "rocminfo does not recognise the card",
    "library-told-without-amd-generation": "ROCm 6.4 has no support for Vega 10",
    "amd-gpu-not-used-told": "the AMD GPU is used for the display",
    "ollama-serves-from-gpu-told": 'msg="inference compute" id=0 library=cpu variant=avx2',
    "rocblas-of-program-lacks-target": "rocBLAS error: Cannot read /opt/rocm-6.1.0/lib/rocblas/library/TensileLibrary.dat: No such file or directory",
    "rocblas-tensile-missing": "rocBLAS error: Could not load /opt/rocm/lib/rocblas/library/TensileLibrary.dat",
    "bitsandbytes-lacks-rocm-binary": "libbitsandbytes_rocm63.so: undefined symbol: _Z9kQuantizePfS_Phi",
    "flash-attn-module-absent": "No module named 'flash_attn'",
    "nvidia-driver-asked-on-amd": "libcudart.so.12 => /usr/local/cuda/lib64/libcudart.so.12",
    "hip-clang-rejects-libstdcxx": "src/kernel.hip:12:3: error: reference to __host__ function 'log_it' in __host__ __device__ function",
    "gcc-was-given-hip-options": "hipcc: error: unrecognized command-line option '--offload-arch=gfx1'",
    "device-count-is-zero-told": "torch.cuda.device_count() = 8",
    "hip-pool-of-carve-out-size": "HIP out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 15.98 GiB of which 1.00 GiB is free.",
}
NO_FILE = "rocBLAS error: Cannot read {}TensileLibrary.dat: No such file or directory for GPU arch : {}\n"
ROCM, OWN = "/opt/rocm/lib/rocblas/library/", "/usr/local/lib/server/rocm/rocblas/library/"


def gpus(*targets: str) -> str:
    rows = (
        f"*******\nAgent {n}\n*******\n  Name:                    {t}\n  Vendor Name:             AMD\n"
        "  Device Type:             GPU\n"
        for n, t in enumerate(targets, 2)
    )
    return "$ rocminfo\n" + "".join(rows)


def packages(*rows: str) -> str:
    return "\n$ pip list\nPackage    Version\n---------- -------\n" + "\n".join(rows) + "\n"


@pytest.mark.parametrize("key", sorted(EXAMPLES))
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", sorted(NOTHING))
def test_a_line_near_it_does_not(key: str) -> None:
    assert key not in keys(NOTHING[key])


def test_a_file_that_rocm_itself_lacks_is_of_a_gpu_that_no_release_lists() -> None:
    assert raised(NO_FILE.format(ROCM, "gfx1034") + gpus("gfx1034")) == [
        "blas-kernels-missing",
        "amd-gpu-unsupported-by-rocm",
    ]
    assert raised(NO_FILE.format(ROCM, "gfx942") + gpus("gfx942")) == ["blas-kernels-missing"]


def test_a_file_that_a_program_lacks_is_of_the_program() -> None:
    assert raised(NO_FILE.format(OWN, "gfx1034") + gpus("gfx1034")) == [
        "blas-kernels-missing",
        "library-missing-gpu-arch",
    ]


def test_a_file_of_another_rocm_than_torch_brings_is_a_conflict() -> None:
    text = EXAMPLES["rocblas-tensile-file-unreadable"] + "\n" + gpus("gfx1100")
    assert raised(text + packages("torch 2.4.1+rocm6.1")) == ["gpu-libs-conflict"]
    of_the_wheel = raised(text + packages("torch 2.0.1+rocm5.5"))  # which brings its own, so two copies meet
    assert of_the_wheel == ["blas-kernels-missing", "gpu-libs-conflict"]
    assert raised(text) == ["blas-kernels-missing"]


def test_bitsandbytes_without_a_library_for_this_rocm() -> None:
    text = EXAMPLES["bitsandbytes-lacks-rocm-binary"] + "\n" + gpus("gfx1101")
    assert "library-missing-gpu-arch" in raised(text)
    assert "library-missing-gpu-arch" not in raised(text + packages("torch 2.4.1+cpu"))


def test_flash_attn_has_no_module_for_some_gpus() -> None:
    text = EXAMPLES["flash-attn-module-absent"] + "\n"
    assert raised(text + gpus("gfx1030")) == ["extension-abi-mismatch", "library-missing-gpu-arch"]
    assert raised(text + gpus("gfx942")) == ["extension-abi-mismatch"]


def test_xformers_on_amd_lacks_the_operator() -> None:
    text = "No operator found for `memory_efficient_attention_forward` with inputs:\n"
    assert "library-missing-gpu-arch" in raised(text + gpus("gfx1200"))
    assert "library-missing-gpu-arch" not in raised(text + "$ nvidia-smi -L\nGPU 0: NVIDIA A100\n")


def test_a_torch_that_asks_for_nvidia_is_the_wrong_one_where_the_gpu_is_of_amd() -> None:
    text = "CUDA driver version is insufficient for CUDA runtime version\n"
    assert raised(text + gpus("gfx1100") + packages("torch 2.1.0")) == ["torch-built-for-other-vendor"]
    assert "torch-built-for-other-vendor" not in raised(
        text + "$ nvidia-smi -L\nGPU 0: NVIDIA A100\n" + packages("torch 2.1.0")
    )


@pytest.mark.parametrize("key", ["hip-clang-rejects-libstdcxx", "gcc-was-given-hip-options"])
def test_the_compiler_of_the_host_does_not_fit(key: str) -> None:
    assert raised(EXAMPLES[key] + "\n") == ["host-compiler-unsupported"]


def test_no_gpu_counted_beside_amdsmi_is_not_a_matter_of_lists() -> None:
    text = "torch.cuda.device_count() returns 0\nAssertionError: Invalid device id\n"
    assert "amdsmi-mismatch" in raised(text + gpus("gfx90a") + packages("torch 2.12.0+rocm7.2", "amdsmi 26.1"))
    assert raised("AssertionError: Invalid device id\n" + gpus("gfx90a")) == ["visible-devices-conflict"]


def test_a_whole_gpu_of_half_a_gibibyte_is_a_carve_out() -> None:
    text = "torch.OutOfMemoryError: HIP out of memory. Tried to allocate 8.00 MiB (GPU 0; {} total capacity; 0 free)\n"
    assert "apu-memory-pool-misconfigured" in raised(text.format("512.00 MiB"))
    assert "apu-memory-pool-misconfigured" not in raised(text.format("23.98 GiB"))


def test_a_card_with_little_memory_has_no_carve_out() -> None:
    line = "HIP out of memory. Tried to allocate 20.00 MiB. GPU 0 has a total capacity of 3.98 GiB of which 0 bytes is free."
    card = "GPU:\n0: AMD Radeon RX 5500 XT\n"
    assert "apu-memory-pool-misconfigured" in raised(line)
    assert "apu-memory-pool-misconfigured" not in raised(f"{line}\nMarketing Name: AMD Radeon RX 5500 XT\n{card}")


def test_jax_with_the_other_vendors_plugin() -> None:
    jax = packages("jax 0.6.0", "jaxlib 0.6.0", "jax-cuda12-plugin 0.6.0", "jax-cuda12-pjrt 0.6.0")
    assert raised(gpus("gfx1101") + jax) == ["jax-plugin-mismatch"]
    assert raised("$ nvidia-smi -L\nGPU 0: NVIDIA A100\n" + jax) == []
    assert raised(jax) == []


def test_a_vllm_with_wheels_of_cuda_on_amd() -> None:
    vllm = packages("vllm 0.6.3", "nvidia-nccl-cu12 2.20.5")
    assert "vllm-build-mismatch" in raised(gpus("gfx90a") + vllm)
    assert "vllm-build-mismatch" not in raised(gpus("gfx90a") + packages("vllm 0.6.3"))
    assert "vllm-build-mismatch" not in raised(vllm)


def test_a_missing_database_that_only_slows_the_first_run_accuses_nothing() -> None:
    line = "MIOpen(HIP): Warning [SQLiteBase] Missing system database file: gfx1030_40.kdb Performance may degrade."
    assert raised(line + "\n" + gpus("gfx1030")) == []


def test_a_part_of_the_hip_runtime_that_is_told_to_be_absent() -> None:
    assert raised(EXAMPLES["hip-runtime-told-absent"] + "\n" + gpus("gfx1100")) == ["gpu-libs-not-found"]
    assert "gpu-libs-not-found" in raised("/opt/rocm/lib/libamdhip64.so.6 does not exist\n")


def test_an_engine_that_was_not_built_for_the_gpu() -> None:
    text = EXAMPLES["engine-knows-no-such-gpu"] + "\n"
    assert raised(text + gpus("gfx906")) == ["library-missing-gpu-arch"]
    assert "library-missing-gpu-arch" not in raised(text + "$ nvidia-smi -L\nGPU 0: NVIDIA A100\n")
    assert raised(EXAMPLES["library-told-without-amd-generation"] + "\n") == ["library-missing-gpu-arch"]


def test_a_cuda_torch_where_an_amd_gpu_is_told_of() -> None:
    text = EXAMPLES["amd-gpu-not-used-told"] + "\n"
    assert raised(text + packages("torch 2.3.1+cu121")) == ["torch-built-for-other-vendor"]
    assert "torch-built-for-other-vendor" not in raised(text + packages("torch 2.3.1+rocm6.0"))


def test_what_a_build_and_miopen_miss() -> None:
    assert raised(EXAMPLES["hipify-of-another-torch"] + "\n") == ["extension-abi-mismatch"]
    warned = EXAMPLES["miopen-part-not-found"] + "\n" + gpus("gfx1150")  # MIOpen goes on without it
    assert raised(warned) == ["library-missing-gpu-arch"]
    assert "gpu-libs-not-found" in raised(warned + EXAMPLES["miopen-part-named"])


def test_a_gpu_from_which_ollama_serves_is_not_accused() -> None:
    shown = "ROCm version: 6.1.2\n" + gpus("gfx1010") + "ollama 0.4\n"
    assert "amd-gpu-unsupported-by-rocm" in raised(shown + "GPU is not used\n")
    assert raised(shown + EXAMPLES["ollama-serves-from-gpu-told"] + "\n") == []


def test_a_compiler_that_compiles_nothing_is_no_matter_of_the_gpu() -> None:
    text = EXAMPLES["hipcc-compiles-nothing-told"] + "\nROCm version: 5.1\n"
    assert raised(text + gpus("gfx803")) == ["rocm-path-broken"]


def test_files_that_the_gpu_of_the_processor_lacks_are_of_the_pair() -> None:
    assert raised(NO_FILE.format(OWN, "gfx1036") + gpus("gfx1100", "gfx1036")) == ["integrated-gpu-conflict"]


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        ("RuntimeError: Could not detect ROCm version from any source", "rocm-path-broken"),
        ("Could not determine ROCm version. Exiting.", "rocm-path-broken"),
        ("cat: /opt/rocm/.info/version: No such file or directory", "rocm-path-broken"),
        (EXAMPLES["kernel-wants-other-amd-target"], "library-missing-gpu-arch"),
        (EXAMPLES["hip-runtime-older-than-program"], "gpu-libs-conflict"),
        (EXAMPLES["hip-runtime-knows-no-such-isa"], "amd-gpu-unsupported-by-rocm"),
        (EXAMPLES["comgr-of-another-rocm"], "gpu-libs-conflict"),
    ],
)
def test_texts_of_the_sources_name_the_cause_first(text: str, cause: str) -> None:
    assert raised(text + "\n")[0] == cause


def test_a_pretended_gpu_that_the_run_time_does_not_know_is_a_matter_of_the_setting() -> None:
    text = EXAMPLES["hip-runtime-knows-no-such-isa"] + "\n$ env\nHSA_OVERRIDE_GFX_VERSION=12.5.0\n"
    assert raised(text)[0] == "hsa-override-misuse"


@pytest.mark.parametrize(
    "line",
    [
        "the installed torch is the CPU one",
        "PyTorch was a CPU-only build",
        "pip had installed the CPU version of torch",
        "I got torch-cpu from the mirror",
    ],
)
def test_a_torch_that_is_told_to_be_for_the_processor(line: str) -> None:
    assert raised(line + "\n" + gpus("gfx1100"))[0] == "torch-cpu-only-build"


def test_a_gpu_that_torch_has_no_code_for_crashes_what_a_launcher_starts() -> None:
    text = "Device: cuda:0 AMD Radeon RX 6700S : native\nSegmentation fault (core dumped)\n"
    assert "torch-missing-gpu-arch" in raised(text + gpus("gfx1032"))
    assert "torch-missing-gpu-arch" not in raised(text + gpus("gfx1100"))


def test_a_crash_of_an_image_without_torch_may_be_of_its_library() -> None:
    text = "hipErrorNoBinaryForGpu: Unable to find code object for all current devices!\n" + gpus("gfx1030")
    assert "library-missing-gpu-arch" in raised("running inside a container: yes\n" + text)
    assert "library-missing-gpu-arch" not in raised("running inside a container: yes\nSD.Next\n" + text)


def test_an_engine_with_kernels_of_its_own_is_not_torch() -> None:
    text = "ggml_cuda_compute_forward: SCALE failed\nROCm error: device kernel image is invalid\n"
    assert raised(text + gpus("gfx1036")) == ["library-missing-gpu-arch"]


def test_tensorflow_that_asks_for_nvidia_on_an_amd_machine() -> None:
    text = "tensorflow/cuda_driver.cc:266] failed call to cuInit: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected\n"
    assert "tensorflow-gpu-mismatch" in raised(text + gpus("gfx1101"))
    assert "tensorflow-gpu-mismatch" not in raised(text + "$ nvidia-smi -L\nGPU 0: NVIDIA A100\n")


def test_a_command_that_passes_amds_nodes_is_no_remedy_that_helped() -> None:
    text = "$ docker run --device=/dev/kfd --device=/dev/dri --group-add=video IMAGE\n"
    assert "container-missing-gpu-passthrough" not in raised(
        "running inside a container: yes\nhipErrorNoBinaryForGpu\n" + text
    )


@pytest.mark.parametrize(
    "line",
    [
        "/usr/bin/ld: cannot find -lamdhip64",
        "ld.lld: error: unable to find library -lrocblas",
        EXAMPLES["linker-finds-no-rocm-library"],
    ],
)
def test_a_linker_without_rocm_is_of_its_path_or_of_its_files(line: str) -> None:
    assert sorted(raised(line + "\n")) == ["gpu-libs-not-found", "rocm-path-broken"]


@pytest.mark.parametrize(
    "line",
    [
        EXAMPLES["triton-hip-module-of-other-rocm"],
        "ImportError: /v/triton/backends/amd/lib/libamdhip64.so: undefined symbol: hsa_amd_portable_export_dmabuf",
    ],
)
def test_tritons_module_for_another_hip(line: str) -> None:
    assert "triton-mismatch" in raised(line + "\n")
