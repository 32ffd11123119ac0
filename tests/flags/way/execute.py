"""Runs the cases for real and records what each process had.

    python -m tests.flags.way.execute [TOOL…]

Needs root for slurm, su and sshd, and for containers DOCTOR_WAY_IMAGE, an image with a shell. Without a tool, the cases
of all tools that are here are run.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tests.flags.way import cases as given

_SEE = """#!/bin/sh
echo "@@$1"
/usr/bin/env | /bin/grep -E '^[A-Z][A-Z0-9_]*=' | /bin/sed "s/^/@@$1 /"
"""
_SEE_PY = "import os, sys\nos.execv('{folder}/see', ['see', sys.argv[1]])\n"
TORCH = next(iter(sorted(Path("/opt/doctor-ci").glob("torch-*+cpu/bin/torchrun"))), None)
RAY = os.environ.get("DOCTOR_WAY_RAY", "")
"""A Python that has Ray."""
_LIMIT = 120


def missing(tool: str, image: str = "") -> bool:
    """Whether a tool that a case needs is not here."""
    if tool == "torch":
        return TORCH is None
    if tool == "ray":
        return not RAY
    if tool == "slurm":
        from tests.docker import slurm

        return slurm.missing() is not None
    if tool in ("sshd", "su", "sudo"):
        return os.geteuid() != 0 or not shutil.which(tool, path=f"{os.environ.get('PATH', '')}:/usr/sbin")
    if tool in ("docker", "compose") and not image:
        return True
    if tool in ("docker", "compose"):
        probe = ["docker", "version"] if tool == "docker" else ["docker", "compose", "version"]
        return not shutil.which("docker") or subprocess.run(probe, capture_output=True, timeout=30).returncode != 0
    return not shutil.which(tool)


def run(case: dict[str, Any], more: dict[str, str], image: str = "") -> list[given.Seen]:
    """What the case's processes print, for each caller. `more` joins every environment (SLURM_CONF)."""
    return [_once(case, caller, more, image) for caller in given.callers(case)]


def _once(case: dict[str, Any], caller: dict[str, str], more: dict[str, str], image: str) -> given.Seen:
    with tempfile.TemporaryDirectory(prefix="way") as held:
        folder = Path(held)
        folder.chmod(0o755)
        (folder / "see").write_text(_SEE)
        (folder / "see.py").write_text(_SEE_PY.format(folder=folder))
        (folder / "see").chmod(0o755)
        for name, text in given.files(case).items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(_real(text, folder, image))
        if RAY and "ray" in case["needs"]:
            (folder / "main.sh").write_text(case["main"].replace("python3", RAY))
        path = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
        environment = {"PATH": path, "HOME": "/root", **more, **caller}
        argv = ["bash", "main.sh"]
        if "submit" in case:
            argv = ["sbatch", "--wait", case["submit"]]
        elif case.get("build"):
            argv = ["docker", "build", "--no-cache", "--progress=plain", "-t", "doctor-way-case", "."]
        elif case["needs"] == "compose":
            argv = ["docker", "compose", "-p", "doctorway", "up", "--no-color"]
        done = subprocess.run(argv, cwd=folder, env=environment, capture_output=True, text=True, timeout=_LIMIT)
        out = done.stdout + done.stderr
        if "submit" in case:
            out += (folder / "out.txt").read_text()
        elif case.get("build"):
            out += _of_image(environment)
        elif case["needs"] == "compose":
            subprocess.run(
                ["docker", "compose", "-p", "doctorway", "down"],
                cwd=folder,
                env=environment,
                capture_output=True,
                timeout=60,
            )
        seen = parsed(out, case["watch"])
        if not seen:
            raise AssertionError(f"{case['name']}: no process reported\n{out[-2000:]}")
        return seen


def _of_image(environment: dict[str, str]) -> str:
    done = subprocess.run(
        ["docker", "run", "--rm", "doctor-way-case"], env=environment, capture_output=True, text=True, timeout=60
    )
    subprocess.run(["docker", "rmi", "-f", "doctor-way-case"], env=environment, capture_output=True, timeout=60)
    return done.stdout


def _real(text: str, folder: Path, image: str) -> str:
    text = text.replace("HOST", f"-F {folder.parent}/doctor-way-ssh/config doctorway") if "ssh HOST" in text else text
    if text.startswith("FROM IMAGE"):
        return text.replace("IMAGE", image, 1).replace("ARG C=1\n", "ARG C=1\nCOPY see /usr/bin/see\n")
    text = re.sub(r"(?<![\w./-])see (?=[a-z]\b)", f"{folder}/see ", text)
    text = text.replace("['see',", f"['{folder}/see',").replace("[see,", f"[{folder}/see,")
    text = (
        text.replace("MOUNT IMAGE", f"-v {folder}:{folder}:ro IMAGE")
        .replace("VOLUME", f"{folder}:{folder}:ro")
        .replace("IMAGE", image)
    )
    if TORCH is not None and "torch" in text:
        text = re.sub(r"(?<![\w./-])torchrun ", f"{TORCH} ", text)
        text = re.sub(r"(?<![\w./-])python -m", f"{TORCH.parent}/python -m", text)
    return text


def parsed(out: str, watch: list[str]) -> given.Seen:
    """`@@LABEL` begins what one process had; values of several processes of one label are put together."""
    rows = re.findall(r"@@([a-z])(?: ([A-Z0-9_]+)=(.*))?$", out.replace("\r", ""), re.MULTILINE)
    counts: dict[str, int] = {}
    held: dict[str, dict[str, list[str | None]]] = {}
    for label, name, value in rows:
        held.setdefault(label, {n: [] for n in watch})
        if not name:
            counts[label] = counts.get(label, 0) + 1
        elif name in watch:
            held[label][name].append(value)
    for label, values in held.items():
        for name, found in values.items():
            missing_: list[str | None] = [None] * (counts.get(label, 1) > len(found))
            values[name] = sorted({*found, *missing_}, key=str)
    return held


@contextlib.contextmanager
def tools(wanted: set[str]) -> Iterator[dict[str, str]]:
    """Starts what the tools need; what joins every environment."""
    with contextlib.ExitStack() as stack:
        more: dict[str, str] = {}
        if "slurm" in wanted:
            from tests.docker import slurm

            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="wayslurm")))
            more["SLURM_CONF"] = str(stack.enter_context(slurm.cluster(folder)).config)
        if "sshd" in wanted:
            stack.enter_context(_sshd())
        yield more


@contextlib.contextmanager
def _sshd() -> Iterator[None]:
    from tests.docker.slurm import free_port

    folder = Path(tempfile.gettempdir()) / "doctor-way-ssh"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(mode=0o700)
    Path("/run/sshd").mkdir(exist_ok=True)
    for name in ("host", "user"):
        subprocess.run(
            ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)], check=True, timeout=30
        )
    (folder / "user.pub").rename(folder / "allowed")
    port = free_port()
    (folder / "config").write_text(
        f"Host doctorway\n HostName 127.0.0.1\n Port {port}\n User root\n IdentityFile {folder}/user\n"
        " StrictHostKeyChecking no\n UserKnownHostsFile /dev/null\n LogLevel ERROR\n"
    )
    argv = ["/usr/sbin/sshd", "-D", "-f", "/dev/null", "-p", str(port), "-h", str(folder / "host"),
            "-o", f"AuthorizedKeysFile={folder}/allowed", "-o", "StrictModes=no", "-o", "UsePAM=no",
            "-o", "ListenAddress=127.0.0.1", "-o", "PidFile=none"]  # fmt: skip
    server = subprocess.Popen(argv, stderr=subprocess.DEVNULL)
    try:
        yield
    finally:
        server.terminate()
        server.wait(10)
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: list[str]) -> int:
    held = given.truth()
    chosen = [c for c in given.cases() if not arguments or set(c["needs"].split()) & set(arguments)]
    image = os.environ.get("DOCTOR_WAY_IMAGE", "")
    able = [c for c in chosen if not any(missing(tool, image) for tool in c["needs"].split())]
    with tools({t for c in able for t in c["needs"].split()}) as more:
        held |= {case["name"]: run(case, more, image) for case in able}
    names = {c["name"] for c in given.cases()}
    rows = (f"{json.dumps(n)}: {json.dumps(held[n])}" for n in sorted(held) if n in names)
    given.TRUTH.write_text("{\n" + ",\n".join(rows) + "\n}\n")
    sys.stdout.write(f"{len(able)} of {len(chosen)} cases run\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
