"""Whether four numbers are an address or a version. A false address in a version's place is worse than a mask.

>>> [is_address(t, *IPV4.search(t).span()) for t in ("inet 10.44.17.203/22", "libcurand 10.3.5.147", "openmpi 4.1.5.4")]
[True, False, False]
"""

# ruff: noqa: E501 -- patterns
from __future__ import annotations

from doctor.redaction.lazy import Lazy

IPV4 = Lazy(r"(?<![\w.+-])(?:\d{1,3}\.){3}\d{1,3}(?![\w+-]|\.\w)")
_NETWORK = Lazy(
    r"(?i)(?:\b(?:inet|addr(?:ess)?(?:es)?|hosts?|hostname|ips?|ipaddr|ipv4|from|src|source|dst|dest(?:ination)?|peer|rank|gateway|gw|via|route|dns|nameservers?|server"
    r"|client|connect(?:ed|ing|ion)?|listen(?:ing|er)?|bind(?:ing)?|ssh|ping|master|endpoint|interface|node|addr\w{0,8}|broadcast|brd|netmask|subnet|network|remote"
    r"|local|lease|dhcp|ntp|proxy|nfs|mount|url|uri|proxy|socket|netdev|eth\d|ens?\w{2,6}|ib\d|bond\d|docker0|on|at)[\w.]{0,8}[\"']?[\s:=(\[,\"'<>]{1,4}|_ADDR(?:ESS)?[=: ]{1,3}[\"']?|_(?:HOST|IP)[=: ]{1,3}[\"']?|@|//|\[|->\s?)\Z"
)
_SOFTWARE = Lazy(
    r"(?i)(?:(?:version|release|firmware|\bfw(?:[ _-]?ver)?|\bver|vbios|bios|driver|upgrad(?:e|ing)|downgrad(?:e|ing)|installed|-cu1\d|_cu1\d|[=<>!~]=|\.so\.?)[\w\"' :=|.-]{0,24}"
    r"|\b(?:lib\w{2,20}|cu(?:da|dnn|blas|fft|rand|solver|sparse)\w{0,12}|nv\w{2,14}|tensorrt|nccl|rocm|roc\w{3,12}|hip\w{2,12}|miopen|torch\w{0,8}|ofed|openmpi|ucx|mpi"
    r"|python|kernel|toolkit|runtime|sdk|package|pkg)(?:[\w.+-]{0,30})[\"']?[ \t:=_|-]{1,12}[\"']?[v=<>~]{0,2}|[\w]-)\Z"
)
_PORT = Lazy(r":\d{2,5}\b|/\d{1,2}(?!\d|\.\d)|%\w")
_RESERVED = (0, 127, 255)
_FIRST_OF_NO_VERSION = 40
"""Majors of versions are smaller; Windows drivers and cuBLAS come near."""


def is_address(text: str, start: int, end: int) -> bool:
    """Whether the four numbers there are an address of a machine. By what is before and behind them; where that
    says nothing, private ranges and large first numbers are addresses."""
    parts = [int(p) for p in text[start:end].split(".")]
    if max(parts) > 255 or parts[0] in _RESERVED or ".".join(map(str, parts)) != text[start:end]:
        return False
    before = text[max(0, start - 48) : start]
    if _PORT.match(text[end : end + 8]):
        return True
    if _SOFTWARE.search(before):
        return False
    if _NETWORK.search(before):
        return True
    private = parts[0] == 10 or (parts[0] == 172 and 16 <= parts[1] < 32) or parts[:2] in ([192, 168], [169, 254])
    starts_row = not before.rpartition("\n")[2].strip()  # as in etc/hosts
    return private or parts[0] >= _FIRST_OF_NO_VERSION or (parts[3] != 0 and starts_row)
