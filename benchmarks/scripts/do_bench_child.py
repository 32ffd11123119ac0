"""Times the same calls by our timer and by those of triton and torch, in turn. Run by the user's Python.

argv: the request (JSON: parts, device, cases, rounds, repeats, rep_ms), the descriptor for events. triton's do_bench
clears a cache of 256 MiB before each repeat, as our timer does; torch.utils.benchmark calls back to back in blocks, of
which the means are compared with those of as many of our warm calls. Results come from runs in which each repeat of
theirs follows one of ours, since what disturbs a machine for a while has to disturb both; of ours the first three of
four count. How long they take comes from runs of their own, in which ours has three quarters of their time. On a CPU
all read the CPU time of one thread: what others take of the wall time is not the call's.
"""

import importlib.util
import json
import os
import sys
import time
import types

SHARE = 0.75
"""Of their time and repeats, what ours has."""
FLUSH = {"cuda": 256 << 20, "cpu": 64 << 20}
"""Bytes that are written before each cold call. On a GPU it is what triton's drivers write, too."""


def part(folder, name):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")

    def send(**event):
        out.write(json.dumps(event) + "\n")
        out.flush()

    import torch

    device, rep_ms = request["device"], request["rep_ms"]
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    else:
        torch.set_num_threads(1)
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    theirs, triton = peers(torch, rep_ms, device)
    send(event="about", torch=torch.__version__, triton=triton, device=name)
    timing, cases = (part(request["parts"], name) for name in ("bench_timer", "bench_cases"))
    if device == "cpu":
        timing.time = types.SimpleNamespace(perf_counter=time.thread_time)
    timer = timing.Timer(torch, device, FLUSH[device.partition(":")[0]])
    for case in request["cases"]:
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        for way, call in cases.MAKERS[case["what"]](torch, case, device)[0].items():
            timer.warm({way: call}, 0.5)
            for peer, (measure, cold) in theirs.items():

                def ours(call, cold=cold):
                    return timer.all({"it": call}, request["repeats"], SHARE * rep_ms / 1e3, cold=cold)

                pairs, seconds = [], []
                for number in range(request["rounds"]):
                    pairs.append((beside_do_bench if cold else beside_blocks)(torch, timer, call, rep_ms))
                    spent = {}
                    for side in (ours, measure) if number % 2 == 0 else (measure, ours):
                        began = time.process_time()
                        side(call)
                        spent[side] = time.process_time() - began
                    seconds.append([spent[ours], spent[measure]])
                    send(event="round", case=key, number=number)
                send(event="case", case=key, way=way, peer=peer, pairs=pairs, seconds=seconds)
    send(event="end")


class Cpu:
    """What do_bench asks of triton's driver of a device: triton has none for a CPU."""

    def __init__(self, torch):
        self.torch = torch

    class Event:
        def __new__(cls, **_):
            return object.__new__(cls)

        def record(self):
            self.at = time.thread_time()

        def elapsed_time(self, end):
            return (end.at - self.at) * 1e3

    def get_device_interface(self):
        return self

    def synchronize(self):
        pass

    def get_empty_cache_for_benchmark(self):
        return self.torch.empty(FLUSH["cpu"], dtype=self.torch.int8)

    def clear_cache(self, cache):
        cache.zero_()


def peers(torch, rep_ms, device):
    """(name -> (call -> milliseconds of its repeats, whether with a cold cache), triton's version)"""

    def blocked(call):
        torch_timer(torch, call).blocked_autorange(min_run_time=rep_ms / 1e3)

    found = {"torch.utils.benchmark": (blocked, False)}
    try:
        import triton
        from triton.testing import do_bench
    except ImportError:
        return found, None
    if device == "cpu":
        triton.runtime.driver.set_active(Cpu(torch))
    found["triton do_bench"] = (lambda call: do_bench(call, warmup=25, rep=rep_ms, return_mode="all"), True)
    return found, triton.__version__


def torch_timer(torch, call):
    from torch.utils.benchmark import Timer

    clock = {} if torch.cuda.is_available() else {"timer": time.thread_time}
    return Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads(), **clock)


def beside_do_bench(_torch, timer, call, rep_ms):
    """[our median, theirs]: where theirs clears the cache for a repeat, one of ours goes first."""
    import triton
    from triton.testing import do_bench

    active, mine = triton.runtime.driver.active, []
    clear = active.clear_cache

    def cleared(cache):
        mine.append(timer.once(call))
        clear(cache)

    active.clear_cache = cleared
    try:
        theirs = do_bench(call, warmup=25, rep=2 * rep_ms, return_mode="all")
    finally:
        active.clear_cache = clear
    timer.wait()
    mine = mine[-len(theirs) :][: max(1, int(SHARE * len(theirs)))]
    return [middle(sorted(map(timer.milliseconds, mine))), middle(sorted(theirs))]


def beside_blocks(torch, timer, call, rep_ms):
    """[our median, theirs] of the means of blocks, one of each in turn."""
    made, mine, theirs = torch_timer(torch, call), [], []
    block = made.blocked_autorange(min_run_time=rep_ms / 1e3).number_per_run
    began = time.process_time()
    while len(mine) < 10 or time.process_time() - began < 2 * rep_ms / 1e3:
        taken = [timer.once(call, cold=False) for _ in range(block)]
        timer.wait()
        mine.append(sum(map(timer.milliseconds, taken)) / block)
        theirs.append(made.timeit(block).mean * 1e3)
    return [middle(sorted(mine[: int(SHARE * len(mine))])), middle(sorted(theirs))]


def middle(values):
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


if __name__ == "__main__":
    main()
