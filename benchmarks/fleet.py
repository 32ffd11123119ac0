"""Time and memory of `doctor fleet report` over synthetic nodes with planted outliers, and whether all are found.

    python -m benchmarks.fleet [NODES [EVERY]]

One node of EVERY (100) is odd.

The reports are made from captured machines (tests/fleet/synthetic.py) and read from a file as a stream.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from doctor.fleet.names import expanded
from tests.fleet.synthetic import Fleet


def main() -> int:
    nodes = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    fleet = Fleet(nodes, every=int(sys.argv[2]) if len(sys.argv) > 2 else 100)
    with tempfile.TemporaryDirectory() as folder:
        stream = Path(folder) / "reports"
        with stream.open("wb") as held:
            for node, line in fleet.reports():
                held.write(b"%s: %s\n" % (node.encode(), line))
        size = stream.stat().st_size
        began = time.monotonic()
        with stream.open("rb") as given:
            argv = [sys.executable, "-m", "doctor", "fleet", "report", "-", "--format", "json"]
            done = subprocess.run(argv, stdin=given, capture_output=True, check=False)
        seconds = time.monotonic() - began
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        peak, cpu = used.ru_maxrss / 1024, used.ru_utime + used.ru_stime
    told = json.loads(done.stdout)
    odd = {name for kind in told["kinds"] for row in kind["odd"] for name in expanded(row["nodes"])}
    heads = ("nodes", "reports", "seconds", "CPU seconds", "peak MiB", "planted", "found", "invented")
    found, invented = len(odd & fleet.planted.keys()), len(odd - fleet.planted.keys())
    sizes = (nodes, f"{size >> 20} MiB", f"{seconds:.1f}", f"{cpu:.1f}", f"{peak:.0f}")
    print(f"| {' | '.join(heads)} |\n|{'--|' * len(heads)}")
    print(f"| {' | '.join(map(str, (*sizes, len(fleet.planted), found, invented)))} |")
    return 0 if odd == fleet.planted.keys() else 1


if __name__ == "__main__":
    sys.exit(main())
