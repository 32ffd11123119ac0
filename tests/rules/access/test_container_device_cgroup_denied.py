"""container-device-cgroup-denied: the mode allows it, opening answers EPERM."""

from __future__ import annotations

from doctor.rules.access import container_device_cgroup_denied as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told

DENIED = {"nodes[/dev/kfd].openable": False, "nodes[/dev/kfd].open_error": "EPERM"}


def test_kfd_passed_as_a_volume() -> None:
    (finding,) = found(rule, machines.mi300x_container(DENIED))
    assert finding.summary == "The device cgroup blocks /dev/kfd; the file mode allows it."
    assert finding.subject.id == "/dev/kfd"
    assert finding.evidence[0].text == "/dev/kfd: mode 0660, opening it fails with EPERM"
    assert finding.remedies[1].steps[0].command == ("docker", "run", "--device-cgroup-rule", "c 511:* rw", "IMAGE")


def test_some_of_the_render_nodes_are_allowed() -> None:
    node = "nodes[/dev/dri/renderD128]"
    assert told(rule, machines.mi300x_container({f"{node}.openable": False, f"{node}.open_error": "EPERM"})) == []


def test_a_mode_that_refuses_and_a_slurm_job_are_other_rules() -> None:
    assert told(rule, machines.mi300x_container(DENIED | {"account.gids": [1000]})) == []
    assert told(rule, machines.mi300x_container(DENIED | {"environment": {"SLURM_JOB_ID": "7"}})) == []


def test_an_unknown_mode_or_answer() -> None:
    assert told(rule, machines.mi300x_container(DENIED | {"nodes[/dev/kfd].mode": None})) == []
    assert told(rule, machines.mi300x_container(DENIED | {"nodes[/dev/kfd].openable": None})) == []


def test_a_text_that_tells_of_no_container_may_be_of_a_host() -> None:
    """A driver whose packages are half configured answers EPERM too."""
    text = (
        "Unable to open /dev/kfd read-write: Operation not permitted\n"
        "uid=1000(kim) gid=1000(kim) groups=1000(kim),44(video),109(render)\n"
        "ls -l /dev/kfd\ncrw-rw---- 1 root render 238, 0 Sep  2 15:45 /dev/kfd\n"
    )
    assert told(rule, read_text([text.encode()])) == []
    assert told(rule, read_text([f"running inside a container: yes\n{text}".encode()])) != []
