"""Secrets of many kinds in many places, quoted and encoded in the usual ways: none is left. Look-alikes stay."""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable
from typing import Any
from urllib.parse import quote

import pytest

from doctor.bundle.private import redacted
from doctor.redaction import Redactor

_CHANCE = random.Random(4)


def _some(count: int, signs: str = string.ascii_letters + string.digits) -> str:
    """Random, with a digit, a capital and a small letter where the signs have them."""
    return "".join(_CHANCE.choice(signs) for _ in range(count))


_HEX = "0123456789abcdef"
_UPPER = string.ascii_uppercase + string.digits
SHAPED = {
    "hugging face": "hf_" + _some(34), "github classic": "ghp_" + _some(36), "github server": "ghs_" + _some(36),
    "github fine": "github_pat_" + _some(60), "gitlab": "glpat-" + _some(20), "gitlab runner": "glrt-" + _some(20),
    "openai": "sk-proj-" + _some(48), "anthropic": "sk-ant-api03-" + _some(60), "stripe": "sk_live_" + _some(24),
    "aws": "AKIA" + _some(16, _UPPER), "aws temporary": "ASIA" + _some(16, _UPPER), "google": "AIza" + _some(35),
    "google client": "GOCSPX-" + _some(28), "google oauth": "ya29." + _some(60), "slack": "xoxb-" + _some(40),
    "slack app": "xapp-1-" + _some(40), "nvidia": "nvapi-" + _some(60), "pypi": "pypi-AgEI" + _some(60),
    "npm": "npm_" + _some(36), "docker": "dckr_pat_" + _some(27), "vault": "hvs." + _some(24),
    "digitalocean": "dop_v1_" + _some(64, _HEX), "databricks": "dapi" + _some(32, _HEX), "replicate": "r8_" + _some(37),
    "groq": "gsk_" + _some(52), "xai": "xai-" + _some(80), "grafana": "glsa_" + _some(32), "notion": "ntn_" + _some(46),
    "sendgrid": "SG." + _some(22) + "." + _some(43), "mailgun": "key-" + _some(32, _HEX),
    "bitbucket": "ATBB" + _some(32), "tailscale": "tskey-auth-" + _some(30), "runpod": "rpa_" + _some(40),
    "jwt": f"eyJ{_some(20)}.eyJ{_some(40)}.{_some(43)}", "shopify": "shpat_" + _some(32, _HEX),
    "telegram": "123456789:AA" + _some(33), "linear": "lin_api_" + _some(40), "newrelic": "NRAK-" + _some(27, _UPPER),
}  # fmt: skip
NAMED = {
    name: _some(14) + "7xQ"
    for name in (
        "WANDB_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "CLIENT_SECRET", "clientSecret", "api-key", "AUTH_TOKEN",
        "SESSION_COOKIE", "AWS_SECRET_ACCESS_KEY", "AccountKey", "access_token", "passphrase", "SMTP_PASS", "private_key",
    )
}  # fmt: skip
ALL = {**SHAPED, **NAMED}

PLACES: dict[str, Callable[[str, str], str]] = {
    "assigned": lambda name, value: f"export {name}={value}",
    "quoted": lambda name, value: f"{name} = '{value}'",
    "json": lambda name, value: json.dumps({"a": 1, name: value, "b": 2}),
    "json in json": lambda name, value: json.dumps({"config": json.dumps({name: value})}),
    "yaml": lambda name, value: f"top:\n  {name}: {value}\n",
    "flag": lambda name, value: f"python serve.py --{name.lower().replace('_', '-')} {value} --port 80",
    "flag with sign": lambda name, value: f"serve --{name.lower().replace('_', '-')}={value} x",
    "argv": lambda name, value: json.dumps(["serve", f"--{name}", value]),
    "xml": lambda name, value: f"<a><{name}>{value}</{name}></a>",
    "nul": lambda name, value: f"A=1\0{name}={value}\0B=2\0",
    "kernel log": lambda name, value: f"[    0.0] Command line: root=/dev/sda1 {name}={value} quiet",
    "base64": lambda name, value: f"data: {base64.b64encode(f'{name}={value}'.encode()).decode()}",
    "percent": lambda name, value: f"GET /x?{quote(f'{name}={value}', safe='')}",
    "query": lambda name, value: f"GET https://h/x?a=1&{name}={value}&b=2",
}


@pytest.mark.parametrize("place", PLACES)
def test_no_planted_secret_is_left(place: str) -> None:
    left = []
    for name, value in ALL.items():
        planted = PLACES[place](name.replace(" ", "_"), value)
        clean = Redactor().text(planted)
        encoded = base64.b64encode(value.encode()).decode().rstrip("=")
        if value in clean or encoded in clean or (place == "base64" and planted == clean):
            left.append(name)
    assert not left


@pytest.mark.parametrize("kind", SHAPED)
def test_a_shape_alone_is_enough(kind: str) -> None:
    secret = SHAPED[kind]
    for text in (secret, f"x {secret} y", f'"{secret}"', f"a={secret};", quote(f"//{secret}", safe="")):
        assert secret not in Redactor().text(text)


ELSEWHERE = {
    "url": "https://me:s3cr3tPw@host/x", "url token": "https://s3cr3tPw@host/x", "redis": "redis://:s3cr3tPw@h:6379/0",
    "bearer": "Authorization: Bearer s3cr3tPw12345678", "basic": "curl -H 'Authorization: Basic s3cr3tPw12345678'",
    "cookie": "Set-Cookie: sid=s3cr3tPw; Path=/", "netrc": "machine h login me password s3cr3tPw",
    "curl": "curl -u me:s3cr3tPw http://x", "sshpass": "sshpass -p s3cr3tPw ssh x",
    "connection": "Server=x;User Id=y;Password=s3cr3tPw;", "pip": "index-url = https://me:s3cr3tPw@pypi.example/simple",
    "proxy": "HTTPS_PROXY=http://me:s3cr3tPw@proxy:3128", "pem": "-----BEGIN PRIVATE KEY-----\ns3cr3tPw\n-----END PRIVATE KEY-----",
    "cut pem": "-----BEGIN OPENSSH PRIVATE KEY-----\ns3cr3tPw", "docker": '{"auths": {"r": {"auth": "s3cr3tPw"}}}',
    "shadow": "me:$6$saltsalt$s3cr3tPws3cr3tPws3cr3tPw:19000:0", "header": "X-Api-Key: s3cr3tPw",
    "sas": "https://x/blob?sv=1&sig=s3cr3tPw", "escaped url": '"http:\\/\\/me:s3cr3tPw@h\\/x"',
}  # fmt: skip


@pytest.mark.parametrize("place", ELSEWHERE)
def test_places_that_hold_secrets(place: str) -> None:
    assert "s3cr3tPw" not in Redactor().text(ELSEWHERE[place])


HARMLESS = """
4f2c8d0f9e3b7a6c5d4e3f2a1b0c9d8e7f6a5b4c
sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
0000:c1:00.0
10de:2330
1002:74a1
gfx942
gfx90a:sramecc+:xnack-
gfx1100
sm_90
575.57.08
550.163.01
6.8.0-51-generic
5.14.0-427.13.1.el9_4.x86_64
12.4.1
2.6.0+rocm6.2.4
2.7.0a0+git1234567
nvidia-curand-cu12 10.3.5.147
nvidia_cublas_cu12-12.4.5.8.dist-info
nvidia-cublas-cu12==12.4.5.8
libcudart.so.12.4.127
libamdhip64.so.6.2.60204
"version": "10.3.5.147"
HIP_VISIBLE_DEVICES=0,1,2,3
CUDA_VISIBLE_DEVICES=0
HSA_OVERRIDE_GFX_VERSION=11.0.0
TOKENIZERS_PARALLELISM=false
MAX_TOKENS=4096
PYTORCH_HIP_ALLOC_CONF=expandable_segments:True
NCCL_SOCKET_IFNAME=eth0
ROCBLAS_USE_HIPBLASLT=1
VLLM_USE_TRITON_FLASH_ATTN=0
PATH=/usr/local/bin:/usr/bin:/opt/rocm/bin
PWD=/opt/rocm
SSH_AUTH_SOCK=/run/sock
efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c
NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  575.57.08  Release Build
NVIDIA H100 80GB HBM3
AMD Instinct MI300X OAM
Product Name: NVIDIA A100-SXM4-80GB
VBIOS Version : 96.00.74.00.01
VBIOS Version : 113-M3000100-102
iommu=pt amd_iommu=on pci=realloc=off
amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq=1, emitted seq=3
NVRM: Xid (PCI:0000:c1:00): 79, pid=1234, name=python, GPU has fallen off the bus.
[ 12.345678] amdgpu 0000:03:00.0: amdgpu: SMU is initialized successfully!
/dev/dri/renderD128
/dev/nvidia-caps/nvidia-cap1
crw-rw---- 1 root render 226, 128 Nov 21 12:00 /dev/dri/renderD128
gpu_id 51140
gfx_target_version 90402
uid=0(root) gid=0(root)
127.0.0.1
0.0.0.0
12:34:56
2026-11-21T12:34:56Z
nvidia-persistenced@1.service
git@github.com:ROCm/rocm.git
std::runtime_error: HIP error
c10::Error
torch.cuda.is_available()
NV18  SYS  NODE
PCIe Gen 5 x16 32.0 GT/s
--gpus all --device /dev/kfd --group-add video
auth: true
token_type: bearer
docker.io/rocm/pytorch:rocm6.2.4_ubuntu22.04_py3.10_pytorch_release_2.6.0
cp310-cp310-manylinux_2_28_x86_64.whl
Driver Version: 575.57.08  CUDA Version: 12.9
serial8250: ttyS0 at I/O 0x3f8
console=ttyS0,115200
blas_gemm_kernel_Cijk_Ailk_Bljk_HHS_BH_MT128x128x32
GemmTunableOp_BFloat16_TN,tn_4096_4096_4096,Gemm_Hipblaslt_1234,0.25
""".strip().splitlines()


@pytest.mark.parametrize("text", HARMLESS)
def test_look_alikes_survive(text: str) -> None:
    assert Redactor().text(text) == text


def test_enough_are_planted() -> None:
    assert len(ALL) * len(PLACES) >= 200
    assert len(ALL) >= 30
    assert len(HARMLESS) >= 60


def test_prefixes_of_gpu_ids_still_match() -> None:
    uuid = "GPU-8f2a1b3c-1234-5678-9abc-def012345678"
    redactor = Redactor()
    flags = redactor.data({"environment": {"CUDA_VISIBLE_DEVICES": "GPU-8f2a1,GPU-8f"}})["environment"]
    for prefix in flags["CUDA_VISIBLE_DEVICES"].split(","):
        assert redactor.text(uuid).startswith(prefix)
        assert not uuid.startswith(prefix)


def test_unique_ids_stay_one_gpu_in_decimal_and_hexadecimal() -> None:
    entries: dict[str, dict[str, Any]] = {
        "text:sys/class/kfd/kfd/topology/nodes/1/properties": {"state": "value", "value": f"unique_id {0xABCDEF0123456789}\n"},
        "text:sys/class/drm/card0/device/unique_id": {"state": "value", "value": "abcdef0123456789\n"},
        "environ": {"state": "value", "value": {"ROCR_VISIBLE_DEVICES": "GPU-abcdef0123456789"}},
    }  # fmt: skip
    kfd, drm, environ = (entry["value"] for entry in redacted(entries, Redactor())[0].values())
    stand_in = f"{int(kfd.split()[1]):016x}"
    assert stand_in == drm.strip() == environ["ROCR_VISIBLE_DEVICES"][4:] != "abcdef0123456789"


def test_names_addresses_and_serials_get_the_same_stand_in_everywhere() -> None:
    redactor = Redactor(users=["alice77"], hosts=["node17.example.org"])
    text = redactor.text("alice77@node17.example.org 10.1.2.3 aa:bb:cc:dd:ee:ff fe80::1 Serial Number : 1654922000123")
    for original in ("alice77", "node17", "10.1.2.3", "aa:bb", "fe80::1", "1654922000123"):
        assert original not in text
    assert redactor.text("ping 10.1.2.3") == redactor.text("ping 10.1.2.3")
    alice = redactor.text("alice77")
    assert redactor.text("/home/alice77/x on node17") == f"/home/{alice}/x on " + redactor.text("node17")
    assert alice == Redactor(users=["alice77"]).text("alice77") != Redactor(users=["alice77"], key=b"other").text("alice77")
