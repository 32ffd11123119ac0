"""Replaces secrets by a mask, and names, serials and UUIDs by pseudonyms that are the same within one report.

Shapes stay: a UUID's stand-in is a UUID (`GPU-` kept), so that what reads the report still works.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable, Mapping
from typing import Any

from doctor.redaction.secrets import MASK, is_secret_name, masked

_UUID = re.compile(r"\b[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}\b")
_HOME = re.compile(r"(/(?:home|Users|export/home|data/home)/)([^/\s:'\",]{1,64})")
_MAIL = re.compile(r"\b[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6}\b")
_MAC = re.compile(r"\b(?:[0-9A-Fa-f]{2}:){5}[0-9A-Fa-f]{2}\b")
_IPV4 = re.compile(r"(?<![\d.])(?:10|172|192|100)\.\d{1,3}\.\d{1,3}\.\d{1,3}(?![\d.])")
_SERIAL_KEYS = frozenset({"serial", "unique_id", "hive_id"})
_NAME_KEYS = {"user": "user", "hostname": "host"}
_COMMON = frozenset({"root", "user", "ubuntu", "docker", "nobody", "admin", "host", "localhost", "render", "video"})
_NAME_VARIABLES = {"USER": "user", "LOGNAME": "user", "HOSTNAME": "host", "HOST": "host", "SLURMD_NODENAME": "host"}


class Redactor:
    """One report's worth of stand-ins. The same original gets the same stand-in, in the order of first sight for names.

    `users` and `hosts` are names that are known to be such and are replaced wherever they stand as a word.
    """

    def __init__(self, users: Iterable[str] = (), hosts: Iterable[str] = ()) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._words: dict[str, str] = {}
        for kind, names in (("user", users), ("host", hosts)):
            for name in names:
                self._know(kind, name)

    def text(self, text: str) -> str:
        text = masked(text)
        text = _HOME.sub(lambda m: m[1] + self._name("user", m[2]), text)
        text = _UUID.sub(lambda m: _uuid(m[0]), text)
        text = _MAIL.sub("[mail]", text)
        text = _MAC.sub("[mac]", text)
        text = _IPV4.sub("[address]", text)
        for word, stand_in in self._words.items():
            if word in text:
                text = re.sub(rf"(?<![\w-]){re.escape(word)}(?![\w-])", stand_in, text)
        return text

    def data(self, data: Any, key: str = "") -> Any:
        """Plain JSON data with every text redacted; `environment` tables and serial numbers by their keys."""
        if isinstance(data, Mapping):
            if key == "environment":
                return {name: self._variable(name, value) for name, value in data.items()}
            return {self.text(str(name)): self.data(value, str(name)) for name, value in data.items()}
        if isinstance(data, (list, tuple)):
            return [self.data(item, key) for item in data]
        if isinstance(data, str):
            if key in _SERIAL_KEYS and data:
                return _serial(data)
            if key in _NAME_KEYS and data:
                return self._name(_NAME_KEYS[key], data)
            return self.text(data)
        return data

    def learn(self, data: Any, key: str = "") -> None:
        """Takes note of user and host names that stand under their own keys, before anything is written."""
        if isinstance(data, Mapping):
            for name, value in data.items():
                kind = _NAME_VARIABLES.get(name) if key == "environment" else _NAME_KEYS.get(name)
                if kind and isinstance(value, str):
                    self._know(kind, value)
                self.learn(value, str(name))
        elif isinstance(data, (list, tuple)):
            for item in data:
                self.learn(item, key)

    def _variable(self, name: str, value: Any) -> Any:
        return MASK if is_secret_name(name) else self.text(str(value))

    def _know(self, kind: str, name: str) -> None:
        if len(name) >= 3 and name.lower() not in _COMMON:
            self._words[name] = self._name(kind, name)

    def _name(self, kind: str, name: str) -> str:
        if name in _COMMON:
            return name
        count = sum(1 for k, _ in self._names if k == kind)
        return self._names.setdefault((kind, name), f"{kind}{count + 1}")


def _digest(text: str) -> str:
    return hashlib.sha256(f"doctor.report/1\0{text}".encode()).hexdigest()


def _uuid(text: str) -> str:
    d = _digest(text.lower())
    return f"{d[:8]}-{d[8:12]}-{d[12:16]}-{d[16:20]}-{d[20:32]}"


def _serial(text: str) -> str:
    return f"serial-{_digest(text)[:10]}"
