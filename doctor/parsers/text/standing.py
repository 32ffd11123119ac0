"""Whose a thing is that a sentence names: this machine's, another's, one that is wished for, was there, or was tried.

A line is cut into clauses, and a few closed lists of words decide each. What is unclear is not about this machine.

>>> from doctor.parsers.text.tokens import tokens
>>> row = tokens("it works on an RTX 3090, but my 4090 crashes (in the container)")
>>> [(c.standing.value, c.mine, c.side) for c in clauses(row)]
[('away', False, ''), ('here', True, ''), ('here', True, 'container')]
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import pairwise

from doctor.parsers.text.tokens import Token, closed


class Standing(Enum):
    HERE = "here"
    AWAY = "away"
    """Another machine, or a setup reported to work."""
    WISHED = "wished"
    """Asked for, needed, recommended, supposed."""
    PAST = "past"
    TRIED = "tried"


@dataclass
class Clause:
    """`first` to before `last` in the line's tokens. `side`: `host`, `container` or "" if unknown."""

    first: int
    last: int
    standing: Standing = Standing.HERE
    mine: bool = False
    side: str = ""


_CUT = frozenset(";,()—–")
_STOP = frozenset(".!?")
_TURN = frozenset(("but", "while", "whereas", "though", "although", "however"))
_NO = closed("not no never cannot without neither nor nothing none nobody t")
"""`t`: what is left of `doesn't` and `can't` behind the apostrophe."""
_WORK = frozenset(("work", "works", "worked", "working", "run", "runs", "ran", "running", "fine"))
_AFTER_WORK = closed("on with for in under fine well great perfectly flawlessly here")
_PRAISE = frozenset(("fine", "well", "great", "perfectly", "flawlessly", "smoothly", "correctly"))
_OTHERS = closed(
    "friend friends colleague colleagues coworker buddy elsewhere paper authors unlike versus vs compared "
    "someone somebody others whereas anyone anybody people users"
)
_OTHER = frozenset(("other", "another", "different", "separate"))
_WISHES = closed(
    "need needs needed require requires required requirement requirements recommend recommends recommended "
    "would should could want wants wish plan planning consider considering thinking buy buying hope hoping "
    "please minimum suggest suggested must supporting requested proposal future upcoming planned expects "
    "expected if whether"
)
_MAY_SERVE = frozenset(("support", "supports", "supported", "compatible", "compatibility"))
_BEFORE = frozenset(("before", "previously", "until", "earlier", "formerly", "used", "since", "initially"))
_TRIES = frozenset(("try", "tried", "tries", "trying", "attempted", "tested", "testing"))
_CHANGED = closed(
    "upgraded updated upgrading updating downgraded downgrading switched switching moved moving migrated "
    "migrating bumped"
)
_CHANGE = frozenset(("upgrade", "update", "downgrade", "switch", "move", "bump", "revert", "reverting", "reverted"))
_INSTALLS = frozenset(("pip", "pip3", "uv", "conda", "mamba", "apt", "pacman", "dnf", "npm"))
_BUILT = frozenset(("built", "compiled", "made", "targets", "targeting", "prebuilt"))
_AGAINST = frozenset(("for", "with", "against"))
_ASKS = closed("does do did is are can will would could should has any anyone")
_MINE = frozenset(("my", "our", "mine", "ours"))
_I = frozenset(("i", "we"))
_HAVE = closed("have ve own use m am using got run running bought")
_CONTAINER = closed(
    "container containers docker image pod podman apptainer singularity lxc distrobox toolbox devcontainer"
)
_HOST = frozenset(("host", "hypervisor", "host's", "baremetal"))
_WITHIN = closed("in inside within into the a my of image s :")
_VERBS = closed(
    "is are was has have does do i we it fails crashes hangs my shows says gives gets sees now here fail crash "
    "hang dies"
)


def clauses(row: list[Token]) -> list[Clause]:
    """In order, covering all tokens but the signs that cut them."""
    found: list[Clause] = []
    first = 0
    opened: list[Clause] = []
    opener = ""
    for at in range(len(row) + 1):
        cut = at == len(row) or _cuts(row, at)
        if not cut:
            continue
        if at > first:
            clause = _judged(row, first, at)
            _inherit(row, clause, found[-1] if found else None, opener, opened)
            found.append(clause)
        if at < len(row):
            opener = row[at].low
            if opener == "(" and found:
                opened.append(found[-1])
            elif opener == ")" and opened:
                opened.pop()
            elif opener in _STOP:
                opened.clear()
        first = at if at < len(row) and row[at].low in _TURN else at + 1
    return found


def _cuts(row: list[Token], at: int) -> bool:
    token = row[at]
    if token.text in _CUT or (token.low in _TURN and at > 0):
        return True
    if token.text in _STOP or token.text[0] in "。，；！？、（）":
        return at + 1 >= len(row) or not row[at + 1].glued or not token.text.isascii()
    return False


def _inherit(row: list[Token], clause: Clause, last: Clause | None, opener: str, opened: list[Clause]) -> None:
    """What is in brackets is of what is before them; so are the further members of a list."""
    if opener == "(" and opened:
        last = opened[-1]
    elif opener != ",":
        return
    if last is None:
        return
    listed = clause.last - clause.first <= 8 and not any(t.low in _VERBS for t in row[clause.first : clause.last])
    if clause.standing is Standing.HERE and (opener == "(" or listed):
        clause.standing = last.standing
        clause.side = clause.side or last.side
        clause.mine |= last.mine and opener == "("


def _judged(row: list[Token], first: int, last: int) -> Clause:
    words = [token.low for token in row[first:last]]
    held = set(words)
    clause = Clause(first, last, mine=bool(held & _MINE) or (bool(held & _I) and bool(held & _HAVE)))
    clause.side = _side(words)
    no = bool(held & _NO)
    if _elsewhere(words, no):
        clause.standing = Standing.AWAY
    elif held & _TRIES:
        clause.standing = Standing.TRIED
    elif _wished(words, held, no) or (last < len(row) and row[last].text == "?" and words[0] in _ASKS):
        clause.standing = Standing.HERE if clause.mine and not held & _INSTALLS else Standing.WISHED
    elif held & _BEFORE and not no and not held & {"since"}:
        clause.standing = Standing.PAST
    return clause


def _elsewhere(words: list[str], no: bool) -> bool:
    if "same" in words and not no and any(word in _WORK for word in words):
        return True
    for at, word in enumerate(words):
        if word in _OTHERS:
            return True
        if word in _OTHER and any(w in _MACHINES for w in words[at + 1 : at + 3]):
            return True
        if word in _WORK and not no:
            behind = words[at + 1 : at + 2]
            if word == "fine" or any(w in _PRAISE for w in words[at + 1 : at + 4]):
                return True
            if word in ("works", "worked") and (not behind or behind[0] in _AFTER_WORK):
                return True
    return False


_MACHINES = closed(
    "machine pc computer box server system laptop node host rig card workstation gpu gpus one user person desktop"
)


def _wished(words: list[str], held: set[str], no: bool) -> bool:
    if held & _WISHES or (held & _MAY_SERVE and not no):
        return True
    if held & _INSTALLS and held & {"install", "add", "upgrade"}:
        return True
    if held & _CHANGE and "to" in held and not held & {"after", "since", "the", "an"}:
        return True
    pairs = pairwise(words)
    return not no and any(word in _BUILT and behind in _AGAINST for word, behind in pairs)


def wishes(row: list[Token], clause: Clause) -> bool:
    """Whether something is needed or supposed there, and not only reported to work."""
    held = {token.low for token in row[clause.first : clause.last]}
    return bool(held & _WISHES) or not held.isdisjoint(("after", "before", "newer"))


def _side(words: list[str]) -> str:
    for at, word in enumerate(words):
        if word in _CONTAINER and any(w in _WITHIN for w in words[max(at - 3, 0) : at]):
            return "container"
        if word in _HOST and (at + 1 == len(words) or words[at + 1] not in ("name", "memory", "compiler")):
            return "host"
    return "container" if words and words[0] == "container" else ""


def at_token(row: list[Token], of: Sequence[Clause], at: int) -> Clause:
    """The clause of a token, with what the words right before it say: `not a V100`, `upgraded from 550 to 570`."""
    place = bisect_right(of, at, key=lambda clause: clause.first) - 1
    clause = of[place] if place >= 0 else Clause(at, at + 1)
    standing = clause.standing
    before = [token.low for token in row[max(clause.first, at - 4) : at]]
    changed = any(token.low in _CHANGED or token.low in _CHANGE for token in row[max(clause.first, at - 40) : at])
    if standing is Standing.HERE and (_COMPARES & set(before) or "like" in before[-2:] or _denied(before)):
        standing = Standing.AWAY
    elif {"since", "until"} & set(before) or (changed and "from" in before[-3:] and "to" not in before[-2:]):
        standing = Standing.PAST
    return Clause(clause.first, clause.last, standing, clause.mine, clause.side)


def _denied(before: list[str]) -> bool:
    """`not on a V100`, `no AMD`: a denial with nothing but small words up to the name."""
    while before and before[-1] in _SMALL:
        before = before[:-1]
    return bool(before) and before[-1] in ("not", "no", "without", "neither", "nor")


_SMALL = closed("a an the on with for in any of my just only")
_COMPARES = frozenset(("than", "instead"))
