"""What each distribution's driver commands install, checked against the table of what it carries: the branch is there,
no version is promised that was not looked up, and none is older than what the finding asks for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import Literal

import pytest

from doctor.facts import Snapshot
from doctor.findings import Remedy
from doctor.knowledge.distributions import distribution_of, distributions
from doctor.knowledge.nvidia import Distribution
from doctor.rules.lib import commands
from doctor.versions import Dotted
from tests.each import each
from tests.rules import machines

ASKED = ((None, None), ("580.65.06", None), ("595.45.04", None), (None, "580"), ("525.60.13", None), (None, "470"))
OWN = re.compile(r"nvidia-driver-(\d{3}(?:-server)?)(?:-open)?")
HELD = re.compile(r"pinning-(\d{3})$|nvidia-driver:(\d{3})-|\*nvidia\*(\d{3})\*|driver-(G\d\d)-signed")


def _cases() -> Iterator[tuple[Distribution, Literal["open", "proprietary"], str | None, str | None, bool]]:
    for row in distributions():
        for flavour in ("open", "proprietary"):
            for at_least, branch in ASKED:
                for server in (True, False):
                    yield row, flavour, at_least, branch, server


def _remedy(row: Distribution, flavour: Literal["open", "proprietary"], at_least: str | None, branch: str | None,
            server: bool) -> Remedy:  # fmt: skip
    (remedy,) = commands.nvidia_driver(_host(row.os[0], row.version, server), flavour, at_least, branch)
    return remedy


@cache
def _host(system: str, version: str, server: bool) -> Snapshot:
    of_system = {"os.id": system, "os.version": version, "os.id_like": None}
    return machines.h100_host(of_system) if server else machines.rtx4090_desktop(of_system)


def _words(remedy: Remedy) -> list[str]:
    return [word for step in remedy.steps for word in step.command or ()]


@each("row, flavour, at_least, branch, server", _cases())
def test_the_commands_give_the_branch(
    row: Distribution, flavour: Literal["open", "proprietary"], at_least: str | None, branch: str | None, server: bool
) -> None:
    remedy = _remedy(row, flavour, at_least, branch, server)
    wanted = branch or commands.nvidia_branch(at_least)
    words = _words(remedy)
    own = [found[1] for word in words if (found := OWN.fullmatch(word))]
    if row.package and row.package in words and row.manager == "apt":
        own = [wanted]
    if own:
        version = row.nvidia[own[0]]
        assert own[0].partition("-")[0] == wanted
        assert not (version and at_least and Dotted(version) < at_least)
        promised = [step.text for step in remedy.steps if " as of " in step.text]
        assert bool(promised) is bool(version)
        assert not version or version in promised[0]
        return
    if row.manager == "pacman":
        assert remedy.keeps == ()  # a rolling release holds nothing
        return
    held = [next(filter(None, found.groups())) for word in words if (found := HELD.search(word))]
    if held:
        assert {row.generations.get(wanted, wanted), wanted} >= set(held)
        if row.nvidia_repository:
            assert any(f"/repos/{row.nvidia_repository}/" in word for word in words)
        else:
            assert any("Add NVIDIA's repository" in step.text for step in remedy.steps)
    else:
        assert any("https://docs.nvidia.com" in step.text for step in remedy.steps)


@each("row, flavour, at_least, branch, server", _cases())
def test_each_driver_remedy_reboots_last_and_says_how_it_is_undone(
    row: Distribution, flavour: Literal["open", "proprietary"], at_least: str | None, branch: str | None, server: bool
) -> None:
    remedy = _remedy(row, flavour, at_least, branch, server)
    assert remedy.steps[-1].command == ("systemctl", "reboot")
    assert remedy.reboot
    assert remedy.root
    assert remedy.undo


@pytest.mark.parametrize(
    ("row", "said"),
    [("debian-12", "Debian 12 itself carries 535.261.03"), ("debian-13", "Debian 13 itself carries 550.163.01")],
)
def test_a_distribution_that_cannot_serve_is_named_with_what_it_carries(row: str, said: str) -> None:
    found = next(one for one in distributions() if one.id == row)
    assert said in _remedy(found, "open", "580.65.06", None, True).title


def test_a_distribution_that_serves_is_used_itself() -> None:
    ubuntu = next(one for one in distributions() if one.id == "ubuntu-24.04")
    remedy = _remedy(ubuntu, "open", "580.65.06", None, True)
    assert ("apt-get", "install", "--yes", "nvidia-driver-580-server-open") in [s.command for s in remedy.steps]
    assert "from NVIDIA's repository" not in remedy.title


def test_wsl_gets_no_driver_of_its_own() -> None:
    (remedy,) = commands.nvidia_driver(machines.h100_host({"host.wsl": True}))
    assert "Windows" in remedy.title
    assert not any("install" in word for word in _words(remedy))


@pytest.mark.parametrize(
    ("os_id", "version", "row"),
    [
        ("ubuntu", "24.04", "ubuntu-24.04"), ("rocky", "9.6", "rhel-9"), ("sles", "15.7", "sles-15"),
        ("arch", None, "arch"), ("debian", "14", None), ("ubuntu", "2", None), ("amzn", "2023", "amazon-2023"),
    ],
)  # fmt: skip
def test_a_system_is_found_by_its_release(os_id: str, version: str | None, row: str | None) -> None:
    found = distribution_of(os_id, version)
    assert (found.id if found else None) == row


def test_a_system_on_an_ubuntu_has_its_packages() -> None:
    """Mint numbers its releases itself; os-release names the Ubuntu below."""
    mint = {"os.id": "linuxmint", "os.version": "22.1", "os.id_like": "ubuntu debian", "os.ubuntu_codename": "noble"}
    (remedy,) = commands.nvidia_driver(machines.rtx4090_desktop(mint))
    assert _words(remedy)[-3] == "nvidia-driver-580-open"
    assert distribution_of("linuxmint", "22.1", "noble") == distribution_of("ubuntu", "24.04")
    assert distribution_of("linuxmint", "22.1") is None


@pytest.mark.parametrize(
    ("system", "version", "here", "word"),
    [
        ("rocky", "9.6", "590.44.01", "remove"), ("rocky", "9.6", "570.86.15", None),
        ("debian", "12", "590.44.01", "--allow-downgrades"), ("debian", "12", "580.65.06", None),
    ],
)  # fmt: skip
def test_an_older_branch_replaces_a_newer_one(system: str, version: str, here: str, word: str | None) -> None:
    """Package managers keep the newer release unless they are asked."""
    edits = {"os.id": system, "os.version": version, "os.id_like": None, "nvidia_driver.version": here}
    (remedy,) = commands.nvidia_driver(machines.h100_host(edits), "proprietary", branch="580")
    assert {"remove", "--allow-downgrades"} & set(_words(remedy)) == ({word} if word else set())


def test_every_row_has_a_date_and_a_source_and_only_looked_up_rows_promise_versions() -> None:
    for row in distributions():
        assert re.fullmatch(r"20\d\d-\d\d", row.as_of)
        assert row.source
        if not row.verified:
            assert "not verified" in row.source
            assert not any(row.nvidia.values())
