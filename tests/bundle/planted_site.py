"""A described node of a site: the texts that a real one has, with secrets and names of the site planted in them.

`«x»` marks a secret (random signs, other ones in each run of the same text), `‹x›` a name.
"""

# ruff: noqa: E501 -- texts
from __future__ import annotations

import re
from typing import NamedTuple

from tests.fakenode import Machine
from tests.fakenode.machine import Command
from tests.redaction.planted import some

FILES = {
    "etc/pip.conf": "[global]\nindex-url = https://reader:«»@‹pypi.brackmoor.io›/simple\nextra-index-url = https://__token__:«»@‹wheels.brackmoor.io›/+simple\ntimeout = 60\n",
    "root/.condarc": "channels:\n  - https://‹conda.brackmoor.io›/t/«»/main\n  - conda-forge\nproxy_servers:\n  http: http://‹svc-conda›:«»@‹proxy.brackmoor.io›:3128\n",
    "etc/default/grub": 'GRUB_DEFAULT=0\nGRUB_CMDLINE_LINUX="amd_iommu=on rd.iscsi.password=«» iommu=pt nfsroot=‹nas-brack2›:/export/root"\nGRUB_CMDLINE_LINUX_DEFAULT="quiet"\n',
    "etc/environment": 'PATH="/usr/bin"\nHTTPS_PROXY=http://‹bkettering›:«»@‹proxy.brackmoor.io›:3128\nHF_TOKEN=hf_«»\nWANDB_ENTITY=‹brackmoor-nlp›\nHF_HOME=/scratch/‹fjelstrup›/hf\n',
    "etc/docker/daemon.json": '{\n "insecure-registries": ["‹registry.brackmoor.io›:5000"],\n "registry-mirrors": ["https://‹mirror7.brackmoor.io›"],\n "data-root": "/data/docker",\n "proxies": {"http-proxy": "http://u:«»@‹proxy.brackmoor.io›:80"},\n "default-runtime": "nvidia",\n "runtimes": {"nvidia": {"path": "nvidia-container-runtime"}}\n}\n',
    "etc/containers/registries.conf": '[[registry]]\nlocation = "‹harbor.brackmoor.io›/ml"\n',
    "etc/slurm/gres.conf": "NodeName=‹ashgrid›[01-16] Name=gpu Type=h100 File=/dev/nvidia[0-1]\n",
    "etc/hosts": "127.0.0.1 localhost\n‹10.66.3.41› ‹ashgrid07.brackmoor.io› ‹ashgrid07›\n",
    "etc/hostname": "‹ashgrid07›\n",
    "proc/sys/kernel/hostname": "‹ashgrid07›\n",
    "etc/passwd": "root:x:0:0:root:/root:/bin/bash\n‹fjelstrup›:x:20011:20011:‹Maren Fjelstrup›,,,:/home/fjelstrup:/bin/bash\n‹oyelaran›:x:20012:20012::/home/oyelaran:/bin/bash\n",
    "etc/group": "root:x:0:\nvideo:x:44:fjelstrup\n‹protfold›:x:30077:fjelstrup,oyelaran\n",
    "etc/modprobe.d/site.conf": "# deployed by ‹tquiroga› via https://‹git.brackmoor.io›/infra\noptions nvidia NVreg_RegistryDwords=PerfLevelSrc=0x2222\n",
    "srv/ticket/history.txt": "ssh ‹oyelaran›@‹login3.brackmoor.io›\nmysql -u root -p«» slurm_acct_db\nipmitool -H ‹10.66.9.12› -U admin -P «» sdr\ncurl -u ‹tquiroga›:«» https://‹ci.brackmoor.io›/job\nexport OPENAI_API_KEY=sk-proj-«»\nsrun -A ‹protfold› -w ‹ashgrid09› nvidia-smi\n",
    "srv/ticket/inspect.txt": '[{"Name": "/trainer", "Config": {"Hostname": "‹ashgrid07›", "Env": ["WANDB_API_KEY=«»", "NVIDIA_VISIBLE_DEVICES=all", "S3_SECRET=«»"], "Labels": {"io.brackmoor.owner": "‹mtessaro›", "com.docker.compose.project": "‹kelpforest›"}, "Image": "‹harbor.brackmoor.io›/ml/train:1"}, "Mounts": [{"Source": "/srv/‹kelpforest›/data", "Destination": "/data"}]}]\n',
    "srv/ticket/pod.txt": 'apiVersion: v1\nkind: Pod\nmetadata:\n  name: train-0\n  namespace: ‹team-saltmarsh›\n  labels:\n    owner: "‹mtessaro›"\nspec:\n  nodeName: ‹ashgrid11›\n  containers:\n  - name: t\n    image: ‹harbor.brackmoor.io›/ml/train:1\n    env:\n    - name: HF_TOKEN\n      value: hf_«»\n    - name: DB_DSN\n      value: postgresql://mlflow:«»@‹pg1.brackmoor.io›/runs\n',
    "srv/ticket/listing.txt": "total 8\n-rw-r--r-- 1 ‹oyelaran› ‹protfold› 4096 Nov  2 10:11 run.sh\ndrwxr-x--- 4 ‹uhenriksen› ‹protfold› 4096 Nov  2 10:11 ckpt\nuid=20011(‹fjelstrup›) gid=20011(‹fjelstrup›) groups=20011(fjelstrup),44(video),30077(‹protfold›)\n‹sundaram› 21034 98.2  3.1 70223212 8123232 pts/3 Rl+ 09:02 12:01 python /scratch/‹sundaram›/t.py --api-key «»\n",
    "srv/ticket/job.txt": "JobId=8812 JobName=ft\n   UserId=‹uhenriksen›(20044) GroupId=‹protfold›(30077) MCS_label=N/A\n   Account=‹reefsim› QOS=normal\n   NodeList=‹ashgrid12›\n   WorkDir=/project/‹reefsim›/run1\n   Comment=token=«»\n",
    "srv/ticket/mail.txt": "From: ‹Maren Fjelstrup› <‹m.fjelstrup@brackmoor.io›>\nThe password is «», serial ‹1324023047811› on ‹3c:ec:ef:9a:41:7d›\nSerial Number : ‹1324023047811›\n",
    "srv/ticket/wrapped.txt": "docker run --gpus all \\\n  -e API_TOKEN=«» \\\n  -v /mnt/beegfs/‹reefsim›:/d ‹harbor.brackmoor.io›/x\ncat > token <<EOF\nhf_«»\nEOF\n",
}  # fmt: skip
LOG = (
    "Command line: BOOT_IMAGE=/vmlinuz root=/dev/sda1 iommu=pt ks=http://ks:«»@‹pxe.brackmoor.io›/ks nfsroot=‹nas-brack2›:/x",
    "nfs: server ‹nas-brack2› not responding, still trying",
    "CIFS: Attempting to mount //‹filer9.brackmoor.io›/ml",
    "mlx5_core 0000:c1:00.0: MAC ‹b8:3f:d2:1c:77:42›",
    "NVRM: GPU at PCI:0000:05:00: GPU-‹6d1f7a52-98c4-4e0b-b7b1-0e12c44aa9d3›, Board Serial Number: ‹1653022101442›",
)
JOURNAL = (
    "2026-11-21T12:00:00+0000 ‹ashgrid07› kernel: Linux version 6.8.0\n"
    "2026-11-21T12:00:04+0000 ‹ashgrid07› sudo[77]: ‹tquiroga› : TTY=pts/0 ; PWD=/home/tquiroga ; USER=root ; COMMAND=/usr/bin/nvidia-smi\n"
)
UNITS = (
    '# /etc/systemd/system/slurmd.service\n[Service]\nEnvironment="SLURM_JWT=«»" "CLUSTER=‹brackmoor›"\n'
    "ExecStart=/usr/sbin/slurmd --conf-server ‹ctl1.brackmoor.io›\n# /etc/systemd/system/docker.service\n[Service]\n"
    "Environment=HTTP_PROXY=http://p:«»@‹proxy.brackmoor.io›:3128\n"
)
ENVIRONMENT = {
    "HOME": "/root",
    "USER": "‹zoricanin›",
    "HF_TOKEN": "hf_«»",
    "SLURM_JOB_ACCOUNT": "‹reefsim›",
    "SLURM_JOB_NODELIST": "‹ashgrid›[07-08]",
    "MLFLOW_TRACKING_URI": "https://‹mlflow.brackmoor.io›",
    "MLFLOW_TRACKING_PASSWORD": "«»",
    "LD_LIBRARY_PATH": "/home/‹fjelstrup›/lib:/usr/lib",
    "HF_HOME": "/lustre/‹protfold›/hf",
    "NCCL_SOCKET_IFNAME": "eth0",
}  # fmt: skip
FACTS = (
    "iommu=pt", "amd_iommu=on", "root=/dev/sda1", "BOOT_IMAGE=/vmlinuz", "nvidia-container-runtime", "NVreg_RegistryDwords=PerfLevelSrc=0x2222",
    "NVIDIA_VISIBLE_DEVICES=all", "conda-forge", "timeout = 60", "/dev/nvidia[0-1]", "Type=h100", "data-root", "0000:c1:00.0", "eth0",
    "PCI:0000:05:00", "not responding, still trying", "nvidia-smi", "default-runtime", "GRUB_CMDLINE_LINUX_DEFAULT", "apiVersion: v1", "--gpus all",
)  # fmt: skip
"""What must be readable in the bundle."""
INCLUDED = "/srv/ticket"


class Site(NamedTuple):
    """Secrets and names that were planted."""

    secrets: tuple[str, ...]
    names: tuple[str, ...]


def planted(machine: Machine) -> Site:
    """Plants all of it in a machine; what was planted."""
    secrets: list[str] = []
    names: dict[str, None] = {}

    def plain(text: str) -> str:
        def secret(_: re.Match[str]) -> str:
            secrets.append(some(24))
            return secrets[-1]

        text = re.sub("«»", secret, text)
        names.update(dict.fromkeys(re.findall("‹([^›]*)›", text)))
        return text.replace("‹", "").replace("›", "")

    machine.files |= {path: plain(text) for path, text in FILES.items()}
    machine.environment |= {name: plain(text) for name, text in ENVIRONMENT.items()}
    for line in LOG:
        machine.log(plain(line))
    machine.cmdline += plain("iommu=pt rd.luks.key=«» nfsroot=‹nas-brack2›:/root").split()
    machine.commands["journalctl"] = Command({"*": plain(JOURNAL)})
    machine.commands["systemctl"] = Command({"*": plain(UNITS)})
    whole = [name.lower() for name in names]
    parts = ["brackmoor", "ashgrid", "fjelstrup"]
    return Site(tuple(secrets), tuple(dict.fromkeys([*whole, *parts])))


def left(things: tuple[str, ...], text: str) -> list[str]:
    """Those that are in the text: a secret by eight of its signs in a row, a name in any case."""
    low = text.lower()
    return [
        t
        for t in things
        if t.lower() in low or (len(t) == 24 and t.isalnum() and any(t[n : n + 8] in text for n in range(17)))
    ]
