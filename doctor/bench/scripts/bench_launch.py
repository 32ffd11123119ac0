"""Cases whose time is that of launching kernels. A part of bench_child.py, which loads it.

Never run on a GPU: written by the documentation of torch.cuda.CUDAGraph (notes on CUDA graphs), which HIP shares.
"""

import sys

bench_cases = sys.modules.get("bench_cases")


def with_graph(torch, ways, device):
    """On a GPU also as "graph": the one call captured, and replayed. What a graph saves is the time of launching."""
    if not device.startswith("cuda"):
        return ways
    (call,) = ways.values()
    aside = torch.cuda.Stream()  # captured calls are warmed up on another stream (PyTorch, notes on CUDA graphs)
    aside.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(aside):
        for _ in range(3):
            call()
    torch.cuda.current_stream().wait_stream(aside)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        call()
    return dict(ways, graph=graph.replay)


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
    """A product as large as one step of decoding: few rows, so that launching may take longer than the product."""
    rows, columns, inner = bench_cases.sizes(case["shape"])
    kind = getattr(torch, case["dtype"])
    a, w = (torch.randn(count, inner, dtype=kind, device=device) for count in (rows, columns))
    made = torch.empty(rows, columns, dtype=kind, device=device)

    def eager():
        for _ in range(CALLS["decode"]):
            torch.matmul(a, w.t(), out=made)

    ways = with_graph(torch, {"eager": eager}, device)

    def check():
        errors = []
        for name, call in ways.items():
            made.zero_()
            call()
            errors.append((name, bench_cases.product_error(torch, made, a, w.t())))
        return bench_cases.worst(errors, case["dtype"])

    return ways, check


MAKERS = {"launch": launch, "decode": decode}
"""Their cache is warm: clearing it would give the launching a head start."""
