"""Copies to and from the host, and between GPUs. A part of bench_child.py, which loads it."""

import ctypes
import glob
import os
import sys

bench_cases, bench_devices = sys.modules.get("bench_cases"), sys.modules.get("bench_devices")


def nodes(root="/sys/devices/system/node"):
    """NUMA node -> its CPUs, of those that this process may run on."""
    allowed, found = os.sched_getaffinity(0), {}
    for folder in glob.glob(root + "/node[0-9]*"):
        cpus = set()
        for part in bench_devices.read(folder + "/cpulist").split(","):
            first, _, last = part.partition("-")
            cpus.update(range(int(first), int(last or first) + 1) if first else ())
        if cpus & allowed:
            found[int(folder.rpartition("node")[2])] = cpus & allowed
    return dict(sorted(found.items()))


class Bound:
    """A call that is made from the CPUs of one node; the timer calls `before` outside of the measured time."""

    def __init__(self, call, cpus):
        self.call, self.cpus = call, cpus

    def before(self):
        os.sched_setaffinity(0, self.cpus)

    def __call__(self):
        self.call()


def host(torch, case, device):
    """Buffers are first written by a thread on the node, so that its memory is taken (Linux, numa_memory_policy.rst).
    All are kept until the end: torch gives a freed pinned buffer to whoever asks next, of whatever node."""
    size, ways = bench_cases.amount(case["shape"]), {}
    there = torch.randint(0, 127, (size,), dtype=torch.int8, device=device)
    back, buffers, everywhere = torch.empty_like(there), [], os.sched_getaffinity(0)
    found = nodes() or {0: everywhere}
    for node, cpus in found.items():
        os.sched_setaffinity(0, cpus)
        pinned, pageable = (torch.empty(size, dtype=torch.int8, pin_memory=pin) for pin in (True, False))
        for one in (pinned, pageable):
            ctypes.memset(one.data_ptr(), 1, size)
        name = " node%d" % node if len(found) > 1 else ""
        buffers += [("pinned" + name, pinned), ("pageable" + name, pageable)]
        calls = {
            "to-device": lambda here=pinned: back.copy_(here, non_blocking=True),
            "to-host": lambda here=pinned: here.copy_(there, non_blocking=True),
            "to-device-pageable": lambda here=pageable: back.copy_(here),
            "to-host-pageable": lambda here=pageable: here.copy_(there),
        }
        ways.update({way + name: Bound(call, cpus) for way, call in calls.items()})
    os.sched_setaffinity(0, everywhere)

    def check():
        for name, here in buffers:
            here.copy_(there)
            back.copy_(here)
            torch.cuda.synchronize()
            if not torch.equal(back, there):
                return 1.0, "%s: what came back differs from what was sent" % name
        return 0.0, None

    return ways, check


def p2p(torch, case, device):
    """From this GPU to each other one. Torch copies on the current stream of the source (ATen/native/cuda/Copy.cu,
    copy_device_to_device), which is where the timer's events are."""
    mine = torch.device(device).index
    source = torch.randint(0, 127, (bench_cases.amount(case["shape"]),), dtype=torch.int8, device=device)
    others = [number for number in range(torch.cuda.device_count()) if number != mine]
    targets = {number: torch.empty_like(source, device="cuda:%d" % number) for number in others}
    kinds = {True: "peer access", False: "no peer access: through the host's memory"}

    def check():
        wanted = source.cpu()
        for number, target in targets.items():
            target.copy_(source)
            if not torch.equal(target.cpu(), wanted):
                return 1.0, "to cuda:%d: what arrived differs from what was sent" % number
        return 0.0, None

    ways = {
        "to cuda:%d" % number: lambda target=target: target.copy_(source, non_blocking=True)
        for number, target in targets.items()
    }
    peer = {"to cuda:%d" % n: kinds[bool(torch.cuda.can_device_access_peer(mine, n))] for n in targets}
    return ways, check, peer


MAKERS = {"host": host, "p2p": p2p}
