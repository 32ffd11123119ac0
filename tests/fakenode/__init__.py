"""Machines that are not there: a description becomes a root folder, and the program runs live in it.

    with Node("h100", 8, faults=(uvm_not_loaded,)).laid_out() as node:
        report = json.loads(node.run(["doctor", "check", "--format", "json"]).stdout)

`Node` describes a machine (node.py has the fields, boards.py the boards). `laid_out()` writes its /sys, /proc, /dev,
/etc, /usr and /opt below a folder; `run()` starts a program for which that folder is `/`, in a mount namespace, as root
or inside a user namespace. From this machine a program sees only its Python, its shell and the libraries that these
load, so a report is the same wherever the tests run, on machines with GPUs too. `run_all` runs many in one process,
which is several times as fast; `doctor check --root` works on the folder without a namespace.

A fault (faults_nvidia.py, faults_amd.py, faults_host.py) is a function that changes a `Machine`, the state between
description and files; faults compose, and a new one is a function of a few lines.

What is simpler than on a real machine:
- /proc is made of files: it lists the processes that are described and not those that run, and does not change.
- Device nodes are the null device under another name (major 1, minor 3), with the owner and mode described. Opening
  one answers as the permissions say, never as a driver would. `Support.USER` says what else differs without root.
- NVML is a stand-in that answers from a file (nvml.c). nvidia-smi prints NVML's error or nothing; amd-smi prints what
  was described. dmesg, modinfo and getconf are scripts of the same kind.
- Limits of processes (open files, locked memory) and the mempolicy are this machine's.
- ROCm's and CUDA's folders hold version files and libraries with nothing in them.
"""

from __future__ import annotations

from tests.fakenode.machine import Machine
from tests.fakenode.node import Fault, LaidOut, Node
from tests.fakenode.run import REQUIRE, Job, Refused, Result, Support, run_all, support

__all__ = [
    "REQUIRE",
    "Fault",
    "Job",
    "LaidOut",
    "Machine",
    "Node",
    "Refused",
    "Result",
    "Support",
    "run_all",
    "support",
]
