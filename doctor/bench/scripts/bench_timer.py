"""Times calls on a device. A part of bench_child.py, which loads it."""

import time

MOST = 2000


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

    def warm(self, ways, seconds):
        """Until clocks have risen, libraries have loaded and compilers are done."""
        began = time.perf_counter()
        while True:
            for call in ways.values():
                call()
            self.wait()
            if time.perf_counter() - began > seconds:
                return

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

    def keep_busy(self, ways, seen, seconds=3.0):
        """Goes on, untimed, until whoever reads the clocks has read them: those of a GPU at rest would say nothing."""
        began = time.perf_counter()
        while not seen() and time.perf_counter() - began < seconds:
            for call in ways.values():
                call()
            self.wait()

    def milliseconds(self, one):
        return round(one[0].elapsed_time(one[1]) if isinstance(one, tuple) else one, 6)
