"""Writes a machine's files: what every Linux has. The GPUs' own are in layout_pci, layout_nvidia and layout_amd.

Whatever is written is what kernels and drivers write there; where something is simpler than on a real machine, the
package's docstring says so.
"""

from __future__ import annotations

import os
import shlex
from pathlib import Path

from tests.fakenode import layout_amd, layout_nvidia, layout_pci
from tests.fakenode.machine import NOW_S, Command, Machine
from tests.fakenode.systems import DISTRIBUTIONS
from tests.fakenode.tree import Tree

_BOOTED, _UPTIME_S, _KTHREADD = 1_790_000_000, NOW_S + 60, 2
_GROUPS = "root:x:0:\ntty:x:5:\nvideo:x:44:alice\nrender:x:109:\nalice:x:1000:\n"
_USERS = "root:x:0:0:root:/root:/bin/bash\nalice:x:1000:1000::/home/alice:/bin/bash\n"
_FOLDERS = (
    "usr/bin", "usr/sbin", "usr/lib64", "usr/lib/x86_64-linux-gnu", "usr/local/bin", "opt", "root", "home/alice",
    "var/log", "run", "boot", "dev/shm", "sys/class/net/lo", "sys/class/mem", "sys/class/tty", "sys/class/drm",
    "sys/bus/pci/devices", "sys/bus/pci/slots", "sys/kernel", "sys/power", "sys/dev", "sys/fs", "sys/firmware/efi",
)  # fmt: skip
_NEVER_WRITTEN = "/run/never-written"
_MERGED = ("bin", "sbin", "lib", "lib64")
"""Links to the folders of /usr."""


def write(machine: Machine, root: Path) -> None:
    """The whole tree below `root`, an empty folder. Readable by all accounts, whatever the umask."""
    before = os.umask(0o022)
    try:
        _write(machine, root)
    finally:
        os.umask(before)


def _write(machine: Machine, root: Path) -> None:
    tree = Tree(root)
    root.chmod(0o755)
    for name in _MERGED:
        tree.link(name, f"usr/{name}")
    for folder in _FOLDERS:
        tree.folder(folder)
    tree.folder("tmp", 0o1777)
    _system(machine, tree)
    _proc(machine, tree)
    _container(machine, tree)
    layout_pci.write(machine, tree)
    layout_nvidia.write(machine, tree)
    layout_amd.write(machine, tree)
    if any(command.hangs for command in machine.commands.values()):
        os.mkfifo(root / _NEVER_WRITTEN[1:])
    for path in machine.nodes:
        tree.write(f"dev/{path}", "")
    for name, command in machine.commands.items():
        tree.write(f"{command.folder}/{name}", script(command), 0o755)
    for path, target in machine.links.items():
        tree.link(path, target)
    for path, content in machine.files.items():
        tree.write(path, content, 0o755 if "/bin/" in path else 0o644)
    for path in machine.removed:
        tree.remove(path)


def _system(machine: Machine, tree: Tree) -> None:
    system = DISTRIBUTIONS[machine.distribution]
    tree.write("etc/os-release", system.os_release)
    tree.write("etc/passwd", _USERS)
    tree.write("etc/group", _GROUPS)
    tree.write("etc/ld.so.conf", "include /etc/ld.so.conf.d/*.conf\n")
    if not machine.container:
        tree.folder(f"usr/lib/modules/{machine.kernel}")
        tree.write(f"boot/vmlinuz-{machine.kernel}", "")
    machine.commands.setdefault("getconf", Command({"GNU_LIBC_VERSION": f"glibc {system.glibc}\n"}))
    log = "\n".join(machine.kernel_log)
    tree.write("var/log/dmesg", f"[    0.000000] Linux version {machine.kernel}\n{log}\n" if log else _quiet(machine))
    machine.commands.setdefault("dmesg", Command({"": "@/var/log/dmesg"}))
    cpus = "sys/devices/system/cpu"
    tree.write_all(cpus, {"online": "0-7", "cpu0/cpufreq/scaling_governor": "performance"})
    tree.write_all("sys/devices/system/node", {"online": 0, "node0/cpulist": "0-7"})
    tree.write_all("sys/class/dmi/id", {"sys_vendor": "Example", "product_name": "GPU server"})
    tree.write("sys/kernel/mm/transparent_hugepage/enabled", "always [madvise] never\n")
    tree.write("sys/kernel/security/lockdown", "[none] integrity confidentiality\n")
    variable = "sys/firmware/efi/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
    tree.write(variable, bytes([6, 0, 0, 0, 0]))
    for name, version in machine.modules.items():
        tree.write_all(f"sys/module/{name}", {"initstate": "live", "refcnt": 1})
        if version:
            tree.write_all(f"sys/module/{name}", {"version": version})
    for name, value in machine.params.items():
        module, _, parameter = name.partition("/")
        tree.write_all(f"sys/module/{module}/parameters", {parameter: value})


def _quiet(machine: Machine) -> str:
    return f"[    0.000000] Linux version {machine.kernel}\n[    0.000000] Command line: {' '.join(machine.cmdline)}\n"


def _proc(machine: Machine, tree: Tree) -> None:
    kernel = machine.kernel
    tree.write("proc/version", f"Linux version {kernel} (build@example) (gcc (Ubuntu) 11.4.0) #1 SMP\n")
    tree.write("proc/cmdline", f"BOOT_IMAGE=/boot/vmlinuz-{kernel} root=/dev/sda1 {' '.join(machine.cmdline)}\n")
    tree.write_all("proc/sys/kernel", {
        "osrelease": kernel, "hostname": "node01", "arch": machine.arch, "numa_balancing": 0, "overflowuid": 65534,
    })  # fmt: skip
    tree.write("proc/uptime", f"{_UPTIME_S}.00 {_UPTIME_S}.00\n")
    tree.write("proc/stat", f"cpu 0 0 0 0\nbtime {_BOOTED}\n")
    memory = machine.memory_kib
    tree.write("proc/meminfo", f"MemTotal: {memory:>14} kB\nMemAvailable: {memory - 9_000_000:>10} kB\n")
    tree.write("proc/cpuinfo", _cpuinfo(machine))
    loaded = "".join(f"{name} 1000000 1 - Live 0x0 (OE)\n" for name in machine.modules)
    tree.write("proc/modules", loaded + "ext4 1000000 1 - Live 0x0\n")
    for name in ("ext4", "fuse"):
        tree.write_all(f"sys/module/{name}", {"initstate": "live"})
    tree.write("proc/self/status", _status(machine))
    tree.write("proc/self/uid_map", "         0          0 4294967295\n")
    tree.write("proc/self/limits", "")
    tree.link("proc/self/ns/pid", "pid:[4026531836]")
    if not machine.container:
        _process(tree, 1, "systemd", 0, cgroup="/init.scope")
        _process(tree, _KTHREADD, "kthreadd", 0, cgroup="/")
    for pid, process in machine.processes.items():
        group = f"/system.slice/{process.name}.service"
        _process(tree, pid, process.name, process.parent, cgroup=group, opens=process.opens)


def _process(tree: Tree, pid: int, name: str, parent: int, *, cgroup: str, opens: tuple[str, ...] = ()) -> None:
    folder = f"proc/{pid}"
    tree.write(f"{folder}/comm", f"{name[:15]}\n")
    tree.write(f"{folder}/stat", f"{pid} ({name[:15]}) S {parent} {pid} {pid} 0 -1 0 " + "0 " * 42 + "\n")
    tree.write(f"{folder}/status", f"Name:\t{name[:15]}\nPid:\t{pid}\nPPid:\t{parent}\nUid:\t0\t0\t0\t0\n")
    tree.write(f"{folder}/cgroup", f"0::{cgroup}\n")
    tree.folder(f"{folder}/fd")
    for number, path in enumerate(opens, 3):
        tree.link(f"{folder}/fd/{number}", path)


def _cpuinfo(machine: Machine) -> str:
    if machine.arch == "aarch64":
        one = "processor\t: {}\nCPU implementer\t: 0x41\nCPU architecture: 8\nCPU part\t: 0xd4f\n\n"
    else:
        name = "AMD EPYC 9654 96-Core Processor"
        one = f"processor\t: {{}}\nvendor_id\t: AuthenticAMD\nmodel name\t: {name}\nflags\t\t: {machine.cpu_flags}\n\n"
    return "".join(one.format(number) for number in range(8))


def _status(machine: Machine) -> str:
    """Of a process of the account, in a container with Docker's usual seccomp filter and capabilities."""
    held, filtered = ("00000000a80425fb", 2) if machine.container else ("000001ffffffffff", 0)
    return f"Name:\tdoctor\nUid:\t{machine.uid}\t{machine.uid}\nSeccomp:\t{filtered}\nCapBnd:\t{held}\n"


def _container(machine: Machine, tree: Tree) -> None:
    number = "0123456789abcdef" * 4
    root = "30 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw"
    if machine.container == "docker":
        tree.write(".dockerenv", "")
        lower = f"lowerdir=/var/lib/docker/overlay2/l/AAAA,upperdir=/var/lib/docker/overlay2/{number}/diff"
        root = f"30 1 0:50 / / rw,relatime - overlay overlay rw,{lower}"
    elif machine.container == "podman":
        tree.write("run/.containerenv", 'engine="podman-4.9.3"\n')
        root = "30 1 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/containers/storage/overlay/l/AAAA"
    elif machine.container == "kubernetes":
        machine.environment.setdefault("KUBERNETES_SERVICE_HOST", "10.96.0.1")
        root = "30 1 0:50 / / rw,relatime - overlay overlay rw,lowerdir=/run/io.containerd.snapshotter.v1/1/fs"
    paths = {"docker": "/", "podman": "/", "kubernetes": f"/kubepods.slice/cri-containerd-{number}.scope"}
    if machine.container:
        _process(tree, 1, "bash", 0, cgroup=paths[machine.container])
    tree.write("proc/self/cgroup", "0::/\n" if machine.container else "0::/user.slice/user-0.slice/session-1.scope\n")
    shm = f"31 30 0:25 / /dev/shm rw,nosuid,nodev - tmpfs tmpfs rw,{machine.shm}"
    tree.write("proc/self/mountinfo", f"{root}\n{shm}\n")


def script(command: Command) -> str:
    """A shell script of built-in words alone that answers to its arguments. An answer `@PATH` is that file."""
    lines = ["#!/bin/sh"]
    if command.hangs:
        lines += [f"read nothing <{_NEVER_WRITTEN}"]  # opening waits for a writer
    lines += ['case "$*" in']
    for arguments, answer in command.answers.items():
        pattern = "*" if arguments == "*" else shlex.quote(arguments)
        if answer.startswith("@"):
            show = f'while IFS= read -r line || [ -n "$line" ]; do printf \'%s\\n\' "$line"; done <{answer[1:]}'
        else:
            show = f"printf '%s' {shlex.quote(answer)}"
        lines += [f"{pattern}) {show}; exit {command.code if arguments == '*' else 0};;"]
    failed = f"printf '%s\\n' {shlex.quote(command.errors)} >&2; " if command.errors else ""
    lines += [f"*) {failed}exit {command.code or 1};;", "esac", ""]
    return "\n".join(lines)
