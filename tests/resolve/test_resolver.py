"""The resolver is the gate: what uv is asked, what its answers mean, and what is chosen where it refuses."""

from __future__ import annotations

import pytest

from doctor.facts.origin import State
from doctor.knowledge import Knowledge
from doctor.knowledge.frameworks import RecordedResolution
from doctor.knowledge.store import table
from doctor.resolve import Resolution, described, explain, gate, settle, solve
from doctor.resolve.gate import recorded
from doctor.resolve.resolver import Asked, Question, absent, argv, question, verdict
from doctor.system.base import Output, Reading

KB = Knowledge()
H100 = {"gpu": "H100", "driver": "580.95.05", "python": "3.12", "os": "ubuntu-24.04"}
ASKED = Question(("vllm==0.33.0",), ("https://wheels.vllm.ai/0.24.0/cu129",), "3.12", "x86_64", "2.39")
# uv 0.13.9, `uv pip compile` of vllm 0.33.0 on an index without the newest certifi, 2026-11-23.
REFUSAL = """error: No solution found when resolving dependencies
  cause: Because only certifi<=2026.10.18 is available and vllm>=0.33.0 depends on certifi>=2026.10.19, we can \
conclude that vllm>=0.33.0 cannot be used.
         And because you require vllm==0.33.0, we can conclude that your requirements are unsatisfiable.
"""
# The same of vllm 0.32.0 for glibc 2.28, 2026-11-24; shortened.
NO_WHEEL = """error: No solution found when resolving dependencies
  cause: Because llguidance{platform_machine == 'arm64' or platform_machine == 'x86_64'}>=1.7.0,<=1.7.6 has no usable \
wheels and only the following versions of llguidance{platform_machine == 'arm64'} are available:
"""
# uv 0.13.9 without a network, 2026-11-23.
UNREACHED = """error: Request failed after 3 retries in 9.4s
  cause: Failed to fetch: https://wheels.vllm.ai/0.24.0/cu129/vllm/
  cause: error sending request for url (https://wheels.vllm.ai/0.24.0/cu129/vllm/)
  cause: dns error
"""


def said(code: int, stdout: str = "", stderr: str = "", asked: Question = ASKED) -> Resolution:
    ran = Reading(State.VALUE, "command:uv", Output(code, stdout, stderr, 1.0))
    return verdict(asked, ran, "uv 0.13.9", "2026-11-23")


def refuses(*refused: str) -> Asked:
    """A resolver that accepts all but these requirements."""

    def ask(asked: Question) -> Resolution:
        bad = [r for r in asked.requirements if r in refused]
        text = f"Because you require {bad[0]}, unsatisfiable" if bad else "3 packages for Python 3.12"
        return Resolution("refused" if bad else "resolved", "uv 0.13.9", "the index", "2026-11-23", text)

    return ask


def test_uv_is_asked_for_the_described_machine_and_all_indexes() -> None:
    found = solve(
        KB, described(KB, **{**H100, "driver": "570.124.06", "os": "ubuntu-22.04"}), ["torch", "transformers"]
    )
    about = question(found)
    assert about
    assert about.requirements == ("torch==2.14.1+cu126", "transformers==5.23.0")
    words = " ".join(argv("/opt/uv", about))
    assert words.startswith("/opt/uv pip compile - ")
    assert "--python-version 3.12" in words
    assert "--python-platform x86_64-manylinux_2_35" in words
    assert "--extra-index-url https://download.pytorch.org/whl/cu126" in words


@pytest.mark.parametrize(
    ("glibc", "platform"), [("2.17", "2_17"), ("2.27", "2_17"), ("2.29", "2_28"), ("2.99", "2_40")]
)
def test_a_glibc_that_uv_has_no_name_for_is_the_next_older_one(glibc: str, platform: str) -> None:
    assert Question((), (), "3.12", "aarch64", glibc).platform == f"aarch64-manylinux_{platform}"


def test_what_is_compiled_is_left_out_and_then_nothing_is_called_resolved() -> None:
    found = solve(KB, described(KB, **H100), ["torch", "flash-attn"])
    about = question(found)
    assert about
    assert about.left_out == ("flash-attn",)
    assert not any("flash" in r for r in about.requirements)
    resolution = said(0, "torch==2.15.0 \\\n", asked=about)
    assert resolution.state == "not-tried"
    assert "flash-attn: compiled on the machine" in resolution.detail


@pytest.mark.parametrize(
    ("code", "stdout", "stderr", "state", "detail"),
    [
        (0, "a==1\nb==2\n", "", "resolved", "2 packages, Python 3.12, glibc 2.39"),
        (1, "", REFUSAL, "refused", "only certifi<=2026.10.18 is available"),
        (1, "", NO_WHEEL, "not-tried", "llguidance>=1.7.0,<=1.7.6 has no wheel for Python 3.12, glibc 2.39"),
        (2, "", UNREACHED, "not-tried", "https://wheels.vllm.ai/0.24.0/cu129 can't be reached"),
        (2, "", "error: unexpected argument '--python-platform'", "not-tried", "uv failed: error: unexpected"),
        (2, "", "", "not-tried", "uv failed: no output"),
    ],
)
def test_what_uv_says(code: int, stdout: str, stderr: str, state: str, detail: str) -> None:
    resolution = said(code, stdout, stderr)
    assert resolution.state == state
    assert detail in resolution.detail


def test_a_uv_that_does_not_answer_is_no_refusal() -> None:
    ran: Reading[Output] = Reading(State.TIMED_OUT, "command:uv", None, "no answer within 180 s")
    assert verdict(ASKED, ran, "uv", "2026-11-23").state == "not-tried"


def test_runs_is_said_of_what_resolves_alone() -> None:
    target = described(KB, **H100)
    assert " runs on sm_90" in explain(settle(KB, target, ["torch"], ask=refuses()))
    found = settle(KB, target, ["torch==2.13.0"], ask=absent("--offline"))
    assert found.resolution.state in ("not-tried", "resolved")
    unknown = settle(KB, described(KB, gpu="H100", driver="570.124.06", python="3.12"), ["torch"], ask=absent("x"))
    assert unknown.status == "solved"
    assert " should run on sm_90" in explain(unknown)
    unnamed = settle(KB, described(KB, driver="580.95.05", python="3.12"), ["torch"], ask=refuses())
    assert unnamed.resolution.state == "resolved"
    assert " should run on driver 580.95.05" in explain(unnamed)  # on which GPU?


def test_a_release_that_the_resolver_refuses_is_passed_over() -> None:
    found = settle(KB, described(KB, **H100), ["vllm"], ask=refuses("vllm==0.33.0"))
    assert (found.status, found.picks[0].version, found.asked) == ("solved", "0.32.0", ("vllm",))
    assert found.passed_over[0].startswith("vllm 0.33.0: refused by uv 0.13.9")


def test_a_recorded_refusal_does_not_overrule_what_uv_says_today(monkeypatch: pytest.MonkeyPatch) -> None:
    """vllm 0.33.0 was refused while an index lacked certifi; beside a source package the rest resolves today."""
    old = Resolution("refused", "uv 0.13.9", "the index", "2026-11-23", "Because vllm==0.33.0", recorded=True)
    monkeypatch.setattr(gate, "recorded", lambda _, about: old if "vllm==0.33.0" in about.requirements else None)

    def today(about: Question) -> Resolution:
        return said(0, "vllm==0.33.0\n", asked=about)

    asked, target = ["vllm", "flash-attn"], described(KB, **H100)
    versions = [settle(KB, target, asked, ask=ask).picks[0].version for ask in (today, absent("--offline"))]
    assert versions == ["0.33.0", "0.32.0"]


def test_a_release_that_was_asked_and_is_refused_has_no_commands() -> None:
    found = settle(KB, described(KB, **H100), ["vllm==0.33.0"], ask=refuses("vllm==0.33.0"))
    assert (found.status, found.commands, found.resolution.state) == ("impossible", (), "refused")
    assert "refused by uv" in explain(found)
    assert found.nearest
    assert found.nearest.picks[0].version == "0.32.0"


def test_a_nearest_stack_that_is_refused_is_not_offered() -> None:
    target = described(KB, gpu="H100", driver="570.124.06", python="3.12")
    kept = settle(KB, target, ["torch==2.14.0+cu130"], ask=refuses())
    assert kept.nearest
    assert kept.nearest.resolution.state == "resolved"
    lost = settle(KB, target, ["torch==2.14.0+cu130"], ask=refuses("torch==2.14.0+cu126"))
    assert lost.nearest is None


def _records() -> tuple[RecordedResolution, ...]:
    return tuple(RecordedResolution.model_validate(row) for row in table("resolutions").values())


def test_a_record_holds_for_newer_systems_and_a_refusal_for_older_ones() -> None:
    (resolved,) = [r for r in _records() if r.resolved_from][:1]
    words = resolved.id.split()
    about = Question(tuple(words[:-2]), (), words[-2].removeprefix("python="), words[-1], "2.39")
    record = recorded(KB, about)
    assert record
    assert (record.state, record.recorded) == ("resolved", True)
    older = Question(about.requirements, (), about.python, about.machine, "2.5")
    assert recorded(KB, older) is None or recorded(KB, older).state == "refused"  # type: ignore[union-attr]
    compiled = Question(about.requirements, (), about.python, about.machine, "2.39", ("flash-attn",))
    assert recorded(KB, compiled) is None
