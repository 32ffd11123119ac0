"""Crontabs and drop-ins: what their programs get."""

from __future__ import annotations

from doctor.facts.snapshot import Snapshot
from doctor.flags.files import look
from doctor.flags.way.run import follow
from doctor.parsers.text.assigned import kind_of


def texts(source: str, text: str, name: str) -> list[list[str | None]]:
    found = follow(source, text, kind_of(source, text))
    return [[alt.text for alt in process.sees.of(name)] for process in found.processes]


def summaries(source: str, text: str) -> list[str]:
    found = look(source, text, None, Snapshot(), {}).findings
    return [f.summary for f in found if f.rule == "env-flag-not-passed-on"]


def test_a_quadlet_is_not_followed() -> None:
    text = "[Container]\nImage=img\nEnvironment=NCCL_DEBUG=INFO\nExec=vllm serve x\n"
    assert texts("vllm.container", text, "NCCL_DEBUG") == []
    assert summaries("vllm.container", text) == []


def test_a_cron_job_gets_the_lines_of_the_table_above_it_and_nothing_of_the_caller() -> None:
    table = (
        "NCCL_ALGO = Ring\n0 3 * * 1 NCCL_DEBUG=INFO python t.py --n 10\\%2%input\nNCCL_PROTO=LL\n@reboot python b.py\n"
    )
    assert texts("train.cron", table, "NCCL_ALGO") == [["Ring"], ["Ring"]]
    assert texts("train.cron", table, "NCCL_DEBUG") == [["INFO"], [None]]
    assert texts("train.cron", table, "NCCL_PROTO") == [[None], ["LL"]]
    assert follow("train.cron", table, "cron").processes[0].label == "python t.py --n 10%2"


def test_cron_expands_no_variable_in_a_value() -> None:
    assert texts("crontab", "NCCL_ALGO=$HOME\n@daily python b.py\n", "NCCL_ALGO") == [["$HOME"]]


def test_the_user_of_a_system_crontab_is_no_part_of_the_command() -> None:
    found = follow("/etc/cron.d/train", "0 3 * * * root python t.py\n", "cron")
    assert [p.label for p in found.processes] == ["python t.py"]
