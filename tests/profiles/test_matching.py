"""Which profile is chosen, why, in which order, and why not the others."""

from __future__ import annotations

from pathlib import Path

import pytest

from doctor.profiles import folder, match, rank
from tests.profiles.boards import BOARDS, NEIGHBOURS, machine

OWN = """schema = 1
name = "{name}"
about = "Ours"
status = "run-here"
extends = ["boards/mi300x"]
{more}
"""


@pytest.fixture
def own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's folder of profiles."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    (tmp_path / "doctor/profiles").mkdir(parents=True)
    return tmp_path / "doctor/profiles"


def test_the_newest_stack_for_any_workload_comes_first() -> None:
    ranking = rank(machine(BOARDS["mi300x"], 8), folder())
    assert [c.name for c in ranking.candidates if c.fits] == [
        "mi300x+rocm7.14",
        "mi300x+rocm7.2",
        "mi300x+rocm7.14+train",
        "mi300x+rocm7.2+train",
    ]
    assert ranking.why == (
        "its hardware is this machine's (8× AMD Instinct MI300X); before mi300x+rocm7.2: its stack is the newer one"
    )


def test_the_stack_that_is_installed_comes_before_the_newer_one() -> None:
    installed = {"torch.version": "2.13.0+rocm7.2", "torch.rocm": "7.2", "torch.build": "rocm"}
    ranking = rank(machine(BOARDS["mi300x"], 8, installed), folder())
    assert ranking.chosen is not None
    assert ranking.chosen.name == "mi300x+rocm7.2"
    assert ranking.why.endswith("before mi300x+rocm7.2+train: it is for any workload")


def test_of_several_rocm_installations_one_is_enough() -> None:
    rocm = {"rocm[/opt/rocm-7.2.4].version": "7.2.4", "rocm[/opt/rocm-7.2.4].path": "/opt/rocm-7.2.4",
            "rocm[/opt/rocm-6.4.1].version": "6.4.1", "rocm[/opt/rocm-6.4.1].path": "/opt/rocm-6.4.1"}  # fmt: skip
    chosen, _ = match(machine(BOARDS["mi325x"], 8, rocm), folder())
    assert chosen is not None
    assert chosen.name == "mi325x+rocm7.2"


def test_a_profile_that_nobody_named_is_quiet_about_the_stack() -> None:
    """A healthy node on an older stack: its driver and torch are its owner's choice; how the host is set up is not."""
    node = machine(BOARDS["h100"], 8, {"nvidia_driver.version": "575.57.08", "torch.version": "2.7.0+cu128"})
    chosen, _ = match(node, folder())
    assert chosen is not None
    loud = {e.fact: (e.severity, e.rule) for e in chosen.expect}
    assert (loud["nvidia_driver.version"], loud["torch.version"]) == (("info", None), ("info", None))
    assert loud["gpus[*].fabric_state"] == ("error", "nvidia-fabricmanager-not-running")
    assert chosen.is_silent(next(e for e in chosen.expect if e.fact == "torch.version"))
    assert not chosen.is_silent(next(e for e in chosen.expect if e.fact == "gpus[*].fabric_state"))
    named = rank(node, folder()).chosen
    assert named is not None
    assert ("nvidia_driver.version", "error") in {(e.fact, e.severity) for e in named.expect}


def test_a_workload_that_is_asked_for() -> None:
    ranking = rank(machine(BOARDS["h100"], 8), folder(), workload="train")
    assert ranking.chosen is not None
    assert ranking.chosen.name == "h100+cuda13.2+train"
    told = {c.name: c.reason for c in ranking.candidates}
    assert told["h100+cuda13.0+vllm"] == "it is used only where it or its workload is named"
    served = rank(machine(BOARDS["h100"], 8), folder(), workload="serve")
    assert served.chosen is not None
    assert served.chosen.name == "h100+cuda13.0+vllm"
    told = {c.name: c.reason for c in served.candidates}
    assert told["h100+cuda13.2+train"] == "it is for another workload: train"


def test_why_not_the_others() -> None:
    told = {c.name: c.reason for c in rank(machine(BOARDS["mi300x"], 8), folder()).candidates}
    assert told["h100+cuda13.2"] == "it is for GPUs of nvidia, and AMD Instinct MI300X is amd's"
    assert told["mi325x+rocm7.14"] == "PCI id 1002:74a1 of AMD Instinct MI300X is not among its 1002:74a5, 1002:74b9"


def test_an_unlisted_gpu_and_unknown_gpus() -> None:
    assert match(machine(NEIGHBOURS["l40"]), folder()) == (None, "no profile is for this hardware (NVIDIA L40)")
    assert match(machine(BOARDS["t4"], 0, {"gpus": []}), folder()) == (None, "found no AMD or NVIDIA GPU here")
    assert match(machine(BOARDS["t4"], 0), folder()) == (None, "the GPUs of this machine are not known")


def test_the_graphics_inside_the_cpu_is_beside_the_point() -> None:
    """A Ryzen desktop with an RX 7900: gfx1036 on the CPU, gfx1100 on the card."""
    inside = {"vendor": "amd", "pci_id": "1002:164e", "arch": "gfx1036", "integrated": True}
    facts = {f"gpus[0000:7a:00.0].{name}": value for name, value in inside.items()}
    chosen, _ = match(machine(BOARDS["rx7900"], 1, facts), folder())
    assert chosen is not None
    assert chosen.name == "rx7900+rocm7.14"
    facts |= {"gpus[0000:01:00.0].driver": "amdgpu"}
    assert "gpus[*].driver" in chosen.verdict(machine(BOARDS["rx7900"], 1, facts), "matched", "").holds


def test_two_vendors_match_none() -> None:
    other = {f"gpus[0000:81:00.0].{k}": v for k, v in BOARDS["t4"]._asdict().items()}
    assert match(machine(BOARDS["mi210"], 1, other), folder())[0] is None


def test_users_profiles_come_first_and_ties_are_named(own: Path) -> None:
    (own / "farm.toml").write_text(OWN.format(name="farm", more=""))
    eight = machine(BOARDS["mi300x"], 8)
    chosen, why = match(eight)
    assert chosen is not None
    assert chosen.name == "farm"
    assert why.endswith("before mi300x+rocm7.14: yours before the shipped ones")
    (own / "barn.toml").write_text(OWN.format(name="barn", more=""))
    ranking = rank(eight)
    assert (ranking.chosen, ranking.tied) == (None, ("barn", "farm"))
    assert ranking.why == "several fit equally: barn, farm; name one with --profile"
    (own / "barn.toml").write_text(OWN.format(name="barn", more="[hardware]\ncount = 8"))
    assert rank(eight).why.endswith("before farm: it says more of the hardware")
    assert [c.reason for c in rank(machine(BOARDS["mi300x"], 4)).candidates if c.name == "barn"] == [
        "it is for 8 GPUs, and there are 4"
    ]


def test_a_broken_profile_of_the_user_s_costs_no_other(own: Path) -> None:
    (own / "broken.toml").write_text("schema = 2\n")
    ranking = rank(machine(BOARDS["mi300x"], 8))
    assert ranking.chosen is not None
    assert ranking.chosen.name == "mi300x+rocm7.14"
    told = next(c.reason for c in ranking.candidates if c.name == "broken")
    assert told.startswith("can't be read: ")
