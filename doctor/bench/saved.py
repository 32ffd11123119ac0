"""Results as `doctor.bench/1`."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.bench.results import Results
from doctor.errors import InputError
from doctor.facts.gemm import Measurement
from doctor.system.given import read_given_bytes

SCHEMA = "doctor.bench/1"
_LIMIT = 16 << 20


def as_data(
    results: Results, when: str, level: str, baselines: Mapping[str, Any], findings: Sequence[Any] = ()
) -> dict[str, Any]:
    """`when`: ISO 8601, UTC. `baselines`: key -> the profile's number, or None for "no baseline"."""
    return {
        "schema": SCHEMA,
        "when": when,
        "level": level,
        "software": results.software,
        "devices": [{"torch": d.torch, "name": d.name, "pci": d.pci} for d in results.devices],
        "measurements": [
            {**m.model_dump(mode="json"), "baseline": baselines.get(m.key, "no baseline")} for m in results.measurements
        ],
        "trouble": results.trouble,
        "findings": [f.model_dump(mode="json") for f in findings],
    }


def load(path: Path) -> tuple[dict[str, Any], tuple[Measurement, ...]]:
    """Of a result file. Raises InputError."""
    try:
        data = json.loads(read_given_bytes(path, _LIMIT).decode("utf-8", "replace"))
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema is {str(data['schema'])[:40]!r}")
        rows = [{k: v for k, v in row.items() if k != "baseline"} for row in data["measurements"]]
        return data, tuple(Measurement.model_validate(row) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        first = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a result of `doctor bench --format json` ({first})") from error
