"""Names by their place in a line of a known form, each written as the line looks: `<user>`, `<group>`, `<host>`, `<project>`,
`<site>` are what is looked for, `_` is space, `#` a number, `*` a word, `~` a quote or none, `...` anything on the line.

>>> sorted(set(rows("uid=1009(mia.k) gid=44(video)\\nsudo: mia.k : TTY=pts/1")))
[('group', 'video'), ('user', 'mia.k')]
"""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import re
from collections.abc import Iterator

from doctor.redaction.lazy import Lazy

_NAME = r"[A-Za-z_][\w.-]{1,62}"
_MODE = r"[-dlcbps](?:[r-][w-][xsS-]){2}[r-][w-][xtT-][.+@]?"
_DATE = r"(?:\d{4}-\d\d-\d\d[T ][\d:.,]{8,15}(?:Z|[+-][\d:]{4,5})?|[A-Z][a-z]{2} [ \d]\d [\d:]{8}(?:\.\d{1,6})?)"
_PERSON = (
    r"[A-ZÀ-Þ][\w'’-]{1,20}(?: (?:v[ao]n|de[rnlia]?|d[aio]|l[ae]|bin|al|ter)){0,2}(?: [A-ZÀ-Þ][\w.'’-]{0,24}){1,3}"
)
_LETTERS = {
    "_": r"[ \t]{1,30}", "#": r"\d{1,10}", "*": r"[^\s,]{1,60}", "~": r"\\{0,3}[\"'`]?", "^": r"(?m:^[ \t]{0,12})", "$": r"(?=[\s,;.)'\"]|\Z)",
    "...": r"[^\n]{0,200}?", "<user>": rf"(?:(?P<site%d>[A-Z][A-Z0-9-]{{1,14}})(?:\\\\?|\+))?(?P<user%d>{_NAME}\$?)", "<person>": rf"(?P<user%d>{_PERSON})",
    "<mode>": _MODE, "<date>": _DATE, "<ip>": r"(?=[\da-fA-F]{1,4}[.:])[\da-fA-F.:]{7,39}", "<dec>": r"\d{1,4}\.\d", "<path>": r"[~/][^\s:]{0,200}", "<key>": r"(?:sk-)?(?:ssh|ecdsa)-\S{3,40} AAAA",
    "<st>": r"(?:R|PD|CG|CD|CF|CA|F|TO|S|NF|OOM)", "<time>": r"[\d:-]{3,14}", "<users>": rf"(?P<users%d>{_NAME}(?:,{_NAME}){{0,40}})", "<gecos>": rf"(?P<user%d>{_PERSON})?[^:\n]{{0,80}}",
    "<clock>": r"(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2})[^\n]{1,12}\d\d:\d\d", "<uid>": r"\d{4,10}", "<perm>": r"[r-][w-][xsStT-]",
}  # fmt: skip
_TOKEN = re.compile(r"<(\w+)>|\.\.\.|[_#*~^$]|\\.|[^<._#*~^$\\]+|.")
_FORMS = r"""
uid=#(<user>) ¦ gid=#(<group>) ¦ groups=#(<group>) ¦ ,#(<group>) ¦ UserId=<user>( ¦ GroupId=<group>( ¦ Uid:_(_#/_<user>) ¦ Gid:_(_#/_<group>)
^<user>:\*:<uid>:#:<gecos>:/ ¦ ^<user>:x:<uid>:#:<gecos>:/ ¦ ^<group>:x:#:<users> ¦ ^*:x:#:<users> ¦ ^<group>:\*:#:<users> ¦ ^*:\*:#:<users> ¦ ^<user>:$#$
^<user>:!: ¦ ^<user>:[secret]: ¦ ^#_*_*_<user>_<st>_<time>_#_<host> ¦ ^#_*_*_<user>_<st>_<time>_#_( ¦ ^#\_#_*_*_<user>_<st>_<time>_#_<host>
<mode>_#_<user>_*_ ¦ <mode>_#_*_<group>_ ¦ <mode>_<user>/*_#_ ¦ <mode>_*/<group>_#_ ¦ ^<user>_#_<dec>_<dec>_# ¦ ^<user>+_#_<dec>_<dec>_
^<user>_#_#_#_*_*_#:#:#_ ¦ ^<user>+_#_#_#_*_*_#:#:#_ ¦ ^#_<user>_#_#_*_*_*_S_ ¦ ^#_<user>_#_#_*_*_*_R_ ¦ ^<user>_pts/#_ ¦ ^<user>_tty#_
_pts/#_<host>_ ¦ ^<user> : <user>_ ¦ sudo:_<user> : ¦ sudo[#]:_<user> : ¦ su: (to *) <user> on ¦ CRON[#]: (<user>) ¦ invalid account <group>$
Postponed * for <user> from ¦ Accepted * for <user> from ¦ Failed * for <user> from ¦ Failed * for invalid user <user> from ¦ invalid user ~<user>~$
authenticating user <user>_ ¦  user ~<user>(uid ¦  user '<user>' ¦  user "<user>" ¦ (user <user>) ¦  user <user> not ¦  user <user> (
 for user <user>$ ¦  of user <user>$ ¦  as '<user>' ¦  set by <user>$ ¦ logged in as: ~<user>~$ ¦ logged in as: ~<user>~ (<group>)
logged in as ~<user>~$ ¦ Logged in as ~<user>~$ ¦ -by: <person> ¦ by: <person>$ ¦ Reported by <person> ¦ Regards,\n<person>$ ¦ regards,\n<person>$
Thanks,\n<person>$ ¦ ^-- \n<person>$ ¦ : ‘<user>’: no such user ¦ : '<user>': no such user ¦ <person>~ <*@*> ¦  by user <person>$ ¦ ^<user>:#:#$
[<user>@#-#-#T ¦ ^By <person>_ ¦ I'm <person>$ ¦ I am <person>$ ¦ my name is <person>$ ¦  NCCL INFO ...hostname <host> ¦ ^<host>:#:#_[#]_...NCCL_
^<host>:#:#_NCCL_ ¦ ^[<host>:#]_ ¦ ^<date> <host> *:_ ¦ ^<date>_<host> *[#]:_ ¦ Linux <host> #.#...# ¦ (<project>)_<user>@<host>:~
Hostname set to <<host>> ¦ server <host> not responding ¦ server <host> OK ¦ srun: error: <host>: task ¦  ON <host> CANCELLED ¦ ^[<user>@<host>_...]$
^[<user>@<host>_...]\# ¦ -> <host>:# ¦ ->*:#_ ¦ ^<ip>_<host>_ ¦ ^<ip>_<host>$ ¦ ^<host>,<ip>_<key> ¦ ^<host>_<key> ¦ ^Host_<host>$ ¦ ^Host_*_<host>
^HostName_<host>$ ¦ ^User_<user>$ ¦ ^ProxyJump_<user>@<host>$ ¦ ^ProxyJump_<host>$ ¦ id\_ed25519\_<group>$ ¦ id\_rsa\_<group>$
machine_*_login_<user>_password ¦ ^\# owner: <user>$ ¦ ^\# group: <group>$ ¦ ^user:<user>:<perm> ¦ ^group:<group>:<perm> ¦ uid=<user>,ou=
cn=<user>,ou= ¦ fatal: [<host>]: ¦ ok: [<host>] ¦ changed: [<host>] ¦ ^<host>_:_ok=# ¦ ^<host>%_ ¦ <user> at <host> in ~ ¦ ^<ip> - <user> [
:#:*:<user>:[ ¦ ^<host>_ansible\_ ¦ ^<host>__<clock> ¦  <user>(#M) ¦ ^Job\_Owner = <user>@<host> ¦ Job Name <<project>> ¦ User <<user>>
Project <<project>> ¦ Submitted from host <<host>> ¦ ^<host>_<path>_beegfs_ ¦ valid users = ...@<group>$ ¦ ^*/#_*_*_*_*_<user>_/
^\*/#_*_*_*_*_<user>_/ ¦ ^#_*_*_*_*_<user>_/ ¦ _#_#_*_*_*_<user>_/ ¦ \#SBATCH_...-A_<group>$ ¦ \#SBATCH_...-J_<project>$ ¦ \#SBATCH_...-w_<host>
\#PBS_...-P_<project>$ ¦ \#PBS_...-A_<group>$ ¦ \#PBS_-N_<project>$ ¦ \#BSUB_-P_<group>$ ¦ \#BSUB_-J_~<project> ¦ \#COBALT_-A_<group>$
\#\$_-P_<group>$ ¦ \#\$_-N_<project>$ ¦ srun_...-A_<group>$ ¦ salloc_...-A_<group>$ ¦ sbatch_...-A_<group>$ ¦ qsub_...-P_<group>$ ¦ srun_...-w_<host>
docker_run_...-h_<host>$ ¦ podman_run_...-h_<host>$ ¦ docker_run_...--name_<project>$ ¦ docker_login_...-u_<user>$ ¦ podman_login_...-u_<user>$
curl_...-u_<user>: ¦ ipmitool_...-H_<host>$ ¦ ipmitool_...-U_<user>$ ¦ racadm_...-u_<user>_ ¦ id_-u_<user>$ ¦ id_-g_<group>$ ¦ id_<user>$
su_-_<user>$ ¦ sudo_-u_<user>$ ¦ chown_-R_<user>:<group>_ ¦ chown_<user>:<group>_ ¦ ssh_-*_<user>@<host>$ ¦ ssh_...-l_<user>_ ¦ kubectl_...-n_<group>$
helm_...-n_<group>$ ¦ oc_...-n_<group>$ ¦ TTY=...USER=<user>_; ¦ quota for user <user>_ ¦ quotas for user <user>_ ¦ Node:_<host>/
 resolve host: <host>$ ¦  resolve host <host>$ ¦  resolve proxy: <host>$ ¦ Connect to <host>:# ¦ proxy.') to <host>:#
"""


def _compiled(form: str) -> tuple[str, Lazy]:
    """What a text must hold for it, and the pattern."""
    out = []
    plain = ""
    tokens = [found[0] for found in _TOKEN.finditer(form)]
    for number, token in enumerate(tokens):
        text = _LETTERS.get(token)
        if text is None and re.fullmatch(r"<\w+>", token):
            text = rf"(?:[A-Z][A-Z0-9-]{{1,14}}(?:\\\\?|\+))?(?P<{token[1:-1]}%d>{_NAME}?)(?=[^\w.-]|[.-](?:\W|\Z)|\Z)"
        if text is None:
            literal = ("\n" if token.endswith("n") else token[1:]) if re.fullmatch(r"\\.", token) else token
            text = re.escape(literal).replace("%", "%%")
            plain = max(plain, literal, key=len)
        elif "%d" not in text:
            text = text.replace("%", "%%")
        out.append(text.replace("%d", str(number)).replace("%%", "%"))
    start = r"(?<![\w.-])" if tokens[0][:1] == "<" or tokens[0][0].isalnum() else ""
    return plain, Lazy(start + "".join(out))


_ROWS = tuple(_compiled(form) for row in _FORMS.strip("\n").split("\n") for form in row.split(" ¦ "))


def rows(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each."""
    for hint, pattern in _ROWS:
        if hint not in text:
            continue
        for found in pattern.finditer(text):
            for group, value in found.groupdict().items():
                if value:
                    kind = group.rstrip("0123456789")
                    yield from (("user", name) for name in value.split(",")) if kind == "users" else ((kind, value),)
