"""Files as their users write them: what holds for one command, container or stage is judged with it alone."""

from __future__ import annotations

import pytest

from doctor.errors import ParserError
from doctor.facts.snapshot import Snapshot
from doctor.flags.files import look


def line_of(place: str) -> str:
    """`file:line` of `file:line:column`."""
    return place.rpartition(":")[0]


def said(text: str, name: str, kind: str | None = None) -> list[tuple[str, str]]:
    found = look(name, text, kind, Snapshot(), {}).findings
    return [(f.severity.value, f"{line_of(f.evidence[0].source)} {f.subject.id}") for f in found]


def test_a_finding_has_the_column_of_its_variable() -> None:
    (finding,) = look("a.sh", "  export X=1 NCCL_P2P_DISABLE=true\n", None, Snapshot(), {}).findings
    assert finding.evidence[0].source == "a.sh:1:14"


def test_a_slip_in_a_name_counts_whatever_its_value_is() -> None:
    script = "export MIOPEN_USER_DBPATH=/tmp/$USER\nexport MIOPEN_CUSTOM_CACHE_DIR=/tmp/$USER\npython a.py\n"
    assert said(script, "a.sh") == [("warning", "a.sh:1 MIOPEN_USER_DBPATH")]


def test_what_a_run_line_sets_is_checked_and_ends_with_it() -> None:
    text = "FROM x\nRUN --mount=type=cache \\\n    DS_BUILD_OPS={} pip install deepspeed\nRUN export NCCL_NET=IB\n"
    assert said(text.format("yes"), "Dockerfile")[0] == ("error", "Dockerfile:3 DS_BUILD_OPS")
    assert [name for _, name in said(text.format("1") + "ENV NCCL_IB_DISABLE=1\n", "Dockerfile")] == [
        "Dockerfile:4 NCCL_NET",
        "Dockerfile:5 NCCL_IB_DISABLE",
    ]


def test_two_commands_are_not_one_environment() -> None:
    apart = "HIP_VISIBLE_DEVICES=0,1 python a.py\nROCR_VISIBLE_DEVICES=0 python b.py\n"
    assert said(apart, "run.sh") == []
    together = "export ROCR_VISIBLE_DEVICES=0\nHIP_VISIBLE_DEVICES=0,1 python a.py\n"
    assert ("error", "run.sh:2 HIP_VISIBLE_DEVICES") in said(together, "run.sh")


def noted(text: str, name: str, files: dict[str, str] | None = None) -> tuple[str, ...]:
    there = files or {}
    return look(
        name, text, None, Snapshot(), {}, named=lambda path: (path, there[path]) if path in there else None
    ).notes


def test_what_is_too_much_is_said_with_its_line() -> None:
    many = "".join(f"A{n}=1\n" for n in range(4001))
    assert noted(many, "big.env")[0].startswith("big.env:4001: not read from this line on: more than 4000 assignments")
    assert noted(many.replace("A4000=1\n", ""), "big.env") == ()
    assert noted("#\n" + "A=1 # " + "x" * (2 << 20) + "\nNCCL_P2P_DISABLE=true\n", "long.env")[0].startswith(
        "long.env:2: "
    )
    deep = "a:\n" + "- x\n" * 50_001 + "environment:\n  NCCL_P2P_DISABLE: 1\n"
    assert "50000 nodes of YAML" in noted(deep, "deep.yaml")[0]


def test_what_a_named_file_has_too_much_is_said_with_its_line() -> None:
    compose = "services:\n  a:\n    env_file: big.env\n"
    many = "".join(f"A{n}=1\n" for n in range(4001))
    assert noted(compose, "compose.yaml", {"big.env": many})[0].startswith("big.env:4001: not read")
    several = "[Service]\n" + "".join(f"EnvironmentFile=/etc/{n}.env\n" for n in range(21))
    assert noted(several, "a.service") == ("a.service:22: /etc/20.env was not read: more than 20 files are named",)


@pytest.mark.parametrize("text", ["a: " + "[" * 100_000, "- " * 100_000, "".join(" " * n + "a:\n" for n in range(900))])
def test_yaml_of_a_thousand_levels_is_refused(text: str) -> None:
    """libyaml's binding recurses in C: no exception would come, the process would end."""
    with pytest.raises(ParserError, match=r"nested more than 200 levels deep|no YAML"):
        look("compose.yaml", text, None, Snapshot(), {})


def test_two_services_are_not_one_environment() -> None:
    apart = (
        "services:\n  a:\n    environment: [HIP_VISIBLE_DEVICES=0,1]\n  b:\n    environment: [ROCR_VISIBLE_DEVICES=0]\n"
    )
    assert said(apart, "compose.yaml") == []
    together = "services:\n  a:\n    environment:\n      - HIP_VISIBLE_DEVICES=0,1\n      - ROCR_VISIBLE_DEVICES=0\n"
    assert said(together, "compose.yaml")[0] == ("error", "compose.yaml:4 HIP_VISIBLE_DEVICES")


def test_a_stage_has_what_its_base_sets_and_not_what_another_does() -> None:
    apart = "FROM a AS one\nENV HIP_VISIBLE_DEVICES=0,1\nFROM b AS two\nENV ROCR_VISIBLE_DEVICES=0\n"
    assert said(apart, "Dockerfile") == []
    assert said(apart.replace("FROM b", "FROM one"), "Dockerfile")[0] == ("error", "Dockerfile:2 HIP_VISIBLE_DEVICES")


def test_gpus_that_a_file_hides_are_hidden_on_purpose() -> None:
    assert said("CUDA_VISIBLE_DEVICES= python cpu.py\nexport CUDA_VISIBLE_DEVICES=\n", "run.sh") == []


def test_a_shell_variable_that_the_script_uses_itself_need_not_be_exported() -> None:
    assert said('GPU_TARGETS=gfx942\ncmake -DX="$GPU_TARGETS"\n', "run.sh") == []
    assert said("NCCL_DEBUG=WARN\npython x.py\n", "run.sh") == [("info", "run.sh:1 NCCL_DEBUG")]


def test_a_default_of_the_script_is_judged() -> None:
    assert said("export NCCL_P2P_DISABLE=${NCCL_P2P_DISABLE:-true}\n", "run.sh") == [
        ("error", "run.sh:1 NCCL_P2P_DISABLE")
    ]


def test_a_script_within_a_manifest_keeps_its_lines() -> None:
    pod = (
        "kind: Pod\nspec:\n  containers:\n  - command:\n    - bash\n    - -c\n    - |\n"
        "      set -e\n      export NCCL_P2P_DISABLE=true\n      torchrun x.py\n"
    )
    assert said(pod, "pod.yaml") == [("error", "pod.yaml:9 NCCL_P2P_DISABLE")]


def test_a_removed_name_is_a_note_where_the_release_is_not_known() -> None:
    assert said("export RCCL_MSCCL_ENABLE=0\n", "run.sh") == [("info", "run.sh:1 RCCL_MSCCL_ENABLE")]


@pytest.mark.parametrize("value", ["true", "1", "/run/secrets/t", "your_hf_token", "xxx", "${HF_TOKEN}", "$(cat t)"])
def test_what_is_no_secret(value: str) -> None:
    assert said(f"export HF_TOKEN={value}\n", "run.sh") == []


def test_a_secret_is_named_without_its_value() -> None:
    (finding,) = look("run.sh", "export HF_TOKEN=hf_" + "a1B2" * 8 + "\n", None, Snapshot(), {}).findings
    assert finding.severity.value == "warning"
    assert "a1B2" not in finding.model_dump_json()


def among(text: str, name: str, **files: str) -> dict[str, str]:
    """Severity and place, by variable, with other files at hand."""
    held = {path.replace("_", "."): body for path, body in files.items()}
    found = look(name, text, None, Snapshot(), {}, named=lambda path: (path, held[path]) if path in held else None)
    return {f.subject.id: f"{f.severity.value} {line_of(f.evidence[0].source)}" for f in found.findings}


@pytest.mark.parametrize("form", ["env_file: gpu.env", "env_file: [gpu.env]", "env_file:\n    - path: gpu.env"])
def test_compose_takes_the_lines_of_its_env_file(form: str) -> None:
    text = f"services:\n  a:\n    {form}\n    environment:\n      HIP_VISIBLE_DEVICES: 0,1\n  b: {{}}\n"
    beside = "# of the site\nROCR_VISIBLE_DEVICES=0\nNCCL_P2P_DISABLE=true\n"
    found = among(text, "compose.yaml", gpu_env=beside)
    assert found["NCCL_P2P_DISABLE"] == "error gpu.env:3"
    assert found["HIP_VISIBLE_DEVICES"].startswith("error compose.yaml:")
    assert among(text, "compose.yaml") == {}


def test_environment_wins_over_env_file_and_another_service_has_none_of_it() -> None:
    text = "services:\n  a:\n    environment: [NCCL_P2P_DISABLE=1]\n    env_file: gpu.env\n  b: {environment: [A=1]}\n"
    found = among(text, "compose.yaml", gpu_env="NCCL_P2P_DISABLE=true\n")
    assert found == {"NCCL_P2P_DISABLE": "info compose.yaml:3"}


def test_a_units_environment_file_wins_over_its_environment() -> None:
    text = "[Service]\nEnvironmentFile=-gpu.env\nEnvironment=NCCL_P2P_DISABLE=1\n"
    assert among(text, "a.service", gpu_env="NCCL_P2P_DISABLE=true\n") == {"NCCL_P2P_DISABLE": "error gpu.env:1"}
    dropped = f"{text}UnsetEnvironment=NCCL_P2P_DISABLE\n"
    assert among(dropped, "a.service", gpu_env="NCCL_P2P_DISABLE=true\n") == {}
    elsewhere = text.replace("gpu.env", "%h/gpu.env")
    found = among(elsewhere, "a.service", gpu_env="NCCL_P2P_DISABLE=true\n")
    assert found == {"NCCL_P2P_DISABLE": "info a.service:3"}
