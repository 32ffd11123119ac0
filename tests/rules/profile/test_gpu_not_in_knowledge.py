"""gpu-not-in-knowledge: a PCI id of no table."""

from __future__ import annotations

from doctor.rules.profile import gpu_not_in_knowledge as rule
from tests.rules import machines
from tests.rules.driver.asked import told

NAME = f"gpus[{machines.MI300X[0]}].pci_id"


def test_an_id_of_no_table() -> None:
    assert told(rule, machines.mi300x_host({NAME: "1002:ffff"})) == [
        ("info", "1002:ffff", "GPU 1002:ffff is not in the knowledge base, so only generic checks ran.")
    ]


def test_a_known_id_with_a_new_revision_is_known() -> None:
    """The RX 7800 XT shares 747e with three products; its revision may be one that no table names."""
    card = {"gpus[0000:03:00.0].pci_id": "1002:747e", "gpus[0000:03:00.0].revision": "01"}
    assert told(rule, machines.rx7900_desktop(card)) == []
    assert told(rule, machines.rx7900_desktop(card | {"gpus[0000:03:00.0].revision": None})) == []


def test_known_and_unknown_ids() -> None:
    assert told(rule, machines.mi300x_host()) == []
    assert told(rule, machines.mi300x_host({NAME: None})) == []
