"""Replaces secrets by a mask, and names, addresses, serials and UUIDs by pseudonyms that are the same all through one
report or bundle.

Shapes stay: a UUID's stand-in is a UUID (`GPU-` kept, prefixes still match), so that what reads the report still works.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from doctor.redaction.identifiers import GPU_ID, UUID, hex_stand_in, number_stand_in
from doctor.redaction.lazy import Lazy
from doctor.redaction.names import holds
from doctor.redaction.secrets import masking, variable
from doctor.redaction.stand_ins import COMMON, MADE, STAND_IN
from doctor.redaction.tally import Tally

_HOME = Lazy(r"(?<![\w.-])((?:home|Users|export/home|data/home)[/\\])([^/\\\s:'\",;\0]{1,64})")
_MAIL = Lazy(r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6}(?![\w-])")
_PUBLIC = ("localdomain", "amazonaws.com", "internal", "cluster.local", "in-addr.arpa")
_UNITS = (".service", ".socket", ".timer", ".mount", ".slice", ".scope", ".target", ".device", ".path")
_MAC = Lazy(r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4,18}(?![0-9A-Za-z:])")
_IPV4 = Lazy(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w+-]|\.\w)")
_FOUR_PARTS = Lazy(r"\d{1,3}(?:\.\d{1,4}){3}")
_IPV6 = Lazy(r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:{1,2}){1,7}(?:[0-9a-fA-F]{1,4})?(?![\w:])")
_VERSION_BEFORE = Lazy(
    r"(?i)(?:(?:version|release|driver|firmware|\bfw|vbios|-cu1\d|_cu1\d|==|\.so)[\w\"' :=|.-]{0,24}"
    r"|\b(?:cudnn|cublas(?:lt)?|cufft|curand|cusolver|cusparse|nvjitlink|tensorrt|nccl)[ _-]v?)\Z"
)
_SERIAL = Lazy(
    r"(?i)((?<![a-z])serial(?:[ _-]{0,2}(?:number|num|no))?[\"']?\s{0,20}[:=>]\s{0,4}[\"']?)"
    r"((?=[A-Z-]{0,20}\d)[A-Z0-9-]{5,40})\b"
)
_DECIMAL_ID = Lazy(r"(?m)^((?:unique_id|hive_id) )(\d{4,20})$")
_HEX_ID = Lazy(
    r"(?i)((?:(?:unique|hive|machine|boot|invocation)[ _-]?id|(?:node|port|system|sys_image|base)[ _]?guid)"
    + r"[\"']?\s{0,40}[:=]\s{0,40}[\"']?(?:0x)?)([0-9a-f]{8,32}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})\b"
)
_HEX_ONLY = Lazy(r"(?:0x)?([0-9a-fA-F]{8,16})")
_SERIAL_KEYS = frozenset({"serial", "serial_number", "board_serial", "product_serial"})
_ID_KEYS = frozenset({"unique_id", "hive_id", "xgmi_hive_id"})
_NAME_KEYS = {"user": "user", "hostname": "host"}
_NAME_VARIABLES = {
    "USER": "user", "LOGNAME": "user", "SUDO_USER": "user", "USERNAME": "user", "HOSTNAME": "host", "HOST": "host",
    "SLURMD_NODENAME": "host", "SLURM_JOB_USER": "user", "SLURM_SUBMIT_HOST": "host",
}  # fmt: skip
_OF_REPORT = frozenset(("clear", "facts", "explains"))
"""Lists of a report that name rules and facts: what was found to hold nothing once is not asked after by its key."""
_OF_ABOVE = ("value", "Value", "default", "plaintext")
"""Keys that say nothing themselves: the name stands above them."""
_CLEAN: set[str] = set()
"""Short texts that were looked at and hold nothing: reports say the same words (rule ids, reasons) over and over."""
_CLEAN_TEXTS = 20_000
_CLEAN_CHARACTERS = 300
_LONG = 10_000


class Redactor:
    """One report's worth of stand-ins. The same original gets the same stand-in, whenever the key is the same.

    `users` and `hosts` are names that are known to be such and are replaced wherever they stand as a word; names that
    are words of the field (`gpu`, `cuda`, `dev`) stay, since replacing them would destroy facts. `key` makes the
    stand-ins of hexadecimal ids another machine's; None is for what was redacted once, whose ids are stand-ins and
    stay. With `remember`, `again` finds the secrets that were masked so far wherever else they stand.
    """

    def __init__(
        self,
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
        key: bytes | None = b"doctor.report/1",
        *,
        remember: bool = False,
    ) -> None:
        self._names: dict[tuple[str, str], str] = {}
        self._taken: set[str] = set()
        self._logs: dict[str, tuple[str, Counter[str]]] = {}
        self._words: dict[str, str] = {}
        self._pattern: re.Pattern[str] | None = None
        self._ids_stay, self._key = key is None, key or b""
        self.counts: Counter[str] = Counter()
        """How often each kind of thing was replaced so far."""
        self._tally = Tally(self.counts, remember=remember)
        for kind, names in (("user", users), ("host", hosts)):
            for name in names:
                self.know(kind, name)

    def names(self) -> dict[str, str]:
        """Original → stand-in of names, addresses and serials: for the machine's owner alone."""
        return {original: stand_in for (_, original), stand_in in self._names.items()}

    def text(self, text: str) -> str:
        if text in _CLEAN:
            return self._known_words(text)
        if len(text) >= _LONG:
            return self._long(text)
        told = self._shaped(text)
        if told == text and len(text) <= _CLEAN_CHARACTERS:
            if len(_CLEAN) >= _CLEAN_TEXTS:
                _CLEAN.clear()
            _CLEAN.add(text)
        return self._known_words(told)

    def _long(self, text: str) -> str:
        """A recording and a tool's output often are the same log: it is read once."""
        if text not in self._logs:
            before = Counter(self.counts)
            told = self._known_words(self._shaped(text))
            self._logs[text] = (told, self.counts - before)
            return told
        told, counts = self._logs[text]
        self.counts.update(counts)
        return told

    def _shaped(self, text: str) -> str:
        """Everything that its shape gives away, whatever names are known."""
        text = masking(text, self._tally)
        text = _HOME.sub(lambda m: m[1] + self._name("user", m[2]), text)
        text = GPU_ID.sub(lambda m: m[1] + self._hex(m[2]), text)
        text = UUID.sub(lambda m: self._hex(m[0]), text)
        low = text.lower()
        if not self._ids_stay and any(
            word in low for word in ("unique", "hive", "guid", "machine", "boot", "invocation")
        ):
            text = _DECIMAL_ID.sub(lambda m: m[1] + number_stand_in(m[2], self._key), text)
            text = _HEX_ID.sub(lambda m: m[1] + hex_stand_in(m[2], self._key), text)
        text = _SERIAL.sub(lambda m: m[1] + self._name("serial", m[2]), text)
        if "@" in text:
            text = _MAIL.sub(self._mail, text)
        text = _MAC.sub(lambda m: self._name("mac", m[0].lower()), text)
        text = _IPV4.sub(self._ipv4, text)
        if "::" in text or text.count(":") > 6:
            text = _IPV6.sub(self._ipv6, text)
        return text

    def data(self, data: Any, key: str = "") -> Any:
        """Plain JSON data with every text redacted; `environment` tables and serial numbers by their keys."""
        if data is None or data == "" or isinstance(data, (int, float)):
            return data
        if isinstance(data, str):
            return self._word(data, key)
        if isinstance(data, (dict, Mapping)):  # the plain kind first: to ask for any is slow
            if key in ("environment", "environ") and all(isinstance(value, str) for value in data.values()):
                return {name: self.variable(name, str(value)) for name, value in data.items()}
            told = {
                n if n in _CLEAN and not self._words else self.text(str(n)): (
                    None if v is None else self.data(v, key if n in _OF_ABOVE and key else str(n))
                )
                for n, v in data.items()  # most are fields of models that hold nothing: a call for each costs most
            }
            return self._pair(data, told)
        return self._list(data, key) if isinstance(data, (list, tuple)) else data

    def _word(self, data: str, key: str) -> str:
        """A text that stands under that key."""
        name, sign, value = data.partition("=")
        if sign and name.isupper() and name.isidentifier():
            return f"{name}={self.variable(name, value)}"
        if holds(key, data):
            return self._tally.hit("named", data)
        if key in _SERIAL_KEYS:
            return data if data in ("N/A", "0", "Unknown") else self._name("serial", data)
        if key in _ID_KEYS and _HEX_ONLY.fullmatch(data):
            return self.id_text(data)
        if key in _NAME_KEYS:
            return self._name(_NAME_KEYS[key], data)
        if key.endswith("version") and _FOUR_PARTS.fullmatch(data):
            return data  # of cuBLAS 12.8.4.1, which no text beside it tells from an address
        return self.text(data)

    def again(self, data: Any) -> Any:
        """Redacted data once more, without the secrets that were met elsewhere."""
        if not self._tally.values:
            return data
        from doctor.redaction.known import Known

        return _each_text(data, partial(Known(self._tally.values).masked, tally=Tally(self.counts)))

    def _list(self, data: Sequence[Any], key: str) -> list[Any]:
        """Its members; as a list of arguments, where a secret follows its flag."""
        if (
            key in _OF_REPORT
            and not self._words
            and all(isinstance(item, str) and item in _CLEAN and "=" not in item for item in data)
        ):
            return list(data)
        told = [self.data(item, key) for item in data]
        if len(told) < 2 or not all(isinstance(item, str) and "\0" not in item for item in told):
            return told
        if not any(item.startswith("-") for item in told):
            return told
        parts = masking("\0".join(told), self._tally).split("\0")
        return parts if len(parts) == len(told) else told

    def _pair(self, data: Mapping[Any, Any], told: dict[str, Any]) -> dict[str, Any]:
        """A table of a name and a value, such as Kubernetes and cloud tools make of a variable."""
        name = data.get("name", data.get("Name", data.get("key", data.get("Key"))))
        for field in ("value", "Value"):
            value = data.get(field)
            if isinstance(name, str) and isinstance(value, str) and value and holds(name, value, variable=True):
                told[field] = self._tally.hit("named", value)
        return told

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable; prefixes of GPU ids may be short there."""
        if name.endswith("_VISIBLE_DEVICES"):
            value = re.sub(r"\b(GPU-|MIG-)([0-9a-fA-F]{1,3})(?=,|$)", lambda m: m[1] + self._hex(m[2]), value)
        return self.text(variable(name, value, self._tally))

    def id_text(self, text: str) -> str:
        """A hexadecimal id that stands alone, `0x` or not."""
        return re.sub(r"^(0x)?([0-9a-fA-F]+)", lambda m: (m[1] or "") + self._hex(m[2]), text)

    def serial(self, text: str) -> str:
        """A serial number that stands alone."""
        return text.replace(text.strip(), self._name("serial", text.strip())) if text.strip() else text

    def learn(self, data: Any, key: str = "") -> None:
        """Takes note of user and host names that stand under their own keys, before anything is written."""
        if isinstance(data, (dict, Mapping)):
            kinds = _NAME_VARIABLES if key in ("environment", "environ") else _NAME_KEYS
            for name, value in data.items():
                if isinstance(value, str):
                    if name in kinds:
                        self.know(kinds[name], value)
                elif value is not None and not isinstance(value, (int, float)):  # which nearly all are
                    self.learn(value, str(name))
        elif isinstance(data, (list, tuple)):
            for item in data:
                if not isinstance(item, str):
                    self.learn(item, key)

    def know(self, kind: str, name: str) -> None:
        """A `user` or `host` of that name is replaced wherever it stands as a word."""
        first, _, domain = name.partition(".")
        inner = domain if domain.count(".") and not domain.endswith(_PUBLIC) else ""
        for word in {name, first, inner} if kind == "host" else {name}:
            if len(word) >= 3 and word.lower() not in COMMON and not word.isdigit():
                self._words[word] = self._name(kind, word)
                self._pattern = None

    def _known_words(self, text: str) -> str:
        if not self._words:
            return text
        if self._pattern is None:
            words = "|".join(re.escape(w) for w in sorted(self._words, key=len, reverse=True))
            self._pattern = re.compile(rf"(?<![A-Za-z0-9])(?:{words})(?![A-Za-z0-9])")
        return self._pattern.sub(lambda m: self._seen(self._words[m[0]], "name"), text)

    def _name(self, kind: str, name: str) -> str:
        if name in COMMON or name in self._taken or MADE.fullmatch(name) or not name.strip("0-:. "):
            return name
        self.counts[kind] += 1
        if (kind, name) not in self._names:
            self._names[kind, name] = self._free(kind, name)
        return self._names[kind, name]

    def _free(self, kind: str, name: str) -> str:
        """A stand-in that the key and the name decide, so that the next report gives the same; the next one where two
        names would share it."""
        number = int.from_bytes(
            hashlib.blake2b(f"{kind}\0{name}".encode(), key=self._key[:64], digest_size=8).digest(), "big"
        )
        while (stand_in := STAND_IN[kind](number)) in self._taken:
            number += 1
        self._taken.add(stand_in)
        return stand_in

    def _seen(self, stand_in: str, kind: str) -> str:
        self.counts[kind] += 1
        return stand_in

    def _hex(self, text: str) -> str:
        return text if self._ids_stay else self._seen(hex_stand_in(text, self._key), "uuid")

    def _mail(self, match: re.Match[str]) -> str:
        text = match[0]
        return text if text.endswith(_UNITS) or text.startswith("git@") else self._name("mail", text)

    def _ipv4(self, match: re.Match[str]) -> str:
        parts = [int(p) for p in match[0].split(".")]
        before = match.string[max(0, match.start() - 40) : match.start()]
        if max(parts) > 255 or parts[0] in (0, 127, 255) or ".".join(map(str, parts)) != match[0]:
            return match[0]
        return match[0] if _VERSION_BEFORE.search(before) else self._name("ipv4", match[0])

    def _ipv6(self, match: re.Match[str]) -> str:
        import ipaddress

        try:
            address = ipaddress.IPv6Address(match[0])
        except ValueError:
            return match[0]
        return match[0] if int(address) < 1 << 32 else self._name("ipv6", match[0].lower())


def _each_text(data: Any, change: Callable[[str], str]) -> Any:
    if isinstance(data, str):
        return change(data)
    if isinstance(data, Mapping):
        return {change(str(name)): _each_text(value, change) for name, value in data.items()}
    return [_each_text(item, change) for item in data] if isinstance(data, (list, tuple)) else data
