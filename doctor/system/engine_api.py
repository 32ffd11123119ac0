"""Docker by its API, and podman by the one that it shares with Docker, through the `docker` SDK: plain values, and each
error in one line.

The SDK is imported when an engine is connected to and not before, so that checking a host costs nothing for it.
"""

from __future__ import annotations

import os
import resource
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from doctor.errors import DoctorError, InputError, writing
from doctor.system.engine_sockets import ASK_S, Name, Place, Unreachable, podman_service, try_to_open

Note = Callable[[str], None]
_LONG_S = 3600.0
_CHUNK = 1 << 20
_MISSES = 2
_FULL = ("no space left on device", "disk quota exceeded")
FULL = "the disk is full: `{engine} system df` shows what images and caches take"


class EngineError(DoctorError):
    """The engine refused, failed, or did not end in time."""


class NotThere(InputError):
    """The engine has no image or container of that name."""


LATE = 124
"""The code of a container that did not end in time."""


@dataclass(frozen=True)
class Ran:
    """What a command in a container printed, and its exit code or LATE."""

    code: int
    stdout: str
    stderr: str


def place(environ: Mapping[str, str]) -> Place:
    """Docker's, as its own command line finds it: DOCKER_HOST, else the context in use, else the usual socket. Raises
    InputError for a context that is not there."""
    from docker.context import ContextAPI
    from docker.errors import DockerException
    from docker.utils import kwargs_from_env

    if environ.get("DOCKER_HOST"):
        note = kwargs_from_env(dict(environ))
        return Place(note["base_url"], note.get("tls", False))
    named = environ.get("DOCKER_CONTEXT")
    try:
        context = ContextAPI.get_context(named)
    except (DockerException, OSError, ValueError) as error:
        raise InputError(f"docker's context can't be read: {str(error)[:200]}") from error
    if context is None:
        raise InputError(f"docker has no context {str(named)[:60]!r}: `docker context ls` shows those that it has")
    return Place(context.Host or "unix:///var/run/docker.sock", context.TLSConfig or False)


def login(host: str | None) -> tuple[str, str] | None:
    """What the account's Docker configuration, or a helper that it names, has for a registry; None: Docker Hub."""
    from docker import auth
    from docker.errors import DockerException

    try:
        found = auth.load_config().resolve_authconfig(host) or {}
    except (DockerException, OSError, ValueError):
        return None
    name, password = found.get("username") or found.get("Username"), found.get("password") or found.get("Password")
    return (str(name), str(password)) if name and password else None


class Api:
    """One engine. Every method raises EngineError or Unreachable; those that name an image or a container, NotThere."""

    def __init__(self, name: Name, where: Place, timeout_s: float = ASK_S) -> None:
        import docker

        self.name: Name = name
        self.where = where
        if where.is_local:
            try_to_open(name, where, timeout_s)
        with self._one_line():
            self._client: Any = docker.APIClient(
                base_url=where.address, version="auto", timeout=timeout_s, tls=where.tls
            )

    def close(self) -> None:
        self._client.close()

    @contextmanager
    def _one_line(self, subject: str = "") -> Iterator[None]:
        import requests
        import urllib3
        from docker import errors

        try:
            yield
        except errors.NotFound as error:
            raise NotThere(f"{subject or self.name}: {_message(error)}") from error
        except errors.APIError as error:
            raise self._failed(_message(error)) from error
        except (requests.Timeout, urllib3.exceptions.TimeoutError) as error:
            raise EngineError(f"{self.name} does not answer in time ({self.where.address})") from error
        except (errors.DockerException, requests.RequestException, urllib3.exceptions.HTTPError) as error:
            raise Unreachable(f"{self.name} does not answer: {self.where.address}: {str(error)[:160]}") from error

    def _failed(self, message: str) -> EngineError:
        if any(words in message.lower() for words in _FULL):
            return EngineError(FULL.format(engine=self.name))
        return EngineError(f"{self.name}: {message}")

    def version(self) -> Mapping[str, Any]:
        with self._one_line():
            return as_table(self._client.version(api_version=False))

    def info(self) -> Mapping[str, Any]:
        with self._one_line():
            return as_table(self._client.info())

    def container(self, name: str) -> Mapping[str, Any]:
        with self._one_line(name):
            return as_table(self._client.inspect_container(name))

    def image(self, reference: str) -> Mapping[str, Any] | None:
        """What `inspect` shows of an image; None where the engine has none of that name."""
        try:
            with self._one_line(reference):
                return as_table(self._client.inspect_image(reference))
        except NotThere:
            return None

    def registry_digest(self, reference: str) -> str:
        """Of an image's tag, asked of its registry by the engine, with its network and the account's credentials."""
        with self._one_line(reference):
            found = as_table(self._client.inspect_distribution(reference))
        digest = (found.get("Descriptor") or {}).get("digest")
        if not digest:
            raise EngineError(f"{self.name} has no digest of {reference[:100]}")
        return str(digest)

    def pull(self, reference: str, platform: str | None = None, note: Note | None = None) -> None:
        with self._one_line(reference), self._patient():
            self._follow(self._client.pull(reference, stream=True, decode=True, platform=platform), reference, note)

    def push(self, reference: str, note: Note | None = None) -> None:
        with self._one_line(reference), self._patient():
            self._follow(self._client.push(reference, stream=True, decode=True), reference, note)

    def tag(self, reference: str, name: str) -> None:
        repository, _, tag = name.rpartition(":") if ":" in name.rpartition("/")[2] else (name, "", "latest")
        with self._one_line(reference):
            self._client.tag(reference, repository, tag)

    def load(self, archive: Path, note: Note | None = None) -> None:
        with self._one_line(), self._patient(), archive.open("rb") as held:
            self._follow(self._client.load_image(held, quiet=False), archive.name, note)

    def save(self, reference: str, archive: Path) -> None:
        """The image as an archive: an OCI layout with Docker 25 and newer, else Docker's own older form."""
        with writing(archive), self._one_line(reference), self._patient(), archive.open("wb") as out:
            for part in self._client.get_image(reference, chunk_size=_CHUNK):
                out.write(part)

    def execute(self, container: str, argv: Sequence[str]) -> Ran:
        """A command in a running container, as its own user."""
        with self._one_line(container):
            made = self._client.exec_create(container, list(argv))
            out, err = self._client.exec_start(made["Id"], demux=True)
            code = self._client.exec_inspect(made["Id"]).get("ExitCode")
        return Ran(code if isinstance(code, int) else -1, _text(out), _text(err))

    def run(
        self,
        image: str,
        argv: Sequence[str],
        *,
        deadline_s: float,
        entrypoint: str | None = None,
        user: str | None = None,
        network: str | None = None,
        environment: Mapping[str, str] | None = None,
        mounts: Sequence[str] = (),
        workdir: str | None = None,
        host: Mapping[str, Any] | None = None,
        platform: str | None = None,
        note: Note | None = None,
    ) -> Ran:
        """A command in a new container that is thrown away, with what it printed. An image that is not here is pulled.
        `mounts`: HOST:CONTAINER[:ro]; `host`: further arguments of the SDK's `create_host_config`."""
        from docker.types import LogConfig

        if self.image(image) is None:
            self.pull(image, platform, note)
        settings = {
            "binds": list(mounts),
            "network_mode": network,
            "ulimits": self._limits(),
            # A daemon may be set up with a driver of logs that can't be read back.
            "log_config": LogConfig(type="json-file") if self.name == "docker" else None,
            **(host or {}),
        }
        with self._one_line(image):
            made = self._client.create_container(
                image,
                list(argv),
                entrypoint=[entrypoint] if entrypoint else None,
                user=user,
                working_dir=workdir,
                environment=dict(environment or {}),
                host_config=self._client.create_host_config(**settings),
                platform=platform,
                # An account's proxy of its config.json holds a login, and these containers print what they are given.
                use_config_proxy=network != "none",
            )["Id"]
            code, out, err = self._watched(made, deadline_s, None)
        late = f"no end within {deadline_s:.0f} s" if code is None else ""
        return Ran(LATE if code is None else code, out, late or err)

    def tried(
        self, image: str, config: Mapping[str, Any], *, deadline_s: float, halt: Callable[[], bool] | None = None
    ) -> Ran | None:
        """A new container of the engine's own configuration that is thrown away; None where it did not end in time, or
        `halt` ended it."""
        with self._one_line():
            made = self._client.create_container_from_config({**config, "Image": image})["Id"]
            code, out, err = self._watched(made, deadline_s, halt)
        return None if code is None else Ran(code, out, err)

    def _watched(self, made: str, deadline_s: float, halt: Callable[[], bool] | None) -> tuple[int | None, str, str]:
        """Starts a container, and removes it when it ends or is late."""
        try:
            self._client.start(made)
            code = self._ended(made, deadline_s, halt)
            out, err = (self._client.logs(made, stdout=o, stderr=not o) for o in (True, False))
        finally:
            with suppress(DoctorError), self._one_line():
                self._client.remove_container(made, force=True, v=True)
        return code, _text(out), _text(err)

    @contextmanager
    def sleeping(self, image: str) -> Iterator[str]:
        """A container of an image in which nothing but `sleep` runs, without a network, as long as it is looked at."""
        host = self._client.create_host_config(network_mode="none", ulimits=self._limits())
        with self._one_line(image):
            made = self._client.create_container(image, ["3600"], entrypoint=["sleep"], host_config=host)["Id"]
        try:
            with self._one_line(image):
                self._client.start(made)
            yield str(made)
        finally:
            with suppress(DoctorError), self._one_line():
                self._client.remove_container(made, force=True, v=True)

    def _limits(self) -> list[Any]:
        from docker.types import Ulimit

        limits = own_limits() if self.name == "podman" else {}
        return [Ulimit(name=n, soft=most, hard=most) for n, most in limits.items()]

    def remove_image(self, reference: str) -> None:
        with self._one_line(reference):
            self._client.remove_image(reference, force=True)

    def root(self) -> str | None:
        """Where its images and containers are stored on this machine."""
        found = self.info().get("DockerRootDir")
        return found if isinstance(found, str) and Path(found).is_dir() else None

    def _ended(self, container: str, deadline_s: float, halt: Callable[[], bool] | None) -> int | None:
        """Its exit code; None where it still runs at the deadline, or when `halt` says so."""
        import requests
        import urllib3

        ends, misses = time.monotonic() + max(deadline_s, 1), 0
        while True:
            left = max(ends - time.monotonic(), 0.1)
            try:
                return int(self._client.wait(container, timeout=left if halt is None else min(left, 1))["StatusCode"])
            except (requests.Timeout, requests.ConnectionError, urllib3.exceptions.TimeoutError):
                if not self._client.inspect_container(container).get("State", {}).get("Running"):
                    misses += 1  # it has just ended, and the next question says how
                    if misses > _MISSES:
                        raise
                    continue
            if time.monotonic() >= ends or (halt and halt()):
                return None

    @contextmanager
    def _patient(self) -> Iterator[None]:
        """Work that moves gigabytes has a deadline for each answer that fits it."""
        usual, self._client.timeout = self._client.timeout, int(_LONG_S)
        try:
            yield
        finally:
            self._client.timeout = usual

    def _follow(self, rows: Iterable[Any], subject: str, note: Note | None) -> None:
        """Tells of layers as they move, at most each five seconds. Raises EngineError with the engine's own words."""
        sizes: dict[str, tuple[int, int]] = {}
        last, wrong = time.monotonic(), None
        for row in rows:  # to the end, so that the connection can be used again
            if not isinstance(row, dict):
                continue
            wrong = row.get("error") or (row.get("errorDetail") or {}).get("message") or wrong
            moved = row.get("progressDetail") or {}
            if row.get("id") and moved.get("total"):
                sizes[str(row["id"])] = (int(moved.get("current") or 0), int(moved["total"]))
            if note and sizes and time.monotonic() - last > 5:
                last = time.monotonic()
                done, whole = (sum(pair[n] for pair in sizes.values()) / 1e6 for n in (0, 1))
                note(f"{subject}: {done:.0f} of {whole:.0f} MB")
        if wrong:
            raise self._failed(str(wrong)[:300])


_ENOUGH = 4096
"""Files and processes of a container of ours."""


def own_limits() -> dict[str, int]:
    """podman raises limits to what it thinks is the most, which is refused where it runs in a container itself."""
    rows = (("nofile", resource.RLIMIT_NOFILE), ("nproc", resource.RLIMIT_NPROC))
    found = [(name, resource.getrlimit(kind)[0]) for name, kind in rows]
    return {name: min(n, _ENOUGH) if n > 0 else _ENOUGH for name, n in found}


def as_table(answer: Any) -> Mapping[str, Any]:
    """Whatever listens there may answer with anything."""
    return answer if isinstance(answer, dict) else {}


def _message(error: Any) -> str:
    text = error.explanation if isinstance(error.explanation, str) else str(error)
    return (text.strip().splitlines()[-1:] or ["no reason given"])[0][:300]


def _text(content: Any) -> str:
    return content.decode("utf-8", "replace") if isinstance(content, bytes) else ""


@contextmanager
def connected(name: Name, environ: Mapping[str, str] | None = None) -> Iterator[Api]:
    """The account's engine for as long as it is asked. podman has no daemon: where its socket does not listen, a
    service of its own is started, and ended with the last question."""
    given = os.environ if environ is None else environ
    with nullcontext(place(given)) if name == "docker" else podman_service(given) as where:
        api = Api(name, where)
        try:
            yield api
        finally:
            api.close()
