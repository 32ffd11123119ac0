"""Secrets on lines of their own: what a command printed, lines of PostgreSQL's password file.

>>> printed("$ echo $DEPLOY_TOKEN\\nq8w7e6r5\\n$ echo $LANG\\nen_GB.UTF-8", Tally())
'$ echo $DEPLOY_TOKEN\\n[secret]\\n$ echo $LANG\\nen_GB.UTF-8'
"""

from __future__ import annotations

from doctor.redaction.lazy import Lazy
from doctor.redaction.names import is_mixed, is_secret_name
from doctor.redaction.tally import MASK, Tally

_END = r"[ \t]{0,8}(?:\n|\\n)"
_ALONE = r"([^\s\\]{6,500})(?=[ \t]{0,8}(?:$|\\n))"
_VARIABLE = Lazy(
    r"(?m)((?:\b|(?<=\\n))(?:echo|printenv|print)[ \t]{1,4}[\"']?\$?\{?([A-Za-z_]\w{1,80})\}?[\"']?"
    + _END
    + ")"
    + _ALONE
)
_FILE = Lazy(
    r"(?mi)(\bcat[ \t]{1,4}[^\s|;&\\]{0,200}(?:token|secret|password|passwd|api[_-]?key|credential)s?(?:\.txt)?"
    + _END
    + ")"
    + _ALONE
)
_FORTY = Lazy(r"\b[0-9a-f]{40}\b")
_BEFORE = 320
"""Signs before a key of forty digits in which `wandb` and what it is for stand; a commit has as many digits."""
_FOR = ("key", "login", "authoriz")
_PGPASS = Lazy(
    r"(?m)(^(?=[^:\n]{0,80}[A-Za-z.*])[\w.*-]{1,80}:(?:\d{4,5}|\*):(?:[\w-]{1,63}|\*):[\w.@*-]{1,63}:)([^\s:]{4,200})$"
)


def printed(text: str, tally: Tally) -> str:
    """Those masked. Costs a search for a word where there are none."""
    low = text.lower()
    if "echo" in low or "print" in low:
        text = _VARIABLE.sub(
            lambda m: m[1] + (tally.hit("printed", m[3]) if is_secret_name(m[2]) and _is_value(m[3]) else m[3]), text
        )
    if "cat " in low:
        text = _FILE.sub(lambda m: m[1] + (tally.hit("printed", m[2]) if _is_value(m[2]) else m[2]), text)
    if "wandb" in low:
        text = _FORTY.sub(lambda m: tally.hit("printed", m[0]) if _is_wandbs(m.string, m.start()) else m[0], text)
    return _PGPASS.sub(lambda m: m[1] + tally.hit("password", m[2]) if is_mixed(m[2]) else m[0], text)


def _is_wandbs(text: str, place: int) -> bool:
    _, name, between = text[max(0, place - _BEFORE) : place].lower().partition("wandb")
    return bool(name) and between.count("\n") < 2 and any(word in between for word in _FOR)


def _is_value(text: str) -> bool:
    """No prompt, and masked by nothing before."""
    return not text.startswith(MASK[:-1]) and not text.endswith(("$", "#", ">"))
