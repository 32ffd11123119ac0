"""What is said of settings at run time: each text is found as people and programs write it, and not its near miss."""

from __future__ import annotations

import pytest

from tests.knowledge.texts import SYMPTOMS, keys, names, names_not, told

EXAMPLES = {
    "visible-devices-hide-told": "the launcher exports CUDA_VISIBLE_DEVICES=3, which makes torch detect no GPU",
    "visible-devices-number-told": "I start it with HIP_VISIBLE_DEVICES=2",
    "environment-differs-told": "PATH differs between the cron job and my login",
    "profile-not-sourced-told": "the unit does not source /etc/profile.d/rocm.sh",
    "unit-setting-without-effect-told": "I added it with systemctl edit vllm and it does not take effect",
    "variable-stays-empty-told": "HSA_OVERRIDE_GFX_VERSION stays empty in the log",
    "launcher-drops-variables-told": "mpirun does not forward NCCL_IB_HCA to the other hosts",
    "sudo-loses-gpu-told": "with sudo there is no device, without sudo it works",
    "environment-file-mentioned": "it is exported in my ~/.bashrc",
    "other-launcher-differs-told": "it runs in the terminal and finds no library in the notebook",
    "variable-deprecated": "TORCH_FOO_BAR is the default now, this environment variable is thus deprecated.",
    "variable-misspelt-told": "there was a typo in NCCL_SOKET_IFNAME",
    "variable-ignored-told": "NCCL_SOCKET_IFNAMES=eth0 is ignored",
    "anomaly-detection-slow-told": "anomaly detection was on, each step was three times slower",
    "gpu-out-of-memory-told": "the second replica dies of a GPU out-of-memory",
    "gpu-memory-kept-told": "the GPU memory is never released after the job ends",
    "gpus-exclusive-told": "the admins set the cards to process exclusive",
    "user-site-told": "packages in ~/.local/lib override those of the environment",
    "several-mig-told": "one process over two MIG instances",
    "nccl-no-algorithm": "NCCL WARN Error : no algorithm/protocol available for function Broadcast",
    "nccl-topology-file-unreadable": "NCCL WARN Could not open XML topology file /t.xml : No such file",
    "nccl-on-a-bridge": "NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>",
    "stands-still-told": "then nothing happens",
    "c10d-socket-unreachable": "[c10d] The client socket has timed out after 60s trying to connect",
    "path-turned-off-told": "NCCL_P2P_DISABLE=1 was left in the image",
    "p2p-off-works-chinese": "设置 NCCL_P2P_DISABLE=1 后可以正常训练",
    "shared-memory-short-chinese": "容器共享内存不足",
    "acs-off-helps": "after disabling ACS on the switches it works",
    "virtualisation-off-helps": "disabling VT-d in the firmware solved the hang",
    "reseating-helps": "the link was at x1 until we reseated the card",
    "clocks-fall-told": "under load the clocks drop to 300 MHz",
    "by-hand-works-told": "started by hand it works",
    "started-elsewhere-told": "gunicorn starts it",
    "variable-told": "LD_LIBRARY_PATH is exported there",
    "service-without-variable-told": "supervisord runs it without LD_LIBRARY_PATH",
    "nccl-setting-refused": "NCCL WARN Invalid NCCL_COMM_ID, please use format: <ipv4>:<port>",
    "nccl-adapters-of-two-links": "NET/IB : Attempted to connect incompatible devices: [0]a:1/IB and [1]b:1/RoCE.",
    "nccl-adapter-not-opened": "NCCL WARN NET/IB : Unable to open device mlx5_4",
    "nccl-adapter-event": "NCCL WARN NET/IB : mlx5_0:1 GID table changed",
    "nccl-ranks-share-gpu": "NCCL WARN Multiple Ranks are using the same GPU/Partition.",
    "nccl-driver-minimum": "NCCL WARN CUDA Driver version found is 11040. Minimum requirement is 12000",
    "nccl-peer-refused": "NCCL WARN failed to peer with device 1(=65000): 1 invalid argument",
    "nccl-gin-without-peermem": "Unable to use GIN: Peermem is not supported, and device 0 does not support DMA-BUF.",
    "nccl-multicast-refused": "usually due to a system or configuration error in the Fabric Manager or NVSwitches.",
    "master-port-taken": "RuntimeError: The server socket has failed to listen on any local network address.",
    "gdr-turned-off-told": "NCCL_NET_GDR_LEVEL=LOC",
    "library-release-worse-told": "NCCL 2.21.5 deadlocks on 64 nodes, 2.20.5 does not",
    "power-limited-low-told": "power limit 100 W of max 300 W",
    "clocks-go-down-told": "the SM clock goes from 1.9 GHz to 600 MHz",
    "link-generation-low-told": "this card is at Gen1 x16 under load",
    "oom-told": "OOM on the GPU with batch 8",
    "shm-full-told": "/dev/shm 64M 64M 0 100%",
    "worker-dies-told": "the data loader workers die",
    "home-packages-in-image-told": "import torch in the image takes it from my home",
    "nvidia-smi-needs-seconds-told": "nvidia-smi needs 20 s",
    "gpu-order-differs-told": "the numbers of torch do not match nvidia-smi",
    "several-gpus-told": "a box with two RTX 3090",
    "hang-at-full-use-told": "it freezes with both cards at 100%",
    "garbage-over-several-gpus-told": "split over both cards the answers are gibberish",
    "sudo-resets-told": "sudo resets LD_LIBRARY_PATH",
    "remote-session-told": "I log in over ssh and start it",
    "library-performance-told": "hipBLASLt performance degradation after the update",
    "gpu-order-changed-told": "the order of the GPUs changed after a reboot",
    "ollama-list-overridden": 'msg="user overrode visible devices" HIP_VISIBLE_DEVICES=1',
    "link-width-inline": "Link Width Max: 16x Current: 4x",
    "bar1-is-nothing": "NVRM: BAR1 is 0M",
    "addmm-lt-disabled-told": "DISABLE_ADDMM_CUDA_LT=1 and the kernels are Cijk_",
    "mig-without-instances-told": "MIG is enabled and nobody made instances",
    "debug-flag-unset-helped": "HIP_LAUNCH_BLOCKING=1 was left in the module file",
    "nccl-picks-told": "NCCL picks eth0",
    "user-installation-default": "Defaulting to user installation because normal site-packages is not writeable",
    "shared-memory-object-full": "OSError: [Errno 28] No space left on device: '/psm_1a2b'",
    "ray-object-store-not-in-shm": "using /tmp instead of /dev/shm because /dev/shm has only 67108864 bytes available",
    "acs-verify-told": "make sure that ACS is disabled",
    "near-slower-than-far-told": "within one switch it is slower than across",
    "unit-not-reloaded-told": "I forgot daemon-reload",
    "place-has-no-variable-told": "the notebook has no CUDA_VISIBLE_DEVICES",
    "gpu-numbers-differ-told": "nvtop lists the new card as 0, torch takes cuda:0 for the old one",
    "two-lists-show-none-told": "ROCR_VISIBLE_DEVICES=2 and HIP_VISIBLE_DEVICES=2 show nothing",
    "one-works-told": "a single GPU works",
    "machine-of-several-nodes-told": "it hangs over two nodes",
    "peer-copies-off-helps": "NCCL_P2P_LEVEL=LOC makes it run",
    "accelerate-refuses-p2p": "4000 series doesn't support faster communication broadband via P2P or IB.",
    "acs-is-on-told": "we were told to turn off ACS",
    "power-held-told": "junction climbs to 108 C",
    "put-in-again-helped": "after taking it out and putting it in again all is fast",
    "mig-slices-gone-told": "after a reboot the slices are gone",
    "memory-held-by-others-told": "workers hold the memory of all GPUs",
    "home-path-printed-told": "torch.__file__ lies under my home",
    "debug-cost-told": "set_detect_anomaly(True), an epoch takes twice as long",
    "bridge-address-refused": "connect to 172.18.0.1 of the other host, refused",
    "gid-index-works-told": "works with GID index 3",
    "tuning-left-on-told": "PYTORCH_TUNABLEOP_TUNING stayed at 1",
    "mtu-told": "the MTU of the container is larger than the host's",
    "memory-error-told": "a batch size over 8 gives a memory error",
    "list-set-by-launcher-told": "the launcher overwrites CUDA_VISIBLE_DEVICES",
    "library-path-needed-told": "it runs only if I set LD_LIBRARY_PATH",
    "tensor-changed-between-gpus-told": "moving a tensor from one GPU to another results in zeros",
    "tensor-moved-told": 'b = a.to("cuda:1")',
    "tensor-of-zeros-printed": "tensor([0., 0.], device='cuda:1')",
    "values-wrong-said": "the values are wrong",
    "library-slower-than-before-told": "cuDNN 6 is slower than 5.1",
    "library-changed-told": "I updated cudnn from 4 to 5",
    "slower-than-before-told": "my code runs 6 times slower",
    "gpu-buffer-not-registered": "Call to ibv_reg_dmabuf_mr failed with error Operation not supported",
    "gpu-buffer-told": "./ib_write_bw --use_cuda=0",
    "buffer-not-allocated-as-mr": "Couldn't allocate MR with error=14",
    "setting-not-passed-told": "the variable is not passed to the service",
    "mig-count-told": "cuda.device_count() == 0 when in MIG mode",
    "buffer-on-other-gpu-unchanged-told": "the states are zero when they arrive on the second GPU",
    "library-release-was-fine-told": "RCCL 2.18.3 was fine, RCCL 2.18.6 deadlocks",
    "mig-only-one-told": "with two MIG slices torch sees only one",
    "clock-stays-low-told": "sclk stays at 132MHz under load",
    "link-width-current-told": "Pcie link width current 1, max 16",
    "tunableop-on-slow-told": "PYTORCH_TUNABLEOP_ENABLED=1: the first request takes minutes",
    "data-parallel-told": "model = nn.DataParallel(model)",
    "hang-word-told": "and then it hangs",
    "answers-differ-told": "it is True in the terminal and False in PyCharm",
    "expandable-segments-not-on": "expandable segments are not enabled",
    "elsewhere-no-gpu-told": "the celery worker has no HIP devices, from bash it sees two",
    "performance-state-low-told": "the GPU stays in P8 while the model runs",
    "async-allocator-fails-told": "backend:cudaMallocAsync fails",
    "variable-name-slips": "I set CUDA_VISIBLE_DEVICE=1 but it still trains on GPU 0",
    "nccl-value-refused-told": "with NCCL_NVLS_ENABLE=0 it works",
    "library-went-back-helped": "going back to nvidia-nccl-cu12==2.19.3 makes the hang go away",
    "ray-noset-one-gpu-told": "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1 puts all engines on GPU 0",
    "integrated-beside-crashes-told": "it segfaults if the integrated GPU is also detected",
    "works-from-prompt-not-as-service-told": "from a shell it works, it doesn't when run by systemd",
    "gpu-memory-stays-told": "after the program ends the GPU memory is still occupied",
    "acs-off-and-able-told": "after disabling ACS we were able to run it",
    "nccl-address-not-usable": "NCCL WARN Connect to fe80::1%5<3344> failed : Cannot assign requested address",
    "library-release-change-helped": "going from NCCL 2.19.3 to 2.20.5 fixed the deadlock",
}  # fmt: skip
NEAR = {
    "visible-devices-hide-told": "CUDA_VISIBLE_DEVICES=1 makes both GPUs usable and the error is fixed",
    "environment-differs-told": "the results differ between the two GPUs",
    "profile-not-sourced-told": "I source my profile at login",
    "unit-setting-without-effect-told": "systemctl edit vllm, then set the variable there",
    "variable-stays-empty-told": "the queue stays empty",
    "launcher-drops-variables-told": "mpirun -np 8 does not print anything",
    "variable-deprecated": "PYTORCH_CUDA_ALLOC_CONF: this environment variable is deprecated",
    "variable-misspelt-told": "fix a typo in the README",
    "anomaly-detection-slow-told": "Hint: enable anomaly detection with torch.autograd.set_detect_anomaly(True).",
    "gpu-memory-kept-told": "the GPU memory is released after the job",
    "gpus-exclusive-told": "    Compute Mode                          : Exclusive_Process",
    "user-site-told": "pip puts the scripts into ~/.local/bin",
    "several-mig-told": "one MIG instance per pod",
    "nccl-on-a-bridge": "NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>",
    "path-turned-off-told": "NCCL INFO NCCL_P2P_DISABLE set by environment to 0.",
    "reseating-helps": "reseating did not change anything",
    "clocks-fall-told": "GPU clock: 1410 MHz",
    "by-hand-works-told": "I installed it by hand",
    "gdr-turned-off-told": "NCCL_NET_GDR_LEVEL=SYS",
    "power-limited-low-told": "Power Limit : 300.00 W",
    "oom-told": "Out of memory: Killed process 1234",
    "one-works-told": "one node works",
    "mtu-told": "eth0: flags mtu 1500 qdisc",
    "memory-error-told": "the batch size is 8",
    "list-set-by-launcher-told": "CUDA_VISIBLE_DEVICES=0,1",
    "bridge-address-refused": "connect to 10.1.2.3 refused",
    "power-held-told": "junction 71 C",
    "home-path-printed-told": "my home folder is full",
    "gpu-order-differs-told": "nvidia-smi shows both cards",
    "hang-at-full-use-told": "the GPU is at 100% all the time",
    "garbage-over-several-gpus-told": "two GPUs, garbage collection is slow",
    "ray-object-store-not-in-shm": "using /tmp instead of /dev/shm because /dev/shm has only 16541639680 bytes",
    "nccl-picks-told": "NCCL version 2.20.5",
    "acs-verify-told": "ACS is a feature of PCIe",
    "sudo-resets-told": "sudo nvidia-smi -r resets the GPU",
    "shm-full-told": "/dev/shm 126G 0 126G 0%",
    "library-release-change-helped": "NCCL version 2.20.5+cuda12.4",
    "tensor-changed-between-gpus-told": "moving tensors between GPUs takes 3 ms",
    "library-slower-than-before-told": "NCCL 2.20 is slower than MPI",
    "library-changed-told": "I upgraded pip and then cudnn",
    "gpu-buffer-not-registered": "ibv_reg_mr took 3 us",
    "setting-not-passed-told": "the argument is not passed to the function",
    "buffer-on-other-gpu-unchanged-told": "the loss goes to zero on two GPUs",
    "library-release-was-fine-told": "RCCL 2.18.3 was built for ROCm 6.0",
    "clock-stays-low-told": "the clock stays at 210 MHz when idle",
    "link-width-current-told": "Link width current 16x max 16x",
    "tunableop-on-slow-told": "PYTORCH_TUNABLEOP_ENABLED=1 is set",
    "data-parallel-told": "model = DistributedDataParallel(model)",
    "answers-differ-told": "it is True in the terminal and True in PyCharm",
    "gpu-memory-stays-told": "torch 2.9 was released, and the GPU memory is 24 GB",
    "acs-off-and-able-told": "after disabling ACS nothing changed",
    "variable-name-slips": "CUDA_VISIBLE_DEVICES=1 and NCCL_P2P_DISABLE=1",
    "library-went-back-helped": "I went back to NCCL 2.19.3 and nothing changed",
    "ray-noset-one-gpu-told": "RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES=1 is set",
    "integrated-beside-crashes-told": "it segfaults, the integrated GPU is off",
    "works-from-prompt-not-as-service-told": "from a shell it works and as a service too",
    "expandable-segments-not-on": "try expandable segments to avoid fragmentation",
    "elsewhere-no-gpu-told": "the node has no GPU, from bash or elsewhere",
    "performance-state-low-told": "it stays in P8 while idle",
    "async-allocator-fails-told": "I use backend:cudaMallocAsync",
}


@pytest.mark.parametrize("key", EXAMPLES)
def test_the_line_shows_the_symptom(key: str) -> None:
    assert key in keys(EXAMPLES[key])


@pytest.mark.parametrize("key", NEAR)
def test_the_near_miss_does_not(key: str) -> None:
    assert key not in keys(NEAR[key])


TOLD = {
    "one process over two MIG instances fails: CUDA error: invalid device ordinal": "mig-misconfigured",
    "0 <= device && device < device_num I set CUDA_VISIBLE_DEVICES=1": "visible-devices-conflict",
    "NCCL INFO NET/Socket : Using [0]docker0:172.17.0.1<0>\nthen it hangs": "collective-flag-misconfigured",
    "gunicorn starts my API and libcudnn is not found\nLD_LIBRARY_PATH is in .bashrc\nfrom my shell it works": (
        "env-not-seen-by-service"
    ),
    "Training hangs with 100% GPU utilization\nThe node has 4 RTX 3090": "pcie-p2p-unusable",
    "I wrap it in nn.DataParallel\nthen forward hangs": "pcie-p2p-unusable",
    "a = a.to('cuda:0')\nprint(a.to('cuda:1')) is wrong\ntensor([0], device='cuda:1')": "pcie-p2p-unusable",
    "I updated cudnn from 4 to 5\nmy code runs 6 times slower than before": "known-bad-library-version",
    "ib_write_bw --use_cuda=0\nCouldn't allocate MR": "gpudirect-rdma-missing",
    "A single GPU works.\nWith two RTX 4090 it hangs and nothing is printed": "pcie-p2p-unusable",
    "VLLM_ROCM_USE_TRITON_FLASH_ATN=0 has no effect": "env-flag-unknown-or-renamed",
    "In the notebook it is not found, it runs in the terminal where I have LD_LIBRARY_PATH\n"
    "when I start the notebook I get a different library": "env-not-seen-by-service",
}


@pytest.mark.parametrize("text", TOLD)
def test_texts_that_need_one_another_name_the_cause_together(text: str) -> None:
    assert TOLD[text] in told(text)


def test_a_bridge_in_a_run_that_goes_on_is_no_cause_by_itself() -> None:
    assert "collective-flag-misconfigured" not in told("NCCL INFO NET/Socket : Using [0]eth0:10.0.0.4<0>\nloss 1.2")


def test_by_hand_alone_says_nothing_of_variables() -> None:
    assert "env-not-seen-by-service" not in told("The service crashes with a KeyError.\nStarted by hand it works.")


def test_a_variable_that_is_read_may_be_said_to_have_no_effect() -> None:
    assert "env-flag-unknown-or-renamed" not in told("NCCL_P2P_DISABLE=1 has no effect on the hang")


def test_one_gpu_that_is_busy_is_no_fault_of_copies_between_several() -> None:
    assert "pcie-p2p-unusable" not in told("Training hangs at 100%, one GPU")


def test_a_hang_over_several_nodes_is_none_of_copies_within_one() -> None:
    text = "A single GPU works.\nWith two RTX 4090 on each of two nodes it hangs"
    assert "pcie-p2p-unusable" not in told(text)


def test_zeros_that_were_asked_for_are_no_fault_of_copies() -> None:
    text = "torch.zeros(3).to('cuda:1')\ntensor([0., 0., 0.], device='cuda:1')"
    assert "pcie-p2p-unusable" not in told(text)


def test_a_hang_of_ranks_over_several_nodes_is_no_fault_of_copies_within_one() -> None:
    assert "pcie-p2p-unusable" not in told("DistributedDataParallel on two nodes hangs")


def test_a_sentence_about_the_hint_of_the_allocator_accuses_nothing() -> None:
    assert not told("The OOM error suggests expandable_segments on the GPU even when it is enabled")


def test_what_only_tells_others_apart_accuses_nothing_by_itself() -> None:
    assert SYMPTOMS.accuses("nccl-peer-refused")
    assert not SYMPTOMS.accuses("variable-told")
    assert not SYMPTOMS.accuses("tensor-of-zeros-printed")
    assert SYMPTOMS.accuses("one-of-a-newer-catalogue")


SLOW_LINK = "LnkCap: Speed 16GT/s, Width x16\n01:00.0 LnkSta: Speed 5GT/s (downgraded), Width x16\n"
test_a_link_that_is_slow_at_work_is_named = names(
    [
        ("slow copies to the GPU\n" + SLOW_LINK + "seen under load", "pcie-link-degraded"),
        ("12 GB/s where the others have 25 GB/s\n" + SLOW_LINK + "while training", "pcie-link-degraded"),
        ("PCIe bandwidth is only 3 GB/s\n" + SLOW_LINK + "utilization 100%", "pcie-link-degraded"),
    ]
)
test_a_link_that_rests_is_none = names_not(
    [
        (SLOW_LINK + "idle; under load it goes to 16GT/s", "pcie-link-degraded"),
        (SLOW_LINK, "pcie-link-degraded"),
        ("stable under load\nLnkSta: Speed 16GT/s, Width x16", "pcie-link-degraded"),
    ]
)
