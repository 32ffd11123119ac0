"""Which NUMA calls a seccomp profile lets through: Docker's form with capabilities, an OCI runtime's resolved one."""

from __future__ import annotations

import json

import pytest

from doctor.errors import ParserError
from doctor.parsers.container import seccomp_profile

ALLOW, ERRNO = "SCMP_ACT_ALLOW", "SCMP_ACT_ERRNO"
DOCKER = {
    "defaultAction": ERRNO,
    "syscalls": [
        {"names": ["read", "write"], "action": ALLOW},
        {"names": ["get_mempolicy", "mbind", "set_mempolicy"], "action": ALLOW, "includes": {"caps": ["CAP_SYS_NICE"]}},
    ],
}


def test_dockers_own_form_with_and_without_the_capability() -> None:
    assert seccomp_profile.mempolicy(json.dumps(DOCKER), ()) == "refused"
    assert seccomp_profile.mempolicy(json.dumps(DOCKER), ("SYS_NICE",)) == "allowed"


@pytest.mark.parametrize(
    ("default", "action", "names", "expected"),
    [
        (ALLOW, ERRNO, ["set_mempolicy"], "refused"),
        (ALLOW, ERRNO, ["mbind"], "refused"),
        (ALLOW, ERRNO, ["ptrace"], "allowed"),
        (ERRNO, ALLOW, ["set_mempolicy", "mbind"], "allowed"),
        (ERRNO, ALLOW, ["set_mempolicy"], "refused"),
        ("SCMP_ACT_LOG", "SCMP_ACT_KILL", ["mbind"], "refused"),
    ],
)
def test_a_resolved_profile(default: str, action: str, names: list[str], expected: str) -> None:
    profile = {"defaultAction": default, "syscalls": [{"names": names, "action": action}]}
    assert seccomp_profile.mempolicy(profile, ()) == expected


def test_a_row_that_looks_at_arguments_decides_nothing() -> None:
    row = {"names": ["mbind"], "action": ERRNO, "args": [{"index": 0, "value": 1, "op": "SCMP_CMP_EQ"}]}
    assert seccomp_profile.mempolicy({"defaultAction": ALLOW, "syscalls": [row]}, ()) == "allowed"


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"defaultAction": 7}', "x" * (seccomp_profile.MAX_TEXT + 1)])
def test_what_is_no_profile(text: str) -> None:
    with pytest.raises(ParserError):
        seccomp_profile.mempolicy(text, ())


def test_odd_rows_are_passed_over() -> None:
    rows = [None, 3, {"names": "mbind"}, {"name": None}, {"names": ["mbind"], "action": ERRNO, "includes": 3}]
    assert seccomp_profile.mempolicy({"defaultAction": ALLOW, "syscalls": rows}, ()) == "refused"
