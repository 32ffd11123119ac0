"""What stands in a name's place, what is a stand-in already, and which words are never taken for names."""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Callable

from doctor.redaction.lazy import Lazy

MADE = Lazy(
    r"(?:user|host|mail|group|project|site)-(?:[0-9a-f]{4}){1,2}(?:@example\.invalid|\.site-(?:[0-9a-f]{4}){1,2})?|serial-[0-9a-f]{6,8}|02:00:00(?::[0-9a-f]{2}){3}"
    r"|198\.1[89]\.\d{1,3}\.\d{1,3}|2001:db8::[0-9a-f]{1,4}:[0-9a-f]{1,4}"
)
"""Stand-ins of ours: what is redacted already stays as it is."""
COMMON = frozenset(
    (
        "root user users ubuntu docker nobody admin host hosts localhost render video default none unknown "
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
        "kube-node-lease gpu-operator monitoring ingress-nginx istio-system cert-manager normal batch debug long short high low"
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

# Eight digits: with four, two of some hundred names would share one, and which gets the next depends on the report.
STAND_IN: dict[str, Callable[[int], str]] = {
    "user": lambda n: f"user-{n & 0xFFFFFFFF:08x}",
    "host": lambda n: f"host-{n & 0xFFFFFFFF:08x}",
    "group": lambda n: f"group-{n & 0xFFFFFFFF:08x}",
    "project": lambda n: f"project-{n & 0xFFFFFFFF:08x}",
    "site": lambda n: f"site-{n & 0xFFFFFFFF:08x}",
    "serial": lambda n: f"serial-{n & 0xFFFFFFFF:08x}",
    "mail": lambda n: f"mail-{n & 0xFFFFFFFF:08x}@example.invalid",
    "mac": lambda n: f"02:00:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}",
    "ipv4": lambda n: f"198.{18 + (n >> 16 & 1)}.{n >> 8 & 255}.{n & 255}",  # RFC 2544: never routed
    "ipv6": lambda n: f"2001:db8::{n >> 16 & 0xFFFF:x}:{n & 0xFFFF:x}",  # RFC 3849: for documents
}
