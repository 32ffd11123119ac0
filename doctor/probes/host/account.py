"""Which account asks, by number, and the groups that matter for device nodes. Two files; no directory service.

On a tree or a capture of files there is no account; the groups that its etc/group names are still read.
"""

from __future__ import annotations

from doctor.facts.origin import State
from doctor.facts.sheet import FactSheet
from doctor.parsers.kernel import etc_group, etc_passwd
from doctor.parsers.kernel.etc_group import Group
from doctor.system.base import Reading, System

READS: tuple[str, ...] = ("account name", "file:etc/group name", "file:etc/passwd name")

_OF_INTEREST = ("render", "video", "docker", "nvidia", "vglusers")
_FILE_LIMIT = 4 << 20


def probe(system: System, sheet: FactSheet) -> None:
    account = system.account()
    for name in ("uid", "gid", "gids"):
        held = account.value.get(name) if account.known and account.value is not None else None
        if held is None:
            sheet.miss(f"account.{name}", account.state, account.source, account.detail)
        else:
            value = sorted({int(g) for g in held}) if name == "gids" else int(held)
            sheet.put(f"account.{name}", value, account.source)
    _user(system, sheet)
    _groups(system.read_text("etc/group", limit=_FILE_LIMIT).then(etc_group.read), sheet)


def _user(system: System, sheet: FactSheet) -> None:
    uid = sheet.get("account.uid")
    if uid is None:
        return
    users = system.read_text("etc/passwd", limit=_FILE_LIMIT).then(etc_passwd.read)
    if users.known and users.value is not None and uid in users.value:
        sheet.put("account.user", users.value[uid].name, users.source)
    elif users.known:
        sheet.absent("account.user", users.source, detail=f"no line for uid {uid}; a directory service may name it")
    else:
        users.into(sheet, "account.user")


def _groups(reading: Reading[tuple[Group, ...]], sheet: FactSheet) -> None:
    """`groups` keeps the few that device nodes can belong to, and those of this account: known to lack a name when that
    name is not among them."""
    if not reading.known or reading.value is None:
        reading.into(sheet, "account.groups")
        sheet.miss("account.member_of", reading.state, reading.source, reading.detail)
        return
    own = set(sheet.get("account.gids") or ())
    if (primary := sheet.get("account.gid")) is not None:
        own.add(primary)
    kept = {g.name: g.gid for g in reading.value if g.name in _OF_INTEREST or g.gid in own}
    sheet.put("account.groups", kept, reading.source)
    if sheet.get("account.gids") is not None:
        sheet.put("account.member_of", sorted(g.name for g in reading.value if g.gid in own), reading.source)
    else:
        sheet.miss("account.member_of", State.NOT_ASKED, reading.source, "whose groups: no account here")
