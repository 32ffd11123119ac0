"""A `docker run …` (podman, nerdctl, apptainer) line -> its arguments, image and the environment that it sets.

>>> sheet = read("docker run --rm --device /dev/kfd -e HIP_VISIBLE_DEVICES=0 rocm/pytorch:latest bash")
>>> sheet.get("container.image"), sheet.get("environment[HIP_VISIBLE_DEVICES]")
('rocm/pytorch:latest', '0')
"""

from __future__ import annotations

import itertools
import re
import shlex

from doctor.errors import ParserError
from doctor.facts.sheet import FactSheet
from doctor.parsers.lib.source_lines import kept, source_lines

PASTED = (
    {
        "trust": 590,
        "words": (
            "docker run",
            "podman run",
            "docker container run",
            "nerdctl run",
            "docker create",
            "apptainer",
            "singularity",
            " exec ",
            "--container-image",
            "--container-name",
        ),
    },
)

_RUN = re.compile(
    r"\b(?:(docker|podman|nerdctl)(?:\.exe)? (?:container )?(?:run|create)|"
    r"(apptainer|singularity) (?:exec|run|shell)|(srun))(?= |$)"
)
_PROMPT = re.compile(r"\s{0,4}(?:Apptainer|Singularity)(?: [\w.-]{1,40}:\S{1,60})?> ?(?:\S|$)")
"""The prompt of a shell inside."""
_EXEC = re.compile(
    r"\s{0,8}(?:[$#>❯➜] ?|\S{1,80}[$#] )?(?:sudo )?"
    r"(?:(docker|podman|nerdctl|kubectl|oc|lxc|incus)(?: compose)? exec|pct enter) "
)
"""What is at a prompt or alone on its line: the output after it is from inside the container."""
_ENGINES = {
    "docker": "docker",
    "podman": "podman",
    "kubectl": "kubernetes",
    "oc": "kubernetes",
    "lxc": "lxc",
    "incus": "lxc",
}
_LACKING = re.compile(r"\(?(?:without|no|missing|lacks)$", re.IGNORECASE)
"""What a person adds to a line to say which option is not there; the words after it are no options."""
_TAKEN_OUT = re.compile(r"\(?(?:removed|dropped|taken out|commented)[,.;)]{0,2}$", re.IGNORECASE)
_SAID_TO_WORK = re.compile(
    r"\s(?:(?:it )?(?:works?|worked|runs? fine|succeeds|is fine)|on the GPU"
    r"|(?:sees?|finds?|shows?|lists?|uses?|detects?) (?:the |all |both |my |a )?GPUs?)[.!]?\s{0,4}$",
    re.IGNORECASE,
)
_AT_PROMPT = re.compile(r"\s{0,8}(?:[$#>❯➜] ?|\S{1,80}[$#] )(?:sudo )?$")
"""What a person says of a command that works is no option of the container that fails."""
_IMAGE = re.compile(
    r"[a-z0-9][\w.-]{0,80}(?::\d{2,5})?(?:/[\w.-]{1,120}){0,5}(?::[\w.-]{1,120})?(?:@sha256:\w{8,64})?$"
)
_NAMED = re.compile(r"[/:]|\.(?:sif|simg)$")
"""What no program's name has and an image's has."""
_FLAGS = frozenset(
    (
        *("--rm", "--detach", "--interactive", "--tty", "--privileged", "--init", "--read-only", "--publish-all"),
        *("--no-healthcheck", "--oom-kill-disable", "--sig-proxy", "--disable-content-trust", "--quiet", "--replace"),
        *("--nv", "--rocm", "--nvccli", "--cleanenv", "--contain", "--containall", "--fakeroot", "--writable-tmpfs"),
    )
)
_SHORT_FLAGS = re.compile(r"-[ditPq]{1,5}$")
_HELP = re.compile(r"--help\b")
"""What the engine's own errors end with: `See 'docker run --help'.` tells how to read its manual and starts nothing."""
_LEFT_OUT = ("...", "…", "[...]", "[…]")
"""Stands for options that the writer leaves out."""
_ARGS_LIMIT = 200


def read(text: str, source: str = "text") -> FactSheet:
    """The first such line, with those it goes on in after a backslash. Raises ParserError without one."""
    lines = list(source_lines(text, source))
    inside = FactSheet()
    for position, (where, line) in enumerate(lines):
        if " exec " in line and (into := _EXEC.match(line)) and not len(inside):
            inside.put("container.inside", True, where)
            if engine := _ENGINES.get(into[1] or "lxc"):
                inside.put("container.engine", engine, where)
        found = _RUN.search(line)
        if not found:
            continue
        inner = _RUN.search(line, found.end())
        if inner and inner[2] and inner.start() <= found.end() + 1:
            found = inner
        quoted = line[: found.start()].count("`") == 1 and "`" in line[found.end() :]
        here = line[found.end() :].partition("`")[0] if quoted else line[found.end() :]
        if not quoted and _SAID_TO_WORK.search(line) and not _AT_PROMPT.match(line[: found.start()]):
            continue
        words = _words(here if quoted else _joined([here, *(rest for _, rest in lines[position + 1 : position + 100])]))
        if words and _HELP.match(words[0]):
            continue
        if found[3] and not any(word.startswith(("--container-image", "--container-name")) for word in words):
            continue
        if found[1] and line[: found.start()].endswith("nvidia-"):  # the wrapper passes the GPUs by itself
            words = ["--runtime=nvidia", *words]
        sheet = _shell(lines[position:])
        sheet.put("container.run_args", words, where)
        if found[3]:
            sheet.put("container.engine", "enroot", where)
            sheet.put("container.inside", True, where)
            return sheet
        _options(sheet, words, where)
        if found[1] in ("docker", "podman"):
            sheet.put("container.engine", found[1], where)
        elif found[2]:
            sheet.put("container.engine", "apptainer", where)
        return sheet
    inside = inside if len(inside) else _shell(lines)
    if len(inside):
        return inside
    raise ParserError("no `docker run` line in the text")


def _shell(lines: list[tuple[str, str]]) -> FactSheet:
    """Whether a prompt shows that what follows is from inside."""
    sheet = FactSheet()
    where = next((where for where, line in lines if "> " in line[:110] and _PROMPT.match(line)), "")
    if where:
        sheet.put("container.inside", True, where)
        sheet.put("container.engine", "apptainer", where)
    return sheet


def _joined(lines: list[str]) -> str:
    parts = []
    for line in lines:
        parts.append(line.rstrip().rstrip("\\`"))
        if not line.rstrip().endswith(("\\", " `")):
            break
    return " ".join(parts)[:16_000]


def _words(text: str) -> list[str]:
    try:
        words = shlex.split(text)
    except ValueError:
        words = text.split()
    words = _from_keys(words)
    lacking = next((n for n, word in enumerate(words) if _LACKING.match(word)), None)
    taken = next((n for n, word in enumerate(words[:lacking]) if n and _TAKEN_OUT.match(word)), None)
    if taken is not None:  # the option before the word is no longer there
        lacking = taken - 1
    return [kept(word, 400) for word in words[:lacking][:_ARGS_LIMIT]]


_KEYS = {
    **{name: f"--{name}" for name in ("runtime", "gpus", "ipc", "privileged", "device", "network")},
    **{"shm_size": "--shm-size", "group_add": "--group-add", "cap_add": "--cap-add", "devices": "--device"},
    **{"security_opt": "--security-opt", "network_mode": "--network"},
}


_BARE = {
    "runtime": ("--runtime", re.compile(r"nvidia|amd|rocm|crun|runc")),
    "gpus": ("--gpus", re.compile(r"all|\d{1,2}|device=\S{1,80}")),
    "ipc": ("--ipc", re.compile(r"host")),
    **dict.fromkeys(("shm-size", "shm_size"), ("--shm-size", re.compile(r"\d{1,6}(?:[kmgKMG]i?[bB]?|[bB])?"))),
}
"""Names of options that a person writes without their dashes, where the word after one is a value that it takes."""


def _from_keys(words: list[str]) -> list[str]:
    """A compose file's keys that a person wrote into the line (`runtime: nvidia`, or `runtime nvidia`), as the options
    they stand for."""
    found = []
    for word, following in itertools.zip_longest(words, words[1:], fillvalue=""):
        bare = _BARE.get(word.strip("(,"))
        fits = bare is not None and bare[1].fullmatch(following.strip("(),.;")) is not None
        option = bare[0] if fits and bare else None
        if word.endswith(":"):
            option = _KEYS.get(word.strip("()-,").removesuffix(":"))
        found.append(f"{option}={following.strip('(),;' if fits else '(),')}" if option and following else word)
    return [w for n, w in enumerate(found) if not (n and found[n - 1] != words[n - 1])]


def _options(sheet: FactSheet, words: list[str], where: str) -> None:
    position = 0
    while position < len(words):
        word = words[position]
        if word in _LEFT_OUT:
            position += 1
            continue
        if not word.startswith("-"):
            if _IMAGE.match(word) and (_NAMED.search(word) or position == len(words) - 1):
                sheet.put("container.image", word, where)
            return
        name, sign, value = word.partition("=")
        if not sign and name not in _FLAGS and not _SHORT_FLAGS.match(name):
            position += 1
            value = words[position] if position < len(words) else ""
        if name in ("-e", "--env") and (found := re.match(r"([A-Za-z_][A-Za-z0-9_]{0,80})=(.*)", value)):
            sheet.put(f"environment[{found[1]}]", found[2], where)
        position += 1
