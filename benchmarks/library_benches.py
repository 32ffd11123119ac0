"""Our numbers beside those of nccl-tests, hipblaslt-bench and rocblas-bench.

`python -m benchmarks.library_benches RESULT.json OUTPUT…`: RESULT.json is of `doctor bench --format json -o`, each
OUTPUT what a tool printed of the same case on the same machine: `all_reduce_perf -b 8 -e 8G -f 8`, `hipblaslt-bench`
or `rocblas-bench` with `--transA T --transB N -m N -n M -k K`. For five runs in turn, five OUTPUTs. Shown is our median
over the median of theirs, and whether it is within 2 %. What only one side has is left out.
"""

from __future__ import annotations

import itertools
import json
import re
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

ALLOWED = 0.02
_COLLECTIVE = re.compile(r"(?:#|//|^).{0,60}?\b(all_reduce|all_gather|reduce_scatter|alltoall)_perf\b", re.MULTILINE)
_ROW = re.compile(r"\s{0,20}(\d+)\s+\d+\s+(\w+)\s+\w+\s+-?\d+\s+(?P<numbers>[\d.]+.*)")
_TYPES = {"f32_r": "float32", "f16_r": "float16", "bf16_r": "bfloat16", "f64_r": "float64"}
Found = Iterator[tuple[tuple[str, str, int | str], float]]


def nccl_tests(text: str) -> Found:
    """(collective and way, type, bytes), bus bandwidth: a row has time, algbw, busbw and errors of out of place, then
    of in place (nccl-tests, doc/PERFORMANCE.md). rccl-tests prints the same."""
    named = _COLLECTIVE.search(text)
    for line in text.splitlines() if named else ():
        row = _ROW.match(line)
        numbers = row["numbers"].split() if row else []
        if row and named and len(numbers) >= 7:
            what = named[1].replace("alltoall", "all_to_all")
            kind = row[2].replace("float", "float32") if row[2] == "float" else row[2]
            for way, busbw in (("out-of-place", numbers[2]), ("in-place", numbers[6])):
                if re.fullmatch(r"[\d.]+", busbw):
                    yield (f"collective {what} {way}", kind, int(row[1])), float(busbw)


def blas_bench(text: str) -> Found:
    """("gemm", type, MxNxK), TFLOP/s, of the comma-separated table with a head of both tools. They count columns first:
    their M is torch's N."""
    lines = [re.sub(r"^\s*\[\d+\]:", "", line).strip() for line in text.splitlines()]
    for head, row in itertools.pairwise(lines):
        names, values = ([word.strip() for word in line.split(",")] for line in (head, row))
        held = dict(zip(names, values, strict=False))
        gflops = next((held[name] for name in ("hipblaslt-Gflops", "rocblas-Gflops") if name in held), None)
        size = [held.get(name, held.get(name.upper())) for name in ("n", "m", "k")]
        if gflops and None not in size:
            kind = _TYPES.get(held.get("a_type", ""), held.get("a_type", ""))
            yield ("gemm", kind, "x".join(map(str, size))), float(gflops) / 1e3


def ours(data: Mapping[str, Any]) -> Found:
    """Of a product the warm number: the tools run back to back, without a flush."""
    for one in data["measurements"]:
        if one["what"].startswith("collective") and one["value"]:
            yield (one["what"], one["dtype"], one["size_bytes"]), one["value"]["p50"]
        elif one["what"] == "gemm matmul" and one["warm"]:
            yield ("gemm", one["dtype"], one["shape"]), one["warm"]["p50"]


def rows(data: Mapping[str, Any], outputs: list[str]) -> Iterator[str]:
    theirs: dict[tuple[str, str, int | str], list[float]] = defaultdict(list)
    for text in outputs:
        for key, value in (*nccl_tests(text), *blas_bench(text)):
            theirs[key].append(value)
    for key, value in ours(data):
        if middle := statistics.median(theirs[key]) if theirs.get(key) else None:
            held = "yes" if abs(value / middle - 1) <= ALLOWED else "NO"
            case, runs = " ".join(map(str, key)), len(theirs[key])
            yield f"| {case} | {value:.4g} | {middle:.4g} | {runs} | {value / middle:.3f} | {held} |"


def main() -> int:
    if len(sys.argv) < 3:
        sys.stderr.write("usage: python -m benchmarks.library_benches RESULT.json OUTPUT…\n")
        return 2
    data = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))
    texts = [Path(name).read_text(encoding="utf-8", errors="replace") for name in sys.argv[2:]]
    found = list(rows(data, texts))
    sys.stdout.write(
        "\n".join(["| case | ours | theirs | runs | ratio | within 2 % |", "|--|--|--|--|--|--|", *found]) + "\n"
    )
    return 0 if found and all(line.endswith("| yes |") for line in found) else 1


if __name__ == "__main__":
    raise SystemExit(main())
