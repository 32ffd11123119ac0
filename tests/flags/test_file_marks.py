"""Comments that set a finding aside, patches, templates, and what is no finding in a file."""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.flags.files import Looked, look
from doctor.flags.patch import diff

BAD = "export NCCL_P2P_DISABLE=true"


def of(text: str, name: str = "a.sh") -> Looked:
    return look(name, text, None, Snapshot(), {})


def names(text: str, name: str = "a.sh") -> list[str]:
    return [f.subject.id for f in of(text, name).findings if f.severity.value != "info"]


def test_a_comment_with_a_reason_sets_the_finding_aside() -> None:
    looked = of(f"{BAD}  # doctor: ignore collective-flag-misconfigured the wrapper mends it\n")
    assert looked.findings == ()
    assert looked.notes == ("1 set aside by comments in the file",)
    assert of(f"# doctor: ignore grammar the wrapper mends it\n{BAD}\n").findings != ()


def test_a_comment_above_holds_for_the_next_line() -> None:
    assert names(f"# doctor: ignore collective-flag-misconfigured asked for\n{BAD}\n") == []
    assert names(f"# doctor: ignore collective-flag-misconfigured asked for\n\n{BAD}\n") == ["NCCL_P2P_DISABLE"]


def test_without_a_reason_it_does_not_count() -> None:
    looked = of(f"{BAD}  # doctor: ignore collective-flag-misconfigured\n")
    assert looked.findings
    assert "no reason" in looked.notes[0]


def test_a_patch_writes_what_the_parser_takes() -> None:
    text = f"#!/bin/sh\n{BAD}\nexport NCCL_IB_DISABEL=1\n"
    made = diff("a.sh", text, of(text).findings)
    assert "+export NCCL_P2P_DISABLE=1\n" in made
    assert "+export NCCL_IB_DISABLE=1\n" in made
    assert diff("a.sh", "export NCCL_DEBUG=LOUD\n", of("export NCCL_DEBUG=LOUD\n").findings) == ""


def test_a_patch_of_a_manifest_changes_the_line_of_the_value() -> None:
    text = "spec:\n  containers:\n  - env:\n    - name: NCCL_P2P_DISABLE\n      value: 'true'\n"
    assert "+      value: '1'\n" in diff("a.yaml", text, of(text, "a.yaml").findings)


HELM = """spec:
  {{- if .Values.on }}
  containers:
  {{- range .Values.names }}
  - name: {{ . }}
    env:
    - name: NCCL_IB_DISABLE
      value: {{ $.Values.ib | quote }}
    - name: NCCL_P2P_DISABLE
      value: "true"
  {{- end }}
  {{- end }}
"""


def test_a_template_is_read_as_far_as_it_can_be() -> None:
    assert names(HELM, "pod.yaml") == ["NCCL_P2P_DISABLE"]
    assert names("{{ include }}\n  - a: [\n- name: NCCL_P2P_DISABLE\n  value: true\n", "pod.yaml") == [
        "NCCL_P2P_DISABLE"
    ]


def test_what_a_launcher_sets_need_not_be_exported() -> None:
    assert names("WORLD_SIZE=8\nMASTER_ADDR=localhost\ntorchrun t.py\n") == []
    assert names("HSA_XNACK=1\n") == []  # a file that starts nothing is sourced


def test_branches_are_not_one_environment() -> None:
    apart = (
        "if a; then\nexport NVTE_FLASH_ATTN=1 NVTE_FUSED_ATTN=0\nX='--attention-backend flash'\n"
        "else\nexport NVTE_FLASH_ATTN=0\nfi\ntorchrun pretrain_gpt.py $X\n"
    )
    assert names(apart) == []


def test_a_script_may_have_variables_of_its_own() -> None:
    assert names("export NCCL_SOCKET_IFACE=eth0\npython t.py\n") == ["NCCL_SOCKET_IFACE"]
    assert names("export NCCL_SOCKET_IFACE=eth0\nexport NCCL_SOCKET_IFNAME=$NCCL_SOCKET_IFACE\npython t.py\n") == []


def test_placeholders_are_no_secrets() -> None:
    assert (
        names('export MULTIMODAL_KEYS=\'{"image": "images"}\'\nexport E2B_API_KEY=e2b_0000000000000000000000\n') == []
    )
    assert names("export WANDB_API_KEY=3f9a1c07be5d2486aa90\n") == ["WANDB_API_KEY"]
