"""Cases whose time is that of launching kernels. A part of bench_child.py, which loads it.

Never run on a GPU: written by the documentation of torch.cuda.CUDAGraph (notes on CUDA graphs), which HIP shares.
"""

import sys

bench_cases = sys.modules.get("bench_cases")


def with_graph(torch, ways, device):
    """On a GPU also as "graph" or "NAME-graph": the one call captured, and replayed. What that saves is launching."""
    if not device.startswith("cuda"):
        return ways
    ((name, call),) = ways.items()
    aside = torch.cuda.Stream()  # captured calls are warmed up on another stream (PyTorch, notes on CUDA graphs)
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        made = call()

    def replay():
        graph.replay()
        return made

    return dict(ways, **{"graph" if name == "eager" else name + "-graph": replay})


CALLS = {"launch": 1000, "decode": 20}
"""Of one repeat; the time is divided by it."""


def launch(torch, case, device):
    """Kernels that have nothing to do, so that the time is that of launching them."""
    x = torch.zeros(1, device=device)

    def eager():
        for _ in range(CALLS["launch"]):
            x.add_(1)

    ways = with_graph(torch, {"eager": eager}, device)

    def check():
        for name, call in ways.items():
            x.zero_()
            call()
            if float(x) != CALLS["launch"]:
                return 1.0, "%s: %g of %d kernels ran" % (name, float(x), CALLS["launch"])
        return 0.0, None

    return ways, check


def decode(torch, case, device):
    """Products as large as those of one step of decoding: few rows, and other weights in each call, as from one layer
    to the next, so that they come from memory and not from a cache."""
    rows, columns, inner = bench_cases.sizes(case["shape"])
    kind = getattr(torch, case["dtype"])
    a = torch.randn(rows, inner, dtype=kind, device=device)
    weights = torch.randn(CALLS["decode"], columns, inner, dtype=kind, device=device)
    made = torch.empty(CALLS["decode"], rows, columns, dtype=kind, device=device)

    def eager():
        for weight, result in zip(weights, made):  # noqa: B905 (Python 3.8)
            torch.matmul(a, weight.t(), out=result)

    ways = with_graph(torch, {"eager": eager}, device)

    def check():
        errors = []
        for name, call in ways.items():
            made.zero_()
            call()
            errors += [(name, bench_cases.product_error(torch, made[at], a, weights[at].t())) for at in (0, -1)]
        return bench_cases.worst(errors, case["dtype"])

    size = weights.numel() * weights.element_size() >> 20
    return ways, check, dict.fromkeys(ways, "%d weight matrices in turn, %d MiB in all" % (CALLS["decode"], size))


MAKERS = {"launch": launch, "decode": decode}
"""Timed without a flush before: it would give the launching a head start."""
