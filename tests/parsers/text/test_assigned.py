"""Files that set variables, as their users write them: each assignment with its line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from doctor.errors import ParserError
from doctor.parsers.text import assigned
from tests.each import each

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
                (9, "X", "1", "set"),
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
                (9, "CACHE", "/c", "set"),
                (8, "VLLM_USE_V1", "1", "set"),
                (9, "CACHE", "/c", "set"),
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
    assert [tuple(row)[:4] for row in assigned.read(text, kind) if row.how != "from"] == rows


def scopes(text: str, kind: str) -> list[tuple[int, str, str | None, str]]:
    return [(row.line, row.name, row.value, row.scope) for row in assigned.read(text, kind)]


def test_what_stands_before_a_command_is_of_that_command() -> None:
    text = "export A=1\nB=2 python x.py\nC=3 srun --export=ALL,D=4 python y.py\n"
    assert scopes(text, "shell") == [
        (1, "A", "1", ""),
        (2, "B", "2", "line 2"),
        (3, "C", "3", "line 3"),
        (3, "D", "4", "line 3"),
    ]


@each(
    "value, read",
    [
        ("${NCCL_DEBUG:-INFO}", "INFO"),
        ("${A-}", None),
        ("${A:-$B}", None),
        ("$(nproc)", None),
        ("$((N - 1))", None),
        ('"$(seq -s, 0 $(nproc))"', None),
        ("$A", None),
        ("`nproc`", None),
        ('"${A:-0}"', "0"),
        ("'x y'", "x y"),
        ("${A:=3}", "3"),
    ],
)
def test_a_default_counts_and_what_is_computed_does_not(value: str, read: str | None) -> None:
    assert [row.value for row in assigned.read(f"export X={value}\n", "shell")][:1] == [read]


def test_a_variable_that_is_declared_without_export_is_the_shells() -> None:
    text = "declare A=1\nreadonly -x B=2\nlocal C=3; export C\nreadonly D=4\n"
    assert [(row.name, row.how) for row in assigned.read(text, "shell")] == [
        ("A", "plain"), ("B", "set"), ("C", "set"), ("D", "plain"),
    ]  # fmt: skip


def test_a_computed_part_does_not_end_the_command() -> None:
    text = "if A=$g B=$((n - 1)) C=3 ./x.sh; then D=$(cat <<< 1)\nfi\n"
    assert [(row.name, row.value, row.how) for row in assigned.read(text, "shell")] == [
        ("A", None, "set"),
        ("B", None, "set"),
        ("C", "3", "set"),
        ("D", None, "plain"),
    ]


def test_an_argument_of_the_build_gives_its_default() -> None:
    text = "ARG LEVEL=INFO\nARG NONE\nFROM x\nENV NCCL_DEBUG=${LEVEL} A=$NONE B=$LEVEL\n"
    rows = [(row.name, row.value) for row in assigned.read(text, "dockerfile") if row.how != "from"]
    assert rows == [("NCCL_DEBUG", "INFO"), ("A", None), ("B", "INFO")]


def test_containers_and_the_scripts_within_their_commands_keep_their_lines() -> None:
    text = """spec:
  containers:
  - name: a
    command: [bash, -c]
    args:
    - |
      export NCCL_DEBUG=INFO
      HSA_XNACK=1 python x.py
    env: [{name: A, value: "1"}]
  - name: b
    env: [{name: A, value: "2"}]
"""
    assert scopes(text, "yaml") == [
        (7, "NCCL_DEBUG", "INFO", "line 3"),
        (8, "HSA_XNACK", "1", "line 3 line 2"),
        (9, "A", "1", "line 3"),
        (11, "A", "2", "line 10"),
    ]


@each(
    "name, text, kind",
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


def test_an_anchor_may_be_defined_again() -> None:
    text = "a: &x\n  env: {A: 1}\nb: &x\n  env: {A: 2}\nc: {<<: *x}\n"
    assert scopes(text, "yaml") == [(2, "A", "1", "line 1"), (4, "A", "2", "line 3")]
    with pytest.raises(ParserError, match="undefined alias"):
        assigned.read("a: &x 1\nb: *y\n", "yaml")


def test_what_is_no_yaml_is_refused() -> None:
    with pytest.raises(ParserError, match="no YAML"):
        assigned.read("a: [1", "yaml")


@given(st.text(max_size=400), st.sampled_from(assigned.KINDS))
def test_any_text_is_read_or_refused(text: str, kind: str) -> None:
    try:
        rows = assigned.read(text, kind)
    except ParserError:
        return
    assert all(row.value is None or row.value.isprintable() or "\t" in row.value for row in rows)


def test_a_bomb_of_aliases_is_walked_once() -> None:
    bomb = "a: &a [x, x]\n"
    for before, name in zip("abcdefghi", "bcdefghij", strict=True):
        bomb += f"{name}: &{name} [{', '.join([f'*{before}'] * 9)}]\n"
    assert assigned.read(bomb, "yaml") == ()
