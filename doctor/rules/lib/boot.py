"""Remedies that change how the kernel or a module starts: by the tools of this system's distribution."""

from __future__ import annotations

from typing import Any

from doctor.facts import Snapshot
from doctor.findings import Expect, Remedy, Scope, Step
from doctor.rules.lib.advice import STOPS_NODE, step, way, writes
from doctor.rules.lib.commands import REBOOT
from doctor.rules.lib.packages import host_family


def kernel_argument(machine: Snapshot, argument: str, title: str, scope: Scope = Scope.HOST) -> Remedy:
    """Add an argument to the kernel's command line, by the boot loader's own tool where the distribution has one."""
    add, remove = _by_tool(machine, argument)
    return Remedy(
        title=title,
        scope=scope,
        steps=(*add, REBOOT),
        root=True,
        reboot=True,
        risk=STOPS_NODE,
        for_=machine.os.name or machine.os.id if host_family(machine) else None,
        undo=(*remove, Step(text="Reboot.")),
        effect=(Expect(fact="kernel.cmdline", has=argument),),
    )


def without_argument(machine: Snapshot, argument: str) -> Remedy:
    """Take an argument off the kernel's command line, by the distribution's own tool where it has one."""
    tool = host_family(machine) in ("dnf", "zypper")
    add, remove = _by_tool(machine, argument)
    by_hand = step(f"Delete `{argument}` from the GRUB_CMDLINE_LINUX lines of /etc/default/grub (or your boot entry).")
    return way(
        f"Remove {argument} from the kernel command line.",
        Scope.DRIVER,
        *(remove if tool else (by_hand, *add[1:])),
        REBOOT,
        root=True,
        reboot=True,
        risk=STOPS_NODE,
        undo=add if tool else (Step(text=f"Add `{argument}` again the same way."),),
    )


def kept_out(machine: Snapshot, module: str) -> tuple[str, ...]:
    """Lines of modprobe's configuration that keep it from loading."""
    return tuple(line for line in machine.kernel.kept_out or () if module in line.partition(": ")[2].split())


def let_in(machine: Snapshot, module: str, lines: tuple[str, ...]) -> Remedy:
    file = lines[0].partition(": ")[0]
    return way(
        f"Remove the lines on {module} from {file[:60]}, then load the module.",
        Scope.DRIVER,
        step(f"Delete them from {file}, and rebuild the initramfs (update-initramfs -u, or dracut --force)."),
        step("Load the module.", "modprobe", module),
        root=True,
        risk="the GPU may take over the display",
        undo=(step("Restore the lines, rebuild the initramfs, then reboot."),),
    )


def _by_tool(machine: Snapshot, argument: str) -> tuple[tuple[Step, ...], tuple[Step, ...]]:
    """Steps that add it and steps that take it away again.

    grubby is of RHEL and Fedora, pbl of SUSE; Debian and Ubuntu read /etc/default/grub.d, Arch /etc/default/grub.
    """
    manager = host_family(machine)
    if manager == "dnf":
        return (
            (
                step(
                    f"Add {argument} to every installed kernel.", "grubby", "--update-kernel=ALL", f"--args={argument}"
                ),
            ),
            (step("Remove it.", "grubby", "--update-kernel=ALL", f"--remove-args={argument}"),),
        )
    if manager == "zypper":
        write = step("Write the boot loader's configuration.", "pbl", "--config")
        return (
            (step(f"Add {argument}.", "pbl", "--add-option", argument), write),
            (step("Remove it.", "pbl", "--del-option", argument), write),
        )
    if manager == "apt":
        file = f"/etc/default/grub.d/90-{argument.partition('=')[0]}.cfg"
        line = f'GRUB_CMDLINE_LINUX="$GRUB_CMDLINE_LINUX {argument}"'
        write = step("Write the boot loader's configuration.", "update-grub")
        return (writes(file, line), write), (step("Remove the file.", "rm", file), write)
    where = "on the host, " if machine.container.inside else ""
    add = f"{where}append {argument} to GRUB_CMDLINE_LINUX in /etc/default/grub (or to your boot loader's entry)."
    if manager == "pacman":
        write = step("Write the boot loader's configuration.", "grub-mkconfig", "-o", "/boot/grub/grub.cfg")
        return (step(add[0].upper() + add[1:]), write), (step(f"Remove {argument} there again."), write)
    write = step("Write the boot loader's configuration (`update-grub`, or `grub2-mkconfig -o /boot/grub2/grub.cfg`).")
    return (step(add[0].upper() + add[1:]), write), (step(f"Remove {argument} there again."),)


def service(title: str, name: str, scope: Scope = Scope.HOST, vendor: str | None = None, **more: Any) -> Remedy:
    start = step(f"Start {name} now and at each boot.", "systemctl", "enable", "--now", name)
    return way(title, scope, start, root=True, vendor=vendor, **more)
