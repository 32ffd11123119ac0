"""The kernel log becomes counted events; harmless lines that look bad do not."""

from __future__ import annotations

from typing import Any

import pytest

from doctor.errors import ParserError
from doctor.parsers.kernel import kernel_log
from tests.each import each
from tests.paths import FIELDLAB, needs_shared


def events(text: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = kernel_log.read(text).get("kernel_log.events")
    return found


def codes(text: str) -> list[tuple[str, str | None]]:
    return [(e["code"], e.get("device")) for e in events(text)]


@each("line, code, device", [
        ("NVRM: Xid (PCI:0000:9b:00): 79, pid=1, GPU has fallen off the bus.", "xid-79", "0000:9b:00.0"),
        ("nvidia-nvswitch3: SXid (PCI:0000:05:00.0): 12028, Non-fatal, Link 32", "sxid-12028", "0000:05:00.0"),
        ("NVRM: GPU 0000:03:00.0: RmInitAdapter failed! (0x24:0x72:1603)", "nvidia-rm-init-failed", "0000:03:00.0"),
        ("modprobe: ERROR: could not insert 'nvidia': Key was rejected by service", "module-key-rejected", None),
        ("Lockdown: modprobe: unsigned module loading is restricted; see man", "module-lockdown", None),
        ("[drm:amdgpu_job_timedout [amdgpu]] *ERROR* ring gfx timeout, signaled seq=1", "amdgpu-ring-timeout", None),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset begin!", "amdgpu-gpu-reset", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: GPU reset end with ret = -62", "amdgpu-gpu-reset-failed", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: [gfxhub0] no-retry page fault (src_id:0 ring:24)", "amdgpu-page-fault",
         "0000:c1:00.0"),
        ("okt 31 17:38:59 odin kernel: amdgpu 0000:09:00.0: amdgpu: [gfxhub] page fault", "amdgpu-page-fault",
         "0000:09:00.0"),
        ("at 17:38:59 amdgpu: GPU reset begin!", "amdgpu-gpu-reset", None),
        ("amdgpu 0000:c1:00.0: amdgpu: Fatal error during GPU init", "amdgpu-init-failed", "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: Direct firmware load for amdgpu/psp_13_0_6_sos.bin failed with error -2",
         "amdgpu-firmware-missing", "0000:c1:00.0"),
        ("kfd kfd: amdgpu: skipped device 1002:67df, PCI rejects atomics 730<0", "kfd-no-atomics", None),
        ("amdgpu 0000:c1:00.0: amdgpu: SMU: I'm not done with your previous command: SMN", "amdgpu-smu-hang",
         "0000:c1:00.0"),
        ("amdgpu 0000:c1:00.0: amdgpu: 2 uncorrectable hardware errors detected in umc block",
         "amdgpu-ras-uncorrectable", "0000:c1:00.0"),
        ("Out of memory: Killed process 4242 (python)", "oom-kill", None),
    ])  # fmt: skip
def test_one_line_one_event(line: str, code: str, device: str | None) -> None:
    for prefix in ("[   12.345678] ", "<3>[   12.345678] ", "3,10,12345678,-;", "Jan 06 14:37:38 host kernel: ",
                   "2025-02-23T16:24:18+0000 host kernel: ", "[Sun Feb 23 16:24:18 2025] "):  # fmt: skip
        assert codes(prefix + line) == [(code, device)]


def test_counts_and_times() -> None:
    told = events("[ 1.0] NVRM: Xid (PCI:0000:9b:00): 31, a\n[ 2.0] NVRM: Xid (PCI:0000:9b:00): 31, b\n")
    assert told == [
        {"key": "xid-31@0000:9b:00.0", "code": "xid-31", "device": "0000:9b:00.0", "count": 2, "first": "1.0",
         "last": "2.0", "text": "NVRM: Xid (PCI:0000:9b:00): 31, a"}
    ]  # fmt: skip


def test_bus_errors_count_for_gpus_only() -> None:
    fault = "[ 1.0] AMD-Vi: Event logged [IO_PAGE_FAULT device=0000:c1:00.0 domain=0x1 address=0x0 flags=0x0]\n"
    assert codes(fault) == []
    assert codes(fault + "[ 2.0] amdgpu 0000:c1:00.0: amdgpu: VRAM: 12M\n") == [("iommu-fault", "0000:c1:00.0")]


def test_an_open_module_on_a_gpu_that_it_does_not_serve_names_the_gpu() -> None:
    text = (
        "[ 1.0] NVRM: The NVIDIA GPU 0000:03:00.0 (PCI ID: 10de:1bb3)\n"
        "[ 1.0] NVRM: installed in this system is not supported by open\n"
        "[ 1.0] NVRM: nvidia.ko because it does not include the required GPU\n"
    )
    assert codes(text) == [("nvidia-open-module-unsupported", "0000:03:00.0")]


def test_a_mismatch_keeps_both_versions() -> None:
    text = (
        "[ 1.0] NVRM: API mismatch: the client has the version 570.148.08, but\n"
        "[ 1.0] NVRM: this kernel module has the version 570.148.06.  Please\n"
    )
    (event,) = events(text)
    assert event["code"] == "nvidia-api-mismatch"
    assert "570.148.08" in event["text"]
    assert "570.148.06" in event["text"]


@needs_shared
def test_a_recovered_ring_timeout_and_nothing_else() -> None:
    text = (FIELDLAB / "amd-rx6700xt-ring-timeout-reset-ok-journal/journal.txt").read_text(errors="replace")
    assert [c for c, _ in codes(text)] == [
        "amdgpu-illegal-access",
        "amdgpu-ring-timeout",
        "amdgpu-gpu-reset",
        "amdgpu-vram-lost",
        "amdgpu-gpu-reset-succeeded",
    ]


@needs_shared
def test_a_gsp_timeout() -> None:
    text = (FIELDLAB / "nvidia-xid119-gsp-timeout-kmsg-gpud/dmesg-T.log").read_text()
    assert [(e["code"], e["device"], e["count"]) for e in events(text)] == [("xid-119", "0000:9b:00.0", 5)]


@needs_shared
def test_a_taint_notice_is_no_event() -> None:
    folder = FIELDLAB / "nvidia-550-load-kmsg-gpud"
    for path in (*folder.glob("*.log"), *folder.glob("*.txt")):
        assert events(path.read_text(errors="replace")) == []
    sheet = kernel_log.read((folder / "pstore-dmesg-erst.txt").read_text(errors="replace"))
    assert sheet.get("nvidia_driver.version") == "550.144.03"


@pytest.mark.parametrize("text", ["", "hello\n", "NVIDIA is a firm", "\x1b[31m\x00"])
def test_what_is_no_kernel_log(text: str) -> None:
    with pytest.raises(ParserError):
        kernel_log.read(text)


def test_work_is_bounded() -> None:
    flood = "".join(f"[ 1.0] NVRM: Xid (PCI:0000:9b:00): {n}, x\n" for n in range(2000))
    assert len(events(flood)) == kernel_log.MAX_EVENTS
    assert len(events("[ 1.0] NVRM: Xid (PCI:0000:9b:00): 31, " + "x" * 1_000_000)[0]["text"]) == kernel_log.MAX_TEXT


def test_a_number_that_is_no_xid_is_not_cut_to_one() -> None:
    with pytest.raises(ParserError):
        kernel_log.read("NVRM: Xid (PCI:0000:af:00): 999999999999999999, pid=77")


@each(
    "text, expected",
    [
        ("Xid 79", ["xid-79"]),
        ("Xid 79: GPU has fallen off the bus", ["gpu-fell-off-bus"]),
        ("nvidia: Unknown symbol drm_gem_object_put (err -2)", ["module-unknown-symbol"]),
        ("nvidia-uvm: Unknown symbol nvUvmInterfaceRegister (err -2)", ["module-unknown-symbol"]),
        # a table of what Xids mean, or of those that a monitor watches
        ("Xid 63: row remapping event\nXid 79: GPU has fallen off the bus", []),
        ("# fatal\nXid 48  double bit\nXid 74  nvlink\nXid 79  fallen off the bus\nXid 95  uncontained", []),
        ('There is no Xid and no "GPU has fallen off the bus" of nvidia in dmesg.', []),
        ("nvidia_peermem: Unknown symbol ib_register_peer_memory_client (err -2)", []),
    ],
)
def test_lines_without_a_time(text: str, expected: list[str]) -> None:
    log = "[    1.000000] nvidia: loading out-of-tree module taints kernel.\n"
    assert [event["code"] for event in events(log + text)] == expected
