"""What a bundle costs: `python -m benchmarks.bundle`.

Runs `doctor bundle` and `doctor check` in turn, as a user would, and tells the wall time of both, their ratio, and the
size of the archive; then the seconds that redaction takes for a MiB of kernel log.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path

from doctor.redaction import Redactor

ROUNDS = 5
_DOCTOR = (sys.executable, "-c", "from doctor.cli.main import main; main()")
_LINE = "[ {n:6}.000000] amdgpu 0000:c1:00.0: amdgpu: ring gfx_0.0.0 timeout, signaled seq={n}, emitted seq={n}\n"


def seconds(*arguments: str) -> float:
    began = time.monotonic()
    subprocess.run([*_DOCTOR, *arguments], stdout=subprocess.DEVNULL, check=False)
    return time.monotonic() - began


def redaction() -> float:
    """Seconds of processor time for a MiB of a kernel log."""
    text = "".join(_LINE.format(n=n) for n in range(1 << 14))[: 1 << 20]
    began = time.process_time()
    Redactor(users=["someone"], hosts=["node1234"]).text(text)
    return time.process_time() - began


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "b.tar.gz"
        rounds = [(seconds("bundle", "-o", str(path)), seconds("check")) for _ in range(ROUNDS)]
        size = path.stat().st_size
    bundle, check = (statistics.median(side) for side in zip(*rounds, strict=True))
    worst = max(row[0] for row in rounds)
    print(
        f"{date.today()}: bundle {bundle:.2f} s (slowest {worst:.2f}), check {check:.2f} s: {bundle / check:.1f} times"
    )
    print(f"archive {size / 1024:.0f} KiB; redaction {redaction():.2f} s a MiB of kernel log")
    return 0


if __name__ == "__main__":
    sys.exit(main())
