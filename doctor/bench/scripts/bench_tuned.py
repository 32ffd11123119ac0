"""TunableOp's results: made, and held against what torch takes without. A part of bench_child.py, which loads it."""

import re
import sys
import time

bench_cases = sys.modules.get("bench_cases")
TYPES = {
    "float": "float32", "tf32": "float32", "double": "float64", "BFloat16": "bfloat16", "Half": "float16",
}  # fmt: skip
"""As TunableOp writes them (torch/cuda/tunable.py reads them so)."""


def run(torch, request, send):
    device, tunable = request["device"], torch.cuda.tunable
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    tunable.enable(True)
    if request["mode"] == "tune":
        tunable.set_filename(request["file"])
        tunable.tuning_enable(True)
        tuned(torch, request, send)
        return
    tunable.tuning_enable(False)
    here = [[str(word) for word in one] for one in tunable.get_validators()]
    send(event="loaded", taken=bool(tunable.read_file(request["file"])), validators=here)
    timer = sys.modules["bench_timer"].Timer(torch, device)
    for case in request["cases"]:
        send(event="begin", case=case["key"])
        try:
            compared(torch, case, device, timer, request["repeats"], send)
        except Exception as failure:  # whatever torch raises is the answer of this entry
            text = (type(failure).__name__ + ": " + str(failure))[:300]
            send(event="case", case=case["key"], refused=text)
    tunable.enable(False)


def tuned(torch, request, send):
    """The file is written after each product, so that it is whole when the budget ends within one. Since 2.10 torch
    does that by itself."""
    began = time.perf_counter()
    for case in request["cases"]:
        if time.perf_counter() - began > request["budget_s"]:
            send(event="left", case=case["key"])
            continue
        send(event="begin", case=case["key"])
        for call in ways_of(torch, case, request["device"])[0].values():
            call()
        if request["device"].startswith("cuda"):
            torch.cuda.synchronize()
        if hasattr(torch.cuda.tunable, "write_file"):
            torch.cuda.tunable.write_file(request["file"])
        send(event="tuned", case=case["key"])


def compared(torch, case, device, timer, repeats, send):
    """Each way with the results and without, in turn."""
    plain, check = ways_of(torch, case, device)

    def switched(on, call):
        torch.cuda.tunable.enable(on)
        call()

    ways = {}
    for name, call in plain.items():
        ways[name + "+tuned"] = lambda call=call: switched(True, call)
        ways[name] = lambda call=call: switched(False, call)
    for call in ways.values():
        call()
    torch.cuda.tunable.enable(True)
    error, wrong = check()
    times = timer.all(ways, repeats, 5.0)
    send(event="case", case=case["key"], times=times, error=error, wrong=wrong)


def ways_of(torch, case, device):
    """Of a product by its shape, or of an entry of a results file."""
    return entry(torch, case, device) if case.get("operator") else bench_cases.gemm(torch, case, device)


def entry(torch, case, device):
    """The call of torch that makes the entry's signature. BLAS counts columns first, so that its A is torch's second
    matrix: `tn_m_n_k` is x(n, k) times w(k, m), with w stored as (m, k)."""
    match = re.match(r"(\w+?)TunableOp_(\w+)_([TN])([TN])$", case["operator"])
    kind = match and match.group(1)
    if kind == "ScaledGemm" and match.group(3) + match.group(4) == "TN":
        return scaled(torch, case, match.group(2), device)
    if kind not in ("Gemm", "GemmStridedBatched", "GemmAndBias") or match.group(2) not in TYPES:
        raise ValueError("no call of torch is known that makes a " + case["operator"][:60])
    name = TYPES[match.group(2)]
    dtype, (m, n, k) = getattr(torch, name), case["sizes"]
    batch = (case["batch"],) if kind == "GemmStridedBatched" else ()
    first = stored(torch, (*batch, n, k), match.group(4) == "T", dtype, device)
    second = stored(torch, (*batch, k, m), match.group(3) == "T", dtype, device)
    if name == "float32":
        torch.backends.cuda.matmul.allow_tf32 = match.group(2) == "tf32"
    call, bias = torch.bmm if batch else torch.mm, bench_cases.offsets(torch, m, k, dtype, device)
    if kind == "GemmAndBias":
        ways = {case["solution"]: lambda: torch.addmm(bias, first, second)}
    else:
        ways = {case["solution"]: lambda: call(first, second)}
    allowed = "bfloat16" if match.group(2) == "tf32" else "float32" if name == "float64" else name
    added = bias if kind == "GemmAndBias" else None
    return ways, lambda: checked(torch, ways, first, second, bool(batch), allowed, added)


def scaled(torch, case, types, device):
    """`Float8_e4m3fn_Float8_e4m3fn_BFloat16`: of both matrices and of the result; one scale for each matrix."""
    names = re.match(r"Float8_(\w{4,8})_Float8_(\w{4,8})_(BFloat16|Half|float)$", types)
    if not names or "_rw_1" in case["shape"] or not case["shape"].endswith("bias_None"):
        raise ValueError("no call of torch is known that makes a " + case["operator"][:60])
    m, n, k = case["sizes"]
    second_type, first_type = (getattr(torch, "float8_" + names.group(number)) for number in (1, 2))
    first = stored(torch, (n, k), False, torch.bfloat16, device).to(first_type)
    second = stored(torch, (m, k), False, torch.bfloat16, device).to(second_type).t()
    one, out = torch.ones((), device=device), getattr(torch, TYPES[names.group(3)])

    def call():
        made = torch._scaled_mm(first, second, scale_a=one, scale_b=one, out_dtype=out)
        return made[0] if isinstance(made, tuple) else made

    ways = {case["solution"]: call}
    return ways, lambda: checked(torch, ways, first, second, False, "float8")


def checked(torch, ways, first, second, batched, allowed, bias=None):
    found = []
    for name, call in ways.items():
        made = call()
        for number in range(min(made.shape[0], 16) if batched else 1):
            three = (made[number], first[number], second[number]) if batched else (made, first, second)
            found.append((name, bench_cases.product_error(torch, *three, bias)))
    return bench_cases.worst(found, allowed)


def stored(torch, shape, turned, dtype, device):
    """A matrix (or a batch) of that shape; `turned`: its columns lie together."""
    made = torch.randn(*shape[:-2], *(shape[:-3:-1] if turned else shape[-2:]), dtype=dtype, device=device)
    return made.transpose(-1, -2) if turned else made
