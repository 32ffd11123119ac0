"""One command: makes the environments, asks every doctor, prints the table."""

from __future__ import annotations

import argparse
import json
import platform
import re
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import distributions, version
from pathlib import Path

from benchmarks.faults import broken, broken_again, cuda13, healthy, healthy_again, machines
from benchmarks.faults.broken import Case
from benchmarks.faults.environments import Environment, Work, own_doctor, ran, run

PEERS = {
    "collect_env": None,
    "pip check": None,
    "env-doctor": "env_doctor.cli:main check",
    "cuda-doctor": "cuda_doctor.cli:main",
    "gpu-doctor": "gpu_doctor.__main__:main check",
    "ai-infradr": "ai_infradr.cli.main:main",
}
"""Tool → where its program begins; those of the registry run in the environment that they are asked about."""
_LOUD = ("error", "warning")


def of_doctor(code: int, output: str, rules: tuple[str, ...]) -> str:
    """`first`, `named`, `other` (something else is found), `silent`."""
    try:
        report, _ = json.JSONDecoder().raw_decode(output, output.index("{"))  # the loader may add a line of its own
    except ValueError:
        return f"failed ({code})"
    loud = [f["rule"] for f in report["findings"] if f["severity"] in _LOUD and not f.get("explained_by")]
    every = [f["rule"] for f in report["findings"]]
    if not rules:
        return "silent" if not loud else f"alarm ({', '.join(loud)})"
    if loud and loud[0] in rules:
        return "first"
    return "named" if set(every) & set(rules) else f"other ({', '.join(loud)})" if loud else "silent"


def of_peer(code: int, output: str, case: Case) -> str:
    """`named` where it fails or prints what the cause is called; what a tool lists of any environment is no verdict."""
    complains = code != 0 or re.search(
        r"\b(error|fail|missing|incompatib|mismatch|not found|requires?)\b", output, re.I
    )
    if not case.rules:
        return "alarm" if code != 0 else "silent"
    if complains and any(word.lower() in output.lower() for word in case.words):
        return "named"
    return "other" if code != 0 else "silent"


def peer(name: str, env: Environment, tools: Path) -> tuple[int, str]:
    if name == "collect_env":
        return ran([str(env.python), "-m", "torch.utils.collect_env"], env)
    if name == "pip check":
        return ran([str(env.python), "-m", "pip", "check"], env)
    where, *words = (PEERS[name] or "").split()
    module, _, function = where.partition(":")
    code = (
        f"import sys; sys.path.append({str(tools)!r}); sys.argv = {[name, *words]!r}; from {module} import {function}; "
    )
    return ran([str(env.python), "-c", f"{code}sys.exit({function}())"], env)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--work", type=Path, default=Path("/tmp/doctor-faults"), help="some 15 GB")
    parser.add_argument("--doctor", default=own_doctor(), help="the program; the one beside this Python by default")
    parser.add_argument("--only", default="", help="cases whose name has this in it")
    parser.add_argument("--no-peers", action="store_true")
    parser.add_argument("--no-machines", action="store_true")
    args = parser.parse_args()
    work, tools = Work(args.work.resolve()), args.work.resolve() / "tools"
    peers = [] if args.no_peers else list(PEERS)
    if peers and not tools.exists():
        wanted = [name for name, place in PEERS.items() if place]
        run(sys.executable, "-m", "pip", "install", "-q", "--target", tools, *wanted)
    rows: list[tuple[Case, dict[str, str]]] = []
    for case in (*broken.CASES, *broken_again.CASES, *cuda13.CASES, *healthy.CASES, *healthy_again.CASES):
        if args.only not in case.name:
            continue
        env = work.environment(case.name, case.base)
        case.make(env)
        told = {"doctor": of_doctor(*ran([args.doctor, "check", "--format", "json"], env), case.rules)}
        with ThreadPoolExecutor(2) as pool:
            answers = pool.map(partial(peer, env=env, tools=tools), peers)
            told |= {name: of_peer(*answer, case) for name, answer in zip(peers, answers, strict=True)}
        rows.append((case, told))
        print(f"{case.kind}: {case.name}: {told}", file=sys.stderr, flush=True)
        env.destroy()
    if not args.no_machines:
        for case, output in machines.asked(args.only):
            rows.append((case, {"doctor": of_doctor(*output, case.rules), **dict.fromkeys(peers, "-")}))
            print(f"{case.kind}: {case.name}: {rows[-1][1]['doctor']}", file=sys.stderr, flush=True)
    table(rows, peers, tools)
    return 0


def table(rows: list[tuple[Case, dict[str, str]]], peers: list[str], tools: Path) -> None:
    held = {found.name: found.version for found in distributions(path=[str(tools)])}
    of_peers = [f"{name} {held[name]}" for name in peers if name in held]
    own = f"doctor {version('rocm-cuda-doctor')}"
    where = ", ".join((time.strftime("%Y-%m-%d"), f"Python {platform.python_version()}", own, *of_peers))
    print(f"{where}\n\n| class | environments | {' | '.join(('doctor', *peers))} |")
    print("|--" * (3 + len(peers)) + "|")
    for sick in (True, False):
        kinds = Counter(case.kind for case, _ in rows if bool(case.rules) is sick)
        for kind, number in (*kinds.items(), ("all broken" if sick else "all healthy", sum(kinds.values()))):
            told = [
                t for case, t in rows if bool(case.rules) is sick and (case.kind == kind or kind.startswith("all "))
            ]
            cells = [_cell([t[tool] for t in told], sick) for tool in ("doctor", *peers)]
            print(f"| {kind} | {number} | {' | '.join(cells)} |")
    print("\nNot named, or an alarm over nothing:")
    for case, said in rows:
        if said["doctor"] not in (("first", "named") if case.rules else ("silent",)):
            print(f"- {case.kind}: {case.name}: {said['doctor']}")


def _cell(told: list[str], sick: bool) -> str:
    told = [t for t in told if t != "-"]
    if not told:
        return "not asked"
    if not sick:
        return f"{sum(t != 'silent' for t in told)} alarms"
    named, silent = sum(t in ("first", "named") for t in told), sum(t == "silent" for t in told)
    first = f", {sum(t == 'first' for t in told)} first" if "first" in told else ""
    return f"{named} named{first}, {silent} silent"


if __name__ == "__main__":
    sys.exit(main())
