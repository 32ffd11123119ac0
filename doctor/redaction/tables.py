"""Names in the columns of a table: what `squeue`, `sacct`, `ps`, `kubectl get`, `docker ps`, `lsof` print under a header.
The header says what a column holds, so a tool that nobody thought of is read as well.

>>> sorted(cells("  PID USER      PR COMMAND\\n   12 mia.k     20 python\\n"))
[('user', 'mia.k')]
>>> sorted(cells("User|Account|State\\nmia|fusion2|FAILED\\n"))
[('group', 'fusion2'), ('user', 'mia')]
"""

# ruff: noqa: E501, SIM905 -- tables
from __future__ import annotations

from collections.abc import Iterator

from doctor.redaction.lazy import Lazy

_COLUMNS = {
    title: kind
    for kind, titles in {
        "user": "user users username uid owner login username user_name submitter euser ruser",
        "group": "account group namespace egroup project org accounts",
        "host": "nodelist nodelist(reason) node nodename hostname hostnames host exec_host from_host submit_host from nodes nodelist(reason)",
        "site": "cluster",
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
_WORD = Lazy(r"\S+")
_EDGE = "|│║ "
_NOISE = Lazy(r"[(%].*|\+")
_RULE = Lazy(r"[\s|+│=_─-]+")


def cells(text: str) -> Iterator[tuple[str, str]]:
    """Kind and name of each cell below a title that says what it names."""
    if "\n" not in text:
        return
    columns: list[tuple[str, int, int, int]] = []
    sign, width = "", 0
    for line in text.split("\n"):
        if len(line) > 600:
            continue
        found = _header(line)
        if found:
            columns, sign, width = found
        elif not line.strip(_EDGE):
            columns = []
        elif columns and not _RULE.fullmatch(line):
            yield from _row(line, columns, sign, width)


def _header(line: str) -> tuple[list[tuple[str, int, int, int]], str, int] | None:
    """Kind, start, end and number of each column that holds names, and the sign between columns."""
    if not len(line) >= 8 or "=" in line or "/" in line[:3]:
        return None
    low = line.lower().rstrip()
    sign = "|" if low.strip(_EDGE).count("|") > 1 else "," if low.count(",") > 1 else ""
    if sign:
        titles = [(t.strip(), 0, 0) for t in low.strip("|").split(sign)]
    else:
        titles = [(w[0].strip(_EDGE), *w.span()) for w in _WORD.made.finditer(low)]
        titles = [t for t in titles if t[0]]
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
    columns = [
        (_COLUMNS[t], start, end, number)
        for number, (t, start, end) in enumerate(titles)
        if t in _COLUMNS and (t != "name" or names & _NAME_OF_JOB)
    ]
    return (columns, sign, len(titles)) if columns else None


def _row(line: str, columns: list[tuple[str, int, int, int]], sign: str, width: int) -> Iterator[tuple[str, str]]:
    if sign:
        parts = [p.strip() for p in line.strip("|").split(sign)]
        yield from ((kind, parts[n]) for kind, _, _, n in columns if n < len(parts) and parts[n])
        return
    words = [(w[0], *w.span()) for w in _WORD.made.finditer(line)]
    for kind, start, end, number in columns:
        under = [w for w, s, e in words if s < end and e > start]
        if len(under) == 1:
            yield kind, under[0]
        elif not under and number < len(words) and len(words) >= width:
            yield kind, words[-1 if number == width - 1 else number][0]
