"""What containers are passed, and older toolkits: each cause with a case that nearly is it."""

from __future__ import annotations

from tests.knowledge.texts import keys, names, names_not, told

INSIDE = "Container:\n```\nrunning inside a container: yes\ncontainer engine: {}\n```\n"
DOCKER, POD, SANDBOX = INSIDE.format("docker"), INSIDE.format("kubernetes"), INSIDE.format("flatpak 1.14")
TOOLKIT, RUNTIME = "container-toolkit-too-old", "container-runtime-not-configured"
PASSED, DENIED = "container-missing-gpu-passthrough", "container-device-cgroup-denied"
MEMLOCK, SKEW, FABRIC = "memlock-limit-too-low", "amdgpu-rocm-version-skew", "nvidia-fabricmanager-not-running"
STAT = "nvidia-container-cli: mount error: stat failed: "
NO_NVML = "NVIDIA-SMI couldn't find libnvidia-ml.so library in your system.\n"
SECURE, CDI, DRIVER = "secure-boot-blocks-module", "cdi-spec-missing-or-stale", "nvidia-driver-not-loaded"
LIBS, NONE, PROFILE = "gpu-libs-not-found", "container-engine-no-gpu-support", "container-security-profile"
VISIBLE, OFFERED = "visible-devices-conflict", "container-runtime-not-configured"
NO_DRIVER = "AssertionError: Found no NVIDIA driver on your system.\n"
NO_CUBLAS = "ImportError: libcublas.so.10: cannot open shared object file: No such file or directory\n"
BOX = INSIDE.format("distrobox")
RENDER = (
    DOCKER + "$ docker run --device=/dev/kfd --device=/dev/dri/renderD129 ollama/ollama:rocm\nthe GPU is not found\n"
)
IB = "$ docker run --network host --gpus all {} vllm/vllm-openai\nexport NCCL_IB_HCA=mlx5_0\nNCCL INFO NET/Socket\n"
NO_NVML_CLI = "nvidia-container-cli: initialization error: load library failed: libnvidia-ml.so.1: cannot open\n"
OPERATOR = (
    INSIDE.format("kubernetes, gpu-operator") + NO_NVML_CLI + '[nvidia-container-cli]\nroot = "/run/nvidia/driver"\n'
)
COMPAT, TOO_OLD, KERNEL_PART = "cuda-compat-conflict", "nvidia-driver-too-old", "amdgpu-driver-not-loaded"
SHM, WSL = "container-shm-too-small", "wsl-gpu-misconfigured"
IMAGE = "NVIDIA driver version: {}\n$ docker run --rm --gpus all nvidia/cuda:{} nvidia-smi\nOCI runtime create failed\n"
TOPOLOGY = '"logger":"amdgpu-node-labeller","msg":"Fail to glob topology properties"\n'
DXCORE = "dxcore initialization failed, continuing assuming a non-WSL environment\n"
HGX = "8x A100, HGX with NVSwitches\nnvidia-smi works, torch sees no GPU\n"
OS_CALL = "RuntimeError: CUDA error 304: OS call failed or operation not supported on this OS\n"
ADA = "$ nvidia-smi -L\nGPU 0: NVIDIA GeForce RTX 4080\n"
CASES = [
    (DOCKER + "cuInit: CUDA_ERROR_OPERATING_SYSTEM\nnvidia-smi works", PROFILE),
    (DOCKER + "cuInit(0) = 304\nnvidia-smi lists all GPUs\nAppArmor profile docker-default", PROFILE),
    (OS_CALL + "the agent runs under bubblewrap", PROFILE),
    (DOCKER + "memfd_create: Operation not permitted\ncudaErrorOperatingSystem", PROFILE),
    ("torch.cuda.is_available(): False in the agent's sandbox\nworks outside the process sandbox\n" + ADA, PROFILE),
    ("RuntimeError: No CUDA GPUs are available\nwithout the seccomp profile it works\n" + ADA, PROFILE),
    (DOCKER + OS_CALL + "runtime: runsc", NONE),
    ("nvidia-docker | 2017/03/02 10:11:12 Error: unsupported Docker version", TOOLKIT),
    (STAT + "/Quadro: no such file or directory", TOOLKIT),
    (STAT + "/NVIDIA: no such file or directory: unknown", TOOLKIT),
    ("nvidia-container-cli: device error: /var/run/nvidia-container-devices: unknown device: unknown", TOOLKIT),
    ("docker: Error looking up volume plugin nvidia-docker: legacy plugin: plugin not found.", RUNTIME),
    (
        'create nvidia_driver_384.111: error looking up volume plugin nvidia-docker: plugin "nvidia-docker" not found',
        RUNTIME,
    ),
    ("Activate: dial unix /var/lib/nvidia-docker/nvidia-docker.sock: connect: no such file or directory", RUNTIME),
    (DOCKER + NO_NVML + "after running ldconfig in it nvidia-smi is fine", "gpu-libs-not-found"),
    (DOCKER + NO_NVML + "ldconfig in the entrypoint solves it", "gpu-libs-not-found"),
    (POD + "Failed to open RDMA device\nmountPath: /dev/infiniband\nas a privileged pod it works", DENIED),
    (POD + "no GPU agent\nhostPath: /dev/kfd\nit works only with --privileged", DENIED),
    (DOCKER + "-v /dev/dri:/dev/dri\nit runs when privileged", DENIED),
    ("the container hangs\nthe kernel driver of the host is older than ROCm 5.0", SKEW),
    ("hipErrorNoDevice\nrock-dkms is too old for ROCm 4.3", SKEW),
    ("the HIP build hangs\nthe drivers are older than ROCm 6", SKEW),
    ("the plugin reads MIG devices: Insufficient Permissions\nnvidia.com/gpu: 0", "mig-misconfigured"),
    ("error getting device memory info of MIG 0: Insufficient Permissions", "mig-misconfigured"),
    (HGX, FABRIC),
    ("DGX H100\nnvidia-smi works\nTensorFlow sees no GPU", FABRIC),
    (HGX + "the fabric manager is not running", FABRIC),
    (HGX + "nvidia-fabricmanager.service; enabled; preset: enabled", FABRIC),
    ("ImportError: /usr/lib/aarch64-linux-gnu/libcublas.so.10: file too short", RUNTIME),
    ("/usr/lib/aarch64-linux-gnu/libcudnn.so: file not recognized: File truncated", RUNTIME),
    ("-rw-r--r-- 1 root root 0 Mar  1  2021 /usr/lib/aarch64-linux-gnu/libcurand.so.10.1.2", RUNTIME),
    ("MPIR_Init_thread(493): MPIDI_CH3I_RDMA_init(446): rdma_iba_hca_init(1636): cannot create cq", MEMLOCK),
    ("[node7:mpi_rank_3][rdma_ring_boot_exchange] cannot create qp", MEMLOCK),
    ("cannot create cq", MEMLOCK),
    (SANDBOX + "no CUDA device in the sandbox\nwith --device=all it works", PASSED),
    ("Kernel module load error: Operation not permitted\nUEFI Secure Boot enabled", SECURE),
    ("ERROR: Kernel module load error: Required key not available", SECURE),
    ("-> Kernel module load error: Key was rejected by service\nSecureBoot enabled", SECURE),
    (INSIDE.format("podman-compose 1.0.6") + "the container starts without GPU, no error is shown", PASSED),
    (INSIDE.format("podman compose") + "the service comes up without the GPU", PASSED),
    (POD + "nvidia-smi fails\nthe pods are created without GPU", PASSED),
    (INSIDE.format("podman") + "Ollama runs on the CPU\n$ nvidia-ctk cdi list\nINFO[0000] Found 0 CDI devices", CDI),
    (INSIDE.format("podman-compose") + "torch.cuda.is_available() is False\nFound 0 CDI devices", CDI),
    ("$ docker run --device nvidia.com/gpu=all img\nthe GPU is not found\nFound 0 CDI devices", CDI),
    ("container engine: docker build\n" + NO_DRIVER, PASSED),
    ("during the docker build: No CUDA runtime is found, using CUDA_HOME='/usr/local/cuda'", PASSED),
    (
        "NotImplementedError: Cuda is not available\n"
        "The command '/bin/sh -c python setup.py' returned a non-zero code: 1",
        PASSED,
    ),
    (
        DOCKER
        + "exit code 139\nldconfig -p | grep nvidia: (empty)\n/opt/lib/libcuda.so.580 and libnvidia-ml.so are there",
        LIBS,
    ),
    (DOCKER + NO_NVML + "ldconfig: Can't create temporary cache file /etc/ld.so.cache~: Read-only file system", LIBS),
    (DOCKER + "Segmentation fault\nldconfig -p | grep libcuda shows nothing", LIBS),
    (DOCKER + "OS: Jetson, L4T R32 REVISION: 6.1\n" + NO_CUBLAS, RUNTIME),
    (DOCKER + "Jetson Nano, JetPack 4.6\n" + NO_CUBLAS, RUNTIME),
    (
        DOCKER
        + "FROM nvcr.io/nvidia/l4t-base:r32.7.1\ncat: /usr/local/cuda-10.2/version.txt: No such file or directory",
        RUNTIME,
    ),
    (POD + "listen unix /var/lib/kubelet/device-plugins/nvidia.sock: bind: permission denied", PROFILE),
    (POD + "dial unix /var/lib/kubelet/device-plugins/kubelet.sock: connect: permission denied", PROFILE),
    (POD + "failed to create FS watcher for /var/lib/kubelet/device-plugins/: permission denied", PROFILE),
    (INSIDE.format("Gramine (SGX enclave)") + "Error 304: OS call failed or operation not supported on this OS", NONE),
    ("OS call failed or operation not supported on this OS\ndocker run --runtime=runsc img", NONE),
    ("torch.cuda.is_available() is False\npython runs in an enclave of Gramine", NONE),
    (BOX + NO_NVML + "run/host/usr/lib64/libnvidia-ml.so.545.29.06", LIBS),
    (BOX + NO_NVML + "$ distrobox create --nvidia --image ubuntu:22.04", LIBS),
    (BOX + "libcuda.so.1: cannot open shared object file\n/run/host/usr/lib/libcuda.so.1", LIBS),
    (DOCKER + "two nodes, it is slow\n" + IB.format(""), PASSED),
    (RENDER + "export HIP_VISIBLE_DEVICES=1", VISIBLE),
    (RENDER + "ROCR_VISIBLE_DEVICES=2", VISIBLE),
    (DOCKER + "ibv_reg_mr fails\ngfx942\n$ ulimit -l\n8192", MEMLOCK),
    (OPERATOR + "the driver is installed on the host", RUNTIME),
    (OPERATOR + "with a preinstalled driver", RUNTIME),
    (OPERATOR + "the driver is not installed on the host", DRIVER),
    (NO_NVML_CLI + 'ldconfig = "@/run/nvidia/driver/sbin/ldconfig.real"\ndriver.enabled=false', RUNTIME),
    (DOCKER + "driver/cuda mismatch errors\nwith RUN rm -rf /usr/local/cuda/compat in the image it works", COMPAT),
    (DOCKER + "Error 804\nafter removing /usr/local/cuda-12.2/compat it works", COMPAT),
    (DOCKER + "CUDA error\nwithout cuda-compat-11-3 it works", COMPAT),
    (IMAGE.format("390.157", "10.0-base-ubuntu14.04"), TOO_OLD),
    (IMAGE.format("470.57.02", "12.2.0-base-ubuntu22.04"), TOO_OLD),
    (IMAGE.format("550.54.14", "13.0.1-runtime-ubuntu24.04"), TOO_OLD),
    (DOCKER + "the container runs out of shared memory", SHM),
    ("there is not enough shared memory in the pod", SHM),
    (DOCKER + "The configured object store size (20.24 GB) exceeds /dev/shm size (10.73 GB)", SHM),
    (TOPOLOGY + "6 Insufficient amd.com/gpu.", KERNEL_PART),
    (TOPOLOGY + "/dev/kfd is not present", KERNEL_PART),
    (INSIDE.format("kubernetes") + "amdgpu-node-labeller: Fail to glob topology properties", KERNEL_PART),
    (DXCORE + "Ubuntu 20 in WSL2", WSL),
    (DXCORE + "Windows 11, wsl 2", WSL),
]
NEARLY = [
    ("what(): Error (gpu_burn-drv.cpp:298): OS call failed or operation not supported on this OS\n8x H100", PROFILE),
    ("Chrome works without the sandbox policy\n" + ADA, PROFILE),
    ("RuntimeError: No CUDA GPUs are available\nwithout seccomp it does not work\n" + ADA, PROFILE),
    ("source=server.go:304 cuInit ok\nllama runner started", PROFILE),
    (ADA + "$ docker run --security-opt seccomp=unconfined --gpus all trainer\nepoch 1 loss 0.3", PROFILE),
    ("Docker version 27.1 is unsupported on this release of Ubuntu", TOOLKIT),
    (STAT + "/dev/nvidia-modeset: no such file or directory", "container-no-cgroups-misconfigured"),
    (
        "nvidia-container-cli: device error: /var/run/nvidia-container-devices: unknown device",
        "visible-devices-conflict",
    ),
    ("docker volume ls: nvidia-docker.sock is there", RUNTIME),
    (POD + "Failed to open RDMA device\nmountPath: /dev/infiniband\na privileged pod does not work", DENIED),
    ("the HIP build hangs\nthe drivers are not older than ROCm 6", SKEW),
    (DOCKER + "exit code 139\nthe container does not start without a GPU", PASSED),
    (DOCKER + NO_NVML + "after running ldconfig in it nvidia-smi is fine", PASSED),
    (DOCKER + NO_NVML + "ldconfig does not help", "gpu-libs-not-found"),
    (POD + "mountPath: /dev/infiniband\nthe job runs\nprivileged: true", DENIED),
    (POD + "Failed to open RDMA device\nmountPath: /dev/infiniband\neven in a privileged pod it works not", DENIED),
    ("the kernel driver is newer than that of ROCm 5.0, all works", SKEW),
    ("the plugin reads MIG devices: Insufficient Permissions\nnvidia.com/gpu: 0", RUNTIME),
    (HGX + "the fabric manager is running", FABRIC),
    ("8x A100, HGX with NVSwitches\nnvidia-smi works, training is slow", FABRIC),
    ("ImportError: /opt/lib/libhelper.so.3: file too short", RUNTIME),
    ("cannot create cqlsh session", MEMLOCK),
    (
        "apptainer exec --nv img.sif\nGLIBC_2.34 not found (required by libGLX.so.0)\nwithout --nv the import works",
        PASSED,
    ),
    ("Kernel module load error: Operation not permitted\nSecure Boot is disabled", SECURE),
    (OPERATOR + "the driver is installed on the host", DRIVER),
    (OPERATOR.replace("/run/nvidia/driver", "/"), RUNTIME),
    (DOCKER + "driver/cuda mismatch errors", "toolkit-torch-mismatch"),
    (DOCKER + "CUDA error\nrm -rf /usr/local/cuda/compat does not help", COMPAT),
    (IMAGE.format("410.48", "10.0-base-ubuntu14.04"), TOO_OLD),
    (IMAGE.format("535.54.03", "12.9.0-base-ubuntu22.04"), TOO_OLD),
    ("NVIDIA driver version: 390.157\nthe image is nvidia/cuda:12.2.0-base-ubuntu22.04", TOO_OLD),
    ("triton: out of resource: shared memory, Required: 131072, Hardware limit: 101376", SHM),
    (TOPOLOGY + "6 Insufficient amd.com/gpu.", "scheduler-no-gpu-allocated"),
    (POD + "amdgpu driver unavailable. exiting with exit code 2\nthis node has no GPU of AMD", KERNEL_PART),
    (DXCORE + "Ubuntu 22.04 on a server, all works", WSL),
    ("Kernel module load error: No such device\nSecure Boot enabled", SECURE),
    (DOCKER + "the container runs without GPU on purpose\nall tests pass", PASSED),
    (DOCKER + "nvidia-ctk cdi list\nFound 0 CDI devices\ntraining runs on the GPU", CDI),
    (INSIDE.format("podman") + "Ollama runs on the CPU\nFound 2 CDI devices", CDI),
    ("container engine: docker build\n" + NO_DRIVER, DRIVER),
    ("$ docker build -t img .\n" + NO_DRIVER, RUNTIME),
    (DOCKER + "ldconfig: Can't create temporary cache file /etc/ld.so.cache~: Permission denied", LIBS),
    (DOCKER + "ldconfig -p | grep nvidia\nlibnvidia-ml.so.1 (libc6,x86-64)\nSegmentation fault", LIBS),
    (DOCKER + "OS: Jetson, L4T R35.4.1\n" + NO_CUBLAS, RUNTIME),
    (POD + "/var/lib/kubelet/device-plugins/kubelet.sock: too many open files", PROFILE),
    (POD + "nvidia.com/gpu: 0\nfailed to create FS watcher: too many open files", OFFERED),
    ("Error 304: OS call failed or operation not supported on this OS", NONE),
    ("outside of the enclave it works\nRuntimeError: CUDA out of memory", NONE),
    (BOX + NO_NVML + "run/host/usr/lib64/libnvidia-ml.so.545.29.06", PASSED),
    (DOCKER + "two nodes, it is slow\n" + IB.format("--device /dev/infiniband"), PASSED),
    (DOCKER + "two nodes, it is slow\n" + IB.format("--privileged"), PASSED),
    (RENDER + "export HIP_VISIBLE_DEVICES=0", VISIBLE),
    (RENDER.replace("/dev/dri/renderD129", "/dev/dri") + "export HIP_VISIBLE_DEVICES=1", VISIBLE),
    (DOCKER + "ibv_reg_mr fails\ngfx942\n$ ulimit -l\n8192", "gpudirect-rdma-missing"),
    (DOCKER + "ibv_reg_mr fails\ngfx942\n$ ulimit -l\nunlimited", MEMLOCK),
    (
        INSIDE.format("toolbox, podman 4.9.3")
        + "RuntimeError: No HIP GPUs are available\nwith --device=/dev/kfd it works",
        PASSED,
    ),
    (
        DOCKER + "$ docker run tensorflow/serving:latest-gpu\nCould not load dynamic library 'libcuda.so.1'; dlerror: "
        "libcuda.so.1: cannot open shared object file",
        "tensorflow-gpu-mismatch",
    ),
    (DOCKER + "no CUDA device\nalso --device=all does not help", PASSED),
]


test_it_is_named = names(CASES)
test_what_nearly_says_it = names_not(NEARLY)


def test_a_path_of_the_system_is_a_path() -> None:
    assert "container-cli-takes-word-for-path" not in keys(STAT + "/dev/nvidia-modeset: no such file or directory")
    assert "container-cli-takes-word-for-path" not in keys(STAT + "/usr/lib64/libcuda.so.1: no such file or directory")


def test_a_driver_that_is_not_detected_is_no_old_one() -> None:
    banner = "WARNING: The NVIDIA Driver was not detected.  GPU functionality will not be available.\n"
    insufficient = "CUDA driver version is insufficient for CUDA runtime version\n"
    assert told(banner + insufficient) == ["container-missing-gpu-passthrough"]
    assert "nvidia-driver-too-old" in told(insufficient)
