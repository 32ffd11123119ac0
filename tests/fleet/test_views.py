"""What Slurm and Kubernetes believe of nodes, beside what the nodes say; in the formats of the tools themselves."""

from __future__ import annotations

import json

import pytest

from doctor.errors import InputError
from doctor.fleet.answers import Answer
from doctor.fleet.kubernetes import of_kubernetes, operators
from doctor.fleet.tally import Tally
from doctor.fleet.views import ALL, NodeView, disagreements, of_gres, of_scontrol
from tests.each import each
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
    assert [(t.node, t.gpus) for t in of_gres(GRES)] == [("n1", 8), ("n2", 8), ("n3", 6), (ALL, 4)]


def test_gres_conf_as_its_manual_writes_it() -> None:
    text = (
        "NodeName=tux3  Name=gpu File=/dev/nvidia[0,2-3]\nNodeName=tux4 Name=gpu Count=2K\n"
        "NodeName=tux5 \\\n  Name=gpu File=/dev/dri/renderD[128-135]\n"
        "NodeName=mig1 Name=gpu Type=1g.5gb MultipleFiles=/dev/nvidia0,/dev/nvidia-caps/nvidia-cap21\n"
        "NodeName=mig1 Name=gpu Type=a100 File=/dev/nvidia1\nNodeName=tux6 AutoDetect=off Name=gpu File=/dev/nvidia0\n"
    )
    told = {t.node: t.gpus for t in of_gres(text)}
    assert told == {"tux3": 3, "tux4": 2048, "tux5": 8, "mig1": None, "tux6": 1}


def test_a_line_for_all_nodes_is_held_against_those_that_no_other_line_names() -> None:
    tally = Tally()
    for name in ("n1", "n2", "n3"):
        tally.add(Answer(name, node()))
    told = of_gres("Name=gpu File=/dev/nvidia[0-7]\nNodeName=n2 Name=gpu File=/dev/nvidia[0-1]\n")
    assert disagreements(tally, told) == ["n[1,3]: gres.conf counts 8 GPUs, the node has 2"]


def test_scontrol_tells_counts_and_why_a_node_is_kept_away() -> None:
    assert list(of_scontrol(SCONTROL)) == [
        NodeView("n1", "Slurm", 8),
        NodeView("n2", "Slurm", 2, state="IDLE+DRAIN (bad fan [root@2026-11-20T10:00:00])"),
        NodeView("n3", "Slurm", None, state="DOWN*"),
    ]


def test_kubectl_tells_allocatable_driver_and_upgrade() -> None:
    assert list(of_kubernetes(json.dumps(KUBE))) == [
        NodeView("n1", "Kubernetes", 7, "570.124.06", "driver upgrade: upgrade-failed"),
        NodeView("n2", "Kubernetes", 8, "575.57.8", "cordoned, Ready is Unknown"),
    ]


def kube(labels: dict[str, str], capacity: str | None = "8", allocatable: str | None = "8", **more: object) -> str:
    amounts = {"capacity": capacity, "allocatable": allocatable}
    status = {name: {"nvidia.com/gpu": count} if count else {"cpu": "8"} for name, count in amounts.items()}
    row = {"kind": "Node", "metadata": {"name": "n1", "labels": labels}, "status": {**status, **more}}
    return json.dumps({"kind": "List", "items": [row]})


@each("text, gpus, state", [
        (kube({}), 8, None),
        (kube({}, allocatable="7"), 8, "1 of 8 GPUs not allocatable"),
        (kube({"nvidia.com/gpu.replicas": "4"}, "32", "32"), 8, None),
        (kube({"nvidia.com/gpu.product": "A100-SXM4-40GB-MIG-1g.5gb"}, "56", "56"), None, None),
        (kube({"nvidia.com/gpu.present": "true"}, None, None), 0, None),
        (kube({}, None, None), None, None),
        (kube({"nvidia.com/mig.config.state": "failed"}), 8, "MIG configuration: failed"),
        (kube({"nvidia.com/gpu.deploy.dcgm": "paused-for-driver-upgrade", "nvidia.com/gpu.deploy.mig": "true"}),
         8, "paused: dcgm"),
        (kube({"operator.amd.com/gpu-driver-upgrade-state": "Upgrade-Failed"}), 8, "driver upgrade: Upgrade-Failed"),
        (kube({}, conditions=[{"type": "GPUStackProblem", "status": "True", "message": "doctor: gpu-lost"}]),
         8, "GPUStackProblem: doctor: gpu-lost"),
    ])  # fmt: skip
def test_labels_of_device_plugins_and_operators(text: str, gpus: int | None, state: str | None) -> None:
    (told,) = of_kubernetes(text)
    assert (told.gpus, told.state) == (gpus, state)


OPERATORS = {
    "items": [
        {"kind": "ClusterPolicy", "metadata": {"name": "cluster-policy"},
         "status": {"state": "notReady", "namespace": "gpu-operator", "conditions": [
             {"type": "Ready", "status": "False", "message": ""},
             {"type": "Error", "status": "True", "message": "driver pods are not ready"}]}},
        {"kind": "ClusterPolicy", "metadata": {"name": "good"}, "status": {"state": "ready"}},
        {"kind": "DeviceConfig", "metadata": {"name": "mi300x"}, "status": {
            "driver": {"nodesMatchingSelectorNumber": 4, "desiredNumber": 4, "availableNumber": 3},
            "devicePlugin": {"nodesMatchingSelectorNumber": 4, "desiredNumber": 4, "availableNumber": 4},
            "nodeModuleStatus": {"m1": {"status": "Upgrade-Failed"}, "m2": {"status": "Upgrade-Complete"}}}},
    ]
}  # fmt: skip


def test_an_operator_that_is_not_ready_is_named() -> None:
    assert operators(json.dumps(OPERATORS)) == [
        "GPU operator: ClusterPolicy cluster-policy is notReady: driver pods are not ready",
        "GPU operator: DeviceConfig mi300x: driver runs on 3 of 4 nodes",
    ]
    assert list(of_kubernetes(json.dumps(OPERATORS))) == [
        NodeView("m1", "Kubernetes", state="driver module: Upgrade-Failed")
    ]
    assert operators("") == []


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
        NodeView("n1", "Slurm", 8), NodeView("n2", "Slurm", 8), NodeView("n3", "Slurm", 2, "575.57.8"),
        NodeView("n7", "Slurm", 8),
        NodeView("n9", "Slurm", 8, state="DOWN*"), NodeView("n3", "Kubernetes", None, "570.1"),
        NodeView("n1", "Kubernetes", state="cordoned"),
    ]  # fmt: skip
    assert disagreements(tally, told) == [
        "n1: Kubernetes says cordoned, and no problem was found on the node",
        "n3: Kubernetes says driver 570.1, loaded is 575.57.08",
        "n[1-2]: Slurm counts 8 GPUs, the node has 2",
        "n9: gave no report, and Slurm says DOWN*",
    ]


def test_what_a_node_does_not_know_contradicts_nobody() -> None:
    tally = Tally()
    tally.add(Answer("n1", node(gpus=None, nvidia_driver={})))
    assert disagreements(tally, [NodeView("n1", "Slurm", 8, "570.1")]) == []
