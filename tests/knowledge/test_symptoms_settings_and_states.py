"""Settings and states of a machine as people tell them in few words: each with a text that nearly tells it."""

from __future__ import annotations

from tests.knowledge.texts import names, names_not

GEFORCE = "GPU 0: NVIDIA GeForce RTX 4070\n"
APU = "$ rocminfo\n  Name:                    gfx1150\n  Marketing Name:          Radeon 890M\n  Vendor Name: AMD\n"
RX = "$ rocminfo\n  Name:                    gfx1030\n  Marketing Name:          Radeon RX 6800\n  Vendor Name: AMD\n"
TWO = (
    'sched.go:1014 msg="selecting single GPU for llama-server model" library=Vulkan name=Vulkan0 description="{}"\n'
    + GEFORCE
)
DETAIL = "export TORCH_DISTRIBUTED_DEBUG=DETAIL\n"

FLAGS = [
    ("WARNING [envs.py:1830] Unknown vLLM environment variable detected: VLLM_USE_V1\nexport VLLM_USE_V1=1", "renamed"),
    ("Unknown vLLM environment variable detected: VLLM_FAST\nexport VLLM_FAST=1\nexport VLLM_USE_V1=1", "renamed"),
    ("the flag changes nothing\nVLLM_USE_V1 is a no-op\nexport VLLM_USE_V1=1", "renamed"),
    ("Unknown vLLM environment variable detected: VLLM_USE_V1\nexport VLLM_USE_V1=0", "renamed"),
    ("SGL_OLD_FLAG was renamed to SGLANG_NEW_FLAG", "renamed"),
    ("expandable segments not supported: the option is left out\nit is ignored", "allocator"),
    ("expandable_segments has no effect on ROCm", "allocator"),
    ("VLLM_USE_V1 is never read by this release", "renamed"),
    ("  Manually-specified variables were not used by the project: LLAMA_CUBLAS", "renamed"),
    ("the logs are flooded with AllGather lines\nexport NCCL_DEBUG=INFO", "debug"),
    ("10 GB of logs in an hour\nexport NCCL_DEBUG=INFO\nexport NCCL_DEBUG_SUBSYS=ALL", "debug"),
    ("stderr fills the disk\nexport AMD_LOG_LEVEL=4", "debug"),
    (DETAIL + "torchrun hangs at the start\nwithout the variables both nodes print their rank", "debug"),
    (DETAIL + "init_process_group hangs when the variable is set", "debug"),
    ("inference is slow\nthe Dockerfile sets AMD_SERIALIZE_KERNEL=3", "debug"),
    ("low GPU utilization\nCUDA_LAUNCH_BLOCKING=1 is set in the image", "debug"),
    ("throughput regressed\nperformance regression of 30 %\nexport PYTORCH_NO_CUDA_MEMORY_CACHING=1", "debug"),
    ("cudaErrorNotSupported: cudaMallocAsync on this card\n" + GEFORCE, "allocator"),
]
_RULES = {
    "renamed": "env-flag-unknown-or-renamed",
    "debug": "debug-flag-left-on",
    "allocator": "allocator-flag-unsupported",
}
test_a_flag_is_named = names([(text, _RULES[short]) for text, short in FLAGS])
test_a_flag_is_not_named = names_not(
    [
        # turned off by its old name: all is as it was meant
        ("Unknown vLLM environment variable detected: VLLM_USE_RAY_SPMD\nexport VLLM_USE_V1=1", "debug-flag-left-on"),
        ("VLLM_USE_TRITON_MLA is now read by the worker\nexport VLLM_USE_V1=1", "env-flag-unknown-or-renamed"),
        ("the disk fills with checkpoints, 10 GB of weights\nexport NCCL_DEBUG=INFO", "debug-flag-left-on"),
        ("log: total memory 80 GB\nthe log is full of lines\nexport NCCL_DEBUG=INFO", "debug-flag-left-on"),
        ("the logs are flooded with timeouts\nexport NCCL_DEBUG=INFO", "debug-flag-left-on"),
        ("it crashes when the flag is set\nexport CUDA_LAUNCH_BLOCKING=1", "debug-flag-left-on"),
        ("the logs are flooded with requests\nexport NCCL_DEBUG=WARN", "debug-flag-left-on"),
        ("models/old.bin was renamed to NEW_MODEL", "env-flag-unknown-or-renamed"),
        ("all_reduce hangs\nexport NCCL_DEBUG=INFO", "debug-flag-left-on"),
        (DETAIL + "torchrun hangs at the start\nthe same without the variables", "debug-flag-left-on"),
    ]
)

SERVICE = [
    ("Segmentation fault\nset -U HSA_OVERRIDE_GFX_VERSION 10.3.0 in fish", "env-not-seen-by-service"),
    ("the GPU hangs\nHSA_ENABLE_SDMA=0 was not being exported", "env-not-seen-by-service"),
    ("libcudnn.so.8 is not found\nprintenv does not show LD_LIBRARY_PATH", "env-not-seen-by-service"),
    (
        "some GPUs freeze\nexport HSA_ENABLE_SDMA=0 in /etc/profile.d/rocm.sh\n"
        "the variable is not in the environment of the program",
        "env-not-seen-by-service",
    ),
]
OVERRIDE = "export HSA_OVERRIDE_GFX_VERSION=10.3.0\n"
SERVICE += [
    (OVERRIDE + "the server crashes\nsystemctl show-environment lacks it", "env-not-seen-by-service"),
    (OVERRIDE + "the server crashes\n/proc/4711/environ has no such variable", "env-not-seen-by-service"),
    (OVERRIDE + "the server crashes\nit was exported in the SSH session only", "env-not-seen-by-service"),
    (OVERRIDE + "the server crashes\nthe tmux session was started before the export", "env-not-seen-by-service"),
]
test_a_shells_own_variable = names(SERVICE)
test_a_target_that_the_card_has_not = names(
    [
        (RX + "crash on model load\nrocminfo shows gfx1100 instead of gfx1030", "hsa-override-misuse"),
        (RX + "crash on model load\ngfx1030 is detected as gfx1100", "hsa-override-misuse"),
        (RX + "crash on model load\nit changed gfx1030 detection to gfx1100", "hsa-override-misuse"),
        (RX + "crash on model load\nthe image forces gfx1100", "hsa-override-misuse"),
    ]
)
test_a_target_that_the_card_has = names_not(
    [
        (RX + "crash on model load\ngfx1030 is detected as gfx1030", "hsa-override-misuse"),
        (RX + "crash on model load\nit was built for gfx1100 instead of gfx1030", "hsa-override-misuse"),
        (RX + "rocminfo shows gfx1030", "hsa-override-misuse"),
    ]
)
test_an_exported_variable = names_not(
    [
        ("Segmentation fault\nset -Ux HSA_OVERRIDE_GFX_VERSION 10.3.0 in fish", "env-not-seen-by-service"),
        ("the GPU hangs\nHSA_ENABLE_SDMA=0 was exported", "env-not-seen-by-service"),
        (OVERRIDE + "the server crashes\n/proc/4711/environ has it", "env-not-seen-by-service"),
        ("the model is not exported\nexport LD_LIBRARY_PATH=/opt/rocm/lib", "env-not-seen-by-service"),
    ]
)

test_a_number_beyond_the_only_gpu = names(
    [
        ("No CUDA GPUs are found\nexport CUDA_VISIBLE_DEVICES=1\nnvidia-smi shows one GPU", "visible-devices-conflict"),
        ("Exception: No GPU found\nexport CUDA_VISIBLE_DEVICES=3\nthere is only one GPU", "visible-devices-conflict"),
    ]
)
test_the_only_gpu_is_meant = names_not(
    [
        (
            "Exception: No GPU found\nexport CUDA_VISIBLE_DEVICES=0\nnvidia-smi shows one GPU",
            "visible-devices-conflict",
        ),
        ("Exception: No GPU found\nexport CUDA_VISIBLE_DEVICES=1\none GPU per task", "visible-devices-conflict"),
    ]
)

test_clocks_are_held = names(
    [
        (GEFORCE + "SW Power Cap: Active, clocks at 210 MHz", "gpu-throttled"),
        (GEFORCE + "clocks_event_reasons.sw_thermal_slowdown: Active", "gpu-throttled"),
        (GEFORCE + "the GPUs are power throttling", "gpu-throttled"),
        (GEFORCE + "P8 state under load", "gpu-throttled"),
        (RX + "the GPU is stuck in the lowest power state", "gpu-throttled"),
        (RX + "sclk never leaves the lowest DPM level", "gpu-throttled"),
        ("inference is slow\nJetson AGX Orin\nthe board runs in 15W mode", "gpu-throttled"),
    ]
)
test_clocks_are_free = names_not(
    [
        (GEFORCE + "SW Power Cap: Not Active, clocks at 210 MHz", "gpu-throttled"),
        (GEFORCE + "clocks_event_reasons.sw_thermal_slowdown: Not Active", "gpu-throttled"),
        (GEFORCE + "check whether the GPU is throttling", "gpu-throttled"),
        (GEFORCE + "P8 state at idle", "gpu-throttled"),
        (RX + "WARNING: AMD GPU device(s) is/are in a low-power state. Check power control", "gpu-throttled"),
        (RX + "it stays in the lowest power state when idle", "gpu-throttled"),
        ("a 300W power supply\nJetson AGX Orin\nthe fan runs at 15W", "gpu-throttled"),
    ]
)

test_the_processors_gpu_is_taken = names(
    [
        (TWO.format("Intel(R) UHD Graphics"), "integrated-gpu-conflict"),
        (TWO.format("AMD Radeon(TM) 780M Graphics"), "integrated-gpu-conflict"),
        (
            'msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" name=Vulkan1 '
            'description="NVIDIA GeForce RTX 4070"\n' + GEFORCE,
            "integrated-gpu-conflict",
        ),
        (GEFORCE + "the server uses Intel UHD instead of the RTX 4070", "integrated-gpu-conflict"),
        (GEFORCE + "Vulkan picks Intel UHD Graphics", "integrated-gpu-conflict"),
        (GEFORCE + "it initializes on Intel instead of NVIDIA", "integrated-gpu-conflict"),
        (GEFORCE + "it falls back to CPU when the AMD iGPU is present", "integrated-gpu-conflict"),
        (GEFORCE + "CUDA is not found\ndisabling the iGPU in the BIOS makes CUDA work", "integrated-gpu-conflict"),
        (
            GEFORCE + "amdgpu detected, but no compatible rocm library found.\nthe model runs on the CPU",
            "integrated-gpu-conflict",
        ),
    ]
)
test_the_card_is_taken = names_not(
    [
        (GEFORCE + "the desktop runs on Intel UHD Graphics", "integrated-gpu-conflict"),
        ("Vulkan picks Intel UHD Graphics, there is no other GPU", "integrated-gpu-conflict"),
        (TWO.format("NVIDIA GeForce RTX 4070"), "integrated-gpu-conflict"),
        (
            'msg="dropping integrated GPU; to enable, set OLLAMA_IGPU_ENABLE=1" description="Intel(R) UHD Graphics"\n'
            + GEFORCE,
            "integrated-gpu-conflict",
        ),
        (GEFORCE + "amdgpu detected, but no compatible rocm library found.", "integrated-gpu-conflict"),
        (GEFORCE + "CUDA is not found\ndisabling the iGPU in the BIOS changes nothing", "integrated-gpu-conflict"),
        (RX + "amdgpu detected, but no compatible rocm library found.\nit runs on the CPU", "integrated-gpu-conflict"),
    ]
)

test_an_apus_pool_is_small = names(
    [
        (APU + "not enough vram available, falling back to CPU only", "apu-memory-pool-misconfigured"),
        (
            APU + "killed after the first request\nROCm sees 6368 MiB\nVulkan sees 53281 MiB",
            "apu-memory-pool-misconfigured",
        ),
        (APU + "amdgpu: unknown parameter 'gttsize_mb' ignored", "apu-memory-pool-misconfigured"),
        (APU + "ttm: unknown parameter 'page_limit' ignored", "apu-memory-pool-misconfigured"),
        (APU + "quiet splash amdgpu.gtt_size=98304 vt.handoff=7", "apu-memory-pool-misconfigured"),
        (APU + "ro quiet ttm.page_limit=25165824", "apu-memory-pool-misconfigured"),
    ]
)
test_a_pool_is_large_or_a_cards = names_not(
    [
        (RX + "not enough vram available, falling back to CPU only", "apu-memory-pool-misconfigured"),
        (RX + "the model does not load\nROCm sees 16368 MiB\nVulkan sees 16384 MiB", "apu-memory-pool-misconfigured"),
        (APU + "amdgpu: unknown parameter 'dc_log' ignored", "apu-memory-pool-misconfigured"),
        (APU + "ro quiet ttm.pages_limit=25165824", "apu-memory-pool-misconfigured"),
    ]
)

test_other_states_of_a_host = names(
    [
        ("nvidia.com/gpu: 0\nmig.strategy=single\nMIG devices of different sizes", "mig-misconfigured"),
        ("pods cannot get a GPU\nstrategy single but two profiles", "mig-misconfigured"),
        ("CUDA fails on the A100\nGI created, no CI", "mig-misconfigured"),
        ("benchmarks are unpredictable\nthe CPU has the ondemand governor\n" + GEFORCE, "cpu-governor-powersave"),
        *(
            ("low GPU utilization, decode is slow\n" + GEFORCE + told, "cpu-governor-powersave")
            for told in (
                "governor powersave on all cores",
                "the CPU has the schedutil governor",
                "power-profiles-daemon: power-saver",
                "tuned-adm profile powersave",
                "all cores stay at 800 MHz",
            )
        ),
        ("all-reduce is slow\n" + GEFORCE + "numa_balancing: 1", "numa-balancing-enabled"),
        (
            "nvidia-container-cli: initialization error: nvml error: timeout\npersistence mode off\n" + GEFORCE,
            "persistence-mode-off",
        ),
        ("the NVIDIA driver is loaded and unloaded for every job\n" + GEFORCE, "persistence-mode-off"),
    ]
)
test_states_that_are_right = names_not(
    [
        ("nvidia.com/gpu: 0\nmig.strategy=mixed\nMIG devices of different sizes", "mig-misconfigured"),
        ("the tests fail\nGI created in the pipeline without CI checks", "mig-misconfigured"),
        ("the CPU has the ondemand governor\n" + GEFORCE, "cpu-governor-powersave"),
        ("decode is slow\n" + GEFORCE + "power-profiles-daemon: performance", "cpu-governor-powersave"),
        ("decode is slow\n" + GEFORCE + "all cores at 4800 MHz", "cpu-governor-powersave"),
        ("nvidia-container-cli: initialization error: nvml error: timeout\n" + GEFORCE, "persistence-mode-off"),
        ("the model is unloaded after every job\n" + GEFORCE, "persistence-mode-off"),
    ]
)
