"""device-node-permission: owner and mode keep this account out."""

from __future__ import annotations

import pytest

from doctor.engine.judge import judge
from doctor.knowledge import Knowledge
from doctor.rules.access import device_node_permission as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told

SHUT = {"account.gids": [1000], "account.member_of": [], "account.user": "me", "nodes[/dev/kfd].openable": False,
        "nodes[/dev/kfd].open_error": "EACCES"}  # fmt: skip


def test_kfd_that_another_group_owns() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(SHUT))
    assert finding.summary == "This account cannot open /dev/kfd: group render (gid 109) owns it."
    assert finding.subject.id == "/dev/kfd"
    assert finding.remedies[0].steps[0].command == ("usermod", "-aG", "render", "me")


def test_nodes_of_an_unmapped_group_need_no_account_in_it() -> None:
    machine = machines.rx7900_desktop(SHUT | {"nodes[/dev/kfd].gid": 65534, "nodes[/dev/kfd].group": "nogroup"})
    assert "keep-groups" in (found(rule, machine)[0].remedies[0].steps[0].command or ())


def test_a_member_who_has_not_logged_in_again() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(SHUT | {"account.member_of": ["render"]}))
    assert [fix.steps[0].command for fix in finding.remedies] == [None]


def test_opening_works_or_it_is_a_container() -> None:
    assert told(rule, machines.rx7900_desktop({"account.gids": [1000]})) == []
    assert told(rule, machines.rx7900_container(SHUT)) == []


def test_unknown_answer_and_mode() -> None:
    unknown = SHUT | {"nodes[/dev/kfd].openable": None, "nodes[/dev/kfd].mode": None}
    assert told(rule, machines.rx7900_desktop(unknown)) == []


@pytest.mark.parametrize(
    ("listed", "available", "fires"),
    [
        ("crw-rw----", True, False),
        ("crw-rw----", None, False),  # a container in which root works looks so
        ("crw-rw----", False, True),
        ("crw-------", None, True),
        ("crw-------", True, False),
    ],
)
def test_a_text_with_a_node_of_root(listed: str, available: bool | None, fires: bool) -> None:
    text = f"{listed} 1 root root 235, 0 Nov 20 10:00 /dev/kfd\n"
    if available is not None:
        text += f">>> torch.cuda.is_available()\n{available}\n"
    found = [f for f in judge(read_text([text.encode()]), Knowledge()).findings if f.rule == rule.RULE.id]
    assert bool(found) is fires
    assert "None" not in " ".join(f.summary + f.evidence[0].text for f in found)


def test_in_a_container_that_names_the_owning_group_its_account_is_shown_not_to_be_in_it() -> None:
    told = (
        "Container:\n```\nrunning inside a container: yes\ncontainer engine: docker\n"
        "$ docker run --device /dev/kfd --device /dev/dri\n```\n\n"
        "User:\n```\n$ id\nuid=1002(app) gid=1002(app) groups=1002(app){more}\n```\n\n"
        "Other output:\n```\ncrw-rw---- 1 root {group} 236, 0 /dev/kfd\n```\n"
    )

    def raised(group: str, more: str = "") -> list[str]:
        text = told.format(group=group, more=more).encode()
        return [f.summary for f in rule.check(read_text([text]), Knowledge(), None)]

    assert raised("render") == ["This container's account is not in the group render, which owns /dev/kfd."]
    assert raised("render", ",993(render)") == []
    assert raised("993") == []


def test_a_node_that_opens_is_not_shut_whatever_its_mode_and_group_say() -> None:
    inside = {
        "account.uid": 1000, "account.gids": [1000], "account.member_of": ["me"], "nodes[/dev/kfd].group": "render",
        "nodes[/dev/kfd].openable": False, "nodes[/dev/kfd].open_error": "EACCES",
    }  # fmt: skip
    assert told(rule, machines.rx7900_container(inside)) != []
    assert told(rule, machines.rx7900_container(inside | {"nodes[/dev/kfd].openable": True})) == []


def test_a_pod_gets_its_group_in_the_manifest_and_nothing_on_the_host() -> None:
    pod = machines.rx7900_desktop(SHUT | {"container.engine": "kubernetes"})
    (remedy,) = found(rule, pod)[0].remedies
    assert "supplementalGroups: [109]" in remedy.steps[0].text
    assert "usermod" not in str(remedy)


def test_what_is_not_known_of_the_node_is_neither_evidence_nor_summary() -> None:
    (finding,) = found(rule, read_text([b"rocminfo: Unable to open /dev/kfd read-write: Permission denied\n"]))
    assert finding.summary == "This account cannot open /dev/kfd."
    assert [evidence.text for evidence in finding.evidence if "unknown" in evidence.text] == []
