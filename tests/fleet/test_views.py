"""What Slurm and Kubernetes believe of nodes, beside what the nodes say; in the formats of the tools themselves."""

from __future__ import annotations

import json

import pytest

from doctor.errors import InputError
from doctor.fleet.answers import Answer
from doctor.fleet.tally import Tally
from doctor.fleet.views import Told, disagreements, of_gres, of_kubernetes, of_scontrol
from tests.fleet.test_verdict import node

GRES = """
# comment
AutoDetect=nvml
NodeName=n[1-2] Name=gpu Type=h100 File=/dev/nvidia[0-7] COREs=0-47
NodeName=n3 Name=gpu Type=h100 File=/dev/nvidia0,/dev/nvidia1
NodeName=n3 Name=gpu Type=a100 Count=4
NodeName=n4 name=shard Count=8
Name=gpu File=/dev/nvidia[0-3]
"""
SCONTROL = (
    "NodeName=n1 Arch=x86_64 Gres=gpu:h100:8(S:0-1) NodeAddr=n1 State=IDLE ThreadsPerCore=2 Reason=x\n"
    "NodeName=n2 Arch=x86_64 Gres=gpu:h100:2,shard:4 NodeAddr=n2 State=IDLE+DRAIN ThreadsPerCore=2 "
    "Reason=bad fan [root@2026-11-20T10:00:00]\n"
    "NodeName=n3 Gres=(null) State=DOWN*\n"
)
KUBE = {
    "items": [
        {
            "metadata": {
                "name": "n1",
                "labels": {
                    "nvidia.com/cuda.driver.major": "570", "nvidia.com/cuda.driver.minor": "124",
                    "nvidia.com/cuda.driver.rev": "06", "nvidia.com/gpu-driver-upgrade-state": "upgrade-failed",
                },
            },
            "status": {"allocatable": {"nvidia.com/gpu": "7"}, "conditions": [{"type": "Ready", "status": "True"}]},
        },
        {
            "metadata": {"name": "n2", "labels": {"nvidia.com/cuda.driver-version.full": "575.57.8"}},
            "spec": {"unschedulable": True},
            "status": {"allocatable": {"amd.com/gpu": "8"}, "conditions": [{"type": "Ready", "status": "Unknown"}]},
        },
    ]
}  # fmt: skip


def test_gres_conf_counts_devices_and_counts() -> None:
    assert [(t.node, t.gpus) for t in of_gres(GRES)] == [("n1", 8), ("n2", 8), ("n3", 6)]


def test_scontrol_tells_counts_and_why_a_node_is_kept_away() -> None:
    assert list(of_scontrol(SCONTROL)) == [
        Told("n1", "Slurm", 8),
        Told("n2", "Slurm", 2, state="IDLE+DRAIN (bad fan [root@2026-11-20T10:00:00])"),
        Told("n3", "Slurm", None, state="DOWN*"),
    ]


def test_kubectl_tells_allocatable_driver_and_upgrade() -> None:
    assert list(of_kubernetes(json.dumps(KUBE))) == [
        Told("n1", "Kubernetes", 7, "570.124.06", "driver upgrade: upgrade-failed"),
        Told("n2", "Kubernetes", 8, "575.57.8", "cordoned, Ready is Unknown"),
    ]


@pytest.mark.parametrize("text", ["{", "[]", '{"items": [3]}', '{"items": [{"metadata": {}}]}', "[" * 100_000])
def test_what_is_no_answer_of_kubectl_says_so(text: str) -> None:
    with pytest.raises(InputError, match="kubectl get nodes"):
        list(of_kubernetes(text))


def test_disagreements_are_named_once_for_all_nodes_that_share_them() -> None:
    tally = Tally()
    for name in ("n1", "n2", "n3"):
        tally.add(Answer(name, node()))
    tally.add(Answer("n9", None, "nothing"))
    told = [
        Told("n1", "Slurm", 8), Told("n2", "Slurm", 8), Told("n3", "Slurm", 2, "575.57.8"), Told("n7", "Slurm", 8),
        Told("n9", "Slurm", 8, state="DOWN*"), Told("n3", "Kubernetes", None, "570.1"),
        Told("n1", "Kubernetes", state="cordoned"),
    ]  # fmt: skip
    assert disagreements(tally, told) == [
        "n1: Kubernetes says cordoned, and the node's report is good",
        "n3: Kubernetes says driver 570.1, loaded is 575.57.08",
        "n[1-2]: Slurm counts 8 GPUs, the node has 2",
        "n9: gave no report, and Slurm says DOWN*",
    ]


def test_what_a_node_does_not_know_contradicts_nobody() -> None:
    tally = Tally()
    tally.add(Answer("n1", node(gpus=None, nvidia_driver={})))
    assert disagreements(tally, [Told("n1", "Slurm", 8, "570.1")]) == []
