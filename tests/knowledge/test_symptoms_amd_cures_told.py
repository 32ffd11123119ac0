"""What is told to cure programs on AMD's GPUs: memory of an APU, ROCr's choice, another build, image or library."""

# ruff: noqa: E501

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake import read_text
from tests.knowledge.texts import KB, keys, names, names_not, told


def agent(*gfx: tuple[str, str]) -> str:
    """What rocminfo prints of the GPUs."""
    lines = ["$ rocminfo"]
    for at, (arch, name) in enumerate(gfx):
        lines += ["*******", f"Agent {at + 2}", "*******", f"  Name:                    {arch}"]
        lines += [
            f"  Marketing Name:          {name}",
            "  Vendor Name:             AMD",
            "  Device Type:             GPU",
        ]
    return "\n".join(lines) + "\n"


APU = agent(("gfx1150", "AMD Radeon 890M"))
HALO = agent(("gfx1151", "Radeon 8060S Graphics"))
CARD = agent(("gfx1100", "AMD Radeon RX 7900 XTX"))
PAIR = agent(("gfx1102", "AMD Radeon RX 7700S"), ("gfx1103", "AMD Radeon 780M"))
TESLA = "$ nvidia-smi -L\nGPU 0: Tesla T4\n"
CRASH = "Error output:\nserver: Segmentation fault (core dumped)\n"
NO_ROOM = "Error output:\nhipMemCreate: out of memory\n"
REFUSED = "Error output:\ntest_printf: HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
ROCBLAS = "Error output:\nrocBLAS error from hip error code: 'hipErrorInvalidDeviceFunction':98\n"
WSL = "System:\nOS: Ubuntu 24.04 (WSL2)\nKernel: 6.6.87.2-microsoft-standard-WSL2\n"
FAULT = "Error output:\nMemory access fault by GPU node-1 (Agent handle: 0x7a2d10) on address 0x7f1e40000000. Reason: Page not present or supervisor privilege.\n"
FAULT_LOG = "Kernel log:\n$ dmesg\namdgpu 0000:c5:00.0: amdgpu: \t Faulty UTCL2 client ID: CPF (0x4)\n"
HANGS = "Error output:\ntorch.randn on the device hangs\n"
NO_IMAGE = "Error output:\ntorch.AcceleratorError: HIP error: device kernel image is invalid\n"
MEMBER = "Error output:\nROCk module is loaded\nme is member of video group\nCall returned HSA_STATUS_ERROR_OUT_OF_RESOURCES: The runtime failed to allocate the necessary resources.\n"
NANS = "Error output:\nthe model returns NaN\n"
BLIND = "Error output:\ntorch.cuda.is_available() -> False\n"
ON_CPU = "Error output:\nthe model falls back to the CPU\n"

test_named = names(
    [
        (f"{CRASH}{APU}with ttm.pages_limit=12582912 the model loads\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{APU}it works after setting amdgpu.gttsize=49152\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{APU}a larger UMA frame buffer in the BIOS fixed it\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{PAIR}ROCR_VISIBLE_DEVICES=0 server --list-devices: lists the card\n", "integrated-gpu-conflict"),
        (f"{CRASH}{PAIR}with ROCR_VISIBLE_DEVICES=0 it no longer crashes and exits 0\n", "integrated-gpu-conflict"),
        (f"{CRASH}{PAIR}ROCR_VISIBLE_DEVICES=0 ./server comes up\n", "integrated-gpu-conflict"),
        (f"{NO_ROOM}{CARD}/proc/<pid>/fd grows by one entry for each allocation\n", "nofile-limit-too-low"),
        (f"{NO_ROOM}{CARD}it takes one file descriptor per handle\n", "nofile-limit-too-low"),
        (f"{NO_ROOM}{CARD}the process runs out of file descriptors\n", "nofile-limit-too-low"),
        (f"{REFUSED}{CARD}with kernel 6.11 it passes\n", "amdgpu-driver-known-bad"),
        (f"{REFUSED}{CARD}under kernel 6.8 the test succeeds\n", "amdgpu-driver-known-bad"),
        (f"{REFUSED}{CARD}on kernel 6.11.0 it runs\n", "amdgpu-driver-known-bad"),
        (f"{ROCBLAS}{HALO}with the rocBLAS of ROCm 7.13.0 the same program works\n", "known-bad-library-version"),
        (f"{ROCBLAS}{HALO}rocblas 4.3 from the last release is fine\n", "known-bad-library-version"),
        (f"{ROCBLAS}{HALO}hipBLAS and rocBLAS taken from 7.12.0: no error\n", "known-bad-library-version"),
        (f"{ROCBLAS}{HALO}", "library-missing-gpu-arch"),
        (f"{WSL}Error output:\nE: Unable to locate package hsa-runtime-rocr4wsl-amdgpu\n", "wsl-gpu-misconfigured"),
        (f"{WSL}Error output:\nNo match for argument: hsa-runtime-rocr4wsl-amdgpu\n", "wsl-gpu-misconfigured"),
        (
            f"{WSL}Error output:\nE: Package 'hsa-runtime-rocr4wsl-amdgpu' has no installation candidate\n",
            "wsl-gpu-misconfigured",
        ),
        (
            f"Error output:\nvector_copy fails\na kernel of mine hung the GPU; since then every sample fails\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (
            f"Error output:\nCreating the queue failed\nthe job crashed the GPU, and only a reboot brings it back\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (
            f"Error output:\nCreating the queue failed\nsince a bad kernel wedged the card all programs hang\n{CARD}",
            "amdgpu-gpu-hang",
        ),
        (f"{ON_CPU}{HALO}with ollama/ollama:0.24.0-rocm the whole memory is reported\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}the image rocm/vllm:rocm6.3.1-v0.8.5 works\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}in rocm/pytorch:rocm6.2.4_py3.10, it runs\n", "known-bad-library-version"),
        (
            f"Error output:\nROCm error: invalid argument\n{HALO}b1213 runs with the same parameters, b1280 does not\n",
            "known-bad-library-version",
        ),
        (f"{CRASH}{CARD}build 5120 works, build 5133 crashes\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}b6101 fails but b6099 is fine\n", "known-bad-library-version"),
        (f"{HANGS}{HALO}{FAULT_LOG}", "amdgpu-kernel-or-os-unsupported"),
        (
            f"{HANGS}{APU}Kernel log:\n$ dmesg\namdgpu: Faulty UTCL2 client ID: CPC (0x5)\n",
            "amdgpu-kernel-or-os-unsupported",
        ),
        (
            f"{HANGS}{APU}Kernel log:\n$ dmesg\namdgpu: [gfxhub] page fault (src_id:0 ring:153 vmid:8 pasid:32772)\n",
            "amdgpu-kernel-or-os-unsupported",
        ),
        (f"{FAULT}{CARD}MIOpenDriver convfp16 -W 1760 -H 1760 -c 128\n", "known-bad-library-version"),
        (f"{FAULT}{CARD}rocblas-bench -f gemm -r h -m 4096\n", "known-bad-library-version"),
        (f"{FAULT}{CARD}migraphx-driver perf model.onnx\n", "known-bad-library-version"),
        (f"{NANS}{CARD}since the bump of the submodule\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}after the bump to the new composable kernel\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}broken since rocBLAS was bumped\n", "known-bad-library-version"),
        (
            f"{NO_IMAGE}Device: cuda:0 AMD Radeon(TM) Graphics\ncuda:1 AMD Radeon RX 9070 XT\n",
            "integrated-gpu-conflict",
        ),
        (f"{NO_IMAGE}device 0: AMD Radeon Graphics\ndevice 1: AMD Radeon RX 7900 XTX\n", "integrated-gpu-conflict"),
        (f"{NO_IMAGE}GPU[0]: AMD Radeon(TM) Graphics\nGPU[1]: AMD Radeon RX 6800\n", "integrated-gpu-conflict"),
        (f"{MEMBER}GPU: Radeon 540X 2GB\n", "amd-gpu-unsupported-by-rocm"),
        (f"{MEMBER}GPU: Radeon RX 560\n", "amd-gpu-unsupported-by-rocm"),
        (f"{MEMBER}GPU: Radeon Pro 560X\n", "amd-gpu-unsupported-by-rocm"),
        (f"{CRASH}{APU}amd-ttm --set 48 solved it\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{APU}the UMA size in the BIOS raised from 512M to 16G: it works\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{APU}increasing dedicated GPU memory in BIOS to 32GB resolved it\n", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{PAIR}HIP_VISIBLE_DEVICES=0 does not help, ROCR_VISIBLE_DEVICES=0 does\n", "integrated-gpu-conflict"),
        (f"{NO_ROOM}{CARD}it leaks one dmabuf fd per tensor\n", "nofile-limit-too-low"),
        (f"{NO_ROOM}{CARD}lsof shows 1019 open dmabuf files when it fails\n", "nofile-limit-too-low"),
        (f"{REFUSED}{CARD}downgrading the kernel to 6.11 fixed it\n", "amdgpu-driver-known-bad"),
        (f"{REFUSED}{CARD}it only fails on kernels from 6.14 on\n", "amdgpu-driver-known-bad"),
        (f"{REFUSED}{CARD}booting 6.8.0-60-generic makes it work\n", "amdgpu-driver-known-bad"),
        (f"{ON_CPU}{HALO}ollama 0.24.0 works on the same machine\n", "known-bad-library-version"),
        (f"{ON_CPU}{HALO}since ollama 0.30 the CPU does the work\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}the last good build is b1213\n", "known-bad-library-version"),
        (f"{ON_CPU}{HALO}regression since 0.30.0\n", "known-bad-library-version"),
        (f"Error output:\nno queue\nonly a reboot helps after the GPU has hung\n{CARD}", "amdgpu-gpu-hang"),
        (f"Error output:\nno queue\nafter the crash the GPU stays in a bad state\n{CARD}", "amdgpu-gpu-hang"),
        (f"{NO_IMAGE}[0] AMD Radeon(TM) Graphics\n[1] AMD Radeon RX 7800 XT\n", "integrated-gpu-conflict"),
        (f"{NO_IMAGE}the iGPU is cuda:0 and the RX 9070 XT cuda:1\n", "integrated-gpu-conflict"),
        (f"{NANS}{CARD}since upgrading to ROCm 7.14\n", "known-bad-library-version"),
        (f"{NANS}{CARD}before the update to 7.14 all was well\n", "known-bad-library-version"),
        (f"{NANS}{CARD}right with ROCm 7.13\n", "known-bad-library-version"),
        (f"{NANS}{CARD}git bisect points at the composable_kernel bump\n", "known-bad-library-version"),
        (f"{ROCBLAS}{HALO}replacing rocblas.dll by the one of 7.13 fixes it\n", "known-bad-library-version"),
        (f"{ROCBLAS}{HALO}swapping in librocblas.so from 7.12 cures it\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}PYTORCH_TUNABLEOP_ENABLED=0 avoids it\n", "tunableop-misconfigured"),
        (f"{CRASH}{CARD}deleting tunableop_results0.csv cures it\n", "tunableop-misconfigured"),
        (f"{CRASH}{CARD}works with PYTORCH_TUNABLEOP_ENABLED=0\n", "tunableop-misconfigured"),
        (f"{CRASH}{CARD}TORCH_BLAS_PREFER_HIPBLASLT=0 cures it\n", "hipblaslt-unsupported-arch"),
        (f"{CRASH}{CARD}DISABLE_ADDMM_HIP_LT=1 makes it work\n", "hipblaslt-unsupported-arch"),
        (f"{CRASH}{CARD}works with ROCBLAS_USE_HIPBLASLT=0\n", "hipblaslt-unsupported-arch"),
        (f"{CRASH}{CARD}a leftover export of HSA_OVERRIDE_GFX_VERSION=10.3.0 was the reason\n", "hsa-override-misuse"),
        (f"{CRASH}{CARD}HSA_OVERRIDE_GFX_VERSION=10.3.0 was still set from the card before\n", "hsa-override-misuse"),
        (f"{CRASH}{CARD}HSA_OVERRIDE_GFX_VERSION in .bashrc was the culprit\n", "hsa-override-misuse"),
        (f"{BLIND}{CARD}torch 2.6.0+cu124 is installed\n", "torch-built-for-other-vendor"),
        (f"{BLIND}{CARD}torch.version.cuda is 12.4\n", "torch-built-for-other-vendor"),
        (f"{BLIND}{CARD}torch.version.hip -> None\n", "torch-built-for-other-vendor"),
    ]
)

test_near = names_not(
    [
        (f"{CRASH}{APU}ttm.pages_limit=12582912 did not help\n", "apu-memory-pool-misconfigured"),
        (f"Kernel command line:\nquiet ttm.pages_limit=12582912\n{APU}", "apu-memory-pool-misconfigured"),
        (f"{CRASH}{PAIR}ROCR_VISIBLE_DEVICES=0 lists the card but it still crashes\n", "integrated-gpu-conflict"),
        (f"{CRASH}{CARD}ROCR_VISIBLE_DEVICES=0 server --list-devices: lists the card\n", "integrated-gpu-conflict"),
        (f"{CRASH}{CARD}the log has one line per allocation\n", "nofile-limit-too-low"),
        (f"Error output:\nslow\n{CARD}one file descriptor per handle is opened\n", "nofile-limit-too-low"),
        (f"{REFUSED}{CARD}with kernel 6.11 it passes\n", "device-node-permission"),
        (f"{REFUSED}{CARD}with kernel 6.11 it does not pass\n", "amdgpu-driver-known-bad"),
        (f"{ROCBLAS}{HALO}", "torch-missing-gpu-arch"),
        (f"{ROCBLAS}{HALO}rocBLAS 4.3 does not work either\n", "known-bad-library-version"),
        (f'Error output:\n"invalid device function" at main.hip:196\n{CARD}', "torch-missing-gpu-arch"),
        (f"{WSL}Setting up hsa-runtime-rocr4wsl-amdgpu (1.14.0)\n", "wsl-gpu-misconfigured"),
        (f"Error output:\na kernel hung the GPU; since then every sample fails\n{TESLA}", "amdgpu-gpu-hang"),
        (f"{ON_CPU}{HALO}with ollama/ollama:0.24.0-rocm it is not reported\n", "known-bad-library-version"),
        (f"Error output:\nslow\n{CARD}the image rocm/pytorch:rocm6.2.4_py3.10 works\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}b6101 fails and b6099 fails\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}build 5120 works\n", "known-bad-library-version"),
        (f"{CRASH}{TESLA}build 5120 works, build 5133 crashes\n", "known-bad-library-version"),
        (f"{HANGS}{CARD}{FAULT_LOG}", "amdgpu-kernel-or-os-unsupported"),
        (f"{FAULT}{CARD}6/6 shards of hipblaslt-test_standard_suite failed\n", "known-bad-library-version"),
        (f"{FAULT}{CARD}rocblas-bench -f gemm passes\n", "known-bad-library-version"),
        (f"{NANS}{CARD}since the kernel was bumped\n", "known-bad-library-version"),
        (f"{NO_IMAGE}cuda:0 AMD Radeon RX 9070 XT\ncuda:1 AMD Radeon(TM) Graphics\n", "integrated-gpu-conflict"),
        (
            "Error output:\nslow\ncuda:0 AMD Radeon(TM) Graphics\ncuda:1 AMD Radeon RX 9070 XT\n",
            "integrated-gpu-conflict",
        ),
        (f"{MEMBER}GPU: Radeon RX 6800\n", "amd-gpu-unsupported-by-rocm"),
        (f"{MEMBER}GPU: RX 580\nsudo /opt/rocm/bin/rocminfo works\n", "amd-gpu-unsupported-by-rocm"),
        (f"{CRASH}{APU}the UMA size in the BIOS is 512M\n", "apu-memory-pool-misconfigured"),
        (
            f"{CRASH}{PAIR}HIP_VISIBLE_DEVICES=0 does not help, ROCR_VISIBLE_DEVICES=0 does not\n",
            "integrated-gpu-conflict",
        ),
        (f"{REFUSED}{CARD}it fails on all kernels from 6.8 on\n", "amdgpu-driver-known-bad"),
        (f"{ON_CPU}{HALO}ollama 0.24.0 does not work either\n", "known-bad-library-version"),
        (f"Error output:\nslow start\n{HALO}ollama 0.24.0 works\n", "known-bad-library-version"),
        (f"{ON_CPU}{TESLA}ollama 0.24.0 works on the same machine\n", "known-bad-library-version"),
        (f"{NANS}{CARD}since upgrading to kernel 6.14.2\n", "known-bad-library-version"),
        (f"Error output:\nslow\n{CARD}since upgrading to ROCm 7.14\n", "known-bad-library-version"),
        (f"{NO_IMAGE}the RX 9070 XT is cuda:0 and the iGPU cuda:1\n", "integrated-gpu-conflict"),
        (f"{ROCBLAS}{HALO}replacing rocblas.dll by the one of 7.13 does not fix it\n", "known-bad-library-version"),
        (f"{CRASH}{CARD}PYTORCH_TUNABLEOP_ENABLED=0 does not help\n", "tunableop-misconfigured"),
        (f"Error output:\nslow\n{TESLA}works with PYTORCH_TUNABLEOP_ENABLED=0\n", "tunableop-misconfigured"),
        (f"{CRASH}{CARD}DISABLE_ADDMM_HIP_LT=1 has no effect\n", "hipblaslt-unsupported-arch"),
        (f"{CRASH}{CARD}HSA_OVERRIDE_GFX_VERSION was not set\n", "hsa-override-misuse"),
        (f"{BLIND}{TESLA}torch 2.6.0+cu124 is installed\n", "torch-built-for-other-vendor"),
        (f"{CRASH}{CARD}torch 2.6.0+cu124 is in another environment\n", "torch-built-for-other-vendor"),
        (f"{BLIND}{CARD}torch 2.6.0+cu124 was replaced by 2.6.0+rocm6.2\n", "torch-built-for-other-vendor"),
    ]
)


def test_what_rocr_alone_hides_is_hidden_by_its_own_variable() -> None:
    text = f"{CRASH}{PAIR}ROCR_VISIBLE_DEVICES=0 server --list-devices: lists the card\n"
    findings = judge(read_text([text.encode()]), KB).findings
    fixes = [fix.command for f in findings if f.rule == "integrated-gpu-conflict" for fix in f.fixes]
    assert ("env", "ROCR_VISIBLE_DEVICES=0", "python3") in fixes


@pytest.mark.parametrize(
    "line", ["with HSA_OVERRIDE_GFX_VERSION=11.0.0 the model loads", "with ulimit -n 65536 it passes"]
)
def test_a_model_that_loads_is_helped(line: str) -> None:
    assert any(key.startswith("helped-by-") for key in keys(line))
    assert not any(key.startswith("helped-by-") for key in keys(line.replace("with", "it still fails with")))


def test_one_cause_for_a_kernel_that_another_one_cures() -> None:
    assert told(f"{REFUSED}{CARD}with kernel 6.11 it passes\n") == ["amdgpu-driver-known-bad"]
