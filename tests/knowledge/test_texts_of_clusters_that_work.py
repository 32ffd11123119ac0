"""Texts of containers, clusters and tools in which the GPU stack works: no error, and nothing beside one warning."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.findings import Severity
from doctor.intake import read_text
from doctor.intake.words import Words
from doctor.knowledge import Knowledge
from doctor.rules.access import (
    container_missing_gpu_passthrough,
    container_runtime_not_configured,
    scheduler_no_gpu_allocated,
    wsl_gpu_misconfigured,
)
from doctor.rules.flags import collective_flag_misconfigured
from doctor.rules.host import gpu_throttled, mig_misconfigured, pcie_link_degraded
from tests.knowledge.texts import certain

SOCKETS = "NCCL WARN Failed to open libibverbs.so[.1]\nNCCL INFO NET/Socket : Using [0]eno1:10.0.0.4<0>\n"
PASS = 'NCCL WARN Missing "iommu=pt" from kernel command line which can lead to system instablity or hang!\n'
ORDINAL = "RuntimeError: CUDA error: invalid device ordinal\n"


def told(text: str, severity: Severity = Severity.WARNING) -> list[str]:
    report = judge(read_text([text.encode()]), Knowledge())
    return [f.rule for f in report.findings if f.severity.rank <= severity.rank and not f.explained_by]


def test_nccl_without_verbs_goes_on_with_sockets() -> None:
    assert "system-library-missing" not in told(f"GPU 0: NVIDIA L4\nGPU 1: NVIDIA L4\n{SOCKETS}")
    assert "system-library-missing" in told(f"{SOCKETS}4x ConnectX-6 in each of the two nodes, all_reduce is slow")


def test_rccl_asks_for_pass_through_in_a_guest_as_well() -> None:
    gpu = "Name: gfx942\nMarketing Name: AMD Instinct MI300X\n"
    assert told(f"OS: Ubuntu 22.04 (KVM guest)\n{gpu}{PASS}the tests pass") == []
    assert "iommu-not-passthrough" in told(f"{gpu}{PASS}all_reduce_perf hangs on eight GPUs")
    assert certain(f"{gpu}{PASS}all_reduce_perf hangs on eight GPUs") == set()


@pytest.mark.parametrize(
    "line",
    [
        "RuntimeError: FlashAttention forward only supports head dimension at most 256",
        "RuntimeError: FlashAttention only support fp16 and bf16 data type",
        "ValueError: FlashAttention-3 only supports num_splits=1",
    ],
)
def test_what_an_operator_takes_is_no_matter_of_the_gpu(line: str) -> None:
    assert told(f"GPU 0: NVIDIA A100-SXM4-80GB\n{line}\n") == []


def test_what_it_wants_of_the_gpu_is() -> None:
    line = "RuntimeError: FlashAttention only supports Ampere GPUs or newer."
    assert certain(f"GPU 0: Tesla T4\n{line}\n") == {"library-missing-gpu-arch"}


def test_an_ordinal_out_of_range_says_that_a_gpu_is_there() -> None:
    text = f"{ORDINAL}srun --ntasks-per-gpu=1 --nodes=2 --gpus-per-node=4\neach task sees one GPU, SLURM_LOCALID=3"
    assert told(text) == ["visible-devices-conflict"]


@pytest.mark.parametrize(
    "line",
    [
        "GPU utilised, process ids not visible in nvidia-smi",
        "nvidia-smi in the container shows an empty Processes table, torch computes",
        "No GPU to monitor.",
        "the GPU is used, but no process is shown by nvtop",
    ],
)
def test_processes_that_a_monitor_does_not_show_are_no_gpu_that_is_missing(line: str) -> None:
    known = {"visible-devices-conflict", "container-runtime-not-configured", "framework-sees-no-gpu"}
    assert not known & set(told(f"OS: Ubuntu 22.04\nGPU 0: NVIDIA A10\n{line}\n"))


def test_a_loader_that_is_killed_for_the_host_s_memory_is_short_of_no_shared_memory() -> None:
    line = "RuntimeError: DataLoader worker (pid 71) is killed by signal: {}."
    inside = "running inside a container: yes\ncontainer engine: docker\n$ docker run --gpus all IMAGE\n"
    assert "container-shm-too-small" not in told(inside + line.format("Killed"))
    assert "container-shm-too-small" in told(inside + line.format("Bus error"))


def test_a_card_behind_a_bridge_without_atomics_is_no_error_while_the_kernel_takes_it() -> None:
    line = "amdgpu 0000:83:00.0: amdgpu: PCIE atomic ops is not supported"
    assert told(f"AMD Radeon RX 7900 XTX\n{line}", Severity.ERROR) == []
    assert told("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics") == ["pcie-atomics-missing"]


@pytest.mark.parametrize(
    "line",
    [
        "export ROCM_PATH=/opt/rocm",
        "export HIP_PATH=/opt/rocm-6.4.1",
        "export TORCH_ROCM_AOTRITON_ENABLE_EXPERIMENTAL=1",
        "export PYTORCH_TUNABLEOP_TUNING=1",
        "export HSA_MODEL_MEMFILE=/dev/shm/model",
        "amdgpu 0000:c1:00.0: amdgpu: RAS: optional ras ta ucode is not available",
    ],
)
def test_a_setting_or_a_remark_is_no_error(line: str) -> None:
    error = "KeyError: 'model.layers.0.mlp.gate_up_proj.weight'"
    assert told(f"Name: gfx942\nMarketing Name: AMD Instinct MI300X\n{line}\n{error}\n") == []


def test_a_path_that_leads_elsewhere_still_counts() -> None:
    assert "rocm-path-broken" in told("rocminfo: command not found\nexport ROCM_PATH=/home/u/tarball\n")


def test_of_two_settings_of_one_rule_one_is_suspected() -> None:
    text = "GPU 0: Tesla T4\nexport NCCL_P2P_DISABLE=1\nexport NCCL_IB_DISABLE=1\nall_reduce is slow between nodes"
    assert told(text).count("collective-flag-misconfigured") <= 1


@pytest.mark.parametrize(
    "packages", ["torch 2.7.0+gitf717b2a\ntriton 3.2.0+gite5be006a", "torch 2.6.0a0+df5bbc09d1.nv24.12\ntriton 3.0.0"]
)
def test_a_torch_of_an_image_has_a_triton_of_its_own(packages: str) -> None:
    table = f"```\n$ pip list\nPackage    Version\n---------- -------\n{packages}\n```\n"
    assert "triton-mismatch" not in told(f"{table}KeyError: 'model.layers.0.mlp.gate_up_proj.weight'\n")


def test_a_word_that_is_part_of_a_name_does_not_say_that_something_helped() -> None:
    run = "$ docker run --device=/dev/kfd --device=/dev/dri --group-add=video --ipc=host --shm-size 8G {}\n"
    error = "KeyError: 'model.layers.0.mlp.gate_up_proj.weight'\n"
    assert told(run.format("user/stable-diffusion-rocm:works") + error) == []
    assert told(run.format("user/fine-tune") + error) == []


def test_architectures_of_models_are_none_of_gpus() -> None:
    line = "ValueError: Unsupported architectures: DeepseekR1ForCausalLM. Supported list: ...\n"
    assert "library-missing-gpu-arch" not in told(f"GPU 0: NVIDIA H20\n{line}")


def test_one_reason_for_slower_clocks_that_holds_is_enough() -> None:
    shown = "GPU 0: NVIDIA A100-SXM4-80GB\nclocks drop at full load\nSW Power Cap : {}\nHW Slowdown : Not Active\n"
    assert not gpu_throttled.excludes(read_text([shown.format("Active").encode()]))
    assert gpu_throttled.excludes(read_text([shown.format("Not Active").encode()]))


@pytest.mark.parametrize(
    "text",
    [
        "OS: WSL2 Ubuntu 22.04\nnvidia-smi prints N/A for the processes of WSL2, in Windows it names them\n",
        "docker run --gpus all -it --rm img bash\nthe list of processes in nvidia-smi is empty there\n",
        "GPU  Temp  AvgPwr  SCLK    MCLK    Fan  Perf  PwrCap\n1    24.0c  3.0W  852Mhz  167Mhz  13%  auto  170.0W\n",
        "kubernetes, nvidia.com/gpu: the validation pod waits on the node while a job runs there\n",
        "NCCL INFO NET/Socket : Using [0]bond0:10.20.0.5<0>\nNCCL INFO Using network Socket, what is it?\n",
    ],
)
def test_words_without_a_complaint_raise_no_suspicion(text: str) -> None:
    assert told(text) == []


def test_words_of_a_complaint_are_heard() -> None:
    for rule in (wsl_gpu_misconfigured, scheduler_no_gpu_allocated, container_missing_gpu_passthrough):
        unseen = read_text([b"WSL2\ndocker run -it img\nRuntimeError: No CUDA GPUs are available\n"])
        assert not rule.unheard(unseen)
    assert not gpu_throttled.unheard(read_text([b"clocks drop after ten minutes"]))
    slow = b"NCCL INFO NET/Socket : Using [0]eth0:10.0.0.1<0>\nall_reduce is slow over the two nodes"
    assert not collective_flag_misconfigured.unheard(read_text([slow]))


def test_a_transport_that_is_given_up_by_a_test_that_passes_is_no_error() -> None:
    line = "UCX  ERROR mlx5_1: ibv_create_cq() failed: Cannot allocate memory.\n"
    assert certain(line) == {"memlock-limit-too-low"}
    assert certain(f"{line}osu_allreduce completes over TCP\n") == set()


@pytest.mark.parametrize(
    "line",
    [
        "RLIMIT_MEMLOCK: unlimited",
        "max locked memory is unlimited",
        "amdgpu: Configuring gttsize via module parameter is deprecated, please use ttm.pages_limit",
        "the GPU is lost from the dashboard when the pod restarts",
        "avc: denied { read } comm=exporter scontext=u:r:container_t:s0 tcontext=u:r:proc_mdstat_t",
        "salloc --gpus=1, no --gres needed on this partition",
        "Ignoring visible gpu device with AMDGPU version : gfx1036. The supported AMDGPU versions are gfx900, gfx1100",
    ],
)
def test_a_limit_that_is_none_and_a_line_about_something_else_are_no_error(line: str) -> None:
    assert certain(f"{line}\nthe model loads and answers\n") == set()


@pytest.mark.parametrize(
    ("line", "cause"),
    [
        ("This system has RLIMIT_MEMLOCK 65536", "memlock-limit-too-low"),
        ("nvidia-smi: GPU is lost. Reboot the system to recover this GPU", "nvidia-xid-fatal"),
        ("avc: denied { map } scontext=u:r:container_t:s0 tcontext=u:r:dri_device_t:s0", "container-security-profile"),
        ("amdgpu: unknown parameter 'gttsize' ignored", "apu-memory-pool-misconfigured"),
    ],
)
def test_and_what_is_one_still_is(line: str, cause: str) -> None:
    assert told(line)[0] == cause
    assert certain(line) == {cause}


def test_settings_of_nccl_beside_an_ordinal_out_of_range_are_not_suspected() -> None:
    settings = "export NCCL_SOCKET_IFNAME=eth0\nexport NCCL_DEBUG=INFO\nexport NCCL_IB_HCA=mlx5_0,mlx5_1\n"
    assert told(f"{ORDINAL}{settings}sbatch --gres=gpu:2, torchrun --nproc_per_node=4") == ["visible-devices-conflict"]


@pytest.mark.parametrize(
    ("works", "fails", "cause"),
    [
        (
            "the controller: Could not get any nodes to match nvidia.com/gpu.present label",
            "the pod has no nvidia.com/gpu under limits",
            "container-missing-gpu-passthrough",
        ),
        ('MIG strategy "none"', "the plugin fails with MIG strategy single", "mig-misconfigured"),
        (
            "g++: error: version:: No such file or directory\ng++: error: NVIDIA: No such file or directory",
            "g++: error: Files: No such file or directory",
            "install-path-has-space",
        ),
    ],
)
def test_what_names_a_part_and_accuses_nothing(works: str, fails: str, cause: str) -> None:
    assert cause not in told(works)
    assert cause in told(fails)


def test_the_head_of_nvidia_smi_s_table_makes_no_cause_likelier() -> None:
    head = "| GPU  Name      Persistence-M | Bus-Id        Disp.A | Volatile Uncorr. ECC |"
    for line, counts in ((head, False), ("Volatile Uncorr. ECC of the second card is 17", True)):
        words = Words()
        list(words.through([(1, line)]))
        assert ("ecc" in words.told) is counts
        assert "ecc" in words.lines


def test_ranks_on_one_gpu_accuse_a_list_that_is_set() -> None:
    line = "Duplicate GPU detected : rank 1 and rank 0 both on CUDA device 1a000\n"
    gpus = "GPU 0: NVIDIA A40\nGPU 1: NVIDIA A40\n"
    assert told(f"{gpus}torchrun --nproc_per_node 2 train.py\n{line}") == []
    assert told(f"{gpus}export CUDA_VISIBLE_DEVICES=1\n{line}") == ["visible-devices-conflict"]
    assert told(f"export HIP_VISIBLE_DEVICES=0\n{line}") == ["visible-devices-conflict"]


RESET = "store->get('0') got error: Connection reset by peer\n"
STORE = "GLOO_SOCKET_IFNAME=eth0\n[c10d] The client socket has failed to connect to [{}]:29500 (errno: {}).\n"


def test_a_rank_that_ends_by_its_own_exception_takes_its_store_along() -> None:
    info = Severity.INFO
    unreachable = STORE.format("n1", "110 - Connection timed out")
    for line in (RESET, unreachable):
        assert "collective-flag-misconfigured" in told(line, info)
        assert "collective-flag-misconfigured" not in told(f"[rank0]: KeyError: 'mask'\n{line}", info)
        assert "collective-flag-misconfigured" in told(f"[rank0]: RuntimeError: CUDA error\n{line}", info)


def test_the_name_of_the_own_machine_is_tried_by_ipv6_first() -> None:
    assert "collective-flag-misconfigured" not in told(
        STORE.format("localhost", "99 - Cannot assign requested address"), Severity.INFO
    )
    for host, error in (("n1", "99 - Cannot assign requested address"), ("localhost", "111 - Connection refused")):
        assert "collective-flag-misconfigured" in told(STORE.format(host, error), Severity.INFO), host


def test_a_shell_without_nvidia_smi_where_torch_has_the_gpu() -> None:
    shell = "container: yes\nGPU 0: NVIDIA L4\nbash: nvidia-smi: command not found\n"
    assert told(shell + "torch.cuda.is_available() -> True") == []
    assert told(shell) != []


def test_variables_of_nccl_that_a_cluster_sets_for_every_job() -> None:
    listed = b"NCCL_SOCKET_IFNAME=hsn0,hsn1\nNCCL_NET_GDR_LEVEL=3\n"
    assert collective_flag_misconfigured.unheard(read_text([listed + b"torch.cuda.device_count() = 8"]))
    assert not collective_flag_misconfigured.unheard(read_text([listed + b"the ranks hang"]))


def test_ranks_that_do_not_meet_and_no_flag_of_an_interface() -> None:
    apart = b"[c10d] The client socket has timed out after 900s while trying to connect to (master-0, 23456).\n"
    assert collective_flag_misconfigured.unheard(read_text([apart]))
    assert not collective_flag_misconfigured.unheard(read_text([apart + b"GLOO_SOCKET_IFNAME=eth0"]))


def test_a_container_that_lacks_a_program_of_its_own_runs() -> None:
    said = (
        'OCI runtime exec failed: exec failed: unable to start container process: exec: "{}": executable file not found'
    )
    assert container_runtime_not_configured.unheard(read_text([said.format("curl").encode()]))
    assert not container_runtime_not_configured.unheard(read_text([said.format("nvidia-smi").encode()]))
    hook = b'exec: "nvidia-container-runtime-hook": executable file not found in $PATH'
    assert not container_runtime_not_configured.unheard(read_text([hook]))


def test_a_link_that_the_kernel_says_is_whole() -> None:
    line = "pci 0001:00:00.0: {}\n"
    whole = line.format("252.048 Gb/s available PCIe bandwidth (16.0 GT/s PCIe x16 link)")
    assert pcie_link_degraded.unheard(read_text([whole.encode()]))
    limited = line.format("31.504 Gb/s available PCIe bandwidth, limited by 8.0 GT/s PCIe x4 link at 0000:00:01.1")
    assert not pcie_link_degraded.unheard(read_text([limited.encode()]))


def test_instances_that_are_listed_and_that_nobody_misses() -> None:
    cut = b"GPU 0: NVIDIA A100-SXM4-80GB (UUID: GPU-1)\n  MIG 1g.10gb     Device  0: (UUID: MIG-2)\n"
    assert mig_misconfigured.unheard(read_text([cut + b"the health check counts 2 GPUs, expected 1"]))
    assert not mig_misconfigured.unheard(read_text([cut + b"RuntimeError: No CUDA GPUs are available"]))
    assert not mig_misconfigured.unheard(read_text([b"GPU 0: NVIDIA A100-SXM4-80GB\nMIG M.: Enabled"]))
