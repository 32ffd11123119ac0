"""Measures on one device and sends raw times. Run by the user's Python, never imported.

argv: the request (JSON), the descriptor for events. mode "list": the devices; "measure": the cases one after another;
"collective": the cases as one rank of several; "tuned": products with and without TunableOp's results, in turn.
Inputs are normally distributed, the cache is cold before each repeat, ways to do one thing are timed in turn.
"""

import json
import os
import sys
import time

sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

MOST = 2000
TOLERANCE = {"float32": 5e-3, "bfloat16": 1.5e-2, "float16": 1e-2, "float8": 4e-2}
WORST_ROW = 0.1
"""Of the row's norm: one wrong value among ten thousand shows."""


def main():
    request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")

    def send(**event):
        out.write(json.dumps(event) + "\n")
        out.flush()

    try:
        with open("/proc/self/oom_score_adj", "w") as held:  # where memory runs out, this process is the one to go
            held.write("1000")
    except OSError:
        pass
    import torch

    torch.manual_seed(request.get("seed", 0))
    {"list": devices, "measure": measure, "collective": collective, "tuned": tuned}[request["mode"]](
        torch, request, send
    )
    send(event="end")


def devices(torch, request, send):
    found = []
    for number in range(torch.cuda.device_count() if torch.cuda.is_available() else 0):
        told = torch.cuda.get_device_properties(number)
        bus = getattr(told, "pci_bus_id", None)
        address = None if bus is None else "%04x:%02x:%02x.0" % (told.pci_domain_id, bus, told.pci_device_id)
        found.append({"name": told.name, "pci": address, "memory": told.total_memory})
    send(event="devices", devices=found, torch=torch.__version__, hip=torch.version.hip, cuda=torch.version.cuda)


class Timer:
    """Times one call on the device, with a cold cache: its buffer is larger than any last-level cache."""

    def __init__(self, torch, device):
        self.torch, self.gpu = torch, device.startswith("cuda")
        self.cache = torch.empty((256 if self.gpu else 48) << 20, dtype=torch.int8, device=device)

    def wait(self):
        if self.gpu:
            self.torch.cuda.synchronize()

    def once(self, call):
        """Milliseconds, or a pair of events that tell them later."""
        self.cache.zero_()
        if not self.gpu:
            began = time.perf_counter()
            call()
            return (time.perf_counter() - began) * 1e3
        start = self.torch.cuda.Event(enable_timing=True)
        end = self.torch.cuda.Event(enable_timing=True)
        start.record()
        call()
        end.record()
        return start, end

    def all(self, ways, repeats, budget_s, between=None):
        """Name -> milliseconds of each repeat, the ways in turn and in an order that turns too. `between` is called
        once, half way, while the device is at work."""
        names, taken = list(ways), {name: [] for name in ways}
        began, told = time.perf_counter(), False
        for number in range(MOST):
            for name in names if number % 2 == 0 else names[::-1]:
                taken[name].append(self.once(ways[name]))
            if number % 8 == 7:
                self.wait()
            spent = time.perf_counter() - began
            if between and not told and (number >= repeats // 2 or spent > budget_s / 2):
                told = True
                between()
            if number + 1 >= repeats or (spent > budget_s and number >= 4):
                break
        self.wait()
        return {name: [self.milliseconds(one) for one in held] for name, held in taken.items()}

    def milliseconds(self, one):
        return round(one[0].elapsed_time(one[1]) if isinstance(one, tuple) else one, 6)


def measure(torch, request, send):
    device = request["device"]
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    timer = Timer(torch, device)
    for case in request["cases"]:
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        try:
            ways, check = MAKERS[case["what"]](torch, case, device)
            began = time.perf_counter()
            while True:  # until clocks have risen, libraries have loaded and compilers are done
                for call in ways.values():
                    call()
                timer.wait()
                if time.perf_counter() - began > request.get("warm_s", 0.2):
                    break
            error, wrong = check()
            times = timer.all(
                ways, request["repeats"], request["budget_s"], lambda key=key: send(event="busy", case=key)
            )
            send(event="case", case=key, times=times, error=error, wrong=wrong)
        except Exception as failure:  # whatever torch raises is the answer of this case
            said = (type(failure).__name__ + ": " + str(failure))[:600]
            memory = "OutOfMemory" in type(failure).__name__ or "not enough memory" in said or "MemoryError" in said
            send(event="case", case=key, outcome="out-of-memory" if memory else "refused", detail=said)
        ways = check = None
        if device.startswith("cuda"):
            torch.cuda.empty_cache()


def sizes(shape):
    return [int(part) for part in shape.split("x")]


def gemm(torch, case, device):
    rows, columns, inner = sizes(case["shape"])
    if case["dtype"] == "float8":
        return gemm_float8(torch, rows, columns, inner, device)
    kind = getattr(torch, case["dtype"])
    a = torch.randn(rows, inner, dtype=kind, device=device)
    b = torch.randn(inner, columns, dtype=kind, device=device)
    weight, bias = b.t().contiguous(), torch.zeros(columns, dtype=kind, device=device)
    linear = torch.nn.functional.linear
    ways = {
        "matmul": lambda: torch.matmul(a, b),
        "linear": lambda: linear(a, weight),
        "linear-bias": lambda: linear(a, weight, bias),
    }
    return ways, lambda: worst(
        [(name, product_error(torch, call(), a, b)) for name, call in ways.items()], case["dtype"]
    )


def gemm_float8(torch, rows, columns, inner, device):
    fnuz = torch.version.hip and getattr(torch.cuda.get_device_properties(0), "gcnArchName", "").startswith("gfx94")
    kind = torch.float8_e4m3fnuz if fnuz else torch.float8_e4m3fn
    a = torch.randn(rows, inner, dtype=torch.bfloat16, device=device).to(kind)
    b = torch.randn(columns, inner, dtype=torch.bfloat16, device=device).to(kind).t()
    one = torch.ones((), dtype=torch.float32, device=device)

    def call():
        result = torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        return result[0] if isinstance(result, tuple) else result

    return {"matmul": call}, lambda: worst([("matmul", product_error(torch, call(), a, b))], "float8")


def product_error(torch, result, a, b):
    """(relative error, that of the worst row): result·x against a·(b·x) in float64 for a random x of ones and minus
    ones (Freivalds), so that every element counts and no second product is needed."""
    x = torch.randint(0, 2, (result.shape[1], 1), device=result.device).double() * 2 - 1
    step = 2048

    def times(matrix, vector):
        wide = torch.float32 if "float8" in str(matrix.dtype) else matrix.dtype
        parts = [matrix[at : at + step].to(wide).double() @ vector for at in range(0, matrix.shape[0], step)]
        return torch.cat(parts)

    got, wanted = times(result, x), times(a, times(b, x))
    norms = torch.cat(
        [result[at : at + step].double().norm(dim=1, keepdim=True) for at in range(0, result.shape[0], step)]
    )
    if not bool(torch.isfinite(got).all()):
        return 1e9, 1e9
    return float((got - wanted).norm() / wanted.norm()), float(((got - wanted).abs() / norms.clamp_min(1e-30)).max())


def worst(errors, dtype):
    """(largest relative error, why it is wrong or None)"""
    for name, (error, row) in errors:
        if not error <= TOLERANCE[dtype] or not row <= WORST_ROW:
            why = "%s: relative error %.2g (%.2g is allowed), of the worst row %.2g (%.2g)"
            return error, why % (name, error, TOLERANCE[dtype], row, WORST_ROW)
    return max(error for _, (error, _) in errors), None


def copy(torch, case, device):
    size = int(case["shape"].removesuffix("MiB")) << 20
    source = torch.randint(0, 127, (size,), dtype=torch.int8, device=device)
    target = torch.zeros_like(source)

    def check():
        target.copy_(source)
        return 0.0, None if torch.equal(target, source) else "the copy differs from its source"

    return {"hbm": lambda: target.copy_(source)}, check


def host(torch, case, device):
    size = int(case["shape"].removesuffix("MiB")) << 20
    there = torch.randint(0, 127, (size,), dtype=torch.int8, device=device)
    here = torch.empty(size, dtype=torch.int8, pin_memory=True)
    back = torch.empty_like(there)

    def check():
        here.copy_(there)
        back.copy_(here)
        torch.cuda.synchronize()
        return 0.0, None if torch.equal(back, there) else "what came back differs from what was sent"

    up, down = (lambda: back.copy_(here, non_blocking=True)), (lambda: here.copy_(there, non_blocking=True))
    return {"to-device": up, "to-host": down}, check


def heads(torch, shape, kind, device, gradient):
    return [torch.randn(*shape, dtype=kind, device=device, requires_grad=gradient) for _ in range(3)]


def reference_attention(torch, q, k, v):
    """In float64, causal; of a few heads."""
    q, k, v = (t.detach()[:1, :2].cpu().double() for t in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


def attention(torch, case, device):
    call = torch.nn.functional.scaled_dot_product_attention
    kind = getattr(torch, case["dtype"])
    q, k, v = heads(torch, sizes(case["shape"]), kind, device, True)
    made = call(q, k, v, is_causal=True)
    upstream = torch.randn_like(made)

    def check():
        got = call(q, k, v, is_causal=True).detach()[:1, :2].cpu().double()
        wanted = reference_attention(torch, q, k, v)
        error = float((got - wanted).norm() / wanted.norm())
        grads = torch.autograd.grad(made, (q, k, v), upstream, retain_graph=True)
        if not all(bool(torch.isfinite(g).all()) for g in grads):
            return error, "a gradient of attention is not finite"
        bad = not error <= 2 * TOLERANCE[case["dtype"]]
        return error, "forward: relative error %.2g" % error if bad else None

    def backward():
        torch.autograd.grad(made, (q, k, v), upstream, retain_graph=True)

    return {"forward": lambda: call(q, k, v, is_causal=True), "backward": backward}, check


def flex(torch, case, device):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = heads(torch, sizes(case["shape"]), getattr(torch, case["dtype"]), device, False)
    length = q.shape[2]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)
    compiled = torch.compile(flex_attention)

    def check():
        got = compiled(q, k, v, block_mask=mask)[:1, :2].cpu().double()
        wanted = reference_attention(torch, q, k, v)
        error = float((got - wanted).norm() / wanted.norm())
        bad = not error <= 2 * TOLERANCE[case["dtype"]]
        return error, "FlexAttention: relative error %.2g" % error if bad else None

    return {"attention": lambda: compiled(q, k, v, block_mask=mask)}, check


def compiled(torch, case, device):
    rows, columns = sizes(case["shape"])
    kind = getattr(torch, case["dtype"])
    x, w = torch.randn(rows, columns, dtype=kind, device=device), torch.randn(columns, rows, dtype=kind, device=device)

    def plain(x, w):
        return torch.nn.functional.gelu(x @ w).softmax(-1) + x.sum(-1, keepdim=True)

    fast = torch.compile(plain)

    def check():
        got, wanted = fast(x, w).double(), plain(x.double(), w.double())
        error = float((got - wanted).norm() / wanted.norm())
        bad = not error <= 2 * TOLERANCE[case["dtype"]]
        return error, "torch.compile: relative error %.2g against eager in float64" % error if bad else None

    return {"model": lambda: fast(x, w)}, check


MAKERS = {"gemm": gemm, "copy": copy, "host": host, "attention": attention, "flex": flex, "compile": compiled}


def collective(torch, request, send):
    import datetime

    import torch.distributed as dist

    rank, world, device = request["rank"], request["world"], request["device"]
    gpu = device.startswith("cuda")
    if gpu:
        torch.cuda.set_device(torch.device(device))
    wait = datetime.timedelta(seconds=request.get("timeout_s", 60))
    backend = "nccl" if gpu else "gloo"
    dist.init_process_group(backend, init_method=request["init"], rank=rank, world_size=world, timeout=wait)
    timer = Timer(torch, device)
    for case in request["cases"]:
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        try:
            call, check = together(torch, dist, case, device, rank, world)
            for _ in range(5):
                call()
            wrong = check()
            times = []
            began = time.perf_counter()
            for number in range(request["repeats"]):
                dist.barrier()
                timer.wait()
                times.append(timer.once(call))
                timer.wait()
                # All ranks have to stop at the same repeat: rank 0's clock decides.
                stop = torch.tensor(
                    [int(time.perf_counter() - began > request["budget_s"] and number >= 4)], device=device
                )
                dist.broadcast(stop, 0)
                if int(stop):
                    break
            taken = {"all": [timer.milliseconds(one) for one in times]}
            send(event="case", case=key, times=taken, wrong=wrong, error=None)
        except Exception as failure:  # whatever torch raises is the answer of this case
            said = (type(failure).__name__ + ": " + str(failure))[:600]
            send(event="case", case=key, outcome="refused", detail=said)
            return
    dist.destroy_process_group()


def together(torch, dist, case, device, rank, world):
    """(the call, its check). Every rank sends the number of its rank plus one, which all kinds hold exactly."""
    kind = getattr(torch, case["dtype"])
    count = (int(case["shape"].removesuffix("MiB")) << 20) // torch.empty((), dtype=kind).element_size()
    count -= count % world
    mine = torch.full((count,), float(rank + 1), dtype=kind, device=device)
    total = float(world * (world + 1) // 2)
    if case["what"] == "all_reduce":
        held = torch.zeros_like(mine)  # sums of zeros do not grow from repeat to repeat

        def check():
            fresh = mine.clone()
            dist.all_reduce(fresh)
            return None if bool((fresh == total).all()) else "all_reduce: a sum is wrong"

        return (lambda: dist.all_reduce(held)), check
    part = count // world
    if case["what"] == "all_gather":
        parts = torch.empty(count, dtype=kind, device=device)
        chunks = list(parts.chunk(world))

        def gather():
            dist.all_gather(chunks, mine[:part])

        def check():
            gather()
            good = all(bool((chunk == number + 1).all()) for number, chunk in enumerate(chunks))
            return None if good else "all_gather: a part is wrong"

        return gather, check
    if case["what"] == "reduce_scatter":
        result = torch.empty(part, dtype=kind, device=device)
        inputs = list(mine.chunk(world))

        def scatter():
            dist.reduce_scatter(result, inputs)

        def check():
            scatter()
            return None if bool((result == total).all()) else "reduce_scatter: a sum is wrong"

        return scatter, check
    received = torch.empty(count, dtype=kind, device=device)

    def exchange():
        dist.all_to_all_single(received, mine)

    def check():
        exchange()
        good = all(bool((chunk == number + 1).all()) for number, chunk in enumerate(received.chunk(world)))
        return None if good else "all_to_all: a part is wrong"

    return exchange, check


def tuned(torch, request, send):
    """Each product with TunableOp's results and without, in turn. With "tune" the results are made first."""
    device = request["device"]
    tunable = torch.cuda.tunable
    timer = Timer(torch, device)
    if request.get("tune"):
        tunable.set_filename(request["file"])
        tunable.enable(True)
        tunable.tuning_enable(True)
        began = time.perf_counter()
        for shape in request["shapes"]:
            if time.perf_counter() - began > request["budget_s"]:
                send(event="left", shape=shape)
                continue
            send(event="begin", case="tune/" + shape)
            for call in gemm(torch, {"shape": shape, "dtype": request["dtype"]}, device)[0].values():
                call()
            timer.wait()
        if hasattr(tunable, "write_file"):
            tunable.write_file(request["file"])
    else:
        tunable.enable(True)
        send(event="loaded", taken=bool(tunable.read_file(request["file"])))
    tunable.tuning_enable(False)
    for shape in request["shapes"]:
        case = "tuned/%s/%s" % (request["dtype"], shape)
        send(event="begin", case=case)
        plain, check = gemm(torch, {"shape": shape, "dtype": request["dtype"]}, device)

        def switched(on, call):
            tunable.enable(on)
            call()

        ways = {}
        for name, call in plain.items():
            ways[name + "+tuned"] = lambda call=call: switched(True, call)
            ways[name] = lambda call=call: switched(False, call)
        for call in ways.values():
            call()
        tunable.enable(True)
        error, wrong = check()
        times = timer.all(ways, request["repeats"], 5.0)
        memory = torch.cuda.max_memory_allocated() if device.startswith("cuda") else None
        send(event="case", case=case, times=times, error=error, wrong=wrong, memory=memory)
    tunable.enable(False)


if __name__ == "__main__":
    main()
