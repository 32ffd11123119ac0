"""container-missing-gpu-passthrough: no node was passed."""

from __future__ import annotations

from doctor.intake.read import read_text
from doctor.knowledge import Knowledge
from doctor.rules.access import container_missing_gpu_passthrough as rule
from tests.rules import machines
from tests.rules.driver.asked import found, told


def test_no_nvidia_node() -> None:
    (finding,) = found(rule, machines.h100_container({"nodes": []}))
    assert finding.summary == "The kernel drives NVIDIA GPUs and this container has none of their nodes (/dev/nvidia*)."
    assert finding.subject.id == "nvidia"
    assert finding.fixes[0].command == ("docker", "run", "--gpus", "all", "IMAGE")


def test_no_amd_node() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes": []}))
    assert finding.summary == "The kernel drives AMD GPUs and this container lacks /dev/kfd and /dev/dri."
    assert finding.fixes[0].command == ("stat", "-c", "%g", "/dev/kfd")


def test_kfd_alone_is_missing() -> None:
    (finding,) = found(rule, machines.mi300x_container({"nodes[/dev/kfd]": None}))
    assert finding.summary == "The kernel drives AMD GPUs and this container lacks /dev/kfd."
    assert (finding.fixes[0].command or ())[-3:] == ("--group-add", "109", "IMAGE")


def test_on_a_host_or_without_a_driver() -> None:
    assert told(rule, machines.h100_host({"nodes": []})) == []
    assert told(rule, machines.no_gpu_host({"container.inside": True})) == []


def test_nodes_that_are_unknown() -> None:
    assert told(rule, machines.mi300x_container({"nodes": None})) == []


def test_one_of_eight_amd_gpus_was_passed() -> None:
    seven = {f"nodes[/dev/dri/renderD{number}]": None for number in range(129, 136)}
    (finding,) = found(rule, machines.mi300x_container(seven))
    assert (finding.severity.value, finding.subject.id, finding.fixes) == ("info", "amd-left-out", ())
    assert finding.summary == "7 of the host's 8 AMD GPUs were not passed to this container."
    assert finding.evidence[0].text.startswith("not passed: 0000:26:00.0, 0000:46:00.0")


def test_one_of_eight_nvidia_gpus_whose_numbers_are_hidden() -> None:
    seven = {f"nodes[/dev/nvidia{number}]": None for number in range(1, 8)}
    hidden = {f"gpus[{address}].device_node": None for address in machines.H100}
    (finding,) = found(rule, machines.h100_container(seven | hidden))
    assert finding.summary == "7 of the host's 8 NVIDIA GPUs were not passed to this container."
    assert finding.evidence[0].text == "not passed; which, its nodes do not tell"
    (named,) = found(rule, machines.h100_container(seven))
    assert "0000:1b:00.0" not in named.evidence[0].text


def test_gpus_whose_driver_is_unknown_or_bound_elsewhere_were_not_left_out() -> None:
    one = {"nodes[/dev/nvidia7]": None}
    assert told(rule, machines.h100_container(one | {f"gpus[{machines.H100[7]}].driver": None})) == []
    assert told(rule, machines.h100_container(one | {f"gpus[{machines.H100[7]}].driver": "vfio-pci"})) == []


def test_apptainer_without_its_option() -> None:
    text = b"$ apptainer shell tools.sif\nApptainer> python train.py\nBut your machine only has: []"
    (finding,) = rule.check(read_text([text]), Knowledge(), None)
    assert [fix.command[2] for fix in finding.fixes if fix.command] == ["--nv", "--rocm"]
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


def test_nvidias_runtime_that_is_told_which_gpus_to_give_excludes_it() -> None:
    chosen = "$ docker run --runtime=nvidia -e NVIDIA_VISIBLE_DEVICES={} acme/app:1"
    assert [rule.excludes(read_text([chosen.format(given).encode()])) for given in ("all", "none")] == [True, False]
    assert not rule.excludes(read_text([b"$ docker run --gpus all acme/app:1"]))


def test_words_accuse_no_run_line_that_gives_nvidias_gpus() -> None:
    seen = "the app in the container says: no GPU is found\n"
    assert rule.unheard(read_text([f"{seen}$ docker run --gpus all -p 80:80 serve/app:2".encode()]))
    assert not rule.unheard(read_text([f"{seen}$ docker run -p 80:80 serve/app:2".encode()]))
    assert rule.unheard(read_text([f"{seen}$ docker run --runtime nvidia -d serve/app:2".encode()]))
    assert rule.unheard(read_text([f"{seen}nvidia-smi works in the container".encode()]))
    asked = "services:\n  app:\n    image: serve/app:2\n    deploy:\n      resources:\n        capabilities: [gpu]\n"
    assert not rule.unheard(read_text([f"{seen}{asked}".encode()]))


TABLE = "| NVIDIA-SMI 535.183.01   Driver Version: 535.183.01   CUDA Version: 12.2 |\nGPU 0: Quadro P2200\n"


def test_words_accuse_no_container_in_which_a_gpu_is_used_or_given() -> None:
    for line in (
        "ggml_cuda_init: found 2 CUDA devices:",
        'level=INFO msg="inference compute" id=GPU-1 library=cuda compute=8.6',
        "--runtime=nvidia -e NVIDIA_VISIBLE_DEVICES=all",
        "deploy.resources.reservations.devices: driver nvidia, count all, capabilities [gpu]",
        f"$ docker exec worker nvidia-smi\n{TABLE}",
    ):
        assert rule.unheard(read_text([f"the container is slow\n{line}".encode()])), line
    for line in (
        "ggml_cuda_init: no CUDA devices found",
        "it runs without --runtime=nvidia",
        f"{TABLE}$ docker exec worker nvidia-smi\nbash: nvidia-smi: command not found",
        "$ docker exec worker nvidia-smi",
    ):
        assert not rule.unheard(read_text([f"the container is slow\n{line}".encode()])), line


def test_a_run_line_without_gpus_where_torch_has_one_is_a_remark() -> None:
    text = "GPU 0: Tesla T4\nservices:\n  app:\n    image: serve/app:2\n    shm_size: 8gb\nthe app stops\n{}\n"

    def suspect(line: str) -> int:
        (finding,) = rule.check(read_text([text.format(line).encode()]), Knowledge(), None)
        return finding.suspect

    assert suspect("") > 0
    assert suspect("torch.cuda.is_available() -> True") == 0
