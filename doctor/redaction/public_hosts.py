"""Hosts that everybody knows and that say nothing of a site, and how a name of a host looks."""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from functools import lru_cache

from doctor.redaction.unknown import is_strange

PUBLIC = frozenset(
    (
        "pypi.org pythonhosted.org python.org pytorch.org nvidia.com nvidia.cn nvcr.io amd.com radeon.com rocm.dev github.com "
        "github.io githubusercontent.com githubassets.com ghcr.io gitlab.com bitbucket.org docker.com docker.io quay.io gcr.io "
        "k8s.io kubernetes.io pkg.dev anaconda.org anaconda.com conda.io conda-forge.org mamba.pm prefix.dev huggingface.co hf.co hf-mirror.com "
        "ubuntu.com canonical.com debian.org fedoraproject.org redhat.com centos.org rockylinux.org almalinux.org opensuse.org "
        "suse.com archlinux.org alpinelinux.org nixos.org kernel.org gnu.org google.com googleapis.com gstatic.com goo.gl "
        "microsoft.com windows.com azure.com mcr.microsoft.com apple.com openai.com anthropic.com wandb.ai mlflow.org "
        "tensorflow.org keras.io jax.dev paddlepaddle.org.cn baidubce.com modelscope.cn aliyun.com tuna.tsinghua.edu.cn "
        "ustc.edu.cn readthedocs.io readthedocs.org sourceforge.net stackoverflow.com stackexchange.com launchpad.net "
        "launchpadcontent.net apache.org cmake.org llvm.org intel.com mellanox.com openfabrics.org openucx.org open-mpi.org "
        "mpich.org npmjs.com npmjs.org nodejs.org crates.io rust-lang.org golang.org go.dev ietf.org w3.org json-schema.org "
        "opencontainers.org schema.org freedesktop.org x.org gnome.org kde.org systemd.io schedmd.com slurm.net ollama.com ollama.ai "
        "lmstudio.ai vllm.ai ray.io triton-lang.org arxiv.org wikipedia.org jsdelivr.net unpkg.com cloudflare.com "
        "letsencrypt.org mozilla.org aka.ms bit.ly discord.com slack.com telegram.org kaggle.com "
        "comet.com neptune.ai clear.ml terraform.io hashicorp.com grafana.com prometheus.io elastic.co postgresql.org "
        "mysql.com redis.io mongodb.com sqlite.org openssl.org openssh.com libreswan.org kubeflow.org "
        "helm.sh jetstack.io run.ai runpod.io lambdalabs.com vast.ai pci-ids.ucw.cz "
        "fsf.org fast.ai openmmlab.com deepspeed.ai lightning.ai gradio.app streamlit.io jupyter.org numpy.org scipy.org nips.cc "
        "osuosl.org ports.ubuntu.com rpmfusion.org elrepo.org cern.ch spack.io easybuild.io apptainer.org sylabs.io"
    ).split()
)
"""Domains: they and what is below them stay."""
OF_TENANTS = (
    "core.windows.net",
    "amazonaws.com",
    "ingest.sentry.io",
    "azurecr.io",
    "googleusercontent.com",
    "cloudfront.net",
    "mongodb.net",
)
"""Domains of clouds: what stands before them names a customer, they themselves nobody."""
NOT_HERE = (
    "localhost",
    "localdomain",
    "example.invalid",
    "host.docker.internal",
    "cluster.local",
    "in-addr.arpa",
    "ip6.arpa",
    "metadata.google.internal",
)
"""Names that mean no machine of a site."""
_ENDS = frozenset(
    (
        "com net org edu gov mil int io ai de fr uk eu ch at be nl dk se no fi es pt it pl cz sk hu ro bg gr ie is lt lv ee lu si hr rs ua "
        "ru by kz tr il ae sa in cn jp kr tw hk sg my th vn id ph au nz ca us mx br ar cl co za eg ng ke ma tn dev cloud tech online site xyz "
        "biz info example invalid corp lan intra intranet internal local localnet private hpc cluster"
    ).split()
)
_ALSO_WORDS = frozenset(
    "int at be no is it in my to id us me co so rs py sh pl md ps cc info local internal private cluster site dev test il ma th ph".split()
)
"""Ends that are also words or endings of files and methods: only a name of three parts with a digit or dash counts."""
_ENDINGS = frozenset(("rs", "sh", "py", "pl", "md", "cc", "ps", "so"))
"""Of files."""
SECOND_LEVELS = ("ac", "co", "gov", "edu", "res", "com", "org", "net", "or", "go")
"""Below a country's end, the level at which nobody is named yet."""


@lru_cache(maxsize=4096)
def is_public(host: str) -> bool:
    """Whether a name is of a public host."""
    low = host.lower().strip(".")
    if low in NOT_HERE or low.endswith(tuple(f".{name}" for name in NOT_HERE)):
        return True
    labels = low.split(".")
    return any(".".join(labels[n:]) in PUBLIC for n in range(len(labels)))


@lru_cache(maxsize=4096)
def is_host(name: str, *, firm: str = "") -> bool:
    """Whether a dotted name can hardly be anything but a host's: by its end; `firm` where a path or a port follows."""
    labels = name.lower().split(".")
    if labels[-1] not in _ENDS or any(
        not label or label[0] == "-" or label[-1] == "-" or "_" in label for label in labels
    ):
        return False
    if labels[-1] in _ALSO_WORDS:
        second = labels[-2] in SECOND_LEVELS
        if len(labels) == 2:
            return labels[-1] in ("local", "internal", "cluster", "private") and is_strange(labels[0])
        return (
            second
            or (firm == "/" or (firm and labels[-1] not in _ENDINGS))
            or any("-" in x or any(c.isdigit() for c in x) for x in labels[:-1])
        )
    if len(labels) == 2:
        return len(labels[0]) > 3 and not labels[0].isdigit()
    return not all(label.isdigit() for label in labels[:-1])
