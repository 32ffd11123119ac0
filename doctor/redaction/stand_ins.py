"""What stands in a name's place, what is a stand-in already, and which words are never taken for names."""

from __future__ import annotations

from collections.abc import Callable

from doctor.redaction.lazy import Lazy

MADE = Lazy(
    r"(?:user|host|mail)-[0-9a-f]{4}(?:@example\.invalid)?|serial-[0-9a-f]{6}|02:00:00(?::[0-9a-f]{2}){3}"
    r"|198\.1[89]\.\d{1,3}\.\d{1,3}|2001:db8:[0-9a-f:]{2,12}"
)
"""Stand-ins of ours: what is redacted already stays as it is."""
COMMON = frozenset(
    (  # noqa: SIM905 -- a hundred quotes less
        "root user users ubuntu docker nobody admin host hosts localhost render video default none unknown "
        "dev proc sys etc opt usr lib lib64 bin sbin var run home tmp data test python python3 conda venv "
        "torch cuda rocm amd amdgpu nvidia gpu gpus kfd dri linux kernel debian fedora rhel node nodes "
        "compute server cluster container worker main local tesla h100 h200 a100 mi300x mi250x mi325x name "
        "version path state value source capture tree live text list stat link real open which derived "
        "account limits environ command file daemon sync mail www-data systemd sshd driver module modules "
        "memory device devices error warning info doctor vllm pytorch tensorflow"
    ).split()
)

STAND_IN: dict[str, Callable[[int], str]] = {
    "user": lambda n: f"user-{n & 0xFFFF:04x}",
    "host": lambda n: f"host-{n & 0xFFFF:04x}",
    "serial": lambda n: f"serial-{n & 0xFFFFFF:06x}",
    "mail": lambda n: f"mail-{n & 0xFFFF:04x}@example.invalid",
    "mac": lambda n: f"02:00:00:{n >> 16 & 255:02x}:{n >> 8 & 255:02x}:{n & 255:02x}",
    "ipv4": lambda n: f"198.{18 + (n >> 16 & 1)}.{n >> 8 & 255}.{n & 255}",  # RFC 2544: never routed
    "ipv6": lambda n: f"2001:db8::{n >> 16 & 0xFFFF:x}:{n & 0xFFFF:x}",  # RFC 3849: for documents
}
