"""A recording without its secrets and names: keys and values alike, so that a replay asks for what is there."""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Mapping
from typing import Any

from doctor.redaction import Redactor
from doctor.redaction.pseudonyms import Site
from doctor.system import asked

_PASSWD = ("text:etc/passwd",)
_FILLING = re.compile(r"(\0{64,})")
_HOST_FILES = ("text:etc/hostname", "text:proc/sys/kernel/hostname")

Entries = Mapping[str, dict[str, Any]]


def redactor_of(entries: Entries, key: bytes, site: Site | None = None) -> Redactor:
    """A redactor that knows the users and hosts which the recording names; `key` is the machine's (report/key.py)."""
    redactor = Redactor(key=key, site=site, remember=True)
    environ = entries.get(asked.ENVIRON, {}).get("value") or {}
    redactor.learn({"environ": environ})
    redactor.know("user", str(environ.get("HOME") or "").rstrip("/").rpartition("/")[2])
    if entries.get(asked.KIND, {}).get("value") == "live":
        redactor.know("host", os.uname().nodename)
    for key_ in _HOST_FILES:
        redactor.know("host", str(entries.get(key_, {}).get("value") or "").strip())
    # Before anything is written: a name that one text tells must not be left in a text before it.
    for key_, entry in entries.items():
        value = entry.get("value")
        redactor.learn(_parts_of(value)[::2] if key_.startswith("bytes:") else [value])
    return redactor


def redacted(entries: Entries, redactor: Redactor) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, int]]]:
    """The entries, and what kinds were replaced how often, by key."""
    kept: dict[str, dict[str, Any]] = {}
    removed: dict[str, dict[str, int]] = {}
    for key, entry in entries.items():
        redactor.counts.clear()
        clean_key = _key(key, redactor)
        kept[clean_key] = _entry(key, entry, redactor)
        if redactor.counts:
            removed[clean_key] = dict(sorted(redactor.counts.items()))
    return kept, removed


def _key(key: str, redactor: Redactor) -> str:
    if not key.startswith("run:"):
        return redactor.text(key)
    return asked.run_key([redactor.text(word) for word in json.loads(key[4:])])


def _entry(key: str, entry: Mapping[str, Any], redactor: Redactor) -> dict[str, Any]:
    clean = {name: redactor.text(entry[name]) for name in ("source", "detail") if name in entry}
    clean["state"] = entry["state"]
    if "value" in entry:
        clean["value"] = _value(key, entry["value"], redactor)
    return clean


def _value(key: str, value: Any, redactor: Redactor) -> Any:
    last = key.rpartition("/")[2]
    if key == asked.ENVIRON:
        return redactor.data(value, "environ")
    if key.startswith("bytes:"):
        return _binary(value, redactor)
    if key.startswith("text:") and isinstance(value, str):
        if last in ("unique_id", "xgmi_hive_id"):
            return redactor.id_text(value)
        if "serial" in last:
            return redactor.serial(value)
        if key in _PASSWD:
            value = re.sub(r"(?m)^((?:[^:\n]*:){4})[^:\n]*", r"\1", value)  # the full name
    return redactor.data(value)


def _binary(value: str, redactor: Redactor) -> str:
    """Bytes that are a text are redacted as one; others (PCI configuration, EFI variables) stay."""
    parts = _parts_of(value)
    clean = [part if place % 2 else redactor.text(part) for place, part in enumerate(parts)]
    return value if clean == parts else base64.b64encode("".join(clean).encode()).decode()


def _parts_of(value: Any) -> list[str]:
    """Of bytes that are a text: what it says, and between each two such parts the zeros that only fill."""
    try:
        return _FILLING.split(base64.b64decode(value or "").decode("utf-8"))
    except ValueError:
        return []
