"""What a profile's workload adds to a run line, and what it leaves to the user."""

from __future__ import annotations

from doctor.launch.workload import hints, parts
from doctor.profiles import Profile, load, names


def test_a_training_profile() -> None:
    profile = load("mi300x+rocm7.14+vllm")
    said = [(part.kind, part.value) for part in parts(profile)]
    assert ("shm", str(8 << 30)) in said
    assert not [row for row in said if row[0] in ("cap", "privileged", "ipc", "security")]
    assert any(hint.startswith("cap SYS_PTRACE, where several processes share GPU memory") for hint in hints(profile))


def test_each_part_names_the_profile_that_asks_for_it() -> None:
    for name in names():
        assert all(part.reason.endswith(f"({name})") for part in parts(load(name)))


def test_flags_that_are_in_the_image_or_hold_only_at_times_are_not_set() -> None:
    for name in names():
        profile: Profile = load(name)
        kinds = {flag.name: flag.kind for flag in profile.flag}
        for part in parts(profile):
            assert part.kind != "env" or kinds[part.value.partition("=")[0]] == "workload"


def test_no_profile_asks_for_more_than_a_plain_container() -> None:
    """The model refuses it; this looks at what comes out."""
    for name in names():
        assert {part.kind for part in parts(load(name))} <= {"shm", "ulimit", "cap", "device", "env"}
