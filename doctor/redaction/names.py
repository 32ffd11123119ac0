"""What a name and a value say of each other: whether something of that name holds a secret, whether a value is one.

>>> is_secret_name("clientSecret"), is_secret_name("eos_token"), is_secret_name("SSH_AUTH_SOCK")
(True, False, False)
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

from functools import lru_cache

from doctor.redaction.lazy import Lazy
from doctor.redaction.randomness import is_random

_CAMEL = Lazy(r"(?<=[a-z0-9])(?=[A-Z])")
_OF = (
    "API|ACCESS|PRIVATE|SECRET|SIGNING|SIGN|ENCRYPTION|SSH|LICENSE|ACCOUNT|STORAGE|MASTER|SHARED|PRE_?SHARED|CLIENT|AUTH"
    "|DEPLOY|SERVICE|APP|APPLICATION|WRITE|READ|ADMIN|HMAC|AES|SAS|ENCRYPT|WANDB|SUBSCRIPTION|SESSION|SECURITY|ROUTING"
    "|INTEGRATION|INGEST|ROOT|HOST|USER|CRYPT|VAULT|MUNGE|WIREGUARD|WG|RNDC|TSIG|UNSEAL|RECOVERY|BACKUP|COOKIE|JWT|FERNET"
    "|NGC|HF|ORG|PROJECT|INSTRUMENTATION|BOT|MACHINE|REGISTRY|PROXY|SNMP|ACTIVATION|PRODUCT|CD|WEBHOOK|LUKS"
)
_NAME = Lazy(
    r"(?:^|_)(?:[A-Z]{0,20}(?:SECRET|PASSWORD|PASSWD|PASSPHRASE|PASSWORT|KENNWORT|WACHTWOORD|MOT_DE_PASSE|CONTRASE[NÑ]A|SENHA|HAS[LŁ]O|APIKEY|AUTHKEY)|[A-Z]{0,12}(?:TOKEN|CREDS)"
    r"|SECRETS?|PASSWORDS?|PASSWD|PASSPHRASE|PASS|PWD|PASSWRD|PSWD|PW|PASSCODE|CREDENTIALS?|CREDS?|COOKIES?|AUTH"
    r"|AUTHORIZATION|APIKEYS?|APITOKEN|AUTHTOK|DSN|PAT|JWT|BEARER|PSK|SIG|SIGNATURE|WEBHOOK|WEBHOOK_URL|SESSIONID"
    r"|SESSION_ID|CSRF|XSRF|OTP|TOTP|MFA|NONCE_KEY|SALT|PEPPER|KEYTAB|SASL|PIN|SHAREDKEY|PRIVKEY|SECKEY|ACCOUNTKEY"
    rf"|(?:{_OF})_?KEYS?(?:_?(?:DATA|ID|BASE64|B64|PEM|HEX|VALUE))?|CONNECTION_?STRINGS?|CONN_?STR|DATABASE_URL"
    r"|(?:PROXY|PG|MYSQL|DB|REDIS|REQUIRE|SMTP|SUDO|ROOT|USER|SSH|KEYSTORE|STORAGE|SSL|IPMI|BMC|LDAP|BIND)_?"
    r"PASS(?:WORD|WD)?|MASTERAUTH|REQUIREPASS|STORAGEPASS|IDENTITYTOKEN|REGISTRYTOKEN|AUTHTOKEN)(?:$|_|\d)"
)
_KEY_AT_END = Lazy(r"(?:_|^[A-Z]{2,20})KEY(?:$|_|\d)")
_WORDS_OF_MODELS = Lazy(
    r"(?:^|_)(?:BOS|EOS|PAD|UNK|SEP|CLS|MASK|IMAGE|IMG|VIDEO|AUDIO|SPECIAL|STOP|NEXT|FIRST|LAST|NEW|MAX|MIN|NUM|N|PER"
    r"|START|END|EOT|EOM|DECODER_START|FORCED_BOS|FORCED_EOS|PREFIX|SUFFIX|MIDDLE|EACH|AVG|MEAN|TOTAL|TOP|DRAFT|BATCHED)"
    r"_TOKENS?(?:$|_)|TOKEN_(?:IDS?|TYPES?|COUNT|LEN|LENGTH|LIMIT|BUDGET|INDEX|INDICES|POS|POSITION|EMBEDDINGS?)(?:$|_)"
)
_PLACES_OF_SECRETS = Lazy(
    r"_(?:FILE|FILES|PATH|DIR|FILENAME|LOCATION|SOCK|SOCKET|NAME|TYPE|METHOD|ALGORITHM|MODE|STORE|HEADER)$"
)
_NO_SECRET_NAMES = frozenset({
    "PWD", "OLDPWD", "TOKEN_TYPE", "PASS_THROUGH", "SSH_AUTH_SOCK", "KEY", "AUTH_TYPE", "PAT", "PIN", "SALT", "SIG_ID", "SIG_KEY",
    "SIG_HASHALGO", "PRIMARY_KEY", "FOREIGN_KEY", "COOKIE_NAME", "SESSION_KEY_TYPE", "PARTITION_KEY", "SORT_KEY", "CACHE_KEY",
    "GIT_ASKPASS", "SSH_ASKPASS", "SUDO_ASKPASS", "AUTH_METHOD", "AUTHORIZATION_MODE", "REQUIRE_AUTH", "NO_AUTH", "ETHAUTH",
    "CREDENTIAL_HELPER", "CREDSSTORE", "CREDS_STORE", "CREDHELPERS", "CRED_HELPERS", "KEYRING", "PASS_RATE", "HOST_KEY",
    "HOSTKEY", "PUBLIC_KEY", "PUBKEY", "SIGNATURE_ALGORITHM", "USER_KEY_TYPE",
})  # fmt: skip
OWN_IDS = frozenset({"secrets-in-env", "vis-list-bad-token"})
"""Ids of the program's own that end like a secret's name; a test holds it against every id there is."""
_STRONG = Lazy(
    r"PASSW|[A-Z_]PASS$|PASSPHRASE|SECRET|TOKEN|KEY|COOKIE|AUTHORIZATION|CREDENTIAL|CONN|WEBHOOK|SESSION|JWT|BEARER|PSK|PWD"
)
_PLAIN_VALUES = Lazy(
    r"(?i)(?:true|false|yes|no|on|off|none|null|nil|unset|all|default|auto|enabled|disabled|required|optional|basic|bearer"
    r"|(?:files|compat|systemd|sss|ldap|nis|winbind|db|\[\w{1,20}=\w{1,20}\]|[ \t])+|\w{1,20} pam_\w{1,30}\.so.*|optional:|is|was|not|must|should|and|or|to|for|the|missing|invalid|expired|empty|unknown|n/?a|r[ow]|\(?(?:not )?set\)?|present|denied|failed|ok|int|str|string|bool"
    r"|-?\d{1,5}[smhdw]?|[=~<>!^v]{0,2}\d{1,9}(?:\.\d{1,9}){1,4}(?:\.?(?:post|dev|rc|a|b)\d{0,4})?(?:[-+~][\w.+~]{0,20})?|\*{2,}|x{4,}|\.{3}|<[^<>]{0,60}>|<?redacted>?|\[[a-z]{0,20}\]?|\{\}?"
    r"|\$\{[A-Z_][A-Z0-9_]{0,60}\}|\$[A-Z_][A-Z0-9_]{2,60}|\$\{\{[^{}]{1,80}\}\}|\{\{[^{}]{1,80}\}\}|)"
)
_PATH = Lazy(
    r"(?:~|/(?:usr|etc|opt|var|home|root|run|tmp|mnt|media|data|dev|proc|sys|lib(?:64)?|bin|sbin|srv|boot|workspace|app|secrets"
    r"|private|Users|scratch|lustre|nfs|gpfs|share|shared|work|mount|volume\d?|efs|fsx|models|code|src|nix|snap|cm|sw))"
    r"(?:/[\w.@+-]{1,80}){1,20}/?(?::r[ow])?|\.{1,2}/[\w./@+-]{1,300}|[A-Za-z]:\\[\w.\\ -]{1,300}"
)
_HEX_LIST = Lazy(r"(?:[0-9A-Fa-f]{2}:){5,}[0-9A-Fa-f]{0,2}")
_DASHED = Lazy(r"(?=[^\d]{0,40}\d)[A-Za-z0-9]{4,8}(?:-[A-Za-z0-9]{4,8}){2,9}")
_LONG_HEX = Lazy(r"(?:[0-9a-f]{24,}|[0-9A-F]{24,})")


def _plain(name: str) -> str:
    return _CAMEL.sub("_", name.lstrip("-")).upper().replace("-", "_").replace(".", "_")


@lru_cache(maxsize=4096)
def is_secret_name(name: str, *, variable: bool = False) -> bool:
    """Whether something of that name is taken to hold a secret; a `variable` of any `_KEY` is."""
    plain = _plain(name)
    if name in OWN_IDS or plain in _NO_SECRET_NAMES or _WORDS_OF_MODELS.search(plain):
        return False
    if _PLACES_OF_SECRETS.search(plain) or plain.startswith("KEYBOARD_KEY"):
        return False
    return bool(_NAME.search(plain)) or (variable and bool(_KEY_AT_END.search(plain)))


@lru_cache(maxsize=1024)
def is_key_name(name: str) -> bool:
    """Whether it ends in a key of whatever kind: a random value of it is a secret."""
    plain = _plain(name)
    return plain not in _NO_SECRET_NAMES - {"KEY"} and plain.endswith(("KEY", "KEY_ID", "SEED", "LICENSE", "CODE"))


@lru_cache(maxsize=1024)
def is_strong_name(name: str) -> bool:
    """Whether any word is a secret under that name; `auth: pending` of a weak one is a remark."""
    return bool(_STRONG.search(_plain(name)))


@lru_cache(maxsize=4096)
def may_hold(name: str, *, variable: bool = False) -> bool:
    """Whether a value of that name may be a secret because of it."""
    return is_secret_name(name, variable=variable) or is_key_name(name) or name.upper() == "PWD"


def holds(name: str, value: str, *, variable: bool = False) -> bool:
    """Whether a value of that name is a secret: by the name, unless the value is plainly none, or by both."""
    if not may_hold(name, variable=variable):
        return False
    named = is_secret_name(name, variable=variable)
    if (
        not value
        or value.startswith(("[secret", "(self"))
        or _PLAIN_VALUES.fullmatch(value)
        or _HEX_LIST.fullmatch(value)
    ):
        return False
    if named:
        return not is_path(value)
    if name.upper() == "PWD":  # of ODBC, where it is no folder
        return not value.startswith(("/", "\\", "~", ".")) and not is_path(value)
    return is_random(value, 8.0) or bool(_LONG_HEX.fullmatch(value)) or bool(_DASHED.fullmatch(value))


def is_mixed(value: str) -> bool:
    return any(c.isdigit() for c in value) and any(c.isalpha() for c in value)


def is_path(value: str) -> bool:
    return bool(_PATH.fullmatch(value))
