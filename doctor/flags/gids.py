"""NCCL_IB_GID_INDEX against the GID tables of the RDMA ports that NCCL takes: an address must stand there, of RoCE v2.

NCCL takes the index as it is, for each active port of Ethernet (connect.cc of its InfiniBand transport); the table's
order is the driver's, and changes with the addresses of the interface.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from doctor.flags.beside import finding

if TYPE_CHECKING:
    from doctor.findings import Finding
    from doctor.flags.situation import Situation
    from doctor.system.base import System

_CLASS = "sys/class/infiniband"
_MOST = 32
_INDEX = "NCCL_IB_GID_INDEX"


def look(system: System, situation: Situation) -> Iterator[Finding]:
    """One finding for the ports that have nothing there, one for those with RoCE v1."""
    text = situation.env.get(_INDEX, "")
    if not re.fullmatch(r"\d{1,3}", text) or situation.context("multi_node") is False:
        return
    empty, old = [], []
    for device in (system.list_dir(_CLASS).value or ())[:_MOST]:
        for port in _ports(system, device, situation.env.get("NCCL_IB_HCA", "")):
            kind = _line(system, f"{port}/gid_attrs/types/{int(text)}")
            address = _line(system, f"{port}/gids/{int(text)}")
            if address is not None and not address.strip("0:"):
                empty.append(device)
            elif kind == "IB/RoCE v1":
                old.append(device)
    if empty:
        yield _finding(text, empty, "no address stands at that index: connections fail")
    if old:
        yield _finding(text, old, "the address at that index is of RoCE v1, which no router passes on")


def _ports(system: System, device: str, wanted: str) -> Iterator[str]:
    """Paths of a device's active ports of Ethernet that NCCL_IB_HCA leaves."""
    for port in (system.list_dir(f"{_CLASS}/{device}/ports").value or ())[:4]:
        path = f"{_CLASS}/{device}/ports/{port}"
        active = (_line(system, f"{path}/state") or "").endswith("ACTIVE")
        if active and _line(system, f"{path}/link_layer") == "Ethernet" and chosen(wanted, device, port):
            yield path


def chosen(wanted: str, device: str, port: str) -> bool:
    """Whether NCCL_IB_HCA leaves a port: `mlx5` by its beginning, `=mlx5_0:1` exactly, `^mlx5_0` all but that.

    >>> [chosen(w, "mlx5_0", "1") for w in ("", "mlx5", "=mlx5", "=mlx5_0:1", "mlx5_0:2", "^mlx5_0", "^=mlx5_01")]
    [True, True, False, True, False, False, True]
    """
    turned, exact = wanted.startswith("^"), wanted.lstrip("^").startswith("=")
    parts = [part.partition(":") for part in wanted.lstrip("^=").split(",") if part]
    found = any((device == n if exact else device.startswith(n)) and p in ("", port) for n, _, p in parts)
    return not parts or found is not turned


def _line(system: System, path: str) -> str | None:
    found = system.read_text(path, limit=4096).value
    return found.strip()[:80] if found is not None else None


def _finding(text: str, devices: list[str], said: str) -> Finding:
    shown = ", ".join(devices[:4]) + (f" and {len(devices) - 4} more" if len(devices) > 4 else "")
    cure = f"Unset {_INDEX}: NCCL then looks for RoCE v2 by itself; or name the index that `show_gids` gives."
    return finding(_INDEX, "warning", f"{_INDEX}={text} on {shown}: {said}", cure, "nccl-gid-index", f"/{_CLASS}")
