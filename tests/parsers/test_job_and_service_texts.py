"""Readers of what users paste of jobs, CI runners, development containers, tuned results and services."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.parsers.blas import tunableop_csv
from doctor.parsers.container import batch_script, container_config, container_manifest
from doctor.parsers.kernel import limits, service_unit
from doctor.triage.read import read_text
from tests.each import each


@each(
    "text, asks",
    [
        ("#SBATCH --gres=gpu:4\n", True),
        ("#SBATCH -n 1\n#SBATCH -t 10:00\n", False),
        ("$ srun --pty bash\n", False),
        ("user@login1:~$ salloc --gpus-per-node=2\n", True),
        ("AllocTRES=cpu=8,mem=32G,node=1\n", False),
        ("ReqTRES=cpu=8,gres/gpu=2\n", True),
        ("resources:\n  requests:\n    cpu: 500m\n    memory: 4Gi\nimage: tf-gpu:2\n", False),
        ("resources:\n  requests:\n    cpu: 500m\n  limits:\n    nvidia.com/gpu: 1\n", True),
        ("containers:\n- name: serve\n  resources: {}\n", False),
        ('"requests": {"cpu": "1"}\nresources: requests: memory: 8Gi\n', False),
        ("resources:\n  limits:\n    memory: 16Gi\n", False),
        ("    Limits:\n      cpu:             4\n      nvidia.com/gpu:  1\n", True),
    ],
)
def test_what_a_job_asks_for(text: str, asks: bool) -> None:
    assert batch_script.read(text).get("host.job_asks_gpus") is asks


def test_a_step_in_a_script_is_no_job() -> None:
    with pytest.raises(ParserError):
        batch_script.read("srun python train.py\n")
    assert batch_script.read("sbatch -p gpu --gres=gpu:a100:2 train.sh\n").get("host.job_asks_gpus") is True


def test_a_compose_file_asks_for_nothing() -> None:
    with pytest.raises(ParserError):
        batch_script.read("deploy:\n  resources:\n    limits:\n      cpus: '2'\n      memory: 4G\n")


def test_a_ci_runner() -> None:
    sheet = container_manifest.read(
        '[[runners]]\n  [runners.docker]\n    image = "nvidia/cuda:12.2"\n    gpus = "all"\n'
    )
    assert sheet.get("container.image") == "nvidia/cuda:12.2"
    assert sheet.get("container.run_args") == ["-d", "--gpus=all"]


def test_a_development_container() -> None:
    sheet = container_manifest.read(
        '{\n  "image": "rocm/pytorch",\n  "runArgs": ["--device=/dev/kfd", "--ipc=host"]\n}\n'
    )
    assert sheet.get("container.run_args") == ["-d", "--device=/dev/kfd", "--ipc=host"]


@pytest.mark.parametrize(
    ("text", "engine"),
    [
        (" Operating System: Docker Desktop\n", "docker desktop"),
        ("/snap/bin/docker\n", "docker snap"),
        ("desktop-linux * unix:///home/u/.docker/desktop/docker.sock\n", "docker desktop"),
    ],
)
def test_engines_apart(text: str, engine: str) -> None:
    assert container_config.read(text).get("container.engine_text") == engine


def test_an_engine_that_is_not_used() -> None:
    with pytest.raises(ParserError):
        container_config.read("this is docker-ce, not Docker Desktop\n")


def test_limits_as_people_write_them() -> None:
    assert limits.read("max locked memory 64 kB\n").get("host.memlock_bytes") == 65536
    assert limits.read("open files 1024\n").get("host.nofile") == 1024


def test_the_gpu_that_a_service_names() -> None:
    assert service_unit.read('msg="amdgpu is supported" gpu_type=gfx1103\n').get("gpus[#0].arch") == "gfx1103"


@each(
    "text, given",
    [
        ("$ systemctl show ollama -p Environment\nEnvironment=PATH=/bin A_B=1\n$ id\n", {"PATH": "/bin", "A_B": "1"}),
        ('$ systemctl cat ollama | grep -i environ\nEnvironment="A_B=1 2"\n', {"A_B": "1 2"}),
        ("u@h:~$ systemctl cat ollama | grep Environment\nu@h:~$ uname -r\n", {}),
        ("$ systemctl cat ollama | grep Environment\n$ uname -r\n", None),  # a list of commands
        ("u@h:~$ systemctl cat ollama | grep CUDA\nu@h:~$ uname -r\n", None),
        ("u@h:~$ systemctl cat ollama\nu@h:~$ uname -r\n", None),
        ("$ systemctl status ollama\nEnvironment=1\n", None),
        ('/etc/systemd/system/a.service.d/b.conf:Environment="A_B=1"\n', {"A_B": "1"}),
        ("/etc/systemd/system/a.service.d/b.conf: Environment=A_B=1\n", {"A_B": "1"}),
        ("/etc/systemd/system/a.service:#Environment=A_B=1\n", None),
        ('/home/u/docs/a.service.d/b.conf:Environment="A_B=1"\n', None),
    ],
)
def test_what_a_command_says_that_a_service_was_given(text: str, given: dict[str, str] | None) -> None:
    assert read_text([text.encode()]).service_environment == given


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$ echo $HSA_OVERRIDE_GFX_VERSION\n10.3.0\n", "10.3.0"),
        ('$ echo "${HSA_OVERRIDE_GFX_VERSION}"\n10.3.0\n', "10.3.0"),
        ("$ echo $HSA_OVERRIDE_GFX_VERSION\n\n", None),
        ("$ echo $HSA_OVERRIDE_GFX_VERSION $HOME\n10.3.0 /home/x\n", None),
    ],
)
def test_a_variable_that_is_printed(text: str, value: str | None) -> None:
    assert (read_text([text.encode()]).environment or {}).get("HSA_OVERRIDE_GFX_VERSION") == value


def test_validators_of_tuned_results() -> None:
    sheet = tunableop_csv.read("Validator,PT_VERSION,2.5.1\nValidator,ROCM_VERSION,6.2.0.0-66\n")
    assert sheet.get("torch.tunableop_validators[PT_VERSION]") == "2.5.1" or sheet.get("torch.tunableop_validators")
