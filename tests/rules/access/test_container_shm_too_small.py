"""container-shm-too-small: the engine's 64 MiB."""

from __future__ import annotations

from doctor.facts.snapshot import Symptom
from doctor.knowledge import Knowledge
from doctor.rules.access import container_shm_too_small as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

SMALL = {"host.shm_bytes": 64 << 20}


def test_the_default_of_docker_with_eight_gpus() -> None:
    (finding,) = found(rule, machines.h100_container(SMALL))
    assert (
        finding.summary == "/dev/shm holds 64 MiB in this container, which is small for data loaders and collectives."
    )
    assert (finding.severity.value, finding.subject.id) == ("warning", "/dev/shm")
    assert finding.remedies[0].steps[0].command == ("docker", "run", "--shm-size=16g", "IMAGE")


def test_one_gpu_is_information() -> None:
    assert [severity for severity, *_ in told(rule, machines.rx7900_container(SMALL))] == ["info"]


def test_without_torch_it_is_information_and_without_gpus_nothing() -> None:
    bare = {"torch.installed": False} | SMALL
    assert [severity for severity, *_ in told(rule, machines.h100_container(bare))] == ["info"]
    nothing = bare | {"gpus": [], "nvidia_driver.loaded": False}
    assert told(rule, machines.h100_container(nothing)) == []


def test_more_room_or_no_container() -> None:
    assert told(rule, machines.h100_container({"host.shm_bytes": (64 << 20) + 1})) == []
    assert told(rule, machines.h100_host(SMALL)) == []


def test_unknown_size_or_place() -> None:
    assert told(rule, machines.h100_container()) == []
    assert told(rule, machines.h100_container(SMALL | {"container.inside": None})) == []


def test_a_bus_error_where_the_size_is_unknown_and_where_it_is_roomy() -> None:
    symptom = Symptom(key="dataloader-bus-error", text="Bus error", source="text:1")
    assert [f.basis for f in rule.on_symptom(machines.h100_container(), Knowledge(), symptom)] == ["symptom"]
    roomy = machines.h100_container({"host.shm_bytes": 16 << 30})
    assert list(rule.on_symptom(roomy, Knowledge(), symptom)) == []
