"""Which difference explains that it fails here: planted among harmless ones."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from doctor.engine.judge import judge
from doctor.facts import Snapshot
from doctor.knowledge import Knowledge
from doctor.why.differences import differences
from doctor.why.ranking import Why, why
from doctor.why.symptom import Symptom, read
from doctor.why.text import render

KB = Knowledge()
GPU = {"key": "0000:01:00.0", "vendor": "nvidia", "pci_address": "0000:01:00.0", "arch": "sm_90", "driver": "nvidia"}
HARMLESS = {f"APP_SETTING_{n}": str(n) for n in range(40)}
PACKAGES = [{"name": f"helper-{n}", "version": "1.0"} for n in range(40)]


def machine(**facts: Any) -> Snapshot:
    base = {
        "gpus": [GPU],
        "nvidia_driver": {"loaded": True, "version": "580.95.05", "cuda_version": "13.0", "flavour": "open"},
        "torch": {"installed": True, "version": "2.9.1+cu130", "build": "cuda", "cuda": "13.0"},
        "packages": [{"name": "torch", "version": "2.9.1+cu130"}, *PACKAGES],
        "environment": {**HARMLESS},
        "os": {"id": "ubuntu", "version": "24.04"},
    }
    return Snapshot.model_validate({**base, **facts})


def asked(good: Snapshot, bad: Snapshot, *suspects: str) -> Why:
    return why(judge(good, KB), judge(bad, KB), KB, Symptom(suspects))


OTHER_HARMLESS: dict[str, Any] = {
    "environment": {name: value + "0" for name, value in HARMLESS.items()},
    "packages": [{"name": "torch", "version": "2.9.1+cu130"}, *({**p, "version": "2.0"} for p in PACKAGES)],
}


def test_a_driver_among_eighty_harmless_differences() -> None:
    old = {"loaded": True, "version": "535.183.01", "cuda_version": "12.2", "flavour": "open"}
    found = asked(machine(), machine(nvidia_driver=old, **OTHER_HARMLESS))
    assert [d.name for d in found.explained[0].by] == ["nvidia_driver"]
    assert found.explained[0].finding.rule == "nvidia-driver-too-old"
    assert len(found.rest) == 80


def test_a_variable() -> None:
    bad = machine(environment={**HARMLESS, "CUDA_VISIBLE_DEVICES": "7"})
    found = asked(machine(), bad)
    assert found.ranked[0].name == "environment[CUDA_VISIBLE_DEVICES]"
    assert found.explained[0].finding.rule == "visible-devices-conflict"


def test_torch_takes_what_belongs_to_it_along() -> None:
    cpu = {"installed": True, "version": "2.9.1+cpu", "build": "cpu"}
    bad = machine(torch=cpu, packages=[{"name": "torch", "version": "2.9.1+cpu"}, *PACKAGES])
    found = asked(machine(), bad)
    assert [d.name for d in found.explained[0].by] == ["packages[torch]"]


def test_what_fails_on_both_is_said_and_explains_nothing() -> None:
    old = {"loaded": True, "version": "535.183.01", "cuda_version": "12.2"}
    found = asked(machine(nvidia_driver=old), machine(nvidia_driver=old, **OTHER_HARMLESS))
    assert found.explained == ()
    assert [f.rule for f in found.shared] == ["nvidia-driver-too-old"]
    assert render(found, ("a", "b")).startswith("! a fails too: ")


def test_a_symptom_lifts_what_its_rule_reads() -> None:
    good, bad = machine(host={"shm_bytes": 1 << 34}), machine(host={"shm_bytes": 1 << 30}, **OTHER_HARMLESS)
    found = asked(good, bad, "container-shm-too-small")
    assert [d.name for d in found.suspected] == ["host.shm_bytes"]


@pytest.mark.parametrize(
    ("text", "first"),
    [
        ("ValueError: APP_SETTING_7=70 is not supported", "environment[APP_SETTING_7]"),
        ("ValueError: APP_SETTING_77 is not supported", None),
        ("File '/v/site-packages/helper_3/a.py'\nFile '/v/site-packages/helper_5/b.py'", "packages[helper-5]"),
        ("No module named 'helper_9.io'", "packages[helper-9]"),
        ("a helper-9 is what the docs call it", None),
        ("version `X' not found: libnccl.so.2", "environment[LD_LIBRARY_PATH]"),
    ],
)
def test_what_the_message_names_comes_first(text: str, first: str | None) -> None:
    there = {**OTHER_HARMLESS, "environment": {**OTHER_HARMLESS["environment"], "LD_LIBRARY_PATH": "/x"}}
    found = why(judge(machine(), KB), judge(machine(**there), KB), KB, Symptom(text=text))
    assert [d.name for d in found.named[:1]] == ([first] if first else [])


def test_ids_and_ways_of_writing_are_no_difference() -> None:
    good = machine(packages=[{"name": "triton", "version": "3.5", "location": "/a"}])
    bad = machine(packages=[{"name": "triton", "version": "3.5.0", "location": "/b"}], gpus=[{**GPU, "uuid": "GPU-1"}])
    assert differences(good, bad) == ()
    assert render(asked(good, bad), ("a", "b")).endswith("What is known of both a and b does not differ.\n")
    whole = machine(
        nodes=[],
        cuda=[],
        container={"inside": False},
        kernel={"release": "6.8"},
    )
    assert render(asked(whole, whole), ("a", "b")) == "What is known of both a and b does not differ.\n"


def test_what_nobody_looked_at_comes_first_and_is_no_difference() -> None:
    found = asked(Snapshot(), machine(torch={"installed": True, "version": "2.9.1+cpu", "build": "cpu"}))
    shown = render(found, ("a", "b")).splitlines()
    names = "GPU, driver, devices, libraries, container, Python packages, environment variables"
    assert shown[0] == f"? Not known of a: {names}."
    assert "Nothing is known of both, so there is nothing to compare." in shown
    assert any(line.startswith("! Fails on b, and a could not be checked for it: ") for line in shown)
    assert not any("does not differ" in line or "No check fails" in line for line in shown)


def test_an_empty_value_is_not_called_missing() -> None:
    nodes = [{"key": "/dev/kfd", "kind": "kfd", "openable": True}]
    bad = machine(environment={**HARMLESS, "CUDA_VISIBLE_DEVICES": ""}, nodes=nodes)
    shown = render(asked(machine(nodes=[]), bad), ("a", "b"), verbose=True)
    assert "CUDA_VISIBLE_DEVICES: not set there, empty here" in shown
    assert "device nodes: none there, kfd openable yes here" in shown
    assert "not installed" not in shown


@pytest.mark.parametrize("unread", ["environment", "packages", "nvidia_driver"])
def test_what_one_side_did_not_read_is_no_difference(unread: str) -> None:
    whole = machine()
    assert differences(whole, whole.model_copy(update={unread: getattr(Snapshot(), unread)})) == ()


REFUSED = "ConnectionRefusedError: [Errno 111] Connection refused"


@pytest.mark.parametrize(
    ("text", "name", "reason"),
    [
        ("ValueError: Invalid rank 8, should be below 8", "RANK", "the message has its value"),
        ("OSError: invalid path: /etc/ssl/corp.pem", "REQUESTS_CA_BUNDLE", "the message has its value"),
        (REFUSED, "http_proxy", "“Connection refused” can come from it"),
        (REFUSED, "MASTER_ADDR", "“Connection refused” can come from it"),
        ("RuntimeError: unknown key 'max_slit_mb'", "ALLOC_CONF", "the message has a part of its value"),
        ("tool: error: unrecognized arguments: -n", "TOOL_OPTIONS", "the message has a part of its value"),
        ("PermissionError: '/mnt/cache/hub/x'", "HF_HOME", "the message has a part of its value"),
        ("[SSL] certificate verify failed", "REQUESTS_CA_BUNDLE", "“certificate verify failed” can come from it"),
        ("OSError: [Errno 98] Address already in use", "MASTER_PORT", "“Address already in use” can come from it"),
        ("UserWarning: key 'verbose'", "ALLOC_CONF", None),
        ('  File "/mnt/cache/hub/x.py", line 3, in f', "HF_HOME", None),
        ("see /mnt/cache-2/hub", "HF_HOME", None),
        ("see /etc/ssl/corp.pem.old", "REQUESTS_CA_BUNDLE", None),
        ("ValueError: Invalid frank 8", "RANK", None),
        ("PermissionError: [Errno 13] Permission denied", "http_proxy", None),
    ],
)
def test_what_a_message_points_to(text: str, name: str, reason: str | None) -> None:
    values = {"RANK": "8", "http_proxy": "http://127.0.0.1:9", "REQUESTS_CA_BUNDLE": "/etc/ssl/corp.pem"}
    more = {
        "HF_HOME": "/mnt/cache",
        "ALLOC_CONF": "verbose:1,max_slit_mb:64",
        "TOOL_OPTIONS": "-q -n",
        "MASTER_PORT": "1",
    }
    bad = machine(environment={**HARMLESS, **values, **more, "MASTER_ADDR": "10.0.0.2"})
    good = machine(environment={**HARMLESS, "ALLOC_CONF": "verbose:1", "TOOL_OPTIONS": "-q"})
    found = why(judge(good, KB), judge(bad, KB), KB, Symptom(text=text))
    assert found.reasons.get(f"environment[{name}]") == reason
    if reason and name not in ("ALLOC_CONF", "TOOL_OPTIONS"):
        assert f"    Try: env -u {name} COMMAND" in render(found, ("a", "b")).splitlines()


def test_a_package_is_found_by_what_it_is_imported_as() -> None:
    made = {"key": "package:opencv-python", "digest": "a", "modules": ["cv2"]}
    for version, attempts in (("4.9", ["    Try: python -m pip install opencv-python==4.9"]), ("4.9+cu128", [])):
        good = machine(packages=[{"name": "opencv-python", "version": version}], builds=[made])
        found = why(judge(good, KB), judge(machine(packages=PACKAGES), KB), KB, Symptom(text="No module named 'cv2'"))
        assert found.named[0].name == "packages[opencv-python]"
        assert [line for line in render(found, ("a", "b")).splitlines() if "Try: " in line] == attempts


def test_a_file_of_the_traceback_says_which_variables_the_program_reads(tmp_path: Path) -> None:
    script = tmp_path / "train.py"
    script.write_text("import os\nmode = os.environ.get('APP_SETTING_7')\n")
    text = f'Traceback (most recent call last):\n  File "{script}", line 9, in <module>\nRuntimeError: bad mode\n'
    for is_here, reasons in ((True, {"environment[APP_SETTING_7]": "train.py reads it"}), (False, {})):
        sides = judge(machine(), KB), judge(machine(**OTHER_HARMLESS), KB)
        assert why(*sides, KB, read(text, is_here=is_here)).reasons == reasons


PROGRAM = """import helper_1, helper_2
from helper_3 import connect
import helper_4 as four
link = connect()
with link.open() as table:
    rows = table.rows
four.show(1)
assert rows, "no rows"
"""


@pytest.mark.parametrize(("line", "first"), [(8, "helper-3"), (7, "helper-4")])
def test_a_package_that_the_failing_line_depends_on_comes_first(tmp_path: Path, line: int, first: str) -> None:
    script = tmp_path / "use.py"
    script.write_text(PROGRAM)
    symptom = read(f'  File "{script}", line {line}, in <module>\nAssertionError: no rows\n', is_here=True)
    found = why(judge(machine(), KB), judge(machine(**OTHER_HARMLESS), KB), KB, symptom)
    assert found.suspected[0].name == f"packages[{first}]"
    assert len(found.suspected) == 4


def test_a_variable_that_a_rule_is_about_comes_before_one_of_no_rule() -> None:
    bad = machine(environment={**HARMLESS, "CUDA_CACHE_MAXSIZE": "1", "CUDA_VISIBLE_DEVICES": ""})
    found = asked(machine(environment={**HARMLESS, "CUDA_CACHE_MAXSIZE": "2", "CUDA_VISIBLE_DEVICES": "0"}), bad)
    names = [name for name in (d.name for d in found.ranked) if "CUDA" in name]
    assert names == ["environment[CUDA_VISIBLE_DEVICES]", "environment[CUDA_CACHE_MAXSIZE]"]


@pytest.mark.parametrize("value", ["/home/user-12345678/data", "two\nlines"])
def test_a_value_that_is_masked_or_cannot_be_typed_is_not_offered(value: str) -> None:
    good = machine(environment={**HARMLESS, "DATA_DIR": value})
    text = "KeyError: 'DATA_DIR'"
    found = why(judge(good, KB), judge(machine(), KB), KB, Symptom(text=text))
    assert found.named[0].name == "environment[DATA_DIR]"
    assert "Try: " not in render(found, ("a", "b"))
