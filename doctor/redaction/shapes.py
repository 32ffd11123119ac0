"""How tokens look: kind, a literal that a text must hold for it, and a linear pattern. A new kind of token is a line.

Shapes are those that the issuers publish, or that secret scanners of the field (gitleaks, detect-secrets) list.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from doctor.redaction.lazy import Lazy


class Shape(NamedTuple):
    """A kind of secret. The pattern is tried only where one of `hints` stands in the text (lower case)."""

    kind: str
    hints: tuple[str, ...]
    pattern: Lazy


_A = "[A-Za-z0-9]"
_W = "[A-Za-z0-9_-]"
_START = "(?<![A-Za-z0-9])"

_PREFIXED = {
    "hugging face": rf"(?:hf_|api_org_){_A}{{20,256}}",
    "github": rf"(?:gh[pousr]_{_A}{{20,256}}|github_pat_[A-Za-z0-9_]{{20,256}})",
    "gitlab": rf"gl(?:pat|oas|ldt|rt|cbt|ptt|ft|imt|agent|soat|ffct)-{_W}{{16,256}}",
    "openai or anthropic": rf"sk-{_W}{{16,256}}",
    "stripe": rf"(?:[sr]k_(?:live|test)_{_A}{{10,256}}|whsec_{_A}{{16,256}})",
    "aws": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])",
    "google": rf"(?:AIza{_W}{{30,60}}|GOCSPX-{_W}{{20,60}}|ya29\.{_W}{{20,512}})",
    "slack": r"(?:xox[abeposr](?:\.xox[bp])?-[A-Za-z0-9-]{10,256}|xapp-[A-Za-z0-9-]{16,256})",
    "slack webhook": r"hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,256}",
    "discord webhook": rf"discord(?:app)?\.com/api/webhooks/\d{{5,25}}/{_W}{{16,256}}",
    "nvidia": rf"nvapi-{_W}{{16,256}}",
    "pypi": rf"pypi-{_W}{{30,512}}",
    "npm": rf"npm_{_A}{{30,100}}",
    "docker": rf"dckr_(?:pat|oat)_{_W}{{16,256}}",
    "vault": rf"hv[sbr]\.{_W}{{20,512}}",
    "digitalocean": r"do[opr]_v1_[a-f0-9]{40,80}",
    "databricks": r"dapi[a-f0-9]{32}(?:-\d)?",
    "replicate": rf"r8_{_A}{{30,60}}",
    "groq": rf"gsk_{_A}{{30,80}}",
    "xai": rf"xai-{_A}{{30,120}}",
    "perplexity": rf"pplx-{_A}{{30,80}}",
    "grafana": rf"(?:glc_|glsa_){_W}{{20,512}}",
    "linear": rf"lin_api_{_A}{{30,60}}",
    "notion": rf"ntn_{_A}{{30,80}}",
    "shopify": r"shp(?:at|ca|pa|ss)_[a-fA-F0-9]{32}",
    "sendgrid": rf"SG\.{_W}{{16,40}}\.{_W}{{16,80}}",
    "mailgun": r"key-[0-9a-f]{32}(?![0-9a-f])",
    "bitbucket": rf"ATBB{_A}{{20,60}}",
    "atlassian": rf"ATATT3{_W}{{30,300}}",
    "sentry": rf"sntry[su]_{_W}{{30,300}}",
    "supabase": r"sbp_[a-f0-9]{30,60}",
    "pulumi": r"pul-[a-f0-9]{40}",
    "tailscale": rf"tskey-{_W}{{16,100}}",
    "alibaba": rf"LTAI{_A}{{12,30}}(?![A-Za-z0-9])",
    "runpod": rf"rpa_{_A}{{30,80}}",
    "artifactory": rf"AKCp{_A}{{20,100}}",
    "newrelic": r"NRAK-[A-Z0-9]{20,40}",
    "postman": r"PMAK-[a-f0-9]{20,40}-[a-f0-9]{20,50}",
    "figma": rf"figd_{_W}{{30,60}}",
    "planetscale": rf"pscale_(?:tkn|pw|oauth)_{_W}{{30,80}}",
    "telegram": rf"\d{{8,10}}:AA{_W}{{32,34}}(?![A-Za-z0-9_-])",
    "age": r"AGE-SECRET-KEY-1[0-9A-Z]{50,70}",
    "jwt": rf"eyJ{_W}{{8,4096}}\.{_W}{{8,8192}}\.{_W}{{0,4096}}",
    "password hash": r"\$(?:[156y]|2[aby]|argon2[id]{1,2})\$[A-Za-z0-9./$=,+]{20,300}",
}
_HINTS = {
    "hugging face": ("hf_", "api_org_"), "github": ("gh", "github_pat_"), "gitlab": ("gl",),
    "openai or anthropic": ("sk-",),
    "stripe": ("k_live_", "k_test_", "whsec_"), "aws": ("akia", "asia", "abia", "acca"),
    "google": ("aiza", "gocspx-", "ya29."), "slack": ("xox", "xapp-"), "slack webhook": ("hooks.slack",),
    "discord webhook": ("/api/webhooks/",), "vault": ("hvs.", "hvb.", "hvr."), "digitalocean": ("_v1_",),
    "docker": ("dckr_",), "grafana": ("glc_", "glsa_"), "sendgrid": ("sg.",), "telegram": (":aa",),
    "shopify": ("shp",), "jwt": ("eyj",), "password hash": ("$",), "sentry": ("sntry",), "databricks": ("dapi",),
}  # fmt: skip

_PRIVATE = "(?:[A-Z0-9]{1,20} ){0,3}PRIVATE KEY(?: BLOCK)?"
_PEM = Lazy(rf"-----BEGIN {_PRIVATE}-----(?:(?!-----)[\s\S]){{0,20000}}(?:-----END {_PRIVATE}-----)?")


def _hints(kind: str, pattern: str) -> tuple[str, ...]:
    return _HINTS.get(kind) or (re.match(r"[A-Za-z0-9_-]+", pattern)[0].lower(),)  # type: ignore[index]


SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("private key",), _PEM),
    *(Shape(kind, _hints(kind, text), Lazy(_START + text)) for kind, text in _PREFIXED.items()),
)
