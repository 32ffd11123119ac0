"""device-node-permission: owner and mode keep this account out."""

from __future__ import annotations

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
