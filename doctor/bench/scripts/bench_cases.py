"""What is timed, each with a check of its values. A part of bench_child.py, which loads it.

A maker takes (torch, the case, the device) and gives (name -> call, the check); the check gives (relative error, what
is wrong or None). A third part may say what runs in each way.
"""

import sys

TOLERANCE = {"float32": 5e-3, "bfloat16": 1.5e-2, "float16": 1e-2, "float8": 4e-2, "float4": 1.5e-2}
WORST_ROW = 0.1
"""Of the row's norm: one wrong value among ten thousand shows."""


class Absent(Exception):
    """This GPU or torch does not have it, so the case is not run."""


def sizes(shape):
    return [int(part) for part in shape.split("x")]


def gemm(torch, case, device):
    rows, columns, inner = sizes(case["shape"])
    if case["dtype"] in ("float8", "float4"):
        return getattr(sys.modules["bench_scaled"], case["dtype"])(torch, rows, columns, inner, device)
    kind = getattr(torch, case["dtype"])
    a = torch.randn(rows, inner, dtype=kind, device=device)
    weight, bias = torch.randn(columns, inner, dtype=kind, device=device), offsets(torch, columns, inner, kind, device)
    linear = torch.nn.functional.linear
    ways = {
        "matmul": lambda: torch.matmul(a, weight.t()),
        "linear": lambda: linear(a, weight),
        "matmul-bias": lambda: torch.matmul(a, weight.t()) + bias,
        "linear-bias": lambda: linear(a, weight, bias),
    }

    def check():
        added = {name: bias if name.endswith("bias") else None for name in ways}
        errors = [(name, product_error(torch, call(), a, weight.t(), added[name])) for name, call in ways.items()]
        return worst(errors, case["dtype"])

    return ways, check


def offsets(torch, columns, inner, kind, device):
    """A bias as large as the product's own values, whose deviation is the root of K: rounding can't hide its loss."""
    return (torch.randn(columns, device=device) * inner**0.5).to(kind)


def gfx(torch, device):
    return getattr(torch.cuda.get_device_properties(torch.device(device)), "gcnArchName", "")


VECTORS = 4
"""A lost bias shifts all rows by one sum of signs: now and then that is near zero for one of these, never for all."""


def product_error(torch, result, a, b, bias=None):
    """(relative error, that of the worst row): result·x against a·(b·x) + bias·x in float64 for random x of ones and
    minus ones (Freivalds), so that every element counts and no second product is needed."""
    x = torch.randint(0, 2, (result.shape[1], VECTORS), device=result.device).double() * 2 - 1
    step = 2048

    def times(matrix, vector):
        wide = torch.float32 if "float8" in str(matrix.dtype) else matrix.dtype
        parts = [matrix[at : at + step].to(wide).double() @ vector for at in range(0, matrix.shape[0], step)]
        return torch.cat(parts)

    got, wanted = times(result, x), times(a, times(b, x))
    if bias is not None:
        wanted = wanted + bias.double() @ x
    norms = torch.cat(
        [result[at : at + step].double().norm(dim=1, keepdim=True) for at in range(0, result.shape[0], step)]
    )
    if not bool(torch.isfinite(got).all()):
        return 1e9, 1e9
    rows = (got - wanted).norm(dim=1, keepdim=True) / VECTORS**0.5
    return float((got - wanted).norm() / wanted.norm()), float((rows / norms.clamp_min(1e-30)).max())


def worst(errors, dtype):
    """(largest relative error, why it is wrong or None)"""
    for name, (error, row) in errors:
        if not error <= TOLERANCE[dtype] or not row <= WORST_ROW:
            why = "%s: relative error %.2g (%.2g is allowed), of the worst row %.2g (%.2g)"
            return error, why % (name, error, TOLERANCE[dtype], row, WORST_ROW)
    return max(error for _, (error, _) in errors), None


def amount(shape):
    """Bytes of `8B`, `64KiB`, `1024MiB`."""
    number = shape.rstrip("KMGiB")
    return int(number) << {"": 0, "K": 10, "M": 20, "G": 30}[shape[len(number) :].rstrip("iB")]


SCALAR = 0.4
"""BabelStream's (src/Stream.h)."""
PART = 1 << 20
"""Elements that are compared at a time: whole arrays would take as much memory again, several times."""


def copy(torch, case, device):
    """BabelStream's copy, mul and triad; its values are constant, which lets a GPU clock higher, and ours are not."""
    count = amount(case["shape"]) // 8
    a, c = (torch.randn(count, dtype=torch.float64, device=device) for _ in range(2))
    b = torch.zeros_like(a)
    ways = {
        "copy": lambda: b.copy_(a),
        "scale": lambda: torch.mul(a, SCALAR, out=b),
        "triad": lambda: torch.add(a, c, alpha=SCALAR, out=b),
    }
    right = {
        "copy": lambda part: a[part],
        "scale": lambda part: a[part] * SCALAR,
        "triad": lambda part: a[part] + c[part] * SCALAR,
    }
    parts = [slice(at, at + PART) for at in range(0, count, PART)]

    def check():
        for name, call in ways.items():
            b.zero_()
            call()
            # Triad may be one rounding or two.
            if not all(torch.allclose(b[part], right[name](part), rtol=1e-12, atol=1e-14) for part in parts):
                return 1.0, "%s: the result is wrong" % name
        return 0.0, None

    return ways, check


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

    ways, backend = {"forward": lambda: call(q, k, v, is_causal=True), "backward": backward}, chosen(torch, q, k, v)
    return ways, check, dict.fromkeys(ways, "backend %s" % backend) if backend else {}


def chosen(torch, q, k, v):
    """The backend that scaled_dot_product_attention takes for these inputs, as torch names it, such as
    FLASH_ATTENTION: its backward is the same backend's. None where torch does not say."""
    try:
        from torch.nn.attention import SDPBackend

        number = int(torch._fused_sdp_choice(q, k, v, is_causal=True))
        return next((name for name, one in SDPBackend.__members__.items() if int(one) == number), None)
    except (ImportError, AttributeError, TypeError):
        return None


def flex(torch, case, device):
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    q, k, v = heads(torch, sizes(case["shape"]), getattr(torch, case["dtype"]), device, False)
    length = q.shape[2]
    mask = create_block_mask(lambda b, h, i, j: i >= j, None, None, length, length, device=device)
    compiled = torch.compile(flex_attention)

    call = {"attention": lambda: compiled(q, k, v, block_mask=mask)}
    ways = sys.modules["bench_launch"].with_graph(torch, call, device)

    def check():
        wanted = reference_attention(torch, q, k, v)[0]
        error = max(apart(call(), wanted) for call in ways.values())
        bad = not error <= 2 * TOLERANCE[case["dtype"]]
        return error, "FlexAttention: relative error %.2g" % error if bad else None

    return ways, check


def compiled(torch, case, device):
    rows, columns = sizes(case["shape"])
    kind = getattr(torch, case["dtype"])
    x, w = torch.randn(rows, columns, dtype=kind, device=device), torch.randn(columns, rows, dtype=kind, device=device)

    def plain(x, w):
        return torch.nn.functional.gelu(x @ w).softmax(-1) + x.sum(-1, keepdim=True)

    fast = torch.compile(plain)
    ways = sys.modules["bench_launch"].with_graph(torch, {"model": lambda: fast(x, w)}, device)

    def check():
        wanted = plain(x.double(), w.double())
        errors = [float((call().double() - wanted).norm() / wanted.norm()) for call in ways.values()]
        error, bad = max(errors), not all(one <= 2 * TOLERANCE[case["dtype"]] for one in errors)
        return error, "torch.compile: relative error %.2g against eager in float64" % error if bad else None

    return ways, check


MAKERS = {"gemm": gemm, "copy": copy, "attention": attention, "flex": flex, "compile": compiled}
WARM = ("gemm", "attention")
"""Also timed with a warm cache. Copies are larger than any cache."""
