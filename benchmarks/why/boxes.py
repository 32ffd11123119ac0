"""Pairs of containers and images of Docker, made of an image that is there."""

from __future__ import annotations

import subprocess
import uuid

from benchmarks.why.world import World, pair

IMAGE: list[str] = []
"""The image that they are made of; without one these pairs are left out."""


def docker(*words: str) -> str:
    done = subprocess.run(["docker", *words], capture_output=True, text=True, timeout=120, check=True)
    return done.stdout.strip()


def containers(w: World, good: tuple[str, ...], bad: tuple[str, ...]) -> None:
    made = []
    for side, flags in (("good", good), ("bad", bad)):
        name = f"doctor-why-{uuid.uuid4().hex[:8]}-{side}"
        noise = [word for n in range(20) for word in ("-e", f"APP_SETTING_{n}={side}{n}")]
        docker("run", "-d", "--name", name, "--network=none", *noise, *flags, IMAGE[0], "sleep", "900")
        made.append(name)
    w.names = f"in:{made[0]}", f"in:{made[1]}"


@pair("option --ulimit nofile", "variable A", harmless=20, gives_symptom=False, seen=("host.nofile", "environment[A]"))
def container_option_and_variable(w: World) -> None:
    """A limit and a variable of a container that only together let it work."""
    containers(w, ("-e", "A=1"), ("-e", "A=2", "--ulimit", "nofile=64:64"))
    w.command = ["sh", "-c", "test $A = 1 && test $(ulimit -n) -gt 64"]


@pair("device /dev/card", harmless=20, gives_symptom=False)
def container_device(w: World) -> None:
    """A device that was not passed to the container."""
    containers(w, ("--device", "/dev/zero:/dev/card"), ())
    w.command = ["sh", "-c", "test -c /dev/card"]


@pair("option --shm-size", harmless=20, gives_symptom=False, seen=("host.shm_bytes",))
def container_shm(w: World) -> None:
    """The container's shared memory is too small."""
    containers(w, ("--shm-size", "256m"), ("--shm-size", "16m"))
    w.command = ["sh", "-c", "dd if=/dev/zero of=/dev/shm/x bs=1M count=64"]


@pair("layer 3", harmless=5, gives_symptom=False, seen=())
def image_layer(w: World) -> None:
    """One of six layers of an image."""
    names = []
    for side in ("good", "bad"):
        base = IMAGE[0]
        name = f"doctor-why-{uuid.uuid4().hex[:8]}-{side}"
        for number in range(6):
            made = docker("create", "--network=none", base, "sh", "-c", f"echo {side} > /layer{number}")
            docker("start", "-a", made)
            docker("commit", made, f"{name}:{number}")
            docker("rm", made)
            base = f"{name}:{number}"
        names.append(base)
    w.names = f"image:{names[0]}", f"image:{names[1]}"
    w.command = ["grep", "good", "/layer2"]


def remove(names: tuple[str, str]) -> None:
    for name in names:
        kind, _, rest = name.partition(":")
        if kind == "in":
            subprocess.run(["docker", "rm", "-f", rest], check=False, capture_output=True, timeout=60)
        else:
            base = rest.rpartition(":")[0]
            for number in reversed(range(6)):
                subprocess.run(
                    ["docker", "rmi", "-f", f"{base}:{number}"], check=False, capture_output=True, timeout=60
                )
