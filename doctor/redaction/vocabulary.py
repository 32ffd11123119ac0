"""Words that name no one: those of every machine, of folders, of the field. What is made of them alone is no name.

>>> [is_ordinary(word) for word in ("gpu-operator", "rocm7.2", "node01", "strela-gpu2", "data4")]
[True, True, True, False, True]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

import re
from functools import lru_cache

COMMON = frozenset(
    (
        "root user users ubuntu docker nobody nogroup admin host hosts localhost render video default none unknown "
        "dev proc sys etc opt usr lib lib64 bin sbin var run home tmp data test python python3 conda venv "
        "torch cuda rocm amd amdgpu nvidia gpu gpus kfd dri linux kernel debian fedora rhel node nodes "
        "compute server cluster container worker main local tesla h100 h200 a100 mi300x mi250x mi325x name "
        "version path state value source capture tree live text list stat link real open which derived "
        "account limits environ command file daemon sync mail www-data systemd sshd driver module modules "
        "adm audio avahi backup bin bluetooth ceph cdrom chrony clevis cockpit colord containerd crontab dbus dhcpcd dialout "
        "dip disk dnsmasq etcd fax floppy ftp fwupd games gdm geoclue gnats grafana hplip input irc kernoops kmem kubelet kvm "
        "landscape libvirt libvirt-qemu lightdm list logs lpadmin lxd man messagebus message messageb munge mysql netdev news "
        "nfsnobody nginx ntp nvidia-persistenced nvidia-persiste nvpd nx operator pcp pipewire plugdev polkitd pollinate postfix postgres "
        "prometheus proxy pulse pulse-access qemu rabbitmq redis rpc rpcuser rtkit sasl saned scanner sgx shadow slurm slurmd slurmctld "
        "snapd speech ssh ssl-cert sssd staff sudo sudoers sudoer syslog systemd tape tcpdump tss tty usbmux utmp uucp uuidd voice wheel whoopsie "
        "xrdp zabbix setroubleshoot public private everyone domain all any self this that the and not for from with kube-system kube-public "
        "kube-node-lease gpu-operator monitoring ingress-nginx istio-system cert-manager normal batch debug long short high low "
        "memory device devices error warning info doctor vllm pytorch tensorflow ollama jovyan jupyter comfyui sglang open-webui "
        "train trainer deploy deployer build builder runner jenkins gitlab github actions prod production staging inference serving serve eval research guest"
    ).split()
)
FOLDERS = frozenset(
    (
        "api bucket backend frontend server web cache broker queue db app desktop documents downloads pictures anaconda3 miniconda3 miniforge3 mambaforge micromamba app apps archive backup bin bench benchmarks build cache checkpoint checkpoints ckpt ckpts code common conda config containers "
        "data dataset datasets db default docker downloads env envs etc export exports file files fs group groups home images img include "
        "install job jobs lib lib64 local log logs lost+found media mnt model models modules nfs opt out output outputs package packages "
        "pool project projects public pytorch repo repos results root run runs sbin scratch script scripts share shared site-packages "
        "slurm software space spack src srv staff storage store sw system tank temp test tests tmp tools torch training user users var "
        "venv venvs vllm vol volume volumes weights work workdir workspace workspaces www rocm cuda llvm miopen huggingface hub dev proc sys"
    ).split()
)
"""Names of folders that say nothing of who owns them."""
_FIELD = frozenset(
    (
        "accelerate addr address agent alma almalinux alpine amdsmi amdgcn anonymous apex api apptainer apt arch arm arm64 array auto aws azure bare base bash beegfs bert "
        "bfloat bitsandbytes block bond boot bridge broadcast bus cache caffe cann card cards ccl cdi centos chat claude clang cloud cmake code codebase collective com comfy comp composable "
        "compose config container contiguous contrib core cpp cpu cpus cron csrc ctrl cublas cudnn cufft cugraph curl cutlass dask datasets ddp debug deepseek deepspeed dgx diffusers disk display "
        "distributed dkms dmesg docker dockerd drm drop ds dump ebpf edge efa efs elastic embed engine entrypoint epoch error eth ether evaluate event ex example exec exporter extension fabric "
        "fabricmanager failed fairscale falcon fast fft file filesystem finetune finetuning flash flashattention flashinfer flax flux fp fsdp fused gcc gcp gdb gdrcopy gemm gemma generate gfx git "
        "glibc global gloo google governor gpt gpudirect gradio graph graphics grep group hbm head health helm hf hip hipblas hipblaslt hopper hostnetwork hpc hpcx http https hugging hugginface hypervisor "
        "iceberg idle image images index inductor infiniband init instinct intel interactive io iommu ip ipex ipmi jammy jax job journal json jupyterlab k8s kata kernels keras "
        "kokkos kube kubectl kubernetes kueue lab label lambda langchain large last latest layer lib libs lightning link linear litellm llama llamacpp llava llm llms llvm lmstudio load local log "
        "login lora loop lspci lts lustre lvm machine manager manual map master max mellanox mem mesh meta metal metrics miopen mistral mixed mixtral mlc mlx mnist mode model modelscope modprobe module mpi "
        "mpirun multi n nccl nemo net network new next nfd nfs ngc nginx nim nix noble nodefaults none nouveau npu numa numba numpy nv nvcr nvlink nvme nvml nvshmem nvswitch nvtop off office ofed old "
        "on onnx onnxruntime open openai opencl opencv openmp openmpi openssh opensuse operator optimum oracle os other out pandas parallel part partition pci pcie peft persistence persistenced phi pid pip "
        "pipeline plugin podman policy port ports power pre preview primary process processes profile proxy pt pwsh py pylib pypi qemu qwen qwen2 qwen3 radeon rank ray rccl rdma read ready redhat release remote "
        "repository request reset resnet resource rest reverse ring rocblas rocky rocminfo rocprofiler router rpc rtx run runc runtime runpod safetensors sagemaker sbatch scheduler scipy sdk sdxl sd server "
        "service session set setup sge shell shm shutdown sidecar single singularity slinux slice slot slurmstepd small smi smb sp spark src srun sriov stable stable-diffusion standard start state static std step stop store "
        "stream sub subnet supervisor swap switch system t5 target task tcp temp tensor tensorboard tensorrt tgi thread throughput thunder time timeout tiny tip tls tmux tool toolkit top topology torchao "
        "torchaudio torchrun torchtext torchtune torchvision torchx tpu trace transfer transformer transformers transport triton tritonserver trl trt tty tune type udp ui unix unknown unsloth update upstream usb "
        "validator vendor verbs version vfio vg view virtual vision vm vmlinuz volcano volume wan warn watch webui whisper whl windows work worker workers workflow wsl wsl2 x xeon xet xformers xgboost "
        "xid xorg xpu yes yolo zero zfs zip zluda mode space namespace namespaces inside program input experience guide id is was it in of to or as by be can has have had see if then "
        "bf ubi rh el ci cd qa demo hello world foo bar baz a100 v100 l40s rtx a10 mi100 mi210 mi250 mi300 mi300a mi355x b200 gb200 h20 t4 turing ampere navi vega strix phoenix cryptroot luks mpath swap pve rl "
        "daemonset deployment statefulset replicaset configmap secret pvc coredns calico cilium flannel traefik argocd karpenter dcgm feature discovery persistentvolume rocket redis postgresql mariadb mongodb memcached minio "
        "mlflow wandb airflow prefect metaflow kubeflow jovyan launcher launch master0 slave primary replica leader follower first second third one two three large medium micro xlarge highmem highcpu mig "
        "lo docker0 br veth ib mlx bnxt ens eno enp wlan bonding teaming any all every each total free used avail mounted mount unmounted size use capacity null nil true false no enable enabled disable disabled "
        "desktop laptop workstation pc box rig computer mac macbook android iphone thinkpad ideapad legion raspberry pi jetson orin xavier nano spark gh200 grace "
        "maintainers maintainer authors author developers developer contributors community team company corporation inc org foundation corp canonical microsoft amazon apple meta facebook ibm dell supermicro gigabyte asus hpe lenovo "
        "anaconda mamba miniconda miniforge uv poetry pixi pdm hatch rye setuptools wheel env site packages dist bin boot vmlinux initrd initramfs grub efi uefi "
        "custom client clients registry mirror mirrors gateway nas git wiki vpn jump bastion auth sso sql filer files chat ldap xla aiter sgl mori ck frameworks rpool bpool archive rootvol working therock libs amdllpc igc dvs p4 gpgpu interact interactive preempt spot dedicated exclusive normal regular standard priority express devel"
    ).split()
)
_WORDS = COMMON | FOLDERS | _FIELD
_PARTS = re.compile(r"[^\W_]+")
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
_MODEL = re.compile(
    r"(?:gfx|sm|compute|cu|rocm|hip|py|cp|mi|rtx|gtx|rx|sha|md|utf|fp|bf|int|uint|ed|amd|x|ipv|e?cdsa|aes|rsa|base)_?\d[\w.]*|v\d+(?:[.-]\w+)*|[ablthkpr]\d{1,3}[a-z]{0,2}|\d{1,5}[a-z]{0,3}"
)
"""Models of GPUs, versions, numbers with a unit."""
_OF_REPLICA = re.compile(r"-(?:[a-f0-9]{8,10}-)?(?=[a-z0-9]{0,4}\d)[a-z0-9]{5}\Z")


@lru_cache(maxsize=8192)
def is_ordinary(name: str) -> bool:
    """Whether every part of it is a word of the field, a model or a number: such a name is found at every site."""
    low = name.lower()
    if low in _WORDS:
        return True
    parts = _PARTS.findall(_OF_REPLICA.sub("", name))
    return all(_is_plain(part) or all(map(_is_plain, _CAMEL.split(part))) for part in parts)


def _is_plain(part: str) -> bool:
    low = part.lower()
    bare = low.rstrip("0123456789")
    if low in _WORDS or (len(bare) > 1 and bare in _WORDS) or _MODEL.fullmatch(low):
        return True
    return (len(low) < 3 and low.isalpha()) or (low[-1:] == "s" and low[:-1] in _WORDS)
