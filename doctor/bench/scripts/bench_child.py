"""Measures on one device and sends raw times. Run by the user's Python, never imported.

argv: the request (JSON), the descriptor for events. mode "list": the devices; "measure": the cases one after another;
"collective": the cases as one rank of several; "tune": TunableOp's results are made; "tuned": products with and without
them, in turn. Inputs are normally distributed; the cache is cold before each repeat, and products and attention are
timed again with a warm one; ways to do one thing are timed in turn. The other files of this folder are its parts: they
are loaded by path, since nothing of ours is on sys.path.
"""

import importlib.util
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [p for p in sys.path if os.path.abspath(p or ".") != HERE]


def part(name):
    kept, sys.dont_write_bytecode = sys.dont_write_bytecode, True
    spec = importlib.util.spec_from_file_location(name, os.path.join(HERE, name + ".py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    sys.dont_write_bytecode = kept
    return module


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
    part("bench_timer")
    mode = request["mode"]
    if mode == "list":
        part("bench_devices").devices(torch, request, send)
    elif mode == "measure":
        measure(torch, request, send)
    elif mode == "collective":
        part("bench_collectives").collective(torch, request, send)
    else:
        part("bench_cases")
        part("bench_tuned").run(torch, request, send)
    send(event="end")
    if mode in ("list", "measure", "collective"):  # TunableOp writes its file when the process ends
        out.close()
        sys.stdout.flush()
        os._exit(0)  # torch's own end takes a second or two, of a quick run's sixty


def measure(torch, request, send):
    device, made = request["device"], part("bench_cases")
    for name in ("bench_devices", "bench_scaled"):
        part(name)
    launches = part("bench_launch").MAKERS
    makers = dict(made.MAKERS, **launches, **part("bench_links").MAKERS)
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    timer = sys.modules["bench_timer"].Timer(torch, device, request.get("flush", 256 << 20))
    cpus = os.sched_getaffinity(0)
    for number, case in enumerate(request["cases"]):
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        try:
            if case["what"] == "l2":
                makers["l2"] = l2(made)
            parts = makers[case["what"]](torch, case, device)
            (ways, check), variants = parts[:2], parts[2] if len(parts) > 2 else {}
            timer.warm(ways, request.get("warm_s", 0.2))
            error, wrong = check()
            seen = "%s%d" % (request["seen"], number) if request.get("seen") else None
            times = timer.all(
                ways,
                request["repeats"],
                request["budget_s"],
                lambda last, key=key, seen=seen: send(event="busy", case=key, seen=seen if last else None),
                case["what"] in made.WARM,
                case["what"] not in launches,
            )
            if seen and timer.gpu:
                timer.keep_busy(ways, lambda seen=seen: os.path.exists(seen))
            send(event="case", case=key, times=times, error=error, wrong=wrong, variants=variants)
        except made.Absent as absent:
            send(event="case", case=key, outcome="not-run", detail=str(absent))
        except Exception as failure:  # whatever torch raises is the answer of this case
            text = (type(failure).__name__ + ": " + str(failure))[:600]
            memory = "OutOfMemory" in type(failure).__name__ or "not enough memory" in text or "MemoryError" in text
            send(event="case", case=key, outcome="out-of-memory" if memory else "refused", detail=text)
        ways = check = parts = None
        os.sched_setaffinity(0, cpus)  # a case may have bound itself to the CPUs of one node
        if device.startswith("cuda"):
            torch.cuda.empty_cache()


def l2(made):
    try:
        return part("bench_l2").l2
    except ImportError:
        raise made.Absent("triton is not installed, whose kernel it needs") from None


if __name__ == "__main__":
    main()
