"""The way that is taken, and the word for each way that can't be."""

from __future__ import annotations

from dataclasses import replace

import pytest

from doctor.errors import InputError
from doctor.facts.snapshot import Snapshot
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.engine import Engine
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from doctor.parsers.container.cdi_spec import Edits
from doctor.versions import Dotted
from tests.launch.cases import AMD_CDI, DOCKER, NVIDIA_CDI, PODMAN, cdi
from tests.launch.machines import both, cpx, h100, mi300x, mig, wsl

ROOTLESS = replace(PODMAN, rootless=True)


def run(
    machine: Snapshot, engine: Engine | None, gpus: str = "all", way: str = "auto", vendor: str | None = None
) -> Spec:
    return plan(machine, engine, choose(machine, gpus, vendor), Request("a", way=way))


def passed(spec: Spec) -> list[str]:
    return [part.value for part in spec.of("device", "cdi", "gpus", "runtime", "group")]


def said(spec: Spec) -> list[tuple[str, bool]]:
    return [(trouble.text, trouble.fatal) for trouble in spec.troubles]


def edited(machine: Snapshot, path: str, **changed: object) -> Snapshot:
    nodes = tuple(n.model_copy(update=changed) if n.key == path else n for n in machine.nodes or ())
    return machine.model_copy(update={"nodes": nodes})


def test_cdi_is_taken_where_engine_and_spec_allow_it() -> None:
    docker = replace(DOCKER, specs=(AMD_CDI,))
    assert passed(run(mi300x(), docker)) == ["amd.com/gpu=all", "992"]
    assert passed(run(mi300x(), docker, "2,0")) == ["amd.com/gpu=2", "amd.com/gpu=0", "992"]


def test_nodes_do_as_well_for_amd_so_that_a_missing_spec_is_no_remark() -> None:
    assert said(run(mi300x(), DOCKER)) == []
    assert said(run(mi300x(), DOCKER, way="cdi")) == [
        ("there is no CDI spec for amd.com/gpu in /etc/cdi or /var/run/cdi", True)
    ]


def test_a_device_is_taken_by_its_nodes_and_not_by_its_number() -> None:
    other = cdi("amd.com/gpu", ("0", ["/dev/kfd", "/dev/dri/renderD129"]), ("x", ["/dev/kfd", "/dev/dri/renderD128"]))
    spec = run(mi300x(2), replace(DOCKER, specs=(other,)), "0")
    assert passed(spec)[0] == "amd.com/gpu=x"


def test_all_is_not_taken_where_it_holds_more_or_less_than_was_asked_for() -> None:
    docker = replace(DOCKER, specs=(AMD_CDI,))  # of three GPUs
    assert passed(run(mi300x(2), docker))[:2] == ["amd.com/gpu=0", "amd.com/gpu=1"]
    short = run(mi300x(4), docker)
    assert (
        "/etc/cdi/amd.yaml has no device that is GPU 3 (0000:65:00.0, AMD Instinct MI300X); it has 0, 1, 2, all"
    ) in [text for text, fatal in said(short) if not fatal]
    assert "/dev/dri/renderD131" in passed(short)


def test_mig_instances_go_by_the_driver_s_number() -> None:
    spec = cdi("nvidia.com/gpu", ("0:0", ["/dev/nvidia0"]), ("0:1", ["/dev/nvidia0"]), ("1", ["/dev/nvidia1"]))
    docker = replace(DOCKER, specs=(spec,))
    assert passed(run(mig(), docker, "0:1,1")) == ["nvidia.com/gpu=0:1", "nvidia.com/gpu=1"]
    assert passed(run(mig(), docker, "MIG-1a")) == ["nvidia.com/gpu=0:1"]


def test_a_gpu_in_mig_mode_is_its_instances() -> None:
    spec = cdi("nvidia.com/gpu", ("0:0", ["/dev/nvidia0"]), ("0:1", ["/dev/nvidia0"]), ("1", ["/dev/nvidia1"]))
    docker = replace(DOCKER, specs=(spec,))
    assert passed(run(mig(), docker, "0")) == ["nvidia.com/gpu=0:0", "nvidia.com/gpu=0:1"]
    every = cdi("nvidia.com/gpu", ("all", ["/dev/nvidia0", "/dev/nvidia1", "/dev/nvidia-caps/nvidia-cap21"]))
    assert passed(run(mig(), replace(DOCKER, specs=(every,)))) == ["nvidia.com/gpu=all"]
    runtime = run(mig(), replace(DOCKER, runtimes=frozenset({"nvidia"})), "0,1")
    assert runtime.env["NVIDIA_VISIBLE_DEVICES"] == "all"
    assert run(mig(), replace(DOCKER, runtimes=frozenset({"nvidia"})), "0").env["NVIDIA_VISIBLE_DEVICES"] == "0:0,0:1"


def test_a_variable_that_would_pass_other_gpus_is_refused() -> None:
    docker = replace(DOCKER, runtimes=frozenset({"nvidia"}))
    with pytest.raises(InputError, match="--gpus says which GPUs are passed"):
        plan(h100(), docker, choose(h100(), "0"), Request("a", env=("NVIDIA_VISIBLE_DEVICES=all",)))
    plan(h100(), docker, choose(h100(), "0"), Request("a", env=("CUDA_VISIBLE_DEVICES=0",)))


def test_inside_a_container_the_nodes_are_its_own() -> None:
    machine = mi300x(1)
    inside = machine.model_copy(update={"container": machine.container.model_copy(update={"inside": True})})
    assert any("this runs in a container" in text and not fatal for text, fatal in said(run(inside, DOCKER)))
    assert said(run(machine, DOCKER)) == []


def test_a_partition_is_its_render_node() -> None:
    assert passed(run(cpx(), DOCKER, "0:3")) == ["/dev/kfd", "/dev/dri/renderD131", "992"]
    assert passed(run(cpx(), DOCKER, "renderD133")) == ["/dev/kfd", "/dev/dri/renderD133", "992"]
    assert len([v for v in passed(run(cpx(), DOCKER, "05:00.0")) if "render" in v]) == 8
    with pytest.raises(InputError, match="in partitions 0:0 to 0:7"):
        choose(cpx(), "0:8")


def test_a_later_folder_wins_and_one_folder_may_not_say_it_twice() -> None:
    old = replace(NVIDIA_CDI, missing=("/usr/lib/libcuda.so.550.54",))
    new = replace(NVIDIA_CDI, path="/var/run/cdi/nvidia.yaml")
    assert said(run(h100(), replace(DOCKER, specs=(old, new)))) == []
    beside = replace(NVIDIA_CDI, path="/etc/cdi/second.json")
    twice = run(h100(), replace(DOCKER, specs=(NVIDIA_CDI, beside)), way="cdi")
    assert ("/etc/cdi/nvidia.yaml and /etc/cdi/second.json both name device all: engines take neither", True) in said(
        twice
    )


def test_stale_for_what_was_asked_for_is_fatal_and_for_another_a_remark() -> None:
    stale = replace(AMD_CDI, missing=("/dev/dri/renderD130",))
    docker = replace(DOCKER, specs=(stale,))
    text = "/etc/cdi/amd.yaml is stale: it names /dev/dri/renderD130, which is not there"
    assert said(run(mi300x(2), docker, "0", "cdi")) == [(text, False)]
    assert said(run(mi300x(3), docker, "2", "cdi")) == [(text, True)]


def test_the_gid_of_a_spec_s_nodes_is_the_one_that_counts() -> None:
    owned = replace(AMD_CDI.read, common=Edits(owners=(("/dev/kfd", 44),)))
    docker = replace(DOCKER, specs=(replace(AMD_CDI, read=owned),))
    assert passed(run(mi300x(), docker, "0"))[1:] == ["44", "992"]


def test_docker_25_without_the_flag_says_how_to_set_it() -> None:
    docker = Engine("docker", Dotted("25.0.5"), base=("docker",), specs=(AMD_CDI,))
    spec = run(mi300x(), docker)
    assert said(spec) == [("Docker 25.0.5 is not configured to read CDI specs", False)]
    assert '{"features": {"cdi": true}}' in spec.troubles[0].fix
    assert "/dev/kfd" in passed(spec)


def test_nvidia_without_a_spec_goes_by_the_runtime_then_by_gpus() -> None:
    with_runtime = replace(DOCKER, cdi=False, runtimes=frozenset({"nvidia"}))
    assert passed(run(h100(), with_runtime, "1")) == ["nvidia"]
    assert run(h100(), with_runtime, "1").env["NVIDIA_VISIBLE_DEVICES"] == "1"
    assert passed(run(h100(), replace(DOCKER, toolkit=True), "1")) == ["1"]


def test_no_toolkit_names_it() -> None:
    fatal = [text for text, is_fatal in said(run(h100(), DOCKER)) if is_fatal]
    assert [text[:33] for text in fatal] == ["docker has no nvidia runtime and "]


def test_docker_before_19_03_has_no_gpus_flag() -> None:
    old = Engine("docker", Dotted("18.09.9"), base=("docker",), toolkit=True)
    assert ("docker 18.09.9 has no --gpus (19.3 has) and no nvidia runtime", True) in said(run(h100(), old))


def test_podman_passes_nvidia_s_nodes_where_there_is_no_spec() -> None:
    spec = run(h100(), PODMAN, "1")
    assert passed(spec) == ["/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia1"]
    assert [fatal for _, fatal in said(spec)] == [False]  # no libcuda


def test_amd_s_runtime_is_taken_when_it_is_asked_for_and_there() -> None:
    there = replace(DOCKER, runtimes=frozenset({"amd"}))
    spec = run(mi300x(), there, "1", "runtime")
    assert (passed(spec), spec.env) == (["amd"], {"AMD_VISIBLE_DEVICES": "1"})
    assert ("docker has no amd runtime", True) in said(run(mi300x(), DOCKER, way="runtime"))


def test_rootless_engines_and_accounts_that_may_not_open() -> None:
    shut = edited(mi300x(1), "/dev/kfd", openable=False, open_error="EACCES", group="render")
    (text, fatal), *_ = [row for row in said(run(shut, ROOTLESS)) if row[1]]
    assert text.startswith("you may not open /dev/kfd (group render, mode 660)")
    assert [t.fix for t in run(shut, ROOTLESS).troubles if t.fatal] == [
        "sudo usermod -aG render $USER, then log in again"
    ]
    assert fatal
    assert not [row for row in said(run(mi300x(1), ROOTLESS)) if row[1]]
    runc = replace(ROOTLESS, oci_runtime="runc")
    assert ("podman starts containers with runc, which can't keep groups", True) in said(run(mi300x(1), runc))
    docker = replace(DOCKER, rootless=True)
    assert ("rootless docker drops your groups, and /dev/dri/renderD128 is open to a group alone", True) in said(
        run(mi300x(1), docker)
    )
    assert not [row for row in said(run(mi300x(1, mode=0o666), docker)) if row[1]]


def test_rootless_docker_finds_no_spec_behind_rootlesskit_s_links() -> None:
    docker = replace(DOCKER, rootless=True, cdi=True, specs=(AMD_CDI,))
    open_to_all = mi300x(1, mode=0o666)
    assert passed(run(open_to_all, docker)) == ["/dev/kfd", "/dev/dri/renderD128"]
    assert [t.fix for t in run(open_to_all, docker, way="cdi").troubles if t.fatal] == ["use --by nodes"]
    assert passed(run(open_to_all, replace(docker, cdi_folders=("/srv/cdi",)))) == ["amd.com/gpu=0"]


@pytest.mark.parametrize("changed", [{"gid": 0}, {"mode": 0o600}])
def test_a_node_without_a_group_that_may_open_it(changed: dict[str, int]) -> None:
    """No render group on the host: nothing that could be passed lets a plain user in."""
    spec = run(edited(mi300x(1), "/dev/kfd", **changed), DOCKER)
    assert ("/dev/kfd is open to root alone: no group lets another user of the container in", False) in said(spec)
    assert not any(part.value == "0" for part in spec.of("group"))


def test_docker_desktop_has_none_of_the_host_s_gpus() -> None:
    spec = run(mi300x(), replace(DOCKER, desktop=True))
    assert any(fatal and "Docker Desktop runs containers in a virtual machine" in text for text, fatal in said(spec))


def test_wsl() -> None:
    spec = run(wsl(), DOCKER, vendor="amd")
    assert (passed(spec), spec.env["HSA_ENABLE_DXG_DETECTION"]) == (["/dev/dxg"], "1")
    assert [part.value for part in spec.of("mount")] == ["/usr/lib/wsl:/usr/lib/wsl:ro"]
    desktop = replace(DOCKER, desktop=True)
    assert passed(run(wsl(), desktop, vendor="nvidia")) == ["all"]
    assert not [row for row in said(run(wsl(), desktop, vendor="nvidia")) if row[1]]
    with pytest.raises(InputError, match="pass --vendor"):
        choose(wsl(), "all")
    with pytest.raises(InputError, match="leads to all GPUs"):
        choose(wsl(), "0", "amd")


def test_a_machine_with_both_vendors_asks_which() -> None:
    with pytest.raises(InputError, match="--vendor amd or --vendor nvidia"):
        choose(both(), "all")
    assert passed(run(both(), DOCKER, vendor="amd")) == ["/dev/kfd", "/dev/dri/renderD128", "992"]
    assert "/dev/kfd" not in passed(run(both(), PODMAN, vendor="nvidia"))


def test_an_integrated_gpu_is_not_meant_beside_a_card() -> None:
    gpus = mi300x(2).gpus or ()
    machine = mi300x(2).model_copy(update={"gpus": (gpus[0], gpus[1].model_copy(update={"integrated": True}))})
    assert [c.name for c in choose(machine, "all").gpus] == ["0"]


def test_numbers_will_do_for_a_machine_elsewhere() -> None:
    here = Snapshot()
    assert [c.name for c in choose(here, "0,1,1", "amd", elsewhere=True).gpus] == ["0", "1"]
    for wanted, vendor in (("all", "amd"), ("0", None)):
        with pytest.raises(InputError):
            choose(here, wanted, vendor, elsewhere=True)
    with pytest.raises(InputError, match="found no AMD GPU on this machine"):
        choose(here, "0", "amd")


def test_an_unknown_machine_raises_no_false_alarm() -> None:
    """A text told of the GPU; nothing is known of its nodes."""
    machine = mi300x(1).model_copy(update={"nodes": None})
    assert said(run(machine, None)) == []


def test_limits_that_can_not_be_raised_are_left_out_and_said() -> None:
    held = replace(DOCKER, capped={"memlock": 8388608})
    request = Request("a", wishes=("rdma",), rdma_nodes=("/dev/infiniband/uverbs0",))
    spec = plan(mi300x(1), held, choose(mi300x(1), "0"), request)
    assert not list(spec.of("ulimit"))
    assert any("is held to memlock=8388608 itself" in text for text, _ in said(spec))
    assert "/dev/infiniband/uverbs0" in passed(spec)
    free = plan(mi300x(1), DOCKER, choose(mi300x(1), "0"), request)
    assert [part.value for part in free.of("ulimit")] == ["memlock=-1"]


def test_rdma_without_a_device_is_said() -> None:
    spec = plan(mi300x(1), DOCKER, choose(mi300x(1), "0"), Request("a", wishes=("rdma",)))
    assert ("--with rdma: this machine has no /dev/infiniband/uverbs*", True) in said(spec)


def test_what_the_user_says_wins_over_a_profile() -> None:
    from tests.launch.cases import WORKLOAD

    request = Request("a", shm_bytes=1 << 20, env=("HSA_NO_SCRATCH_RECLAIM=0",))
    spec = plan(mi300x(1), DOCKER, choose(mi300x(1), "0"), request, WORKLOAD)
    assert [part.value for part in spec.of("shm")] == [str(1 << 20)]
    assert spec.env["HSA_NO_SCRATCH_RECLAIM"] == "0"
    ipc = plan(mi300x(1), DOCKER, choose(mi300x(1), "0"), replace(request, wishes=("ipc-host",)), WORKLOAD)
    assert not list(ipc.of("shm"))
