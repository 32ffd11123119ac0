from __future__ import annotations

from collections.abc import Iterator

from doctor.facts.snapshot import Snapshot
from doctor.findings import Action, Finding, Layer, Remedy, Rule, Scope, Severity, Subject, evidence
from doctor.rules.lib.arguments import Knowledge, Profile
from doctor.rules.lib.lost_variables import found

RULE = Rule(
    id="env-flag-not-passed-on",
    severity=Severity.WARNING,
    scope=Scope.JOB,
    action=Action.INFORM,
    layer=Layer.FLAGS,
    title="A variable does not reach the program that it is set for.",
    needs=({"environment"}, {"lost_variables"}),
    proven="synthetic",
    order=51,
    tags=("tools", "flags"),
    doc="""## What it finds
In a file (`doctor env FILE`): the file sets a variable of the GPU stack, and none of the programs that it starts gets
it: `sudo torchrun` and `docker run` without `-e`, `srun --export=NONE`, `mpirun` over hosts without `-x`, `ssh`,
`Environment=` in `[Unit]`, `X = 1`, `RUN export`, `os.environ` after the library has read it. In an environment:
`MASTER_ADDR=localhost` in a job of several nodes. In a pasted text: the same for its scripts and typed commands. There,
and with `--pid`, the finding is `env-not-seen-by-service` if a container, `sudo`, `ssh` or a unit takes it away.

## Why it matters
The program starts without an error and uses the default.

## Not raised when
One of the programs gets the variable, the file uses it as `$NAME`, or the result depends on something outside the file
(`eval`, a missing sourced file, a computed launcher).

## How to confirm
`doctor env FILE --trace NAME` shows each step from the line that sets it to each program.

## Fix
Pass it with the option of the launcher that the message names.

## References
https://www.sudo.ws/docs/man/sudoers.man/
https://docs.docker.com/reference/cli/docker/container/run/#env
https://slurm.schedmd.com/srun.html#OPT_export
https://docs.open-mpi.org/en/v5.0.x/man-openmpi/man1/mpirun.1.html
https://www.freedesktop.org/software/systemd/man/latest/systemd.exec.html#Environment
""",
)
_LOCAL = ("localhost", "127.0.0.1", "::1")
REMEDIES = (Remedy.by_hand("Set MASTER_ADDR to the address of the node that runs rank 0."),)


def check(machine: Snapshot, kb: Knowledge, profile: Profile | None) -> Iterator[Finding]:
    """MASTER_ADDR of this machine where the job spans several: by Slurm's count of nodes, or by torchrun's ranks."""
    yield from found(machine, session=False)
    env = machine.environment or {}
    nodes = _number(env.get("SLURM_JOB_NUM_NODES") or env.get("SLURM_NNODES"))
    groups = _number(env.get("GROUP_WORLD_SIZE"))
    if env.get("MASTER_ADDR") in _LOCAL and (nodes > 1 or groups > 1):
        yield Finding(
            summary=f"MASTER_ADDR={env['MASTER_ADDR']} on {max(nodes, groups)} nodes: each node waits for itself.",
            subject=Subject(kind="variable", id="MASTER_ADDR"),
            evidence=evidence(machine, ["environment[MASTER_ADDR]"]),
            remedies=REMEDIES,
        )


def _number(text: str | None) -> int:
    return int(text) if text and text.isdecimal() and len(text) < 7 else 0
