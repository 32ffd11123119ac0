"""What is in a name's place, and what is a stand-in already."""

from __future__ import annotations

from collections.abc import Callable

from doctor.redaction.lazy import Lazy

MADE = Lazy(
    r"(?:user|host|mail|group|project|site)-(?:[0-9a-f]{4}){1,2}(?:@example\.invalid|\.site-(?:[0-9a-f]{4}){1,2})?|serial-[0-9a-f]{6,8}|02:00:00(?::[0-9a-f]{2}){3}"
    r"|198\.1[89]\.\d{1,3}\.\d{1,3}|2001:db8::[0-9a-f]{1,4}:[0-9a-f]{1,4}"
)
"""Stand-ins of ours: what is redacted already stays as it is."""
# Eight digits: with four, two of some hundred names would share one, and which gets the next depends on the report.
STAND_IN: dict[str, Callable[[int], str]] = {
    "user": lambda n: f"user-{n & 0xFFFFFFFF:08x}",
    "host": lambda n: f"host-{n & 0xFFFFFFFF:08x}",
    "group": lambda n: f"group-{n & 0xFFFFFFFF:08x}",
    "project": lambda n: f"project-{n & 0xFFFFFFFF:08x}",
    "site": lambda n: f"site-{n & 0xFFFFFFFF:08x}",
    "serial": lambda n: f"serial-{n & 0xFFFFFFFF:08x}",
    "mail": lambda n: f"mail-{n & 0xFFFFFFFF:08x}@example.invalid",
    "mac": lambda n: f"02:00:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}",
    "ipv4": lambda n: f"198.{18 + (n >> 16 & 1)}.{n >> 8 & 255}.{n & 255}",  # RFC 2544: never routed
    "ipv6": lambda n: f"2001:db8::{n >> 16 & 0xFFFF:x}:{n & 0xFFFF:x}",  # RFC 3849: for documents
}
