"""Collectives as one rank of several. A part of bench_child.py, which loads it.

Timed as nccl-tests does (src/common.cu, BenchTime): a barrier, then calls back to back, the device waited for, the time
divided by the number of calls; in place and out of place where torch has both. One call after a barrier is "one-shot".
Counted is the size that nccl-tests counts: of the larger of what a rank sends and receives.
"""

import datetime
import os
import sys
import time

bench_timer = sys.modules.get("bench_timer")
WARM_UP, CALLS, SAMPLES = 5, 20, 20
"""The first two are nccl-tests' defaults."""


def collective(torch, request, send):
    import torch.distributed as dist

    rank, world, device = request["rank"], request["world"], request["device"]
    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(torch.device(device))
    wait = datetime.timedelta(seconds=request.get("timeout_s", 60))
    backend = "nccl" if gpu else "gloo"
    dist.init_process_group(backend, init_method=request["init"], rank=rank, world_size=world, timeout=wait)
    run = Run(torch, dist, device, request, bench_timer.Timer(torch, device, request["flush"]))
    for number, case in enumerate(request["cases"]):
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        seen = "%s%d" % (request["seen"], number) if request.get("seen") else None
        try:
            made = run.case(case, lambda key=key, seen=seen: send(event="busy", case=key, seen=seen), seen)
            send(event="case", case=key, error=None, **made)
        except Exception as failure:  # whatever torch raises is the answer of this case
            text = (type(failure).__name__ + ": " + str(failure))[:600]
            send(event="case", case=key, outcome="refused", detail=text)
            return
    dist.destroy_process_group()


class Run:
    def __init__(self, torch, dist, device, request, timer):
        self.torch, self.dist, self.device, self.request, self.timer = torch, dist, device, request, timer
        self.rank, self.world = request["rank"], request["world"]

    def case(self, case, half_way, seen):
        """What is sent of it: times of each way, bytes, what is wrong."""
        count = elements(self.torch, case, self.world)
        size = count * self.torch.empty((), dtype=getattr(self.torch, case["dtype"])).element_size()
        if not self.fits(4 * size):
            return {"outcome": "not-run", "detail": "four buffers of this size do not fit into the GPU's free memory"}
        ways, check = together(self.torch, self.dist, case, self.device, self.rank, self.world, count)
        budget, times = self.request["budget_s"] / (len(ways) + bool(case.get("one_shot"))), {}
        wrong = check()
        for name, call in ways.items():
            times[name] = self.back_to_back(call, budget, half_way)
            half_way = None
        call = next(iter(ways.values()))
        if case.get("one_shot"):
            times["one-shot"] = self.one_shot(call, budget)
        if self.timer.gpu:
            self.until_seen(call, seen)
        return {"times": times, "wrong": wrong, "bytes": size}

    def fits(self, size):
        """The same answer on all ranks."""
        if not self.device.startswith("cuda"):
            return True
        free = self.torch.tensor([self.torch.cuda.mem_get_info()[0]], device=self.device)
        self.dist.all_reduce(free, op=self.dist.ReduceOp.MIN)
        return int(free) > size

    def agreed(self, number):
        """Rank 0 decides for all."""
        held = self.torch.tensor([int(number)], device=self.timer.cache.device)
        self.dist.broadcast(held, 0)
        return int(held)

    def back_to_back(self, call, budget, half_way):
        """Milliseconds of a call, averaged over several; as many samples as SAMPLES."""
        calls, times = WARM_UP, []
        for sample in range(SAMPLES + 1):
            self.dist.barrier()
            self.timer.wait()
            began = time.perf_counter()
            for _ in range(calls):
                call()
            self.timer.wait()
            times.append((time.perf_counter() - began) * 1e3 / calls)
            if sample == 0:  # warm-up; its time says how many calls the budget allows
                calls = self.agreed(max(1, min(CALLS, budget * 1e3 / SAMPLES / max(times.pop(), 1e-4))))
            if sample == SAMPLES // 2 and half_way:
                half_way()
        return times

    def one_shot(self, call, budget):
        """Milliseconds of single calls, each after a barrier and with a cold cache."""
        times, began = [], time.perf_counter()
        while True:
            self.dist.barrier()
            self.timer.wait()
            one = self.timer.once(call)
            self.timer.wait()
            times.append(self.timer.milliseconds(one))
            over = time.perf_counter() - began > budget and len(times) >= bench_timer.LEAST
            if self.agreed(over or len(times) >= 100):
                return times

    def until_seen(self, call, seen, seconds=3.0):
        """Goes on, untimed, until the clocks of rank 0's GPU were read while it works."""
        began = time.perf_counter()
        while not self.agreed(not seen or os.path.exists(seen) or time.perf_counter() - began > seconds):
            call()
            self.timer.wait()


def elements(torch, case, world):
    """Of the larger of what a rank sends and receives: a multiple of the ranks, and at least one for each."""
    shape = case["shape"]
    number = shape.rstrip("KMGiB")
    size = int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[shape[len(number) :].rstrip("iB")]
    count = size // torch.empty((), dtype=getattr(torch, case["dtype"])).element_size()
    return max(count - count % world, world)


def together(torch, dist, case, device, rank, world, count):
    """(name -> call, the check). Every rank sends the number of its rank plus one in the check, and zeros when timed:
    sums of zeros do not grow from call to call. On GPUs the forms that take one tensor: those that take a list copy
    once more, and would measure that."""
    kind = getattr(torch, case["dtype"])
    maker = {"all_reduce": reduced, "all_gather": gathered, "reduce_scatter": scattered}.get(case["what"], exchanged)
    made = [torch.zeros(count, dtype=kind, device=device) for _ in range(2)]
    return maker(torch, dist, made, rank, world, device.startswith("cuda"))


def reduced(torch, dist, made, rank, world, gpu):
    """torch has no all-reduce out of place."""
    held, _ = made

    def check():
        held.fill_(rank + 1)
        dist.all_reduce(held)
        good = bool((held == world * (world + 1) // 2).all())
        held.zero_()
        return None if good else "all_reduce: a sum is wrong"

    return {"in-place": lambda: dist.all_reduce(held)}, check


def gathered(torch, dist, made, rank, world, gpu):
    whole, other = made
    chunks, share = list(whole.chunk(world)), other[: other.numel() // world]

    def gather(mine):
        if gpu and hasattr(dist, "all_gather_into_tensor"):
            dist.all_gather_into_tensor(whole, mine)
        else:
            dist.all_gather(chunks, mine)

    ways = {"out-of-place": lambda: gather(share), "in-place": lambda: gather(chunks[rank])}

    def check():
        wrong = None
        for name, mine in (("out-of-place", share), ("in-place", chunks[rank])):
            whole.zero_()
            mine.fill_(rank + 1)
            gather(mine)
            if not all(bool((chunk == number + 1).all()) for number, chunk in enumerate(chunks)):
                wrong = "all_gather %s: a part is wrong" % name
        return wrong

    return ways, check


def scattered(torch, dist, made, rank, world, gpu):
    whole, other = made
    chunks, apart = list(whole.chunk(world)), other[: other.numel() // world]

    def scatter(result):
        if gpu and hasattr(dist, "reduce_scatter_tensor"):
            dist.reduce_scatter_tensor(result, whole)
        else:
            dist.reduce_scatter(result, chunks)

    ways = {"out-of-place": lambda: scatter(apart), "in-place": lambda: scatter(chunks[rank])}

    def check():
        wrong = None
        for name, result in (("out-of-place", apart), ("in-place", chunks[rank])):
            whole.fill_(rank + 1)
            scatter(result)
            if not bool((result == world * (world + 1) // 2).all()):
                wrong = "reduce_scatter %s: a sum is wrong" % name
        whole.zero_()
        return wrong

    return ways, check


def exchanged(torch, dist, made, rank, world, gpu):
    """NCCL has no all-to-all in place."""
    received, mine = made

    def check():
        mine.fill_(rank + 1)
        dist.all_to_all_single(received, mine)
        good = all(bool((chunk == number + 1).all()) for number, chunk in enumerate(received.chunk(world)))
        return None if good else "all_to_all: a part is wrong"

    return {"out-of-place": lambda: dist.all_to_all_single(received, mine)}, check
