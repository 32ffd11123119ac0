"""What is known of a variable at one point: the alternatives, each with the steps that led to it.

One alternative is what must be; several are what may be. Nothing is guessed: a text that is computed when the program
runs has a hole in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from doctor.parsers.text.shell_lexer import HOLE

MOST_ALTERNATIVES = 6
MOST_NAMES = 2000
_MOST_CHANGES = 100_000
"""Of all variables on all ways, so that a hostile script takes neither the time nor the memory."""
MOST_PROCESSES = 400
_LONGEST_WAY = 16


class Step(NamedTuple):
    """One thing that happened to a variable, and where it stands."""

    file: str
    line: int
    what: str
    id: str = ""
    """Of a step that takes it away or replaces it: what a finding is called by."""


class Alt(NamedTuple):
    """One of the things that a variable may be."""

    text: str | None
    """None: not set, or what the caller has."""
    exported: Literal["yes", "no", "outer"] = "no"
    """outer: it is exported where the caller had it already."""
    steps: tuple[Step, ...] = ()
    outer: Literal["", "any", "set", "image"] = ""
    """any: as the caller has it, if at all; set: what the caller has, where it has it; image: not set, unless the image
    of the container sets it."""
    when: str = ""
    """A variable that the caller must have for this to be so; a text that is not known is then its value."""

    def after(self, step: Step, **changes: object) -> Alt:
        steps = self.steps if self.steps[-1:] == (step,) else (*self.steps, step)[-_LONGEST_WAY:]
        return self._replace(steps=steps, **changes)  # type: ignore[arg-type]


Held = tuple[Alt, ...]
OUTER: Held = (Alt(None, "outer", (), "any"),)
UNSET: Held = (Alt(None),)


def joined(*several: Iterable[Alt]) -> Held:
    """Alternatives of several ways: each once; too many become one that is not known."""
    found: dict[tuple[object, ...], Alt] = {}
    for held in several:
        for alt in held:
            found.setdefault((alt.text, alt.exported, alt.outer, alt.when), alt)
    if len(found) > MOST_ALTERNATIVES:
        first = next(iter(found.values()))
        return (first._replace(text=HOLE, exported="yes", outer="", when=""), Alt(None))
    return tuple(found.values())


def unless_set(before: Held, new: Alt, *, surely: bool = True) -> Held:
    """A default: it counts where nothing is set."""
    made: list[Alt] = []
    for alt in before:
        one = new._replace(steps=(*alt.steps, *new.steps))
        if alt.outer in ("any", "image"):
            made += [alt._replace(outer="set") if surely else alt, one]
        elif alt.text is None and not alt.outer:
            made += [one] if surely else [alt, one]
        else:
            made.append(alt)
    return joined(made)


@dataclass
class Sees:
    """The environment of one process. `base` holds for every name that is not in `held`."""

    base: Held
    held: dict[str, Held] = field(default_factory=dict)

    def of(self, name: str) -> Held:
        return self.held.get(name, self.base)

    def copy(self) -> Sees:
        return Sees(self.base, dict(self.held))

    def or_(self, other: Sees) -> Sees:
        names = self.held.keys() | other.held.keys()
        return Sees(joined(self.base, other.base), {name: joined(self.of(name), other.of(name)) for name in names})

    def put(self, name: str, text: str | None, step: Step) -> None:
        self.held[name] = (Alt(text, "yes", (step,)),)

    def add(self, name: str, held: Held, step: Step) -> None:
        self.held[name] = tuple(alt.after(step) for alt in held)

    def may_be(self, step: Step, *names: str) -> None:
        """Something may set them, or leave them."""
        for name in names:
            self.held[name] = joined(self.of(name), (Alt(HOLE, "yes", (step,)),))

    def may_have(self, step: Step) -> None:
        """Variables may come along that are not known."""
        self.base = (*self.base, Alt(HOLE, "yes", (step,)))

    def may_change(self, step: Step) -> None:
        """So may any that is known."""
        self.may_be(step, *(name for name in self.held if not name.startswith("\0")))
        self.may_have(step)

    def cleared(
        self,
        step: Step,
        keeps: Callable[[str], bool] = lambda _name: False,
        base: Held | None = None,
        outer: Literal["", "image"] = "",
    ) -> Sees:
        """Without what is not kept; of what goes, the step is remembered."""
        kept = {n: held for n, held in self.held.items() if keeps(n) or n.startswith("\0")}  # \0: a file's text
        gone = {n: tuple(_gone(a, step, outer) for a in held) for n, held in self.held.items() if n not in kept}
        return Sees((Alt(None, "no", (step,), outer),) if base is None else base, {**gone, **kept})

    def unknown(self, step: Step) -> Sees:
        """Whether anything arrives is not known."""
        hole = Alt(HOLE, "yes", (step,))
        held = {
            n: joined((a.after(step) for a in alts), (hole, Alt(None, "no", (step,))))
            for n, alts in self.held.items()
            if not n.startswith("\0")
        }
        return Sees((*OUTER, hole), held)


def _gone(alt: Alt, step: Step, outer: Literal["", "image"]) -> Alt:
    kept = (alt.exported == "outer" or alt.text is None) and not alt.outer  # what is not exported is not lost here
    return (alt if kept else alt.after(step))._replace(text=None, exported="no", outer=outer, when="")


class Env:
    """A shell's variables: what this shell set lies over what the shell around it has."""

    __slots__ = ("allexport", "base", "count", "dead", "exited", "own", "parent", "seen", "smear_step", "smears")

    def __init__(self, base: Sees, parent: Env | None = None) -> None:
        self.base, self.parent = base, parent
        self.own: dict[str, tuple[Held, int]] = {}
        self.dead = self.exited = False
        self.allexport: bool | None = parent.allexport if parent else False
        self.smears: int = parent.smears if parent else 0
        self.smear_step: Step | None = parent.smear_step if parent else None
        self.count: list[int] = parent.count if parent else [0]
        self.seen: set[str] = parent.seen if parent else set()

    def fork(self) -> Env:
        return Env(self.base, self)

    def get(self, name: str) -> Held:
        env: Env | None = self
        while env is not None:
            if found := env.own.get(name):
                return self._smeared(*found)
            env = env.parent
        return self._smeared(tuple(_inherited(alt) for alt in self.base.of(name)), 0)

    def _smeared(self, held: Held, stamp: int) -> Held:
        step = self.smear_step
        if step is None or stamp >= self.smears:
            return held
        return joined(held, (Alt(HOLE, "yes", ((*held[0].steps, step) if held else (step,))),))

    def put(self, name: str, held: Held) -> None:
        if name not in self.own:
            self.count[0] += 1
            self.seen.add(name) if len(self.seen) < MOST_NAMES else None
            if name not in self.seen or self.count[0] > _MOST_CHANGES:
                self.smear(Step(*held[0].steps[-1][:2] if held[0].steps else ("", 0), "too many variables to follow"))
                return
        self.own[name] = (held, self.smears)

    def smear(self, step: Step) -> None:
        """Something that is not read runs in this shell: every variable may change."""
        self.smears, self.smear_step = self.smears + 1, step

    def names(self) -> set[str]:
        found: set[str] = set(self.base.held)
        env: Env | None = self
        while env is not None:
            found |= env.own.keys()
            env = env.parent
        return found

    def take(self, *ends: Env) -> None:
        """Goes on from where one of the ends left off; those that ended the shell do not count."""
        alive = [end for end in ends if not end.dead]
        if not alive:
            self.dead, self.exited = True, all(end.exited for end in ends)
            return
        names = {name for end in alive for name in _touched(end, self)}
        last = max(alive, key=lambda end: end.smears)
        merged = {name: joined(*(end.get(name) for end in alive)) for name in names}
        self.smears, self.smear_step = last.smears, last.smear_step
        for name, held in merged.items():
            self.put(name, held)
        ways = {end.allexport for end in alive}
        self.allexport = ways.pop() if len(ways) == 1 else None

    def flat(self, until: Env) -> Env:
        """The same as one layer right above `until`, which later changes of this one do not reach."""
        made = until.fork()
        made.smears, made.smear_step = self.smears, self.smear_step
        for name in _touched(self, until):
            made.put(name, self.get(name))
        made.allexport = self.allexport
        return made

    def sees(self, step: Callable[[str], Step]) -> Sees:
        """What a program that is started here gets. `step` makes the one of a variable that stays in the shell."""
        made = Sees(self.base.base)
        if self.smears:
            made.base = self._smeared(made.base, 0)
        for name in self.names():
            made.held[name] = tuple(
                a.after(step(name), text=None, outer="") if a.exported == "no" and a.text is not None else a
                for a in self.get(name)
            )
        return made


def _inherited(alt: Alt) -> Alt:
    """What a shell makes of its environment; what came along only if the caller had it has no sure text."""
    if alt.text is None:
        return alt
    return alt._replace(text=HOLE) if alt.exported == "outer" else alt._replace(exported="yes")


def _touched(env: Env, until: Env) -> set[str]:
    found: set[str] = set()
    walk: Env | None = env
    while walk is not None and walk is not until:
        found |= walk.own.keys()
        walk = walk.parent
    return found


class Process(NamedTuple):
    """A program that the file starts. One point of the file is one process, however often it is passed."""

    file: str
    line: int
    label: str
    where: str
    """In which container, on which machines; "" here."""
    sees: Sees
