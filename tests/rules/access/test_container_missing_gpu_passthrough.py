"""container-missing-gpu-passthrough: no node was passed."""

from __future__ import annotations

from doctor.knowledge import Knowledge
from doctor.rules.access import container_missing_gpu_passthrough as rule
from doctor.triage.read import read_text
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_no_nvidia_node() -> None:
    (finding,) = found(rule, machines.h100_container({"nodes": []}))
    assert finding.summary == "The host has NVIDIA GPUs, but this container has no /dev/nvidia* nodes."
    assert finding.subject.id == "nvidia"
    assert finding.remedies[0].steps[0].command == ("docker", "run", "--gpus", "all", "IMAGE")


def test_no_amd_node() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes": []}))
    assert finding.summary == "The host has AMD GPUs, but this container was started without /dev/kfd and /dev/dri."
    assert finding.remedies[0].steps[0].command == ("stat", "-c", "%g", "/dev/kfd")


def test_kfd_alone_is_missing() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes[/dev/kfd]": None}))
    assert finding.summary == "The host has AMD GPUs, but this container was started without /dev/kfd."
    assert (finding.remedies[0].steps[0].command or ())[-3:] == ("--group-add", "109", "IMAGE")


def test_on_a_host_or_without_a_driver() -> None:
    assert told(rule, machines.h100_host({"nodes": []})) == []
    assert told(rule, machines.no_gpu_host({"container.inside": True})) == []


def test_nodes_that_are_unknown() -> None:
    assert told(rule, machines.mi300x_container({"nodes": None})) == []


def test_one_of_eight_amd_gpus_was_passed() -> None:
    seven = {f"nodes[/dev/dri/renderD{number}]": None for number in range(129, 136)}
    (finding,) = found(rule, machines.mi300x_container(seven))
    assert (finding.severity.value, finding.subject.id, finding.remedies) == ("info", "amd-left-out", ())
    assert finding.summary == "7 of the host's 8 AMD GPUs were not passed to this container."
    assert finding.evidence[0].text.startswith("not passed: 0000:26:00.0, 0000:46:00.0")


def test_one_of_eight_nvidia_gpus_whose_numbers_are_hidden() -> None:
    seven = {f"nodes[/dev/nvidia{number}]": None for number in range(1, 8)}
    hidden = {f"gpus[{address}].device_node": None for address in machines.H100}
    (finding,) = found(rule, machines.h100_container(seven | hidden))
    assert finding.summary == "7 of the host's 8 NVIDIA GPUs were not passed to this container."
    assert finding.evidence[0].text == "not passed; its nodes do not show which"
    (named,) = found(rule, machines.h100_container(seven))
    assert "0000:1b:00.0" not in named.evidence[0].text


def test_gpus_whose_driver_is_unknown_or_bound_elsewhere_were_not_left_out() -> None:
    one = {"nodes[/dev/nvidia7]": None}
    assert told(rule, machines.h100_container(one | {f"gpus[{machines.H100[7]}].driver": None})) == []
    assert told(rule, machines.h100_container(one | {f"gpus[{machines.H100[7]}].driver": "vfio-pci"})) == []


def test_apptainer_without_its_option() -> None:
    text = b"$ apptainer shell tools.sif\nApptainer> python train.py\nBut your machine only has: []"
    (finding,) = rule.check(read_text([text]), Knowledge(), None)
    assert [fix.steps[0].command[2] for fix in finding.remedies if fix.steps[0].command] == ["--nv", "--rocm"]
    passed = text.replace(b"shell tools", b"shell --nv tools")
    assert not list(rule.check(read_text([passed]), Knowledge(), None))


def test_a_driver_said_insufficient_where_the_run_line_asks_for_no_gpu() -> None:
    head = b"CUDA driver version is insufficient for CUDA runtime version\nNVIDIA driver version: 470.82\n"
    line = b"$ docker run --rm -v /data:/data acme/sharpen:gpu\n"
    (finding,) = rule.check(read_text([head + line]), Knowledge(), None)
    assert finding.severity.value == "warning"
    assert "nvidia-driver-too-old" in finding.explains
    assert not list(rule.check(read_text([head + line.replace(b"--rm", b"--rm --gpus all")]), Knowledge(), None))
    old = head.replace(b"CUDA driver version is insufficient", b"The NVIDIA driver on your system is too old")
    (remark,) = rule.check(read_text([old + line]), Knowledge(), None)
    assert remark.severity.value == "info"
    assert "nvidia-driver-too-old" not in remark.explains


def test_a_run_line_without_gpus_where_torch_has_one_is_a_remark() -> None:
    text = "GPU 0: Tesla T4\nservices:\n  app:\n    image: serve/app:2\n    shm_size: 8gb\nthe app stops\n{}\n"

    def suspect(line: str) -> int:
        (finding,) = rule.check(read_text([text.format(line).encode()]), Knowledge(), None)
        return finding.suspect

    assert suspect("") > 0
    assert suspect("torch.cuda.is_available() -> True") == 0


def test_a_jetson_gets_nvidias_runtime_and_nothing_of_amd() -> None:
    jetson = {"gpus": [], "kernel.release": "5.15.148-tegra", "container.run_args": ["docker", "run", "-it", "app"]}
    argv = str([step.command for r in rule.advice(machines.no_gpu_host(jetson), Knowledge()) for step in r.steps])
    assert "'--runtime', 'nvidia'" in argv
    assert "/dev/kfd" not in argv
