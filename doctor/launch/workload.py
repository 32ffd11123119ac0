"""What a profile's workload needs of its container, and the variables that it sets where it runs."""

from __future__ import annotations

from collections.abc import Iterator

from doctor.launch.names import size
from doctor.launch.spec import Part
from doctor.profiles import Profile


def parts(profile: Profile) -> Iterator[Part]:
    """Flags of class safe-default are in the image already; those that hold only at times are the user's to set."""
    for need in profile.need:
        if need.only is None:
            yield _part(need.kind, need.value, f"{need.why} ({profile.name})")
    for flag in profile.flag:
        if flag.kind == "workload":
            yield Part("env", f"{flag.name}={flag.value}", f"{flag.why} ({profile.name})")


def hints(profile: Profile) -> Iterator[str]:
    """What is passed only at times, and when that is: the user knows, the machine does not tell."""
    for need in profile.need:
        if need.only is not None:
            yield f"{need.kind} {need.value}, where {need.only}: {need.why}{_WISH.get((need.kind, need.value), '')}"
    for flag in profile.flag:
        if flag.kind == "conditional":
            yield f"{flag.name}={flag.value}, where {flag.only}: {flag.why} (-e {flag.name}=…)"


_WISH = {("memlock", "unlimited"): " (--with rdma)", ("cap", "SYS_PTRACE"): " (--with ptrace)"}


def _part(kind: str, value: str, reason: str) -> Part:
    if kind == "shm":
        return Part("shm", str(size(value)), reason)
    if kind in ("memlock", "stack", "nofile"):
        limit = -1 if value == "unlimited" else size(value)
        return Part("ulimit", f"{kind}={limit}", reason)
    return Part("cap" if kind == "cap" else "device", value, reason)
