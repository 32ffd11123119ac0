"""Values from outside come through each format as they are, or are refused: read back by the consumer's own rules."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from doctor.errors import InputError
from doctor.launch import formats, names
from doctor.launch.asked import Request
from doctor.launch.choose import choose
from doctor.launch.formats import emit
from doctor.launch.plan import plan
from doctor.launch.spec import Spec
from tests.each import each
from tests.launch.cases import DOCKER
from tests.launch.machines import mi300x

HOSTILE = (
    "a'b",
    'a"b',
    "$(touch /owned)",
    "`touch /owned`",
    "; touch /owned;",
    "a\nb\n# c",
    "\n#SBATCH --nodes=9",
    "a && b || c | d > e < f",
    "$HOME ${HOME} $$ $$$ $5 $",
    "$(HOME) $$(HOME) $$$(HOME)",
    "a, b=c",
    "*? [a-z] ~ !! {a,b}",
    "- a: b\n  c: &x *x !!python/object:os.system",
    "yes",
    "0x10",
    "1e3",
    "null",
    "",
    " lead and trail ",
    "--privileged",
    "é ß 漢 🦙 \u00a0",
    "\\ \\n \\u0041 %s %n",
    "{{.Env}} <a> &amp;",
)
REFUSED_BY_SHELLS = ("a\x1b[31mb", "a\rb", "a\x7fb", "a\u202eb", "a\x85b")
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
PRINTABLE = st.text(st.characters(exclude_categories=["Cs", "Cc", "Cf"]) | st.sampled_from("\t\n"), max_size=40)
SHELL_PROGRAM = {"docker": "docker", "podman": "podman", "apptainer": "apptainer", "enroot": "enroot", "slurm": "srun"}


def spec(*values: str) -> Spec:
    """Each value as a variable and as a word of the command."""
    machine = mi300x()
    env = tuple(f"V{number}={value}" for number, value in enumerate(values))
    request = Request("rocm/pytorch:latest", ("printf", *values), env=env)
    return plan(machine, DOCKER, choose(machine, "0"), request)


def wanted(*values: str) -> dict[str, str]:
    return {f"V{number}": value for number, value in enumerate(values)}


def of_interest(env: dict[str, str], prefix: str = "") -> dict[str, str]:
    return {k.removeprefix(prefix): v for k, v in env.items() if re.fullmatch(rf"{prefix}V\d+", k)}


def by_compose(value: str) -> str:
    """Interpolation of the compose specification: `$$` is `$`; anything else behind a `$` would be replaced."""
    assert re.fullmatch(r"(?:[^$]|\$\$)*", value, re.DOTALL), f"compose would expand {value!r}"
    return value.replace("$$", "$")


def by_kubernetes(value: str) -> str:
    """Expansion of `$(NAME)` (k8s.io/kubernetes, third_party/forked/golang/expansion): `$$` is `$`."""

    def read(match: re.Match[str]) -> str:
        assert match[0] == "$$" or match[0] == "$", f"Kubernetes would expand {match[0]!r}"
        return "$"

    return re.sub(r"\$\$|\$\([^)]*\)|\$", read, value, flags=re.DOTALL)


@given(st.lists(TEXT, max_size=5))
def test_compose_reads_them_back(values: list[str]) -> None:
    (service,) = yaml.safe_load(emit("compose", spec(*values)).text)["services"].values()
    assert {k: by_compose(v) for k, v in service.get("environment", {}).items()} == wanted(*values)
    assert [by_compose(word) for word in service["command"]] == ["printf", *values]


@given(st.lists(TEXT, max_size=5))
def test_kubernetes_reads_them_back(values: list[str]) -> None:
    (container,) = yaml.safe_load(emit("kubernetes", spec(*values)).text)["spec"]["containers"]
    assert {row["name"]: by_kubernetes(row["value"]) for row in container.get("env", ())} == wanted(*values)
    assert [by_kubernetes(word) for word in container["args"]] == ["printf", *values]


@given(st.lists(TEXT.filter(lambda text: "${" not in text), max_size=5))
def test_devcontainer_reads_them_back(values: list[str]) -> None:
    assert json.loads(emit("devcontainer", spec(*values)).text).get("containerEnv", {}) == wanted(*values)


@pytest.mark.parametrize("value", ["${localEnv:HOME}", "a${containerEnv:PATH}", "${"])
def test_devcontainer_refuses_what_its_tools_would_replace(value: str) -> None:
    with pytest.raises(InputError, match="which its tools replace"):
        emit("devcontainer", spec(value))


@pytest.mark.parametrize("name", ["compose", "kubernetes", "kubernetes-job"])
def test_known_traps_in_yaml(name: str) -> None:
    text = emit(name, spec(*HOSTILE, *REFUSED_BY_SHELLS)).text
    assert text.isascii()
    assert "python/object" not in [line.strip() for line in text.splitlines()]
    read = by_compose if name == "compose" else by_kubernetes
    words = re.search(r"\[.*\]", json.dumps(_command(yaml.safe_load(text))))
    assert [read(word) for word in json.loads(words[0] if words else "")][1:] == [*HOSTILE, *REFUSED_BY_SHELLS]


def _command(table: dict[str, object]) -> object:
    """The list of words, wherever it stands."""
    found = [v for k, v in table.items() if k in ("command", "args")]
    inner = [row for v in table.values() for row in (v if isinstance(v, list) else [v]) if isinstance(row, dict)]
    return found[0] if found else next(filter(None, map(_command, inner)), None)


@pytest.fixture
def programs(tmp_path: Path) -> Path:
    """Programs of the engines' names that write down how they were called, and nothing else on the PATH but env."""
    for name in set(SHELL_PROGRAM.values()):
        path = tmp_path / name
        path.write_text(
            f'#!/bin/bash\nprintf "%s\\0" "$@" > "{tmp_path}/argv"\n/usr/bin/env -0 > "{tmp_path}/environ"\n'
        )
        path.chmod(0o755)
    (tmp_path / "env").symlink_to("/usr/bin/env")
    return tmp_path


def called(programs: Path, text: str) -> tuple[list[str], dict[str, str]]:
    """What bash makes of it: the program's words and its environment."""
    done = subprocess.run(
        ["/bin/bash", "-c", text], env={"PATH": str(programs)}, capture_output=True, timeout=20, check=False
    )
    assert (done.returncode, done.stderr, done.stdout) == (0, b"", b"")
    argv = os.fsdecode((programs / "argv").read_bytes()).split("\0")[:-1]
    rows = os.fsdecode((programs / "environ").read_bytes()).split("\0")[:-1]
    return argv, dict(row.partition("=")[::2] for row in rows)


def variables(name: str, argv: list[str], environ: dict[str, str]) -> dict[str, str]:
    if name == "apptainer":
        return of_interest(environ, "APPTAINERENV_")
    if name == "slurm":
        return of_interest(environ)
    pairs = [argv[n + 1] for n, word in enumerate(argv[:-1]) if word == "--env" and n < argv.index("printf")]
    return of_interest(dict(pair.partition("=")[::2] for pair in pairs))


@pytest.mark.parametrize("name", SHELL_PROGRAM)
def test_known_traps_in_a_shell(name: str, programs: Path) -> None:
    argv, environ = called(programs, emit(name, spec(*HOSTILE)).text)
    assert argv[argv.index("printf") + 1 :] == list(HOSTILE)
    assert variables(name, argv, environ) == wanted(*HOSTILE)


@pytest.mark.parametrize("name", SHELL_PROGRAM)
def test_any_text_in_a_shell(name: str, tmp_path_factory: pytest.TempPathFactory, programs: Path) -> None:
    @settings(max_examples=12, deadline=None)
    @given(st.lists(PRINTABLE, min_size=1, max_size=12))
    def holds(values: list[str]) -> None:
        argv, environ = called(programs, emit(name, spec(*values)).text)
        assert argv[argv.index("printf") + 1 :] == values
        assert variables(name, argv, environ) == wanted(*values)

    holds()


@each("name", SHELL_PROGRAM)
@each("value", REFUSED_BY_SHELLS)
def test_control_characters_have_no_place_in_a_shell_line(name: str, value: str) -> None:
    with pytest.raises(InputError, match="a control character"):
        emit(name, spec(value))


@each("name", formats.names())
def test_bytes_that_are_no_text_are_refused(name: str) -> None:
    with pytest.raises(InputError, match="no UTF-8"):
        emit(name, spec("\udcff"))


def test_no_line_of_a_batch_script_but_its_own_is_for_slurm() -> None:
    """A newline in a value can't start an #SBATCH line: those stand before the first command."""
    rows = emit("slurm", spec(*HOSTILE)).text.splitlines()
    first = rows.index("set -euo pipefail")
    assert all(row.startswith("#") for row in rows[:first])
    assert [row for row in rows[:first] if "nodes" in row] == ["#SBATCH --nodes=1"]


@each("name", formats.names())
@each("word", ["-rm", "--privileged", "--"])
def test_a_command_that_looks_like_an_option_stays_the_command(name: str, word: str, programs: Path) -> None:
    machine = mi300x()
    text = emit(name, plan(machine, DOCKER, choose(machine, "0"), Request("a", (word, "printf")))).text
    if name in SHELL_PROGRAM:
        argv, _ = called(programs, text)
        before = {"slurm": "sh", "apptainer": "docker://a"}
        assert argv[-3:] == [before.get(name, "a"), word, "printf"]


@each(
    "image",
    [
        "",
        "-v",
        "--privileged",
        "a b",
        "a;b",
        "$(b)",
        "a\nb",
        "A",
        "a:b:c",
        "a@sha256:12",
        "é",
        "a'",
        "../a",
        "a" * 600,
    ],
)
def test_images_of_no_registry_s_grammar(image: str) -> None:
    with pytest.raises(InputError, match="not an image reference"):
        names.image(image)


@pytest.mark.parametrize("image", ["a", "a/b:c", "localhost:5000/a_b", "r.io/x/y@sha256:" + "0" * 64, "[::1]:5000/a:b"])
def test_images_that_registries_have(image: str) -> None:
    assert names.image(image) == image


@each("pair", ["", "=", "A B=c", "A-B=c", "1A=b", "A\n=b", "$(A)=b", "A", "A=\0", "Ä=b"])
def test_variables_that_are_none(pair: str) -> None:
    with pytest.raises(InputError, match="NAME=VALUE"):
        names.env(pair)


@each(
    "mount",
    [
        "a:/b",
        "/a",
        "/a:b",
        "/a:/b:rw,exec",
        "./a:/b",
        "-a:/b",
        "/a:/b:ro:ro",
        "/a\n:/b",
        "/a,b:/c",
        "/a:/b;c",
        "/$A:/b",
        '/a"b:/c',
        "/${A}:/b",
        "/`a`:/b",
        "/a\u2028:/b",
        "/a/../../etc:/b",
    ],
)
def test_mounts_that_are_none(mount: str) -> None:
    with pytest.raises(InputError, match="not HOST:CONTAINER"):
        names.mount(mount)


@pytest.mark.parametrize("user", ["root", "1000:video", "-1", "1;2", "1:2:3", "0x1", "١٢"])
def test_users_go_by_number(user: str) -> None:
    with pytest.raises(InputError, match="UID"):
        names.user(user)


def test_a_nul_in_the_command() -> None:
    request = Request("a", ("b\0c",))
    with pytest.raises(InputError, match="a NUL"):
        plan(mi300x(), DOCKER, choose(mi300x(), "0"), request)


@given(st.text(max_size=80))
def test_any_text_gives_a_name_that_kubernetes_takes(text: str) -> None:
    assert re.fullmatch(r"[a-z]([a-z0-9-]{0,61}[a-z0-9])?", names.label(text))


@each(
    "image, origin",
    [
        ("/data/torch.sif", "sif"),
        ("torch.sif", "sif"),
        ("library://team/torch:1", "library"),
        ("oras://ghcr.io/team/torch:1", "oras"),
        ("/data/torch.sqsh", "sqsh"),
        ("docker-archive:/data/torch.tar", "docker-archive"),
        ("rocm/pytorch:latest", "registry"),
        ("team/torch.sift", "registry"),
    ],
)
def test_where_an_image_comes_from(image: str, origin: str) -> None:
    assert (names.image(image), names.origin(image)) == (image, origin)


@each(
    "image", ["-a.sif", "a b.sif", "$(a).sqsh", "library://", "docker-archive:-x", "docker-archive:a;b", "oras://a\nb"]
)
def test_images_that_are_no_file_or_library(image: str) -> None:
    with pytest.raises(InputError, match="not an image reference"):
        names.image(image)


@each(
    "name, image, there",
    [
        ("apptainer", "/data/torch.sif", " /data/torch.sif printf"),
        ("apptainer", "oras://ghcr.io/team/torch:1", " oras://ghcr.io/team/torch:1 printf"),
        ("slurm", "torch.sqsh", "--container-image=./torch.sqsh"),
        ("enroot", "/data/torch.sqsh", "--name torch-sqsh /data/torch.sqsh"),
        ("podman", "docker-archive:/data/torch.tar", "docker-archive:/data/torch.tar"),
    ],
)
def test_an_image_that_is_no_registry_s(name: str, image: str, there: str) -> None:
    machine = mi300x()
    text = emit(name, plan(machine, DOCKER, choose(machine, "0"), Request(image, ("printf",)))).text
    assert there in text
    assert "docker://" not in text


@each("name", ["docker", "compose", "kubernetes", "devcontainer", "slurm"])
def test_an_image_that_a_format_can_not_read_is_refused(name: str) -> None:
    machine = mi300x()
    with pytest.raises(InputError, match="apptainer can"):
        emit(name, plan(machine, DOCKER, choose(machine, "0"), Request("/data/torch.sif", ("printf",))))
