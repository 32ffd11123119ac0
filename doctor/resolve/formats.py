"""An answer -> text for people, JSON, a requirements file, a project for uv, lines of a Dockerfile."""

from __future__ import annotations

import datetime
import json
import shlex
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any

from packaging.requirements import Requirement

from doctor.knowledge.age import LIMIT_DAYS, days_old
from doctor.resolve.model import Solution
from doctor.resolve.packages import FAMILY
from doctor.resolve.resolver import question, torch_index
from doctor.resolve.solve import explain


def as_text(found: Solution, today: datetime.date) -> str:
    return "\n".join(_text(found, today)) + "\n"


def _text(found: Solution, today: datetime.date) -> Iterator[str]:
    yield _headline(found)
    for need in found.needs:
        yield f"  needs {need}"
    yield from _commands(found)
    if found.kept:
        yield f"  keeps {', '.join(found.kept)}, as installed"
    if found.status == "solved":
        yield from (f"  not the newest: {line}" for line in found.passed_over)
    else:
        decisive = found.refusals() or tuple(r for r in found.reasons if r.verdict == "unknown")
        yield from (f"  {r.text}{_source(r.source, r.as_of)}" for r in dict.fromkeys(decisive))
        yield from _ways_out(found)
    yield from _support(found)
    for pick in found.picks:
        if pick.note and found.status == "solved":
            yield f"  note: {pick.package}: {pick.note}"
    yield from _dated(found, today)
    if found.knowledge.get("file"):
        yield f"  knowledge: release {found.knowledge['release']} of {found.knowledge['file']}"


def _headline(found: Solution) -> str:
    """The answer in a line; the reasons for another one than "runs" follow it."""
    if found.status == "solved":
        return explain(found)
    asked, machine = ", ".join(found.asked), found.target.words()
    return f"{asked}: nothing fits {machine}" if found.status == "impossible" else f"{asked}: not known for {machine}"


def _ways_out(found: Solution) -> Iterator[str]:
    yield from (f"  would fit with {c.text}: {c.stack}" for c in found.changes)
    if found.nearest:
        yield f"closest stack that fits ({found.differs}): {found.nearest.stack}"
        yield from _commands(found.nearest)
    elif found.status == "impossible" and not found.changes:
        yield "  the knowledge base has no other release that fits, and no change of the machine that would help"


def _support(found: Solution) -> Iterator[str]:
    """Who supports a GPU that AMD does not list, the official one first, and what its owners do at last."""
    if found.support:
        yield f"  support of {found.target.arch}:"
        yield from (f"    {sentence}" for sentence, _ in found.support)
    if own := found.unofficial:
        yield f"    with {own.variable}: {own.stack}, {own.resolution.words}"
        yield from (f"    $ {shlex.join(command)}" for command in own.commands)


def _commands(found: Solution) -> Iterator[str]:
    yield from (f"  $ {shlex.join(command)}" for command in found.commands)
    if found.commands:
        yield f"  {found.resolution.words}"


def _dated(found: Solution, today: datetime.date) -> Iterator[str]:
    """How old the oldest fact is; a warning where newer releases are likely to exist."""
    if oldest := found.rests_on:
        days = days_old(oldest.as_of, today)
        yield f"  newest known as of {oldest.as_of}, from {_short(oldest.source)}"
        if days > LIMIT_DAYS:
            yield f"  warning: that is {days} days ago; newer releases or drivers may exist"
    elif found.knowledge:
        yield f"  knowledge base of {found.knowledge['as_of']}"


def _short(source: str) -> str:
    """The first of several sources, in one line of bearable length."""
    return textwrap.shorten(source.partition(";")[0], 100, placeholder=" …")


def _source(source: str, as_of: str) -> str:
    return f" [{_short(source)}{f', {as_of}' if as_of else ''}]" if source else ""


def as_data(found: Solution) -> dict[str, Any]:
    """`doctor.solution/1`."""

    def plain(one: Solution) -> dict[str, Any]:
        data = asdict(one)
        data["target"].pop("installed")  # of the whole environment, `kept` says what matters
        data["stack"], data["summary"] = one.stack, explain(one)
        data["rests_on"] = {"as_of": one.rests_on.as_of, "source": one.rests_on.source} if one.rests_on else None
        data["nearest"] = plain(one.nearest) if one.nearest else None
        return data

    return {"schema": "doctor.solution/1", **plain(found)}


def as_json(found: Solution) -> str:
    return json.dumps(as_data(found), indent=2) + "\n"


def requirements(found: Solution) -> str:
    """For `pip install -r` and `uv pip install -r`."""
    lines = _head(found)
    if found.commands and (about := question(found)):
        lines += [f"--extra-index-url {url}" for url in about.indexes]
        lines += about.requirements
    return "\n".join(lines) + "\n"


def uv_project(found: Solution) -> str:
    """A pyproject.toml whose torch comes from its own index and from no other."""
    about = question(found) if found.commands else None
    wanted = about.requirements if about else ()
    python = found.target.python
    lines = [*_head(found), "[project]", 'name = "stack"', 'version = "0"']
    lines += [f"requires-python = {_toml(f'=={python}.*')}"] if python else []
    lines += ["dependencies = [", *(f"    {_toml(w)}," for w in wanted), "]"]
    # What an AMD wheel asks for lies beside it alone, and such an index answers 403 for what it lacks.
    only = "ignore-error-codes = [403]" if found.target.vendor == "amd" else "explicit = true"
    for number, url in enumerate(about.indexes if about else ()):
        lines += ["", "[[tool.uv.index]]", f'name = "index-{number}"', f"url = {_toml(url)}", only]
    names = _of_indexes(found) if found.commands else []
    lines += ["", "[tool.uv.sources]", *(f'{name} = {{ index = "index-{n}" }}' for name, n in names)] if names else []
    return "\n".join(lines) + "\n"


def dockerfile(found: Solution) -> str:
    """RUN lines in exec form: no shell reads them."""
    return "\n".join([*_head(found)[:2], *(f"RUN {json.dumps(list(command))}" for command in found.commands)]) + "\n"


def _of_indexes(found: Solution) -> list[tuple[str, int]]:
    """Which package comes from which further index: torch and its family from torch's, the others from their own."""
    about = question(found)
    if about is None or not about.indexes:
        return []
    own = {Requirement(p.requirement.split()[0]).name: p.index[0] for p in found.picks if p.index and p.requirement}
    if ours := torch_index(found):
        own |= dict.fromkeys((*FAMILY, *(p.package for p in found.picks if p.from_torch)), ours)
    names = [Requirement(wish).name for wish in about.requirements]
    return [(name, about.indexes.index(own[name])) for name in names if name in own]


def _head(found: Solution) -> list[str]:
    """What it is, and what is to be installed after it, since it is compiled against the torch that is there."""
    compiled = {p.requirement.partition(" ")[0] for p in found.picks if p.compiled}
    after = [f"# then, compiled on the machine: {shlex.join(c)}" for c in found.commands if compiled & {*c}]
    return [f"# {_line(explain(found))}", f"# {_line(found.resolution.words)}", *after]


def _line(text: str) -> str:
    return " ".join(text.split())


def _toml(text: str) -> str:
    return json.dumps(text)  # a JSON string is a TOML string


FORMATS: dict[str, Callable[[Solution], str]] = {
    "text": lambda found: as_text(found, datetime.date.today()),
    "json": as_json,
    "requirements": requirements,
    "uv": uv_project,
    "dockerfile": dockerfile,
}
