"""Names in the columns of a table: what `squeue`, `sacct`, `ps`, `kubectl get`, `docker ps`, `lsof` print under a header.
The header says what a column holds, so a tool that nobody thought of is read as well.

A kind that ends in `!` is certain: what stands there is a name though it be an ordinary word.

>>> sorted(cells("  PID USER      PR COMMAND\\n   12 mia.k     20 python\\n"))
[('user!', 'mia.k', 33)]
>>> sorted(cells("User|Account|State\\nmia|fusion2|FAILED\\n"))
[('group!', 'fusion2', 23), ('user!', 'mia', 19)]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator
from itertools import accumulate
from typing import NamedTuple

from doctor.redaction.lazy import Lazy

_COLUMNS = {
    title: kind
    for kind, titles in {
        "user!": "user users username uid owner login username user_name submitter euser ruser",
        "group!": "account accounts",
        "group": "group namespace egroup project org",
        "host!": "nodelist nodelist(reason) node nodename hostname hostnames host exec_host from_host submit_host from nodes nodelist(reason)",
        "site": "cluster",
        "serial": "serial serial_number",
        "project": "batch_name jobname job_name names name volume",
    }.items()
    for title in titles.split()
}
_OTHERS = frozenset(
    "pid ppid cpu mem vsz rss tty stat start time command cmd cputime st state status partition jobid job_id job id timelimit avail"
    " qos priority reason age ready restarts ip image ports created fd type device size access ni pr virt res shr s gpu gpu-mem queue"
    " submit start_time end elapsed exitcode alloccpus share rawshares normshares jcpu pcpu idle login what features gres c stime roles version data"
    " schedulable nlwp psr args used uid slots tres limit submit_time cpus container nodes class address capacity modes storageclass external-ip internal-ip"
    " internal_ip external_ip zone machine_type location batch_name submitted done run total job_ids prior seat session refer mountpoint ntasks nnodes info"
    " timestamp util memory temperature desired available cluster-ip completions duration resourcegroup error endpoint description network energy ntasks".split()
)
_NAME_OF_JOB = frozenset(
    ("jobid", "job_id", "job-id", "job", "ready", "restarts", "age", "names", "zone", "location", "refer", "endpoint")
)
"""Titles beside which `NAME` is a job's or a pod's, and no file's or device's."""
_NUMBERS = frozenset(
    "pid ppid jobid job_id job-id jobs cpu mem time age nodes restarts vsz rss size timestamp internal_ip".split()
)
_WORD = Lazy(r"\S+")
_EDGE = "|│║ "
_NOISE = Lazy(r"[(%].*|\+")
_NUMBER = Lazy(r"\d\d")
_DASHES = Lazy(r"[-=]{2,}")
_RULE = Lazy(r"[\s|+│=_─-]+")


class _Header(NamedTuple):
    """The titles with their places, what each column names, the sign between columns, and whether all titles are known."""

    titles: tuple[tuple[str, int, int], ...]
    kinds: tuple[str, ...]
    sign: str
    known: bool


def cells(text: str) -> Iterator[tuple[str, str, int]]:
    """Kind, name and place of each cell below a title that says what it names."""
    if "\n" not in text:
        return
    header: _Header | None = None
    place = 0
    for line in text.split("\n"):
        start, place = place, place + len(line) + 1
        if len(line) > 600:
            continue
        if found := _header(line):
            header = found
        elif header and _RULE.fullmatch(line):
            dashes = [found.span() for found in _DASHES.finditer(line)]
            if len(dashes) == len(header.titles):  # they say how wide the columns are
                titles = tuple((t, *span) for (t, _, _), span in zip(header.titles, dashes, strict=True))
                header = header._replace(titles=titles)
        elif header:
            row = _row(line, header)
            header = header if row else None
            for kind, (cell, at) in zip(header.kinds if header else (), row, strict=False):
                if kind and cell:
                    yield kind, cell, start + at


def _header(line: str) -> _Header | None:
    if len(line) < 8 or "=" in line or "/" in line[:3] or _NUMBER.search(line):
        return None
    low = line.lower().rstrip()
    sign = "|" if low.strip(_EDGE).count("|") > 1 else "," if low.count(",") > 1 else ""
    if sign:
        titles = [(t.strip(), 0, 0) for t in low.strip("|").split(sign)]
    else:
        titles = [(w[0].strip(_EDGE), *w.span()) for w in _WORD.made.finditer(low) if w[0].strip(_EDGE)]
    titles = [(_NOISE.sub("", t), start, end) for t, start, end in titles]
    names = {t for t, _, _ in titles}
    known = sum(t in _COLUMNS or t in _OTHERS for t, _, _ in titles)
    shouted = line.upper() == line
    if (
        known < 3 - shouted
        or known * (2 if shouted else 3) < len(titles) * (1 if shouted else 2)
        or not names & _OTHERS
    ):
        return None
    kinds = [_COLUMNS.get(t, "") if t != "name" or names & _NAME_OF_JOB else "" for t, _, _ in titles]
    return _Header(tuple(titles), tuple(kinds), sign, known == len(titles)) if any(kinds) else None


def _row(line: str, header: _Header) -> list[tuple[str, int]]:
    """The cell of each column and where it begins, "" where there is none; empty for a line that is no row of this table: its words neither stand
    below the titles nor are as many, with numbers where numbers belong."""
    width = len(header.titles)
    if header.sign:
        parts = line.strip("|").split(header.sign)
        ends = accumulate((len(p) + 1 for p in parts), initial=len(line) - len(line.lstrip("|")))
        return [(p.strip(), at + len(p) - len(p.lstrip())) for p, at in zip(parts, ends, strict=False)] * (
            len(parts) == width
        )
    words = [(w[0], *w.span()) for w in _WORD.made.finditer(line) if w[0].strip(_EDGE)]
    if header.known and len(words) == width:
        return [(word, at) for word, at, _ in words]
    none = ("", 0)
    out = [next(((w, s) for w, s, e in words if s == start or e == end), none) for _, start, end in header.titles]
    under = [[(w, s) for w, s, e in words if s < end and e > start] for _, start, end in header.titles]
    each_under_one = sorted(w for cell in under for w in cell) == sorted((w, s) for w, s, _ in words)
    if sum(cell != none for cell in out) * 2 >= width + 1 or (
        header.known and each_under_one and max(map(len, under)) == 1 and len(words) > 1
    ):
        return [cell if cell != none or len(below) != 1 else below[0] for cell, below in zip(out, under, strict=True)]
    places = [n for n, (title, _, _) in enumerate(header.titles) if title in _NUMBERS and n < len(words)]
    if places and len(words) >= width and all(any(map(str.isdigit, words[n][0])) for n in places if n < places[0] + 2):
        plain = len(words) == width
        return [words[n][:2] if plain or n <= places[-1] + 1 else none for n in range(width - 1)] + [words[-1][:2]]
    return []
