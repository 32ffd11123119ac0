"""Collectives as one rank of several. A part of bench_child.py, which loads it."""

import datetime
import os
import sys
import time

bench_timer = sys.modules.get("bench_timer")


def collective(torch, request, send):
    import torch.distributed as dist

    rank, world, device = request["rank"], request["world"], request["device"]
    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(torch.device(device))
    wait = datetime.timedelta(seconds=request.get("timeout_s", 60))
    backend = "nccl" if gpu else "gloo"
    dist.init_process_group(backend, init_method=request["init"], rank=rank, world_size=world, timeout=wait)
    timer = bench_timer.Timer(torch, device)
    for number, case in enumerate(request["cases"]):
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        try:
            call, check = together(torch, dist, case, device, rank, world)
            for _ in range(5):
                call()
            wrong = check()
            seen = "%s%d" % (request["seen"], number) if request.get("seen") else None
            times = repeated(
                torch,
                dist,
                timer,
                call,
                request,
                lambda key=key, seen=seen: send(event="busy", case=key, seen=seen),
                seen,
            )
            taken = {"all": [timer.milliseconds(one) for one in times]}
            send(event="case", case=key, times=taken, wrong=wrong, error=None)
        except Exception as failure:  # whatever torch raises is the answer of this case
            said = (type(failure).__name__ + ": " + str(failure))[:600]
            send(event="case", case=key, outcome="refused", detail=said)
            return
    dist.destroy_process_group()


def repeated(torch, dist, timer, call, request, half_way, seen):
    """Times of each repeat. All ranks have to stop at the same one: rank 0 decides, by its clock and, so that the
    clocks of the GPUs are read while they work, by whether its own were read."""
    times, told = [], False
    began = time.perf_counter()
    for number in range(bench_timer.MOST):
        dist.barrier()
        timer.wait()
        times.append(timer.once(call))
        timer.wait()
        spent = time.perf_counter() - began
        if not told and (number >= request["repeats"] // 2 or spent > request["budget_s"] / 2):
            told = True
            half_way()
        enough = number + 1 >= request["repeats"] or (spent > request["budget_s"] and number >= 4)
        over = enough and (not seen or os.path.exists(seen) or spent > request["budget_s"] + 3)
        stop = torch.tensor([int(over)], device=timer.cache.device)
        dist.broadcast(stop, 0)
        if int(stop):
            break
    return times


def together(torch, dist, case, device, rank, world):
    """(the call, its check). Every rank sends the number of its rank plus one, which all types hold exactly. On GPUs
    the forms that take one tensor: those that take a list copy once more, and would measure that."""
    kind = getattr(torch, case["dtype"])
    count = (int(case["shape"][:-3]) << 20) // torch.empty((), dtype=kind).element_size()
    count -= count % world
    mine = torch.full((count,), float(rank + 1), dtype=kind, device=device)
    maker = {"all_reduce": reduced, "all_gather": gathered, "reduce_scatter": scattered}.get(case["what"], exchanged)
    return maker(torch, dist, mine, world, device.startswith("cuda"))


def reduced(torch, dist, mine, world, gpu):
    held, total = torch.zeros_like(mine), float(world * (world + 1) // 2)
    # sums of zeros do not grow from repeat to repeat

    def check():
        fresh = mine.clone()
        dist.all_reduce(fresh)
        return None if bool((fresh == total).all()) else "all_reduce: a sum is wrong"

    return (lambda: dist.all_reduce(held)), check


def gathered(torch, dist, mine, world, gpu):
    parts, share = torch.empty_like(mine), mine[: mine.numel() // world]
    chunks = list(parts.chunk(world))

    def gather():
        if gpu and hasattr(dist, "all_gather_into_tensor"):
            dist.all_gather_into_tensor(parts, share)
        else:
            dist.all_gather(chunks, share)

    def check():
        gather()
        good = all(bool((chunk == number + 1).all()) for number, chunk in enumerate(chunks))
        return None if good else "all_gather: a part is wrong"

    return gather, check


def scattered(torch, dist, mine, world, gpu):
    result, total = torch.empty_like(mine[: mine.numel() // world]), float(world * (world + 1) // 2)
    inputs = list(mine.chunk(world))

    def scatter():
        if gpu and hasattr(dist, "reduce_scatter_tensor"):
            dist.reduce_scatter_tensor(result, mine)
        else:
            dist.reduce_scatter(result, inputs)

    def check():
        scatter()
        return None if bool((result == total).all()) else "reduce_scatter: a sum is wrong"

    return scatter, check


def exchanged(torch, dist, mine, world, gpu):
    received = torch.empty_like(mine)

    def exchange():
        dist.all_to_all_single(received, mine)

    def check():
        exchange()
        good = all(bool((chunk == number + 1).all()) for number, chunk in enumerate(received.chunk(world)))
        return None if good else "all_to_all: a part is wrong"

    return exchange, check
