"""Containers: docker, podman, nerdctl, apptainer, kubectl. None but apptainer's take the environment of the caller."""

from __future__ import annotations

import fnmatch
import re

from doctor.flags.way import words
from doctor.flags.way.frame import Remark
from doctor.flags.way.launchers import Call, Options, options, pass_on
from doctor.flags.way.model import Sees, Step
from doctor.parsers.text.shell_lexer import HOLE

_TAKES_TEXT = """
-a -c -e -h -l -m -p -u -v -w --add-host --annotation --attach --blkio-weight --cap-add --cap-drop --cgroup-parent
--cgroupns --cidfile --cpu-period --cpu-quota --cpu-shares --cpus --cpuset-cpus --cpuset-mems --device
--device-cgroup-rule --dns --dns-option --dns-search --domainname --entrypoint --env --env-file --expose --gpus
--group-add --health-cmd --hostname --init-path --ip --ipc --isolation --label --label-file --link --log-driver
--log-opt --mac-address --memory --memory-reservation --memory-swap --mount --name --network --net --oom-score-adj
--pid --pids-limit --platform --publish --pull --restart --runtime --security-opt --shm-size --stop-signal
--stop-timeout --storage-opt --sysctl --tmpfs --ulimit --user --userns --uts --volume --volume-driver --volumes-from
--workdir --network-alias --hooks-dir --secret --arch --os --pod --unsetenv --env-merge
"""
_TAKES = tuple(_TAKES_TEXT.split())
_ENGINE_TAKES = "--context -c -H --host -l --log-level --config --root --storage-driver -n --namespace --runtime"
_EXEC_TAKES = ("-e", "--env", "--env-file", "-u", "--user", "-w", "--workdir", "--detach-keys")
_LINE = re.compile(r"\s{0,20}(?:export\s+)?([A-Za-z_][A-Za-z0-9_.]{0,127})(=.*)?")


def _engine(call: Call) -> None:
    argv = [w for w in call.argv if w != "container"]
    program = argv[0].rpartition("/")[2]
    whole = options(argv, _ENGINE_TAKES.split(), clustered=False)
    if not whole.rest:
        return
    verb, rest = whole.rest[0], whole.rest
    if verb in ("run", "create"):
        _started(call, program, options(rest, _TAKES), fresh=True)
    elif verb == "exec":
        _started(call, program, options(rest, _EXEC_TAKES), fresh=False)
    elif verb == "compose":
        _compose(call, rest[1:])


def _started(call: Call, program: str, found: Options, *, fresh: bool) -> None:
    if not found.rest:
        return
    image, command = found.rest[0], found.rest[1:]
    step = call.step(
        f"{program} {'run' if fresh else 'exec'} passes no variable but those of -e and --env-file", "container"
    )
    sees = call.sees.cleared(step, outer="image")
    if not fresh:
        sees = call.run.containers[image].copy() if image in call.run.containers else _own(call, sees)
    if found.has("--env-host"):
        sees = call.sees.copy()
    for value in found.of("--env-file"):
        _env_file(call, sees, value)
    for value in found.of("-e", "--env"):
        step = call.step(f"{program} -e {value[:60].replace(HOLE, '…')}")
        if program == "podman" and value.endswith("*"):
            for name in (n for n in call.sees.held if fnmatch.fnmatchcase(n, value)):
                sees.add(name, call.sees.of(name), step)
        elif value.startswith(HOLE):
            sees.may_have(step)
        else:
            pass_on(sees, call.sees, value, step)
    if found.has(words.MANY):
        sees.may_change(call.step("options of the container are computed"))
    if HOLE in image and not image.strip(HOLE) and not command:
        sees = sees.unknown(call.step("options of the container are computed"))
    entry = found.of("--entrypoint")
    command = [entry[-1], *command] if entry and entry[-1] else command
    call.run.containers |= {name: sees for name in found.of("--name") if fresh and name != HOLE}
    where = f"container {'of ' if fresh else ''}{words_of(image)}"
    if command and not command[0].startswith("-"):
        call._replace(sees=sees).go_on(command, sees, where, outside=True)
    else:  # the program of the image, and its arguments
        call.run.record([f"({words_of(image)})", *command], sees, call.frame, call.line, where)


def _own(call: Call, sees: Sees) -> Sees:
    """What a running container was started with is not in the file."""
    sees.may_change(call.step("it may have been set when the container started"))
    return sees


def words_of(text: str) -> str:
    return text.replace(HOLE, "…").replace(words.HERE, ".")[:60]


def _env_file(call: Call, sees: Sees, value: str) -> None:
    """Docker's: a line is taken as it is, quotes too; a name alone is what the caller has."""
    found = call.run.file(value, call.frame, call.sees.of)
    if found is None:
        sees.may_change(call.step(f"--env-file {words_of(value)}: file not found or not read"))
        return
    file, text = found
    for number, name, given in env_file_lines(text):
        step = Step(file, number, f"{name} of --env-file")
        if given and re.fullmatch(r"([\"']).+\1", given):
            said = f"{name}={given[:60]}: --env-file keeps the quotes as part of the value"
            call.run.remark(Remark("env-file-quotes", name, file, number, said, f"Write {name}={given[1:-1][:60]}."))
        if given is None:
            sees.add(name, call.sees.of(name), step)
        else:
            sees.put(name, given, step)


def env_file_lines(text: str) -> list[tuple[int, str, str | None]]:
    found = []
    for number, line in enumerate(text.split("\n")[:4000], 1):
        made = _LINE.fullmatch(line.rstrip("\r")) if not line.lstrip().startswith("#") else None
        if made and not line.lstrip().startswith("export "):
            found.append((number, made[1], made[2][1:] if made[2] else None))
    return found


def _compose(call: Call, rest: list[str]) -> None:
    found = options(
        ["compose", *rest], ("-f", "--file", "-p", "--project-name", "--profile", "--env-file", "--project-directory")
    )
    if found.rest[:1] not in (["run"], ["exec"]):
        return
    inner = options(found.rest, (*_EXEC_TAKES, "--name", "-v", "--volume", "-p", "--publish", "--entrypoint"))
    if not inner.rest:
        return
    step = call.step("docker compose passes only variables from its file and from -e", "container")
    sees = _own(call, call.sees.cleared(step))
    for value in inner.of("-e", "--env"):
        pass_on(sees, call.sees, value, call.step(f"docker compose -e {value[:60]}"))
    if inner.rest[1:]:
        call.go_on(inner.rest[1:], sees, f"service {inner.rest[0]}", outside=True)


def _kubectl(call: Call) -> None:
    if "exec" not in call.argv[:6]:
        return
    at = call.argv.index("--") if "--" in call.argv else -1
    if at < 0 or at + 1 >= len(call.argv):
        return
    step = call.step("kubectl exec passes no variables", "container")
    call.go_on(call.argv[at + 1 :], _own(call, call.sees.cleared(step)), "pod", outside=True)


_APPTAINER_TEXT = """
-B --bind -H --home -W --workdir -o --overlay -S --scratch -s --shell --env --env-file --pwd --cwd --hostname
--network --network-args --security --add-caps --drop-caps --app --mount --device
"""
_APPTAINER = tuple(_APPTAINER_TEXT.split())


def _apptainer(call: Call) -> None:
    whole = options(call.argv, ("-c", "--config"))
    if whole.rest[:1] not in (["exec"], ["run"]):
        return
    found = options(whole.rest, _APPTAINER)
    if not found.rest:
        return
    sees = call.sees.copy()
    if found.has("-e", "--cleanenv", "-C", "--containall"):
        sees = sees.cleared(call.step("apptainer --cleanenv passes no variables", "container"))
    for name in list(call.sees.held):
        for prefix in ("APPTAINERENV_", "SINGULARITYENV_"):
            if name.startswith(prefix):
                sees.add(name.removeprefix(prefix), call.sees.of(name), call.step(f"{name} sets it in the container"))
    for value in found.of("--env"):
        for part in value.split(","):
            pass_on(sees, call.sees, part, call.step(f"apptainer --env {part[:60]}"))
    if found.has("--env-file"):
        sees = sees.unknown(call.step("apptainer --env-file was not read"))
    step = call.step("the image of apptainer may set it")
    sees.may_be(step, "PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
    sees.may_have(step)
    if found.rest[1:]:
        call.go_on(found.rest[1:], sees, f"container of {words_of(found.rest[0])}", outside=True)


TABLE = {
    **dict.fromkeys(("docker", "podman", "nerdctl", "nvidia-docker"), _engine),
    **dict.fromkeys(("kubectl", "oc"), _kubectl),
    **dict.fromkeys(("apptainer", "singularity"), _apptainer),
}
