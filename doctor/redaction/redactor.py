"""Replaces secrets by a mask, and names, addresses, serials and UUIDs by pseudonyms that are the same all through one
report or bundle.

Shapes stay: a UUID's stand-in is a UUID (`GPU-` kept, prefixes still match), so that what reads the report still works.
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache, partial
from typing import Any

from doctor.redaction import host_names
from doctor.redaction.addresses import IPV4, is_address
from doctor.redaction.identifiers import GPU_ID, MADE, UUID, hex_stand_in, number_stand_in
from doctor.redaction.lazy import Lazy
from doctor.redaction.names import holds, may_hold
from doctor.redaction.pseudonyms import CLEAN, NAME_KEYS, Pseudonyms, Site
from doctor.redaction.secrets import masking, variable
from doctor.redaction.tally import Tally
from doctor.redaction.vocabulary import listed

_HOME = Lazy(r"(?<![\w.-])((?:home|Users|export/home|data/home)[/\\])([^./\\\s:'\",;\0][^/\\\s:'\",;\0]{0,63})")
_MAIL = Lazy(r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,64}\.){1,6}[A-Za-z][A-Za-z0-9-]{1,63}(?![\w-])")
_MAIL_IN_URL = Lazy(r"(?<![\w.%+-])([A-Za-z0-9._+-]{1,64})%40([A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6})")
_UNITS = (".service", ".socket", ".timer", ".mount", ".slice", ".scope", ".target", ".device", ".path")
_MAC = Lazy(r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4,18}(?![0-9A-Za-z:])")
_FOUR_PARTS = Lazy(r"\d{1,3}(?:\.\d{1,4}){3}")
_IPV6 = Lazy(r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:{1,2}){1,7}(?:[0-9a-fA-F]{1,4})?(?![\w:])")
_SERIAL = Lazy(
    r"(?i)((?<![a-z])(?:serial(?:[ _-]{0,2}(?:number|num|no))?(?: \([a-z]{2,12}\))?|S/N|asset(?:[ _-]?tag)?|service[ _-]?tag)\\{0,3}[\"']?\s{0,60}(?:[:=>]\s{0,60})?\\{0,3}[\"']?)"
    r"((?=[A-Z-]{0,20}\d)(?=[A-Z0-9-]{0,40}\d[A-Z-]{0,8}\d[A-Z-]{0,8}\d)[A-Z0-9-]{5,40})\b"
)
_CISCO_MAC = Lazy(r"(?<![\w.])(?=[0-9a-f.]{0,13}[a-f])(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}(?![\w.])")
_PLAIN_MAC = Lazy(
    r"(?i)(\b(?:mac|hwaddr|ether|wwn|permaddr)(?:[ _-]?addr(?:ess)?)?[\"']?\s{0,3}[:=]?\s{0,3}[\"']?)([0-9a-f]{12})\b"
)
_DECIMAL_ID = Lazy(r"(?m)^((?:unique_id|hive_id) )(\d{4,20})$")
_HEX_ID = Lazy(
    r"(?i)((?:(?:unique|hive|machine|boot|invocation)[ _-]?id|guid)[\"']?\s{0,40}[:=]\s{0,40}[\"']?(?:0x)?|\bguid |\"[SHR]-|\bswitch 0x)"
    + r"([0-9a-f]{8,32}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})\b"
)
_HEX_ONLY = Lazy(r"(?:0x)?([0-9a-fA-F]{8,16})")
_SERIAL_KEYS = frozenset({"serial", "serial_number", "board_serial", "product_serial"})
_ID_KEYS = frozenset({"unique_id", "hive_id", "xgmi_hive_id"})
_OF_REPORT = frozenset(("clear", "facts", "explains"))
"""Lists of a report that name rules and facts: what was found to hold nothing once is not asked after by its key."""
_OF_ABOVE = ("value", "Value", "default", "plaintext")
"""Keys that say nothing themselves: the name stands above them."""
_BUILT = re.compile(r"(?:Linux version|Release Build) [^\n]{0,60}\($")
"""Before whoever built a kernel or a driver: the distribution."""
_ORGANISATION = 3
"""Letters of an organisation's name, with which a domain begins that is hidden."""
_CLEAN_TEXTS = 20_000
_CLEAN_CHARACTERS = 300
_LONG = 10_000


@lru_cache(4096)
def _adds_nothing(key: str) -> bool:
    """Whether no value is a name or a secret only because it stands under that key."""
    return not (key in _SERIAL_KEYS or key in _ID_KEYS or key in NAME_KEYS or key in _OF_ABOVE or may_hold(key))


class Redactor(Pseudonyms):
    """One report's worth of stand-ins. The same original gets the same stand-in, whenever the key is the same.

    `users` and `hosts` are names that are known to be such and are replaced wherever they stand as a word; names that
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
            self.hide(domain)
            if len(domain.partition(".")[0]) >= _ORGANISATION:
                self.hide(domain.partition(".")[0])

    def text(self, text: str) -> str:
        if text in CLEAN:
            return self._known_words(text)
        if len(text) >= _LONG:
            return self._long(text)
        shown = self._known_words(self._shaped(text))
        if shown == text and len(text) <= _CLEAN_CHARACTERS and text not in self._spared:
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
        text = self._in_place(text)
        text = _HOME.sub(lambda m: m[1] + self._of_home(m[2]), text)
        text = GPU_ID.sub(lambda m: m[1] + self._hex(m[2]), text)
        text = UUID.sub(lambda m: self._hex(m[0]), text)
        low = text.lower()
        if not self._ids_stay and any(
            word in low for word in ("unique", "hive", "guid", "machine", "boot", "invocation", "switch")
        ):
            text = _DECIMAL_ID.sub(lambda m: m[1] + number_stand_in(m[2], self._key), text)
            text = _HEX_ID.sub(lambda m: m[1] + hex_stand_in(m[2], self._key), text)
        text = _SERIAL.sub(lambda m: m[1] + self._name("serial", m[2]), text)
        if "@" in text:
            text = _MAIL.sub(self._mail, text)
        if "%40" in text:
            text = _MAIL_IN_URL.sub(lambda m: self._name("mail", f"{m[1]}@{m[2]}").replace("@", "%40"), text)
        text = _MAC.sub(lambda m: self._name("mac", m[0].lower()), text)
        if "mac" in low or "ddr" in low or "ether" in low or "." in text:
            text = _CISCO_MAC.sub(lambda m: self._name("mac", m[0].lower()), text)
            text = _PLAIN_MAC.sub(lambda m: m[1] + self._name("mac", m[2].lower()), text)
        text = host_names.replaced(text, self._name)
        text = IPV4.sub(lambda m: self._name("ipv4", m[0]) if is_address(m.string, *m.span()) else m[0], text)
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
            table = {
                n if n in CLEAN and not self._words else self.text(str(n)): (
                    v
                    if v is None
                    or v is False
                    or (
                        v.__class__ is str and v in CLEAN and "=" not in v and _adds_nothing(str(n)) and not self._words
                    )
                    else self.data(v, key if n in _OF_ABOVE and key else str(n))
                )
                for n, v in data.items()  # most are fields of models that hold nothing: a call for each costs most
            }
            return self._pair(data, table)
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
        if key in NAME_KEYS:
            return self._name(NAME_KEYS[key], data)
        if key.endswith("version") and _FOUR_PARTS.fullmatch(data):
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
        """A hexadecimal id that stands alone, `0x` or not."""
        return re.sub(r"^(0x)?([0-9a-fA-F]+)", lambda m: (m[1] or "") + self._hex(m[2]), text)

    def serial(self, text: str) -> str:
        """A serial number that stands alone."""
        return text.replace(text.strip(), self._name("serial", text.strip())) if text.strip() else text

    def _hex(self, text: str) -> str:
        return text if self._ids_stay else self._seen(hex_stand_in(text, self._key), "uuid")

    def _of_home(self, name: str) -> str:
        low = name.lower()
        return (
            name
            if low in listed("accounts") or MADE.fullmatch(name) or low in self._words
            else self._given("user", name)
        )

    def _mail(self, match: re.Match[str]) -> str:
        text = match[0]
        if text.endswith(_UNITS) or text.startswith("git@") or _BUILT.search(match.string[: match.start()][-80:]):
            return text
        return self._name("mail", text)

    def _ipv6(self, match: re.Match[str]) -> str:
        import ipaddress

        try:
            address = ipaddress.IPv6Address(match[0])
        except ValueError:
            return match[0]
        return match[0] if int(address) < 1 << 32 or match[0].endswith("::") else self._name("ipv6", match[0].lower())
