"""Runs one small matrix product of each kind and sends what was seen. Run by the user's Python, never imported.

argv: the request (JSON: device, cases, seed), the descriptor for events. All that is printed, by us or by a library in
C, goes to one file; what one product added to it is read after C's buffers were flushed and the device was waited for.
"""

import ctypes
import json
import os
import re
import sys
import tempfile

sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != os.path.dirname(os.path.abspath(__file__))]

M, N, K, BATCH = 256, 512, 384, 4
"""Of the sizes no two are equal, so that a log line tells which is which; all divide by 16, as FP8 asks."""
LIBRARIES = re.compile(r"/[^/]*(?:blas|mkl|dnn|openblas|blis|tensile|torch|amdhip|cudart|aiter|/library/)[^/]*$", re.I)
MOST_LOG = 20000


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
    printed = Printed()
    try:
        import torch
    except BaseException:  # what is wrong has to reach whoever started this
        printed.release()
        raise
    device = request.get("device") or ("cuda" if torch.cuda.is_available() else "cpu")
    send(event="torch", **about(torch, device))
    seen = set()
    for case in request["cases"]:
        entry, dtype, *shape = case.split("/")
        send(event="begin", case=case)
        try:
            sizes = [int(size) for size in shape[0].split("x")] if shape else (M, N, K)
            product, terms, tolerance = prepared(torch, entry, dtype, device, request.get("seed", 0), *sizes)
            wait(torch, device)
            printed.since()  # what was printed before is no product of this case
            result = product()
            wait(torch, device)
            log = printed.since()
            kernels = profiled(torch, product, device)
            error = relative_error(torch, result, *terms)
        except Absent as absent:
            send(event="case", case=case, outcome="not-run", detail=str(absent))
            continue
        except Exception as failure:  # whatever torch raises is the answer of this case
            said = (type(failure).__name__ + ": " + str(failure))[:600]
            # A type that this device has not, or a shape that its memory does not hold.
            outcome = "not-run" if "not implemented for '" in said or (shape and "OutOfMemory" in said) else "refused"
            send(event="case", case=case, outcome=outcome, detail=said, log=printed.since())
            continue
        files = [f for f in mapped() if f not in seen]
        seen.update(files)
        answer = {"log": log, "kernels": kernels, "error": error, "tolerance": tolerance, "files": files}
        send(event="case", case=case, outcome="ran" if error <= tolerance else "wrong", **answer)
    send(event="end", preferred=preferred(torch), files=mapped())


class Absent(Exception):
    pass


class Printed:
    """Takes descriptors 1 and 2. One file for the whole run: libraries keep their own copy of a descriptor."""

    def __init__(self):
        self.libc = ctypes.CDLL(None)
        self.file = tempfile.TemporaryFile()
        self.at = 0
        sys.stdout.flush()
        sys.stderr.flush()
        self.outer = os.dup(2)
        os.dup2(self.file.fileno(), 1)
        os.dup2(self.file.fileno(), 2)

    def release(self):
        """Gives descriptor 2 back, and what was printed until now to it."""
        self.since()
        os.dup2(self.outer, 2)

    def since(self):
        """What was printed since the last call; it is passed on to where it would have gone."""
        sys.stdout.flush()
        sys.stderr.flush()
        self.libc.fflush(None)
        end = os.lseek(self.file.fileno(), 0, os.SEEK_END)
        text = os.pread(self.file.fileno(), min(end - self.at, MOST_LOG), self.at)
        self.at = end
        try:
            os.write(self.outer, text)
        except OSError:
            pass
        return text.decode("utf-8", "replace")


def about(torch, device):
    facts = {"version": torch.__version__, "hip": torch.version.hip, "cuda": torch.version.cuda, "device": device}
    if device.startswith("cuda"):
        facts["gpu"] = torch.cuda.get_device_name(0)
        facts["arch"] = getattr(torch.cuda.get_device_properties(0), "gcnArchName", None)
    return facts


def preferred(torch):
    """What torch says of itself; read after the products, since 2.7 decides at the first one."""
    try:
        return str(torch.backends.cuda.preferred_blas_library())
    except Exception:  # older torch, or none for a GPU
        return None


def prepared(torch, entry, dtype, device, seed, m, n, k):
    """(the product, (a, b, what is added), the relative error that is allowed). Raises Absent."""
    torch.manual_seed(seed)
    kind = getattr(torch, dtype, None) if dtype != "float8" else torch.bfloat16
    if kind is None:
        raise Absent("this torch has no " + dtype)
    tolerance = {"float32": 5e-3, "bfloat16": 1.5e-2, "float16": 1e-2, "float8": 3e-2}[dtype]
    many = (BATCH,) if entry in ("bmm", "baddbmm", "grouped_mm") else ()

    def normal(*shape):
        return torch.randn(*shape, dtype=torch.float32, device=device).to(kind)

    a, b, linear = normal(*many, m, k), normal(*many, k, n), torch.nn.functional.linear
    if entry in ("mm", "bmm"):
        return (lambda: getattr(torch, entry)(a, b)), (a, b), tolerance
    if entry in ("addmm", "baddbmm"):
        c = normal(*many, m, n)
        return (lambda: getattr(torch, entry)(c, a, b)), (a, b, c), tolerance
    if entry in ("linear", "linear-bias"):
        weight, bias = b.t().contiguous(), normal(n) if entry == "linear-bias" else None
        return (lambda: linear(a, weight, bias)), (a, b, bias), tolerance
    if entry == "scaled_mm":
        if n % 16 or k % 16:
            raise Absent("_scaled_mm takes sizes that 16 divides")
        return scaled(torch, a, b, device, tolerance)
    grouped = getattr(torch, "_grouped_mm", None)
    if entry != "grouped_mm" or grouped is None:
        raise Absent("this torch has no _" + entry)
    right = b.transpose(-2, -1).contiguous()
    return (lambda: grouped(a, right.transpose(-2, -1))), (a, b), tolerance


def scaled(torch, a, b, device, tolerance):
    """FP8 as the GPU has it: gfx94x knows the fnuz types alone."""
    call = getattr(torch, "_scaled_mm", None)
    name = "float8_e4m3fn"
    if device.startswith("cuda") and torch.version.hip:
        arch = getattr(torch.cuda.get_device_properties(0), "gcnArchName", "")
        name = "float8_e4m3fnuz" if arch.startswith("gfx94") else name
    kind = getattr(torch, name, None)
    if call is None or kind is None:
        raise Absent("this torch has no _scaled_mm or no " + name)
    left, right = a.to(kind), b.t().contiguous().to(kind).t()
    one = torch.ones((), dtype=torch.float32, device=device)

    def product():
        result = call(left, right, scale_a=one, scale_b=one, out_dtype=torch.bfloat16)
        return result[0] if isinstance(result, tuple) else result

    return product, (left.float(), right.float()), tolerance


def wait(torch, device):
    if device.startswith("cuda"):
        torch.cuda.synchronize()


def profiled(torch, product, device):
    """Names of the GPU kernels of one more run; without a GPU none, and None where the profiler does not work here."""
    if not device.startswith("cuda"):
        return []
    try:
        from torch.profiler import ProfilerActivity, profile

        with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as held:
            product()
            wait(torch, device)
        names = [e.name for e in held.events() if str(e.device_type).endswith("CUDA")]
        return list(dict.fromkeys(names))[:20]
    except Exception:  # a profiler without its tracing library is no fault of the product
        return None


def relative_error(torch, result, a, b, added=None):
    """Of result·x against a·(b·x) + added·x in float64, for random x of ones and minus ones (Freivalds): every value
    counts, and a large product is checked in no time. What is no number counts as wholly wrong."""
    if result.shape != (*a.shape[:-1], b.shape[-1]) or not bool(torch.isfinite(result).all()):
        return 1e9
    x = torch.randint(0, 2, (b.shape[-1], 4), device=a.device).double() * 2 - 1
    wanted = a.double() @ (b.double() @ x)
    if added is not None:
        wanted = wanted + added.double() @ x
    return float((result.double() @ x - wanted).norm() / wanted.norm())


def mapped():
    """Files of BLAS and torch that the process has mapped or open, in the order of their addresses."""
    found = {}
    try:
        with open("/proc/self/maps") as held:
            for line in held:
                path = line.split(None, 5)[5].strip() if line.count("/") else ""
                if LIBRARIES.search(path):
                    found[path] = None
        for number in os.listdir("/proc/self/fd"):
            try:
                path = os.readlink("/proc/self/fd/" + number)
            except OSError:
                continue
            if "/library/" in path and LIBRARIES.search(path):
                found[path] = None
    except OSError:
        pass
    return list(found)[:400]


if __name__ == "__main__":
    main()
