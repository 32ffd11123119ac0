"""Wall time and peak memory of `doctor check` and `doctor --help` as ratios of torch's collect_env and of env-doctor.

    python benchmarks/check_against_peers.py --torch-python VENV/bin/python [--env-doctor VENV/bin/env-doctor]

`--torch-python` is a Python with the CPU build of torch. Programs are run in turn, round by round, so that a busy
moment of the machine touches all alike; the median of the rounds counts. Peak memory is the largest resident set of the
process and its children. Prints one Markdown table.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple


class Cost(NamedTuple):
    seconds: float
    peak_kib: int


def measure(argv: Sequence[str]) -> Cost:
    """One run, output thrown away. The exit code is not judged: a checker may report findings."""
    started = time.perf_counter()
    with subprocess.Popen(
        argv, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL
    ) as child:
        _, _, usage = os.wait4(child.pid, 0)
        child.returncode = 0
    return Cost(time.perf_counter() - started, usage.ru_maxrss)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    beside = Path(sys.executable).with_name("doctor")
    parser.add_argument("--torch-python", required=True)
    parser.add_argument("--env-doctor")
    parser.add_argument("--doctor", default=str(beside) if beside.exists() else shutil.which("doctor"))
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    programs = {
        "collect_env": [args.torch_python, "-m", "torch.utils.collect_env"],
        "doctor check": [args.doctor, "check", "--python", args.torch_python],
        "doctor check --format json": [args.doctor, "check", "--python", args.torch_python, "--format", "json"],
        "doctor --help": [args.doctor, "--help"],
    }
    if args.env_doctor:
        programs["env-doctor check"] = [args.env_doctor, "check"]
    runs: dict[str, list[Cost]] = {name: [] for name in programs}
    for argv in programs.values():
        measure(argv)  # the first run of each reads its files from disk
    for _ in range(args.rounds):
        for name, argv in programs.items():
            runs[name].append(measure(argv))
    median = {
        name: Cost(statistics.median(c.seconds for c in costs), int(statistics.median(c.peak_kib for c in costs)))
        for name, costs in runs.items()
    }
    base = median["collect_env"]
    where = f"{os.cpu_count()} cores, Python {platform.python_version()}"
    print(f"{time.strftime('%Y-%m-%d')}, {where}, {args.rounds} rounds\n")
    print("| program | seconds | peak MiB | time / collect_env | memory / collect_env |")
    print("|--|--|--|--|--|")
    for name, cost in median.items():
        ratio, share = cost.seconds / base.seconds, cost.peak_kib / base.peak_kib
        print(f"| {name} | {cost.seconds:.3f} | {cost.peak_kib / 1024:.0f} | {ratio:.2f} | {share:.2f} |")
    if args.env_doctor:
        ratio = median["doctor check"].seconds / median["env-doctor check"].seconds
        print(f"\ndoctor check / env-doctor check: {ratio:.2f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
