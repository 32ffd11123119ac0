"""What is timed, each with a check of its values. A part of bench_child.py, which loads it.

A maker takes (torch, the case, the device) and gives (name -> call, the check); the check gives (relative error, what
is wrong or None).
"""

TOLERANCE = {"float32": 5e-3, "bfloat16": 1.5e-2, "float16": 1e-2, "float8": 4e-2}
WORST_ROW = 0.1
"""Of the row's norm: one wrong value among ten thousand shows."""


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


def gfx(torch, device):
    return getattr(torch.cuda.get_device_properties(torch.device(device)), "gcnArchName", "")


def gemm_float8(torch, rows, columns, inner, device):
    fnuz = torch.version.hip and gfx(torch, device).startswith("gfx94")
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
    size = int(case["shape"][:-3]) << 20
    source = torch.randint(0, 127, (size,), dtype=torch.int8, device=device)
    target = torch.zeros_like(source)

    def check():
        target.copy_(source)
        return 0.0, None if torch.equal(target, source) else "the copy differs from its source"

    return {"hbm": lambda: target.copy_(source)}, check


def host(torch, case, device):
    size = int(case["shape"][:-3]) << 20
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


def reference_attention(torch, q, k, v, upstream=None):
    """In float64, causal, of one head: the result, and with what flows back the gradients of q, k and v."""
    q, k, v = (t.detach()[:1, :1].cpu().double().requires_grad_(upstream is not None) for t in (q, k, v))
    scores = q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5
    mask = torch.ones(scores.shape[-2:], dtype=torch.bool).tril()
    made = scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v
    if upstream is None:
        return made, ()
    return made.detach(), torch.autograd.grad(made, (q, k, v), upstream.detach()[:1, :1].cpu().double())


def apart(got, wanted):
    """Relative error of one head, in the Frobenius norm; what is no number is wholly wrong."""
    error = float((got.detach()[:1, :1].cpu().double() - wanted).norm() / wanted.norm())
    return error if error == error else 1e9


def attention(torch, case, device):
    call = torch.nn.functional.scaled_dot_product_attention
    kind = getattr(torch, case["dtype"])
    q, k, v = heads(torch, sizes(case["shape"]), kind, device, True)
    made = call(q, k, v, is_causal=True)
    upstream = torch.randn_like(made)
    allowed = 2 * TOLERANCE[case["dtype"]]

    def check():
        wanted, gradients = reference_attention(torch, q, k, v, upstream)
        errors = {"forward": apart(call(q, k, v, is_causal=True), wanted)}
        grads = torch.autograd.grad(made, (q, k, v), upstream, retain_graph=True)
        for name, got, right in zip(("dq", "dk", "dv"), grads, gradients):  # noqa: B905 (Python 3.8)
            errors["backward " + name] = apart(got, right)
        if not all(bool(torch.isfinite(g).all()) for g in grads):
            return 1e9, "backward: a gradient is not finite"
        wrong = [name for name, error in errors.items() if not error <= allowed]
        worst_of = max(errors.values())
        why = "%s: relative error %.2g (%.2g is allowed)"
        return worst_of, why % (wrong[0], errors[wrong[0]], allowed) if wrong else None

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
        error = apart(compiled(q, k, v, block_mask=mask), reference_attention(torch, q, k, v)[0])
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
