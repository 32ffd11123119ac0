"""Names by their place in a line of a known form, each written as the line looks: `<user>`, `<group>`, `<host>`, `<project>`,
`<site>` are what is looked for, `_` is space, `#` a number, `*` a word, `~` a quote or none, `...` anything on the line.
A form with `!` is certain: what stands there is a name though it be an ordinary word, and its kind ends in `!`.

>>> sorted(rows("uid=1009(mia.k) gid=44(video)\\nsudo: tom : TTY=pts/1"))
[('group!', 'video', 23), ('user!', 'mia.k', 9), ('user!', 'tom', 36)]
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
    "<mode>": _MODE, "<date>": _DATE, "<ip>": r"(?:(?:\d{1,3}\.){3}\d{1,3}|(?:[\da-f]{0,4}:){2,7}[\da-f]{0,4}(?![\da-f.:]))", "<dec>": r"\d{1,4}\.\d", "<path>": r"[~/][^\s:]{0,200}", "<key>": r"(?:sk-)?(?:ssh|ecdsa)-\S{3,40} AAAA",
    "<st>": r"(?:R|PD|CG|CD|CF|CA|F|TO|S|NF|OOM)", "<time>": r"[\d:-]{3,14}", "<users>": rf"(?P<users%d>{_NAME}(?:,{_NAME}){{0,40}})", "<gecos>": rf"(?P<user%d>{_PERSON})?[^:\n]{{0,80}}",
    "<clock>": r"(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2})[^\n]{1,12}\d\d:\d\d", "<uid>": r"\d{4,10}", "<perm>": r"[r-][w-][xsStT-]",
}  # fmt: skip
_MEMBER = re.compile(r"[^,]+")
_TOKEN = re.compile(r"<(\w+)>|\.\.\.|[_#*~^$]|\\.|[^<._#*~^$\\]+|.")
_FORMS = r"""
!uid=#(<user>) ¦ !gid=#(<group>) ¦ !groups=#(<group>) ¦ !,#(<group>) ¦ !^<user>:x:<uid>:#:<gecos>:/ ¦ !^<group>:x:#:<users> ¦ ^<ip>_<host>
!<mode>_#_<user>_*_ ¦ !<mode>_#_*_<group>_ ¦ <mode>_<user>/*_#_ ¦ <mode>_*/<group>_#_ ¦ ^<user>_#_<dec>_<dec>_# ¦ ^<user>+_#_<dec>_<dec>_
!<user>_pts/#_ ¦ ^<host>:~ <user>\$ ¦ Syncing run <project> to <group>/<project>$ ¦ !<user> is not in the sudoers ¦ @<host> <project>]\$ ¦ !<user> : TTY= ¦ !Accepted * for <user> from ¦ !Failed * for <user> from ¦ ! user ~<user>(uid
Linux <host> #.#...# ¦ ^<date> <host> *:_ ¦ !^<date>_<host> *[#]:_ ¦ ^<host>,<ip>_<key> ¦ !^Host_<host>\n ¦ !^User_<user>$ ¦ [<user>@#-#-#T
<user> at <host> in ~ ¦ Node:_<host>/ ¦ <person>~ <*@*> ¦ !\#SBATCH_...-A_<group>$ ¦ srun: error: <host>: task ¦ !of user <user>.
"""


def _compiled(form: str) -> tuple[str, str, Lazy]:
    """What a text must hold for it, what its kinds end in, and the pattern."""
    certain = form[: form.startswith("!")]
    form = form.removeprefix("!")
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
    return plain, certain, Lazy(start + "".join(out))


_ROWS = tuple(_compiled(form) for row in _FORMS.strip("\n").split("\n") for form in row.split(" ¦ "))


def rows(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, name and place of each."""
    for hint, certain, pattern in _ROWS:
        if hint not in text:
            continue
        for found in pattern.finditer(text):
            for group, value in found.groupdict().items():
                if value:
                    kind, at = group.rstrip("0123456789") + certain, found.start(group)
                    if kind.startswith("users"):
                        yield from ((f"user{certain}", name[0], at + name.start()) for name in _MEMBER.finditer(value))
                    else:
                        yield kind, value, at
