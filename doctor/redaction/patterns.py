"""How homes, mail addresses, hardware addresses, serial numbers and ids look that become pseudonyms."""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

from doctor.redaction.lazy import Lazy

HOME = Lazy(r"(?<![\w.-])((?:home|Users|export/home|data/home)[/\\])([^./\\\s:'\",;\0][^/\\\s:'\",;\0]{0,63})")
MAIL = Lazy(r"(?<![\w.+-])[A-Za-z0-9._%+-]{1,64}@(?:[A-Za-z0-9-]{1,64}\.){1,6}[A-Za-z][A-Za-z0-9-]{1,63}(?![\w-])")
MAIL_IN_URL = Lazy(r"(?<![\w.%+-])([A-Za-z0-9._+-]{1,64})%40([A-Za-z0-9-]{1,64}(?:\.[A-Za-z0-9-]{1,64}){1,6})")
PUBLIC = ("localdomain", "amazonaws.com", "internal", "cluster.local", "in-addr.arpa")
UNITS = (".service", ".socket", ".timer", ".mount", ".slice", ".scope", ".target", ".device", ".path")
MAC = Lazy(r"(?<![0-9A-Za-z:.])[0-9A-Fa-f]{2}(?:([:-])[0-9A-Fa-f]{2})(?:\1[0-9A-Fa-f]{2}){4,18}(?![0-9A-Za-z:])")
FOUR_PARTS = Lazy(r"\d{1,3}(?:\.\d{1,4}){3}")
IPV6 = Lazy(r"(?<![\w:.])(?:[0-9a-fA-F]{1,4}:{1,2}){1,7}(?:[0-9a-fA-F]{1,4})?(?![\w:])")
SERIAL = Lazy(
    r"(?i)((?<![a-z])(?:serial(?:[ _-]{0,2}(?:number|num|no))?(?: \([a-z]{2,12}\))?|S/N|asset(?:[ _-]?tag)?|service[ _-]?tag)\\{0,3}[\"']?\s{0,60}(?:[:=>]\s{0,60})?\\{0,3}[\"']?)"
    r"((?=[A-Z-]{0,20}\d)(?=[A-Z0-9-]{0,40}\d[A-Z-]{0,8}\d[A-Z-]{0,8}\d)[A-Z0-9-]{5,40})\b"
)
CISCO_MAC = Lazy(r"(?<![\w.])(?=[0-9a-f.]{0,13}[a-f])(?:[0-9a-fA-F]{4}\.){2}[0-9a-fA-F]{4}(?![\w.])")
PLAIN_MAC = Lazy(
    r"(?i)(\b(?:mac|hwaddr|ether|wwn|permaddr)(?:[ _-]?addr(?:ess)?)?[\"']?\s{0,3}[:=]?\s{0,3}[\"']?)([0-9a-f]{12})\b"
)
DECIMAL_ID = Lazy(r"(?m)^((?:unique_id|hive_id) )(\d{4,20})$")
HEX_ID = Lazy(
    r"(?i)((?:(?:unique|hive|machine|boot|invocation)[ _-]?id|guid)[\"']?\s{0,40}[:=]\s{0,40}[\"']?(?:0x)?|\bguid |\"[SHR]-|\bswitch 0x)"
    + r"([0-9a-f]{8,32}|(?:[0-9a-f]{4}:){3}[0-9a-f]{4})\b"
)
HEX_ONLY = Lazy(r"(?:0x)?([0-9a-fA-F]{8,16})")
