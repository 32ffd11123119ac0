"""What several pieces of one text say, put together."""

from __future__ import annotations

from typing import Any

from doctor.facts import FactSheet
from doctor.intake.merge import one_log


def piece(*events: dict[str, Any], line: int = 1) -> FactSheet:
    sheet = FactSheet()
    sheet.put("kernel_log.events", list(events), f"text:{line}")
    sheet.put("nvidia_driver.version", f"575.{line}", f"text:{line}")
    return sheet


def hang(count: int, last: str) -> dict[str, Any]:
    return {
        "key": "amdgpu-gpu-reset",
        "code": "amdgpu-gpu-reset",
        "count": count,
        "text": "GPU reset begin!",
        "last": last,
    }


def test_a_piece_of_the_log_without_events_does_not_hide_those_of_the_next() -> None:
    first, *rest = one_log([piece(), piece(hang(1, "1.0"), line=50), piece(hang(2, "9.0"), line=90)])
    (entry,) = first
    assert entry.value == [hang(3, "9.0")]
    assert entry.source == "text:50"
    assert [[e.name for e in sheet] for sheet in rest] == [["nvidia_driver.version"]] * 3


def test_one_piece_stays_as_it_is() -> None:
    sheets = [piece(hang(1, "1.0")), FactSheet()]
    assert one_log(sheets) == sheets
