"""Replaces secrets by a mask, and names, addresses, serials and UUIDs by pseudonyms that are the same all through one
report or bundle.

Shapes stay: a UUID's stand-in is a UUID (`GPU-` kept, prefixes still match), so that what reads the report still works.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from doctor.redaction import host_names
from doctor.redaction.addresses import IPV4, is_address
from doctor.redaction.identifiers import GPU_ID, UUID, hex_stand_in, number_stand_in
from doctor.redaction.names import holds, may_hold
from doctor.redaction.patterns import (
    CISCO_MAC,
    DECIMAL_ID,
    FOUR_PARTS,
    HEX_ID,
    HEX_ONLY,
    HOME,
    IPV6,
    MAC,
    MAIL,
    MAIL_IN_URL,
    PLAIN_MAC,
    SERIAL,
    UNITS,
)
from doctor.redaction.pseudonyms import CLEAN, NAME_KEYS, Pseudonyms
from doctor.redaction.secrets import masking, variable
from doctor.redaction.site import Site
from doctor.redaction.tally import Tally

_SERIAL_KEYS = frozenset({"serial", "serial_number", "board_serial", "product_serial"})
_ID_KEYS = frozenset({"unique_id", "hive_id", "xgmi_hive_id"})
_OF_REPORT = frozenset(("clear", "facts", "explains"))
"""Lists of a report that name rules and facts: what was found to hold nothing once is not asked after by its key."""
_OF_ABOVE = ("value", "Value", "default", "plaintext")
"""Keys that say nothing themselves: the name is above them."""
_BUILT = re.compile(r"(?:Linux version|Release Build) [^\n]{0,60}\($")
"""Before whoever built a kernel or a driver: the distribution."""
_CLEAN_TEXTS = 20_000
_CLEAN_CHARACTERS = 300
_LONG = 10_000


@lru_cache(4096)
def _adds_nothing(key: str) -> bool:
    """Whether no value is a name or a secret only because it is under that key."""
    return not (key in _SERIAL_KEYS or key in _ID_KEYS or key in NAME_KEYS or key in _OF_ABOVE or may_hold(key))


class Redactor(Pseudonyms):
    """One report's worth of stand-ins. The same original gets the same stand-in, whenever the key is the same.

    `users` and `hosts` are names that are known to be such and are replaced wherever they are as a word; names that
    are words of the field (`gpu`, `cuda`, `dev`) stay, since replacing them would destroy facts. `key` makes the
    stand-ins of hexadecimal ids another machine's; None is for what was redacted once, whose ids are stand-ins and
    stay. `site` is what the operator says of names; its key comes before `key`.
    With `remember`, `again` finds the secrets that were masked so far wherever else they stand.
    """

    def __init__(
        self,
        users: Iterable[str] = (),
        hosts: Iterable[str] = (),
        key: bytes | None = b"doctor.report/1",
        *,
        site: Site | None = None,
        remember: bool = False,
    ) -> None:
        super().__init__((site and site.key) or key or b"")
        self._logs: dict[str, tuple[str, Counter[str]]] = {}
        self._ids_stay = key is None
        self._tally = Tally(self.counts, remember=remember)
        for kind, names in (("user", users), ("host", hosts)):
            for name in names:
                self.know(kind, name)
        for word in site.hide if site else ():
            self.hide(word)
        for domain in site.domains if site else ():
            self.hide_domain(domain)

    def text(self, text: str) -> str:
        if text in CLEAN:
            return self._known_words(text)
        if len(text) >= _LONG:
            return self._long(text)
        shown = self._known_words(self._shaped(text))
        if shown == text and len(text) <= _CLEAN_CHARACTERS:
            if len(CLEAN) >= _CLEAN_TEXTS:
                CLEAN.clear()
            CLEAN.add(text)
        return shown

    def _long(self, text: str) -> str:
        """A recording and a tool's output often are the same log: it is read once."""
        if text not in self._logs:
            before = Counter(self.counts)
            shown = self._known_words(self._shaped(text))
            self._logs[text] = (shown, self.counts - before)
            return shown
        shown, counts = self._logs[text]
        self.counts.update(counts)
        return shown

    def _shaped(self, text: str) -> str:
        """Everything that its shape gives away, whatever names are known; names that a field tells are known then."""
        text = masking(text, self._tally)
        self.meet(text)
        text = HOME.sub(lambda m: m[1] + self._name("user", m[2]), text)
        text = GPU_ID.sub(lambda m: m[1] + self._hex(m[2]), text)
        text = UUID.sub(lambda m: self._hex(m[0]), text)
        low = text.lower()
        if not self._ids_stay and any(
            word in low for word in ("unique", "hive", "guid", "machine", "boot", "invocation")
        ):
            text = DECIMAL_ID.sub(lambda m: m[1] + number_stand_in(m[2], self._key), text)
            text = HEX_ID.sub(lambda m: m[1] + hex_stand_in(m[2], self._key), text)
        text = SERIAL.sub(lambda m: m[1] + self._name("serial", m[2]), text)
        if "@" in text:
            text = MAIL.sub(self._mail, text)
        if "%40" in text:
            text = MAIL_IN_URL.sub(lambda m: self._name("mail", f"{m[1]}@{m[2]}").replace("@", "%40"), text)
        text = MAC.sub(lambda m: self._name("mac", m[0].lower()), text)
        if "mac" in low or "ddr" in low or "ether" in low or "." in text:
            text = CISCO_MAC.sub(lambda m: self._name("mac", m[0].lower()), text)
            text = PLAIN_MAC.sub(lambda m: m[1] + self._name("mac", m[2].lower()), text)
        text = host_names.replaced(text, self._name)
        text = IPV4.sub(self._ipv4, text)
        if "::" in text or text.count(":") > 6:
            text = IPV6.sub(self._ipv6, text)
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
            table = {
                n if n in CLEAN and not self._words else self.text(str(n)): (
                    v
                    if v is None or v is False or (v.__class__ is str and self._is_clean(v, str(n)))
                    else self.data(v, key if n in _OF_ABOVE and key else str(n))
                )
                for n, v in data.items()  # most are fields of models that hold nothing: a call for each costs most
            }
            return self._pair(data, table)
        return self._list(data, key) if isinstance(data, (list, tuple)) else data

    def _is_clean(self, text: str, key: str) -> bool:
        """Whether a text that was found to hold nothing is under a key that adds nothing to it."""
        return text in CLEAN and "=" not in text and _adds_nothing(key) and not self._words

    def _word(self, data: str, key: str) -> str:
        """A text that is under that key."""
        name, sign, value = data.partition("=")
        if sign and name.isupper() and name.isidentifier():
            return f"{name}={self.variable(name, value)}"
        if holds(key, data):
            return self._tally.hit("named", data)
        if key in _SERIAL_KEYS:
            return data if data in ("N/A", "0", "Unknown") else self._name("serial", data)
        if key in _ID_KEYS and HEX_ONLY.fullmatch(data):
            return self.id_text(data)
        if key in NAME_KEYS:
            return self._name(NAME_KEYS[key], data)
        if key.endswith("version") and FOUR_PARTS.fullmatch(data):
            return data  # of cuBLAS 12.8.4.1, which no text beside it tells from an address
        return self.text(data)

    def again(self, data: Any) -> Any:
        """Redacted data once more, without the secrets that were met elsewhere."""
        if not self._tally.values:
            return data
        from doctor.redaction.known import Known, each_text

        return each_text(data, partial(Known(self._tally.values).masked, tally=Tally(self.counts)))

    def _list(self, data: Sequence[Any], key: str) -> list[Any]:
        """Its members; as a list of arguments, where a secret follows its flag."""
        if (
            key in _OF_REPORT
            and not self._words
            and all(isinstance(item, str) and item in CLEAN and "=" not in item for item in data)
        ):
            return list(data)
        items = [self.data(item, key) for item in data]
        if len(items) < 2 or not all(isinstance(item, str) and "\0" not in item for item in items):
            return items
        if not any(item.startswith("-") for item in items):
            return items
        parts = masking("\0".join(items), self._tally).split("\0")
        return parts if len(parts) == len(items) else items

    def _pair(self, data: Mapping[Any, Any], table: dict[str, Any]) -> dict[str, Any]:
        """A table of a name and a value, such as Kubernetes and cloud tools make of a variable."""
        name = data.get("name", data.get("Name", data.get("key", data.get("Key"))))
        for field in ("value", "Value"):
            value = data.get(field)
            if isinstance(name, str) and isinstance(value, str) and value and holds(name, value, variable=True):
                table[field] = self._tally.hit("named", value)
        return table

    def variable(self, name: str, value: str) -> str:
        """The value of an environment variable; prefixes of GPU ids may be short there."""
        if name.endswith("_VISIBLE_DEVICES"):
            value = re.sub(r"\b(GPU-|MIG-)([0-9a-fA-F]{1,3})(?=,|$)", lambda m: m[1] + self._hex(m[2]), value)
        return self.text(variable(name, value, self._tally))

    def id_text(self, text: str) -> str:
        """A hexadecimal id that is alone, `0x` or not."""
        return re.sub(r"^(0x)?([0-9a-fA-F]+)", lambda m: (m[1] or "") + self._hex(m[2]), text)

    def serial(self, text: str) -> str:
        """A serial number that is alone."""
        return text.replace(text.strip(), self._name("serial", text.strip())) if text.strip() else text

    def _hex(self, text: str) -> str:
        return text if self._ids_stay else self._seen(hex_stand_in(text, self._key), "uuid")

    def _mail(self, match: re.Match[str]) -> str:
        text = match[0]
        if text.endswith(UNITS) or text.startswith("git@") or _BUILT.search(match.string[: match.start()][-80:]):
            return text
        return self._name("mail", text)

    def _ipv4(self, match: re.Match[str]) -> str:
        return self._name("ipv4", match[0]) if is_address(match.string, *match.span()) else match[0]

    def _ipv6(self, match: re.Match[str]) -> str:
        import ipaddress

        try:
            address = ipaddress.IPv6Address(match[0])
        except ValueError:
            return match[0]
        return match[0] if int(address) < 1 << 32 or match[0].endswith("::") else self._name("ipv6", match[0].lower())
