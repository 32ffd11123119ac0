"""What is passed, and why: exactly the GPUs that were asked for, and no right beyond them."""

from __future__ import annotations

import pytest

from doctor.errors import InputError
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from doctor.launch.spec import Part, Spec
from doctor.versions import Dotted
from tests.launch.machines import h100, mi300x, without

DOCKER = Engine("docker", Dotted("26.1.5"), base=("docker",))


def passed(spec: Spec) -> list[str]:
    return [part.value for part in spec.of("device", "cdi", "gpus", "runtime")]


def test_one_amd_gpu_is_kfd_and_its_render_node() -> None:
    machine = mi300x()
    spec = plan(machine, DOCKER, choose(machine, "2"), Request("rocm/pytorch:latest"))
    assert passed(spec) == ["/dev/kfd", "/dev/dri/renderD130"]
    assert [part.value for part in spec.of("group")] == ["992"]


def test_nodes_that_all_may_open_need_no_group() -> None:
    machine = mi300x(mode=0o666)
    spec = plan(machine, DOCKER, choose(machine, "0"), Request("rocm/pytorch:latest"))
    assert not list(spec.of("group"))


def test_rootless_podman_keeps_the_groups() -> None:
    machine = mi300x()
    podman = Engine("podman", Dotted("4.3.1"), rootless=True, base=("podman",))
    spec = plan(machine, podman, choose(machine, "0"), Request("rocm/pytorch:latest"))
    assert [part.value for part in spec.of("group")] == ["keep-groups"]


def test_a_pci_address_and_a_number_name_the_same_gpu_once() -> None:
    machine = mi300x()
    assert [c.name for c in choose(machine, "1,0000:25:00.0,25:00.0").gpus] == ["1"]


def test_a_gpu_that_is_not_there_is_refused_with_those_that_are() -> None:
    with pytest.raises(InputError, match=r"'7': no such GPU here; there are 0 \(0000:05:00.0\)"):
        choose(mi300x(), "7")


def test_a_missing_node_is_said_before_anything_starts() -> None:
    machine = without(mi300x(), ["/dev/kfd"])
    spec = plan(machine, DOCKER, choose(machine, "all"), Request("rocm/pytorch:latest"))
    assert ("/dev/kfd is not there", True) in [(t.text, t.fatal) for t in spec.troubles]


def test_nvidia_without_toolkit_and_spec_says_what_to_install() -> None:
    machine = h100()
    spec = plan(machine, DOCKER, choose(machine, "all"), Request("nvidia/cuda:13.0.2-base-ubuntu24.04"))
    assert any(t.fatal and "nvidia-container-toolkit" in t.fix for t in spec.troubles)


def test_nothing_is_privileged_unless_asked_for() -> None:
    machine = mi300x()
    usual = plan(machine, DOCKER, choose(machine, "all"), Request("rocm/pytorch:latest"))
    asked = plan(machine, DOCKER, choose(machine, "all"), Request("rocm/pytorch:latest", wishes=("privileged",)))
    assert not list(usual.of("privileged", "security", "ipc", "cap"))
    assert [part.reason[:17] for part in asked.of("privileged")] == ["you asked for it:"]


def test_collectives_get_shared_memory_by_the_number_of_gpus() -> None:
    machine = mi300x()
    assert [p.value for p in plan(machine, DOCKER, choose(machine, "all"), Request("a")).of("shm")] == [str(3 << 30)]
    assert not list(plan(machine, DOCKER, choose(machine, "0"), Request("a")).of("shm"))
    for held, wanted in ((1 << 30, 3 << 30), (8 << 30, 8 << 30)):  # a profile's, where it is larger
        profile = [Part("shm", str(held), "a profile")]
        assert plan(machine, DOCKER, choose(machine, "all"), Request("a"), profile).one("shm") == str(wanted)
