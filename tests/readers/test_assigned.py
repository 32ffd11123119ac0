"""Files that set variables, as their users write them: each assignment with its line."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.errors import ReaderError
from doctor.readers import assigned

SCRIPT = """#!/bin/bash
#SBATCH --nodes=2
#SBATCH --export=ALL,NCCL_DEBUG=INFO
export NCCL_IB_DISABLE=1 HSA_XNACK="1"  # not NCCL_X=3
NCCL_P2P_DISABLE=1
FOO=3; export FOO
cat > x <<EOF
export NCCL_IN_HERE=1
EOF
if [ -n "$X" ]; then export GPU_MAX_HW_QUEUES=2; fi
HIP_VISIBLE_DEVICES=0 python a.py && env -u A TORCH_X=1 python b.py
docker run --rm -e VLLM_USE_V1=1 \\
   --env=AMD_LOG_LEVEL=4 img
srun --export=ALL,OMP_NUM_THREADS=8 python t.py
mpirun -x NCCL_SOCKET_IFNAME=eth0 ./a
export CACHE=$HOME/x
unset HSA_XNACK
"""
DOCKERFILE = """FROM rocm/pytorch:latest
# a remark
ENV NCCL_DEBUG=INFO \\
    # another
    HSA_XNACK="a b" \\

    VLLM_USE_V1='1'
ENV MIOPEN_FIND_MODE 3
RUN export X=1 && echo ENV Y=2
ENV LD_LIBRARY_PATH=/opt/rocm/lib:$LD_LIBRARY_PATH
"""
COMPOSE = """services:
  vllm:
    environment:
      - NCCL_P2P_DISABLE=true
      - HF_TOKEN
  other:
    environment: &shared
      VLLM_USE_V1: 1
      CACHE: ${CACHE:-/c}
  third:
    environment: *shared
"""
MANIFEST = """apiVersion: v1
kind: Pod
spec:
  containers:
  - name: a
    env:
    - name: NCCL_DEBUG
      value: "INFO"
    - name: HSA_XNACK
      value: 1
    - {name: SECRET, valueFrom: {secretKeyRef: {name: x}}}
---
apiVersion: v1
kind: Pod
spec: {containers: [{name: b, env: [{name: NCCL_IB_HCA, value: mlx5}]}]}
"""
UNIT = """[Service]
Environment="NCCL_DEBUG=INFO" HSA_XNACK=1
# Environment=NO=1
UnsetEnvironment=HSA_XNACK
ExecStart=/usr/bin/env A_B=1 /usr/bin/ollama serve
"""
ENV = "# remark\nexport A=1 # why\nB = 'x y'\nC=\"1\" # z\nnot an assignment\n"


@pytest.mark.parametrize(
    ("kind", "text", "rows"),
    [
        (
            "shell",
            SCRIPT,
            [
                (3, "NCCL_DEBUG", "INFO", "set"),
                (4, "NCCL_IB_DISABLE", "1", "set"),
                (4, "HSA_XNACK", "1", "set"),
                (5, "NCCL_P2P_DISABLE", "1", "plain"),
                (6, "FOO", "3", "set"),
                (10, "GPU_MAX_HW_QUEUES", "2", "set"),
                (11, "HIP_VISIBLE_DEVICES", "0", "set"),
                (11, "TORCH_X", "1", "set"),
                (12, "VLLM_USE_V1", "1", "set"),
                (13, "AMD_LOG_LEVEL", "4", "set"),
                (14, "OMP_NUM_THREADS", "8", "set"),
                (15, "NCCL_SOCKET_IFNAME", "eth0", "set"),
                (16, "CACHE", None, "set"),
                (17, "HSA_XNACK", None, "unset"),
            ],
        ),
        (
            "dockerfile",
            DOCKERFILE,
            [
                (3, "NCCL_DEBUG", "INFO", "set"),
                (5, "HSA_XNACK", "a b", "set"),
                (7, "VLLM_USE_V1", "1", "set"),
                (8, "MIOPEN_FIND_MODE", "3", "set"),
                (10, "LD_LIBRARY_PATH", None, "set"),
            ],
        ),
        (
            "yaml",
            COMPOSE,
            [
                (4, "NCCL_P2P_DISABLE", "true", "set"),
                (5, "HF_TOKEN", None, "set"),
                (8, "VLLM_USE_V1", "1", "set"),
                (9, "CACHE", None, "set"),
                (8, "VLLM_USE_V1", "1", "set"),
                (9, "CACHE", None, "set"),
            ],
        ),
        (
            "yaml",
            MANIFEST,
            [
                (8, "NCCL_DEBUG", "INFO", "set"),
                (10, "HSA_XNACK", "1", "number"),
                (11, "SECRET", None, "set"),
                (15, "NCCL_IB_HCA", "mlx5", "set"),
            ],
        ),
        (
            "unit",
            UNIT,
            [
                (2, "NCCL_DEBUG", "INFO", "set"),
                (2, "HSA_XNACK", "1", "set"),
                (4, "HSA_XNACK", None, "unset"),
                (5, "A_B", "1", "set"),
            ],
        ),
        ("env", ENV, [(2, "A", "1", "set"), (3, "B", "x y", "set"), (4, "C", "1", "set")]),
    ],
)
def test_assignments_with_their_lines(kind: str, text: str, rows: list[tuple[int, str, str | None, str]]) -> None:
    assert [tuple(row) for row in assigned.read(text, kind)] == rows


@pytest.mark.parametrize(
    ("name", "text", "kind"),
    [
        ("deploy/Dockerfile.rocm", "", "dockerfile"),
        ("docker-compose.yml", "", "yaml"),
        (".env.local", "", "env"),
        ("run.sh", "", "shell"),
        ("job", "#!/bin/bash\n", "shell"),
        ("ollama.service", "", "unit"),
        ("override", "[Service]\nEnvironment=A=1", "unit"),
        ("pod", "apiVersion: v1\n", "yaml"),
        ("vars", "A=1\n", "env"),
        ("x", "FROM ubuntu\nENV A=1\n", "dockerfile"),
    ],
)
def test_the_kind_of_a_file(name: str, text: str, kind: str) -> None:
    assert assigned.kind_of(name, text) == kind


def test_what_is_no_yaml_is_refused() -> None:
    with pytest.raises(ReaderError, match="no YAML"):
        assigned.read("a: [1", "yaml")


@settings(max_examples=60, deadline=None)
@given(st.text(max_size=400), st.sampled_from(assigned.KINDS))
def test_any_text_is_read_or_refused(text: str, kind: str) -> None:
    try:
        rows = assigned.read(text, kind)
    except ReaderError:
        return
    assert all(row.value is None or row.value.isprintable() or "\t" in row.value for row in rows)


def test_a_bomb_of_aliases_is_walked_once() -> None:
    bomb = "a: &a [x, x]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    assert assigned.read(bomb, "yaml") == ()
