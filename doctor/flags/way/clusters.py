"""Slurm and MPI: what srun, sbatch and mpirun pass to the ranks."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Literal

from doctor.flags.way.frame import LOCAL
from doctor.flags.way.launchers import ASSIGNMENT, BASIC, Call, options, pass_on
from doctor.flags.way.model import Held, Sees, Step, joined
from doctor.parsers.text.shell_lexer import HOLE

_EXPORT = re.compile(r"\s{0,8}#SBATCH\s(?:.{0,400}?\s)?--export[= ](\S{1,2000})")
_TAKES_TEXT = """
-A -a -B -b -C -c -D -d -e -F -G -i -J -K -L -M -m -N -n -o -p -q -r -t -T -w -x -W -P --account --acctg-freq
--array --bcast --begin --chdir --cluster-constraint --clusters --comment --constraint --container --container-image
--container-mounts --container-name --container-workdir --container-env --container-save --core-spec
--cores-per-socket --cpu-bind --cpu-freq --cpus-per-gpu --cpus-per-task --deadline --delay-boot --dependency
--distribution --epilog --error --exclude --export --export-file --extra-node-info --gpu-bind --gpu-freq --gpus
--gpus-per-node --gpus-per-socket --gpus-per-task --gres --gres-flags --hint --input --job-name --jobid --licenses
--mail-type --mail-user --mem --mem-bind --mem-per-cpu --mem-per-gpu --mpi --multi-prog --network --nice --nodefile
--nodelist --nodes --ntasks --ntasks-per-core --ntasks-per-gpu --ntasks-per-node --ntasks-per-socket --open-mode
--output --partition --power --priority --prolog --qos --relative --reservation --signal --sockets-per-node
--switches --task-epilog --task-prolog --tasks-per-node --threads-per-core --time --time-min --tmp --uid --wckey
--wrap --slurmd-debug --kill-on-bad-exit --wait
"""
_TAKES = tuple(_TAKES_TEXT.split())


_NODES = re.compile(r"\s{0,8}#SBATCH\s(?:.{0,400}?\s)?(?:--nodes[= ]|-N\s{0,4})(\d{1,5})(?:\s|$)")


def nodes(text: str) -> int:
    """Of `#SBATCH --nodes=N`; 1 where it does not say."""
    lines = (line for line in text.split("\n")[:200] if line.lstrip().startswith("#SBATCH"))
    return max((int(found[1]) for line in lines if (found := _NODES.match(line[:4000]))), default=1)


def _exported(call_step: Step, before: Sees, listed: str, into: str) -> Sees:
    """By --export: ALL, NONE, or names and assignments."""
    parts = [p for p in listed.split(",") if p]
    every = "ALL" in parts
    if HOLE in listed:
        return before.unknown(call_step)
    sees = (
        before.copy() if every or not parts else before.cleared(call_step, lambda n: n.startswith(("SLURM_", "SPANK_")))
    )
    for part in parts:
        if part not in ("ALL", "NONE", "NIL"):
            pass_on(sees, before, part, call_step._replace(what=f"{into} --export={part[:60]}"))
            name = part.partition("=")[0]
            if every and "=" in part and into == "srun":
                sees.held[name] = joined(sees.of(name), _already_set(before, name))
    if not every and parts:
        sees.may_be(call_step, *BASIC)
    return sees


def _already_set(before: Sees, name: str) -> Held:
    """With `--export=ALL,A=2` srun 22.05 keeps an A that the caller has already; the manual does not say which wins."""
    return tuple(a._replace(outer="set") if a.outer else a for a in before.of(name) if a.outer or a.text is not None)


def _srun(call: Call) -> None:
    found = options(call.argv, _TAKES)
    listed = found.of("--export")
    sees = call.sees.copy()
    step = (
        call.step(
            f"srun --export={listed[-1][:60].replace(HOLE, '…')} passes only the variables it names", "srun-export"
        )
        if listed
        else None
    )
    if not listed:
        listed, step = _of_the_job(call)
    if listed and step:
        sees = _exported(step, call.sees, listed[-1], "srun")
        if HOLE in listed[-1]:
            sees = call.sees.unknown(step)
    if found.has("--container-image", "--container-name"):
        own = call.step("the image may set it itself")
        sees.may_have(own)
        sees.may_be(own, "PATH", "LD_LIBRARY_PATH", "PYTHONPATH")
    for name in ("SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID", "SLURM_NTASKS", "SLURM_JOB_ID"):
        sees.put(name, HOLE, call.step("srun sets it for each task"))
    given = call.step("srun sets it where the step has GPUs of Slurm's")
    sees.may_be(given, "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
    said = found.of("-N", "--nodes") or [""]
    count = int(said[-1]) if re.fullmatch(r"\d{1,5}", said[-1]) else call.run.nodes if not said[-1] else 1
    if found.rest:
        frame = replace(call.frame, nodes=count)
        call._replace(frame=frame).go_on(found.rest, sees, "each task of srun")


def _of_the_job(call: Call) -> tuple[list[str], Step | None]:
    """SLURM_EXPORT_ENV: what sbatch --export leaves for the srun within the job. SRUN_EXPORT_ENV wins over it."""
    own = call.sees.of("SRUN_EXPORT_ENV")
    if len(own) == 1 and own[0].text is not None:
        return [own[0].text], call.step(f"srun goes by SRUN_EXPORT_ENV={own[0].text[:60]}", "srun-export")
    held = call.sees.of("SLURM_EXPORT_ENV")
    if len(held) == 1 and held[0].text is not None:
        what = f"srun goes by SLURM_EXPORT_ENV={held[0].text[:60]}, which sbatch --export sets"
        return [held[0].text], call.step(what, "srun-export-job")
    texts = {a.text for a in held if a.text is not None}
    if texts and texts != {HOLE}:
        return [HOLE], call.step("whether SLURM_EXPORT_ENV is set for srun is not known")
    return [], None


def directives(source: str, text: str, sees: Sees) -> Sees:
    """What a batch script starts with, by its own #SBATCH --export."""
    for number, line in enumerate(text.split("\n")[:2000], 1):
        if line.strip() and not line.lstrip().startswith("#"):
            return sees
        if found := _EXPORT.match(line[:4000]):
            step = Step(
                source, number, f"#SBATCH --export={found[1][:60]} passes only the variables it names", "sbatch-export"
            )
            sees = _exported(step, sees, found[1].strip("\"'"), "#SBATCH")
            sees.put("SLURM_EXPORT_ENV", found[1].strip("\"'"), step._replace(what="sbatch --export sets it", id=""))
    return sees


def _sbatch(call: Call) -> None:
    found = options(call.argv, [name for name in _TAKES if name not in ("-W", "--wait")])  # switches of sbatch
    wraps = found.of("--wrap")
    script = call.run.file(found.rest[0], call.frame, call.sees.of) if found.rest and not wraps else None
    text = script[1] if script else call.body or ""
    sees = call.sees.copy()
    listed = found.of("--export")
    if listed:
        step = call.step(
            f"sbatch --export={listed[-1][:60].replace(HOLE, '…')} passes only the variables it names", "sbatch-export"
        )
        sees = _exported(step, sees, listed[-1], "sbatch")
        sees.put("SLURM_EXPORT_ENV", listed[-1], step._replace(what="sbatch --export sets it", id=""))
    elif text:
        sees = directives(script[0] if script else call.frame.file, text, sees)
    for name in ("SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "SLURM_NNODES"):
        sees.put(name, HOLE, call.step("sbatch sets it"))
    frame = replace(call.frame, where="the batch job")
    if wraps:
        call.run.text(wraps[-1], sees, replace(frame, functions={}), call.line)
    elif script:
        call.run.script(script, found.rest[1:], sees, frame)
    elif call.body is not None and not found.rest:
        call.run.text(call.body, sees, replace(frame, functions={}), call.line + 1)
    elif found.rest:
        call.run.record(call.argv, sees, call.frame, call.line, "the batch job")


_MPI_ONE_TEXT = """
--allow-run-as-root --bind-to-core --bind-to-none --bynode --byslot --display-map --oversubscribe --tag-output
--report-bindings -tag-output --merge-stderr-to-stdout --nooversubscribe --display-allocation --verbose -v -q
--quiet --do-not-launch --continuous --use-hwthread-cpus --novm --debug-daemons -allow-run-as-root --noprefix
--nolocal -nolocal
"""
_MPI_ONE = frozenset(_MPI_ONE_TEXT.split())
_MPI_TWO = frozenset(("--mca", "-mca", "--gmca", "-gmca", "--pmixmca", "--prtemca"))
_OPENMPI_TEXT = """
-x --mca -mca --allow-run-as-root -allow-run-as-root --npernode -npernode --oversubscribe --tag-output -H -N
--report-bindings
"""
_OPENMPI = frozenset(_OPENMPI_TEXT.split())
"""Options that Hydra refuses. It takes -hostfile, --map-by and --bind-to too (mpiexec.hydra of impi-rt 2021.19)."""
_HYDRA_TEXT = "-genv -genvall -genvlist -genvnone -env -envall -ppn -hosts -f -bootstrap -launcher -iface"
_HYDRA = frozenset(_HYDRA_TEXT.split())
"""Options that Open MPI refuses (mpirun 4.1.4)."""


def _mpirun(call: Call, whose: Literal["", "Open MPI", "MPICH or Intel MPI"] = "") -> None:
    """Open MPI: ranks on this host inherit, those on others get -x alone. Hydra (MPICH, Intel): all of them inherit.
    Where the options are of both, other hosts are followed with each."""
    if ":" in call.argv:  # several programs, each with its own options
        at = call.argv.index(":")
        _mpirun(call._replace(argv=call.argv[:at]), whose)
        _mpirun(call._replace(argv=[call.argv[0], *call.argv[at + 1 :]]), whose)
        return
    given, rest = _mpi_options(call.argv)
    names = [name for name, _ in given]
    hydra = whose == "MPICH or Intel MPI" or any(n in _HYDRA for n in names) or call.argv[0].endswith("hydra")
    openmpi = not hydra and (whose == "Open MPI" or any(n in _OPENMPI for n in names) or _by_ppr(given))
    if not rest:
        return
    if not hydra and not openmpi and not all(h in LOCAL for h in _hosts(given)):
        _mpirun(call, "Open MPI")
        _mpirun(call, "MPICH or Intel MPI")
        return
    passed = [value for name, value in given if name == "-x"]
    hosts = _hosts(given)
    local, remote = call.sees.copy(), None
    for value in passed:
        pass_on(local, call.sees, value, call.step(f"mpirun -x {value[:60].replace(HOLE, '…')}"))
    if hydra:
        local = _hydra(call, given)
    elif openmpi and hosts and any(h not in LOCAL for h in hosts):
        step = call.step(
            "Open MPI starts ranks on other hosts over ssh, and passes only the variables named with -x", "mpirun"
        )
        remote = call.sees.cleared(step, lambda n: n.startswith("OMPI_MCA_"))
        for value in passed:
            pass_on(remote, call.sees, value, call.step(f"mpirun -x {value[:60].replace(HOLE, '…')}"))
        remote.may_be(step, *BASIC, "LD_LIBRARY_PATH")
        if any(value.startswith(HOLE) for value in passed):
            remote = call.sees.unknown(call.step("mpirun -x passes a list that is computed"))
        elif call.run.scheduled:
            what = "mpirun starts ranks on other nodes through the scheduler, if it was built with support for it"
            remote = call.sees.unknown(call.step(what))
    for sees in filter(None, (local, remote)):
        for name in (
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK")
            if not hydra
            else ("PMI_RANK", "PMI_SIZE")
        ):
            if not hydra and not openmpi:
                sees.may_be(call.step("mpirun may set it"), name)
            else:
                sees.put(name, HOLE, call.step("mpirun sets it"))
    of = f"with {whose}: " if whose else ""
    if not remote or not hosts or any(h in LOCAL for h in hosts) or HOLE in "".join(hosts):
        call.go_on(rest, local, f"{of}ranks on this host" if remote else f"{of}each rank of mpirun")
    if remote:
        call.go_on(rest, remote, f"{of}ranks on other hosts")


def _by_ppr(given: list[tuple[str, str]]) -> bool:
    return any(name.lstrip("-") == "map-by" and value.startswith("ppr:") for name, value in given)


def _mpi_options(argv: list[str]) -> tuple[list[tuple[str, str]], list[str]]:
    given: list[tuple[str, str]] = []
    at = 1
    while at < len(argv) and argv[at].startswith("-"):
        name, sign, value = argv[at].partition("=") if argv[at].startswith("--") else (argv[at], "", "")
        at += 1
        if name in _MPI_TWO or name in ("-genv", "-env"):
            given.append((name, "=".join(argv[at : at + 2])))
            at += 2
        elif name in _MPI_ONE or sign or name in ("-genvall", "-genvnone", "-envall", "-envnone"):
            given.append((name, value))
        else:
            given.append((name, argv[at] if at < len(argv) else ""))
            at += 1
    return given, argv[at:]


def _hosts(given: list[tuple[str, str]]) -> list[str]:
    found = []
    for name, value in given:
        if name.lstrip("-") in ("host", "H", "hosts"):
            found += [part.partition(":")[0] for part in value.split(",") if part]
        elif name.lstrip("-") in ("hostfile", "machinefile", "default-hostfile", "f"):
            found.append(HOLE)
    return found


def _hydra(call: Call, given: list[tuple[str, str]]) -> Sees:
    names = [name for name, _ in given]
    sees = call.sees.copy()
    if "-genvnone" in names or "-envnone" in names:
        sees = sees.cleared(call.step("mpiexec -genvnone passes no variables", "mpirun"))
    for name, value in given:
        if name in ("-genv", "-env") and (made := ASSIGNMENT.fullmatch(value)):
            sees.put(made[1], made[2], call.step(f"mpiexec {name} {made[1]} {made[2][:40]}"))
        elif name in ("-genvlist", "-envlist"):
            sees = call.sees.unknown(call.step(f"mpiexec {name} passes a list"))
    return sees


TABLE = {
    "srun": _srun, "sbatch": _sbatch, **dict.fromkeys(("mpirun", "mpiexec", "orterun", "mpiexec.hydra"), _mpirun),
}  # fmt: skip
