"""Times calls on a device. A part of bench_child.py, which loads it."""

import time

LEAST, PILOT = 10, 5
"""Repeats: with fewer than ten the interval of a median is all of them. Those of the pilot say how many it takes, and
do not count: a number that is chosen by what counts would change the coverage of the interval (Stein, 1945)."""
WANTED = 0.01
"""Half of the median's interval, of the median. It is 2.46 deviations over the root of the repeats where they are
normally distributed; of five values the second and fourth lie 0.99 deviations apart."""


def needed(pilot):
    """Repeats after which the interval is narrow enough, as far as the pilot shows.

    >>> needed([2.0, 1.99, 2.01, 2.02, 1.98]), needed([2.0, 1.9, 2.1, 2.2, 1.8])
    (6, 617)
    """
    values = sorted(pilot)
    return int((2.46 * (values[3] - values[1]) / 0.99 / (WANTED * values[2])) ** 2) if values[2] else 0


class Timer:
    """Times one call on the device. A cold call comes after a buffer of `flush` bytes was written."""

    def __init__(self, torch, device, flush=256 << 20):
        self.torch, self.gpu = torch, device.startswith("cuda")
        self.cache = torch.empty(flush, dtype=torch.int8, device=device)

    def wait(self):
        if self.gpu:
            self.torch.cuda.synchronize()

    def once(self, call, cold=True):
        """Milliseconds, or a pair of events to read later."""
        before = getattr(call, "before", None)
        if before:
            before()
        if cold:
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
        """Until libraries have loaded, compilers are done and clocks are stable: two rounds that differ by at most 3 %,
        or five times `seconds`."""
        began, before = time.perf_counter(), None
        while True:
            at = time.perf_counter()
            for call in ways.values():
                call()
            self.wait()
            now = time.perf_counter()
            took, spent = now - at, now - began
            stable = before is not None and abs(took - before) <= 0.03 * before
            if spent > seconds and (stable or spent > 5 * seconds):
                return
            before = took

    def all(self, ways, repeats, budget_s, between=None, warm=False, cold=True):
        """Name -> milliseconds of each repeat, the ways in turn and in an order that turns too; at most `repeats`, and
        fewer where fewer are needed. `warm`: each cold call
        is followed by the same one with the cache as it left it, as "NAME warm". `between` is called three times while
        the device is at work, with whether it is the last time."""
        names, taken = list(ways), {name: [] for name in ways}
        if warm:
            taken.update({name + " warm": [] for name in names})
        began, marks, dropped = time.perf_counter(), [0.25, 0.5, 0.75], 0
        for number in range(PILOT + repeats):
            for name in names if number % 2 == 0 else names[::-1]:
                taken[name].append(self.once(ways[name], cold))
                if warm:
                    taken[name + " warm"].append(self.once(ways[name], cold=False))
            if number % 8 == 7:
                self.wait()
                if cold and self.gpu:
                    self.cache.zero_()  # so that the device is at work while the next call is launched, not waiting
            spent = time.perf_counter() - began
            if number + 1 == PILOT and spent * LEAST < budget_s * PILOT:  # else time decides, and the pilot counts
                pilot, dropped = self.read(taken), PILOT
                repeats = min(repeats, max(LEAST, *map(needed, pilot.values())))
                taken = {name: [] for name in taken}
            counted = number + 1 - dropped
            done = max(counted / repeats, spent / max(budget_s, 1e-9))
            if between and marks and done >= marks[0]:
                marks.pop(0)
                between(not marks)
            if counted >= repeats or (spent > budget_s and counted >= LEAST):
                break
        if between and marks:
            between(True)
        return self.read(taken)

    def read(self, taken):
        """Name -> milliseconds, once the device is done."""
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
