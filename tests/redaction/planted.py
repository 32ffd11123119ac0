"""What is planted: secrets of many kinds, the ways in which they are quoted and encoded, and what only looks like one."""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import base64
import json
import random
import shlex
import string
from collections.abc import Callable
from urllib.parse import quote

_CHANCE = random.Random(4)
_HEX = "0123456789abcdef"
_LOWER = string.ascii_lowercase + string.digits
_UPPER = string.ascii_uppercase + string.digits
_URLSAFE = string.ascii_letters + string.digits + "-_"
_BASE64 = string.ascii_letters + string.digits + "+/"


def some(count: int, signs: str = string.ascii_letters + string.digits) -> str:
    """Random, and of every sort of sign that there is: a digit, a capital and a small letter."""
    while True:
        made = "".join(_CHANCE.choice(signs) for _ in range(count))
        if made[0].isalnum() and made[-1].isalnum() and any(map(str.isdigit, made)):
            return made


def uuid() -> str:
    return "-".join(some(n, _HEX) for n in (8, 4, 4, 4, 12))


def pem(kind: str, lines: int = 6) -> str:
    body = "\n".join(some(64, _BASE64) for _ in range(lines))
    return f"-----BEGIN {kind}-----\n{body}\n{some(30)}=\n-----END {kind}-----"


SHAPED = {
    "hugging face": "hf_" + some(34), "hugging face org": "api_org_" + some(34), "github classic": "ghp_" + some(36), "github oauth": "gho_" + some(36),
    "github user": "ghu_" + some(36), "github server": "ghs_" + some(36), "github refresh": "ghr_" + some(36), "github fine": "github_pat_" + some(22) + "_" + some(59),
    **{f"gitlab {p}": f"gl{p}-" + some(20) for p in ("pat", "oas", "ldt", "rt", "cbt", "ptt", "ft", "imt", "agent", "soat", "ffct", "dt")},
    "openai project": "sk-proj-" + some(48), "openai": "sk-" + some(48), "openai service": "sk-svcacct-" + some(60), "anthropic": "sk-ant-api03-" + some(90) + "AA",
    "openrouter": "sk-or-v1-" + some(64, _HEX), "stripe": "sk_live_" + some(24), "stripe restricted": "rk_live_" + some(24), "stripe webhook": "whsec_" + some(32),
    "aws": "AKIA" + some(16, _UPPER), "aws temporary": "ASIA" + some(16, _UPPER), "google": "AIza" + some(35), "google client": "GOCSPX-" + some(28), "google oauth": "ya29." + some(60),
    "google refresh": "1//0" + some(60), "azure client": some(3) + "8Q~" + some(34), "azure storage": some(86, _BASE64) + "==", "slack bot": "xoxb-" + some(12, string.digits) + "-" + some(24), "slack user": "xoxp-" + some(40),
    "slack app": "xapp-1-" + some(40), "slack webhook": "https://hooks.slack.com/services/T" + some(8, _UPPER) + "/B" + some(8, _UPPER) + "/" + some(24), "discord bot": "M" + some(23) + "." + some(6) + "." + some(30),
    "discord webhook": "https://discord.com/api/webhooks/" + some(18, string.digits) + "/" + some(60), "teams webhook": "https://contoso.webhook.office.com/webhookb2/" + uuid() + "@" + uuid() + "/IncomingWebhook/" + some(32, _HEX) + "/" + uuid(),
    "nvidia": "nvapi-" + some(60), "pypi": "pypi-AgEI" + some(60), "npm": "npm_" + some(36), "rubygems": "rubygems_" + some(48, _HEX), "docker": "dckr_pat_" + some(27), "vault": "hvs." + some(24), "vault batch": "hvb." + some(100),
    "digitalocean": "dop_v1_" + some(64, _HEX), "databricks": "dapi" + some(32, _HEX), "replicate": "r8_" + some(37), "groq": "gsk_" + some(52), "xai": "xai-" + some(80), "perplexity": "pplx-" + some(48), "grafana": "glsa_" + some(32) + "_" + some(8, _HEX),
    "grafana cloud": "glc_" + some(60), "notion": "ntn_" + some(46), "sendgrid": "SG." + some(22) + "." + some(43), "mailgun": "key-" + some(32, _HEX), "mailchimp": some(32, _HEX) + "-us12", "bitbucket": "ATBB" + some(32), "atlassian": "ATATT3" + some(180),
    "tailscale": "tskey-auth-" + some(12) + "-" + some(32), "runpod": "rpa_" + some(40), "jwt": f"eyJ{some(20)}.eyJ{some(40)}.{some(43)}", "shopify": "shpat_" + some(32, _HEX), "telegram": "123456789:AA" + some(33), "linear": "lin_api_" + some(40),
    "newrelic": "NRAK-" + some(27, _UPPER), "postman": "PMAK-" + some(24, _HEX) + "-" + some(34, _HEX), "figma": "figd_" + some(40), "sentry": "sntrys_" + some(80), "supabase": "sbp_" + some(40, _HEX), "pulumi": "pul-" + some(40, _HEX), "alibaba": "LTAI" + some(20),
    "tencent": "AKID" + some(32), "twilio": "SK" + some(32, _HEX), "terraform": some(14) + ".atlasv1." + some(64), "heroku": "HRKU-" + some(50), "artifactory": "AKCp" + some(69), "planetscale": "pscale_tkn_" + some(43), "doppler": "dp.pt." + some(43), "square": "sq0atp-" + some(22),
    "age": "AGE-SECRET-KEY-1" + some(58, _UPPER), "openshift": "sha256~" + some(43), "circleci": "CCIPAT_" + some(22) + "_" + some(40, _HEX), "sonar": "squ_" + some(40, _HEX), "netlify": "nfp_" + some(36), "pinecone": "pcsk_" + some(60), "langsmith": "lsv2_pt_" + some(32, _HEX) + "_" + some(10, _HEX),
    "airtable": "pat" + some(14) + "." + some(64, _HEX), "wandb": "wandb_v1_" + some(60), "brevo": "xkeysib-" + some(64, _HEX) + "-" + some(16), "launchdarkly": "sdk-" + uuid(), "dropbox": "sl." + some(130), "k3s": "K10" + some(64, _HEX) + "::server:" + some(32, _HEX),
    "crypt": "$6$" + some(12) + "$" + some(86), "yescrypt": "$y$j9T$" + some(22) + "$" + some(43), "apr1": "$apr1$" + some(8) + "$" + some(22), "bcrypt": "$2b$12$" + some(53), "ldap hash": "{SSHA}" + some(32),
    "dynatrace": "dt0c01." + some(24, _UPPER) + "." + some(64, _UPPER), "snyk": "snyk_uat." + some(8, _HEX) + "." + some(60), "scaleway": "SCW" + some(17, _UPPER), "octopus": "API-" + some(26, _UPPER), "flutterwave": "FLWSECK-" + some(32, _HEX) + "-X",
    "harness": "pat." + some(22) + "." + some(24, _HEX) + "." + some(20), "azure ai": some(52) + "JQQJ99BACACYeBjFXJ3w3AAA" + some(6), "sourcegraph": "sgp_" + some(16, _HEX) + "_" + some(40, _HEX), "mapbox": "sk.eyJ" + some(60) + "." + some(22),
    "aws session": "IQoJb3JpZ2luX2Vj" + some(200), "gcs": "GOOG1E" + some(55, _UPPER), "baidu": "bce-v3/ALTAK-" + some(21) + "/" + some(40, _HEX), "volcengine": "AKLT" + some(43), "swarm": "SWMTKN-1-" + some(50, _LOWER) + "-" + some(25, _LOWER),
    "swarm unlock": "SWMKEY-1-" + some(43), "infisical": "st." + some(24, _HEX) + "." + some(32, _HEX) + "." + some(32, _HEX), "kaggle": "KGAT_" + some(32, _HEX), "langchain": "ls__" + some(32, _HEX), "elevenlabs": "sk_" + some(48, _HEX),
    "aiven": "AVNS_" + some(19), "nebius": "v1.CmQK" + some(140) + "." + some(60), "cloudflare tunnel": "eyJhIjoi" + some(120), "readme": "rdme_" + some(70, _HEX), "intra42": "s-s4t2ud-" + some(64, _HEX), "maxmind": some(6) + "_" + some(29) + "_mmk",
}  # fmt: skip
"""Known by their shape alone."""
NAMED = {
    name: some(14) + "7xQ"
    for name in (
        "WANDB_API_KEY", "DB_PASSWORD", "PGPASSWORD", "MYSQL_PWD", "CLIENT_SECRET", "clientSecret", "api-key", "AUTH_TOKEN",
        "SESSION_COOKIE", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AccountKey", "access_token", "passphrase", "SMTP_PASS", "private_key",
        "MUNGE_KEY", "PresharedKey", "NGC_API_KEY", "NEPTUNE_API_TOKEN", "COMET_API_KEY", "CLEARML_API_SECRET_KEY", "MLFLOW_TRACKING_PASSWORD",
        "MLFLOW_TRACKING_TOKEN", "DATABRICKS_TOKEN", "VAULT_TOKEN", "KAGGLE_KEY", "AZURE_STORAGE_KEY", "AZURE_CLIENT_SECRET", "OPENAI_API_KEY", "COHERE_API_KEY",
        "DD_API_KEY", "SNOWFLAKE_PASSWORD", "REDIS_PASSWORD", "RABBITMQ_DEFAULT_PASS", "MINIO_ROOT_PASSWORD", "JUPYTER_TOKEN", "GRAFANA_ADMIN_PASSWORD",
        "_authToken", "identitytoken", "client-key-data", "StoragePass", "SharedAccessKey", "aws_secret_access_key", "bind_pw", "encryption_key", "license_key",
        "TS_AUTHKEY", "LINODE_TOKEN", "SLURM_JWT", "DJANGO_SECRET_KEY", "signing_key", "X-Api-Key", "keystorePassword", "JWT_SECRET", "csrf_token",
    )
}  # fmt: skip
"""Known by the name before them."""
PEMS = {
    kind: pem(kind)
    for kind in (
        "PRIVATE KEY", "RSA PRIVATE KEY", "EC PRIVATE KEY", "DSA PRIVATE KEY", "ENCRYPTED PRIVATE KEY", "OPENSSH PRIVATE KEY", "PGP PRIVATE KEY BLOCK",
    )
}  # fmt: skip
ALL = {**SHAPED, **NAMED}


def _shifted(shift: int) -> Callable[[str, str], str]:
    return lambda name, value: "blob: " + base64.b64encode(f"{'#' * shift}{name}={value};".encode()).decode()


PLACES: dict[str, Callable[[str, str], str]] = {
    "assigned": lambda name, value: f"export {name}={value}",
    "quoted": lambda name, value: f"{name} = '{value}'",
    "shell quoted": lambda name, value: f"env {shlex.quote(f'{name}={value}')} python train.py",
    "json": lambda name, value: json.dumps({"a": 1, name: value, "b": 2}),
    "json in json": lambda name, value: json.dumps({"config": json.dumps({name: value})}),
    "json three deep": lambda name, value: json.dumps({"a": json.dumps({"b": json.dumps({name: value})})}),
    "json lines": lambda name, value: json.dumps({"log": f"start\n{name}={value}\nend"}),
    "yaml": lambda name, value: f"top:\n  {name}: {value}\n",
    "name and value": lambda name, value: json.dumps({"env": [{"name": name, "value": value}]}),
    "name and value in yaml": lambda name, value: f"env:\n  - name: {name}\n    value: {value}\n",
    "docker inspect": lambda name, value: json.dumps([{"Config": {"Env": ["PATH=/bin", f"{name}={value}"]}}], indent=4),
    "unit": lambda name, value: f'[Service]\nEnvironment="{name}={value}" "A=b"\n',
    "dockerfile": lambda name, value: f"ENV {name}={value}\n",
    "flag": lambda name, value: f"python serve.py --{name.lower().replace('_', '-').lstrip('-')} {value} --port 80",
    "flag with sign": lambda name, value: f"serve --{name.lower().replace('_', '-').lstrip('-')}={value} x",
    "argv": lambda name, value: json.dumps(["serve", f"--{name}", value]),
    "xml": lambda name, value: f"<a><{name}>{value}</{name}></a>",
    "nul": lambda name, value: f"A=1\0{name}={value}\0B=2\0",
    "kernel log": lambda name, value: f"[    0.0] Command line: root=/dev/sda1 {name}={value} quiet",
    "coloured": lambda name, value: f"\x1b[32m{name}={value}\x1b[0m",
    "base64": _shifted(0),
    "base64, second": _shifted(1),
    "base64, third": _shifted(2),
    "base64 in lines": lambda name, value: base64.encodebytes(
        (f"{'# settings' * 8}\n{name}={value}\n" * 2).encode()
    ).decode(),
    "base64 of utf-16": lambda name, value: (
        "powershell -enc " + base64.b64encode(f"$env:{name}='{value}'".encode("utf-16-le")).decode()
    ),
    "percent": lambda name, value: f"GET /x?{quote(f'{name}={value}', safe='')}",
    "percent twice": lambda name, value: f"GET /x?{quote(quote(f'{name}={value}', safe=''), safe='')}",
    "query": lambda name, value: f"GET https://h/x?a=1&{name}={value}&b=2",
    "unicode escapes": lambda name, value: "".join(f"\\u{ord(c):04x}" for c in f"{name}={value}"),
    "hexadecimal": lambda name, value: f"payload {f'{name}={value}'.encode().hex()} end",
}


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
commit 3b5d5c3712955042212316173ccf37be800d0c1a
IMAGE_DIGEST=sha256:2c26b46b68ffc68ff99b453c1d30413413422d706483bfa0f98a5e886266e7ae
rocm/vllm@sha256:fcde2b2edba56bf408601fb721fe9b5c338d10ee429ea04fae5511b68fbf8fb9
options nvidia NVreg_RestrictProfilingToAdminUsers=0 NVreg_EnableGpuFirmware=1
options amdgpu ip_block_mask=0xff vm_fragment_size=9
HSA_FORCE_FINE_GRAIN_PCIE=1 HSA_NO_SCRATCH_RECLAIM=1 HSA_XNACK=1
--model meta-llama/Llama-3.1-70B-Instruct --tensor-parallel-size 8
model_id: mistralai/Mixtral-8x7B-Instruct-v0.1
eos_token_id: 128001
"bos_token": "<|begin_of_text|>"
max_num_batched_tokens=8192
num_key_value_heads: 8
x86/PAT: Configuration [0-7]: WB  WC  UC- UC  WB  WP  UC- WT
integrity: Loaded X.509 cert 'Build time autogenerated kernel key: 4c77d19d3c96e4402a42fd14fd71121f522597b2'
sig_id:         PKCS#7
sig_hashalgo:   sha512
pam_unix(sshd:session): session opened for user root(uid=0) by (uid=0)
systemd-ask-password-console.service: Deactivated successfully.
2026-11-21 12:00:00 status installed libsecret-1-0:amd64 0.20.5-3
passwd\t1:4.13+dfsg1-1+deb12u1\tii
python3-keyring 23.9.3-2
Cijk_Ailk_Bljk_BBS_BH_Bias_HAS_SAV_UserArgs_MT256x256x64_MI16x16x1_SN_LDSB1_AFC1_AFEM1_ASEM1_CLR1_CADS0
_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEENS_6detail5ArrayIPcLi3EEEEEviT0_T1_
TRITON_CACHE_DIR=/workspace/.triton/cache
AWS_WEB_IDENTITY_TOKEN_FILE=/var/run/secrets/eks.amazonaws.com/serviceaccount/token
HF_TOKEN_PATH=/data/hf/token
MIOPEN_FIND_MODE=NORMAL
NVIDIA_REQUIRE_CUDA=cuda>=12.4 brand=tesla,driver>=470,driver<471
NV_CUDNN_PACKAGE=libcudnn9-cuda-12=9.1.0.70-1
PCI: 0000:c1:00.0 [10de:2330] rev a1, class 0302
LnkSta: Speed 32GT/s, Width x16
GPU[0]\t\t: Unique PCIe bus: 0000:C1:00.0
torch-2.10.0+rocm7.2.0.gitb2fb6885-cp312-cp312-linux_x86_64.whl
amdgpu-dkms/6.14.14.30100303-2193512.24.04, 6.8.0-51-generic, x86_64: installed
srcversion:     533BB7E5866E52F63B9ACCB
vermagic:       6.8.0-51-generic SMP preempt mod_unload modversions
tokens/s: 1234.5, time to first token: 0.035
kernel_ZN7rocblas6kernelIDF16EE gfx942_MT128x128x32MI16x16x1SN1LDSB1 build-20240612T101112Z
chat_template_kwargs systemd-private-0123456789abcdef0123456789abcdef-chrony.service-AbC123
key_padding_mask=None, is_causal=False
NCCL_IB_HCA=mlx5_0:1,mlx5_1:1
SLURM_JOB_ID=1234567
container 3f4e5d6c7b8a9f0e1d2c3b4a5f6e7d8c9b0a1f2e3d4c5b6a7f8e9d0c1b2a3f4e
layer /var/lib/docker/overlay2/9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c4d3e2f1a0b9c8d7e6f5a4b3c2d1e0f9a8b/diff
""".strip().splitlines()


def forms(value: str) -> list[bytes]:
    """A value as it may stand in bytes: plain, in JSON, in a URL, in hexadecimal, in base64 at each alignment."""
    raw = value.encode()
    told = [raw, json.dumps(value)[1:-1].encode(), quote(value, safe="").encode(), raw.hex().encode()]
    for shift in range(3):
        whole = base64.b64encode(b"\0" * shift + raw + b"\0\0")
        told += [whole[4 if shift else 0 : -6], whole[4 if shift else 0 : -6].replace(b"+", b"-").replace(b"/", b"_")]
    return told


SAMPLE = "Zq8vT3kP0sLw9Yb2"
WRITTEN = [
 "password: correct horse battery {S}", "password = my pass {S} word", "export DB_PASSWORD='it'\\''s {S}'",
 'DB_PASSWORD="a\\"b {S}"', json.dumps({"password":'ab"cd {S}'}), json.dumps({"c":json.dumps({"password":'ab"cd {S}'})}),
 json.dumps({"c":json.dumps({"d":json.dumps({"password":'ab"cd\\ {S}'})})}),
 "PASSWORD=$'{S}'", "{'password': b'{S}'}", "password: |\n    line\n    {S}\n  other: x", "password: >-\n  {S}\n",
 "passwords:\n  - abc\n  - {S}\n", '{"tokens_api_keys": 1, "api_keys": ["abc", "{S}"]}',
 '{"name": "DB_PASSWORD", "value": "{S}"}', "- name: DB_PASSWORD\n  value: {S}\n", '{"value":"{S}","name":"API_TOKEN"}',
 '<add key="DbPassword" value="{S}"/>', "<property><name>db.password</name><value>{S}</value></property>",
 '"Env": ["PATH=/bin", "DB_PASSWORD=correct horse {S}"]', '["--password=correct horse {S}"]', '["--password", "correct horse {S}"]',
 "mysql -u root -p{S} db", "mysql -uroot --password={S}", "docker login -u me -p {S} reg", "sshpass -p'{S}' ssh h", "curl -u me:{S} https://h",
 "curl --user 'me:{S}' https://h","ipmitool -I lanplus -H 10.0.0.1 -U admin -P {S} power status", "redis-cli -a {S} ping", "ldapsearch -x -w {S} -D cn=x",
 "smbclient //h/s -U me%{S}", "openssl rsa -passin pass:{S}", "echo {S} | sudo -S ls", "echo '{S}' | docker login --password-stdin",
 "echo root:{S} | chpasswd", "kubectl create secret generic x --from-literal=db={S}", "htpasswd -b f me {S}", "snmpwalk -v2c -c {S} h",
 "machine h\n  login me\n  password {S}\n", "machine h password {S} login me", "default login me password {S}",
 "requirepass {S}", "masterauth {S}", "aws configure set aws_secret_access_key {S}{S}", "ALTER USER x WITH PASSWORD '{S}'", "IDENTIFIED BY '{S}'",
 "API key: {S}", "Secret Access Key: {S}", "your password is {S}", "access token = {S}",
 "postgres://u:p@{S}@h:5432/db", "postgres://u:pa/{S}@h:5432/db", "postgres://u:p#{S}@h/db", "mongodb+srv://u:{S}@h1,h2/db?x", "redis://:{S}@h", "amqp://u:{S}@h/v",
 "jdbc:mysql://h/db?user=u&password={S}", "jdbc:oracle:thin:scott/{S}@h:1521:x", "Driver=x;UID=sa;PWD={S};", "Server=h;Pwd={ab;{S}};", "u:{S}@tcp(h:3306)/db",
 "DefaultEndpointsProtocol=https;AccountName=x;AccountKey={S}{S}==;EndpointSuffix=core", "https://x.blob.core.windows.net/c?sv=2020&sig={S}%3D", "SharedAccessKey={S}=",
 "https://{S}{S}@o123.ingest.sentry.io/45", "Cookie: sid={S}; other={S}", "Set-Cookie: a={S}; Path=/", "curl -H 'Cookie: sid={S}'", '"Authorization": "Bearer {S}{S}"',
 'Authorization: Digest username="x", response="{S}"', "PRIVATE-TOKEN: {S}", "X-Vault-Token: {S}", "X-Api-Key: {S}", "apikey: {S}", "Ocp-Apim-Subscription-Key: {S}",
 "//registry.npmjs.org/:_authToken={S}", "_auth = {S}==", "PrivateKey = {S}{S}abcdefghij=", "PresharedKey = {S}{S}=", "password={S}\\n", '"x\\npassword={S}\\ny"', '"a\\ntoken={S}"',
 "\x1b[32mtoken={S}\x1b[0m", "mount -o username=x,password={S},uid=0", "StoragePass={S}", "AccountingStoragePass={S}", "ldap_bind_pw: {S}", "bindpw {S}", "rocommunity {S}",
 "clientSecret: {S}", "client_secret={S}&grant=x", "?api_key={S}&x=1", "&access_token={S}", "GET /x?token={S} HTTP/1.1",
 "--api-key {S}", "--token={S}", "--hf-token '{S}'", "-password {S}", "/p:{S}", "xfreerdp /u:x /p:{S}",
 "DATABASE_URL=postgres://u:{S}@h/d", "HTTPS_PROXY=http://me:{S}@proxy:3128", "proxy = http://me:{S}@proxy:3128", "http.proxy=me:{S}@h",
 "MUNGE_KEY={S}", "ENCRYPTION_KEY={S}", "SOME_RANDOM_KEY={S}", "MY_FLAG={S}xY9", "--some-flag {S}Xy9a", "--some-flag={S}Xy9a",
 "kind: Secret\ndata:\n  username: {S}\n  other: abc\n", '{"kind":"Secret","data":{"x":"{S}"}}',
 "wandb login 0123456789abcdef0123456789abcdef01234567", "s3cmd secret_key = {S}", "aws_secret_access_key = {S}/{S}+abc", "[default]\naws_secret_access_key={S}/a+b\naws_session_token={S}\n",
 "user = x\npassword = {S}\n", "channels:\n  - https://conda.anaconda.org/t/ab-{S}/chan\n", "index-url = https://__token__:{S}@h/simple", "machine api.wandb.ai\n\tlogin user\n\tpassword {S}",
 "psk=\"{S}\"", "wpa_passphrase ssid {S}", "%any : PSK \"{S}\"", "password {S}", "token {S}", "set token {S}", "passwd={S}", "pass: {S}", "pw={S}", "secret={S}", "auth={S}", '{"auth":"{S}"}',
 "spring.datasource.password={S}", "db.password: {S}", "config[\"password\"] = \"{S}\"", "config['api_key']='{S}'", "os.environ['TOKEN']='{S}'", "os.environ[\"HF_TOKEN\"] = \"{S}\"", "setenv TOKEN {S}", "set PASSWORD {S}", "ENV API_TOKEN {S}", "ARG TOKEN={S}",
 "SecretKey={S}", "secretKey = {S}", "api.secret_key: {S}", "\"secret_key\" = \"{S}\"", "NEPTUNE_API_TOKEN={S}", "CLEARML_API_SECRET_KEY={S}", "api { credentials { \"secret_key\" = \"{S}\" } }",
 "psql \"host=h password={S} user=x\"", "Environment=\"HF_TOKEN={S}\" \"A=b\"", "Environment=HF_TOKEN={S} A=b", "Environment='DB_PASSWORD=a b {S}'", "ExecStart=/usr/bin/x --password {S} --port 80",
 "PASSWORD='{S}", 'token="{S}', "password:{S}", "password :{S}", "password=>'{S}'", ":password => \"{S}\"", "password := \"{S}\"", "<password>{S}</password>", "<Password Type='x'>{S}</Password>", "password&#61;{S}", "password%3D{S}", "PASSWORD\t=\t{S}", "password..........: {S}" , "Password              : {S}", "| password | {S} |",
 "git clone https://oauth2:{S}@gitlab.com/x", "https://user:{S}@h:8080/path?x=1", "ftp://u:{S}@h", "ssh://u:{S}@h", "//u:{S}@h/share", "smb://dom;u:{S}@h/s", "rtsp://u:{S}@cam", "socks5://u:{S}@h:1",
 "0:password={S}", "argv: ['x', '--token', '{S}']", "('--password', '{S}')", "cmd=[\"sh\",\"-c\",\"export TOKEN={S}; run\"]", "sh -c \"TOKEN={S} run\"", "env TOKEN={S} PASS={S} run",
 "--password\x00{S}\x00--x", "mysql\x00-p{S}\x00db", "curl\x00-u\x00me:{S}\x00h", "A=1\x00DB_PASSWORD=a b {S}\x00C=2",
]  # fmt: skip
"""As people, shells, tools and libraries write them; `{S}` is the secret."""
WRITTEN += [
    "posted with phx_{S}rYkPvdRHUNL9yf4",
    "posted with duffel_live_{S}e6bsBu4R",
    "posted with aio_{S}zqx2T4Rc",
    "posted with newhost-{S}r4Tz",
    "wandb login --relogin --host https://w d3aee51054ef7616a332c17c49000254a6d70cb9",
    "mc alias set m https://h AK1234567890 {S}",
    "rclone obscure {S}",
    "printf '%s' '{S}' | docker login --password-stdin -u u",
    "expect -c 'spawn ssh h; send \"{S}\\r\"'",
    "http -a me:{S} h",
    "rabbitmqctl add_user me {S}",
    '"Test": ["CMD", "curl", "-u", "me:{S}", "h"]',
    'type=EXECVE a0="curl" a1="-u" a2="me:{S}"',
    "args:\n- --token\n- {S}\n",
    "Environment=MYCREDS={S}",
    "cryptsetup luksOpen x y <<< {S}",
    "echo {S} | kinit me",
    "net ads join -U a%{S}",
    "cloudflared service install {S}",
    "requests.get(u, auth=HTTPBasicAuth('me', '{S}'))",
    "basic_auth_users:\n  me: {S}\n",
    "curl https://api.telegram.org/bot123456789:AA{S}xxxxxxxxxxxxxxxxxx/send",
    "Set it: connect.sid={S}",
    "PGPASSFILE=/x PGPASSWORD={S} psql",
    "export AWS_SECRET_ACCESS_KEY={S}/{S}+{S}",
    '  "secretAccessKey" : "{S}/{S}"',
    "aws_access_key_id = x\naws_secret_access_key = {S}/+{S}",
    "hf auth login --token hf_abcdefghijklmnopqrstuvwxyz{S}",
    "huggingface-cli login --token {S}",
    'HUGGING_FACE_HUB_TOKEN: "{S}"',
    "wandb_api_key: {S}",
    "NGC_CLI_API_KEY={S}",
    "ngc config set apikey {S}",
    "docker login nvcr.io -u '$oauthtoken' -p {S}",
    'echo "{S}" | docker login -u x --password-stdin nvcr.io',
    '{"auths":{"nvcr.io":{"auth":"JG9hdXRodG9rZW46{S}"}}}',
    "Authorization: token {S}{S}",
    'curl -H "Authorization: Bearer {S}" https://api',
    'curl -H "PRIVATE-TOKEN:{S}" x',
    'curl --header "X-Auth-Token: {S}" x',
    "curl -H 'apikey: {S}'",
    '-H "cookie: session={S}"',
    'curl -b "session={S}" x',
    "curl --cookie sid={S} x",
    'curl -d "password={S}&u=x" https://h',
    "curl -F token={S} h",
    "curl --proxy-user me:{S} h",
    "curl -x http://me:{S}@p:1 h",
    "wget --password={S} h",
    "wget --http-password {S} h",
    'git -c http.extraHeader="Authorization: Basic {S}{S}" clone x',
    "url = https://me:{S}@github.com/x.git",
    "[credential]\n\thelper = store\nhttps://me:{S}@github.com",
    "machine github.com login me password {S}",
    "//npm.pkg.github.com/:_authToken={S}",
    "_password={S}",
    "registry=https://x/\n_auth={S}",
    "[pypi]\nusername = __token__\npassword = {S}",
    "[global]\nextra-index-url = https://u:{S}@h/simple\n",
    "channel_alias: https://u:{S}@h\n",
    "repository.password={S}",
    "proxy_servers:\n  http: http://u:{S}@h:1\n",
    "anaconda_token: {S}",
    "spark.hadoop.fs.s3a.secret.key {S}",
    "spark.hadoop.fs.s3a.secret.key={S}",
    "fs.s3a.access.key={S}",
    "javax.net.ssl.keyStorePassword={S}",
    "-Djavax.net.ssl.keyStorePassword={S}",
    'sasl.jaas.config=x required username="u" password="{S}";',
    "bootstrap.servers=x;sasl.password={S}",
    '"connectionString":"Server=x;Password={S};"',
    'Data Source=x;User ID=y;Password="{S}"',
    "Endpoint=sb://x/;SharedAccessKeyName=Root;SharedAccessKey={S}=",
    "DefaultEndpointsProtocol=https;AccountKey={S}==",
    "BlobEndpoint=https://x;SharedAccessSignature=sv=2020&sig={S}",
    "https://x?sv=1&se=2&sp=r&sig={S}%2B{S}%3D",
    "mysql://u:{S}@h/db",
    "mysql+pymysql://u:{S}@h/db",
    "postgresql+psycopg2://u:{S}@h/db",
    "mssql+pyodbc://u:{S}@dsn",
    "clickhouse://default:{S}@h",
    "rediss://default:{S}@h:6380",
    "mongodb://u:{S}@h1:27017,h2:27017/?replicaSet=x",
    "amqps://u:{S}@h",
    "kafka://u:{S}@h",
    "nats://u:{S}@h",
    "ldap://cn=x:{S}@h",
    "smtp://u:{S}@h:587",
    "sftp://u:{S}@h",
    "snowflake://u:{S}@acc/db",
    "bolt://neo4j:{S}@h",
    "s3://{S}{S}:x@bucket",
    "mlflow://u:{S}@h",
    "MLFLOW_TRACKING_URI=https://u:{S}@h",
    "CELERY_BROKER_URL=redis://:{S}@h/0",
    "SENTRY_DSN=https://{S}{S}@o1.ingest.sentry.io/2",
    "DSN=u:{S}@tcp(h)/d",
    "kernel: Command line: BOOT_IMAGE=/x root=/dev/y api_token={S} ro",
    "Command line: ... iscsi_password={S}",
    "cifs: mount password={S}",
    "cloud-init: password: {S}",
    'chpasswd: {expire: false, list: "root:{S}"}',
    "ds=nocloud-net;s=http://u:{S}@h/",
    "rd.luks.key={S}",
    "rootpw --plaintext {S}",
    "rootpw {S}",
    "user --name=x --password={S}",
    'wpa-psk "{S}"',
    "wpa-psk {S}",
    "key_mgmt=WPA-PSK\npsk={S}",
    "[Interface]\nPrivateKey = {S}{S}{S}=",
    "[Peer]\nPresharedKey = {S}{S}{S}=",
    'secret "{S}";',
    'key "rndc-key" { algorithm hmac-sha256; secret "{S}=="; };',
    "enable secret 5 {S}",
    "snmp-server community {S} RO",
    "rwcommunity {S} default",
    'createUser me SHA "{S}" AES',
    "com2sec local default {S}",
    "authpass {S}",
    "auth_pass {S}",
    "stats auth admin:{S}",
    'requirepass "{S}"',
    "ALTER ROLE x PASSWORD '{S}'",
    "CREATE USER x IDENTIFIED WITH mysql_native_password BY '{S}'",
    "SET PASSWORD = '{S}'",
    "password_hash: {S}",
    "db_pass={S}",
    "dbpass = {S}",
    "dbPassword: {S}",
    "DB_PASS: {S}",
    "MYSQL_ROOT_PASSWORD: {S}",
    "POSTGRES_PASSWORD={S}",
    "ELASTIC_PASSWORD={S}",
    "ES_JAVA_PWD={S}",
    "ADMIN_PW={S}",
    "root_pw: {S}",
    "smtp_pwd = {S}",
    "ftpPass={S}",
    "userPassword:: {S}{S}==",
    "unicodePwd: {S}",
    "bindDN x\nbindPassword {S}",
    "apiVersion: v1\nkind: Config\nusers:\n- user:\n    token: {S}\n",
    "client-key-data: {S}{S}",
    "    password: {S}\n    username: x",
    "imagePullSecrets token={S}",
    "kubectl --token={S} get x",
    "kubeadm join h:6443 --token abcdef.{S} --discovery",
    "k3s server --token {S}",
    "helm install --set db.password={S}",
    "helm --set-string auth.token={S},x=y",
    "terraform apply -var db_password={S}",
    '-var "api_key={S}"',
    "ansible -e ansible_become_pass={S}",
    "ansible_ssh_pass: {S}",
    'ansible-playbook --extra-vars "vault_pw={S}"',
    "vagrant --secret={S}",
    "TF_VAR_token={S}",
    "export TF_TOKEN_app_terraform_io={S}",
    "vault kv put secret/x value={S} password={S}",
    "VAULT_UNSEAL_KEY={S}",
    "Unseal Key 1: {S}{S}",
    "Initial Root Token: {S}",
    'ssh -i x u@h "export TOKEN={S}"',
    "srun --export=ALL,HF_TOKEN={S} python",
    "sbatch --export=WANDB_API_KEY={S},A=b",
    "#SBATCH --export=TOKEN={S}",
    "singularity exec --env HF_TOKEN={S} x",
    "docker run -e HF_TOKEN={S} x",
    'docker run --env "API_KEY={S}" x',
    "docker run -eTOKEN={S} x",
    "docker build --build-arg TOKEN={S} .",
    "--build-arg=NPM_TOKEN={S}",
    '"Cmd": ["--api-key={S}"]',
    '"Entrypoint":["sh","-c","TOKEN={S} x"]',
    '"Labels":{"com.x.token":"{S}"}',
    '"HTTP_PROXY=http://u:{S}@h"',
    '{"proxies":{"default":{"httpProxy":"http://u:{S}@h"}}}',
    "environment:\n  - HF_TOKEN={S}\n  - A=b",
    "environment:\n  HF_TOKEN: {S}\n",
    'args: ["--hf-token", "{S}"]',
    "vllm serve x --api-key {S}",
    "python -m vllm --hf-token={S}",
    "VLLM_API_KEY={S}",
    "litellm --master_key {S}",
    "jupyter lab --NotebookApp.token={S}",
    "http://h:8888/?token={S}",
    "http://h:8888/lab?token={S}",
    "c.NotebookApp.password = u'{S}'",
    "streamlit --server.cookieSecret {S}",
    "GRADIO_AUTH=u:{S}",
    "ray start --redis-password={S}",
    "ray start --redis-password {S}",
    "dask --password {S}",
    "MINIO_SECRET_KEY={S}",
    "rclone config create x s3 secret_access_key={S}",
    "RCLONE_CONFIG_X_PASS={S}",
    'restic -r x --password-command "echo {S}"',
    "RESTIC_PASSWORD={S}",
    "BORG_PASSPHRASE={S}",
    "gpg --passphrase {S} x",
    "openssl enc -k {S}",
    "openssl x -passout pass:{S}",
    'PASSPHRASE="{S}"',
    "sudo -S <<< {S}",
    "echo {S}|sudo -S x",
    "x token {S}",
    "plink -pw {S} h",
    "pscp -pw {S} x",
    "psexec -p {S}",
    "y token={S}",
    "cmdkey /pass:{S}",
    "runas /password:{S}",
    "wmic /password:{S}",
    "mstsc /p:{S}",
    "az login --service-principal -u x -p {S} --tenant t",
    "gcloud auth activate --key={S}",
    "aws --secret-key {S}",
    "s3cmd --secret_key={S}",
    "ibmcloud login --apikey {S}",
    "doctl auth init -t {S}",
    "flyctl --access-token {S}",
    "heroku --api-key {S}",
    "gh auth login --with-token <<< {S}",
    "glab auth login --token {S}",
    "twine upload -u __token__ -p {S} x",
    "poetry config pypi-token.pypi {S}",
    "poetry config http-basic.x u {S}",
    "pip install --index-url https://u:{S}@h x",
    "conda config --add channels https://h/t/{S}1/x",
    "npm config set //r/:_authToken {S}",
    "npm config set _authToken={S}",
    "yarn config set npmAuthToken {S}",
    "cargo login {S}",
    "gem push --key {S}",
    "nuget --api-key {S}",
    "mvn -Dpassword={S}",
    "gradle -PsigningPassword={S}",
    "mosquitto_pub -u x -P {S}",
    "ldapadd -w {S}",
    "kinit --password={S}",
    "rdesktop -p {S} h",
    "xfreerdp /v:h /p:{S}",
    "vnc_password={S}",
    "ipmitool -H h -U a -P{S} x",
    'ipmitool -a -U ADMIN -P "{S}" x',
    "bmc password: {S}",
    "redfish --password {S}",
    "racadm -u root -p {S} x",
    "storcli password={S}",
    "nvflash --password={S}",
]
