"""`check --plan` and `check --since` from the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.cli.main import run
from tests.probes import amd_trees


@pytest.fixture(autouse=True)
def own_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "none"))


@pytest.fixture
def without_driver(tmp_path: Path) -> str:
    """An MI300X on Ubuntu, with no module loaded for it."""
    root = tmp_path / "machine"
    ids = {"class": "0x120000", "vendor": "0x1002", "device": "0x74a1"}
    amd_trees.pci_device(root, "pci0000:00/0000:00:01.0/0000:01:00.0", None, **ids)
    files = {
        "etc/os-release": "ID=ubuntu\nVERSION_ID=24.04\nID_LIKE=debian\n",
        "sys/module/ext4/x": "",
        "proc/1/comm": "init\n",
        "proc/sys/kernel/osrelease": "6.8.0-51-generic\n",
        "proc/self/mountinfo": "1 0 8:1 / / rw - ext4 /dev/sda1 rw\n",
        "proc/1/cgroup": "0::/init.scope\n",
        "proc/self/cgroup": "0::/user.slice\n",
        "sys/class/drm/version": "",
        "dev/null": "",
    }
    amd_trees.write(root, files)
    return str(root)


def test_the_plan_leaves_what_follows_a_step_by_hand_as_comments(
    without_driver: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A word of the kernel's command line is deleted in an editor, and only then the boot loader's file is written."""
    assert run(["check", "--root", without_driver, "--plan"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "#!/bin/sh"
    assert [line for line in lines if line.startswith("as_root ")] == ["as_root modprobe amdgpu"]
    amd_trees.write(Path(without_driver), {"proc/cmdline": "ro nomodeset\n"})
    assert run(["check", "--root", without_driver, "--plan"]) == 1
    lines = capsys.readouterr().out.splitlines()
    assert "# after the step above: update-grub" in lines
    assert not any(line.startswith("as_root ") for line in lines)


def test_the_plan_has_no_other_format(without_driver: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["check", "--root", without_driver, "--plan", "--format", "json"]) == 2
    assert "--plan prints a script" in capsys.readouterr().err


@pytest.mark.parametrize(("since", "code"), [("2h", 1), ("2026-11-20", 1), ("yesterday", 2), ("1h; reboot", 2)])
def test_since_is_a_time_or_refused(without_driver: str, since: str, code: int) -> None:
    assert run(["check", "--root", without_driver, "--since", since]) == code


def test_a_suppressed_error_is_named_and_strict_still_counts_it_as_unjudged(
    without_driver: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    allowed = tmp_path / "allow.toml"
    allowed.write_text('[[allow]]\nrule = "amdgpu-driver-not-loaded"\nreason = "it is spare"\n')
    assert run(["check", "--root", without_driver]) == 1
    assert run(["check", "--root", without_driver, "--allow", str(allowed)]) == 0
    assert "1 suppressed" in capsys.readouterr().out
    assert run(["check", "--root", without_driver, "--allow", str(allowed), "--strict"]) == 4
