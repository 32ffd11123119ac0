"""device-node-permission: owner and mode keep this account out."""

from __future__ import annotations

import pytest

from doctor.diagnosis.judge import judge
from doctor.intake.read import read_text
from doctor.knowledge import Knowledge
from doctor.rules.access import device_node_permission as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

SHUT = {"account.gids": [1000], "account.member_of": [], "account.user": "me", "nodes[/dev/kfd].openable": False,
        "nodes[/dev/kfd].open_error": "EACCES"}  # fmt: skip


def test_kfd_that_another_group_owns() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(SHUT))
    assert finding.summary == "This account may not open /dev/kfd: group render (gid 109) owns it."
    assert finding.subject.id == "/dev/kfd"
    assert finding.fixes[0].command == ("usermod", "-aG", "render", "me")


def test_a_member_who_has_not_logged_in_again() -> None:
    (finding,) = found(rule, machines.rx7900_desktop(SHUT | {"account.member_of": ["render"]}))
    assert [fix.command for fix in finding.fixes] == [None]


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


def test_in_a_container_nodes_of_root_and_an_account_of_no_group() -> None:
    inside = "Container:\n```\nrunning inside a container: yes\ncontainer engine: lxd\n```\n\n"
    node = "crw-rw---- 1 root {group} 226, 128 Dec 22 04:10 /dev/dri/renderD128\n"
    refused = "cat: /dev/dri/renderD128: Permission denied\n"
    member = "uid=1000(me) gid=1000(me) groups=1000(me),44(video),109(render)\n"
    stranger = "uid=1000(me) gid=1000(me) groups=1000(me)\n"
    rows = [
        (refused + node.format(group="root") + member, True),
        (refused + node.format(group="render") + member, False),
        ("rocminfo fails as me and works with sudo\n" + stranger, True),
        ("rocminfo fails as me and works with sudo\n" + member, False),
        (stranger, False),
    ]
    for text, fires in rows:
        assert bool(told(rule, read_text([f"{inside}```\n{text}```\n".encode()]))) is fires, text


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
