"""Old and new engines by what they say of themselves, and the one line for each that can't be used."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from doctor.errors import InputError
from doctor.facts.origin import State
from doctor.launch.ask import ask
from doctor.launch.engine import Engine
from doctor.launch.engine import Spec as SpecFile
from doctor.parsers.container.cdi_spec import CdiSpec, Edits
from doctor.system.base import Output, Reading, Stat
from doctor.system.engine_sockets import Place, Unreachable
from doctor.versions import Dotted
from tests.each import each

FOLDERS = ["/etc/cdi", "/var/run/cdi"]
NVIDIA = {"nvidia": {"path": "nvidia-container-runtime"}, "runc": {"path": "runc"}}
LIMITS = """Limit                     Soft Limit           Hard Limit           Units     
Max open files            1048576              1048576              files     
Max locked memory         8388608              8388608              bytes     
"""  # noqa: W291  as the kernel writes it


class Host:
    """A machine that answers an engine's commands and reads of files, by what is asked."""

    kind = "live"

    def __init__(
        self,
        version: Mapping[str, Any] | str = "",
        info: Mapping[str, Any] | None = None,
        files: Mapping[str, str] | None = None,
        programs: Sequence[str] = ("docker", "podman"),
        script: bytes = b"\x7fELF",
    ) -> None:
        self.told, self.said, self.files, self.programs = version, info or {}, files or {}, programs
        self.script, self.where = script, list[str]()

    def which(self, name: str) -> Reading[str]:
        if name in self.programs:
            return Reading(State.VALUE, "path", f"/usr/bin/{name}")
        return Reading(State.ABSENT, "path", None, "no such program on the trusted PATH")

    def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
        if isinstance(self.told, str):
            return self._said(1, "", self.told)
        return self._said(0, json.dumps(self.told if "version" in argv else self.said))

    def connect(self, name: str, where: Place) -> Any:
        """The machine's own engine, as the SDK would show it."""
        self.where.append(where.address)
        if isinstance(self.told, str):
            raise Unreachable(self.told)
        return self

    def close(self) -> None:
        """Nothing is held."""

    def version(self) -> Any:
        return self.told

    def info(self) -> Any:
        return self.said

    def read_bytes(self, path: str, **_: Any) -> Reading[bytes]:
        return Reading(State.VALUE, path, self.script)

    def _said(self, code: int, stdout: str, stderr: str = "") -> Reading[Output]:
        return Reading(State.VALUE, "command", Output(code, stdout, stderr, 0.0))

    def read_text(self, path: str, **_: Any) -> Reading[str]:
        if path in self.files:
            return Reading(State.VALUE, path, self.files[path])
        return Reading(State.ABSENT, path)

    def list_dir(self, path: str, **_: Any) -> Reading[tuple[str, ...]]:
        names = {name[len(path) + 1 :] for name in self.files if name.startswith(f"{path}/")}
        return Reading(State.VALUE, path, tuple(sorted(names))) if names else Reading(State.ABSENT, path)

    def stat(self, path: str) -> Reading[Stat]:
        return Reading(State.VALUE if path in self.files else State.ABSENT, path, None)


def asked(host: Host, environ: Mapping[str, str] | None = None, name: str = "docker") -> Engine:
    return ask(host, name, environ or {}, host.connect)  # type: ignore[arg-type]


def docker(version: str, info: Mapping[str, Any] | None = None, environ: Mapping[str, str] | None = None) -> Engine:
    told = {"ServerVersion": version, "OperatingSystem": "Ubuntu 24.04", "Runtimes": {"runc": {}}, **(info or {})}
    return asked(Host({"Version": version, "Os": "linux"}, told), environ)


def podman(version: str, **host: Any) -> Engine:
    told = {"serviceIsRemote": False, "security": {"rootless": False}, "ociRuntime": {"name": "crun"}, **host}
    return asked(Host({}, {"host": told, "version": {"APIVersion": version, "Version": version}}), name="podman")


@each(
    "version, folders, cdi, gpus, newest",
    [
        ("18.09.9", None, False, False, None),
        ("19.03.15", None, False, True, None),
        ("24.0.9", None, False, True, None),
        ("25.0.5", None, False, True, "0.6.0"),  # without the feature flag it lists no folders
        ("25.0.5", FOLDERS, True, True, "0.6.0"),
        ("26.0.2", FOLDERS, True, True, "0.6.0"),
        ("26.1.5+dfsg1", FOLDERS, True, True, "0.7.0"),
        ("28.3.0", FOLDERS, True, True, None),
        ("29.3.1", FOLDERS, True, True, None),
        ("29.3.1", [], False, True, None),  # turned off
    ],
)
def test_docker(version: str, folders: list[str] | None, cdi: bool, gpus: bool, newest: str | None) -> None:
    engine = docker(version, {"CDISpecDirs": folders} if folders is not None else {})
    assert (engine.name, engine.version, engine.cdi, engine.has_gpus_flag) == ("docker", version, cdi, gpus)
    assert engine.newest_spec == (Dotted(newest) if newest else None)


@pytest.mark.parametrize(
    ("version", "cdi", "gpus", "newest"),
    [
        ("3.4.4", False, False, None),
        ("4.3.1", True, False, "0.5.0"),
        ("4.9.3", True, False, "0.5.0"),
        ("5.1.2", True, False, "0.7.0"),
        ("5.4.0", True, False, None),
        ("6.0.0", True, True, None),
    ],
)
def test_podman(version: str, cdi: bool, gpus: bool, newest: str | None) -> None:
    engine = podman(version)
    assert (engine.name, engine.version, engine.cdi, engine.has_gpus_flag) == ("podman", version, cdi, gpus)
    assert engine.newest_spec == (Dotted(newest) if newest else None)


@pytest.mark.parametrize(
    ("name", "version", "spec", "reads"),
    [
        ("podman", "4.3.1", "0.5.0", True),
        ("podman", "4.3.1", "0.6.0", False),
        ("podman", "5.1.2", "0.7.0", True),
        ("docker", "25.0.5", "0.7.0", False),
        ("docker", "26.1.5", "0.7.0", True),
        ("docker", "26.1.5", "1.0.0", False),
        ("docker", "29.3.1", "1.0.0", True),  # no bound is known, and none is claimed
    ],
)
def test_a_spec_that_is_too_new(name: str, version: str, spec: str, reads: bool) -> None:
    engine = docker(version) if name == "docker" else podman(version)
    assert engine.reads(SpecFile("/etc/cdi/a.json", CdiSpec(spec, "amd.com/gpu", {}, Edits())).read) is reads


def test_runtimes_rootless_and_desktop() -> None:
    assert "nvidia" in docker("24.0.9", {"Runtimes": NVIDIA}).runtimes
    assert docker("28.3.0", {"SecurityOptions": ["name=seccomp,profile=builtin", "name=rootless"]}).rootless
    assert docker("28.3.0", {"OperatingSystem": "Docker Desktop"}).desktop
    rootless = podman("5.4.0", security={"rootless": True}, ociRuntime={"name": "runc"})
    assert (rootless.rootless, rootless.oci_runtime) == (True, "runc")


def test_podman_under_docker_s_name_is_podman() -> None:
    said = {"version": {"Version": "4.9.3"}, "host": {"security": {"rootless": True}}}
    script = b'#!/usr/bin/sh\n[ -e /etc/containers/nodocker ] || echo "Emulate Docker CLI using podman." >&2\n'
    engine = asked(Host({}, said, script=script))
    assert (engine.name, engine.version, engine.base) == ("podman", "4.9.3", ("docker",))


@pytest.mark.parametrize(
    ("environ", "base"),
    [
        ({}, ("docker",)),
        (
            {"DOCKER_HOST": "unix:///run/user/1000/docker.sock"},
            ("docker", "--host", "unix:///run/user/1000/docker.sock"),
        ),
        ({"DOCKER_CONTEXT": "default"}, ("docker", "--context", "default")),
        ({"DOCKER_CONTEXT": "default", "DOCKER_HOST": "unix:///a"}, ("docker", "--host", "unix:///a")),
    ],
)
def test_the_engine_that_is_asked_is_the_caller_s(
    environ: dict[str, str], base: tuple[str, ...], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    host = Host({"Version": "26.1.5"}, {"ServerVersion": "26.1.5"})
    assert asked(host, environ).base == base
    assert host.where == [environ.get("DOCKER_HOST", "unix:///var/run/docker.sock")]


@pytest.mark.parametrize("where", ["tcp://10.0.0.7:2376", "ssh://gpu-box"])
def test_another_machine_s_engine_is_refused(where: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"docker's engine is at .*: that machine has other GPUs"):
        docker("26.1.5", environ={"DOCKER_HOST": where})
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    (tmp_path / "config.json").write_text('{"currentContext": "far"}')
    folder = tmp_path / "contexts/meta" / hashlib.sha256(b"far").hexdigest()
    folder.mkdir(parents=True)
    meta = {"Name": "far", "Metadata": {}, "Endpoints": {"docker": {"Host": where, "SkipTLSVerify": False}}}
    (folder / "meta.json").write_text(json.dumps(meta))
    with pytest.raises(InputError, match=r"docker's engine is at .*: that machine has other GPUs"):
        docker("26.1.5")


def test_docker_host_is_no_word_for_podman() -> None:
    said = Host({}, {"host": {}, "version": {"Version": "5.4.0"}})
    assert asked(said, {"DOCKER_HOST": "tcp://10.0.0.7:2376"}, "podman").name == "podman"
    with pytest.raises(InputError, match="CONTAINER_HOST is"):
        asked(said, {"CONTAINER_HOST": "ssh://gpu-box"}, "podman")
    with pytest.raises(InputError, match="service elsewhere"):
        podman("5.4.0", serviceIsRemote=True)


def test_podman_s_refusal_is_its_last_line() -> None:
    with pytest.raises(InputError, match="podman info: last line"):
        asked(Host("something else\nlast line"), name="podman")


def test_no_engine_is_one_line() -> None:
    with pytest.raises(
        InputError, match="docker: no such program on the trusted PATH; install it, or print with --emit"
    ):
        asked(Host(programs=()))


@pytest.mark.parametrize("output", ["", "null", "[1]", "{", "nan"])
def test_nonsense_for_an_answer(output: str) -> None:
    class Nonsense(Host):
        def run(self, argv: Sequence[str], **_: Any) -> Reading[Output]:
            return self._said(0, output)

    with pytest.raises(InputError, match="podman info: "):
        asked(Nonsense(), name="podman")


@pytest.mark.parametrize(
    ("capabilities", "capped"),
    [("000001ffffffffff", {}), ("000001fffeffffff", {"nofile": 1048576, "memlock": 8388608}), ("", {})],
)
def test_a_limit_is_held_only_where_it_can_not_be_raised(capabilities: str, capped: dict[str, int]) -> None:
    """CAP_SYS_RESOURCE lets dockerd give more than it has."""
    status = f"Name:\tdockerd\nCapEff:\t{capabilities}\n" if capabilities else "Name:\tdockerd\n"
    files = {"run/docker.pid": "714\n", "proc/714/status": status, "proc/714/limits": LIMITS}
    host = Host({"Version": "26.1.5"}, {"ServerVersion": "26.1.5"}, files)
    assert asked(host).capped == capped


def test_specs_of_all_folders_with_what_they_miss() -> None:
    text = json.dumps(
        {
            "cdiVersion": "0.6.0",
            "kind": "amd.com/gpu",
            "devices": [{"name": "0", "containerEdits": {"deviceNodes": [{"path": "/dev/kfd", "gid": 992}]}}],
        }
    )
    files = {
        "etc/cdi/amd.json": text,
        "etc/cdi/broken.yaml": "a: [",
        "etc/cdi/notes.txt": text,
        "var/run/cdi/b.json": text,
    }
    engine = asked(Host({"Version": "26.1.5"}, {"CDISpecDirs": FOLDERS}, files))
    assert [(spec.path, spec.missing) for spec in engine.specs] == [
        ("/etc/cdi/amd.json", ("/dev/kfd",)),
        ("/var/run/cdi/b.json", ("/dev/kfd",)),
    ]
    assert engine.specs[0].read.devices["0"].owners == (("/dev/kfd", 992),)
