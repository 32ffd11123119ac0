"""How tokens look: kind, a literal that a text must hold for it, and a linear pattern. A new kind of token is a line.

Shapes are those that the issuers publish, or that secret scanners of the field (gitleaks, detect-secrets) list.
"""

# ruff: noqa: E501 -- a table
from __future__ import annotations

from typing import NamedTuple

from doctor.redaction.lazy import Lazy
from doctor.redaction.tally import Tally


class Shape(NamedTuple):
    """A kind of secret. The pattern is tried only where one of `hints` stands in the text."""

    kind: str
    hints: tuple[str, ...]
    pattern: Lazy


A = "[A-Za-z0-9]"
W = "[A-Za-z0-9_-]"
H = "[a-f0-9]"
_ESCAPE_BEFORE = Lazy(
    r"(?:\\[nrtbfv0]|\\x[0-9a-fA-F]{2}|\\u00[0-9a-fA-F]{2}|%[0-9a-fA-F]{2}|\[(?:\d{1,3};){0,5}\d{0,3}[mK])\Z"
)


def begins(text: str, place: int) -> bool:
    """Whether a word begins there: after no letter or digit, unless these end an escape (`\\n`, `%3D`, a colour)."""
    before = text[place - 1 : place]
    if not (before.isascii() and before.isalnum()):
        return True
    return bool(_ESCAPE_BEFORE.search(text[max(0, place - 24) : place]))


_TABLE: tuple[tuple[str, str, str], ...] = (
    ("hugging face", "hf_ api_org_", rf"(?:hf_|api_org_){A}{{20,256}}"),
    ("github", "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", rf"(?:gh[pousr]_{A}{{20,256}}|github_pat_[A-Za-z0-9_]{{20,256}})"),
    ("gitlab", "gl", r"gl(?:pat|oas|ldt|rt|rtr|cbt|ptt|ft|imt|agent|soat|ffct|dt|wt)-[A-Za-z0-9_.=-]{16,256}"),
    ("gitlab runner", "GR1348941", rf"GR1348941{W}{{16,64}}"),
    ("openai or anthropic", "sk-", rf"sk-{W}{{16,256}}"),
    ("stripe", "k_live_ k_test_ whsec_", rf"(?:[srp]k_(?:live|test)_{A}{{10,256}}|whsec_[A-Za-z0-9+/=]{{16,256}})"),
    ("aws", "AKIA ASIA ABIA ACCA", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Z0-9])"),
    ("amazon", "amzn.mws ABSK bedrock-api-key-", rf"(?:amzn\.mws\.{H}[a-f0-9-]{{30,40}}|ABSK[A-Za-z0-9+/]{{60,300}}=*|bedrock-api-key-[A-Za-z0-9+/=]{{20,400}})"),
    ("google", "AIza GOCSPX- ya29. 1//0", rf"(?:AIza{W}{{30,60}}|GOCSPX-{W}{{20,60}}|ya29\.[A-Za-z0-9_.-]{{20,1024}}|1//0{W}{{30,200}})"),
    ("firebase", ":APA91b", rf"{W}{{6,40}}:APA91b{W}{{60,300}}"),
    ("azure", "Q~", r"[A-Za-z0-9_~.-]{3}\dQ~[A-Za-z0-9_~.-]{31,34}"),
    ("azure storage", "==", r"[A-Za-z0-9+/]{86}==(?![A-Za-z0-9+/=])"),
    ("azure devops", "AZDO", rf"{A}{{76}}AZDO{A}{{4}}"),
    ("slack", "xox xapp- xwfp-", r"(?:xox[abcdeposr](?:\.xox[bp])?-[A-Za-z0-9%/+=-]{10,512}|xapp-[A-Za-z0-9-]{16,256}|xwfp-[A-Za-z0-9-]{16,256})"),
    ("webhook", "hooks.slack", r"hooks\.slack(?:-gov)?\.com/(?:services|workflows|triggers)/[A-Za-z0-9/_-]{16,256}"),
    ("webhook", "/api/webhooks/ /webhooks/", rf"discord(?:app)?\.com/api/(?:v\d{{1,2}}/)?webhooks/\d{{5,25}}/{W}{{16,256}}"),
    ("webhook", "webhook.office.com logic.azure.com", r"[A-Za-z0-9.-]{1,80}(?:webhook\.office|logic\.azure)\.com(?::443)?/[A-Za-z0-9@/_%?=&.-]{20,500}"),
    ("webhook", "hooks.zapier ingest.signalfx hooks/catch", r"hooks\.zapier\.com/hooks/catch/[A-Za-z0-9/]{6,100}"),
    ("webhook", "open-apis/bot chat.googleapis webhook/send robot/send", r"(?:open-apis/bot/v2/hook/[a-f0-9-]{20,40}|chat\.googleapis\.com/v1/spaces/[^\s\"'<>]{20,400}|(?:webhook|robot)/send\?(?:key|access_token)=[A-Za-z0-9-]{16,100})"),
    ("webhook", "hc-ping.com healthchecks.io/ping", r"(?:hc-ping\.com|healthchecks\.io/ping)/[a-f0-9-]{20,40}"),
    ("discord", ".", rf"[MNO]{W}{{23,27}}\.{W}{{6}}\.{W}{{27,45}}(?![A-Za-z0-9_-])"),
    ("nvidia", "nvapi-", rf"nvapi-{W}{{16,256}}"),
    ("wandb", "wandb_v1_ local-", rf"(?:wandb_v1_{W}{{20,256}}|local-{H}{{40}}(?![a-f0-9]))"),
    ("pypi", "pypi-", rf"pypi-{W}{{30,512}}"),
    ("npm", "npm_", rf"npm_{A}{{30,100}}"),
    ("rubygems", "rubygems_", rf"rubygems_{H}{{40,64}}"),
    ("nuget", "oy2", r"oy2[a-z0-9]{43}(?![A-Za-z0-9])"),
    ("clojars", "CLOJARS_", r"CLOJARS_[a-z0-9]{40,80}"),
    ("docker", "dckr_", rf"dckr_(?:pat|oat)_{W}{{16,256}}"),
    ("vault", "hvs. hvb. hvr.", rf"hv[sbr]\.{W}{{20,512}}"),
    ("vault", "s. b.", r"[sb]\.(?=[A-Za-z0-9]{0,23}\d)(?=[A-Za-z0-9]{0,23}[A-Z])(?=[A-Za-z0-9]{0,23}[a-z])[A-Za-z0-9]{24}(?![A-Za-z0-9.(])"),
    ("terraform", ".atlasv1.", rf"{A}{{10,20}}\.atlasv1\.{W}{{40,120}}"),
    ("ansible vault", "$ANSIBLE_VAULT", r"\$ANSIBLE_VAULT;[\d.]{1,8};[A-Z0-9;]{3,40}(?:(?:\s|\\n){1,20}[0-9a-f]{2,100}){0,400}"),
    ("digitalocean", "_v1_", r"do[opr]_v1_[a-f0-9]{40,80}"),
    ("together", "tgp_v1_", rf"tgp_v1_{W}{{30,80}}"),
    ("databricks", "dapi dkea dose", r"(?:dapi|dkea|dose)[a-f0-9]{32}(?:-\d)?(?![a-f0-9])"),
    ("replicate", "r8_", rf"r8_{A}{{30,60}}"),
    ("groq", "gsk_", rf"gsk_{A}{{30,80}}"),
    ("xai", "xai-", rf"xai-{A}{{30,120}}"),
    ("perplexity", "pplx-", rf"pplx-{A}{{30,80}}"),
    ("ai services", "csk- jina_ pcsk_ lsv2_ esecret_ tvly- e2b_ fw_ pa- voyage fc- jlk- hcaik_", rf"(?:csk-{A}{{30,80}}|jina_{W}{{30,100}}|pcsk_{W}{{30,120}}|lsv2_(?:pt|sk)_{W}{{20,80}}|esecret_{A}{{20,60}}|tvly-{W}{{20,60}}|e2b_{H}{{30,60}}|fw_{A}{{20,60}}|pa-{W}{{40,60}}|fc-{H}{{32}}|hcaik_{A}{{30,80}})"),
    ("grafana", "glc_ glsa_", r"(?:glc_|glsa_)[A-Za-z0-9_+/=-]{20,512}"),
    ("linear", "lin_api_ lin_oauth_", rf"lin_(?:api|oauth)_{A}{{30,80}}"),
    ("notion", "ntn_ secret_", rf"(?:ntn_{A}{{30,80}}|secret_{A}{{32,64}})"),
    ("airtable", "pat", r"pat[A-Za-z0-9]{14}\.[a-f0-9]{64}"),
    ("shopify", "shp", r"shp(?:at|ca|pa|ss|ua|tka)_[a-fA-F0-9]{32}"),
    ("sendgrid", "SG.", rf"SG\.{W}{{16,40}}\.{W}{{16,80}}"),
    ("mail services", "key- xkeysib- re_ -us", rf"(?:key-[0-9a-f]{{32}}(?![0-9a-f])|xkeysib-[a-f0-9]{{64}}-{A}{{16}}|re_{A}{{6,12}}_{A}{{18,30}}|[0-9a-f]{{32}}-us\d{{1,2}}(?!\w)|[0-9a-f]{{32}}-[0-9a-f]{{8}}-[0-9a-f]{{8}}(?![0-9a-f-]))"),
    ("twilio", "AC SK", r"(?:AC|SK)[0-9a-f]{32}(?![0-9A-Za-z])"),
    ("bitbucket", "ATBB ATCTT", rf"(?:ATBB{A}{{20,60}}|ATCTT3{W}{{30,300}}=?)"),
    ("atlassian", "ATATT3", r"ATATT3[A-Za-z0-9_=-]{30,300}"),
    ("sentry", "sntry", r"sntry[sua]_[A-Za-z0-9_+/=-]{30,400}"),
    ("supabase", "sbp_ sb_secret_", rf"(?:sbp_{A}{{30,60}}|sb_secret_{W}{{20,60}})"),
    ("pulumi", "pul-", r"pul-[a-f0-9]{40}"),
    ("tailscale", "tskey-", rf"tskey-{W}{{16,100}}"),
    ("alibaba", "LTAI", rf"LTAI{A}{{12,30}}(?![A-Za-z0-9])"),
    ("tencent", "AKID", rf"AKID{A}{{32}}(?![A-Za-z0-9])"),
    ("yandex", "AQVN y0_A t1.9eu YC", rf"(?:AQVN{W}{{35,60}}|y0_A{W}{{30,80}}|t1\.9eu{W}{{20,400}}\.{W}{{60,120}}|YC[A-Za-z0-9_-]{{38}}(?![A-Za-z0-9_-]))"),
    ("hosting", "HRKU- rnd_ nfp_ fo1_ fm2_ fm1r_ fm1a_ v1.0- vcp_ railway", rf"(?:HRKU-[A-Za-z0-9_-]{{30,80}}|rnd_{A}{{20,60}}|nfp_{A}{{30,60}}|fo1_{W}{{30,60}}|fm(?:2|1r|1a)_[A-Za-z0-9+/=_-]{{60,1000}}|v1\.0-[a-f0-9]{{24}}-[a-f0-9]{{100,200}}|vcp_{A}{{20,80}})"),
    ("runpod", "rpa_", rf"rpa_{A}{{30,80}}"),
    ("artifactory", "AKC", rf"AKC[bp]{A}{{20,100}}"),
    ("artifactory", "cmVmd", r"cmVmd[A-Za-z0-9+/]{50,80}=*"),
    ("newrelic", "NRAK- NRJS- NRII- NRAL", r"(?:NRAK-[A-Z0-9]{20,40}|NRJS-[a-f0-9]{19}|NRII-[A-Za-z0-9_-]{32}|[a-f0-9]{36}NRAL)"),
    ("postman", "PMAK-", r"PMAK-[a-f0-9]{20,40}-[a-f0-9]{20,50}"),
    ("ci", "CCIPAT_ CCIPRJ_ bkua_ bkaj_ sqp_ squ_ sqa_ cio", rf"(?:CCI(?:PAT|PRJ)_[A-Za-z0-9_]{{30,90}}|bk(?:ua|aj)_[a-f0-9]{{40}}|sq[pua]_[a-f0-9]{{40}}|cio{A}{{32}}(?![A-Za-z0-9]))"),
    ("figma", "figd_ figo_", rf"fig[do]_{W}{{30,60}}"),
    ("doppler", "dp.", rf"dp\.(?:pt|st|sa|ct|scim|audit)\.(?:[a-z0-9_-]{{2,35}}\.)?{A}{{40,44}}"),
    ("planetscale", "pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_.=-]{30,80}"),
    ("square", "sq0 EAAA", rf"(?:sq0(?:atp|csp|idp)-{W}{{20,60}}|EAAA[A-Za-z0-9]{{56,80}})"),
    ("facebook", "EAA IGQV", rf"(?:EAA[A-Z]{A}{{80,300}}|IGQV{W}{{60,300}})"),
    ("braintree", "access_token$", r"access_token\$(?:production|sandbox)\$[0-9a-z]{16}\$[0-9a-f]{32}"),
    ("twitter", "AAAAAAAAAAAAAAAAAAAA", r"A{20,22}[A-Za-z0-9%]{60,120}"),
    ("shippo", "shippo_ EZAK EZTK", rf"(?:shippo_(?:live|test)_[a-f0-9]{{40}}|EZ[AT]K{A}{{54}})"),
    ("plaid", "access-", r"access-(?:production|development|sandbox)-[0-9a-f-]{36}"),
    ("launchdarkly", "sdk- api- mob-", r"(?:sdk|api|mob)-[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}"),
    ("contentful", "CFPAT-", rf"CFPAT-{W}{{40,50}}"),
    ("dropbox", "sl.", rf"sl\.{W}{{60,200}}"),
    ("telegram", ":AA", rf"\d{{8,10}}:AA{W}{{32,34}}(?![A-Za-z0-9_-])"),
    ("openshift", "sha256~", rf"sha256~{W}{{43}}"),
    ("rancher", "token- kubeconfig- K10", r"(?:(?:token|kubeconfig)-[a-z0-9-]{3,40}:[a-z0-9]{54}|K10[a-f0-9]{64}::[A-Za-z0-9:_-]{8,120})"),
    ("modal", "ak- as-", rf"a[ks]-(?=[A-Za-z0-9]{{0,22}}[A-Z])(?=[A-Za-z0-9]{{0,22}}\d){A}{{22}}(?![A-Za-z0-9])"),
    ("dbt", "dbtc_ dbtu_", rf"dbt[cu]_{W}{{30,60}}"),
    ("onepassword", "ops_eyJ A3-", rf"(?:ops_eyJ{W}{{60,1000}}=*|A3-[A-Z0-9]{{6}}-(?:[A-Z0-9]{{5,11}}-){{3,5}}[A-Z0-9]{{5}})"),
    ("age", "AGE-SECRET-KEY-", r"AGE-SECRET-KEY-(?:PQ-)?1[0-9A-Z]{50,2000}"),
    ("jwt", "eyJ", rf"eyJ{W}{{8,4096}}\.{W}{{8,8192}}\.{W}{{0,4096}}(?:\.{W}{{1,8192}}\.{W}{{1,512}})?"),
    ("paseto", "v1. v2. v3. v4.", rf"v[1-4]\.(?:local|public)\.{W}{{30,4096}}"),
    ("password hash", "$", r"\$(?:[1567y]|apr1|2[abxy]|argon2(?:id|i|d)|gy|scrypt|sha1|pbkdf2-sha\d{3})\$[A-Za-z0-9./$=,+]{20,300}"),
    ("password hash", "{SSHA {SHA {SMD5 {MD5 {CRYPT", r"\{(?:S?SHA(?:256|512)?|S?MD5|CRYPT)\}[A-Za-z0-9+/$.]{16,200}=*"),
    ("password hash", "pbkdf2 SCRAM-SHA", r"(?:grub\.pbkdf2\.sha512\.\d{1,9}\.[A-F0-9.]{32,600}|pbkdf2_sha\d{1,3}\$\d{1,9}\$[^\s\"']{20,200}|SCRAM-SHA-\d{1,3}\$[^\s\"']{20,300})"),
    ("private key", "MII b3BlbnNzaC1rZXktdjE", r"(?:MIIE(?:v|p|o)[A-Za-z0-9+/]{60,20000}=*|MIIJ[A-Za-z0-9+/]{60,20000}=*|MIIC[Xd][A-Za-z0-9+/]{60,20000}=*|b3BlbnNzaC1rZXktdjE[A-Za-z0-9+/]{20,20000}=*)"),
    ("conda token", "/t/", rf"(?<=/t/)(?=[A-Za-z0-9_-]{{0,80}}\d){W}{{10,100}}(?=/)"),
    ("dynatrace", "dt0", r"dt0[a-z]\d{2}\.[A-Z0-9]{24}\.[A-Z0-9]{64}"),
    ("snyk", "snyk_", rf"snyk_[a-z]{{2,4}}\.[a-f0-9]{{8}}\.{W}{{40,100}}"),
    ("scaleway", "SCW", r"SCW(?=[A-Z]{0,16}\d)[A-Z0-9]{17}(?![A-Za-z0-9])"),
    ("octopus", "API-", r"API-(?=[A-Z]{0,26}\d)[A-Z0-9]{25,30}(?![A-Za-z0-9])"),
    ("flutterwave", "FLWSECK", r"FLWSECK(?:_TEST)?-[a-f0-9]{12,40}(?:-X)?"),
    ("intra42", "s-s4t2", r"s-s4t2(?:ud|af)-[a-f0-9]{64}"),
    ("defined", "dnkey-", rf"dnkey-{W}{{26}}-{W}{{40,60}}"),
    ("readme", "rdme_", r"rdme_[a-z0-9]{60,80}"),
    ("harness", "pat. sat.", rf"[ps]at\.{W}{{22}}\.[a-f0-9]{{24}}\.{A}{{20}}"),
    ("maxmind", "_mmk", rf"{A}{{6}}_{A}{{29}}_mmk"),
    ("azure ai", "JQQJ99", rf"{A}{{48,56}}JQQJ99{A}{{20,30}}"),
    ("sourcegraph", "sgp_", r"sgp_(?:[a-f0-9]{16}_|local_)?[a-f0-9]{40}"),
    ("mapbox", "sk.eyJ", rf"sk\.eyJ{W}{{20,200}}\.{W}{{20,40}}"),
    ("aws session", "FwoGZXIv IQoJb3Jp FQoGZXIv", r"(?:FwoGZXIv|IQoJb3Jp|FQoGZXIv)[A-Za-z0-9+/=%]{60,4000}"),
    ("gcs", "GOOG", r"GOOG(?=[A-Z]{0,30}\d)[A-Z0-9]{20,60}(?![A-Za-z0-9])"),
    ("baidu", "ALTAK", rf"(?:bce-v3/)?ALTAK-?{A}{{16,40}}(?:/[a-f0-9]{{40}})?"),
    ("volcengine", "AKLT", rf"AKLT(?=[A-Za-z]{{0,44}}\d){A}{{30,60}}"),
    ("docker swarm", "SWMTKN- SWMKEY-", r"SWM(?:TKN|KEY)-\d-[A-Za-z0-9+/-]{30,120}"),
    ("ngrok", "2", rf"2(?=[a-z0-9]{{0,26}}[A-Z])(?=[A-Z0-9]{{0,26}}[a-z]){A}{{26}}_(?=[A-Za-z]{{0,20}}\d){A}{{20,22}}(?![A-Za-z0-9_])"),
    ("infisical", "st.", r"st\.[a-f0-9]{24}\.[a-f0-9]{32}\.[a-f0-9]{32}"),
    ("aiven", "AVNS_", rf"AVNS_{W}{{16,30}}"),
    ("sk", "sk_", rf"sk_(?=[A-Za-z]{{0,40}}\d){A}{{40,64}}(?![A-Za-z0-9_])"),
    ("keys in hexadecimal", "KGAT_ ls__ rootly_ cu_ sk_", r"(?:KGAT_|ls__|rootly_|cu_|sk_)[a-f0-9]{32,64}(?![A-Za-z0-9])"),
    ("kubeadm", "kubeadm ootstrap", r"[a-z0-9]{6}\.(?=[a-z]{0,15}\d)[a-z0-9]{16}(?![A-Za-z0-9._-])"),
    ("pagerduty", "u+", r"u\+(?=[A-Za-z_-]{0,17}\d)[A-Za-z0-9_-]{18}(?![A-Za-z0-9_-])"),
    ("nebius", "v1.C", rf"v1\.C{W}{{80,1000}}\.{W}{{40,200}}"),
    ("base64 of json", "eyJ", r"eyJ[A-Za-z0-9+/_-]{64,20000}={0,2}"),
    ("telegram", "/bot", rf"(?<=/bot)\d{{8,10}}:AA{W}{{32,34}}"),
    ("cloudsmith", "dl.cloudsmith.io", rf"(?<=dl\.cloudsmith\.io/)(?!public/|basic/){A}{{8,64}}(?=/)"),
)  # fmt: skip
_ANYWHERE = ("conda token", "cloudsmith", "private key", "telegram")

_PRIVATE = r"(?:[A-Z0-9]{1,20}[ +]){0,3}PRIVATE[ +]KEY(?:[ +]BLOCK)?"
_PEM = Lazy(
    rf"-----?[ ]?BEGIN[ +]{_PRIVATE}[ ]?-----?(?:(?:(?!-----?[ ]?(?:END|BEGIN))[\s\S]){{0,20000}}-----?[ ]?END[ +]{_PRIVATE}[ ]?-----?"
    r"|(?:(?:\s|\\[nr]|[|>#\"'+,])*(?:[A-Za-z0-9+/=_-]{1,4000}|(?:Proc-Type|DEK-Info|Version|Comment):[^\n]{0,200})){0,400})"
)
_PUTTY = Lazy(
    r"Private-Lines:\s{0,4}\d{1,4}(?:(?:\s|\\[nr]){1,4}[A-Za-z0-9+/=]{1,80}){1,200}|Private-MAC:\s{0,4}[0-9a-f]{20,80}"
)

SHAPES: tuple[Shape, ...] = (
    Shape("private key", ("PRIVATE KEY", "PRIVATE+KEY"), _PEM),
    Shape("private key", ("Private-Lines", "Private-MAC"), _PUTTY),
    *(Shape(kind, tuple(hints.split()), Lazy(text)) for kind, hints, text in _TABLE),
)


def without(text: str, shape: Shape, tally: Tally) -> str:
    """The text with what has that shape masked."""
    out: list[str] = []
    place = seek = 0
    while found := shape.pattern.made.search(text, seek):
        if shape.kind not in _ANYWHERE and not begins(text, found.start()):
            seek = found.start() + 1
            continue
        out += (text[place : found.start()], tally.hit(shape.kind, found[0]))
        place = seek = found.end()
    return "".join(out) + text[place:] if out else text


_END_OF_KEY = Lazy(rf"-----?[ ]?END[ +]{_PRIVATE}[ ]?-----?")
_BODY = Lazy(r"(?:[ \t|>#]{0,40}|[^\n]{0,120}[ \t])(?:[A-Za-z0-9+/=]{20,100}|[A-Za-z0-9+/]{1,100}={0,2})[ \t\r]*")


def headless(text: str, tally: Tally) -> str:
    """The text without private keys of which only the end is there, because what stood before was cut off."""
    out: list[str] = []
    place = 0
    for found in _END_OF_KEY.finditer(text):
        start = text.rfind("\n", place, found.start()) + 1 or place
        while start > place:
            before = text.rfind("\n", place, start - 1) + 1 or place
            if not _BODY.fullmatch(text[before : start - 1][:400]):
                break
            start = before
        out += (text[place:start], tally.hit("private key", text[start : found.end()]))
        place = found.end()
    return "".join(out) + text[place:] if out else text
