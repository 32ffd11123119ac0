"""How the container engines of this machine are asked, and nothing else: over a socket that is here, whatever contexts,
remote connections or configurations of the account say; and podman only where it was used before, since its first
command makes folders in the account's home.
"""

from __future__ import annotations

from collections.abc import Iterator

from doctor.system.base import System

_DOCKER_OF_USER = ("run/user/{uid}/docker.sock", "{home}/.docker/desktop/docker.sock", "{home}/.docker/run/docker.sock")
_SOCKETS = {
    "docker": (_DOCKER_OF_USER, "var/run/docker.sock"),
    "podman": (("run/user/{uid}/podman/podman.sock",), "run/podman/podman.sock"),
}
_CRI_SOCKETS = (
    "run/containerd/containerd.sock",
    "run/crio/crio.sock",
    "run/k3s/containerd/containerd.sock",
    "run/k0s/containerd.sock",
    "var/snap/microk8s/common/run/containerd.sock",
    "var/run/cri-dockerd.sock",
)
"""Where containerd, CRI-O, k3s and RKE2, k0s, MicroK8s and cri-dockerd listen by default."""
_CRICTL = ("crictl", "--timeout", "6s")
"""Its own 2 s are little on a busy node."""
_PODMAN_OF_ROOT = ("var/lib/containers", "run/containers")
_PODMAN_OF_USER = (
    "{data}/containers/storage",
    "{home}/.config/containers/storage.conf",
    "run/user/{uid}/containers",
    "run/user/{uid}/libpod",
)


def sockets(system: System, engine: str) -> Iterator[str]:
    """Paths of Docker's or podman's sockets, relative to the root, the account's own first; a dead link or a file in
    its place is none."""
    uid, places = _account(system)
    own, of_root = _SOCKETS[engine]
    for path in [path.format(**places) for path in own] if uid else ():
        yield from _socket(system, path)
    if engine == "docker" or not uid:  # root's podman has containers of its own, which a plain account can't see
        yield from _socket(system, of_root)


def _socket(system: System, path: str) -> Iterator[str]:
    found = system.stat(path).value
    if found and found.kind == "socket":
        yield path


def podman(system: System) -> tuple[str, ...] | None:
    """The start of a podman command; None where this account has no containers of it yet."""
    uid, places = _account(system)
    folders = [path.format(**places) for path in _PODMAN_OF_USER] if uid else _PODMAN_OF_ROOT
    return ("podman", "--remote=false") if any(system.stat(path).known for path in folders) else None


def crictl(system: System) -> Iterator[tuple[str, ...]]:
    """The start of a crictl command: as its own configuration says, else for each runtime's socket that is here."""
    if system.stat("etc/crictl.yaml").known:
        yield _CRICTL
        return
    for path in _CRI_SOCKETS:
        found = system.stat(path).value
        if found and found.kind == "socket":
            yield (*_CRICTL, "--runtime-endpoint", f"unix:///{path}")


def _account(system: System) -> tuple[int, dict[str, str]]:
    uid = (system.account().value or {}).get("uid", 0)
    environment = system.environ().value or {}
    home = environment.get("HOME", "/nonexistent").strip("/")
    data = environment.get("XDG_DATA_HOME", f"/{home}/.local/share").strip("/")
    return uid, {"uid": str(uid), "home": home, "data": data}
