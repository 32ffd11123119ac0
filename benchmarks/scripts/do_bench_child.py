"""Times the same calls by our timer and by those of triton and torch, in turn. Run by the user's Python.

argv: the request (JSON: parts, device, cases, rounds, repeats, rep_ms), the descriptor for events. triton's do_bench
clears a cache of 256 MiB before each repeat, as our timer does; torch.utils.benchmark calls back to back, which is
compared with our warm calls. All get the same call on the same tensors, and as much time.
"""

import importlib.util
import json
import os
import sys
import time


def part(folder, name):
    sys.dont_write_bytecode = True
    spec = importlib.util.spec_from_file_location(name, os.path.join(folder, name + ".py"))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main():
    request, out = json.loads(sys.argv[1]), os.fdopen(int(sys.argv[2]), "w")

    def send(**event):
        out.write(json.dumps(event) + "\n")
        out.flush()

    import torch

    device, rep_ms = request["device"], request["rep_ms"]
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    theirs, triton = peers(torch, rep_ms)
    send(event="about", torch=torch.__version__, triton=triton, device=name)
    flush = 256 << 20 if device.startswith("cuda") else 64 << 20
    timer, cases = (
        part(request["parts"], "bench_timer").Timer(torch, device, flush),
        part(request["parts"], "bench_cases"),
    )
    for case in request["cases"]:
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        for way, call in cases.MAKERS[case["what"]](torch, case, device)[0].items():
            timer.warm({way: call}, 0.5)
            for peer, (measure, cold) in theirs.items():

                def ours(call, cold=cold):
                    return timer.all({"it": call}, request["repeats"], rep_ms / 1e3, cold=cold)["it"]

                pairs, seconds = [], []
                for number in range(request["rounds"]):
                    taken = {}
                    for side in (ours, measure) if number % 2 == 0 else (measure, ours):
                        began = time.perf_counter()
                        taken[side] = middle(sorted(side(call))), time.perf_counter() - began
                    pairs.append([taken[ours][0], taken[measure][0]])
                    seconds.append([taken[ours][1], taken[measure][1]])
                    send(event="round", case=key, number=number)
                send(event="case", case=key, way=way, peer=peer, pairs=pairs, seconds=seconds)
    send(event="end")


def peers(torch, rep_ms):
    """(name -> (call -> milliseconds of its repeats, whether with a cold cache), triton's version)"""
    from torch.utils.benchmark import Timer

    def blocked(call):
        made = Timer("call()", globals={"call": call}, num_threads=torch.get_num_threads())
        return [seconds * 1e3 for seconds in made.blocked_autorange(min_run_time=rep_ms / 1e3).times]

    found = {"torch.utils.benchmark": (blocked, False)}
    try:
        import triton
        from triton.testing import do_bench
    except ImportError:
        return found, None
    found["triton do_bench"] = (lambda call: do_bench(call, warmup=25, rep=rep_ms, return_mode="all"), True)
    return found, triton.__version__


def middle(values):
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


if __name__ == "__main__":
    main()
