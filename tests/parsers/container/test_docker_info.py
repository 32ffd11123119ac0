"""What Docker answers of itself."""

from __future__ import annotations

from typing import Any

from doctor.facts.engines import EngineMode
from doctor.parsers.container.docker_info import read
from tests.each import each


def test_a_rootless_engine_with_its_own_seccomp_profile() -> None:
    options = ["name=seccomp,profile=/etc/own.json", "name=rootless", "name=cgroupns"]
    info = {"SecurityOptions": options, "Runtimes": {"runc": {}, "amd": {}}, "CDISpecDirs": ["/etc/cdi", "relative"]}
    found = read({"Version": "28.3.0"}, info)
    assert (found["rootless"], found["userns_remap"], found["seccomp_profile"]) == (True, False, "/etc/own.json")
    assert (found["runtimes"], found["cdi_folders"]) == (["amd", "runc"], ["/etc/cdi"])


def test_docker_s_own_profile_is_no_path() -> None:
    assert read({}, {"SecurityOptions": ["name=seccomp,profile=builtin"]})["seccomp_profile"] == ""


@each(
    "answer", [{}, {"Runtimes": [1], "SecurityOptions": {"a": 1}, "CDISpecDirs": "x"}, {"SecurityOptions": [None, 7]}]
)
def test_nonsense_is_left_out_and_fits_the_facts(answer: Any) -> None:
    mode = EngineMode.model_validate(read(answer, answer))
    assert (mode.version, mode.rootless, mode.runtimes, mode.cdi_folders) == ("0", False, (), ())
