"""Times the same calls by our timer and by triton's do_bench, in turn. Run by the user's Python, never imported.

argv: the request (JSON: parts, device, cases, rounds, repeats, rep_ms), the descriptor for events. Both clear a cache
of 256 MiB before each repeat and take events of the device around the call; both get the same call on the same tensors.
"""

import importlib.util
import json
import os
import sys


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
    import triton
    from triton.testing import do_bench

    device = request["device"]
    if device.startswith("cuda"):
        torch.cuda.set_device(torch.device(device))
    name = torch.cuda.get_device_name(device) if device.startswith("cuda") else device
    send(event="about", torch=torch.__version__, triton=triton.__version__, device=name)
    timer, cases = part(request["parts"], "bench_timer").Timer(torch, device), part(request["parts"], "bench_cases")
    for case in request["cases"]:
        key = "/".join((case["what"], case["dtype"], case["shape"]))
        send(event="begin", case=key)
        for way, call in cases.MAKERS[case["what"]](torch, case, device)[0].items():
            timer.warm({way: call}, 0.5)
            pairs = []
            for number in range(request["rounds"]):
                sides = {}
                for side in ("ours", "theirs") if number % 2 == 0 else ("theirs", "ours"):
                    if side == "ours":
                        sides[side] = sorted(timer.all({way: call}, request["repeats"], 60.0)[way])
                    else:
                        sides[side] = sorted(do_bench(call, warmup=25, rep=request["rep_ms"], return_mode="all"))
                pairs.append([middle(sides["ours"]), middle(sides["theirs"])])
                send(event="round", case=key, number=number)
            send(event="case", case=key, way=way, pairs=pairs)
    send(event="end")


def middle(values):
    half = len(values) // 2
    return values[half] if len(values) % 2 else (values[half - 1] + values[half]) / 2


if __name__ == "__main__":
    main()
