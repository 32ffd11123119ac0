"""A report with one of each, hostile text included."""

from __future__ import annotations

from doctor.facts import FactSheet, Snapshot, assemble
from doctor.findings import Evidence, Finding, Remedy, Report, Scope, Severity, Step, Subject, Suppressed, Unchecked

HOSTILE = "\x1b[31mred\x1b]0;title\x07 [red]markup[/red]\nsecond line \u202e\u2028 hf_" + "a" * 30


def snapshot() -> Snapshot:
    sheet = FactSheet()
    for bus in range(1, 9):
        gpu = f"gpus[0000:{bus:02x}:00.0]"
        sheet.put(f"{gpu}.vendor", "amd", "file:/sys")
        sheet.put(f"{gpu}.name", "AMD Instinct MI300X", "file:/sys")
        sheet.put(f"{gpu}.arch", "gfx942", "file:/sys")
        sheet.put(f"{gpu}.memory_bytes", 192 * 2**30, "file:/sys")
        sheet.put(f"{gpu}.index.smi", bus - 1, "file:/sys")
    sheet.put("os.name", HOSTILE, "file:/etc/os-release")
    sheet.put("environment[HF_TOKEN]", "plainword", "environment:HF_TOKEN")
    sheet.put("account.user", "alice77", "file:/etc/passwd")
    return assemble([sheet])


def report(summary: str = "This account may not open /dev/kfd, so no GPU is seen.") -> Report:
    cause = Finding(
        rule="device-node-permission",
        severity=Severity.ERROR,
        summary=summary,
        subject=Subject(kind="node", id="/dev/kfd"),
        fingerprint="1" * 16,
        evidence=(Evidence(text="nodes[/dev/kfd].openable = no", source="file:/dev/kfd"),),
        why="Nothing can use the GPU.",
        remedies=(
            Remedy(
                title="Add the account to the group render",
                scope=Scope.HOST,
                root=True,
                risk="The account may use all GPUs.",
                steps=(
                    Step(
                        text="Add it, then log in again.",
                        command=("sudo", "usermod", "-aG", "render", "a user"),
                    ),
                ),
                undo=(Step(text="Undo", command=("gpasswd", "-d", "a user", "render")),),
            ),
            Remedy(title="Run as root", scope=Scope.JOB, steps=(Step(text="Run as root."),)),
        ),
        verify=("rocminfo",),
        explains=("torch-sees-no-gpu",),
    )
    consequence = Finding(
        rule="torch-sees-no-gpu",
        severity=Severity.INFO,
        summary="torch reports no usable GPU.",
        fingerprint="2" * 16,
        explained_by="1" * 16,
    )
    warning = Finding(
        rule="container-shm-too-small",
        severity=Severity.WARNING,
        summary="/dev/shm is 64 MiB.",
        fingerprint="3" * 16,
        basis="symptom",
        ask="docker inspect of the container",
    )
    return Report(
        doctor="0.1.0",
        status="error",
        findings=(cause, warning, consequence),
        clear=("a", "b", "c"),
        unchecked=(
            Unchecked(
                rule="amdgpu-gpu-hang", facts=("kernel_log.events",), reason="kernel_log.events: permission denied"
            ),
            Unchecked(rule="odd", reason="the check crashed: KeyError: 'x'", crashed=True),
        ),
        suppressed=(Suppressed(rule="x", fingerprint="4" * 16, reason="known", by="allow.toml"),),
        snapshot=snapshot(),
    )
