"""How redaction's time grows with hostile text: `python -m benchmarks.redaction.linear`.

Each seed is repeated to 8 kB, 64 kB and 1 MB; told are the seconds of processor time a MB at the largest size and how
much more that is than at 64 kB (1.0 is linear). A seed that takes longer than `LIMIT_S` is told as such.
"""

# ruff: noqa: E501 -- tables
from __future__ import annotations

import signal
import sys
import time
from types import FrameType

from doctor.redaction import Redactor

SIZES = (8_000, 64_000, 1_000_000)
LIMIT_S = 60
SEEDS = (
    "a", "A", "0", " ", "\n", "\t", "a.", "a-", "a_", "a@", "a:", "a=", "a/", "/", "\\", "\\\n", "a\\\n", "\"", "'", "{\"a\":", "[", "(", "%41", "%2F",
    "&#65;", "\\x41", "0:", "a:b:", "1.2.3.4.", "ab.cd.", "fe80::", "aabb.", "00:", "home/", "/home/", "scratch/", "/proj/", "://", "http://", "http://a",
    "a@b.", "key:", "key: ", "token=", "token=\n", "token\n", "password ", "--password ", "-p", " -p ", "curl ", "mysql -", "curl -u a:", "ipmitool ",
    "sudo ", "echo a|", "name: value: ", "kind: Secret\ndata:\n", "data:\n  a: b\n", "-----BEGIN PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\nAAAA\n",
    "-----END PRIVATE KEY-----\n", "eyJ", "eyJhbGciOi.", "sk-", "hf_", "ghp_a1", "$6$", "[secret]\n", "[secret]", "Aa1Bb2Cc3", "Aa1Bb2Cc3\n", "secret: |\n  ",
    "uid=1(", "uid=1(a)", "groups=1(a),", "Account=", "Account=a", "UserId=a(", "owner: ", "\"owner\": \"", "Author: Aa ", "#SBATCH -", "#SBATCH -A ", "kubectl ",
    "srun ", "NodeName=", "host@tcp:/", "a:/b ", "//a/b ", "-rw-r--r-- 1 ", "-rw-r--r-- 1 a b ", "a+ ", "serial ", "Serial Number: ", "S/N 1", "machine a login ",
    "default login a ", "<password>", "<a>", "|token|", "| token | ", "<<EOF\n", "login <<EOF\nabcdef1\n", "webhook.office.com/", "a.webhook.", "A-", "GPU-", "MIG-",
    "unique_id ", "echo $A_TOKEN\n", "wandb key ", "\0", "a=b\0", "--token\0", "é", "İ", "MII", "AAAAAAAAAAAAAAAAAAAA", "a.b.c.d ", "x.local ", "a:1:2:3:", "1:2:3:4:5:",
)  # fmt: skip


class _TooLong(Exception):
    pass


def _stop(_number: int, _frame: FrameType | None) -> None:
    raise _TooLong


def seconds(text: str) -> float:
    """Processor time of one redaction; infinite where it took more than `LIMIT_S`."""
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    began = time.process_time()
    try:
        Redactor(users=["somebody"], hosts=["node1234"]).text(text)
    except _TooLong:
        return float("inf")
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - began


def main() -> int:
    signal.signal(signal.SIGPROF, _stop)
    sizes = SIZES[:2] if "--quick" in sys.argv else SIZES
    rows = []
    for seed in SEEDS:
        taken = [seconds((seed * (size // len(seed) + 1))[:size]) for size in sizes]
        per = [t / size * 1e6 for t, size in zip(taken, sizes, strict=True)]
        rows.append((per[-1], per[-1] / max(per[-2], 0.2), seed, taken[0]))
    for per_mb, growth, seed, small in sorted(rows, reverse=True)[:25]:
        print(f"{per_mb:8.2f} s a MB, {growth:5.1f} times that of the size before, {small:.3f} s at 8 kB: {seed!r}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
