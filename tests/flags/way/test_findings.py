"""Mistakes in the way of a variable, each with a near miss: the same file put right."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml

from doctor.facts.snapshot import Snapshot
from doctor.flags.files import look
from doctor.flags.way.run import follow
from doctor.parsers.text.shell_lexer import HOLE
from tests.each import each

RULE = "env-flag-not-passed-on"
EXPORT = "export NCCL_DEBUG=INFO\n"
CONDA = {"env/etc/conda/activate.d/": "a.sh", "env/etc/conda/activate.d/a.sh": "unset NCCL_DEBUG\n"}


def found(name: str, text: str, files: dict[str, str] | None = None) -> list[str]:
    """`line id` of each finding about the way."""
    held = files or {}
    looked = look(name, text, None, Snapshot(), {}, named=lambda p: (p, held[p]) if p in held else None)
    rows = [f for f in looked.findings if f.rule == RULE]
    return [f"{f.evidence[0].source.split(':')[1]} {f.evidence[-1].text}" for f in rows]


@each("row", yaml.safe_load((Path(__file__).parent / "mistakes.yaml").read_text("utf-8")))
def test_a_variable_that_does_not_arrive_is_named(row: dict[str, str]) -> None:
    line, _, what = row["finding"].partition(" ")
    assert found("a.sh", f"#!/bin/bash\n{row['text']}") == [f"{int(line) + 1} {what}"]
    assert found("a.sh", f"#!/bin/bash\n{row['right']}") == []


@pytest.mark.parametrize(
    "text",
    [
        f"{EXPORT}python a.py\nsudo python b.py\n",  # one gets it
        f"{EXPORT}source /opt/x.sh\n$LAUNCH python t.py\n",  # who starts it is computed
        f"{EXPORT}mpiexec -hostfile h -ppn 8 python t.py\n",  # Hydra passes all of it
        f"#SBATCH -N 2\n{EXPORT}mpirun -hostfile h --map-by node python t.py\n",  # started by Slurm
        f"{EXPORT}X=$(env | cut -d= -f1 | xargs)\nmpirun --map-by node -H a,b -x $X python t.py\n",  # a computed list
        f"{EXPORT}sudo apt-get install x\n",
        f"{EXPORT}docker exec box python t.py\n",  # what it was started with is not known
        f"rocminfo\n{EXPORT}",  # may be sourced
        f'{EXPORT}if [ -n "$X" ]; then sudo python t.py; else python t.py; fi\n',
    ],
)
def test_what_is_not_known_is_not_raised(text: str) -> None:
    assert found("a.sh", f"#!/bin/bash\n{text}") == []


UNIT = "[Service]\nExecStart=/usr/bin/ollama serve\n"


@each(
    ("command", "rows"),
    [
        ("mpirun -H a,b", [("ranks on other hosts", None)]),  # which Hydra refuses
        ("mpirun -hosts a,b", [("each rank of mpirun", "0")]),  # which Open MPI refuses
        (
            "mpirun -host a,b --map-by slot",
            [("with Open MPI: ranks on other hosts", None), ("with MPICH or Intel MPI: each rank of mpirun", "0")],
        ),
    ],
)
def test_whose_mpirun_it_is(command: str, rows: list[tuple[str, str | None]]) -> None:
    followed = follow("a.sh", f"export HSA_XNACK=0\n{command} -np 2 python t.py\n", "shell")
    assert [(p.where, p.sees.of("HSA_XNACK")[0].text) for p in followed.processes] == rows


def test_units() -> None:
    assert found("a.service", f"[Unit]\nEnvironment=HSA_XNACK=1\n{UNIT}") == ["2 unit-section"]
    assert found("a.service", f"{UNIT}Environment=export HSA_XNACK=0\n") == ["3 unit-assignment"]
    assert found("a.service", f"{UNIT}Environment=HSA_XNACK = 0\n") == ["3 unit-assignment"]
    assert found("a.service", f'{UNIT}Environment=HSA_XNACK=0 "A=b c"\n') == []
    files = {"/etc/x.env": "export HSA_XNACK=0\n"}
    assert found("a.service", f"{UNIT}EnvironmentFile=/etc/x.env\n", files) == ["1 env-file-export"]


def test_a_run_of_a_dockerfile() -> None:
    assert found("Dockerfile", "FROM x\nRUN export HSA_XNACK=1\n") == ["2 run-export"]
    assert found("Dockerfile", "FROM x\nRUN export HSA_XNACK=1 && python setup.py\n") == []
    assert found("Dockerfile", "FROM x\nENV HSA_XNACK=1\nRUN export HSA_XNACK=1\n") == []


def test_an_argument_that_nothing_uses() -> None:
    assert found("Dockerfile", 'FROM x\nARG NCCL_DEBUG=INFO\nCMD ["python", "t.py"]\n') == ["2 build-argument"]
    assert found("Dockerfile", "FROM x\nARG NCCL_DEBUG=INFO\nENV NCCL_DEBUG=$NCCL_DEBUG\n") == []
    assert found("Dockerfile", "FROM x\nARG NVTE_FRAMEWORK=pytorch\nRUN pip install .\n") == []


def test_quotes_in_an_env_file() -> None:
    line = "docker run --env-file x.env img python t.py\n"
    assert found("a.sh", line, {"x.env": 'NCCL_DEBUG="INFO"\n'}) == ["1 env-file-quotes"]
    assert found("a.sh", line, {"x.env": "NCCL_DEBUG=INFO\n"}) == []


def test_python_sets_what_torch_has_read() -> None:
    late = "import os\nimport torch\nos.environ['OMP_NUM_THREADS'] = '4'\n"
    assert found("a.sh", "python t.py\n", {"t.py": late}) == ["3 set-too-late"]
    early = "import os\nos.environ['OMP_NUM_THREADS'] = '4'\nimport torch\n"
    assert found("a.sh", "python t.py\n", {"t.py": early}) == []


def test_what_an_operator_of_kubernetes_may_set() -> None:
    pod = "kind: Pod\nspec:\n  containers:\n  - name: a\n    command: [torchrun, --nnodes=2, {}t.py]\n"
    assert found("pod.yaml", pod.format("")) == []
    assert found("pod.yaml", pod.format("--master_addr=localhost, ")) == ["4 master-localhost"]


def test_a_cure_for_sudo_before_a_container_passes_both() -> None:
    text = f"{EXPORT}sudo docker run img python t.py\n"
    (finding,) = [f for f in look("a.sh", text, None, Snapshot(), {}).findings if f.rule == RULE]
    cure = finding.remedies[0].title.split("`")[1]
    assert cure == '-e NCCL_DEBUG="$NCCL_DEBUG"'
    assert found("a.sh", text.replace(" img", f" {cure} img")) == []


RAY = "import os, ray\n{}ray.init({})\n{}"


def test_rays_workers_have_what_was_set_before() -> None:
    late, early = "os.environ['NCCL_DEBUG'] = 'INFO'\n", ""
    script = {"t.py": RAY.format(early, "", late)}
    assert found("a.sh", "python t.py\n", script) == ["3 set-too-late"]
    assert found("a.sh", "python t.py\n", {"t.py": RAY.format(late, "", "")}) == []
    given = "runtime_env={'env_vars': {'NCCL_DEBUG': 'INFO'}}"
    assert found("a.sh", "python t.py\n", {"t.py": RAY.format("", given, late)}) == []
    guarded = "if os.environ.get('X'):\n    os.environ['NCCL_DEBUG'] = 'INFO'\n"
    assert found("a.sh", "python t.py\n", {"t.py": RAY.format("", "", guarded)}) == []


def test_a_script_that_is_written_and_started_elsewhere() -> None:
    text = "cat > job.sh <<EOF\nexport NCCL_DEBUG=INFO\nsudo python t.py\nEOF\nbash job.sh\n"
    assert found("a.sh", f"#!/bin/bash\n{text}") == ["1 sudo"]
    assert found("a.sh", f"#!/bin/bash\n{text.replace('sudo', 'sudo -E')}") == []


@pytest.mark.parametrize(
    ("files", "values"),
    [(CONDA, [None]), ({**CONDA, "env/conda-meta/state": "{}"}, ["INFO", HOLE]), ({}, ["INFO", HOLE])],
)
def test_scripts_of_a_conda_folder_are_read(files: dict[str, str], values: list[str | None]) -> None:
    text = f"{EXPORT}conda activate ./env\npython t.py\n"
    made = follow("a.sh", text, "shell", lambda p: (p, files[p]) if p in files else None)
    assert [alt.text for alt in made.processes[0].sees.of("NCCL_DEBUG")] == values
