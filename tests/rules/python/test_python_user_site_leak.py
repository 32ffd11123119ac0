"""python-user-site-leak: ~/.local shadows the environment."""

from __future__ import annotations

from doctor.rules.python import python_user_site_leak as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told

HOME = {"name": "torch", "version": "2.4.1", "location": "/home/al/.local/lib/python3.12/site-packages"}
VENV = {"name": "torch", "version": "2.7.0+cu128", "location": "/opt/venv/lib/python3.12/site-packages"}


def test_an_older_torch_in_the_users_home() -> None:
    (finding,) = found(rule, machines.h100_host({"packages": [HOME, VENV]}))
    assert finding.summary == "torch 2.4.1 in ~/.local hides 2.7.0+cu128 of the environment."
    assert (finding.severity.value, finding.subject.id) == ("warning", "torch")
    assert finding.remedies[0].steps[0].command == ("env", "PYTHONNOUSERSITE=1", "COMMAND")


def test_the_same_version_one_copy_or_a_package_that_does_not_matter() -> None:
    assert told(rule, machines.h100_host({"packages": [HOME, VENV | {"version": "2.4.1"}]})) == []
    assert told(rule, machines.h100_host({"packages": [HOME]})) == []
    rich = [HOME | {"name": "rich"}, VENV | {"name": "rich"}]
    assert told(rule, machines.h100_host({"packages": rich})) == []


def test_places_that_are_unknown() -> None:
    assert told(rule, machines.h100_host({"packages": [HOME, {"name": "torch", "version": "2.7.0"}]})) == []
    assert told(rule, machines.h100_host()) == []
