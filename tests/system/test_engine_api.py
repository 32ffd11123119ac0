from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from doctor.errors import InputError
from doctor.system.engine_api import Api, EngineError, NotThere, Ran, connected, login, place
from doctor.system.engine_sockets import Place, Unreachable
from tests.fake_engine import SLOW, answering, framed

# The SDK leaves its socket open where an engine does not answer in time.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


@pytest.fixture
def folder() -> Iterator[Path]:
    """With a short path: a socket's may have 108 characters."""
    with tempfile.TemporaryDirectory(dir="/tmp") as held:
        yield Path(held)


def api(folder: Path, timeout_s: float = 8.0) -> Api:
    return Api("docker", Place(f"unix://{folder}/engine.sock"), timeout_s)


def test_a_container_and_an_image_are_plain_data(folder: Path) -> None:
    answers = {"GET /containers/web/json": {"State": {"Pid": 7}}, "GET /images/debian:12/json": {"Id": "sha256:a"}}
    with answering(folder / "engine.sock", answers):
        engine = api(folder)
        assert engine.container("web") == {"State": {"Pid": 7}}
        assert engine.image("debian:12") == {"Id": "sha256:a"}
        assert engine.image("debian:13") is None
        with pytest.raises(NotThere, match=r"^db: No such thing"):
            engine.container("db")
        engine.close()


def test_a_command_in_a_new_container_that_is_thrown_away(folder: Path) -> None:
    answers = {
        "GET /images/debian:12/json": {"Id": "sha256:a"},
        "POST /containers/create": (201, {"Id": "c1"}),
        "POST /containers/c1/start": 204,
        "POST /containers/c1/wait": {"StatusCode": 3},
        "GET /containers/c1/json": {"Config": {"Tty": False}},
        "GET /containers/c1/logs?stderr=0&stdout=1": framed(1, "out\n"),
        "GET /containers/c1/logs?stderr=1&stdout=0": framed(2, "err\n"),
        "DELETE /containers/c1": 204,
    }
    with answering(folder / "engine.sock", answers) as server:
        engine = api(folder)
        ran = engine.run("debian:12", ("-c", "exit 3"), deadline_s=5, entrypoint="sh", user="0", mounts=("/a:/b:ro",))
        engine.close()
    assert ran == Ran(3, "out\n", "err\n")
    sent = json.loads(next(body for question, body in server.bodies.items() if "create" in question))
    assert (sent["Entrypoint"], sent["Cmd"], sent["User"]) == (["sh"], ["-c", "exit 3"], "0")
    assert sent["HostConfig"]["Binds"] == ["/a:/b:ro"]
    assert any(question.startswith("DELETE /containers/c1") for question in server.asked)


def test_a_container_that_does_not_end_is_stopped_and_said_to_be_late(folder: Path) -> None:
    answers = {
        "GET /images/x/json": {"Id": "sha256:a"},
        "POST /containers/create": (201, {"Id": "c1"}),
        "POST /containers/c1/start": 204,
        "POST /containers/c1/wait": SLOW,
        "GET /containers/c1/json": {"State": {"Running": True}, "Config": {"Tty": False}},
        "GET /containers/c1/logs": b"",
        "DELETE /containers/c1": 204,
    }
    with answering(folder / "engine.sock", answers) as server:
        engine = api(folder)
        assert engine.run("x", ("sleep", "60"), deadline_s=1) == Ran(124, "", "no end within 1 s")
        engine.close()
    assert any(question.startswith("DELETE /containers/c1") for question in server.asked)


def test_an_image_that_is_not_here_is_pulled_and_the_engines_refusal_is_its_own_words(folder: Path) -> None:
    said = b'{"status":"Pulling"}\n{"error":"toomanyrequests: rate limit"}\n'
    with answering(folder / "engine.sock", {"POST /images/create": said}):
        engine = api(folder)
        with pytest.raises(EngineError, match="docker: toomanyrequests: rate limit"):
            engine.run("x", ("true",), deadline_s=5)
        engine.close()


def test_a_full_disk_is_called_one(folder: Path) -> None:
    (folder / "image.tar").write_bytes(b"x")
    with answering(folder / "engine.sock", {"POST /images/load": b'{"error":"write /a: no space left on device"}\n'}):
        engine = api(folder)
        with pytest.raises(EngineError, match="the disk is full: `docker system df`"):
            engine.load(folder / "image.tar")
        engine.close()


def test_the_digest_that_a_registry_has_is_asked_through_the_engine(folder: Path) -> None:
    digest = "sha256:" + "d" * 64
    with answering(folder / "engine.sock", {"GET /distribution/debian:12/json": {"Descriptor": {"digest": digest}}}):
        engine = api(folder)
        assert engine.registry_digest("debian:12") == digest
        with pytest.raises(NotThere):
            engine.registry_digest("debian:13")
        engine.close()


def test_an_engine_that_is_not_there_is_closed_or_silent_is_one_line(folder: Path) -> None:
    with pytest.raises(Unreachable, match=r"No such file or directory; start it: sudo systemctl start docker$"):
        api(folder)
    with socket.socket(socket.AF_UNIX) as closed:
        closed.bind(str(folder / "engine.sock"))
        with pytest.raises(Unreachable, match="Connection refused; start it"):
            api(folder)
    (folder / "engine.sock").unlink()
    with answering(folder / "engine.sock", {"GET /version": SLOW}), pytest.raises((EngineError, Unreachable)) as told:
        api(folder, timeout_s=1)
    assert "\n" not in str(told.value)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may open every socket")
def test_a_socket_that_may_not_be_opened_names_the_group(folder: Path) -> None:
    with answering(folder / "engine.sock", {}):
        (folder / "engine.sock").chmod(0)
        with pytest.raises(Unreachable, match=r"usermod -aG docker \$USER"):
            api(folder)


@pytest.mark.parametrize(
    "answer", [b"", b"[]", b"{", b"null", b'"x"', (500, b"<html>\nboom"), (403, {"message": "no"})]
)
def test_nonsense_for_an_answer_is_data_or_one_line(folder: Path, answer: object) -> None:
    with answering(folder / "engine.sock", {"GET /containers/web/json": answer}):
        engine = api(folder)
        try:
            told: object = engine.container("web")
        except (EngineError, Unreachable) as error:
            told = str(error).count("\n")
        engine.close()
    assert told in ({}, 0)


def test_docker_host_wins_over_a_context(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert place({}) == Place("unix:///var/run/docker.sock")
    assert place({"DOCKER_HOST": "unix:///a", "DOCKER_CONTEXT": "b"}).address == "unix:///a"
    assert not place({"DOCKER_HOST": "tcp://10.0.0.7:2375"}).is_local
    with pytest.raises(InputError, match="docker has no context 'b'"):
        place({"DOCKER_CONTEXT": "b"})


def test_a_login_of_dockers_configuration(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("DOCKER_CONFIG", str(tmp_path))
    assert login("r.example.org") is None
    (tmp_path / "config.json").write_text('{"auths": {"r.example.org": {"auth": "bWU6d29yZA=="}}}')
    assert login("r.example.org") == ("me", "word")
    assert login(None) is None


def test_podman_without_a_socket_is_started_as_a_service_and_ended(
    monkeypatch: pytest.MonkeyPatch, folder: Path
) -> None:
    """The stand-in starts what listens, as `podman system service` does."""
    program = folder / "podman"
    listen = (
        "import sys, time, pathlib; from tests.fake_engine import answering\n"
        "with answering(pathlib.Path(sys.argv[1]), {}): time.sleep(60)"
    )
    repo = Path(__file__).resolve().parents[2]
    program.write_text(
        f'#!/bin/sh\nfor word; do :; done\nPYTHONPATH={repo} exec {sys.executable} -c "{listen}" "${{word#unix://}}"\n'
    )
    program.chmod(0o755)
    environ = {"PATH": f"{folder}:{os.environ['PATH']}", "XDG_RUNTIME_DIR": str(folder)}
    monkeypatch.setattr("doctor.system.engine_sockets.podman_socket", lambda _: folder / "none.sock")
    with connected("podman", environ) as engine:
        assert engine.version()["Version"] == "26.1.5"
        socket_path = Path(engine.where.address.removeprefix("unix://"))
    assert not socket_path.exists()
    program.write_text("#!/bin/sh\necho 'cannot set up storage' >&2; exit 125\n")
    with (
        pytest.raises(Unreachable, match="podman does not answer: cannot set up storage"),
        connected("podman", environ),
    ):
        pass


def test_a_check_without_a_container_does_not_import_the_sdk(tmp_path: Path) -> None:
    script = (
        "import sys; from doctor.cli.main import build; import typer.testing\n"
        "done = typer.testing.CliRunner().invoke(build(), ['check', '--root', sys.argv[1]])\n"
        "print(done.exit_code, *sorted({m.partition('.')[0] for m in sys.modules} & {'docker', 'requests', 'urllib3'}))"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.stdout.split()[1:] == [], done.stdout + done.stderr
    assert done.stdout.split()[0] in ("0", "1"), done.stderr
