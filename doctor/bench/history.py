"""Results as `doctor.bench/1`: written whole to a file, and one line a run to the user's history."""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from doctor.bench.results import Results
from doctor.errors import InputError
from doctor.facts.gemm import Measurement
from doctor.system.given import read_given_bytes

SCHEMA = "doctor.bench/1"
_LIMIT = 16 << 20
_KEPT = 200
"""Runs of the history; older ones go."""
_TRIES, _TRY_S = 100, 0.02


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


def place(environ: Mapping[str, str]) -> Path | None:
    """The history's file; None where the account has no home."""
    home = environ.get("HOME", "")
    state = environ.get("XDG_STATE_HOME") or (f"{home}/.local/state" if home.startswith("/") else "")
    return Path(state) / "rocm-cuda-doctor/bench.jsonl" if state.startswith("/") else None


def keep(data: Mapping[str, Any], path: Path) -> None:
    """Adds a line; the file has mode 0600 and no more than the last 200 runs, is there whole or as it was, and two runs
    that end at once are both in it. Raises InputError."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        with _alone(path.with_suffix(".lock")):
            before = read_given_bytes(path, _LIMIT).decode("utf-8", "replace").splitlines() if path.is_file() else []
            lines = [*before[-(_KEPT - 1) :], json.dumps(data, ensure_ascii=True)]
            _replace(path, "\n".join(lines) + "\n")
    except OSError as error:
        raise InputError(
            f"cannot write the history {path}: {error.strerror or error} (--no-history skips it)"
        ) from error


@contextlib.contextmanager
def _alone(path: Path) -> Iterator[None]:
    """Waits a little for another run; a home on a network without locks is written to all the same."""
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        for _ in range(_TRIES):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_TRY_S)
            except OSError:
                break
        yield
    finally:
        os.close(descriptor)


def _replace(path: Path, text: str) -> None:
    descriptor, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 0600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as held:
            held.write(text)
        Path(beside).replace(path)
    except BaseException:  # a full disk, or Ctrl-C: nothing half is left
        Path(beside).unlink(missing_ok=True)
        raise


def load(path: Path) -> tuple[dict[str, Any], tuple[Measurement, ...]]:
    """A result file, or the last line of a history. Raises InputError."""
    text = read_given_bytes(path, _LIMIT).decode("utf-8", "replace").strip()
    try:
        data = json.loads(text) if not path.name.endswith(".jsonl") else json.loads(text.splitlines()[-1])
        if data["schema"] != SCHEMA:
            raise ValueError(f"schema is {str(data['schema'])[:40]!r}")
        rows = [{k: v for k, v in row.items() if k != "baseline"} for row in data["measurements"]]
        return data, tuple(Measurement.model_validate(row) for row in rows)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        first = str(error).splitlines()[0][:120] if str(error) else type(error).__name__
        raise InputError(f"{path} is not a result of `doctor bench --format json` ({first})") from error
