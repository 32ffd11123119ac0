"""A node costs its name and some numbers: at most 1 KiB beyond what distinct configurations cost, from the first report
to the written verdict."""

from __future__ import annotations

import json
import tracemalloc
from collections.abc import Iterator

from doctor.fleet.answers import Answer, of_stream
from doctor.fleet.page import render as page
from doctor.fleet.tally import Tally
from doctor.fleet.text import as_data, render
from doctor.fleet.verdict import judged
from tests.fleet.test_verdict import node

KINDS = 20
"""Distinct configurations, whatever the number of nodes."""


def answers(nodes: int) -> Iterator[Answer]:
    """Each with its own serials and readings, as real nodes are; one in twenty odd, one in fifty with an error, one
    in a hundred silent."""
    for number in range(nodes):
        name = f"rack{number // 40:03}-node{number:05}"
        if number % 100 == 99:
            yield Answer(name, None, "Slurm: it did not end: Killed")
            continue
        report = node(nvidia_driver__version=f"570.{number % KINDS}" if number % 20 == 0 else "575.57.08")
        report["snapshot"]["host"]["uptime_s"] = number
        for gpu in report["snapshot"]["gpus"]:
            gpu["serial"] = f"{number:012}"
        if number % 50 == 7:
            report["findings"] = [{"rule": "gpu-lost", "severity": "error", "summary": f"GPU {number} is lost."}]
        yield Answer(name, json.loads(json.dumps(report)))


def peak(nodes: int) -> int:
    """Bytes at the highest, the three ways of writing included."""
    tracemalloc.start()
    verdict = judged(Tally().add_all(answers(nodes)))
    for write in (render, page, as_data):
        assert write(verdict)
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return used


def test_a_node_costs_at_most_a_kibibyte() -> None:
    peak(50)  # what is loaded and compiled once
    few, many = peak(250), peak(750)
    assert (many - few) / 500 < 1024


def test_a_stream_holds_one_report_at_a_time() -> None:
    """Each report has 1 MiB here, so that two of them would show."""

    class Endless:
        left = 40

        def readline(self, limit: int) -> bytes:
            self.left -= 1
            report = {**node(), "padding": "x" * (1 << 20)}
            return b"" if self.left < 0 else b"n%d: %s\n" % (self.left, json.dumps(report).encode())

    tracemalloc.start()
    tally = Tally().add_all(of_stream(Endless()))  # type: ignore[arg-type]
    used = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(tally.nodes) == 40
    assert used < 12 << 20  # text, bytes and the object of one, and of the next that is being read
