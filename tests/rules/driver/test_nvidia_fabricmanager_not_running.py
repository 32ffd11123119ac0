"""nvidia-fabricmanager-not-running: NVSwitch systems only."""

from __future__ import annotations

import pytest

from doctor.rules.driver import nvidia_fabricmanager_not_running as rule
from tests.each import each
from tests.knowledge.texts import raised
from tests.rules import machines
from tests.rules.driver.asked import found, told

FM = "nvidia_driver.fabric_manager"
WAITING = {f"gpus[{a}].fabric_state": "in-progress" for a in machines.H100}
NO_STATE = {f"gpus[{a}].fabric_state": None for a in machines.H100}


def test_stopped_on_an_nvswitch_host() -> None:
    (finding,) = found(rule, machines.h100_host(WAITING | {f"{FM}.running": False}))
    assert finding.summary == "The fabric manager is not running on this NVSwitch system; CUDA fails with error 802."
    assert finding.remedies[0].steps[0].command == ("systemctl", "enable", "--now", "nvidia-fabricmanager")


def test_of_another_version_than_the_driver() -> None:
    (finding,) = found(rule, machines.h100_host(NO_STATE | {f"{FM}.version": "570.124.06"}))
    assert finding.summary == "The fabric manager (570.124.06) and driver (575.57.08) must have the same version."
    assert finding.remedies[0].steps[0].command == (
        "apt-get",
        "install",
        "--yes",
        "nvidia-fabricmanager-575=575.57.08*",
    )


@pytest.mark.parametrize(
    ("system", "version", "package"),
    [
        ("rocky", "580.95.05", "nvidia-fabricmanager-580.95.05"),
        ("rocky", "570.86.15", "nvidia-fabric-manager-570.86.15"),
        ("sles", "580.126.09", "nvidia-fabricmanager=580.126.09"),
        ("debian", "580.95.05", "nvidia-fabricmanager=580.95.05*"),
        ("debian", "570.86.15", "nvidia-fabricmanager-570=570.86.15*"),
        ("arch", "580.95.05", None),
    ],
)
def test_the_package_of_a_branch(system: str, version: str, package: str | None) -> None:
    edits = {"os.id": system, "os.version": "12", f"{FM}.installed": False, f"{FM}.running": False}
    (finding,) = found(rule, machines.h100_host(WAITING | edits | {"nvidia_driver.version": version}))
    assert (finding.remedies[0].steps[0].command or (None,))[-1] == package


def test_a_container_whose_gpus_wait() -> None:
    assert len(found(rule, machines.h100_container(WAITING | {f"{FM}.running": None}))) == 1


def test_near_misses_and_unknown() -> None:
    assert told(rule, machines.h100_host()) == []
    assert found(rule, machines.rtx4090_desktop()) == []
    assert found(rule, machines.h100_container(NO_STATE)) == []
    assert found(rule, machines.h100_host(NO_STATE | {f"{FM}.running": None, f"{FM}.version": None})) == []


_NO_UNIT = "Unit nvidia-fabricmanager.service could not be found."


def _board(count: int, product: str, *lines: str) -> str:
    return "\n".join([f"GPU {at}: {product} (UUID: GPU-{at}c1d2b0a-1c7d)" for at in range(count)] + list(lines))


@pytest.mark.parametrize(
    "text",
    [
        _board(8, "NVIDIA H100 80GB HBM3", _NO_UNIT),
        _board(8, "NVIDIA A100-SXM4-40GB", _NO_UNIT),
        _board(2, "NVIDIA H100 80GB HBM3", _NO_UNIT, "RuntimeError: Error 802: system not yet initialized"),
        _board(
            8, "NVIDIA H100 80GB HBM3", "driver version: 550.127.05", "ii nvidia-fabricmanager-550 550.90.07-1 amd64"
        ),
        _board(
            2,
            "NVIDIA H100 80GB HBM3",
            "running inside a container: yes",
            "driver version: 550.54.15",
            "ii  nvidia-fabricmanager-535    535.161.08-0ubuntu0.22.04.1",
            "RuntimeError: Error 802: system not yet initialized",
        ),
    ],
)
def test_on_a_board_with_switches(text: str) -> None:
    assert rule.RULE.id in raised(text)


@each(
    "text",
    [
        # boards of four join their GPUs by NVLink alone
        _board(4, "NVIDIA A100-SXM4-40GB", _NO_UNIT),
        _board(8, "Tesla V100-SXM2-32GB", _NO_UNIT),
        _board(8, "NVIDIA H200 NVL", _NO_UNIT),
        _board(2, "NVIDIA GH200 144G HBM3e", _NO_UNIT),
        # a container does not see the host's services
        _board(8, "NVIDIA H100 80GB HBM3", "running inside a container: yes", _NO_UNIT),
        # 550.127 is how people write 550.127.05
        _board(8, "NVIDIA H100 80GB HBM3", "driver version: 550.127", "ii nvidia-fabricmanager-550 550.127.05-1 amd64"),
        # a removed package, of which dpkg keeps the configuration
        _board(
            8,
            "NVIDIA A100-SXM4-80GB",
            "driver version: 535.183.01",
            "rc  nvidia-fabricmanager-525 525.147.05-1 amd64",
            "ii  nvidia-fabricmanager-535 535.183.01-1 amd64",
        ),
        # a log that is older than the upgrade
        _board(
            8,
            "NVIDIA H100 80GB HBM3",
            "driver version: 550.127.05",
            "[Mar 04 2024 08:11:20] [INFO] [tid 2201] Fabric Manager version 535.161.08 is running with options",
            "[Nov 12 2024 09:40:02] [INFO] [tid 2188] Fabric Manager version 550.127.05 is running with options",
        ),
    ],
)
def test_not_where_no_switch_waits_for_it(text: str) -> None:
    assert rule.RULE.id not in raised(text)
