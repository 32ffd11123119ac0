"""Which reader is offered which fragment: by words that stand in the text, or by the command it is the output of.

The order is the order of trust: what a driver's tool says before what a person wrote. A new format is a new reader and
one line here.

>>> [f.reader for f in claims("agent 2\\n  device type:  gpu", "rocminfo")]
['rocminfo', 'labelled_lines']
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Format(NamedTuple):
    """`words`: one of them stands in the fragment (lower case). `commands`: one of them stands in its command.
    `call` is the function of the reader's module."""

    reader: str
    words: tuple[str, ...] = ()
    commands: tuple[str, ...] = ()
    call: str = "read"
    told: bool = False
    """The reader is told the fragment's command."""


FORMATS = (
    Format("nvidia_smi_xml", ("<nvidia_smi_log>",)),
    Format("nvidia_smi_query", ("nvsmi log", "product architecture", "driver version   ")),
    Format("nvidia_smi_table", ("| nvidia-smi", "|  nvidia-smi", "mib /", "no devices were found",
                                "nvidia-smi has failed", "failed to initialize nvml", "determine the device handle",
                                "| 0000")),
    Format("nvidia_smi_list", ("(uuid: gpu-", "(uuid: mig-")),
    Format("nvidia_smi_topo", ("cpu affinity",)),
    Format("kernel_log", ("nvrm:", "xid", "amdgpu ", "[drm", "kfd", "nouveau ", "pcieport", "secure boot",
                          "killed process", "[hardware error]", "mlx5_core "), ("dmesg", "journalctl")),
    Format("amd_smi_json", ('"asic"', '"gpu": 0', '"gpu":0', '"gpu_data"', '"market_name"')),
    Format("amd_smi_text", ("market_name", "target_graphics_version", "bdf:", "amd-smi 2", "amdsmi tool",
                            "total_vram", "gfx_activity:", "socket_power:", "correctable_count:", "perf_level:",
                            "pldm_bundle")),
    Format("amd_smi_tables", ("access table", "link type table", "weight table", "between two gpus", "gfx_util",
                              "accelerator_type", "vram_total")),
    Format("rocm_smi_json", ('"card0"', '"card1"')),
    Format("rocm_smi_table", ("gpu[0]", "gpu[1]", "rocm system management", "not found in modules", "(mem, compute",
                              "avgpwr", "pwrcap"),
           ("rocm-smi",)),
    Format("rocminfo", ("rock module", "wsl environment detected.", "device type:", "hsa agents",
                        "unable to open /dev/kfd", "name:                    gfx"), ("rocminfo",)),
    Format("lspci", ("vga compatible", "3d controller", "processing accelerator", "display controller", "nvswitch",
                     "lnksta:"), ("lspci",)),
    Format("ls_dev", ("/dev/kfd", "/dev/dri", "/dev/nvidia", "renderd", "/dev/dxg"), ("ls ",)),
    Format("lsmod", ("nvidia_uvm ", "amdgpu  ", "nouveau  ", "nvidia  "), ("lsmod",), told=True),
    Format("lsmod_silent", (), ("lsmod | grep -c",), told=True),
    Format("id_command", ("uid=",)),
    Format("id_command", ("groups:",), call="read_group_line"),
    Format("id_command", commands=("groups",), call="read_groups"),
    Format("uname", ("linux ",), ("uname",)),
    Format("cmdline", ("boot_image=",), ("cmdline",)),
    Format("own_report", ("doctor.report/1",)),
    Format("nvidia_smi_csv", (", driver_version", "driver_version,", "memory.total [", "memory.used [", "pci.bus_id",
                              "compute_cap", "power.draw", "utilization.gpu"), ("--query-gpu",), told=True),
    Format("amdgpu_top_json", ("devicepath", "amdgpu_top_version")),
    Format("rocprof_sysinfo", ("workload_name,",)),
    Format("container_inspect", ('"hostconfig"',), call="read_pasted"),
    Format("cdi_text", ("cdiversion",)),
    Format("cdi_text", ("major: ", 'major": ', "major:"), call="read_nodes"),
    Format("kubectl_describe", ("kubelet version:", "container id:", "node-selectors:", "qos class:", "system info:")),
    Format("fabric_log", ("] [tid ",)),
    Format("rdma_text", ("hca_id:", "ca 'mlx", "ca '", "infiniband device '", '"physical_state"')),
    Format("interfaces_text", ("<loopback", "lo: flags=", "link encap:"), ("ip -br", "ip -brief")),
    Format("cpu_text", ("cpu op-mode", "thread(s) per core", "model name\t:", "cpu implementer", "bogomips"),
           ("lscpu",)),
    Format("modinfo", ("/lib/modules/",)),
    Format("nccl_log", ("nccl info", "nccl warn", "cudadriverversion", "rccl version", "# nccl-tests", "#  rank")),
    Format("rocm_text", ("hip version: ", "hip version  :", "query device success", "device id 0 :", "raw device name",
                         "gfx000", "feature version: "), ("hipconfig", "rocm_agent_enumerator", "hipcc")),
    Format("rocm_text", commands=(".info/version", "rocm version"), call="read_version"),
    Format("os_release", ("pretty_name=", "version_id="), call="read_pasted"),
    Format("framework_env", ("transformers` version", "accelerate` version", "pytorch version (", "torch version ..",
                             "deepspeed", "xformers 0", "pytorch.version:", "build.torch_version"),
           ("transformers env", "transformers-cli env", "accelerate env", "ds_report", "xformers.info")),
    Format("sglang_env", ("sglang: ", "flashinfer: ", "flashinfer_python: ", "sgl_kernel: ")),
    Format("nccl_topology", ("<system version=",)),
    Format("hwloc_xml", ("<topology",)),
    Format("udev_export", ("e: subsystem=",)),
    Format("device_query", ("cuda capability major", "amd gcn arch name")),
    Format("collect_env", ("pytorch version", "used to build pytorch", "is cuda available", "python platform",
                           "gpu models and", "[pip3]", "[conda]", "hip runtime"), ("collect_env", "collect-env")),
    Format("nvcc_version", ("compilation tools", "cuda compiler identification is")),
    Format("conda_list", ("build  channel", "packages in environment"), ("conda list", "mamba list")),
    Format("install_output", ("successfully installed", "already satisfied", " + ", "\n+ ", " ~ ", "name: ")),
    Format("pip_list", ("package  ", "==", "torch  ", "torchvision  ", "torchaudio  ", "triton  ", "vllm  ", "numpy  "),
           ("pip list", "pip freeze", "pip3 list", "pip3 freeze", "uv pip")),
    Format("container_manifest", ("services:", "deploy:", "devices:", "group_add", "shm_size", "runtime:", "limits:",
                                  "runtimeclassname", "supplementalgroups", "resources:", "image:",
                                  "runners.docker", "runargs", "devcontainer", "postcreatecommand", "remoteuser")),
    Format("container_config", ("no-cgroups", "runtimes", "default runtime", "default_runtime", "cgroup driver",
                                "context:", "cgroupdriver", "docker root dir", "rootless", "/cdi/", "hostpath",
                                "config.toml", "context ls", "docker desktop", "docker/desktop", "snap/",
                                "container-toolkit", "container toolkit", "nvidia-ctk", "cli-version:",
                                "snap install docker", "snap list", "snap services", "docker.dockerd",
                                "latest/stable", "docker snap", "docker (snap")),
    Format("limits", ("max locked memory", "open files", "dev/shm", "memlock", "limitnofile", "file descriptor limit")),
    Format("limits", commands=("ulimit -l", "ulimit -sl", "ulimit -hl"), call="read_ulimit_l", told=True),
    Format("batch_script", ("#sbatch", "#pbs", "#bsub", "tres=", "trespernode", "srun ", "salloc ", "sbatch ",
                            "requests:", "resources: {", "limits:")),
    Format("tunableop_csv", ("validator,",)),
    Format("service_unit", ("[service]", "server config", "systemctl", "environ", "gpu_type=gfx", "compute=gfx")),
    Format("service_unit", commands=("systemctl",), call="read_shown", told=True),
    Format("dockerfile", ("from ",)),
    Format("docker_run_line", ("docker run", "podman run", "docker container run", "nerdctl run", "docker create",
                               "apptainer", "singularity", " exec ", "--container-image", "--container-name")),
    Format("env_lines", ("export ", "_visible_devices", "hsa_", "nccl_", "rocm_path", "cuda_home", "ld_library_path",
                         "pytorch_", "miopen_", "vllm_", "torch_", "hip_", "cuda_", "hipblaslt", "rocblas_",
                         "flash_attention_", "python", "slurm_", "os.environ"),
           ("env", "printenv", "export")),
    Format("env_lines", commands=("echo $", "echo \"$"), call="read_echo", told=True),
    Format("traceback", ("-packages/", ".cpython-")),
    Format("nvidia_smi_excerpt", ("slowdown", "sw power cap", "persistence mode", "compute mode", "link width",
                                  "remapped rows", "_reasons.", "retired pages", "power limit", "mig mode",
                                  "mig devices")),
    Format("said_driver", ("nvidia unix", "license:", "libcuda", "nvidia-ml.so", "nvidia-compute", "dso version",
                           "/dev/kfd", "amdgpu is", "amdgpu loaded", "amdgpu driver", "amdgpu module",
                           "reported version is", ": installed", ": added", "fabricmanager", "amdgpu-dkms",
                           "kernel modules", "rock module version", "amdgpu version", "mes ", "kfd kfd: ",
                           "moduletype", "module_type", "modinfo amdgpu", " installed", "nvidia-driver-",
                           "nvidia-open", "nonfree-kmod-nvidia", "kernel module ", "ii ")),
    Format("said_driver", commands=("/sys/module/", "modinfo -f", "modinfo --field", "modinfo nvidia"),
           call="read_version", told=True),
    Format("said_host", ("numa_balancing", "secureboot", "secure boot", "governor", "default domain type", "mem_info_",
                         "config_iommu_", "pcie", "translat", "iommu disabled", "iommu is ", "iommu off")),
    Format("said_host", commands=("numa_balancing",), call="read_numa_balancing"),
    Format("said_host", commands=("scaling_governor",), call="read_governor"),
    Format("said_host", commands=("iommu_groups/",), call="read_iommu_domain"),
    Format("torch_prints", ("torch.__version__", "torch.version.", "is_available()", "get_device_name(",
                            "get_arch_list("), ("print(torch.",), told=True),
    Format("said_cuda", ("nvidia-smi", "driver", "__cuda")),
    Format("torch_arch_list", ("arch list", "arch_list", "archs", "arches", "architectures", "for sm_", "supports sm_",
                               "install supports",
                               "capabilities", "for gfx")),
    Format("labelled_lines", (":", "|", "=", "nvidia-smi", "pytorch ", "torch ", "python ", "rocm ", "ubuntu ",
                              "gcc (", "g++ (", "compiler identification is", "x nvidia", "x amd", "x tesla",
                              "x geforce", "x quadro", "x radeon", "x instinct", "x rtx", "x gtx", "x rx", "× ")),
    Format("compile_line", ("/bin/nvcc",)),
    Format("paddle_log", ("gpu compute capability: ",)),
    Format("windows_paths", (":\\", ".dll")),
    Format("said_stack", ("rtx", "gtx", "radeon", "tesla", "gfx", "torch", "rocm", "v100", "p100", "a100", "h100",
                          "800", "h20", "a10g", "gb10", "dgx spark", "x t4", "x l4", "x a", "x k80", "nvidia ",
                          "h200", "b200", "mi2", "mi3", "mi100", "mi50", "mi60", "l40", "xtx", "strix", "vllm",
                          "triton", "flash", "driver", "nccl", "cublas",
                          "wsl", "win1", "win 1", "windows", "quadro", "rx5", "rx 5", "rx6", "rx 6", "0ti", "0 ti")),
)  # fmt: skip


def claims(low: str, command: str) -> Iterator[Format]:
    """Formats that the text (in lower case), output of that command, may hold; most trusted first."""
    command = command.lower()
    for form in FORMATS:
        if any(map(low.__contains__, form.words)) or (command and any(map(command.__contains__, form.commands))):
            yield form


def rank(form: Format) -> int:
    """Place in the order of trust, from 0."""
    return FORMATS.index(form)


def named(reader: str, call: str = "read") -> Format:
    """The format of that reader and function of its module."""
    return next(form for form in FORMATS if (form.reader, form.call) == (reader, call))
