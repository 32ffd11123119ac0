"""`doctor run --prove`: starts the container as it would be started, with a script that tries each layer of the GPU's
stack in place of the command: its nodes, the driver's list of GPUs, and one kernel by torch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, get_args
from uuid import uuid4

from doctor.errors import DoctorError, InputError
from doctor.facts.origin import State as Fact
from doctor.launch.by_api import environment, host_config
from doctor.launch.engine import Engine
from doctor.launch.formats.docker import flags
from doctor.launch.spec import Part, Spec
from doctor.parsers.lib.printable import clean
from doctor.system.base import System
from doctor.system.engine_api import LATE, Api, Note, Ran, place

Layer = Literal["node", "driver", "kernel"]
State = Literal["ok", "failed", "not tried"]
PROVEN, FAILED, UNTRIED, NOT_STARTED = 0, 1, 4, 125
_DEADLINE_S = 900.0
"""An image may have to be pulled, and the first kernel of a new GPU may be compiled."""
_START_S = 120.0
"""For each answer of the engine: hooks that hand out GPUs, and a slow disk, come before the start."""
_MARK = "doctor-prove"
_REPLACED = ("entrypoint", "detach", "name", "publish")
"""What belongs to the command, or would collide with the same container running already."""
_STAYS = re.compile(r"--(?:restart|detach)(?:=|$)|-[itqP]*d[itqP]*$")
"""Options that make a container live longer than its proof."""
_KERNEL = """
import sys
wanted = int(sys.argv[1])
import torch
seen = torch.cuda.device_count()
if seen < wanted:
    sys.exit(f"torch {torch.__version__} sees {seen} of {wanted} GPUs")
for number in range(seen):
    ones = torch.ones(256, 256, device=f"cuda:{number}")
    total = (ones @ ones).sum().item()
    if total != 256**3:
        sys.exit(f"GPU {number} computed {total} and not {256**3}")
print(f"torch {torch.__version__} multiplied matrices on {seen} GPU(s)")
"""
SCRIPT = r"""
say() { printf 'doctor-prove\t%s\t%s\t%s\n' "$1" "$2" "$(printf '%s' "$3" | tr '\t\n\r' '   ' | cut -c1-300)"; }
last() { printf '%s\n' "$1" | sed '/^[[:space:]]*$/d' | tail -n 1; }
vendor=$1 wanted=$2 kernel=$3
shift 3
for node in "$@"; do
  if [ ! -e "$node" ]; then say node failed "$node is not in the container"
  elif error=$( (exec 3<>"$node") 2>&1 ); then say node ok "$node opens"
  else say node failed "$node does not open: ${error##*: }"
  fi
done
PATH=$PATH:/opt/rocm/bin:/usr/lib/wsl/lib
counted() {
  if [ "$2" -ge "$wanted" ]; then say driver ok "$1 lists $2 of $wanted GPUs"
  else say driver failed "$1 lists $2 of $wanted GPUs"
  fi
}
if [ "$vendor" = nvidia ]; then
  if ! command -v nvidia-smi >/dev/null; then say driver 'not tried' 'the container has no nvidia-smi'
  elif listed=$(nvidia-smi -L 2>&1); then
    seen=$(printf '%s\n' "$listed" | grep -c '^ *MIG ')
    [ "$seen" -gt 0 ] || seen=$(printf '%s\n' "$listed" | grep -c '^GPU ')
    counted nvidia-smi "$seen"
  else say driver failed "nvidia-smi: $(last "$listed")"
  fi
elif command -v rocminfo >/dev/null; then
  if listed=$(rocminfo 2>&1); then
    counted rocminfo "$(printf '%s\n' "$listed" | grep -c 'Device Type: *GPU')"
  else say driver failed "rocminfo: $(last "$listed")"
  fi
elif [ -d /sys/class/kfd/kfd/topology/nodes ]; then
  seen=0
  for file in /sys/class/kfd/kfd/topology/nodes/*/gpu_id; do
    id=$(cat "$file" 2>/dev/null) && [ "${id:-0}" != 0 ] && seen=$((seen + 1))
  done
  counted KFD "$seen"
else say driver 'not tried' 'the container has neither rocminfo nor /sys/class/kfd'
fi
for python in python3 python none; do command -v "$python" >/dev/null && break; done
if [ "$python" = none ]; then say kernel 'not tried' 'the image has no Python'
elif ! "$python" -c 'import importlib.util as u, sys; sys.exit(u.find_spec("torch") is None)' 2>/dev/null; then
  say kernel 'not tried' 'the image has no torch'
elif out=$("$python" -c "$kernel" "$wanted" 2>&1); then say kernel ok "$(last "$out")"
else say kernel failed "$(last "$out")"
fi
"""
"""Of POSIX sh, since an image may hold nothing more. /sys/class/kfd lists a GPU by its `gpu_id`; the kernel refuses to
read that of one that the container's device cgroup refuses (kfd_topology.c, node_show)."""


@dataclass(frozen=True)
class Tried:
    """What one layer answered."""

    layer: Layer
    state: State
    text: str


@dataclass(frozen=True)
class Proof:
    """`error`: why the container did not start; empty where it did."""

    rows: tuple[Tried, ...] = ()
    error: str = ""

    @property
    def code(self) -> int:
        if self.error:
            return NOT_STARTED
        states = {row.state for row in self.rows}
        if "failed" in states:
            return FAILED
        return UNTRIED if "not tried" in states or {row.layer for row in self.rows} != set(get_args(Layer)) else PROVEN

    @property
    def verdict(self) -> str:
        if self.error:
            return f"Not started: {self.error}"
        if failed := next((row for row in self.rows if row.state == "failed"), None):
            return f"The {failed.layer} layer failed: {failed.text}"
        if self.code == UNTRIED:
            proven = {row.layer for row in self.rows if row.state == "ok"}
            missing = [layer for layer in get_args(Layer) if layer not in proven]
            return f"Nothing failed; not tried: {', '.join(missing)}"
        return "Proven: the GPUs work in this container"


def prove(
    system: System,
    engine: Engine,
    spec: Spec,
    environ: Mapping[str, str],
    note: Note | None = None,
) -> Proof:
    """docker is asked by its API; podman, and docker with options of its command line, by the program. `note` gets the
    progress of a pull. Raises InputError where no GPU is passed. The container is removed, also where it did not end
    in time."""
    if spec.vendor is None:
        raise InputError("--prove: no GPU is passed to this container")
    if engine.name == "podman" or any(spec.of("engine_arg")):
        ran = _by_command(system, engine, spec)
    else:
        ran = _by_api(system, spec, environ, note)
    if isinstance(ran, Proof):
        return ran
    rows = tuple(read(ran.stdout))
    if ran.code == LATE:
        return Proof((*rows, Tried("kernel", "not tried", f"the container did not end in {_DEADLINE_S:.0f} s")))
    if rows:
        return Proof(rows)
    lines = [line for line in ran.stderr.splitlines() if line.strip() and "--help" not in line]
    return Proof(error=clean(lines[-1], 300) if lines else f"{engine.name} ended with {ran.code} and printed nothing")


def _by_api(system: System, spec: Spec, environ: Mapping[str, str], note: Note | None) -> Ran | Proof:
    host, user, workdir = host_config(spec), spec.one("user"), spec.one("workdir")
    try:
        variables = environment(system, spec, environ)
        api = Api("docker", place(environ), _START_S)
        try:
            return api.run(
                spec.image, _command(spec), deadline_s=_DEADLINE_S, entrypoint="sh", user=user, workdir=workdir,
                environment=variables, host=host, network=spec.one("network"), note=note,
            )  # fmt: skip
        finally:
            api.close()
    except DoctorError as error:
        return Proof(error=clean(str(error), 300))


def _by_command(system: System, engine: Engine, spec: Spec) -> Ran | Proof:
    name = f"{_MARK}-{uuid4().hex[:12]}"
    reading = system.run(words(engine, spec, name), deadline_s=_DEADLINE_S, limit=1 << 20)
    if reading.value is not None:
        return Ran(reading.value.code, reading.value.stdout, reading.value.stderr)
    system.run((*engine.base, "rm", "--force", name), deadline_s=30.0)
    if reading.state is Fact.TIMED_OUT:
        return Ran(LATE, "", "")
    return Proof(error=f"{engine.name} did not answer ({reading.state.value})")


def words(engine: Engine, spec: Spec, name: str) -> list[str]:
    """What is executed: the flags that the command would get, and the script in place of the command."""
    kept = [p for p in spec.parts if p.kind not in _REPLACED and not (p.kind == "engine_arg" and _STAYS.match(p.value))]
    parts = (*kept, Part("name", name, "so that it can be removed"), Part("entrypoint", "sh", "the script is its own"))
    options = flags(replace(spec, parts=parts), podman=engine.name == "podman")
    return [
        *engine.base,
        "run",
        "--rm",
        *(word for flag in options for word in flag.words),
        spec.image,
        *_command(spec),
    ]


def _command(spec: Spec) -> tuple[str, ...]:
    return ("-c", SCRIPT, "sh", spec.vendor or "", str(spec.count), _KERNEL, *spec.nodes)


def read(stdout: str) -> Iterator[Tried]:
    """The rows of the script; other lines are what the image's programs print."""
    layers: Sequence[Layer] = get_args(Layer)
    states: Sequence[State] = get_args(State)
    for line in stdout.splitlines()[:1000]:
        mark, *cells = line.split("\t")
        if mark == _MARK and len(cells) == 3:
            layer = next((one for one in layers if one == cells[0]), None)
            state = next((one for one in states if one == cells[1]), None)
            if layer and state:
                yield Tried(layer, state, clean(cells[2], 300))
